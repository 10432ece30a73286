//! Backends that fold in an order of their own: what is right for them, and what is not.

mod toy;

use rankwise_comm::FoldOrder;
use rankwise_conformance::{Matrix, Outcome, Suite};
use rankwise_model::{Dtype, GroupSize, OperationKind};
use rstest::rstest;
use toy::{Seeded, Toy};

/// The folds over all floats, on a toy that declares an order.
fn folds(seeded: Option<Seeded>, order: FoldOrder) -> Outcome {
    let sizes = [1, 2, 3, 4, 7].map(|ranks| GroupSize::new(ranks).unwrap());
    let matrix = Matrix::full()
        .ranks(sizes)
        .operations([OperationKind::AllReduce, OperationKind::ReduceScatter])
        .dtypes(Dtype::ALL.into_iter().filter(|dtype| dtype.is_float()))
        .counts([17])
        .rounds(6)
        .matching("out of place");
    Suite::full(Toy { seeded, order, ..Toy::right() }).matrix(matrix).matching("count=17").run()
}

/// The reductions of the bad cases.
fn bad(outcome: &Outcome) -> Vec<String> {
    let reduction = |name: &str| name.split('/').nth(1).unwrap_or_default().to_owned();
    let mut bad: Vec<String> = outcome.bad().map(|entry| reduction(&entry.name)).collect();
    bad.sort();
    bad.dedup();
    bad
}

#[rstest]
#[case(None)]
#[case(Some(Seeded::FoldsBackwards))]
#[case(Some(Seeded::AvgFuses))]
fn any_order_and_fusion_are_right_unless_rank_order_is_declared(#[case] seeded: Option<Seeded>) {
    let outcome = folds(seeded, FoldOrder::Unspecified);
    assert!(outcome.holds(), "{outcome}");
    assert_eq!(outcome.ran(), 5 * 2 * 6 * 6 * 2);
}

#[rstest]
#[case(Seeded::FoldsBackwards, &["avg", "premul", "prod", "sum"])]
#[case(Seeded::AvgFuses, &["avg"])]
fn declared_rank_order_is_compared_bit_by_bit(#[case] seeded: Seeded, #[case] reductions: &[&str]) {
    assert_eq!(bad(&folds(Some(seeded), FoldOrder::Rank)), reductions);
}

#[rstest]
#[case(Seeded::DropsLastRank, &["avg", "max", "min", "premul", "prod", "sum"])]
#[case(Seeded::CountsFirstTwice, &["avg", "max", "min", "premul", "prod", "sum"])]
#[case(Seeded::AvgNotDivided, &["avg"])]
#[case(Seeded::AvgDividesLast, &["avg"])]
#[case(Seeded::PremulIgnoresScalar, &["premul"])]
#[case(Seeded::PremulOfRankZero, &["premul"])]
#[case(Seeded::MaxOfMagnitudes, &["max"])]
fn what_is_wrong_in_any_order_is_caught(#[case] seeded: Seeded, #[case] reductions: &[&str]) {
    assert_eq!(bad(&folds(Some(seeded), FoldOrder::Unspecified)), reductions);
}
