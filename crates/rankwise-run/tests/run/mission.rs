//! The mission's plan, figure by figure.

use rankwise_run::record::{BufferVerdict, NeedVerdict, Verdict};
use rankwise_run::run;

use crate::toy::{Wrong, world};
use crate::{held, job, plan};

const PLAN: &str = include_str!("../../../../examples/plans/two-ranks.toml");

#[test]
fn all_reduce_and_its_two_halves_leave_the_sum_everywhere() {
    let plan = plan(PLAN);
    for name in ["whole", "sharded"] {
        let outcome = run(&job(&plan, name), world(2, &Wrong::default()));
        assert_eq!(outcome.record.verdict, Verdict::Right, "{:#?}", outcome.record);
        assert_eq!(held(&outcome, "y"), [[11.0, 22.0, 33.0, 44.0]; 2]);
        assert_eq!(outcome.record.needs[0].answer, NeedVerdict::Met);
        assert_eq!(outcome.record.needs[0].sense.as_deref(), Some("exact"));
    }
    let outcome = run(&job(&plan, "sharded"), world(2, &Wrong::default()));
    assert_eq!(held(&outcome, "s"), [[11.0, 22.0], [33.0, 44.0]]);
}

#[test]
fn the_gathered_originals_are_right_and_not_what_is_needed() {
    let plan = plan(PLAN);
    let outcome = run(&job(&plan, "originals"), world(2, &Wrong::default()));
    assert_eq!(held(&outcome, "y"), [[1.0, 2.0, 3.0, 4.0, 10.0, 20.0, 30.0, 40.0]; 2]);
    assert_eq!(outcome.record.verdict, Verdict::NeedNotMet);
    assert!(outcome.record.buffers.iter().all(|buffer| buffer.verdict == BufferVerdict::Holds));
    let need = &outcome.record.needs[0];
    assert_eq!((need.answer, need.sense.as_ref()), (NeedVerdict::NotMet, None));
    assert_eq!(
        need.why.as_deref(),
        Some("the proposal leaves x@A[0..4] on rank 0 in y, needed is x@A[0..4] + x@B[0..4]")
    );
}

#[test]
fn the_record_says_what_was_run_and_where() {
    let plan = plan(PLAN);
    let record = run(&job(&plan, "sharded"), world(2, &Wrong::default())).record;
    let map: Vec<_> = record
        .ranks
        .iter()
        .map(|rank| (rank.rank, rank.planned.as_deref(), rank.ordinal, rank.error))
        .collect();
    assert_eq!(map, [(0, Some("A"), Some(10), None), (1, Some("B"), Some(11), None)]);
    let calls: Vec<_> = record
        .steps
        .iter()
        .flat_map(|step| &step.calls)
        .map(|call| (call.op.as_str(), call.seq.0, call.count.0, call.convention.as_str()))
        .collect();
    assert_eq!(
        calls,
        [
            ("reduce_scatter(sum)", 0, 2, "one rank's shard (recvcount)"),
            ("all_gather", 1, 2, "one rank's contribution (sendcount)"),
        ]
    );
    let first = &record.steps[0].calls[0];
    assert_eq!((first.comm.as_str(), first.dtype.as_str()), ("world", "i32"));
    assert_eq!(first.group, [0, 1]);
    assert_eq!(first.ranks.len(), 2);
    assert!(first.ranks.iter().all(|rank| rank.error.is_none()));
}
