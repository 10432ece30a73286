//! The suite for every backend, on the mock: all of it.

#![allow(clippy::print_stdout)] // what was skipped, and why

use rankwise_conformance::{Fixture, Suite};
use rankwise_mock::{Comm, World};
use rankwise_model::GroupSize;

struct Mock;

impl Fixture for Mock {
    type Comm = Comm;

    fn name(&self) -> String {
        format!("mock {}", env!("CARGO_PKG_VERSION"))
    }

    fn launch(&self, ranks: GroupSize) -> Result<Vec<Comm>, String> {
        Ok(World::new(ranks).communicators())
    }

    fn floor(&self) -> usize {
        45_000
    }
}

/// n = 1, 2, 3, 4, 7, 8; every operation, type, reduction and root; in place and out;
/// counts 0, 1, odd and large; laws, and who is blamed for what.
#[test]
fn the_whole_matrix() {
    let outcome = Suite::full(Mock).run();
    println!("{outcome}");
    outcome.assert_holds();
}
