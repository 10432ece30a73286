//! Where the calls of some ranks part from those of others.

use alloc::vec::Vec;
use core::fmt;

use rankwise_topology::WorldRank;

use super::show::Ranks;
use super::{Aspect, Aspects, Call};

/// How the calls of some ranks on one communicator become those of others: the two
/// sequences aligned, from their first call to their last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Divergence {
    /// Who calls otherwise, in world rank order.
    pub ranks: Vec<WorldRank>,
    /// Than whom: ranks that all make the same calls.
    pub like: Vec<WorldRank>,
    /// Whether those are the majority. If not, each side may as well be the other's.
    pub against: Against,
    /// In what, in the order of the calls.
    pub edits: Vec<Edit>,
    /// How many more there are; unknown where they are too many to be aligned.
    pub more: More,
}

/// What a sequence of calls is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Against {
    /// With that of more than half of the members.
    Majority,
    /// With that of the largest part, or of the lowest rank: no majority makes it.
    NoMajority,
}

/// What is not listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum More {
    /// So many.
    Edits(u64),
    /// The two have too little in common; only where they part is listed.
    NotAligned,
}

/// One difference of two sequences of calls.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Edit {
    /// Calls that the others make and these ranks do not.
    Skipped {
        /// The first of them, as the lowest of the others makes it.
        call: Call,
        /// How many in a row.
        calls: u64,
        /// Out of how many equal calls in a row, from that one on: which of them cannot
        /// be seen. As many as `calls` if these and no others.
        among: u64,
    },
    /// Calls that these ranks make and the others do not.
    Extra {
        /// The first of them, as the lowest of these ranks makes it.
        call: Call,
        /// How many in a row.
        calls: u64,
        /// Out of how many equal calls in a row, as for those that are skipped.
        among: u64,
    },
    /// Two calls that the others make the other way round.
    Swapped {
        /// Which these ranks make first.
        first: Call,
        /// Which they make then.
        second: Call,
    },
    /// A call that the others make at another place.
    Moved {
        /// As these ranks make it.
        call: Call,
        /// As the others do.
        elsewhere: Call,
    },
    /// A call in the place of another.
    Replaced {
        /// What the others call.
        expected: Call,
        /// What these ranks call there.
        found: Call,
    },
}

impl Divergence {
    /// [`Aspect::Order`] where calls are skipped, added or moved: what is met in one
    /// call is then due to another.
    pub(crate) fn aspects(&self) -> Aspects {
        let only_replaced = self.edits.iter().all(|edit| matches!(edit, Edit::Replaced { .. }));
        if only_replaced { Aspects::NONE } else { Aspects::NONE.with(Aspect::Order) }
    }
}

impl fmt::Display for Divergence {
    /// Several lines: against whom, then one per edit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} against rank {}", Ranks(&self.ranks), Ranks(&self.like))?;
        match self.against {
            Against::Majority => f.write_str(", the majority:")?,
            Against::NoMajority => f.write_str(", no majority:")?,
        }
        for edit in &self.edits {
            write!(f, "\n    {edit}")?;
        }
        match self.more {
            More::Edits(0) => Ok(()),
            More::Edits(more) => write!(f, "\n    … and {more} more"),
            More::NotAligned => f.write_str("\n    and too little in common from there on"),
        }
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Skipped { call, calls, among } => {
                write!(f, "skips {}{call}", Several { calls: *calls, among: *among })
            }
            Self::Extra { call, calls, among } => {
                write!(f, "calls besides {}{call}", Several { calls: *calls, among: *among })
            }
            Self::Swapped { first, second } => {
                write!(f, "swaps {first}\n      and {second}")
            }
            Self::Moved { call, elsewhere } => {
                write!(f, "moves {call}\n      from {}, {}", elsewhere.seq, elsewhere.at())
            }
            Self::Replaced { expected, found } => {
                write!(f, "calls {found}\n      in the place of {expected}")
            }
        }
    }
}

/// `1 of 3 equal calls from `, `5 calls from `, or nothing.
struct Several {
    calls: u64,
    among: u64,
}

impl fmt::Display for Several {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.calls, self.among) {
            (calls, among) if calls < among => write!(f, "{calls} of {among} equal calls from "),
            (1, _) => Ok(()),
            (calls, _) => write!(f, "{calls} calls from "),
        }
    }
}
