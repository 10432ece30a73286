//! The suite for every backend, on the mock: all of it.

#![allow(clippy::print_stdout)] // what was skipped, and why

use rankwise_conformance::{ExpectedFailure, Filter, Fixture, Suite};
use rankwise_mock::{Comm, Quirks, World};
use rankwise_model::GroupSize;

/// The mock, with these quirks.
struct Mock(Quirks);

impl Fixture for Mock {
    type Comm = Comm;

    fn name(&self) -> String {
        format!("mock {}", env!("CARGO_PKG_VERSION"))
    }

    fn launch(&self, ranks: GroupSize) -> Result<Vec<Comm>, String> {
        Ok(World::new(ranks).with_quirks(self.0).communicators())
    }

    fn floor(&self) -> usize {
        if self.0 == Quirks::NONE { 45_000 } else { 4_000 }
    }

    fn expected_failures(&self) -> Vec<ExpectedFailure> {
        let dropped = ExpectedFailure {
            cases: Filter::new("blame/no count"),
            versions: "quirks".to_owned(),
            message: "were told that all went well".to_owned(),
            because: "a collective of count 0 is dropped: nobody waits for it".to_owned(),
        };
        vec![dropped]
    }
}

/// n = 1, 2, 3, 4, 7, 8; every operation, type, reduction and root; in place and out;
/// counts 0, 1, odd and large; laws, and who is blamed for what.
#[test]
fn the_whole_matrix() {
    let outcome = Suite::full(Mock(Quirks::NONE)).run();
    println!("{outcome}");
    outcome.assert_holds();
}

/// What is declared differently is different, and nothing else that the suite asks for but
/// that a collective of count 0 contradicts nothing.
#[test]
fn the_quirks_of_nccl_are_those_that_are_declared() {
    let outcome = Suite::quick(Mock(Quirks::NCCL_2_32)).run();
    println!("{outcome}");
    outcome.assert_holds();
}
