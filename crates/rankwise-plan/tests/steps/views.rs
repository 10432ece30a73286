//! Some positions of a buffer, read or written in place of all of it.

use rankwise_program::Kind;

use super::{done, text};

const FOUR: &str = "input.x = { dtype = \"i32\", count = 4 }";

#[test]
fn a_part_is_read() {
    let done =
        done(&text(2, FOUR, &[r#"call = "all_gather", send = "x[1..3]", recv = "y", count = 2"#]));
    assert_eq!(done.held(1, "y"), ["x@rank0[1..3]", "x@rank1[1..3]"]);
    assert_eq!(done.held(1, "x"), ["x@rank1[0..4]"]);
}

#[test]
fn a_part_is_written_and_the_rest_stays() {
    let done = done(&text(
        2,
        FOUR,
        &[
            r#"call = "copy", send = "x", recv = "y""#,
            r#"call = "all_reduce", op = "sum", send = "x[0..2]", recv = "y[1..3]""#,
        ],
    ));
    let sum = "x@rank0[0..2] + x@rank1[0..2]";
    assert_eq!(done.held(0, "y"), ["x@rank0[0]", sum, "x@rank0[3]"]);
    assert_eq!(done.held(1, "y"), ["x@rank1[0]", sum, "x@rank1[3]"]);
}

#[test]
fn what_is_allocated_holds_nothing_until_it_is_written() {
    let done = done(&text(
        2,
        FOUR,
        &[
            r#"call = "alloc", recv = "y", dtype = "i32", count = 6"#,
            r#"call = "copy", send = "x", recv = "y[1..5]""#,
            r#"call = "all_reduce", op = "max", send = "y", recv = "z""#,
        ],
    ));
    let nothing = "(never written: step 0 allocated it)";
    assert_eq!(done.held(1, "y"), [nothing, "x@rank1[0..4]", nothing]);
    let lost = "(not promised: step 2 read what nothing promises)";
    assert_eq!(done.held(0, "z"), [lost, "max(x@rank0[0..4], x@rank1[0..4])", lost]);
}

/// The same part read and written, and the parts that the model's relation names.
#[test]
fn in_place_by_views() {
    let done = done(&text(
        2,
        FOUR,
        &[
            r#"call = "all_reduce", op = "sum", send = "x[1..3]", recv = "x[1..3]""#,
            r#"call = "scale", by = 3, send = "x[3..4]", recv = "x[3..4]""#,
        ],
    ));
    let sum = "x@rank0[1..3] + x@rank1[1..3]";
    assert_eq!(done.held(1, "x"), ["x@rank1[0]", sum, "3·x@rank1[3]"]);
}

/// On each rank its own block, as NCCL asks for: rank 0 cannot name that of rank 1, so
/// that each has a program of its own.
#[test]
fn all_gather_in_place_by_the_views_of_each_rank() {
    let program = |rank: u32, send: &str| {
        format!(
            "[[proposal.p.program]]\non = {{ rank = {rank} }}\nstep = [\
             {{ call = \"all_gather\", send = \"{send}\", recv = \"x\" }}]\n"
        )
    };
    let head = format!("format = 1\ngroup.ranks = 2\n{FOUR}\n");
    let right = done(&format!("{head}{}{}", program(0, "x[0..2]"), program(1, "x[2..4]")));
    assert!(right.evaluation.reports().is_empty(), "{:?}", right.evaluation.reports());
    for rank in [0, 1] {
        assert_eq!(right.held(rank, "x"), ["x@rank0[0..2]", "x@rank1[2..4]"]);
    }
    // Rank 1 reads what rank 1 also writes, in another place.
    let wrong = done(&format!("{head}{}{}", program(0, "x[0..2]"), program(1, "x[0..2]")));
    let [report] = wrong.evaluation.reports() else { panic!("one report") };
    assert_eq!(report.kind, Kind::Overlap);
}

/// A reduce-scatter in place by views may use the rest of what it reads as scratch.
#[test]
fn reduce_scatter_in_place_by_the_views_of_each_rank() {
    let program = |rank: u32, recv: &str| {
        format!(
            "[[proposal.p.program]]\non = {{ rank = {rank} }}\nstep = [\
             {{ call = \"reduce_scatter\", op = \"sum\", send = \"x\", recv = \"{recv}\" }}]\n"
        )
    };
    let head = format!("format = 1\ngroup.ranks = 2\n{FOUR}\n");
    let done = done(&format!("{head}{}{}", program(0, "x[0..2]"), program(1, "x[2..4]")));
    assert!(done.evaluation.reports().is_empty(), "{:?}", done.evaluation.reports());
    // The step of rank 0 is the plan's step 0, that of rank 1 its step 1.
    let lost =
        |step| format!("(not promised: step {step}, in place, keeps only the rank's own block)");
    assert_eq!(done.held(0, "x"), ["x@rank0[0..2] + x@rank1[0..2]", &lost(0)]);
    assert_eq!(done.held(1, "x"), [&*lost(1), "x@rank0[2..4] + x@rank1[2..4]"]);
}

/// A gathered buffer is kept as blocks of equal length, one that is put together as runs.
#[test]
fn buffers_are_equal_by_what_they_hold() {
    let done = done(&text(
        2,
        "input.x = { dtype = \"i32\", count = 2 }",
        &[
            r#"call = "all_gather", send = "x", recv = "y""#,
            r#"call = "broadcast", root = 0, send = "x", recv = "zero""#,
            r#"call = "broadcast", root = 1, send = "x", recv = "one""#,
            r#"call = "concat", send = ["zero", "one"], recv = "same""#,
            r#"call = "concat", send = ["one", "zero"], recv = "swapped""#,
            r#"call = "concat", send = ["zero", "one", "one"], recv = "longer""#,
        ],
    ));
    let rank = rankwise_topology::World::new(done.plan.world).rank(0).unwrap();
    let held = |buffer: &str| done.evaluation.after.get(rank, buffer).unwrap();
    assert_eq!(held("y"), held("same"));
    assert_ne!(held("y"), held("swapped"));
    assert_ne!(held("y"), held("longer"));
}

#[test]
fn messages_between_views() {
    let done = done(&text(
        2,
        FOUR,
        &[
            r#"call = "send", on = { rank = 0 }, peer = 1, send = "x[0..2]""#,
            r#"call = "recv", on = { rank = 1 }, peer = 0, recv = "x[2..4]""#,
        ],
    ));
    assert_eq!(done.held(1, "x"), ["x@rank1[0..2]", "x@rank0[0..2]"]);
    assert_eq!(done.held(0, "x"), ["x@rank0[0..4]"]);
}

/// Only the root reads and writes: elsewhere the part is not promised, the rest stays.
#[test]
fn a_rooted_call_into_a_part() {
    let done = done(&text(
        2,
        FOUR,
        &[
            r#"call = "copy", send = "x", recv = "y""#,
            r#"call = "reduce", op = "sum", root = 1, send = "x[0..2]", recv = "y[2..4]""#,
        ],
    ));
    assert_eq!(done.held(1, "y"), ["x@rank1[0..2]", "x@rank0[0..2] + x@rank1[0..2]"]);
    let elsewhere = done.held(0, "y");
    assert_eq!(elsewhere[0], "x@rank0[0..2]");
    assert!(elsewhere[1].contains("root"), "{elsewhere:?}");
}

/// A scatter in place leaves the rest of the root's buffer, a reduce-scatter does not.
#[test]
fn what_a_reduction_in_place_leaves_of_the_rest() {
    let done = done(&text(
        2,
        "input.x = { dtype = \"i32\", count = 6 }",
        &[r#"call = "reduce_scatter", op = "sum", send = "x[2..6]", recv = "x[2..6]""#],
    ));
    let lost = &done.held(0, "x")[2];
    assert_eq!(done.held(0, "x")[..2], ["x@rank0[0..2]", "x@rank0[2..4] + x@rank1[2..4]"]);
    assert!(lost.contains("in-place") || lost.contains("in place"), "{lost}");
    assert_eq!(done.held(1, "x")[0], "x@rank1[0..2]");
    assert_eq!(done.held(1, "x")[2], "x@rank0[4..6] + x@rank1[4..6]");
}

/// Gradients of three tensors in one flat buffer: one all-reduce for all of them.
#[test]
fn a_bucket_of_many_tensors() {
    let inputs = "input.a = { dtype = \"f32\", count = 3 }\n\
                  input.b = { dtype = \"f32\", count = 1 }\n\
                  input.c = { dtype = \"f32\", shape = [2, 2] }";
    let bucketed = [
        r#"call = "concat", send = ["a", "b", "c"], recv = "flat""#,
        r#"call = "all_reduce", op = "avg", send = "flat", recv = "flat""#,
        r#"call = "copy", send = "flat[0..3]", recv = "a""#,
        r#"call = "copy", send = "flat[3..4]", recv = "b""#,
        r#"call = "slice", positions = "4..8", send = "flat", recv = "c""#,
    ];
    let needs = "need = [\n\
                 { on = \"every rank\", buffer = \"a\", holds = \"avg(a)\" },\n\
                 { on = \"every rank\", buffer = \"b\", holds = \"avg(b)\" },\n\
                 { on = \"every rank\", buffer = \"c\", holds = \"avg(c)\" },\n]";
    let plan = format!("{}{needs}\n", text(2, inputs, &bucketed));
    assert_eq!(super::answer(&plan), super::SATISFIED);
    // One element off: the last of `a` is the first of `b`.
    let off = plan.replace("flat[0..3]", "flat[1..4]");
    let (answer, wrong) = super::answer(&off);
    assert_eq!(answer, rankwise_plan::need::NeedsAnswer::NotSatisfied, "{wrong:?}");
}
