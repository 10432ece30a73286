//! What the ranks of a run run on.

use clap::ValueEnum;
use rankwise_mock::World;
use rankwise_run::{Job, Outcome, run};

/// What the ranks of a run run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Backend {
    /// Every rank in this process, on the CPU: exact and deterministic.
    Mock,
}

impl Backend {
    /// Gives every rank of the job what it needs, and runs it.
    pub(crate) fn run(self, job: &Job) -> Outcome {
        match self {
            Self::Mock => run(job, World::new(job.world()).communicators()),
        }
    }
}
