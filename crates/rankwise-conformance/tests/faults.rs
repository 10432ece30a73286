//! Seeded faults of the toy: each must be caught, by exactly the cases that are about it.

mod toy;

use std::time::Duration;

use rankwise_conformance::{AfterHang, Matrix, Suite, Verdict};
use rankwise_model::{Dtype, GroupSize};
use rstest::rstest;
use toy::{Seeded, Toy};

/// What the bad cases are about: operations, laws, and whether they hung.
fn caught_by(seeded: Seeded) -> Vec<String> {
    let sizes = [2, 3].map(|ranks| GroupSize::new(ranks).unwrap());
    let dtypes = [Dtype::I32, Dtype::U8, Dtype::Bf16];
    let outcome = Suite::quick(Toy::with(seeded))
        .matrix(Matrix::quick().ranks(sizes).dtypes(dtypes).counts([0, 5]))
        .deadline(Duration::from_secs(2))
        .after_hang(AfterHang::Stop)
        .most_bad(10_000)
        .run();
    if std::env::var_os("SHOW").is_some() {
        println!("{outcome}");
    }
    let mut kinds: Vec<String> = outcome
        .bad()
        .map(|entry| {
            let mut parts = entry.name.split('/');
            let (first, second) = (parts.next().unwrap(), parts.next().unwrap_or(""));
            let name = if first == "law" { second } else { first };
            match entry.verdict {
                Verdict::Hung { .. } => format!("{name} (hung)"),
                _ => name.to_owned(),
            }
        })
        .collect();
    kinds.sort();
    kinds.dedup();
    assert_eq!(outcome.holds(), kinds.is_empty(), "{outcome}");
    kinds
}

#[rstest]
#[case(Seeded::WrongRoot, &[])]
#[case(Seeded::GatherOnRankZero, &[])]
#[case(Seeded::DropsLastRank, &[])]
#[case(Seeded::CountsFirstTwice, &[])]
#[case(Seeded::FoldsBackwards, &[])]
#[case(Seeded::AvgNotDivided, &[])]
#[case(Seeded::AvgDividesLast, &[])]
#[case(Seeded::PremulIgnoresScalar, &[])]
#[case(Seeded::PremulOfRankZero, &[])]
#[case(Seeded::MaxOfMagnitudes, &[])]
#[case(Seeded::UnsignedAsSigned, &[])]
#[case(Seeded::Bf16Truncates, &[])]
#[case(Seeded::LastElementLost, &[])]
#[case(Seeded::TailLost, &[])]
#[case(Seeded::BlocksSwapped, &[])]
#[case(Seeded::NextShard, &[])]
#[case(Seeded::NotTransposed, &[])]
#[case(Seeded::ScatterOfBlockZero, &[])]
#[case(Seeded::InPlaceWrongBlock, &[])]
#[case(Seeded::WritesBehind, &[])]
#[case(Seeded::WritesBefore, &[])]
#[case(Seeded::InputClobbered, &[])]
#[case(Seeded::DropFrees, &[])]
#[case(Seeded::StaleInput, &[])]
#[case(Seeded::GroupReversesMessages, &[])]
#[case(Seeded::GroupOfOne, &[])]
#[case(Seeded::SplitIgnoresKey, &[])]
#[case(Seeded::SplitReversesTies, &[])]
#[case(Seeded::SplitIgnoresColour, &[])]
#[case(Seeded::NoColourJoins, &[])]
#[case(Seeded::WriteOvertakes, &[])]
#[case(Seeded::FetchAtWait, &[])]
#[case(Seeded::FenceEarly, &[])]
#[case(Seeded::FenceLate, &[])]
#[case(Seeded::NoStreamWaits, &[])]
#[case(Seeded::ReadsAhead, &[])]
#[case(Seeded::NothingHangs, &[])]
#[case(Seeded::AbortIgnored, &[])]
#[case(Seeded::CloseHasty, &[])]
#[case(Seeded::CloseSilent, &[])]
#[case(Seeded::DeclaresTooMuch, &[])]
#[case(Seeded::LiesAboutRank, &[])]
#[case(Seeded::LaunchFails, &[])]
#[case(Seeded::Panics, &[])]
fn a_seeded_fault_is_caught(#[case] seeded: Seeded, #[case] by: &[&str]) {
    assert_eq!(caught_by(seeded), by, "{seeded:?}");
}
