//! What the oracle found wrong with the checker, each case by hand: a mistake that was
//! made once stays found.

use rankwise_plan::Plan;
use rankwise_plan::compare::{Comparison, State, compare};
use rankwise_plan::file::Format;
use rankwise_plan::need::{Answer, Evidence};
use rankwise_plan::read::NoArrays;
use rankwise_plan::term::Terms;
use rankwise_plan::wrong::Wrong;

/// Two ranks on devices D0 and D1 with an input `g` of 4 elements; the proposals `a` and
/// `b` of one step each, or the same one twice.
fn between(dtype: &str, proposals: [&str; 2], need: &str) -> Comparison {
    let [a, b] = proposals;
    let text = format!(
        "format = 1\n\
         group.devices = [\"D0\", \"D1\"]\n\
         input.g = {{ dtype = \"{dtype}\", count = 4, meaning = \"gradient\" }}\n\
         proposal.a.step = [{a}]\n\
         proposal.b.step = [{b}]\n\
         need = [{{ {need} }}]\n"
    );
    let plan = Plan::read(&text, Format::Toml, &mut NoArrays)
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let [a, b] = ["a", "b"].map(|name| (&plan, plan.proposal(name).unwrap()));
    compare(a, b, &mut Terms::new()).unwrap()
}

/// Why a proposal does not meet a need.
fn evidence(dtype: &str, proposal: &str, need: &str) -> Evidence {
    let comparison = between(dtype, [proposal, proposal], need);
    let report = &comparison.needs[0].needs[0];
    assert_eq!(report.answer, Answer::No, "{report:?}");
    report.evidence.clone().unwrap()
}

#[test]
fn a_multiple_of_another_ranks_contribution_is_not_only_of_another_rank() {
    // y = −g on each rank; rank 0 needs rank 1's g.
    let minus = r#"{ call = "scale", by = "-1", send = "g", recv = "y" }"#;
    let found = evidence("f32", minus, r#"on = { rank = 0 }, buffer = "y", holds = "g@D1""#);
    let [extra, missing] = ["-g@D0[0..4]", "g@D1[0..4]"].map(String::from);
    let expected = [Wrong::Extra { part: extra }, Wrong::Missing { part: missing }];
    assert_eq!(found.wrongs, expected);

    // 2·g on rank 0 where 2·g of rank 1 is needed: as often, and another rank's.
    let sent = r#"{ call = "scale", by = "2", send = "g", recv = "t" },
        { call = "broadcast", root = 1, send = "t", recv = "y" }"#;
    let need = r#"on = { rank = 0 }, buffer = "y", holds = "g@D0""#;
    let found = evidence("f32", sent, need);
    let [extra, missing] = ["2·g@D1[0..4]", "g@D0[0..4]"].map(String::from);
    let expected = [Wrong::Missing { part: missing }, Wrong::Extra { part: extra }];
    assert!(expected.iter().all(|wrong| found.wrongs.contains(wrong)), "{found:?}");
}

#[test]
fn a_power_is_not_a_multiple() {
    // y = g·g, which is not 2·g.
    let square = r#"{ call = "fold", op = "prod", send = ["g", "g"], recv = "y" }"#;
    let found = evidence("i32", square, r#"on = { rank = 0 }, buffer = "y", holds = "g@D0""#);
    assert_eq!(found.found, "g@D0[0..4]^2");
    let part = "g@D0[0..4]".to_string();
    let expected = Wrong::RepeatedPart { part, times: "2".into(), needed: "1".into() };
    assert_eq!(found.wrongs[0], expected);
    // Nor is it the sum of as many.
    let sums = r#"{ call = "fold", op = "prod", send = ["g", "g"], recv = "t" },
        { call = "broadcast", root = 0, send = "t", recv = "y" }"#;
    let twice = r#"on = { rank = 0 }, buffer = "y", holds = "sum(g@D0)""#;
    let found = evidence("i32", sums, twice);
    let expected = Wrong::OtherReduction { found: "prod", needed: "sum" };
    assert_eq!(found.wrongs[0], expected);
}

#[test]
fn evidence_stands_at_positions_of_the_buffer() {
    // y has 2 positions on each rank; the need looks at position 3 of it.
    let short = r#"{ call = "slice", positions = "0..2", send = "g", recv = "y" }"#;
    let need = |positions: &str, holds: &str| {
        format!(
            r#"on = {{ rank = 0 }}, buffer = "y", positions = "{positions}", holds = "{holds}""#
        )
    };
    let found = evidence("i32", short, &need("3..4", "g@D0[3..4]"));
    assert_eq!(found.positions, 3..4);
    assert_eq!(found.found, "nothing: the buffer has 2 positions");
    assert_eq!(found.wrongs[0], Wrong::Length { found: 2, needed: 4 });
    // Position 1 is there and right, position 2 is not there.
    let found = evidence("i32", short, &need("1..3", "g@D0[1..3]"));
    assert_eq!((found.positions, found.needed), (2..3, "g@D0[2]".to_string()));
    assert_eq!(found.found, "nothing: the buffer has 2 positions");
    assert_eq!(found.wrongs[0], Wrong::Length { found: 2, needed: 3 });
    // Nobody wrote it.
    let other = r#"{ call = "copy", send = "g", recv = "z" }"#;
    let found = evidence("i32", other, &need("2..4", "g@D0[2..4]"));
    assert_eq!(found.positions, 2..4);
    assert_eq!(found.found, "nothing: no step wrote this buffer");
}

/// The state of two casts of `g` into `y`, each through other types.
fn cast_through(dtype: &str, one: &[&str], other: &[&str]) -> State {
    let steps = |through: &[&str]| {
        let last = through.len() - 1;
        let name = |index: usize| match index {
            0 => "g".to_owned(),
            index if index > last => "y".to_owned(),
            index => format!("t{index}"),
        };
        let step = |(index, dtype): (usize, &&str)| {
            let (send, recv) = (name(index), name(index + 1));
            format!(r#"{{ call = "cast", dtype = "{dtype}", send = "{send}", recv = "{recv}" }}"#)
        };
        through.iter().enumerate().map(step).collect::<Vec<_>>().join(",\n        ")
    };
    let [one, other] = [one, other].map(steps);
    let need = r#"on = "every rank", buffer = "y", holds = "g""#;
    between(dtype, [&one, &other], need).state.state
}

#[test]
fn two_element_types_are_two_states() {
    assert_eq!(cast_through("f64", &["f32"], &["i8"]), State::Different);
    assert_eq!(cast_through("f64", &["u32"], &["f64"]), State::Different);
}

#[test]
fn a_certain_difference_outweighs_an_open_one_before_it() {
    // Twice the mean of two is cut off to itself, which no law says; but y is longer.
    let mean = r#"{ call = "all_reduce", op = "avg", send = "g", recv = "y" }"#;
    let twice = r#"{ call = "all_reduce", op = "avg", send = "g", recv = "t" },
        { call = "all_reduce", op = "avg", send = "t", recv = "u" }"#;
    let need = r#"on = "every rank", buffer = "y", positions = "0..1", holds = "g[0..1]""#;
    let state = |last: &str| {
        let steps = format!("{twice}, {{ call = {last}, recv = \"y\" }}");
        between("i32", [mean, &steps], need).state.state
    };
    assert_eq!(state(r#""copy", send = "u""#), State::Unknown);
    assert_eq!(state(r#""concat", send = ["u", "u"]"#), State::Different);
    // Nor does it matter in which position they are.
    assert_eq!(state(r#""concat", send = ["t", "g"]"#), State::Different);
}

#[test]
fn small_numbers_show_where_conversions_to_integers_part() {
    let scaled = r#"{ call = "cast", dtype = "u8", send = "g", recv = "t" },
        { call = "scale", by = "2", send = "t", recv = "y" }"#;
    let plain = r#"{ call = "cast", dtype = "u8", send = "g", recv = "y" }"#;
    let need = r#"on = "every rank", buffer = "y", holds = "g""#;
    // For 1: 2 and 1.
    assert_eq!(between("f64", [scaled, plain], need).state.state, State::Different);
    // 300 is no u8: what becomes of it is not said, so nor is whether these differ.
    assert_eq!(cast_through("f32", &["u8"], &["i64", "u8"]), State::Unknown);
}

#[test]
fn a_few_thousand_show_a_way_through_a_narrower_type() {
    // 257 is no bf16; 256 is the nearest, and both are u32.
    assert_eq!(cast_through("i64", &["u32"], &["bf16", "u32"]), State::Different);
    // Up to 255 all are, which no law says: no difference is claimed.
    assert_eq!(cast_through("u8", &["u32"], &["bf16", "u32"]), State::Unknown);
}

#[test]
fn a_mean_over_one_rank_is_no_division() {
    let alone = r#"call = "all_reduce", op = "avg", over = [[0], [1]], send = "g", recv = "t""#;
    let all = r#"call = "all_reduce", op = "avg", send = "t", recv = "y""#;
    let twice = format!("{{ {alone} }}, {{ {all} }}");
    let need = r#"on = "every rank", buffer = "y", holds = "sum(g)""#;
    assert_eq!(evidence("i32", &twice, need).wrongs, [Wrong::Averaged { over: 2 }]);
}

#[test]
fn a_conversion_to_unsigned_asks_for_numbers_of_either_sign() {
    // For −12 in the first two and 12 in the others: 12 and 6. What is positive is no u32
    // once it is negated, and what is negative none as it is.
    let least = |from: &str, by: &str| {
        format!(
            r#"{{ call = "slice", positions = "{from}", send = "g", recv = "part" }},
        {{ call = "scale", by = "{by}", send = "part", recv = "t" }},
        {{ call = "cast", dtype = "u32", send = "t", recv = "u" }},
        {{ call = "all_reduce", op = "min", send = "u", recv = "y" }}"#
        )
    };
    let [minus, half] = [least("0..2", "-1"), least("2..4", "1/2")];
    let need = r#"on = "every rank", buffer = "y", holds = "g[0..2]""#;
    assert_eq!(between("f64", [&minus, &half], need).state.state, State::Different);
}
