//! The same steps where more is asked of a plan: explored, relabelled, repaired.

use rankwise_plan::evaluate::evaluate;
use rankwise_plan::explore::explore;
use rankwise_plan::need::{NeedsAnswer, judge_needs};
use rankwise_plan::relabel::relabel;
use rankwise_plan::repair::repairs;
use rankwise_plan::term::Terms;

use super::{answer, plan};

/// The first half of a sum on A by a group of reduces, the second on B.
const BY_COUNTS: &str = r#"
format = 1
group.devices = ["A", "B", "C"]
input.x = { dtype = "i32", count = 5, meaning = "gradient" }
proposal.p.step = [{ call = "reduce_scatter_v", op = "sum", counts = [3, 2, 0], send = "x", recv = "s" }]
need = [
    { on = { device = "A" }, buffer = "s", holds = "sum(x)[0..3]" },
    { on = { device = "B" }, buffer = "s", holds = "sum(x)[3..5]" },
]
"#;

/// A and B have parts of their own, so that only the identity is harmless; C stays.
#[test]
fn a_group_is_explored() {
    let plan = plan(BY_COUNTS);
    let explored = explore(&plan, &plan.proposals[0]).unwrap();
    assert_eq!(explored.harmless.to_string(), "1");
}

#[test]
fn a_group_is_relabelled_and_repaired() {
    let moved = relabel(&plan(BY_COUNTS), &["B", "A", "C"]).unwrap();
    let mut terms = Terms::new();
    let proposal = &moved.proposals[0];
    let evaluation = evaluate(&moved, proposal, &mut terms).unwrap();
    let report = judge_needs(&moved, proposal, &evaluation, &mut terms).unwrap();
    assert_eq!(report.answer(), NeedsAnswer::NotSatisfied);
    assert_eq!(answer(BY_COUNTS).0, NeedsAnswer::Satisfied);
    // Putting the devices back costs nothing.
    let found = repairs(&moved, proposal, &[0, 1]).unwrap();
    assert!(found[0].all_satisfied && found[0].total().bytes == 0, "{found:?}");
}
