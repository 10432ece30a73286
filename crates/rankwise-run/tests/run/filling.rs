//! What inputs hold that the plan gives no values.

use std::collections::BTreeSet;

use proptest::prelude::*;
use rankwise_model::{Dtype, Scalar};
use rankwise_run::record::{ValuesOrigin, Verdict};
use rankwise_run::{Fill, Job, Origin, RunError};

use crate::toy::Wrong;
use crate::{held, outcome, plan};

const SYMBOLIC: &str = r#"
    format = 1
    group.ranks = 2
    input.w = { dtype = "i32", count = 2, meaning = "given", on.rank = { 0 = [5, 6], 1 = [7, 8] } }
    input.x = { dtype = "f32", count = 3, meaning = "one" }
    input.z = { dtype = "u8", count = 300, meaning = "more than a byte tells apart" }
    proposal.p.step = [{ call = "all_reduce", op = "sum", send = "x", recv = "y" }]
"#;

#[test]
fn values_count_up_through_positions_and_ranks() {
    let outcome = outcome(SYMBOLIC, &Wrong::default());
    assert_eq!(outcome.record.verdict, Verdict::Right, "{:#?}", outcome.record);
    assert_eq!(held(&outcome, "w"), [[5.0, 6.0], [7.0, 8.0]]);
    assert_eq!(held(&outcome, "x"), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    assert_eq!(held(&outcome, "y"), [[5.0, 7.0, 9.0]; 2]);
    let fill = &outcome.record.fill;
    assert_eq!(fill.seed.unwrap().0, 0);
    let origins: Vec<_> =
        fill.inputs.iter().map(|input| (input.input.as_str(), input.values)).collect();
    assert_eq!(
        origins,
        [("w", ValuesOrigin::Given), ("x", ValuesOrigin::Counted), ("z", ValuesOrigin::Scattered)]
    );
}

#[test]
fn where_only_given_values_count_a_symbolic_input_is_refused() {
    let plan = plan(SYMBOLIC);
    let error = Job::new(&plan, &plan.proposals[0], Fill::Given).unwrap_err();
    assert_eq!(error, RunError::NoValues { input: "x".into() });
}

/// The largest sum that the type holds exactly, with all below it: worked out by hand.
const fn exact(dtype: Dtype) -> i128 {
    match dtype {
        Dtype::I8 => 127,
        Dtype::U8 => 255,
        Dtype::I32 => (1 << 31) - 1,
        Dtype::U32 => (1 << 32) - 1,
        Dtype::I64 => (1 << 63) - 1,
        Dtype::U64 => (1 << 64) - 1,
        Dtype::F8E4M3 => 16,
        Dtype::F8E5M2 => 8,
        Dtype::F16 => 2048,
        Dtype::Bf16 => 256,
        Dtype::F32 => 1 << 24,
        Dtype::F64 => 1 << 53,
        _ => 0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn generated_values_are_small_positive_and_the_same_again(
        dtype in prop::sample::select(Dtype::ALL.to_vec()),
        ranks in 1_u32..5,
        count in 0_u64..40,
        seed in prop_oneof![Just(0), 0_u64..1000, any::<u64>()],
    ) {
        let text = format!(
            "format = 1\ngroup.ranks = {ranks}\n\
             input.x = {{ dtype = \"{dtype}\", count = {count}, meaning = \"m\" }}\n\
             proposal.p.step = [{{ call = \"copy\", send = \"x\", recv = \"y\" }}]"
        );
        let plan = plan(&text);
        let fill = |seed| Job::new(&plan, &plan.proposals[0], Fill::Pattern { seed }).unwrap();
        let job = fill(seed);
        let values = job.plan().inputs["x"].values.as_ref().unwrap();
        let again = fill(seed);
        prop_assert_eq!(values, again.plan().inputs["x"].values.as_ref().unwrap());
        prop_assert_eq!(values.len(), ranks as usize);
        #[allow(clippy::cast_possible_truncation)] // whole numbers of at most 53 bits
        let whole = |scalar: Scalar| scalar.to_integer().unwrap_or(scalar.to_f64() as i128);
        let all: Vec<i128> = values.iter().flat_map(|of_rank| of_rank.iter().map(whole)).collect();
        prop_assert_eq!(all.len() as u64, u64::from(ranks) * count);
        let largest = all.iter().copied().max().unwrap_or(0);
        prop_assert!(all.iter().all(|value| *value >= 1));
        prop_assert!(largest <= 2 || largest * i128::from(ranks) <= exact(dtype), "{all:?}");
        let distinct: BTreeSet<i128> = all.iter().copied().collect();
        if job.origins()[0].1 == Origin::Counted {
            prop_assert_eq!(distinct.len(), all.len());
        }
    }
}
