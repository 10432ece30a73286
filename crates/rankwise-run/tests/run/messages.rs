//! Sends and recvs: what is one group, and what is not.

use rankwise_run::record::Verdict;

use crate::toy::Wrong;
use crate::{held, outcome};

#[test]
fn a_ring_in_one_group_does_not_wait_in_a_circle() {
    let text = r#"
        format = 1
        group.ranks = 2
        input.x = { dtype = "i32", count = 2, meaning = "m", on.rank = { 0 = [1, 2], 1 = [10, 20] } }
        proposal.p.step = [
            { call = "send", on = { rank = 0 }, peer = 1, send = "x" },
            { call = "recv", on = { rank = 0 }, peer = 1, recv = "y" },
            { call = "send", on = { rank = 1 }, peer = 0, send = "x" },
            { call = "recv", on = { rank = 1 }, peer = 0, recv = "y" },
        ]
    "#;
    let outcome = outcome(text, &Wrong::default());
    assert_eq!(outcome.record.verdict, Verdict::Right, "{:#?}", outcome.record);
    assert_eq!(held(&outcome, "y"), [[10.0, 20.0], [1.0, 2.0]]);
    let ops: Vec<_> = outcome
        .record
        .steps
        .iter()
        .map(|step| (step.calls[0].op.as_str(), step.calls[0].group.clone()))
        .collect();
    assert_eq!(
        ops,
        [
            ("send(to 1)", vec![0, 1]),
            ("recv(from 1)", vec![1, 0]),
            ("send(to 0)", vec![1, 0]),
            ("recv(from 0)", vec![0, 1]),
        ]
    );
}

/// Each sends x and receives into x: what is sent is what x was.
#[test]
fn an_exchange_into_the_buffer_that_is_sent_is_a_swap() {
    let text = r#"
        format = 1
        group.ranks = 2
        input.x = { dtype = "i32", count = 1, meaning = "m", on.rank = { 0 = [1], 1 = [10] } }
        proposal.p.step = [
            { call = "send", on = { rank = 0 }, peer = 1, send = "x" },
            { call = "send", on = { rank = 1 }, peer = 0, send = "x" },
            { call = "recv", on = { rank = 0 }, peer = 1, recv = "x" },
            { call = "recv", on = { rank = 1 }, peer = 0, recv = "x" },
        ]
    "#;
    let outcome = outcome(text, &Wrong::default());
    assert_eq!(outcome.record.verdict, Verdict::Right, "{:#?}", outcome.record);
    assert_eq!(held(&outcome, "x"), [[10.0], [1.0]]);
}

/// What is passed on must have come, and an act between messages reads what has come.
#[test]
fn what_is_received_can_be_sent_on() {
    let text = r#"
        format = 1
        group.ranks = 3
        input.x = { dtype = "i32", count = 1, meaning = "m", on.rank = { 0 = [7], 1 = [1], 2 = [2] } }
        proposal.p.step = [
            { call = "send", on = { rank = 0 }, peer = 1, send = "x" },
            { call = "recv", on = { rank = 1 }, peer = 0, recv = "y" },
            { call = "send", on = { rank = 1 }, peer = 2, send = "y" },
            { call = "scale", on = { rank = 1 }, send = "y", by = 3, recv = "z" },
            { call = "send", on = { rank = 1 }, peer = 2, send = "z" },
            { call = "recv", on = { rank = 2 }, peer = 1, recv = "y" },
            { call = "recv", on = { rank = 2 }, peer = 1, recv = "z" },
        ]
    "#;
    let outcome = outcome(text, &Wrong::default());
    assert_eq!(outcome.record.verdict, Verdict::Right, "{:#?}", outcome.record);
    assert_eq!(held(&outcome, "y"), [[7.0], [7.0]]);
    assert_eq!(held(&outcome, "z"), [[21.0], [21.0]]);
    // Numbers per ordered pair: the second message from 1 to 2 is number 1.
    assert_eq!(outcome.record.steps[4].calls[0].seq.0, 1);
}

/// A local act that reads nothing of what is received does not part a group: with a
/// backend whose sends wait for their recvs, this would be a deadlock in two groups.
#[test]
fn an_act_between_messages_that_reads_none_of_them_does_not_part_them() {
    let text = r#"
        format = 1
        group.ranks = 2
        input.x = { dtype = "i32", count = 1, meaning = "m", on.rank = { 0 = [1], 1 = [10] } }
        proposal.p.step = [
            { call = "send", on = { rank = 0 }, peer = 1, send = "x" },
            { call = "send", on = { rank = 1 }, peer = 0, send = "x" },
            { call = "scale", send = "x", by = 2, recv = "x" },
            { call = "recv", on = { rank = 0 }, peer = 1, recv = "y" },
            { call = "recv", on = { rank = 1 }, peer = 0, recv = "y" },
            { call = "copy", send = "y", recv = "z" },
        ]
    "#;
    let outcome = outcome(text, &Wrong::default());
    assert_eq!(outcome.record.verdict, Verdict::Right, "{:#?}", outcome.record);
    assert_eq!(held(&outcome, "x"), [[2.0], [20.0]]);
    assert_eq!(held(&outcome, "z"), [[10.0], [1.0]]);
}
