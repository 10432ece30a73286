//! How the suite deals with skips, floors, known failures and hangs.

mod toy;

use std::time::Duration;

use rankwise_conformance::{
    AfterHang, Blame, ExpectedFailure, Filter, Law, Matrix, Outcome, Suite, Verdict,
};
use rankwise_model::{Dtype, GroupSize, OperationKind, Reduction};
use toy::{Seeded, Toy};

fn sizes<const N: usize>(ranks: [u32; N]) -> [GroupSize; N] {
    ranks.map(|ranks| GroupSize::new(ranks).unwrap())
}

/// A few sums and broadcasts of two ranks.
fn few() -> Matrix {
    Matrix::quick()
        .ranks(sizes([2]))
        .operations([OperationKind::AllReduce, OperationKind::Broadcast])
        .reductions([Reduction::Sum])
        .dtypes([Dtype::F32])
        .counts([0, 5])
}

fn run(toy: Toy) -> Outcome {
    Suite::full(toy).matrix(few()).laws([Law::StreamOrder]).deadline(Duration::from_secs(2)).run()
}

fn verdict<'o>(outcome: &'o Outcome, name: &str) -> &'o Verdict {
    let named = outcome.entries().iter().find(|entry| entry.name == name);
    &named.unwrap_or_else(|| panic!("no {name} in {outcome}")).verdict
}

#[test]
fn every_case_has_its_verdict_and_its_place() {
    let (first, second) = (run(Toy::right()), run(Toy::right()));
    assert!(first.holds(), "{first}");
    assert_eq!(first, second);
    // 8 all_reduces and 16 broadcasts, one law, seven quarrels of each of two ranks.
    assert_eq!(first.entries().len(), 24 + 1 + 14);
    assert_eq!(first.entries()[0].name, "all_reduce/sum/f32/n=2/count=0/out of place");
    assert_eq!(first.entries()[38].name, "blame/left/n=2/rank=1");
}

#[test]
fn names_are_unique() {
    let mut names: Vec<String> = Matrix::full().cases().map(|case| case.to_string()).collect();
    let cases = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), cases);
}

#[test]
fn too_few_cases_are_a_failure() {
    let outcome = run(Toy { floor: 39, ..Toy::right() });
    assert!(outcome.holds(), "{outcome}");
    let outcome = run(Toy { floor: 40, ..Toy::right() });
    assert!(!outcome.holds());
    assert!(outcome.to_string().contains("only 39 cases were run, at least 40 must be"));
}

#[test]
fn what_is_not_declared_is_skipped_and_the_floor_tells() {
    let outcome = run(Toy { floor: 17, ..Toy::with(Seeded::DeclaresLittle) });
    assert_eq!(outcome.ran(), 16 + 2); // broadcasts, and the quarrel about their root
    assert!(outcome.holds(), "{outcome}");
    let reason = "toy 1 does not declare all_reduce with sum over f32".to_owned();
    let skipped = verdict(&outcome, "all_reduce/sum/f32/n=2/count=5/in place");
    assert_eq!(*skipped, Verdict::Skipped { reason });
    assert!(
        outcome.to_string().contains("skipped 8 × (toy 1 does not declare all_reduce with sum")
    );
    let outcome = run(Toy { floor: 19, ..Toy::with(Seeded::DeclaresLittle) });
    assert!(!outcome.holds());
}

#[test]
fn larger_groups_than_there_can_be_are_skipped() {
    let most_ranks = GroupSize::new(1);
    let outcome = run(Toy { most_ranks, ..Toy::right() });
    assert_eq!(outcome.ran(), 0);
    let skipped = verdict(&outcome, "law/stream order/n=2");
    assert_eq!(*skipped, Verdict::Skipped { reason: "the toy has 1 ranks here".to_owned() });
}

#[test]
fn blame_that_is_not_promised_is_skipped_for_its_reason() {
    let blame = Blame::NotPromised("it compares nothing".to_owned());
    let outcome = run(Toy { blame, ..Toy::with(Seeded::BlamesNobody) });
    assert!(outcome.holds(), "{outcome}");
    let skipped = verdict(&outcome, "blame/count/n=2/rank=0");
    assert_eq!(*skipped, Verdict::Skipped { reason: "it compares nothing".to_owned() });
}

fn known(cases: &str, versions: &str, message: &str) -> Vec<ExpectedFailure> {
    vec![ExpectedFailure {
        cases: Filter::new(cases),
        versions: versions.to_owned(),
        message: message.to_owned(),
        because: "roots were forgotten".to_owned(),
    }]
}

#[test]
fn a_known_failure_is_no_pass_and_no_failure() {
    let wrong = || Toy::with(Seeded::WrongRoot);
    let expected = known("broadcast/count=5", "toy 1", "expected");
    let outcome = run(Toy { expected, ..wrong() });
    assert!(outcome.holds(), "{outcome}");
    let name = "broadcast/root=0/f32/n=2/count=5/out of place";
    assert!(matches!(verdict(&outcome, name), Verdict::ExpectedFailure { .. }));
    assert!(outcome.to_string().contains("31 passed, 0 bad, 8 failed as expected"));

    // Of another version, with another message, and none at all.
    for expected in [
        known("broadcast/count=5", "toy 2", ""),
        known("broadcast/count=5", "", "out of memory"),
        Vec::new(),
    ] {
        let outcome = run(Toy { expected, ..wrong() });
        assert!(matches!(verdict(&outcome, name), Verdict::Failed(_)));
    }
}

#[test]
fn a_known_failure_that_passes_is_a_failure() {
    let outcome = run(Toy { expected: known("law", "", ""), ..Toy::right() });
    let because = "roots were forgotten".to_owned();
    let passed = verdict(&outcome, "law/stream order/n=2");
    assert_eq!(*passed, Verdict::UnexpectedlyPassed { because });
    assert!(!outcome.holds());
}

#[test]
fn a_wrong_value_is_named_with_its_place() {
    let outcome = run(Toy::with(Seeded::LastElementLost));
    let name = "broadcast/root=1/f32/n=2/count=5/out of place";
    let Verdict::Failed(failure) = verdict(&outcome, name) else { panic!("{outcome}") };
    let difference = failure.defect.difference.unwrap();
    assert_eq!((difference.round, difference.position), (0, 4));
    assert_eq!(difference.found.bits(), 0xa5a5_a5a5);
    assert!(failure.to_string().contains("position 4"), "{failure}");
    assert!(failure.to_string().ends_with("it was not written"), "{failure}");
}

#[test]
fn a_hang_names_who_waits_and_the_suite_goes_on_or_stops() {
    let hanging = || {
        Suite::full(Toy::with(Seeded::NothingHangs))
            .matrix(few())
            .matching("all_reduce/out of place")
            .deadline(Duration::from_millis(300))
    };
    let outcome = hanging().run();
    let ranks: Vec<_> = GroupSize::new(2).unwrap().ranks().collect();
    let name = "all_reduce/sum/f32/n=2/count=0/out of place";
    let Verdict::Hung { waiting, leaked, .. } = verdict(&outcome, name) else {
        panic!("{outcome}")
    };
    assert_eq!((waiting, *leaked), (&ranks, 0)); // the toy obeys the abort
    let name = "all_reduce/sum/f32/n=2/count=5/out of place";
    assert_eq!(*verdict(&outcome, name), Verdict::Passed);
    assert!(outcome.to_string().contains("still waiting: rank 0, 1"), "{outcome}");

    let outcome = hanging().after_hang(AfterHang::Stop).run();
    assert_eq!(outcome.entries().len(), 1);
    assert!(outcome.to_string().contains("stopped early: all_reduce/sum/f32/n=2/count=0"));
}

#[test]
fn a_suite_stops_after_many_bad_cases() {
    let outcome = Suite::full(Toy::with(Seeded::WrongRoot)).matrix(few()).most_bad(3).run();
    assert_eq!(outcome.bad().count(), 3);
    assert!(!outcome.holds());
    assert!(outcome.to_string().contains("stopped early: 3 cases were bad"));
}

#[test]
fn a_panic_is_a_failure_with_its_words() {
    let outcome = run(Toy::with(Seeded::Panics));
    let name = "broadcast/root=0/f32/n=2/count=5/out of place";
    let Verdict::Failed(failure) = verdict(&outcome, name) else { panic!("{outcome}") };
    assert_eq!(failure.to_string(), "rank 1: panicked: a seeded panic");
}
