//! Seeded faults of the toy: each must be caught, by exactly the cases that are about it.

mod toy;

use std::time::Duration;

use rankwise_conformance::{AfterHang, Matrix, Suite, Verdict};
use rankwise_model::{Dtype, GroupSize};
use rstest::rstest;
use toy::{Seeded, Toy};

const FOLDS: &[&str] = &["all_reduce", "reduce", "reduce_scatter"];
const COLLECTIVES: &[&str] = &[
    "all_gather",
    "all_reduce",
    "all_to_all",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
];
const ALL: &[&str] = &[
    "all_gather",
    "all_reduce",
    "all_to_all",
    "broadcast",
    "exchange",
    "gather",
    "message",
    "reduce",
    "reduce_scatter",
    "scatter",
];
const WITH_BLAME: &[&str] = &[
    "all_gather",
    "all_reduce",
    "all_to_all",
    "blame",
    "broadcast",
    "exchange",
    "gather",
    "message",
    "reduce",
    "reduce_scatter",
    "scatter",
];
/// Any laws too: nearly all of them rest on a sum.
const ANY: &[&str] = &["…"];
const BROADCASTS: &[&str] =
    &["broadcast from each root", "gather then broadcast", "reduce then broadcast"];

/// What the bad cases are about: operations and blame, laws, and whether they hung.
struct Caught {
    operations: Vec<String>,
    laws: Vec<String>,
}

fn caught_by(seeded: Seeded) -> Caught {
    let sizes = [2, 3].map(|ranks| GroupSize::new(ranks).unwrap());
    let outcome = Suite::quick(Toy::with(seeded))
        .matrix(Matrix::quick().ranks(sizes).dtypes([Dtype::U8, Dtype::Bf16]).counts([0, 5]))
        .deadline(Duration::from_secs(2))
        .after_hang(AfterHang::Stop)
        .most_bad(10_000)
        .run();
    let (mut operations, mut laws) = (Vec::new(), Vec::new());
    for entry in outcome.bad() {
        let mut parts = entry.name.split('/');
        let (first, second) = (parts.next().unwrap(), parts.next().unwrap());
        let (kinds, name) =
            if first == "law" { (&mut laws, second) } else { (&mut operations, first) };
        let hung = matches!(entry.verdict, Verdict::Hung { .. });
        kinds.push(format!("{name}{}", if hung { " (hung)" } else { "" }));
    }
    for kinds in [&mut operations, &mut laws] {
        kinds.sort();
        kinds.dedup();
    }
    assert_eq!(outcome.holds(), operations.is_empty() && laws.is_empty(), "{outcome}");
    Caught { operations, laws }
}

#[rstest]
#[case(Seeded::WrongRoot, &["broadcast"], BROADCASTS)]
#[case(Seeded::GatherOnRankZero, &["gather"], &["gather then broadcast", "scatter then gather"])]
#[case(Seeded::DropsLastRank, FOLDS, ANY)]
#[case(Seeded::CountsFirstTwice, FOLDS, ANY)]
#[case(Seeded::FoldsBackwards, FOLDS, &[])]
#[case(Seeded::AvgNotDivided, FOLDS, &[])]
#[case(Seeded::AvgDividesLast, FOLDS, &[])]
#[case(Seeded::PremulIgnoresScalar, FOLDS, &[])]
#[case(Seeded::PremulOfRankZero, FOLDS, &[])]
#[case(Seeded::MaxOfMagnitudes, FOLDS, &[])]
#[case(Seeded::UnsignedAsSigned, FOLDS, &[])]
#[case(Seeded::Bf16Truncates, FOLDS, &[])]
#[case(Seeded::LastElementLost, ALL, ANY)]
#[case(Seeded::TailLost, ALL, ANY)]
#[case(Seeded::BlocksSwapped, &["all_gather"], ANY)]
#[case(Seeded::NextShard, &["reduce_scatter"], &["reduce_scatter then all_gather", "relabelling"])]
#[case(Seeded::NotTransposed, &["all_to_all"], &["all_to_all twice"])]
#[case(Seeded::ScatterOfBlockZero, &["scatter"], &["scatter then gather"])]
#[case(Seeded::InPlaceWrongBlock, &["reduce_scatter"], &[])]
#[case(Seeded::WritesBehind, ALL, ANY)]
#[case(Seeded::WritesBefore, ALL, ANY)]
#[case(Seeded::InputClobbered, COLLECTIVES, ANY)]
#[case(Seeded::DropFrees, &[], &["dropped in flight"])]
#[case(Seeded::StaleInput, COLLECTIVES, ANY)]
#[case(Seeded::GroupReversesMessages, &[], &["messages in order"])]
#[case(Seeded::GroupOfOne, &["exchange (hung)"], &[])]
#[case(Seeded::SplitIgnoresKey, &[], &["relabelling"])]
#[case(Seeded::SplitReversesTies, &[], &["split order"])]
#[case(Seeded::SplitIgnoresColour, &[], &["split by colour"])]
#[case(Seeded::NoColourJoins, &[], &["split order"])]
#[case(Seeded::WriteOvertakes, ALL, &["fetch is a snapshot", "stream order"])]
#[case(Seeded::FetchAtWait, ALL, &["fetch is a snapshot", "stream order"])]
#[case(Seeded::FenceEarly, &["blame"], &["abort ends a wait", "close gives up", "fence not early", "stream waits for stream"])]
#[case(Seeded::FenceLate, &[], &["fence not late", "stream waits for stream (hung)"])]
#[case(Seeded::NoStreamWaits, &[], &["stream waits for stream"])]
#[case(Seeded::ReadsAhead, &[], &["read waits for writer"])]
#[case(Seeded::NothingHangs, &["all_reduce (hung)"], &[])]
#[case(Seeded::AbortIgnored, &[], &["abort ends a wait"])]
#[case(Seeded::CloseHasty, &[], &["close finishes", "close gives up"])]
#[case(Seeded::CloseSilent, &[], &["close gives up"])]
#[case(Seeded::DeclaresTooMuch, &["blame", "broadcast"], BROADCASTS)]
#[case(Seeded::LiesAboutRank, WITH_BLAME, ANY)]
#[case(Seeded::LaunchFails, WITH_BLAME, ANY)]
#[case(Seeded::Panics, &["blame", "broadcast"], BROADCASTS)]
#[case(Seeded::BlamesNobody, &["blame"], &[])]
#[case(Seeded::BlamesDifferently, &["blame"], &[])]
#[case(Seeded::BlamesNextRank, &["blame"], &[])]
#[case(Seeded::BlamesNothing, &["blame"], &[])]
fn a_seeded_fault_is_caught(
    #[case] seeded: Seeded,
    #[case] operations: &[&str],
    #[case] laws: &[&str],
) {
    let mut caught = caught_by(seeded);
    // Whether a read is early depends on when it starts; the suite need not see it at once.
    for _ in 0..20 {
        if seeded != Seeded::ReadsAhead || caught.laws == laws {
            break;
        }
        caught = caught_by(seeded);
    }
    assert_eq!(caught.operations, operations, "{seeded:?}");
    if laws != ANY {
        assert_eq!(caught.laws, laws, "{seeded:?}");
    }
}
