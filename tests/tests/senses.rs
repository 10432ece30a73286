//! In which sense two proposals are one job, and what their bits hinge on. What applies
//! was worked out by hand for every pair here; nothing else may be named.

use rankwise_plan::Plan;
use rankwise_plan::compare::{Comparison, Summary, compare};
use rankwise_plan::file::Format;
use rankwise_plan::need::judge_needs;
use rankwise_plan::read::NoArrays;
use rankwise_plan::sense::{Grounds, Sense};
use rankwise_plan::term::Terms;

/// Six ranks, in two groups of three (`tp`) and three of two (`dp`), with `x` of twelve
/// elements and four proposals' worth of names.
fn plan(dtype: &str, proposals: [&[&str]; 2], holds: Option<&str>) -> Plan {
    let steps = |steps: &[&str]| {
        let steps: Vec<String> = steps.iter().map(|step| format!("{{ {step} }}")).collect();
        steps.join(", ")
    };
    let need = holds.map_or_else(String::new, |holds| {
        format!("need = [{{ on = \"every rank\", buffer = \"y\", holds = \"{holds}\" }}]\n")
    });
    let text = format!(
        "format = 1\n\
         group.ranks = 6\n\
         groups.tp = {{ lists = [[0, 1, 2], [3, 4, 5]] }}\n\
         groups.dp = {{ lists = [[0, 3], [1, 4], [2, 5]] }}\n\
         input.x = {{ dtype = \"{dtype}\", count = 12, meaning = \"gradient\" }}\n\
         proposal.one.step = [{}]\n\
         proposal.other.step = [{}]\n{need}",
        steps(proposals[0]),
        steps(proposals[1]),
    );
    Plan::read(&text, Format::Toml, &mut NoArrays).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn compared(dtype: &str, one: &[&str], other: &[&str]) -> Comparison {
    let plan = plan(dtype, [one, other], None);
    let [one, other] = [&plan.proposals[0], &plan.proposals[1]];
    compare((&plan, one), (&plan, other), &mut Terms::new()).unwrap()
}

fn hinges(grounds: &Grounds) -> Vec<String> {
    grounds.hinges().map(ToString::to_string).collect()
}

fn reasons(grounds: &Grounds) -> Vec<String> {
    grounds.reasons().map(ToString::to_string).collect()
}

/// Both leave one state, in this sense, and bits hinge on exactly this.
#[track_caller]
fn same(dtype: &str, one: &[&str], other: &[&str], sense: Sense, on: &[&str]) -> Grounds {
    let found = compared(dtype, one, other);
    assert_eq!(found.state.evidence, None);
    assert_eq!(found.sense, Some(sense));
    assert_eq!(hinges(&found.grounds), on);
    found.grounds
}

const SUM: &str = r#"call = "all_reduce", op = "sum", send = "x", recv = "y""#;
const STAGES: [&str; 2] = [
    r#"call = "all_reduce", op = "sum", over = "tp", send = "x", recv = "t""#,
    r#"call = "all_reduce", op = "sum", over = "dp", send = "t", recv = "y""#,
];
const SCATTERED: [&str; 2] = [
    r#"call = "reduce_scatter", op = "sum", send = "x", recv = "s""#,
    r#"call = "all_gather", send = "s", recv = "y""#,
];
const MEAN: &str = r#"call = "all_reduce", op = "avg", send = "x", recv = "y""#;

const ORDER_6: &str = "fold order: a sum of 6 f32 values at once, in the order of a ring or of a tree, as NCCL chooses";
const ORDER_3: &str = "fold order: a sum of 3 f32 values at once, in the order of a ring or of a tree, as NCCL chooses";
const STAGED: &str = "grouping: 6 values at once against 3, then 2";

#[test]
fn integers_wrap_and_means_of_them_are_opaque() {
    let grounds = same("i32", &[SUM], &STAGES, Sense::Exact, &[]);
    assert_eq!(reasons(&grounds), ["integers wrap modulo 2^32, in every order alike"]);
    let grounds = same("u8", &[SUM], &SCATTERED, Sense::Exact, &[]);
    assert_eq!(reasons(&grounds), ["integers wrap modulo 2^8, in every order alike"]);

    let scattered = [
        r#"call = "reduce_scatter", op = "avg", send = "x", recv = "s""#,
        r#"call = "all_gather", send = "s", recv = "y""#,
    ];
    let grounds = same("i32", &[MEAN], &scattered, Sense::Exact, &[]);
    assert_eq!(
        reasons(&grounds),
        [
            "integers wrap modulo 2^32, in every order alike",
            "the integer mean is one truncating division by 6 after the whole sum, and equal to \
             nothing but the same division",
        ]
    );
    // Opaque: means of means are no mean.
    let means = STAGES.map(|step| step.replace("sum", "avg"));
    let found = compared("i32", &[MEAN], &means.each_ref().map(String::as_str));
    assert_eq!(found.summary(), Summary::DifferentNoNeeds);
    assert_eq!((found.sense, found.grounds), (None, Grounds::default()));
}

#[test]
fn movement_and_extremes_and_folds_of_two_have_no_order() {
    let gather = r#"call = "all_gather", send = "x", recv = "y""#;
    let grounds = same("f32", &[gather], &[gather], Sense::Exact, &[]);
    assert_eq!(reasons(&grounds), ["values are moved, not computed with"]);

    let max = [SUM.replace("sum", "max"), STAGES[0].replace("sum", "max")];
    let staged = STAGES.map(|step| step.replace("sum", "max"));
    let staged = staged.each_ref().map(String::as_str);
    let grounds = same("f32", &[&max[0]], &staged, Sense::Unique, &[]);
    assert_eq!(reasons(&grounds), ["min and max have no order"]);

    let pair = r#"call = "all_reduce", op = "sum", over = "dp", send = "x", recv = "y""#;
    let scattered = [
        r#"call = "reduce_scatter", op = "sum", over = "dp", send = "x", recv = "s""#,
        r#"call = "all_gather", over = "dp", send = "s", recv = "y""#,
    ];
    let grounds = same("f32", &[pair], &scattered, Sense::Unique, &[]);
    assert_eq!(reasons(&grounds), ["a fold of two floats has one order"]);
}

#[test]
fn the_order_of_one_fold_and_the_stages_of_two() {
    same("f32", &[SUM], &SCATTERED, Sense::BitsGivenFoldOrder, &[ORDER_6]);
    same("f32", &[SUM], &STAGES, Sense::WithinBound, &[ORDER_3, ORDER_6, STAGED]);
}

#[test]
fn a_mean_that_is_not_a_power_of_two_rounds_and_may_be_fused() {
    let rounded = "the mean: 1/6 is rounded to f32, and each product with it is rounded or, by FMA, \
        fused with the addition";
    same("f32", &[MEAN], &[MEAN], Sense::WithinBound, &[ORDER_6, rounded]);
    // Over pairs 1/2 is exact, and there is one order. (Not unique: halving the smallest
    // values rounds, unless it is fused.)
    let pair = MEAN.replace("send", r#"over = "dp", send"#);
    let grounds = same("f32", &[&pair], &[&pair], Sense::BitsGivenFoldOrder, &[]);
    assert_eq!(
        reasons(&grounds),
        [
            "a fold of two floats has one order",
            "1/2 is exact in f32: the mean rounds as the sum does, barring underflow",
        ]
    );
    // Summed, and divided afterwards.
    let after = [
        r#"call = "all_reduce", op = "sum", send = "x", recv = "t""#,
        r#"call = "scale", by = "1/6", send = "t", recv = "y""#,
    ];
    same(
        "f32",
        &[MEAN],
        &after,
        Sense::OverTheReals,
        &[
            ORDER_6,
            rounded,
            "the factor: each product in f32 is rounded or, by FMA, fused with the addition",
            "the factor: one multiplies at another point of the folds than the other",
        ],
    );
}

#[test]
fn narrow_types_may_be_accumulated_in_a_wider_one() {
    let order = ORDER_6.replace("f32", "bf16");
    let accumulated = "accumulation type: bf16 is rounded after each addition, or kept in f32 and \
        rounded once (NCCL's kernels for symmetric windows)";
    same("bf16", &[SUM], &[SUM], Sense::BitsGivenFoldOrder, &[&order, accumulated]);
}

#[test]
fn a_conversion_counts_where_it_cuts_off_what_was_rounded() {
    let cast =
        |send: &str| format!(r#"call = "cast", dtype = "bf16", send = "{send}", recv = "y""#);
    let summed = [r#"call = "all_reduce", op = "sum", send = "x", recv = "t""#, &cast("t")];
    same(
        "f32",
        &summed,
        &summed,
        Sense::BitsGivenFoldOrder,
        &[
            ORDER_6,
            "the conversion to bf16: of values rounded already, so that a difference before it may \
             become one of a whole unit of bf16",
        ],
    );
    // Of what was only moved it cuts the same.
    let moved = [r#"call = "copy", send = "x", recv = "t""#, &cast("t")];
    let direct = cast("x");
    let grounds = same("f32", &moved, &[&direct], Sense::Exact, &[]);
    assert_eq!(grounds.iter().count(), 0);
}

#[test]
fn needs_say_what_each_proposal_is_equal_by() {
    let plan = plan("f32", [&[SUM], &STAGES], Some("sum(x)"));
    let told: Vec<Vec<String>> = plan
        .proposals
        .iter()
        .map(|proposal| {
            let mut terms = Terms::new();
            let evaluation =
                rankwise_plan::evaluate::evaluate(&plan, proposal, &mut terms).unwrap();
            let report = judge_needs(&plan, proposal, &evaluation, &mut terms).unwrap();
            hinges(&report.grounds())
        })
        .collect();
    assert_eq!(told[0], [ORDER_6]);
    assert_eq!(told[1], [ORDER_3, ORDER_6, STAGED]);
}
