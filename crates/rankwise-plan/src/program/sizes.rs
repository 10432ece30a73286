//! How much each call of a program moves, as far as that can be known before it runs.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_model::{Dtype, Reduction};
use rankwise_program::program::View;
use rankwise_program::{Payload, Seq};
use rankwise_topology::WorldRank;

use super::Communicators;

/// By communicator and number there.
pub(crate) type Reductions = BTreeMap<(Arc<str>, Seq), Reduction>;

/// What is known of the calls of all ranks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sizes {
    /// By rank and act of its program; of a group, one for each of the rank's parts, in
    /// order. Nothing for a wait or a fence.
    pub(crate) moved: BTreeMap<(WorldRank, usize), Vec<Moved>>,
    /// What the buffers that steps write are first, by name and rank: element type and
    /// length, and the step.
    pub(crate) first: BTreeMap<String, BTreeMap<WorldRank, (Dtype, u64, usize)>>,
    /// The reduction of a collective, where any of its calls names one.
    pub(crate) reductions: Reductions,
    /// The communicators.
    pub(crate) communicators: Communicators,
}

/// What one act moves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moved {
    /// On which communicator, and the number there; `None` for a local act.
    pub(crate) call: Option<(Arc<str>, Seq)>,
    /// Count and element type; `None` if not known, and for local acts.
    pub(crate) payload: Option<Payload>,
    /// The element type of what is written or sent, where that is known.
    pub(crate) dtype: Option<Dtype>,
    /// The same of what a conversion reads.
    pub(crate) read_dtype: Option<Dtype>,
    /// What is read.
    pub(crate) reads: Vec<View>,
    /// What is written.
    pub(crate) writes: Vec<View>,
    /// What the written buffer then is: element type and length.
    pub(crate) leaves: Option<(Dtype, u64)>,
}
