//! How much each call of a program moves, as far as that can be known before it runs.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_model::{Dtype, Reduction};
use rankwise_program::program::Buffers;
use rankwise_program::{Payload, Seq};
use rankwise_topology::WorldRank;

use super::Communicators;

/// Which communicator, by its number, and which call of it.
pub(crate) type Numbered = (usize, Seq);

/// What is known of the calls of all ranks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sizes {
    /// By rank.
    pub(crate) ranks: Vec<OfRank>,
    /// The reduction of a collective, where any of its calls names one.
    pub(crate) reductions: BTreeMap<Numbered, Reduction>,
    /// The communicators.
    pub(crate) communicators: Communicators,
}

impl Sizes {
    /// What is known of the calls of a rank.
    pub(crate) fn of_rank(&self, rank: WorldRank) -> Option<&OfRank> {
        self.ranks.get(usize::try_from(rank.index()).ok()?)
    }
}

/// What is known of the calls of a rank.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfRank {
    /// The communicators that it calls on, by their numbers.
    pub(crate) communicators: Vec<usize>,
    /// What it does, whichever those are: ranks that do the same share it.
    pub(crate) moves: Arc<Moves>,
}

/// What the acts of a program move.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moves {
    /// By act; of a group, one for each of the rank's parts, in order. Nothing for a wait
    /// or a fence.
    pub(crate) acts: Vec<Vec<Moved>>,
    /// What the buffers that steps write are first: element type and length, and the step.
    pub(crate) first: BTreeMap<Arc<str>, (Dtype, u64, usize)>,
}

impl Moves {
    /// What an act moves.
    pub(crate) fn act(&self, index: usize) -> &[Moved] {
        self.acts.get(index).map(Vec::as_slice).unwrap_or_default()
    }
}

/// What one act moves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moved {
    /// On which of the rank's communicators, and the number there; `None` for a local act.
    pub(crate) call: Option<(usize, Seq)>,
    /// Count and element type; `None` if not known, and for local acts.
    pub(crate) payload: Option<Payload>,
    /// The element type of what is written or sent, where that is known.
    pub(crate) dtype: Option<Dtype>,
    /// The same of what a conversion reads.
    pub(crate) read_dtype: Option<Dtype>,
    /// What is read and written.
    pub(crate) buffers: Arc<Buffers>,
    /// What the written buffer then is: element type and length.
    pub(crate) leaves: Option<(Dtype, u64)>,
}
