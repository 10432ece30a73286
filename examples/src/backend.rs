//! The one place where a backend is chosen.

use core::fmt;
use std::panic::resume_unwind;
use std::thread;

use rankwise_comm::DeviceOrdinal;
use rankwise_comm::prelude::*;
use rankwise_mock::World;
use rankwise_nccl::Nccl;

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
#[derive(Clone, Copy)]
pub enum Backend {
    /// In memory; nothing is needed.
    Mock,
    /// On NCCL, with rank `r` on device `r`.
    Nccl(Nccl),
}

impl Backend {
    /// Runs `program` on so many ranks, each in a thread of its own; what they returned,
    /// in rank order, or the first error.
    pub fn run<P: RankProgram>(
        self,
        ranks: GroupSize,
        program: &P,
    ) -> Result<Vec<P::Output>, Error> {
        match self {
            Self::Mock => World::new(ranks).run(|comm| program.run(comm)).into_iter().collect(),
            Self::Nccl(nccl) => {
                let devices: Vec<_> = (0..ranks.get()).map(DeviceOrdinal).collect();
                let comms = nccl.init_all(&devices)?;
                thread::scope(|scope| {
                    let threads: Vec<_> = comms
                        .into_iter()
                        .map(|comm| scope.spawn(move || program.run(&comm)))
                        .collect();
                    // A panic of a rank is this thread's panic, too.
                    let joined = threads
                        .into_iter()
                        .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
                    joined.collect()
                })
            }
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mock => f.write_str("the mock"),
            Self::Nccl(nccl) => write!(f, "NCCL {}", nccl.version()),
        }
    }
}
