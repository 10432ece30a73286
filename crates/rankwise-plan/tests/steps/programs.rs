//! The same steps in programs that each rank has for itself.

use std::fmt::Write as _;

use rankwise_program::{Kind, check};

use super::{SATISFIED, answer, done, refusal};

const HEAD: &str = "format = 1\ngroup.ranks = 3\ninput.x = { dtype = \"i32\", count = 4 }\n";

/// A program of each rank, from its steps.
fn programs(head: &str, steps: &[&str]) -> String {
    let mut text = String::from(head);
    for (rank, steps) in steps.iter().enumerate() {
        write!(text, "[[proposal.p.program]]\non = {{ rank = {rank} }}\nstep = [{steps}]\n")
            .unwrap();
    }
    text
}

/// Every rank sends to the next and receives from the one before, all at once; alone,
/// each would wait for its receive first.
#[test]
fn a_ring_in_one_group_and_one_after_the_other() {
    let exchange = |rank: u32, group: bool| {
        let (to, from) = ((rank + 1) % 3, (rank + 2) % 3);
        let parts = format!(
            "{{ call = \"recv\", peer = {from}, recv = \"y\" }}, \
             {{ call = \"send\", peer = {to}, send = \"x\" }}"
        );
        if group { format!("{{ call = \"group\", step = [{parts}] }}") } else { parts }
    };
    let all = |group: bool| {
        let steps: Vec<String> = (0..3).map(|rank| exchange(rank, group)).collect();
        programs(HEAD, &steps.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let right = done(&all(true));
    assert_eq!(right.evaluation.reports().len(), 0, "{:?}", right.evaluation.reports());
    assert_eq!(right.held(0, "y"), ["x@rank2[0..4]"]);
    assert_eq!(right.held(2, "y"), ["x@rank1[0..4]"]);
    let wrong = done(&all(false));
    assert_eq!(wrong.evaluation.reports()[0].kind, Kind::Deadlock);
}

/// Counts are numbered in the order of the group, although rank 0 learns the size of its
/// second broadcast before it gives that of the first.
#[test]
fn an_all_gather_with_counts() {
    let head = "format = 1\ngroup.ranks = 3\ninput.x = { dtype = \"i32\", counts = [3, 2, 2] }\n\
                need = [{ on = \"every rank\", buffer = \"y\", holds = \"gather(x)\" }]\n";
    let step = "{ call = \"all_gather_v\", send = \"x\", recv = \"y\", counts = [3, 2, 2] }";
    let text = programs(head, &[step; 3]);
    let done = done(&text);
    assert_eq!(done.evaluation.reports().len(), 0, "{:?}", done.evaluation.reports());
    assert_eq!(done.held(1, "y"), ["x@rank0[0..3]", "x@rank1[0..2]", "x@rank2[0..2]"]);
    assert_eq!(answer(&text), SATISFIED);
    // Rank 2 takes others to have equal shares.
    let other = step.replace("[3, 2, 2]", "[2, 2, 2]");
    let wrong = super::done(&programs(head, &[step, step, &other]));
    assert_eq!(wrong.evaluation.reports()[0].kind, Kind::Mismatch);
}

#[test]
fn all_to_all_and_scatter_with_counts() {
    let head = "format = 1\ngroup.ranks = 2\ninput.x = { dtype = \"i32\", counts = [3, 3] }\n";
    let exchange =
        "{ call = \"all_to_all_v\", send = \"x\", recv = \"y\", counts = [[1, 2], [3, 0]] }";
    let exchanged = done(&programs(head, &[exchange; 2]));
    assert_eq!(exchanged.evaluation.reports().len(), 0, "{:?}", exchanged.evaluation.reports());
    assert_eq!(exchanged.held(0, "y"), ["x@rank0[0]", "x@rank1[0..3]"]);
    assert_eq!(exchanged.held(1, "y"), ["x@rank0[1..3]"]);
    let scatter = "{ call = \"scatter_v\", root = 1, send = \"x\", recv = \"y\", counts = [3, 0] }";
    let scattered = done(&programs(head, &[scatter; 2]));
    assert_eq!(scattered.evaluation.reports().len(), 0, "{:?}", scattered.evaluation.reports());
    assert_eq!(scattered.held(0, "y"), ["x@rank1[0..3]"]);
    assert_eq!(scattered.held(1, "y"), [""; 0]);
}

/// What the parts of a group touch is checked as one unit.
#[test]
fn parts_that_touch_the_same_positions() {
    let reduce = |recv: &str| {
        format!("{{ call = \"all_reduce\", op = \"sum\", send = \"x[0..2]\", recv = \"{recv}\" }}")
    };
    let group = |one: &str, other: &str| {
        let group = format!(
            "{{ call = \"copy\", send = \"x\", recv = \"y\" }}, \
             {{ call = \"group\", step = [{}, {}] }}",
            reduce(one),
            reduce(other)
        );
        done(&programs(HEAD, &[&group, &group, &group]))
    };
    let apart = group("y[0..2]", "y[2..4]");
    assert_eq!(apart.evaluation.reports().len(), 0, "{:?}", apart.evaluation.reports());
    let sum = "x@rank0[0..2] + x@rank1[0..2] + x@rank2[0..2]";
    assert_eq!(apart.held(1, "y"), [sum, sum]);
    assert_eq!(group("y[0..2]", "y[1..3]").evaluation.reports()[0].kind, Kind::Overlap);
}

/// Two streams that touch parts of one buffer: apart it is no hazard.
#[test]
fn hazards_are_of_positions() {
    let two = |second: &str| {
        let steps = format!(
            "{{ call = \"scale\", by = 2, send = \"x[0..2]\", recv = \"x[0..2]\", stream = \"a\" }}, \
             {{ call = \"scale\", by = 3, send = \"{second}\", recv = \"{second}\", stream = \"b\" }}"
        );
        done(&programs(HEAD, &[&steps]))
    };
    let apart = two("x[2..4]");
    assert_eq!(apart.evaluation.reports().len(), 0, "{:?}", apart.evaluation.reports());
    assert_eq!(apart.held(0, "x"), ["2·x@rank0[0..2]", "3·x@rank0[2..4]"]);
    assert_eq!(two("x[1..3]").evaluation.reports()[0].kind, Kind::Hazard);
}

/// A part of a group that never meets leaves its part of the buffer, and no more.
#[test]
fn a_part_that_never_completes() {
    let zero = "{ call = \"copy\", send = \"x\", recv = \"y\" }, { call = \"group\", step = [\
                { call = \"recv\", peer = 1, recv = \"y[0..1]\", count = 1 }, \
                { call = \"recv\", peer = 2, recv = \"y[3..4]\", count = 1 }] }";
    let one = "{ call = \"send\", peer = 0, send = \"x[0..1]\" }";
    let done = done(&programs(HEAD, &[zero, one, ""]));
    assert_eq!(done.evaluation.reports().len(), 1);
    let held = done.held(0, "y");
    assert_eq!(held[..2], ["x@rank1[0]", "x@rank0[1..3]"], "{held:?}");
    assert!(held[2].contains("never completes"), "{held:?}");
}

#[test]
fn keys_that_a_part_does_not_have() {
    let part = |keys: &str| {
        let step = format!(
            "{{ call = \"group\", step = [{{ call = \"all_gather\", send = \"x\", recv = \"y\", {keys} }}] }}"
        );
        refusal(&programs(HEAD, &[&step])).to_string()
    };
    assert_eq!(
        part("stream = \"s\""),
        "proposal.p.program[0].step[0].step[0].stream: found stream, expected no stream: \
         all_gather takes over, send, recv, count"
    );
    assert_eq!(
        part("on = { rank = 0 }"),
        "proposal.p.program[0].step[0].step[0].on: found on, expected no on: the program says \
         whose steps they are"
    );
    let some = format!("groups.g = {{ ranks = [1, 2] }}\n{HEAD}");
    let step =
        "{ call = \"all_gather_v\", over = \"g\", send = \"x\", recv = \"y\", counts = [4, 4] }";
    assert_eq!(
        refusal(&programs(&some, &[step])).to_string(),
        "proposal.p.program[0].step[0]: found rank 0, which is in no group of g, expected a \
         member of the step's group"
    );
}

/// The lowered program is one that the notation can hold.
#[test]
fn findings_are_those_of_the_written_program() {
    let text = "{\"world\": 2, \"programs\": {\"0\": [{\"op\": \"group\", \"calls\": [\
                {\"op\": \"send\", \"peer\": 1, \"count\": 4, \"dtype\": \"i32\", \"send\": [\"x[0..4]\"]}, \
                {\"op\": \"recv\", \"peer\": 1, \"count\": 4, \"dtype\": \"i32\", \"recv\": [\"x[2..6]\"]}]}], \
                \"1\": [{\"op\": \"group\", \"calls\": [\
                {\"op\": \"send\", \"peer\": 0, \"count\": 4, \"dtype\": \"i32\"}, \
                {\"op\": \"recv\", \"peer\": 0, \"count\": 4, \"dtype\": \"i32\"}]}]}}";
    let by_hand = check(&rankwise_program::Program::from_json(text).unwrap());
    assert_eq!(by_hand.reports[0].kind, Kind::Overlap);
    let head = "format = 1\ngroup.ranks = 2\ninput.x = { dtype = \"i32\", count = 6 }\n";
    let exchange = |peer: u32, recv: &str| {
        format!(
            "{{ call = \"group\", step = [{{ call = \"send\", peer = {peer}, send = \"x[0..4]\" }}, \
             {{ call = \"recv\", peer = {peer}, recv = \"{recv}\" }}] }}"
        )
    };
    let done = done(&programs(head, &[&exchange(1, "x[2..6]"), &exchange(0, "y")]));
    assert_eq!(done.evaluation.reports()[0].kind, Kind::Overlap);
    assert_eq!(done.evaluation.reports().len(), by_hand.reports.len());
}
