//! One case, as data.

use core::fmt;

use rankwise_comm::Placement;
use rankwise_model::{Dtype, GroupSize, Layout, LayoutError, Operation, OperationKind, Rank};
use rankwise_model::{RankLayout, Reduction};

/// One call of every rank, with everything that can be chosen about it.
///
/// Its name tells all of it, and each part of the name is one that a
/// [`Filter`](crate::Filter) can ask for:
///
/// ```
/// use rankwise_comm::Placement;
/// use rankwise_conformance::{Case, Grouping, Pattern};
/// use rankwise_model::{Dtype, GroupSize, Operation, Reduction};
///
/// let case = Case {
///     pattern: Pattern::Operation(Operation::AllReduce { reduction: Reduction::Sum }),
///     dtype: Dtype::F32,
///     ranks: GroupSize::new(4).unwrap(),
///     count: 17,
///     placement: Placement::InPlace,
///     grouping: Grouping::Alone,
///     rounds: 3,
/// };
/// assert_eq!(case.to_string(), "all_reduce/sum/f32/n=4/count=17/in place");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Case {
    /// What the ranks do together.
    pub pattern: Pattern,
    /// The element type.
    pub dtype: Dtype,
    /// The size of the group.
    pub ranks: GroupSize,
    /// The count argument, in elements; what it counts is in the operation's row.
    pub count: u64,
    /// Whether input and output share a buffer.
    pub placement: Placement,
    /// Whether the call is made in a group.
    pub grouping: Grouping,
    /// How often the call is made, each time with other values and without waiting.
    pub rounds: u32,
}

/// What the ranks of a case do together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pattern {
    /// One operation; of a message, only its two ends call.
    Operation(Operation),
    /// Every rank sends to the rank `shift` further on, around the end, and receives
    /// from the one `shift` before, in one group. Shift 0 is a message to oneself.
    Exchange {
        /// How much further on.
        shift: u32,
    },
}

/// Whether a call is made by itself or in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grouping {
    /// By itself. An exchange is always a group.
    Alone,
    /// As the only call of a group; of an exchange, one of the two.
    Grouped,
}

/// What one rank reads and writes in a case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sides {
    /// The layout whose input this rank has.
    pub(crate) reads: RankLayout,
    /// The layout whose output this rank has.
    pub(crate) writes: RankLayout,
}

impl Pattern {
    /// The row of the table that it is in.
    pub const fn kind(self) -> OperationKind {
        match self {
            Self::Operation(operation) => operation.kind(),
            Self::Exchange { .. } => OperationKind::Message,
        }
    }

    /// The reduction, if it combines values.
    pub const fn reduction(self) -> Option<Reduction> {
        match self {
            Self::Operation(operation) => operation.reduction(),
            Self::Exchange { .. } => None,
        }
    }
}

impl Case {
    /// The layouts of both sides of one rank.
    pub(crate) fn sides(&self, rank: Rank) -> Result<Sides, LayoutError> {
        let at = |operation| {
            let layout = Layout::new(operation, self.ranks, self.count)?;
            layout.at(rank).map_err(|found| LayoutError::NotInGroup { operation, found })
        };
        match self.pattern {
            Pattern::Operation(operation) => {
                let both = at(operation)?;
                Ok(Sides { reads: both, writes: both })
            }
            Pattern::Exchange { shift } => {
                let ranks = self.ranks.get();
                let shift = shift % ranks;
                let reads = at(Operation::Message { from: rank, to: self.beyond(rank, shift) })?;
                let from = self.beyond(rank, ranks - shift);
                Ok(Sides { reads, writes: at(Operation::Message { from, to: rank })? })
            }
        }
    }

    /// The rank `further` on, around the end.
    fn beyond(&self, rank: Rank, further: u32) -> Rank {
        let ranks = u64::from(self.ranks.get());
        let index = (u64::from(rank.index()) + u64::from(further)) % ranks;
        let issued = u32::try_from(index).ok().and_then(|index| self.ranks.rank(index));
        issued.unwrap_or(self.ranks.first())
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pattern {
            Pattern::Exchange { shift } => write!(f, "exchange/shift={shift}")?,
            Pattern::Operation(Operation::Message { from, to }) => {
                write!(f, "message/{from} to {to}")?;
            }
            Pattern::Operation(operation) => {
                f.write_str(operation.kind().name())?;
                if let Some(reduction) = operation.reduction() {
                    write!(f, "/{reduction}")?;
                }
                if let Some(root) = operation.root() {
                    write!(f, "/root={root}")?;
                }
            }
        }
        write!(f, "/{}/n={}/count={}", self.dtype, self.ranks, self.count)?;
        f.write_str(match self.placement {
            Placement::OutOfPlace => "/out of place",
            Placement::InPlace => "/in place",
        })?;
        match (self.grouping, self.pattern) {
            (Grouping::Alone, _) | (_, Pattern::Exchange { .. }) => Ok(()),
            (Grouping::Grouped, _) => f.write_str("/in a group"),
        }
    }
}
