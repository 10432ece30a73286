//! Which terms are equal, law by law. The forms were worked out by hand; what has no law
//! here stays as it was written.

use rankwise_plan::Plan;
use rankwise_plan::compare::{Comparison, Difference, Named, State, compare};
use rankwise_plan::file::Format;
use rankwise_plan::read::NoArrays;
use rankwise_plan::sense::Sense;
use rankwise_plan::term::Terms;
use rankwise_plan::wrong::Wrong;

/// Four ranks in pairs (`tp`: 0 and 1, 2 and 3; `dp`: 0 and 2, 1 and 3), an input `g` of
/// four elements, and two proposals that leave `y`.
fn compared(dtype: &str, one: &[&str], other: &[&str]) -> Comparison {
    let steps = |steps: &[&str]| {
        let steps: Vec<String> = steps.iter().map(|step| format!("{{ {step} }}")).collect();
        steps.join(", ")
    };
    let text = format!(
        "format = 1\n\
         group.ranks = 4\n\
         groups.tp = {{ lists = [[0, 1], [2, 3]] }}\n\
         groups.pt = {{ lists = [[1, 0], [3, 2]] }}\n\
         groups.dp = {{ lists = [[0, 2], [1, 3]] }}\n\
         groups.pd = {{ lists = [[2, 0], [3, 1]] }}\n\
         input.g = {{ dtype = \"{dtype}\", count = 4, meaning = \"gradient\" }}\n\
         proposal.one = {{ outputs = [\"y\"], step = [{}] }}\n\
         proposal.other = {{ outputs = [\"y\"], step = [{}] }}\n",
        steps(one),
        steps(other)
    );
    let plan = Plan::read(&text, Format::Toml, &mut NoArrays)
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let [one, other] = [&plan.proposals[0], &plan.proposals[1]];
    compare((&plan, one), (&plan, other), &mut Terms::new()).unwrap()
}

#[track_caller]
fn equal(dtype: &str, one: &[&str], other: &[&str], sense: Sense) {
    let found = compared(dtype, one, other);
    assert_eq!((found.state.state, &found.state.evidence), (State::Same, &None));
    assert_eq!(found.sense, Some(sense));
}

/// What rank 0 holds by the one and by the other.
#[track_caller]
fn differ(dtype: &str, one: &[&str], other: &[&str]) -> [String; 2] {
    let found = compared(dtype, one, other);
    assert_eq!(found.state.state, State::Different);
    match found.state.evidence {
        Some(Difference::Values { first, second, .. }) => [first, second],
        other => panic!("{other:?}"),
    }
}

fn reduce(op: &str, over: &str, send: &str, recv: &str) -> String {
    format!(
        r#"call = "all_reduce", op = "{op}", over = "{over}", send = "{send}", recv = "{recv}""#
    )
}

fn both(first: &str, second: &str) -> [String; 2] {
    [reduce(first, "tp", "g", "t"), reduce(second, "dp", "t", "y")]
}

fn texts<const N: usize>(steps: &[String; N]) -> [&str; N] {
    steps.each_ref().map(String::as_str)
}

const WHOLE: &str = r#"call = "all_reduce", op = "OP", send = "g", recv = "y""#;

#[test]
fn folds_of_one_kind_merge() {
    for op in ["sum", "prod", "max", "min"] {
        let whole = WHOLE.replace("OP", op);
        equal("i32", &texts(&both(op, op)), &[&whole], Sense::Exact);
    }
}

#[test]
fn folds_of_two_kinds_stay_as_they_are_written() {
    let [sums, maxima] = [both("sum", "max"), both("max", "sum")];
    assert_eq!(
        differ("i32", &texts(&sums), &texts(&maxima)),
        [
            "max(g@rank0[0..4] + g@rank1[0..4], g@rank2[0..4] + g@rank3[0..4])",
            "max(g@rank0[0..4], g@rank1[0..4]) + max(g@rank2[0..4], g@rank3[0..4])",
        ]
    );
    // The same nest, every fold in another order of its ranks.
    let turned = [reduce("sum", "pt", "g", "t"), reduce("max", "pd", "t", "y")];
    equal("i32", &texts(&sums), &texts(&turned), Sense::Exact);
    equal("f32", &texts(&sums), &texts(&turned), Sense::Unique);
    // The groups exchanged: other sums.
    let exchanged = [reduce("sum", "dp", "g", "t"), reduce("max", "tp", "t", "y")];
    differ("i32", &texts(&sums), &texts(&exchanged));
}

#[test]
fn a_product_counts_how_often_and_a_minimum_does_not() {
    let again = |op: &str| {
        [
            format!(r#"call = "all_reduce", op = "{op}", send = "g", recv = "t""#),
            format!(r#"call = "fold", op = "{op}", send = ["t", "t"], recv = "y""#),
        ]
    };
    let whole = WHOLE.replace("OP", "min");
    equal("u32", &texts(&again("min")), &[&whole], Sense::Exact);
    let whole = WHOLE.replace("OP", "prod");
    let [squared, once] = differ("u32", &texts(&again("prod")), &[&whole]);
    assert_ne!(squared, once);
}

#[test]
fn factors_of_floats_are_exact_rationals_over_the_reals_only() {
    // 3/4 · (a + b) in three ways.
    let premul = r#"call = "all_reduce", op = "premul", over = "tp", scalars = [0.75, 0.75], send = "g", recv = "y""#;
    let after = [
        reduce("sum", "tp", "g", "t"),
        r#"call = "scale", by = "3/4", send = "t", recv = "y""#.to_string(),
    ];
    equal("f64", &[premul], &texts(&after), Sense::OverTheReals);
    let in_steps = [
        reduce("avg", "tp", "g", "t"),
        r#"call = "scale", by = "3/2", send = "t", recv = "y""#.to_string(),
    ];
    equal("f64", &[premul], &texts(&in_steps), Sense::OverTheReals);
    // 1/3 in f32 is another number than 1/3, and a mean over three divides by three.
    let thirds = [
        reduce("sum", "tp", "g", "t"),
        r#"call = "scale", by = "1/3", send = "t", recv = "y""#.to_string(),
    ];
    let rounded = r#"call = "all_reduce", op = "premul", over = "tp", scalars = [0.3333333333333333, 0.3333333333333333], send = "g", recv = "y""#;
    differ("f32", &texts(&thirds), &[rounded]);
}

#[test]
fn factors_of_integers_live_modulo_their_width() {
    // -1 is 2^8 - 1, and 129 + 129 is 2.
    let minus = r#"call = "scale", by = "-1", send = "g", recv = "y""#;
    let most = r#"call = "scale", by = "255", send = "g", recv = "y""#;
    equal("u8", &[minus], &[most], Sense::Exact);
    let halves = [
        r#"call = "scale", by = "129", send = "g", recv = "t""#,
        r#"call = "fold", op = "sum", send = ["t", "t"], recv = "y""#,
    ];
    let twice = r#"call = "fold", op = "sum", send = ["g", "g"], recv = "y""#;
    equal("u8", &halves, &[twice], Sense::Exact);
    differ("u32", &halves, &[twice]);
}

#[test]
fn a_mean_of_integers_is_opaque_even_where_it_is_undone() {
    let undone = [
        reduce("avg", "tp", "g", "t"),
        r#"call = "scale", by = "2", send = "t", recv = "y""#.to_string(),
    ];
    let sum = reduce("sum", "tp", "g", "y");
    assert_eq!(
        differ("i32", &texts(&undone), &[&sum]),
        ["2·div_trunc(g@rank0[0..4] + g@rank1[0..4], 2)", "g@rank0[0..4] + g@rank1[0..4]"]
    );
    // In floats it is the sum, over the reals: halving is exact but for underflow.
    assert_eq!(compared("f32", &texts(&undone), &[&sum]).state.state, State::Same);
}

#[test]
fn a_conversion_is_part_of_the_term() {
    let narrow = [
        r#"call = "reduce_scatter", op = "sum", send = "g", recv = "s""#,
        r#"call = "cast", dtype = "bf16", send = "s", recv = "n""#,
        r#"call = "all_gather", send = "n", recv = "m""#,
        r#"call = "cast", dtype = "f32", send = "m", recv = "y""#,
    ];
    let whole = WHOLE.replace("OP", "sum");
    let [cut, kept] = differ("f32", &narrow, &[&whole]);
    assert!(cut.contains("cast") && !kept.contains("cast"), "{cut} | {kept}");
}

/// Which side is measured by the other, and what it would be.
#[track_caller]
fn named(one: &[&str], other: &[&str]) -> (usize, Vec<&'static str>) {
    match compared("i32", one, other).state.evidence {
        Some(Difference::Values { named: Named { side, wrongs }, .. }) => {
            (side, wrongs.iter().map(Wrong::name).collect())
        }
        other => panic!("{other:?}"),
    }
}

/// No need is stated: the second is measured by the first.
#[test]
fn a_difference_has_a_name_without_any_need() {
    let whole = reduce("sum", "world", "g", "y");
    let tp = reduce("sum", "tp", "g", "y");
    assert_eq!(named(&[&whole], &[&tp]), (1, vec!["sub_group"]));
    assert_eq!(named(&[&tp], &[&whole]), (1, vec!["sub_group"]));
    let twice = [reduce("sum", "world", "g", "t"), reduce("sum", "world", "t", "y")];
    let twice = twice.each_ref().map(String::as_str);
    assert_eq!(named(&[&whole], &twice), (1, vec!["repeated", "other_buffer"]));
    // Places, not only values: blocks, and owners.
    let gathered =
        |order: &str| format!(r#"call = "all_gather", over = [{order}], send = "g", recv = "y""#);
    assert_eq!(
        named(&[&gathered("[0, 1, 2, 3]")], &[&gathered("[0, 2, 1, 3]")]),
        (1, vec!["permuted"])
    );
    let scattered = |order: &str| {
        format!(r#"call = "reduce_scatter", op = "sum", over = [{order}], send = "g", recv = "y""#)
    };
    assert_eq!(
        named(&[&scattered("[0, 1, 2, 3]")], &[&scattered("[1, 0, 2, 3]")]),
        (1, vec!["owners_permuted", "out_of_place"])
    );
    // Shorter, and another value where both have one.
    assert_eq!(
        named(&[r#"call = "copy", send = "g", recv = "y""#], &[&scattered("[0, 1, 2, 3]")]),
        (1, vec!["length", "extra", "extra", "extra", "other_buffer"])
    );
}

/// What holds nothing is the one that is measured, first or second.
#[test]
fn where_one_side_has_nothing_it_is_the_one_that_lacks() {
    let whole = reduce("sum", "world", "g", "y");
    let rooted = r#"call = "reduce", op = "sum", root = 0, send = "g", recv = "y""#;
    assert_eq!(named(&[&whole], &[rooted]), (1, vec!["only_on_root"]));
    assert_eq!(named(&[rooted], &[&whole]), (0, vec!["only_on_root"]));
    let on_one = r#"call = "copy", on = { rank = 0 }, send = "g", recv = "y""#;
    let copied = r#"call = "copy", send = "g", recv = "y""#;
    assert_eq!(named(&[copied], &[on_one]), (1, vec!["never_written", "other_buffer"]));
    assert_eq!(named(&[on_one], &[copied]), (0, vec!["never_written", "other_buffer"]));
}

#[test]
fn every_place_in_which_states_differ() {
    let text = "format = 1\n\
        group.ranks = 3\n\
        input.g = { dtype = \"i32\", count = 4, meaning = \"gradient\" }\n\
        proposal.one = { outputs = [\"y\"], step = [\n\
            { call = \"all_reduce\", op = \"sum\", send = \"g\", recv = \"y\" }] }\n\
        proposal.other = { outputs = [\"y\"], step = [\n\
            { call = \"all_reduce\", op = \"sum\", send = \"g\", recv = \"y\" },\n\
            { call = \"copy\", on = { rank = 0 }, send = \"g[0..1]\", recv = \"y[0..1]\" },\n\
            { call = \"copy\", on = { rank = 2 }, send = \"g[1..2]\", recv = \"y[1..2]\" },\n\
            { call = \"copy\", on = { rank = 2 }, send = \"g[3..4]\", recv = \"y[3..4]\" }] }\n";
    let plan = Plan::read(text, Format::Toml, &mut NoArrays).unwrap();
    let [one, other] = [&plan.proposals[0], &plan.proposals[1]];
    let mut terms = Terms::new();
    let found = compare((&plan, one), (&plan, other), &mut terms).unwrap();
    let all = found.places((&plan, one), (&plan, other), &mut terms);
    let at: Vec<(&str, std::ops::Range<u64>)> = all
        .iter()
        .map(|difference| match difference {
            Difference::Values { place, positions, .. } => (place.as_str(), positions.clone()),
            other @ Difference::Places { .. } => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(at, [("rank 0", 0..1), ("rank 2", 1..2), ("rank 2", 3..4)]);
    assert!(all[0].is_where(&found.state.evidence.clone().unwrap()));
    assert!(!all[1].is_where(&all[2]));
    let same = compare((&plan, one), (&plan, one), &mut terms).unwrap();
    assert!(same.places((&plan, one), (&plan, one), &mut terms).is_empty());
}

/// 300 is no i8, and comes back from there as 44; an i64 it is.
#[test]
fn an_integer_that_a_narrower_type_does_not_hold_is_another() {
    let kept = [r#"call = "copy", send = "g", recv = "y""#];
    let through = |through: &str, back: &str| {
        [
            format!(r#"call = "cast", dtype = "{through}", send = "g", recv = "m""#),
            format!(r#"call = "cast", dtype = "{back}", send = "m", recv = "y""#),
        ]
    };
    let [there, back] = through("i8", "i32");
    let [cut, _] = differ("i32", &[&there, &back], &kept);
    assert!(cut.contains("cast"), "{cut}");
    let [there, back] = through("i64", "i32");
    equal("i32", &[&there, &back], &kept, Sense::Exact);
}

/// What of a float becomes of an integer type that does not hold it is nowhere said, and
/// where it holds it both are the same: neither equal nor different.
#[test]
fn nothing_is_claimed_of_floats_that_an_integer_type_does_not_hold() {
    let narrow = [
        r#"call = "cast", dtype = "i8", send = "g", recv = "m""#,
        r#"call = "cast", dtype = "i32", send = "m", recv = "y""#,
    ];
    let direct = [r#"call = "cast", dtype = "i32", send = "g", recv = "y""#];
    assert_eq!(compared("f32", &narrow, &direct).state.state, State::Unknown);
    // But where it holds 1, twice that is 2.
    let doubled = [
        r#"call = "cast", dtype = "i32", send = "g", recv = "m""#,
        r#"call = "scale", by = 2, send = "m", recv = "y""#,
    ];
    differ("f32", &doubled, &direct);
}
