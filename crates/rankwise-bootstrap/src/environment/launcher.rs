//! Which variables each launcher sets, and where it says so.

use std::fmt;

/// What started the processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Launcher {
    /// `torchrun` (torch elastic).
    Torchrun,
    /// Open MPI's `mpirun`.
    OpenMpi,
    /// A PMI process manager: MPICH's and Intel MPI's Hydra, or `srun --mpi=pmi2`.
    Pmi,
    /// A PMIx process manager. It tells the rank by a variable, but not the number of
    /// ranks, so that it never suffices alone.
    Pmix,
    /// `RANK` and `WORLD_SIZE`, set by hand or by a script.
    ByHand,
    /// Slurm's `srun`.
    Slurm,
}

impl Launcher {
    /// Whether a process that `self` started inherits the variables of `outer`, which
    /// then number the tasks that `outer` started: `srun torchrun`, `mpirun` in a job.
    pub(super) const fn may_run_within(self, outer: Self) -> bool {
        match self {
            Self::Torchrun => !matches!(outer, Self::ByHand | Self::Torchrun),
            Self::OpenMpi | Self::Pmi => matches!(outer, Self::Slurm),
            Self::Pmix | Self::ByHand | Self::Slurm => false,
        }
    }
}

impl fmt::Display for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Torchrun => "torchrun",
            Self::OpenMpi => "Open MPI",
            Self::Pmi => "PMI",
            Self::Pmix => "PMIx",
            Self::ByHand => "RANK and WORLD_SIZE",
            Self::Slurm => "Slurm",
        })
    }
}

/// The variables of one launcher. Of several names the first that is set counts.
pub(super) struct Row {
    pub(super) launcher: Launcher,
    /// Only if this is set.
    pub(super) only_with: Option<&'static str>,
    /// Only if this is not set.
    pub(super) only_without: Option<&'static str>,
    pub(super) rank: &'static [&'static str],
    pub(super) ranks: &'static [&'static str],
    pub(super) local_rank: &'static [&'static str],
    pub(super) local_ranks: &'static [&'static str],
    pub(super) node: &'static [&'static str],
    /// What tells this job, and this start of it, from others: their values in turn.
    pub(super) job: &'static [&'static str],
}

const TORCH_MARK: &str = "TORCHELASTIC_RUN_ID";

/// Innermost launcher first.
pub(super) const ROWS: &[Row] = &[
    // https://docs.pytorch.org/docs/stable/elastic/run.html#environment-variables
    // GROUP_RANK counts agents, of which there is one per node unless asked otherwise.
    Row {
        launcher: Launcher::Torchrun,
        only_with: Some(TORCH_MARK),
        only_without: None,
        rank: &["RANK"],
        ranks: &["WORLD_SIZE"],
        local_rank: &["LOCAL_RANK"],
        local_ranks: &["LOCAL_WORLD_SIZE"],
        node: &["GROUP_RANK"],
        job: &[TORCH_MARK, "TORCHELASTIC_RESTART_COUNT"],
    },
    // https://docs.open-mpi.org/en/v5.0.x/tuning-apps/environment-var.html; seen so under
    // Open MPI 4.1.4. OMPI_COMM_WORLD_NODE_RANK is no number of a node: it counts the
    // processes on this node over all jobs. Nothing says which node it is.
    Row {
        launcher: Launcher::OpenMpi,
        only_with: None,
        only_without: None,
        rank: &["OMPI_COMM_WORLD_RANK"],
        ranks: &["OMPI_COMM_WORLD_SIZE"],
        local_rank: &["OMPI_COMM_WORLD_LOCAL_RANK"],
        local_ranks: &["OMPI_COMM_WORLD_LOCAL_SIZE"],
        node: &[],
        job: &["PMIX_NAMESPACE"],
    },
    // https://github.com/pmodels/mpich/blob/main/doc/wiki/how_to/Using_the_Hydra_Process_Manager.md;
    // the local ones are not in that page, and were seen under MPICH 4.0.2.
    Row {
        launcher: Launcher::Pmi,
        only_with: None,
        only_without: None,
        rank: &["PMI_RANK"],
        ranks: &["PMI_SIZE"],
        local_rank: &["MPI_LOCALRANKID"],
        local_ranks: &["MPI_LOCALNRANKS"],
        node: &[],
        job: &[],
    },
    // https://docs.pytorch.org/docs/stable/distributed.html#environment-variable-initialization
    Row {
        launcher: Launcher::ByHand,
        only_with: None,
        only_without: Some(TORCH_MARK),
        rank: &["RANK"],
        ranks: &["WORLD_SIZE"],
        local_rank: &["LOCAL_RANK"],
        local_ranks: &["LOCAL_WORLD_SIZE"],
        node: &["NODE_RANK"],
        job: &[],
    },
    // The PMIx standard: a server sets PMIX_RANK and PMIX_NAMESPACE for its clients, and
    // keeps the number of ranks (PMIX_JOB_SIZE) for those who ask through its library.
    Row {
        launcher: Launcher::Pmix,
        only_with: None,
        only_without: None,
        rank: &["PMIX_RANK"],
        ranks: &[],
        local_rank: &[],
        local_ranks: &[],
        node: &[],
        job: &["PMIX_NAMESPACE"],
    },
    // https://slurm.schedmd.com/srun.html#SECTION_OUTPUT-ENVIRONMENT-VARIABLES
    // SLURM_NTASKS is the job's, and the step's is what was started.
    Row {
        launcher: Launcher::Slurm,
        only_with: None,
        only_without: None,
        rank: &["SLURM_PROCID"],
        ranks: &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"],
        local_rank: &["SLURM_LOCALID"],
        local_ranks: &[],
        node: &["SLURM_NODEID"],
        job: &["SLURM_JOB_ID", "SLURM_STEP_ID"],
    },
];
