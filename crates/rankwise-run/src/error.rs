//! Why a run is not possible, or why a rank did not come to its end.

use core::fmt;

use rankwise_comm::{Error, ErrorKind};
use rankwise_plan::PlanError;

/// Why a run is not possible, or why a rank did not come to its end.
///
/// Two errors are equal if they say the same: the report on what the ranks did
/// together is one, whoever returns it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RunError {
    /// The plan contradicts itself.
    Plan(PlanError),
    /// A reduction that the plan does not name: nobody can carry it out.
    Unnamed {
        /// The step, from 0.
        step: usize,
        /// What it does: `all_reduce`, `fold`.
        call: String,
    },
    /// Ranks with programs of their own: those are checked, not run.
    Programs {
        /// The proposal.
        proposal: String,
    },
    /// An input without values, where only given values are to be used.
    NoValues {
        /// The input.
        input: String,
    },
    /// Past a stated limit.
    Limit {
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        found: u64,
        /// How much is taken.
        limit: u64,
    },
    /// Another number of communicators, or of ranks in them, than the plan has ranks.
    World {
        /// How many there are.
        found: u64,
        /// How many the plan has.
        needed: u32,
    },
    /// A communicator of another rank than the one it was given to.
    Misplaced {
        /// The communicator's rank.
        found: u32,
        /// The rank that it was given to.
        needed: u32,
    },
    /// A call, a wait or an allocation of the backend.
    Backend {
        /// The step, from 0; `None` before the first and after the last.
        step: Option<usize>,
        /// What the backend says.
        error: Error,
    },
    /// A collective that this version has no call for.
    Operation {
        /// The step, from 0.
        step: usize,
        /// The operation.
        operation: String,
    },
    /// A rank's communicator could not be made, or its thread not be started.
    Launch {
        /// What was said.
        text: String,
    },
    /// A rank panicked.
    Panicked {
        /// What it said, if it was text.
        text: String,
    },
    /// This software contradicts itself: please report it.
    Internal {
        /// How.
        what: String,
    },
}

impl RunError {
    /// Whose fault it is, as a word of a record: `plan`, or one of the kinds of
    /// [`ErrorKind`].
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Plan(_)
            | Self::Unnamed { .. }
            | Self::Programs { .. }
            | Self::NoValues { .. }
            | Self::Limit { .. }
            | Self::Operation { .. } => "plan",
            Self::World { .. } | Self::Misplaced { .. } | Self::Launch { .. } => "caller",
            Self::Backend { error, .. } => match error.kind() {
                ErrorKind::Caller => "caller",
                ErrorKind::Peer => "peer",
                ErrorKind::Device => "device",
                _ => "internal",
            },
            Self::Panicked { .. } | Self::Internal { .. } => "internal",
        }
    }

    /// The text without the step: equal for all ranks that got the same report.
    pub fn text(&self) -> String {
        match self {
            Self::Backend { error, .. } => error.to_string(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(error) => error.fmt(f),
            Self::Programs { proposal } => write!(
                f,
                "the ranks of {proposal} have programs of their own, which are checked and not run"
            ),
            Self::Unnamed { step, call } => {
                write!(f, "step {step}: {call} without a reduction; name it with `op`")
            }
            Self::NoValues { input } => {
                write!(f, "input `{input}` has no values; give them, or let them be generated")
            }
            Self::Limit { what, found, limit } => {
                write!(f, "found {found} {what}, at most {limit} can be run")
            }
            Self::World { found, needed } => {
                write!(f, "found {found} ranks, the plan has {needed}")
            }
            Self::Misplaced { found, needed } => {
                write!(f, "the communicator of rank {found} was given to rank {needed}")
            }
            Self::Backend { step: Some(step), error } => write!(f, "step {step}: {error}"),
            Self::Backend { step: None, error } => error.fmt(f),
            Self::Operation { step, operation } => {
                write!(f, "step {step}: {operation} cannot be run by this version")
            }
            Self::Launch { text } => write!(f, "the rank could not be started: {text}"),
            Self::Panicked { text } => write!(f, "the rank panicked: {text}"),
            Self::Internal { what } => write!(f, "internal contradiction, please report: {what}"),
        }
    }
}

impl core::error::Error for RunError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Plan(error) => Some(error),
            Self::Backend { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl From<PlanError> for RunError {
    fn from(error: PlanError) -> Self {
        Self::Plan(error)
    }
}
