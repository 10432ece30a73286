//! Local acts, on the host and by the plan's arithmetic.

use rankwise_run::record::Verdict;

use crate::toy::Wrong;
use crate::{held, outcome};

#[test]
fn every_local_act() {
    let text = r#"
        format = 1
        group.ranks = 2
        input.x = { dtype = "f32", count = 4, meaning = "m", on.rank = { 0 = [1, 2, 3, 4], 1 = [10, 20, 30, 40] } }
        proposal.p.step = [
            { call = "slice", send = "x", positions = "1..3", recv = "middle" },
            { call = "concat", send = ["middle", "x"], recv = "long" },
            { call = "copy", send = "middle", recv = "same" },
            { call = "fold", op = "sum", send = ["middle", "same", "middle"], recv = "three" },
            { call = "scale", send = "three", by = "1/2", recv = "half" },
            { call = "cast", send = "half", dtype = "i32", recv = "whole" },
        ]
    "#;
    let outcome = outcome(text, &Wrong::default());
    assert_eq!(outcome.record.verdict, Verdict::Right, "{:#?}", outcome.record);
    assert_eq!(held(&outcome, "middle"), [[2.0, 3.0], [20.0, 30.0]]);
    assert_eq!(held(&outcome, "long")[0], [2.0, 3.0, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!(held(&outcome, "three"), [[6.0, 9.0], [60.0, 90.0]]);
    assert_eq!(held(&outcome, "half"), [[3.0, 4.5], [30.0, 45.0]]);
    assert_eq!(held(&outcome, "whole"), [[3.0, 4.0], [30.0, 45.0]]);
    let acts: Vec<_> =
        outcome.record.steps.iter().map(|step| step.local.as_ref().unwrap().op.as_str()).collect();
    assert_eq!(acts, ["slice", "concat", "copy", "fold", "scale", "cast"]);
}
