//! What went wrong, for people and for tests.

mod aspect;
mod conflict;
mod divergence;
mod show;

use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_model::{GroupSize, Rank};
use rankwise_topology::WorldRank;

pub use self::aspect::{Aspect, Aspects};
pub use self::conflict::{Access, Conflict, Touch, Unit};
pub use self::divergence::{Against, Divergence, Edit, More};
pub(crate) use self::show::Ranks;
use crate::call::{Signature, Tag};
use crate::ending::Ending;
use crate::seq::Seq;
use crate::site::Site;

/// Why calls did not match, or why ranks wait for ever: one value, the same on every
/// rank and in whatever order the calls arrived.
///
/// Who is an outlier is arithmetic, not guilt: the minority may well be right.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Report {
    /// What sort of fault it is.
    pub kind: Kind,
    /// In what the sides differ; empty unless calls contradict each other.
    pub aspects: Aspects,
    /// The communicator; of a cycle through several, that of the first edge.
    pub communicator: Arc<str>,
    /// The number of ranks in that communicator.
    pub ranks: GroupSize,
    /// Which call of that communicator.
    pub seq: Option<Seq>,
    /// What was called, one side per distinct call: more ranks first, then lower ranks.
    /// Empty for a cycle, whose calls are in [`waits`](Self::waits).
    pub sides: Vec<Side>,
    /// Who differs from the majority, in world rank order. Empty when no side has
    /// more than half of those that called: then look at the sides.
    pub outliers: Vec<WorldRank>,
    /// Members that did not make the call, in rank order.
    pub absent: Vec<Absent>,
    /// Who waits for whom, read as a cycle from its smallest rank; then whoever else
    /// is stuck with them, in rank order.
    pub waits: Vec<Edge>,
    /// The last calls of the ranks concerned, oldest first, the call in question last.
    pub recent: Vec<(WorldRank, Vec<Call>)>,
    /// Where whole sequences of calls part, for programs that are known to their end:
    /// a call that meets another is often due to one that was skipped before.
    pub divergences: Vec<Divergence>,
    /// Of a message without its other side, the messages without theirs that its ranks
    /// call instead, in rank order.
    pub instead: Vec<(WorldRank, Call)>,
    /// The two touches of a buffer, of a hazard or an overlap.
    pub conflict: Option<Conflict>,
}

/// What sort of fault a report is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Calls that should be one and differ; the aspects say in what.
    Mismatch,
    /// A member that has ended or left did not make the call.
    MissingRank,
    /// A send without a recv or a recv without a send, the other side being gone.
    UnmatchedMessage,
    /// Ranks that wait for each other in a circle.
    Deadlock,
    /// Ranks that make the same calls in orders that contradict each other; it
    /// completes with these streams, and would not with fewer.
    OrderDiffers,
    /// Work on one buffer from two streams without a fence between.
    Hazard,
    /// Buffers that may not overlap and do.
    Overlap,
    /// The wait was given up before it was known how it ends.
    Inconclusive,
}

/// A member of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Member {
    /// Who it is in the world.
    pub world: WorldRank,
    /// Who it is in the communicator.
    pub rank: Rank,
}

/// One of the distinct calls that were made, and who made it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Side {
    /// The call. For a split it is that of the first member: colours and keys differ.
    pub signature: Signature,
    /// The caller's name for what it moves.
    pub tag: Option<Tag>,
    /// Of a new group by list, its members, ranks of the communicator, in order.
    pub creates: Option<Arc<[Rank]>>,
    /// Who called so, in rank order.
    pub members: Vec<Member>,
    /// From where, with who called from there.
    pub sites: Vec<(Site, Vec<WorldRank>)>,
}

/// A member that did not make the call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Absent {
    /// Who.
    pub member: Member,
    /// Why it will not, or, in an inconclusive report, why it has not.
    pub why: Why,
}

/// Why a member did not make a call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Why {
    /// It ended or left.
    Ended {
        /// How.
        how: Ending,
        /// What it said, such as the message of its panic.
        words: Option<Arc<str>>,
    },
    /// It waits for something else: for ever, unless the report is inconclusive.
    Blocked {
        /// The call it waits in; `None` if it waits for nothing that it called itself.
        call: Option<Call>,
    },
    /// It is computing, and may still come.
    Computing,
}

/// A call as one rank made it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call {
    /// The communicator.
    pub communicator: Arc<str>,
    /// The call.
    pub signature: Signature,
    /// The caller's name for what it moves.
    pub tag: Option<Tag>,
    /// Of a new group by list, its members, ranks of the communicator, in order.
    pub creates: Option<Arc<[Rank]>>,
    /// Its number; of a call that was refused, the one it would have had.
    pub seq: Seq,
    /// Where it was made.
    pub site: Site,
}

/// One rank that waits, and for whom.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// Who waits.
    pub rank: WorldRank,
    /// In which call.
    pub call: Call,
    /// For whom, in world rank order.
    pub waits_for: Vec<WorldRank>,
}

impl Report {
    /// A report with nothing in it yet.
    pub(crate) fn new(kind: Kind, communicator: Arc<str>, ranks: GroupSize) -> Self {
        Self {
            kind,
            aspects: Aspects::NONE,
            communicator,
            ranks,
            seq: None,
            sides: Vec::new(),
            outliers: Vec::new(),
            absent: Vec::new(),
            waits: Vec::new(),
            recent: Vec::new(),
            divergences: Vec::new(),
            instead: Vec::new(),
            conflict: None,
        }
    }

    /// The ranks that wait in a circle, from the smallest on, each waiting for the next
    /// and the last for the first. Empty if the report is on no circle.
    pub fn cycle(&self) -> Vec<WorldRank> {
        let mut cycle: Vec<WorldRank> = Vec::new();
        for (at, edge) in self.waits.iter().enumerate() {
            cycle.push(edge.rank);
            let next = self.waits.get(at.saturating_add(1)).map(|next| next.rank);
            let goes_on =
                next.is_some_and(|next| edge.waits_for.contains(&next) && !cycle.contains(&next));
            // The shortest cycle ends where a rank waits for the first.
            if cycle.first().is_some_and(|first| edge.waits_for.contains(first)) {
                return cycle;
            }
            if !goes_on {
                break;
            }
        }
        Vec::new()
    }
}

impl core::error::Error for Report {}
