//! What looks like the same job, by shapes, counts or numbers, and is not; and what
//! looks like another one and is the same. Each answer was worked out by hand.

use rankwise_account::payload;
use rankwise_model::Dtype;
use rankwise_plan::Plan;
use rankwise_plan::compare::{Comparison, State, compare};
use rankwise_plan::evaluate::{Call, Evaluation};
use rankwise_plan::file::Format;
use rankwise_plan::need::Answer;
use rankwise_plan::read::NoArrays;
use rankwise_plan::term::Terms;
use rankwise_plan::wrong::Wrong;

/// `n` ranks on devices D0, D1, …, with inputs `g` and `p` of 4 elements, an honest
/// proposal and another one, both to leave `y`.
fn compared(n: u32, dtype: &str, honest: &[&str], other: &[&str], holds: &str) -> Comparison {
    let devices: Vec<String> = (0..n).map(|rank| format!("\"D{rank}\"")).collect();
    let steps = |steps: &[&str]| {
        let steps: Vec<String> = steps.iter().map(|step| format!("{{ {step} }}")).collect();
        steps.join(", ")
    };
    let text = format!(
        "format = 1\n\
         group.devices = [{}]\n\
         input.g = {{ dtype = \"{dtype}\", count = 4, meaning = \"gradient\" }}\n\
         input.p = {{ dtype = \"{dtype}\", count = 4, meaning = \"parameter\" }}\n\
         proposal.honest.step = [{}]\n\
         proposal.other.step = [{}]\n\
         need = [{{ on = \"every rank\", buffer = \"y\", holds = \"{holds}\" }}]\n",
        devices.join(", "),
        steps(honest),
        steps(other),
    );
    let plan = Plan::read(&text, Format::Toml, &mut NoArrays)
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let [honest, other] = ["honest", "other"].map(|name| (&plan, plan.proposal(name).unwrap()));
    compare(honest, other, &mut Terms::new()).unwrap()
}

/// A trap: the honest proposal meets the need, the other does not, and their states
/// differ. What the other leaves, and what is wrong with that.
fn trap(n: u32, dtype: &str, honest: &[&str], other: &[&str], holds: &str) -> (String, Vec<Wrong>) {
    let comparison = compared(n, dtype, honest, other, holds);
    assert_eq!(comparison.state.state, State::Different, "{:?}", comparison.state);
    assert_eq!(comparison.both_do(), Some(false));
    let [honest, other] = &comparison.needs;
    assert_eq!(honest.needs[0].answer, Answer::Yes, "{honest:?}");
    assert_eq!(other.needs[0].answer, Answer::No, "{other:?}");
    let evidence = other.needs[0].evidence.clone().unwrap();
    (evidence.found, evidence.wrongs)
}

/// The same job after all: the states are the same, and both meet the need.
fn same(n: u32, dtype: &str, one: &[&str], other: &[&str], holds: &str) -> Comparison {
    let comparison = compared(n, dtype, one, other, holds);
    assert_eq!(comparison.state.state, State::Same, "{:?}", comparison.state);
    assert_eq!(comparison.both_do(), Some(true));
    comparison
}

const SUMMED: &str = r#"call = "all_reduce", op = "sum", send = "g", recv = "y""#;
const SHARDS: &str = r#"call = "reduce_scatter", op = "sum", send = "g", recv = "s""#;
const GATHERED: &str = r#"call = "all_gather", send = "s", recv = "y""#;

#[test]
fn gathering_the_originals_after_a_reduce_scatter() {
    let originals = r#"call = "all_gather", send = "g", recv = "y""#;
    let (found, wrongs) = trap(2, "i32", &[SHARDS, GATHERED], &[SHARDS, originals], "sum(g)");
    assert_eq!(found, "g@D0[0..4]");
    let alone = Wrong::Unreduced { found: "g@D0[0..4]".into() };
    assert_eq!(wrongs, [Wrong::Length { found: 8, needed: 4 }, alone]);
}

#[test]
fn a_second_sum_of_a_summed_value() {
    let first = r#"call = "all_reduce", op = "sum", send = "g", recv = "t""#;
    let again = r#"call = "all_reduce", op = "sum", send = "t", recv = "y""#;
    let (found, wrongs) = trap(2, "i32", &[SUMMED], &[first, again], "sum(g)");
    assert_eq!(found, "2·g@D0[0..4] + 2·g@D1[0..4]");
    // What is needed is what the first step left in `t`.
    let left = Wrong::OtherBuffer { buffer: "t".into(), written_by: Some(0) };
    assert_eq!(wrongs, [Wrong::Repeated { times: "2".into() }, left]);
}

#[test]
fn a_sum_reduce_scatter_of_a_replica() {
    // Every rank holds rank 0's g; its shard of the sum over 4 ranks is 4·g.
    let replica = r#"call = "broadcast", root = 0, send = "g", recv = "t""#;
    let summed = r#"call = "reduce_scatter", op = "sum", send = "t", recv = "y""#;
    let largest = r#"call = "reduce_scatter", op = "max", send = "t", recv = "y""#;
    let (found, wrongs) = trap(4, "i32", &[replica, largest], &[replica, summed], "shard(g@D0)");
    assert_eq!(found, "4·g@D0[0]");
    assert_eq!(wrongs[0], Wrong::Repeated { times: "4".into() });
}

#[test]
fn one_ranks_contribution_added_twice() {
    let first = r#"call = "all_reduce", op = "sum", send = "g", recv = "t""#;
    let and_own = r#"call = "fold", op = "sum", send = ["t", "g"], recv = "y""#;
    let (found, wrongs) = trap(2, "i32", &[SUMMED], &[first, and_own], "sum(g)");
    assert_eq!(found, "2·g@D0[0..4] + g@D1[0..4]");
    let part = "g@D0[0..4]".to_string();
    let twice = Wrong::RepeatedPart { part, times: "2".into(), needed: "1".into() };
    let before = Wrong::OtherBuffer { buffer: "t".into(), written_by: Some(0) };
    assert_eq!(wrongs, [twice, before]);
}

#[test]
fn gathered_parameters_as_the_gathered_gradient() {
    let gradient = r#"call = "all_gather", send = "g", recv = "y""#;
    let parameter = r#"call = "all_gather", send = "p", recv = "y""#;
    let (_, wrongs) = trap(2, "bf16", &[gradient], &[parameter], "gather(g)");
    let [found, needed] = ["p (parameter)", "g (gradient)"].map(String::from);
    assert_eq!(wrongs, [Wrong::OtherInput { found, needed }]);
}

#[test]
fn a_reduce_scatter_in_f32_with_an_all_gather_in_bf16() {
    // As one f32 all-reduce: the types agree in the end, the values went through bf16.
    let narrow = r#"call = "cast", dtype = "bf16", send = "s", recv = "n""#;
    let moved = r#"call = "all_gather", send = "n", recv = "m""#;
    let wide = r#"call = "cast", dtype = "f32", send = "m", recv = "y""#;
    let (found, wrongs) = trap(2, "f32", &[SUMMED], &[SHARDS, narrow, moved, wide], "sum(g)");
    assert_eq!(found, "cast(cast(g@D0[0..4] + g@D1[0..4], bf16), f32)");
    assert_eq!(wrongs, [Wrong::ElementType { found: Dtype::Bf16, needed: Dtype::F32 }]);
}

#[test]
fn an_average_of_integer_averages_as_the_flat_average() {
    // Of 1, 2, 2 and 3 the flat mean is 8/4 = 2; the means of pairs are trunc(3/2) = 1 and
    // trunc(5/2) = 2, and their mean trunc(3/2) = 1.
    let flat = r#"call = "all_reduce", op = "avg", send = "g", recv = "y""#;
    let pairs =
        r#"call = "all_reduce", op = "avg", over = [[0, 1], [2, 3]], send = "g", recv = "t""#;
    let across =
        r#"call = "all_reduce", op = "avg", over = [[0, 2], [1, 3]], send = "t", recv = "y""#;
    let (found, _) = trap(4, "i32", &[flat], &[pairs, across], "avg(g)");
    let pair = |a, b| format!("div_trunc(g@D{a}[0..4] + g@D{b}[0..4], 2)");
    assert_eq!(found, format!("div_trunc({} + {}, 2)", pair(0, 1), pair(2, 3)));
    // Of floats it is, over the reals.
    same(4, "f64", &[flat], &[pairs, across], "avg(g)");
}

#[test]
fn two_hundred_and_fifty_six_times_a_byte_is_zero() {
    let times = |by: &str| format!(r#"call = "scale", by = "{by}", send = "g", recv = "y""#);
    let [once, often, more] = ["1", "256", "257"].map(times);
    let (found, wrongs) = trap(2, "u8", &[&once], &[&often], "g");
    assert_eq!(found, "0");
    let nothing_of_it = Wrong::Missing { part: "g@D0[0..4]".into() };
    let input = Wrong::OtherBuffer { buffer: "g".into(), written_by: None };
    assert_eq!(wrongs, [nothing_of_it, input]);
    // Modulo 2^8, 257 is 1; modulo 2^32 it is not.
    same(2, "u8", &[&once], &[&more], "g");
    let (found, wrongs) = trap(2, "u32", &[&once], &[&more], "g");
    assert_eq!(found, "257·g@D0[0..4]");
    assert_eq!(wrongs[0], Wrong::Repeated { times: "257".into() });
}

/// Each call with what rank 0 hands in and what it is promised.
fn payloads(evaluation: &Evaluation) -> Vec<String> {
    let of = |call: &Call| {
        let layout = &call.layout;
        let first = payload(layout, call.dtype, layout.ranks().first()).unwrap();
        format!("{}: {} to {}", layout.operation().kind(), first.input, first.output)
    };
    evaluation.steps.iter().flat_map(|step| &step.calls).map(of).collect()
}

#[test]
fn an_all_to_all_and_a_local_sum_are_a_reduce_scatter() {
    let whole = r#"call = "reduce_scatter", op = "sum", send = "g", recv = "y""#;
    let blocks = [
        r#"call = "all_to_all", send = "g", recv = "t""#,
        r#"call = "slice", positions = "0..2", send = "t", recv = "a""#,
        r#"call = "slice", positions = "2..4", send = "t", recv = "b""#,
        r#"call = "fold", op = "sum", send = ["a", "b"], recv = "y""#,
    ];
    let comparison = same(2, "i32", &[whole], &blocks, "shard(sum(g))");
    // The same values by other calls: their payloads are two tables.
    let [one, other] = comparison.evaluations.each_ref().map(payloads);
    assert_eq!(one, ["reduce_scatter: 4 elements i32, 16 B to 2 elements i32, 8 B"]);
    assert_eq!(other, ["all_to_all: 4 elements i32, 16 B to 4 elements i32, 16 B"]);
}

#[test]
fn a_repeated_contribution_changes_no_maximum() {
    let once = r#"call = "all_reduce", op = "max", send = "g", recv = "y""#;
    let first = r#"call = "all_reduce", op = "max", send = "g", recv = "t""#;
    let and_own = r#"call = "fold", op = "max", send = ["t", "g"], recv = "y""#;
    same(2, "i32", &[once], &[first, and_own], "max(g)");
}
