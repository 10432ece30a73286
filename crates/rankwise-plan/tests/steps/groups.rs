//! Several communications as one: none before another, so none may touch what another
//! writes.

use super::{done, refused, text};

const FOUR: &str = "input.x = { dtype = \"i32\", count = 4 }";

/// Each sends to the next and receives from the one before; the receives stand first.
#[test]
fn a_ring_of_concurrent_messages() {
    let mut parts = Vec::new();
    for rank in 0..3 {
        parts.push(format!(
            "{{ call = \"recv\", on = {{ rank = {rank} }}, peer = {}, recv = \"y\" }}",
            (rank + 2) % 3
        ));
        parts.push(format!(
            "{{ call = \"send\", on = {{ rank = {rank} }}, peer = {}, send = \"x\" }}",
            (rank + 1) % 3
        ));
    }
    let group = format!("call = \"group\", step = [{}]", parts.join(", "));
    let done = done(&text(3, FOUR, &[&group]));
    assert_eq!(done.held(0, "y"), ["x@rank2[0..4]"]);
    assert_eq!(done.held(1, "y"), ["x@rank0[0..4]"]);
    assert_eq!(done.held(2, "y"), ["x@rank1[0..4]"]);
    assert_eq!(done.evaluation.steps[0].calls.len(), 3);
}

/// An exchange in place: both sides read what they had before.
#[test]
fn two_halves_exchanged() {
    let done = done(&text(
        2,
        FOUR,
        &[r#"call = "group", step = [
            { call = "send", on = { rank = 0 }, peer = 1, send = "x[0..2]" },
            { call = "recv", on = { rank = 0 }, peer = 1, recv = "x[2..4]" },
            { call = "send", on = { rank = 1 }, peer = 0, send = "x[0..2]" },
            { call = "recv", on = { rank = 1 }, peer = 0, recv = "x[2..4]" },
        ]"#],
    ));
    assert_eq!(done.held(0, "x"), ["x@rank0[0..2]", "x@rank1[0..2]"]);
    assert_eq!(done.held(1, "x"), ["x@rank1[0..2]", "x@rank0[0..2]"]);
}

/// Two all-reduces of parts of one buffer, over two overlapping axes.
#[test]
fn collectives_on_parts_of_one_buffer() {
    let inputs = "mesh = { axes = [\"a\", \"b\"], shape = [2, 2] }\n\
                  input.x = { dtype = \"i32\", count = 4 }";
    let done = done(&text(
        4,
        inputs,
        &[r#"call = "group", step = [
            { call = "all_reduce", op = "sum", over = "a", send = "x[0..2]", recv = "x[0..2]" },
            { call = "all_reduce", op = "max", over = "b", send = "x[2..4]", recv = "x[2..4]" },
        ]"#],
    ));
    // Rank 1 is (0, 1): along a it is with 3, along b with 0.
    assert_eq!(
        done.held(1, "x"),
        ["x@rank1[0..2] + x@rank3[0..2]", "max(x@rank0[2..4], x@rank1[2..4])"]
    );
}

#[test]
fn what_another_writes_is_neither_read_nor_written() {
    let two = |one: &str, other: &str| {
        let group = format!("call = \"group\", step = [{{ {one} }}, {{ {other} }}]");
        refused(2, FOUR, &["call = \"copy\", send = \"x\", recv = \"y\"", &group])
    };
    let reduce = |send: &str, recv: &str| {
        format!("call = \"all_reduce\", op = \"sum\", send = \"{send}\", recv = \"{recv}\"")
    };
    let apart = "expected positions apart: the steps of a group happen at once";
    // Both write one position.
    assert_eq!(
        two(&reduce("x[0..2]", "y[0..2]"), &reduce("x[0..2]", "y[1..3]")),
        format!(
            "proposal.p.step[1].step[1]: found on rank 0 step 0 (all_reduce) writes `y[0..2]` and \
             step 1 (all_reduce) writes `y[1..3]`, in one group, {apart}"
        )
    );
    // One reads what the other writes, in either order.
    assert_eq!(
        two(&reduce("x[0..2]", "y[0..2]"), &reduce("y[1..3]", "z")),
        format!(
            "proposal.p.step[1].step[1]: found on rank 0 step 0 (all_reduce) writes `y[0..2]` and \
             step 1 (all_reduce) reads `y[1..3]`, in one group, {apart}"
        )
    );
    assert_eq!(
        two(&reduce("y[1..3]", "z"), &reduce("x[0..2]", "y[0..2]")),
        format!(
            "proposal.p.step[1].step[1]: found on rank 0 step 0 (all_reduce) reads `y[1..3]` and \
             step 1 (all_reduce) writes `y[0..2]`, in one group, {apart}"
        )
    );
    // All of a buffer made anew, which another reads a part of.
    assert_eq!(
        two(&reduce("x", "y"), &reduce("y[3..4]", "z")),
        format!(
            "proposal.p.step[1].step[1]: found on rank 0 step 0 (all_reduce) writes `y` and step 1 \
             (all_reduce) reads `y[3..4]`, in one group, {apart}"
        )
    );
    // Rank 0 makes x anew, with no elements, and sends what it was.
    let group = "call = \"group\", step = [\
        { call = \"recv\", on = { rank = 0 }, peer = 1, recv = \"x\" }, \
        { call = \"send\", on = { rank = 0 }, peer = 1, send = \"x\" }, \
        { call = \"send\", on = { rank = 1 }, peer = 0, send = \"x\" }, \
        { call = \"recv\", on = { rank = 1 }, peer = 0, recv = \"y\" }]";
    let ragged = "input.x = { dtype = \"i32\", counts = [3, 0] }";
    assert_eq!(
        refused(2, ragged, &[group]),
        format!(
            "proposal.p.step[0].step[1]: found on rank 0 step 0 (recv) writes `x` and step 1 (send) \
             reads `x`, in one group, {apart}"
        )
    );
    // Both may read.
    let both = format!(
        "call = \"group\", step = [{{ {} }}, {{ {} }}]",
        reduce("x[0..3]", "y"),
        reduce("x[1..4]", "z")
    );
    assert_eq!(done(&text(2, FOUR, &[&both])).held(0, "z"), ["x@rank0[1..4] + x@rank1[1..4]"]);
}

/// A part that reads far and writes late meets what another reads in between.
#[test]
fn of_many_reads_each_is_seen() {
    let message = |send: &str, recv: &str| {
        format!(
            "{{ call = \"send\", on = {{ rank = 1 }}, peer = 0, send = \"{send}\" }}, \
             {{ call = \"recv\", on = {{ rank = 0 }}, peer = 1, recv = \"{recv}\" }}"
        )
    };
    // In place on rank 1: it reads all eight and writes the last four.
    let scatter = "{ call = \"scatter\", root = 1, send = \"x[0..8]\", recv = \"x[4..8]\" }";
    let group = |last: &str| {
        let [one, other] = [message("x[0..2]", "y"), message(last, "z")];
        format!("call = \"group\", step = [{one}, {scatter}, {other}]")
    };
    let inputs = "input.x = { dtype = \"i32\", count = 8 }";
    let apart = done(&text(2, inputs, &[&group("x[1..4]")]));
    assert_eq!(apart.held(0, "z"), ["x@rank1[1..4]"]);
    assert_eq!(
        refused(2, inputs, &[&group("x[1..6]")]),
        "proposal.p.step[0].step[3]: found on rank 1 step 2 (scatter) writes `x[4..8]` and step 3 \
         (send) reads `x[1..6]`, in one group, expected positions apart: the steps of a group \
         happen at once"
    );
}

#[test]
fn only_communications_are_in_a_group() {
    let inside = |step: &str| refused(2, FOUR, &[&format!("call = \"group\", step = [{step}]")]);
    let expected = "expected collectives and messages only";
    assert_eq!(
        inside("{ call = \"copy\", send = \"x\", recv = \"y\" }"),
        format!("proposal.p.step[0].step[0]: found copy within a group, {expected}")
    );
    assert_eq!(
        inside(
            "{ call = \"group\", step = [{ call = \"all_gather\", send = \"x\", recv = \"y\" }] }"
        ),
        format!("proposal.p.step[0].step[0]: found group within a group, {expected}")
    );
    assert_eq!(
        inside("{ call = \"all_gather_v\", send = \"x\", recv = \"y\", counts = [4, 4] }"),
        format!("proposal.p.step[0].step[0]: found all_gather_v within a group, {expected}")
    );
    assert_eq!(
        inside(""),
        "proposal.p.step[0].step: found no steps, expected the steps that are one group"
    );
}

#[test]
fn a_message_without_its_other_side() {
    let group = |parts: &str| refused(2, FOUR, &[&format!("call = \"group\", step = [{parts}]")]);
    assert_eq!(
        group("{ call = \"send\", on = { rank = 0 }, peer = 1, send = \"x\" }"),
        "proposal.p.step[0].step[0]: found a send from rank 0 to rank 1 that no recv answers, \
         expected a recv on rank 1 from rank 0"
    );
    assert_eq!(
        group("{ call = \"recv\", on = { rank = 0 }, peer = 1, recv = \"y\" }"),
        "proposal.p.step[0].step[0]: found a recv on rank 0 from rank 1 that waits for ever, \
         expected a send from rank 1 to rank 0 that does not itself wait for rank 0"
    );
}
