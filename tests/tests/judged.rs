//! Arrays that a run left, wrong in one way each, and the name that `judge` gives it.
//! The arrays were worked out by hand from the inputs in [`PLAN`].

use rankwise_plan::Plan;
use rankwise_plan::file::Format;
use rankwise_plan::judge::{Finding, Law, Observed, judge};
use rankwise_plan::read::NoArrays;
use rankwise_plan::values::Values;
use rankwise_topology::World;

/// Four ranks in two pairs. Sum over the world: [1111, 2222, 3333, 4444]; over ranks 0
/// and 1 (`tp`): [11, 22, 33, 44].
const PLAN: &str = r#"
format = 1
group.devices = ["A", "B", "C", "D"]
groups.tp = { lists = [[0, 1], [2, 3]] }

[input.x]
dtype = "f64"
count = 4
on.rank = { 0 = [1, 2, 3, 4], 1 = [10, 20, 30, 40], 2 = [100, 200, 300, 400], 3 = [1000, 2000, 3000, 4000] }
"#;

fn plan(steps: &str) -> Plan {
    let text = format!("{PLAN}\n[proposal.it]\nstep = [{steps}]\n");
    Plan::read(&text, Format::Toml, &mut NoArrays).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn finding(steps: &str, rank: u32, found: &[f64]) -> Finding {
    let plan = plan(steps);
    let rank = World::new(plan.world).rank(rank).unwrap();
    let observed = Observed::from([((rank, "y".to_string()), Values::of(found))]);
    judge(&plan, &plan.proposals[0], &observed).unwrap().findings.remove(0)
}

/// The names and sentences of everything that explains what rank 1 was left with.
fn laws(steps: &str, found: &[f64]) -> Vec<(&'static str, String)> {
    let finding = finding(steps, 1, found);
    finding.law.wrongs().iter().map(|wrong| (wrong.name(), wrong.to_string())).collect()
}

fn only(steps: &str, found: &[f64], name: &str, sentence: &str) {
    assert_eq!(laws(steps, found), [(name, sentence.to_string())]);
}

const SUM: &str = r#"{ call = "all_reduce", op = "sum", send = "x", recv = "y" }"#;
const MEAN: &str = r#"{ call = "all_reduce", op = "avg", send = "x", recv = "y" }"#;
const TP_MEAN: &str = r#"{ call = "all_reduce", op = "avg", over = "tp", send = "x", recv = "y" }"#;
const GATHER: &str = r#"{ call = "all_gather", send = "x", recv = "y" }"#;

#[test]
fn a_right_array_is_right() {
    assert_eq!(finding(SUM, 1, &[1111.0, 2222.0, 3333.0, 4444.0]).law, Law::Right);
}

#[test]
fn missing_repeated_and_unreduced() {
    // Without rank 2, and with rank 3 twice.
    only(SUM, &[1011.0, 2022.0, 3033.0, 4044.0], "missing", "missing: x@rank2[0..4]");
    only(
        SUM,
        &[2111.0, 4222.0, 6333.0, 8444.0],
        "repeated",
        "repeated: x@rank3[0..4] counts 2 times, needed 1",
    );
    only(SUM, &[10.0, 20.0, 30.0, 40.0], "unreduced", "unreduced: x@rank1[0..4] alone");
    // Twice the sum, as after a second sum over a pair; four times, over the world.
    only(SUM, &[2222.0, 4444.0, 6666.0, 8888.0], "repeated", "repeated: 2 times what is needed");
    only(SUM, &[4444.0, 8888.0, 13332.0, 17776.0], "repeated", "repeated: 4 times what is needed");
}

#[test]
fn over_another_group() {
    only(
        SUM,
        &[11.0, 22.0, 33.0, 44.0],
        "sub_group",
        "over the wrong group: reduced over `tp` (ranks 0, 1), needed over the world (ranks 0, 1, 2, 3)",
    );
    only(
        TP_MEAN,
        &[277.75, 555.5, 833.25, 1111.0],
        "sub_group",
        "over the wrong group: reduced over the world (ranks 0, 1, 2, 3), needed over `tp` (ranks 0, 1)",
    );
}

#[test]
fn scaled_in_another_way() {
    only(
        SUM,
        &[277.75, 555.5, 833.25, 1111.0],
        "averaged",
        "scaled wrongly: the mean, where the sum is needed (divided by 4)",
    );
    only(
        TP_MEAN,
        &[11.0, 22.0, 33.0, 44.0],
        "not_averaged",
        "scaled wrongly: the sum, where the mean is needed (not divided by 2)",
    );
    only(
        MEAN,
        &[555.5, 1111.0, 1666.5, 2222.0],
        "divisor",
        "scaled wrongly: divided by 2 (`tp`, the size of the wrong group), needed by 4 (the world)",
    );
}

#[test]
fn blocks_in_another_order() {
    let block = |by: f64| [by, 2.0 * by, 3.0 * by, 4.0 * by];
    let [a, b, c, d] = [1.0, 10.0, 100.0, 1000.0].map(block);
    only(
        GATHER,
        &[a, c, b, d].concat(),
        "permuted",
        "permuted: blocks of 4 positions in another order: 1 and 2 exchanged",
    );
    only(
        GATHER,
        &[d, a, b, c].concat(),
        "rotated",
        "rotated: starts with the value of position 12 of 16, and goes round",
    );
}

#[test]
fn stale_cleared_or_another_buffers() {
    let in_place = r#"{ call = "copy", send = "x", recv = "y" },
        { call = "all_reduce", op = "sum", over = "tp", send = "y", recv = "y" },
        { call = "all_reduce", op = "max", send = "x", recv = "t" },
        { call = "scale", by = "10", send = "y", recv = "y" }"#;
    only(
        in_place,
        &[11.0, 22.0, 33.0, 44.0],
        "stale",
        "stale: written by step 1; step 3 made what is needed here",
    );
    only(
        in_place,
        &[1000.0, 2000.0, 3000.0, 4000.0],
        "holds_other_buffer",
        "holds what `t` holds (written by step 2)",
    );
    only(
        SUM,
        &[0.0; 4],
        "constant",
        "constant: 0 wherever it is wrong, as if never written or cleared",
    );
    // Nothing is invented.
    assert_eq!(finding(SUM, 1, &[1111.0, 2222.0, 3333.0, 4445.0]).law, Law::Unexplained);
}

#[test]
fn divided_once_more() {
    // Sixteenths of the sum.
    only(
        MEAN,
        &[69.4375, 138.875, 208.3125, 277.75],
        "divided_twice",
        "scaled wrongly: divided twice, by 4 and by 4, needed once by 4",
    );
}

#[test]
fn another_reduction() {
    // Rank 3 has the largest values: its own alone is the maximum.
    only(SUM, &[1000.0, 2000.0, 3000.0, 4000.0], "unreduced", "unreduced: x@rank3[0..4] alone");
    // 1·10·100·1000 times 1, 2^4, 3^4 and 4^4.
    only(SUM, &[1e6, 16e6, 81e6, 256e6], "other_reduction", "prod where sum is needed");
}

#[test]
fn at_the_wrong_owner() {
    // Shards of one element each: ranks 0 and 2 have each other's.
    let scatter = r#"{ call = "reduce_scatter", op = "sum", send = "x", recv = "y" }"#;
    let plan = plan(scatter);
    let rank = |rank| World::new(plan.world).rank(rank).unwrap();
    let left = [3333.0, 2222.0, 1111.0, 4444.0];
    let observed: Observed = (0..)
        .zip(left)
        .map(|(index, value)| ((rank(index), "y".to_string()), Values::of(&[value])))
        .collect();
    let judgement = judge(&plan, &plan.proposals[0], &observed).unwrap();
    let found: Vec<String> =
        judgement.findings.iter().map(|finding| finding.law.to_string()).collect();
    assert_eq!(
        found,
        [
            "at the wrong owner: this belongs on rank 2 (device C)",
            "right",
            "at the wrong owner: this belongs on rank 0 (device A)",
            "right",
        ]
    );
    assert_eq!(judgement.owners("y").unwrap(), [2, 1, 0, 3]);
}

#[test]
fn what_is_promised_on_the_root_only_is_judged_there_only() {
    let rooted = r#"{ call = "reduce", op = "sum", root = 0, send = "x", recv = "y" }"#;
    assert_eq!(finding(rooted, 0, &[10.0, 20.0, 30.0, 40.0]).law.name(), "unreduced");
    assert_eq!(finding(rooted, 0, &[1111.0, 2222.0, 3333.0, 4444.0]).law, Law::Right);
    // Rank 1 may hold anything: nobody may read it.
    assert_eq!(finding(rooted, 1, &[7.0; 4]).law, Law::Right);
}

#[test]
fn integers_are_exact_and_their_means_opaque() {
    let text = r#"
        format = 1
        group.ranks = 2
        input.x = { dtype = "i32", count = 2, on.rank = { 0 = [3, -5], 1 = [4, 2] } }
        proposal.it.step = [{ call = "all_reduce", op = "avg", send = "x", recv = "y" }]
    "#;
    let plan = Plan::read(text, Format::Toml, &mut NoArrays).unwrap();
    let law = |found: &[i32]| {
        let rank = World::new(plan.world).rank(0).unwrap();
        let observed = Observed::from([((rank, "y".to_string()), Values::of(found))]);
        judge(&plan, &plan.proposals[0], &observed).unwrap().findings.remove(0).law.to_string()
    };
    // 7/2 and -3/2, cut off towards zero.
    assert_eq!(law(&[3, -1]), "right");
    assert_eq!(
        law(&[7, -3]),
        "scaled wrongly: the sum, where the mean is needed (not divided by 2)"
    );
    // Each divided before: 1 + 2 and -2 + 1. No law that is tried does that.
    assert_eq!(law(&[1, 0]), "scaled wrongly: divided twice, by 2 and by 2, needed once by 2");
    assert_eq!(law(&[4, -2]), "explained by no law that was tried");
}

#[test]
fn what_the_values_do_not_tell_apart_is_listed() {
    // Half of the mean over four: divided again by two, or by eight.
    let found = laws(TP_MEAN, &[2.75, 5.5, 8.25, 11.0]);
    let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["divisor", "divided_twice"], "{found:?}");
}

/// `rank 1 positions 2..4 hold 2·x@A + …`: the rest is right, and what is not has a name.
#[test]
fn wrong_in_a_part_only() {
    only(
        SUM,
        &[1111.0, 2222.0, 3336.0, 4448.0],
        "repeated",
        "repeated: x@rank0[2..4] counts 2 times, needed 1",
    );
    // The middle was not reduced.
    only(SUM, &[1111.0, 20.0, 30.0, 4444.0], "unreduced", "unreduced: x@rank1[1..3] alone");
    // Wrong at both ends, and right between: no law leaves that.
    let ends = [10.0, 2222.0, 3333.0, 40.0];
    assert_eq!(finding(SUM, 1, &ends).law, Law::Unexplained);
    // Zeros tell of no fold, though one of rank 0's and rank 1's would leave them too.
    only(
        SUM,
        &[1111.0, 2222.0, 0.0, 0.0],
        "constant",
        "constant: 0 wherever it is wrong, as if never written or cleared",
    );
}

#[test]
fn what_was_allocated_and_not_written_may_hold_anything() {
    let half = r#"{ call = "alloc", dtype = "f64", count = 4, recv = "y" },
        { call = "copy", send = "x[0..2]", recv = "y[0..2]" }"#;
    assert_eq!(finding(half, 1, &[10.0, 20.0, 7.0, f64::NAN]).law, Law::Right);
    // What was written is held to it.
    let cleared = finding(half, 1, &[10.0, 0.0, 0.0, 0.0]);
    assert_eq!((cleared.wrong, cleared.law.name()), (1, "constant"));
    let all = r#"{ call = "alloc", dtype = "f64", count = 4, recv = "y" }"#;
    assert_eq!(finding(all, 1, &[1.0, 2.0, 3.0, 4.0]).law, Law::Right);
    // Read from there, nothing is promised of what comes of it.
    let read = r#"{ call = "alloc", dtype = "f64", count = 4, recv = "t" },
        { call = "copy", send = "x[0..2]", recv = "t[0..2]" },
        { call = "all_reduce", op = "sum", send = "t", recv = "y" }"#;
    assert_eq!(finding(read, 1, &[1111.0, 2222.0, 5.0, 6.0]).law, Law::Right);
    assert_eq!(finding(read, 1, &[10.0, 20.0, 5.0, 6.0]).law.name(), "unreduced");
}

#[test]
fn another_constant_where_the_plan_has_one() {
    let padded = r#"{ call = "pad", count = 6, value = 0, send = "x", recv = "y" }"#;
    only(
        padded,
        &[10.0, 20.0, 30.0, 40.0, 9.0, 9.0],
        "padding",
        "padding with 9 where 0 is needed",
    );
    assert_eq!(finding(padded, 1, &[10.0, 20.0, 30.0, 40.0, 0.0, 0.0]).law, Law::Right);
    let filled = r#"{ call = "fill", value = 7, dtype = "f64", count = 4, recv = "y" }"#;
    only(filled, &[0.0; 4], "other_constant", "0 where 7 is needed");
    only(filled, &[7.0, 7.0, 8.0, 7.0], "other_constant", "8 where 7 is needed");
    // Two other values are no constant.
    assert_eq!(finding(filled, 1, &[7.0, 6.0, 8.0, 7.0]).law, Law::Unexplained);
}

#[test]
fn a_view_that_was_not_written() {
    // Position 2 and 3 should hold what was copied there last.
    let views = r#"{ call = "copy", send = "x", recv = "y" },
        { call = "copy", send = "x[0..2]", recv = "y[2..4]" }"#;
    only(
        views,
        &[10.0, 20.0, 30.0, 40.0],
        "stale",
        "stale: written by step 0; step 1 made what is needed here",
    );
    only(
        views,
        &[10.0, 20.0, 0.0, 0.0],
        "constant",
        "constant: 0 wherever it is wrong, as if never written or cleared",
    );
    assert_eq!(finding(views, 1, &[10.0, 20.0, 10.0, 20.0]).law, Law::Right);
}
