//! What the ranks of a run run on.

use clap::ValueEnum;
use rankwise_comm::DeviceOrdinal;
use rankwise_mock::World;
use rankwise_nccl::Nccl;
use rankwise_run::{Job, Outcome, RunError, launch, run};

use crate::unusable::Unusable;

/// What the ranks of a run run on, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Backend {
    /// Every rank in this process, on the CPU: exact and deterministic.
    Mock,
    /// NCCL, on the first devices of this process, one rank each.
    Nccl,
}

/// The same, ready to be run on.
#[derive(Clone, Copy)]
pub(crate) enum Opened {
    Mock,
    Nccl(Nccl),
}

impl Backend {
    /// Finds what it needs: nothing is run if that is not there.
    pub(crate) fn open(self) -> Result<Opened, Box<Unusable>> {
        match self {
            Self::Mock => Ok(Opened::Mock),
            Self::Nccl => match Nccl::load() {
                Ok(nccl) => Ok(Opened::Nccl(nccl)),
                Err(error) => Err(Unusable::usage(
                    format!("--backend nccl: {error}"),
                    "a CUDA driver and an NCCL library (NCCL_LIBRARY names one), or --backend mock",
                )),
            },
        }
    }
}

impl Opened {
    /// Gives every rank of the job what it needs, and runs it.
    pub(crate) fn run(self, job: &Job) -> Outcome {
        match self {
            Self::Mock => run(job, World::new(job.world()).communicators()),
            Self::Nccl(nccl) => {
                let devices: Vec<_> = (0..job.world().get()).map(DeviceOrdinal).collect();
                match nccl.init_all(&devices) {
                    Ok(communicators) => run(job, communicators),
                    Err(error) => launch(job, |_| {
                        let text = error.to_string();
                        Err::<rankwise_nccl::Comm, _>(RunError::Launch { text })
                    }),
                }
            }
        }
    }
}
