//! A backend in safe Rust, right by default and wrong on request.
//!
//! Ranks share one state behind one lock. A stream is a queue; whoever enqueues carries
//! out whatever has become possible, so there is no thread and nothing to wait for but
//! peers. What calls do is taken from the model's reference; what a [`Seeded`] fault
//! spoils is in `spoil`.

// Each test file uses the part of it that it needs; and its buffers are short.
#![allow(dead_code, clippy::cast_possible_truncation)]

mod accuse;
mod comm;
mod moves;
mod seeded;
mod spoil;
mod state;

pub(crate) use comm::ToyComm;
pub(crate) use seeded::Seeded;

use rankwise_comm::FoldOrder;
use rankwise_conformance::{Blame, ExpectedFailure, Fixture};
use rankwise_model::GroupSize;

/// The toy, with what is asked of it.
pub(crate) struct Toy {
    pub(crate) seeded: Option<Seeded>,
    pub(crate) order: FoldOrder,
    pub(crate) floor: usize,
    pub(crate) most_ranks: Option<GroupSize>,
    pub(crate) expected: Vec<ExpectedFailure>,
    pub(crate) blame: Blame,
}

impl Toy {
    /// The toy as it should be.
    pub(crate) fn right() -> Self {
        Self {
            seeded: None,
            order: FoldOrder::Rank,
            floor: 0,
            most_ranks: None,
            expected: Vec::new(),
            blame: Blame::Promised,
        }
    }

    /// The toy with one fault.
    pub(crate) fn with(seeded: Seeded) -> Self {
        Self { seeded: Some(seeded), ..Self::right() }
    }
}

impl Fixture for Toy {
    type Comm = ToyComm;

    fn name(&self) -> String {
        self.seeded.map_or("the toy".to_owned(), |seeded| format!("the toy with {seeded:?}"))
    }

    fn launch(&self, ranks: GroupSize) -> Result<Vec<ToyComm>, String> {
        if self.seeded == Some(Seeded::LaunchFails) {
            return Err("no more toys".to_owned());
        }
        Ok(comm::launch(ranks, self.seeded, self.order))
    }

    fn floor(&self) -> usize {
        self.floor
    }

    fn most_ranks(&self) -> Option<GroupSize> {
        self.most_ranks
    }

    fn blame(&self) -> Blame {
        self.blame.clone()
    }

    fn expected_failures(&self) -> Vec<ExpectedFailure> {
        self.expected.clone()
    }
}
