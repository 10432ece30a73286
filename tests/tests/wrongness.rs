//! What is wrong, by name and with its numbers. Every plan here is wrong in one way
//! that was worked out by hand.

use rankwise_plan::Plan;
use rankwise_plan::evaluate::evaluate;
use rankwise_plan::file::Format;
use rankwise_plan::need::{Answer, Evidence, judge_needs, places};
use rankwise_plan::read::NoArrays;
use rankwise_plan::term::Terms;
use rankwise_plan::wrong::Wrong;

/// Four ranks on devices D0 … D3, in two pairs (`tp`) and across them (`dp`), with
/// inputs `g` and `p` of 8 elements; the proposal's steps, and one need on `y`.
fn plan(dtype: &str, steps: &[&str], on: &str, holds: &str) -> Plan {
    let steps: Vec<String> = steps.iter().map(|step| format!("{{ {step} }}")).collect();
    let text = format!(
        "format = 1\n\
         group.devices = [\"D0\", \"D1\", \"D2\", \"D3\"]\n\
         groups.tp = {{ lists = [[0, 1], [2, 3]] }}\n\
         groups.dp = {{ lists = [[0, 2], [1, 3]] }}\n\
         input.g = {{ dtype = \"{dtype}\", count = 8, meaning = \"gradient\" }}\n\
         input.p = {{ dtype = \"{dtype}\", count = 8, meaning = \"parameter\" }}\n\
         proposal.it.step = [{}]\n\
         need = [{{ on = {on}, {holds} }}]\n",
        steps.join(", ")
    );
    Plan::read(&text, Format::Toml, &mut NoArrays).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The first place where the need is not met.
fn evidence(dtype: &str, steps: &[&str], on: &str, holds: &str) -> Evidence {
    let plan = plan(dtype, steps, on, holds);
    let (mut terms, proposal) = (Terms::new(), &plan.proposals[0]);
    let evaluation = evaluate(&plan, proposal, &mut terms).unwrap();
    let report = judge_needs(&plan, proposal, &evaluation, &mut terms).unwrap();
    assert_eq!(report.needs[0].answer, Answer::No, "{report:?}");
    report.needs[0].evidence.clone().unwrap()
}

/// The names and the sentences, on every rank's `y`.
fn wrong(dtype: &str, steps: &[&str], holds: &str) -> Vec<(&'static str, String)> {
    let holds = format!("buffer = \"y\", holds = \"{holds}\"");
    named(&evidence(dtype, steps, "\"every rank\"", &holds))
}

fn named(evidence: &Evidence) -> Vec<(&'static str, String)> {
    evidence.wrongs.iter().map(|wrong| (wrong.name(), wrong.to_string())).collect()
}

/// One finding, by name, with its sentence.
fn only(dtype: &str, step: &str, holds: &str, name: &str, sentence: &str) {
    assert_eq!(wrong(dtype, &[step], holds), [(name, sentence.to_string())]);
}

#[test]
fn over_the_wrong_group_by_the_plans_names() {
    only(
        "i32",
        r#"call = "all_reduce", op = "sum", over = "tp", send = "g", recv = "y""#,
        "sum(g)",
        "sub_group",
        "over the wrong group: reduced over `tp` (ranks 0, 1), needed over the world (ranks 0, 1, 2, 3)",
    );
    only(
        "f32",
        r#"call = "all_reduce", op = "avg", over = "dp", send = "g", recv = "y""#,
        "avg(g) over tp",
        "sub_group",
        "over the wrong group: reduced over `dp` (ranks 0, 2), needed over `tp` (ranks 0, 1)",
    );
    // Means of integers are opaque, and their groups are still seen.
    only(
        "i32",
        r#"call = "all_reduce", op = "avg", send = "g", recv = "y""#,
        "avg(g) over tp",
        "sub_group",
        "over the wrong group: reduced over the world (ranks 0, 1, 2, 3), needed over `tp` (ranks 0, 1)",
    );
    // A group that only a step speaks of.
    only(
        "i32",
        r#"call = "all_reduce", op = "max", over = [[0, 1, 2], [3]], send = "g", recv = "y""#,
        "max(g)",
        "sub_group",
        "over the wrong group: reduced over a group of step 0 (ranks 0, 1, 2), needed over the world \
         (ranks 0, 1, 2, 3)",
    );
}

#[test]
fn a_contribution_that_is_missing_or_not_needed() {
    // Ranks 0, 1 and 3 are no group of the plan: what is missing is named.
    let three = [
        r#"call = "all_reduce", op = "sum", over = "tp", send = "g", recv = "t""#,
        r#"call = "broadcast", root = 3, send = "g", recv = "u""#,
        r#"call = "broadcast", root = 0, send = "t", recv = "t""#,
        r#"call = "fold", op = "sum", send = ["t", "u"], recv = "y""#,
    ];
    assert_eq!(wrong("i32", &three, "sum(g)"), [("missing", "missing: g@D2[0..8]".to_string())]);
    assert_eq!(
        wrong("i32", &three, "sum(g) over tp"),
        [
            ("extra", "g@D3[0..8] is not needed here".to_string()),
            (
                "other_buffer",
                "in another buffer: `t` holds what is needed (written by step 2)".to_string()
            )
        ]
    );
}

/// The mean of four equal maxima is a fourth of their sum, which may overflow: no rank's
/// contribution is missing from it, and none is added.
#[test]
fn a_contribution_inside_another_operation_is_not_missing() {
    let steps = [
        r#"call = "all_reduce", op = "max", send = "g", recv = "y""#,
        r#"call = "all_reduce", op = "avg", send = "y", recv = "y""#,
    ];
    let names: Vec<&str> = wrong("i32", &steps, "max(g)").iter().map(|(name, _)| *name).collect();
    assert!(names.contains(&"different"), "{names:?}");
    assert!(!names.contains(&"missing") && !names.contains(&"extra"), "{names:?}");
}

#[test]
fn a_contribution_that_counts_twice() {
    let twice = [
        r#"call = "all_reduce", op = "sum", over = "tp", send = "g", recv = "t""#,
        r#"call = "fold", op = "sum", on = { rank = 1 }, send = ["t", "g"], recv = "y""#,
    ];
    let holds = "buffer = \"y\", positions = \"2..4\", holds = \"sum(g)[2..4] over tp\"";
    let found = evidence("i32", &twice, "{ rank = 1 }", holds);
    assert_eq!((found.rank.index(), found.positions.clone()), (1, 2..4));
    assert_eq!(found.found, "g@D0[2..4] + 2·g@D1[2..4]");
    assert_eq!(
        named(&found)[0],
        ("repeated", "repeated: g@D1[2..4] counts 2 times, needed 1".to_string())
    );
}

#[test]
fn scaled_wrongly_in_every_way() {
    only(
        "f32",
        r#"call = "all_reduce", op = "sum", send = "g", recv = "y""#,
        "avg(g)",
        "not_averaged",
        "scaled wrongly: the sum, where the mean is needed (not divided by 4)",
    );
    only(
        "i32",
        r#"call = "all_reduce", op = "sum", send = "g", recv = "y""#,
        "avg(g)",
        "not_averaged",
        "scaled wrongly: the sum, where the mean is needed (not divided by 4)",
    );
    for dtype in ["f32", "i32"] {
        only(
            dtype,
            r#"call = "all_reduce", op = "avg", send = "g", recv = "y""#,
            "sum(g)",
            "averaged",
            "scaled wrongly: the mean, where the sum is needed (divided by 4)",
        );
    }
    let again = |by: &str| {
        let scale = format!(r#"call = "scale", by = "{by}", send = "t", recv = "y""#);
        let sum = r#"call = "all_reduce", op = "sum", over = "tp", send = "g", recv = "t""#;
        wrong("f32", &[sum, &scale], "avg(g) over tp")
    };
    assert_eq!(
        again("1/4"),
        [(
            "divisor",
            "scaled wrongly: divided by 4 (the world, the size of the wrong group), needed by 2 \
             (`dp`)"
                .to_string()
        )]
    );
    assert_eq!(again("3"), [("repeated", "repeated: 6 times what is needed".to_string())]);
    assert_eq!(again("0.75"), [("scaled", "scaled wrongly: 3/2 times what is needed".to_string())]);
    let twice = [
        r#"call = "all_reduce", op = "avg", over = "tp", send = "g", recv = "t""#,
        r#"call = "scale", by = "1/2", send = "t", recv = "y""#,
    ];
    let sentence = "scaled wrongly: divided twice, by 2 and by 2, needed once by 2";
    assert_eq!(wrong("f32", &twice, "avg(g) over tp")[0], ("divided_twice", sentence.to_string()));
}

#[test]
fn the_mean_of_a_mean() {
    let twice = [
        r#"call = "all_reduce", op = "avg", send = "g", recv = "t""#,
        r#"call = "all_reduce", op = "avg", send = "t", recv = "y""#,
    ];
    // A mean of equal means is the mean, in floats; truncated, nothing says so.
    let again = wrong(
        "i32",
        &[twice[0], r#"call = "all_reduce", op = "sum", send = "t", recv = "y""#],
        "avg(g)",
    );
    assert_eq!(again[0], ("repeated", "repeated: 4 times what is needed".to_string()));
}

#[test]
fn blocks_in_another_order_with_the_permutation() {
    // The gather runs over a group whose list is not in rank order.
    only(
        "i32",
        r#"call = "all_gather", over = [[0, 2, 1, 3]], send = "g", recv = "y""#,
        "gather(g)",
        "permuted",
        "permuted: blocks of 8 positions in another order: 1 and 2 exchanged",
    );
    only(
        "i32",
        r#"call = "all_gather", over = [[2, 0, 3, 1]], send = "g", recv = "y""#,
        "gather(g)",
        "permuted",
        "permuted: blocks of 8 positions in another order: 2, 0, 3, 1",
    );
    only(
        "i32",
        r#"call = "all_gather", over = [[3, 0, 1, 2]], send = "g", recv = "y""#,
        "gather(g)",
        "rotated",
        "rotated: starts with the value of position 24 of 32, and goes round",
    );
    // Shards of one sum, gathered in another order: the need is one piece.
    let scattered = [
        r#"call = "reduce_scatter", op = "sum", send = "g", recv = "s""#,
        r#"call = "all_gather", over = [[0, 2, 1, 3]], send = "s", recv = "y""#,
    ];
    assert_eq!(
        wrong("i32", &scattered, "sum(g)"),
        [(
            "permuted",
            "permuted: blocks of 2 positions in another order: 1 and 2 exchanged".to_string()
        )]
    );
    // Positions of one contribution, turned.
    let turned = [
        r#"call = "slice", positions = "3..8", send = "g", recv = "a""#,
        r#"call = "slice", positions = "0..3", send = "g", recv = "b""#,
        r#"call = "concat", send = ["a", "b"], recv = "y""#,
    ];
    assert_eq!(
        wrong("i32", &turned, "g")[0],
        (
            "rotated",
            "rotated: starts with the value of position 3 of 8, and goes round".to_string()
        )
    );
}

#[test]
fn right_values_at_the_wrong_owners() {
    let reversed =
        r#"call = "reduce_scatter", op = "sum", over = [[3, 1, 2, 0]], send = "g", recv = "y""#;
    let wrongs = wrong("i32", &[reversed], "shard(sum(g))");
    assert_eq!(
        wrongs[0],
        (
            "owners_permuted",
            "at the wrong owners: ranks 0, 1, 2, 3 hold what belongs on 3, 1, 2, 0".to_string()
        )
    );
    // Two ranks hold what only one should: no permutation, and the owner is named.
    let root = [
        r#"call = "reduce_scatter", op = "sum", send = "g", recv = "s""#,
        r#"call = "broadcast", over = "tp", root = 1, send = "s", recv = "y""#,
    ];
    let wrongs = wrong("i32", &root, "shard(sum(g))");
    assert_eq!(
        wrongs[0],
        ("wrong_owner", "at the wrong owner: this belongs on rank 1 (device D1)".to_string())
    );
}

#[test]
fn an_earlier_steps_buffer() {
    // `y` was copied before the sum was made.
    let early = [
        r#"call = "copy", send = "g", recv = "y""#,
        r#"call = "all_reduce", op = "sum", send = "g", recv = "t""#,
    ];
    assert_eq!(
        wrong("i32", &early, "sum(g)"),
        [
            ("unreduced", "unreduced: g@D0[0..8] alone".to_string()),
            ("stale", "stale: written by step 0; step 1 made what is needed in `t`".to_string())
        ]
    );
    // The consumer reads the input, which no step touched.
    let holds = "buffer = \"g\", holds = \"sum(g)\"";
    let found = evidence("i32", &early[1..], "{ rank = 2 }", holds);
    assert_eq!(
        named(&found)[1],
        (
            "stale",
            "stale: an input, as it was at first; step 0 made what is needed in `t`".to_string()
        )
    );
    // It was there, and a later step wrote over it.
    let over = [
        r#"call = "all_reduce", op = "sum", send = "g", recv = "y""#,
        r#"call = "all_reduce", op = "sum", over = "tp", send = "y", recv = "y""#,
    ];
    assert_eq!(
        wrong("i32", &over, "sum(g)"),
        [
            ("repeated", "repeated: 2 times what is needed".to_string()),
            (
                "overwritten",
                "overwritten: what is needed was here (written by step 0) until step 1".to_string()
            )
        ]
    );
}

#[test]
fn what_was_never_written_or_read_too_early() {
    let on_one = r#"call = "copy", on = { rank = 0 }, send = "g", recv = "y""#;
    let found = evidence("i32", &[on_one], "{ rank = 1 }", "buffer = \"y\", holds = \"g@D0\"");
    assert_eq!(
        named(&found),
        [("never_written", "never written: no step writes this buffer here".to_string())]
    );

    // Step 0 fills `t` on rank 2 only; step 1 reads it everywhere.
    let rooted = [
        r#"call = "reduce", op = "sum", root = 2, send = "g", recv = "t""#,
        r#"call = "all_reduce", op = "sum", send = "t", recv = "u""#,
        r#"call = "scale", by = "2", send = "u", recv = "y""#,
    ];
    let wrongs = wrong("i32", &rooted, "sum(g)");
    assert_eq!(wrongs[0].0, "read_outside");
    assert_eq!(
        wrongs[1],
        (
            "read_outside",
            "read outside of what was written: step 1 read positions 0..8 of `t` on rank 0 (not \
             promised: step 0 fills it on the root only)"
                .to_string()
        )
    );
    // In place, a reduce-scatter keeps the own block only.
    let in_place = r#"call = "reduce_scatter", op = "sum", send = "g", recv = "g""#;
    let found = evidence(
        "i32",
        &[in_place],
        "{ rank = 0 }",
        "buffer = \"g\", positions = \"0..4\", holds = \"sum(g)[0..4]\"",
    );
    assert_eq!(found.positions, 2..4);
    assert_eq!(named(&found)[0].0, "clobbered");
}

#[test]
fn other_inputs_types_and_reductions() {
    only(
        "i32",
        r#"call = "all_gather", send = "p", recv = "y""#,
        "gather(g)",
        "other_input",
        "made of p (parameter), needed of g (gradient): equal shapes, other values",
    );
    only(
        "i32",
        r#"call = "all_reduce", op = "max", send = "g", recv = "y""#,
        "sum(g)",
        "other_reduction",
        "max where sum is needed",
    );
    let half = [
        r#"call = "cast", dtype = "bf16", send = "g", recv = "n""#,
        r#"call = "all_reduce", op = "sum", send = "n", recv = "y""#,
    ];
    assert_eq!(
        wrong("f32", &half, "sum(g)"),
        [("element_type", "computed in bf16, needed in f32".to_string())]
    );
}

#[test]
fn computed_in_another_type_though_it_ends_in_the_right_one() {
    let before = [
        r#"call = "cast", dtype = "bf16", send = "g", recv = "n""#,
        r#"call = "all_reduce", op = "sum", send = "n", recv = "y""#,
    ];
    assert_eq!(
        wrong("f32", &before, "cast(sum(g), bf16)"),
        [("element_type", "computed in bf16, needed in f32".to_string())]
    );
    let after = [
        r#"call = "all_reduce", op = "sum", send = "g", recv = "n""#,
        r#"call = "cast", dtype = "bf16", send = "n", recv = "y""#,
    ];
    assert_eq!(
        wrong("f32", &after, "sum(cast(g, bf16))"),
        [("element_type", "computed in f32, needed in bf16".to_string())]
    );
    // Another sum as well, and in another type: then parts are named.
    let tp = [before[0], r#"call = "all_reduce", op = "sum", over = "tp", send = "n", recv = "y""#];
    assert_ne!(wrong("f32", &tp, "cast(sum(g), bf16)")[0].0, "element_type");
}

#[test]
fn truncated_in_parts() {
    let tp_mean = r#"call = "all_reduce", op = "avg", over = "tp", send = "g", recv = "t""#;
    let mean_of =
        [tp_mean, r#"call = "all_reduce", op = "avg", over = "dp", send = "t", recv = "y""#];
    assert_eq!(
        wrong("i32", &mean_of, "avg(g)"),
        [(
            "divided_in_parts",
            "scaled wrongly: divided in parts, by 2 and then by 2, truncated each time, needed \
             once by 4"
                .to_string()
        )]
    );
    let sum_of =
        [tp_mean, r#"call = "all_reduce", op = "sum", over = "dp", send = "t", recv = "y""#];
    assert_eq!(
        wrong("i32", &sum_of, "avg(g)"),
        [(
            "divided_in_parts",
            "scaled wrongly: divided in parts, by 2, truncated each time, needed once by 4"
                .to_string()
        )]
    );
    // The means of one pair are no part of what the other pair needs.
    let across =
        [tp_mean, r#"call = "all_reduce", op = "avg", over = "tp", send = "t", recv = "y""#];
    assert_ne!(wrong("i32", &across, "avg(g)")[0].0, "divided_in_parts");
}

#[test]
fn a_contribution_with_another_factor_is_not_repeated() {
    let halves =
        r#"call = "all_reduce", op = "premul", scalars = [0.5, 1, 1, 3], send = "g", recv = "y""#;
    assert_eq!(
        wrong("f32", &[halves], "premul(g, 0.25, 1, 1, 2)"),
        [
            ("scaled", "scaled wrongly: g@D0[0..8] counts 1/2 times, needed 1/4".to_string()),
            ("repeated", "repeated: g@D3[0..8] counts 3 times, needed 2".to_string()),
        ]
    );
}

/// What everybody needs is at home wherever it is: that a rank lacks it is another matter.
#[test]
fn what_every_rank_needs_is_at_no_wrong_owner() {
    let rooted = r#"call = "reduce", op = "sum", root = 0, send = "g", recv = "y""#;
    only("i32", rooted, "sum(g)", "only_on_root", "not promised: step 0 fills it on the root only");
    let on_one = r#"call = "copy", on = { rank = 0 }, send = "g", recv = "y""#;
    only("i32", on_one, "g@D0", "never_written", "never written: no step writes this buffer here");
}

#[test]
fn every_place_where_a_need_is_not_met() {
    // Positions 0 and 1 are overwritten by the own contribution, and on rank 3 positions 6
    // and 7 count it twice.
    let steps = [
        r#"call = "all_reduce", op = "sum", send = "g", recv = "y""#,
        r#"call = "copy", send = "g[0..2]", recv = "y[0..2]""#,
        r#"call = "fold", op = "sum", on = { rank = 3 }, send = ["y[6..8]", "g[6..8]"], recv = "y[6..8]""#,
    ];
    let plan = plan("i32", &steps, "{ group = \"dp\" }", "buffer = \"y\", holds = \"sum(g)\"");
    let (mut terms, proposal) = (Terms::new(), &plan.proposals[0]);
    let evaluation = evaluate(&plan, proposal, &mut terms).unwrap();
    let all = places(&plan, proposal, &evaluation, &mut terms, 0).unwrap();
    let told: Vec<(u32, std::ops::Range<u64>, Vec<&str>)> = all
        .iter()
        .map(|place| {
            let names = place.wrongs.iter().map(Wrong::name).collect();
            (place.rank.index(), place.positions.clone(), names)
        })
        .collect();
    assert_eq!(
        told,
        [
            (0, 0..2, vec!["unreduced"]),
            (1, 0..2, vec!["unreduced"]),
            (2, 0..2, vec!["unreduced"]),
            (3, 0..2, vec!["unreduced"]),
            (3, 6..8, vec!["repeated"]),
        ]
    );
    let first = judge_needs(&plan, proposal, &evaluation, &mut terms).unwrap().needs.remove(0);
    let first = first.evidence.unwrap();
    assert_eq!((first.rank, first.positions), (all[0].rank, all[0].positions.clone()));
    // No such need.
    assert!(places(&plan, proposal, &evaluation, &mut terms, 1).unwrap().is_empty());
}
