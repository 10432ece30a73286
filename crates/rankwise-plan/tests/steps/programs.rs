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

/// On one stream each rank does this, on another it copies something of `x` or `y`: the
/// ranks for which that is a hazard.
fn beside(call: &str, copy: &str) -> Vec<u32> {
    let head = "format = 1\ngroup.ranks = 2\ninput.x = { dtype = \"f64\", count = 4 }\n\
                input.y = { dtype = \"f64\", count = 8 }\n";
    let copy = format!("{{ call = \"copy\", send = \"{copy}\", recv = \"z\", stream = \"side\" }}");
    let steps = format!("{copy}, {{ {call} }}");
    let done = done(&programs(head, &[&steps, &steps]));
    let reports = done.evaluation.reports().iter();
    let mut ranks: Vec<u32> = reports
        .flat_map(|report| {
            assert_eq!(report.kind, Kind::Hazard);
            report.conflict.iter().flat_map(|conflict| &conflict.ranks)
        })
        .map(|rank| rank.index())
        .collect();
    ranks.sort_unstable();
    ranks
}

/// What a collective may overwrite is in no order with its readers on another stream,
/// though the collective promises nothing there.
#[test]
fn what_a_call_leaves_unpromised_is_touched() {
    let scatter = |recv: &str| {
        format!("call = \"reduce_scatter\", op = \"sum\", send = \"x\", recv = \"{recv}\"")
    };
    // Rank 0 keeps block 0, rank 1 block 1: the other block is scratch.
    assert_eq!(beside(&scatter("x"), "x[0..1]"), [0, 1]);
    assert_eq!(beside(&scatter("y"), "x[0..1]"), [0; 0]);
    // Rank 1 hands in y, or x itself, and gets nothing there.
    let reduce = |recv: &str| {
        format!("call = \"reduce\", op = \"sum\", root = 0, send = \"x\", recv = \"{recv}\"")
    };
    assert_eq!(beside(&reduce("y"), "y[0..1]"), [0, 1]);
    assert_eq!(beside(&reduce("x"), "x"), [0, 1]);
    assert_eq!(beside(&reduce("w"), "x"), [0; 0]);
}

/// `y` had 8 elements and is made anew with 4: its other 4 are gone.
#[test]
fn a_buffer_made_anew_is_touched_as_long_as_it_was() {
    let reduce = |recv: &str| {
        format!("call = \"all_reduce\", op = \"sum\", send = \"x\", recv = \"{recv}\"")
    };
    assert_eq!(beside(&reduce("y"), "y[6..8]"), [0, 1]);
    assert_eq!(beside(&reduce("y[0..4]"), "y[6..8]"), [0; 0]);
}

/// Elements 2 and 3 of f64 are bytes 16..32, whatever they are converted to.
#[test]
fn a_cast_reads_elements_of_the_type_it_converts() {
    let head = "format = 1\ngroup.ranks = 2\ninput.x = { dtype = \"f64\", count = 4 }\n";
    let cast = |part: &str| {
        let steps = format!(
            "{{ call = \"all_reduce\", op = \"sum\", send = \"x[2..4]\", recv = \"x[2..4]\" }}, \
             {{ call = \"cast\", dtype = \"f32\", send = \"{part}\", recv = \"z\", \
             stream = \"side\" }}"
        );
        done(&programs(head, &[&steps, &steps])).evaluation.reports().len()
    };
    assert_eq!([cast("x[2..4]"), cast("x[0..2]")], [1, 0]);
}

/// A partition may be called what a group of another would be.
#[test]
fn communicators_of_one_name() {
    let head = "format = 1\ngroup.ranks = 4\ninput.x = { dtype = \"i32\", count = 4 }\n\
                groups.tp.lists = [[0, 1], [2, 3]]\ngroups.\"tp[1]\".ranks = [0, 1]\n";
    let reduce = |over: &str| {
        format!(
            "{{ call = \"all_reduce\", op = \"sum\", over = \"{over}\", send = \"x\", \
             recv = \"y\" }}"
        )
    };
    let (first, second) = (reduce("tp[1]"), reduce("tp"));
    let done = done(&programs(head, &[&first, &first, &second, &second]));
    assert_eq!(done.evaluation.reports().len(), 0, "{:?}", done.evaluation.reports());
    assert_eq!(done.held(0, "y"), ["x@rank0[0..4] + x@rank1[0..4]"]);
    assert_eq!(done.held(3, "y"), ["x@rank2[0..4] + x@rank3[0..4]"]);
}

/// Rank 0 receives nothing into the buffer that it sends.
#[test]
fn what_is_sent_is_as_long_as_before_the_group() {
    let head = "format = 1\ngroup.ranks = 2\ninput.x = { dtype = \"i32\", counts = [3, 0] }\n";
    let group = |peer: u32, recv: &str| {
        format!(
            "{{ call = \"group\", step = [{{ call = \"recv\", peer = {peer}, recv = \"{recv}\" }}, \
             {{ call = \"send\", peer = {peer}, send = \"x\" }}] }}"
        )
    };
    let kinds = |recv: &str| -> Vec<Kind> {
        let done = done(&programs(head, &[&group(1, recv), &group(0, "y")]));
        done.evaluation.reports().iter().map(|report| report.kind).collect()
    };
    assert_eq!(kinds("x"), [Kind::Overlap]);
    assert_eq!(kinds("y"), []);
}

/// Each rank receives before it sends, on another stream: nothing waits, and what is
/// received and doubled at the same time is a hazard, though no size is known in turn.
#[test]
fn sizes_that_become_known_only_later() {
    let head = "format = 1\ngroup.ranks = 2\ninput.x = { dtype = \"i32\", count = 4 }\n\
                input.y = { dtype = \"i32\", count = 4 }\n";
    let exchange = |peer: u32, recv: &str, stream: &str| {
        format!(
            "{{ call = \"recv\", peer = {peer}, recv = \"{recv}\", stream = \"in\" }}, \
             {{ call = \"send\", peer = {peer}, send = \"x\" }}, \
             {{ call = \"scale\", by = 2, send = \"y\", recv = \"y\", stream = \"{stream}\" }}"
        )
    };
    let kinds = |recv: &str, stream: &str| -> Vec<Kind> {
        let steps = [exchange(1, recv, stream), exchange(0, recv, stream)];
        let done = done(&programs(head, &[&steps[0], &steps[1]]));
        done.evaluation.reports().iter().map(|report| report.kind).collect()
    };
    for recv in ["y", "y[0..4]"] {
        // One for each rank: they receive from different peers.
        assert_eq!(kinds(recv, "main"), [Kind::Hazard, Kind::Hazard], "{recv}");
        assert_eq!(kinds(recv, "in"), [], "{recv}");
    }
}
