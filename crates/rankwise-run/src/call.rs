//! What one rank did, call by call.

use rankwise_model::{CountMeaning, Dtype};
use rankwise_topology::WorldRank;

use crate::error::RunError;

/// One thing that a rank did, or failed to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// The step of the proposal, from 0.
    pub step: usize,
    /// What it was.
    pub act: ActRun,
    /// Whether it is done; an error is that of the call itself, or of the wait for it.
    pub outcome: Result<(), RunError>,
}

/// What a rank did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActRun {
    /// A call of a communicator.
    Call(CallRun),
    /// A local act on the host, by its word in the plan: `slice`, `scale`, ….
    Local(&'static str),
}

/// One call of a communicator, as one rank made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRun {
    /// What was called: `reduce_scatter(sum)`, `send(to 1)`.
    pub op: String,
    /// What the backend calls the communicator.
    pub comm: String,
    /// Who takes part, in rank order; of a message, the sender and the receiver.
    pub members: Vec<WorldRank>,
    /// The number of the call within its communicator, from 0: collectives alone, splits
    /// included; messages per ordered pair.
    pub seq: u64,
    /// The count argument, in elements.
    pub count: u64,
    /// What the count argument counts.
    pub convention: CountMeaning,
    /// The element type.
    pub dtype: Dtype,
}
