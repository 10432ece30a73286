//! The right toy against the suite: what a third party's file looks like.

mod toy;

use rankwise_conformance::{Fixture, Suite};
use rankwise_model::GroupSize;
use toy::{Toy, ToyComm};

struct Mine;

impl Fixture for Mine {
    type Comm = ToyComm;

    fn name(&self) -> String {
        "the toy".to_owned()
    }
    fn launch(&self, ranks: GroupSize) -> Result<Vec<ToyComm>, String> {
        Toy::right().launch(ranks)
    }
    fn floor(&self) -> usize {
        2_000
    }
}

#[test]
fn conforms() {
    Suite::quick(Mine).run().assert_holds();
}
