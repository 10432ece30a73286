//! The one place where a backend is chosen.

use core::fmt;

use rankwise_comm::prelude::*;
use rankwise_mock::World;

/// What every rank runs, whatever the backend.
///
/// A trait rather than a closure: a closure cannot be generic over the communicator.
pub trait RankProgram: Sync {
    /// What each rank returns.
    type Output: Send;

    /// One rank's part.
    fn run<C: Communicator>(&self, comm: &C) -> Result<Self::Output, Error>;
}

/// Where a rank program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// In memory, one thread per rank.
    Mock,
}

impl Backend {
    /// Every backend that runs on this machine.
    pub const ALL: [Self; 1] = [Self::Mock];

    /// Runs `program` on so many ranks; what each returned, in rank order.
    pub fn run<P: RankProgram>(
        self,
        ranks: GroupSize,
        program: &P,
    ) -> Vec<Result<P::Output, Error>> {
        match self {
            Self::Mock => World::new(ranks).run(|comm| program.run(comm)),
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Mock => "mock",
        })
    }
}
