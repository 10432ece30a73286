//! Why a text is no program.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use rankwise_model::dtype::UnknownDtype;
use rankwise_model::operation::UnknownOperation;
use rankwise_model::reduction::UnknownReduction;
use rankwise_model::{GroupSize, LayoutError};
use rankwise_topology::{GroupError, World, WorldRank};

use super::NoView;

/// Why a text is no program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramError {
    /// It is not of the shape of the notation: not JSON, an unknown key, another type.
    Shape {
        /// The line, from 1.
        line: u64,
        /// The column, from 1.
        column: u64,
        /// What the JSON reader found and expected.
        found: String,
    },
    /// A world of no ranks.
    EmptyWorld,
    /// A world of more ranks than a program may have.
    LargeWorld {
        /// What it says.
        found: u32,
        /// The most that is read.
        limit: u32,
    },
    /// Two groups of one name.
    RepeatedGroup {
        /// The name.
        name: Arc<str>,
    },
    /// A list that is no group.
    Group {
        /// The name of the group.
        name: Arc<str>,
        /// What is wrong with it.
        fault: GroupError,
    },
    /// A program of a rank that the world lacks.
    Rank {
        /// The key that should be a rank.
        found: String,
        /// The world.
        world: World,
    },
    /// Two programs of one rank.
    RepeatedRank {
        /// The rank.
        rank: WorldRank,
    },
    /// A call that cannot be made.
    Call {
        /// Which.
        place: Place,
        /// What is wrong with it.
        fault: Fault,
    },
}

/// Which call of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Whose.
    pub rank: WorldRank,
    /// Which of its steps, from 0.
    pub step: u64,
    /// Which call of a unit, from 0.
    pub within: Option<u64>,
}

impl fmt::Display for Place {
    /// `rank 1, call 3`, and `rank 1, call 3.0` in a unit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}, call {}", self.rank, self.step)?;
        match self.within {
            Some(within) => write!(f, ".{within}"),
            None => Ok(()),
        }
    }
}

/// What is wrong with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// No operation of that name.
    Operation {
        /// The name.
        found: String,
        /// What is known.
        unknown: UnknownOperation,
    },
    /// No element type of that name.
    Dtype {
        /// The name.
        found: String,
        /// What is known.
        unknown: UnknownDtype,
    },
    /// No reduction of that name.
    Reduction {
        /// The name.
        found: String,
        /// What is known.
        unknown: UnknownReduction,
    },
    /// The operation needs a field that is absent.
    Missing {
        /// The operation.
        op: String,
        /// The field.
        field: &'static str,
    },
    /// The operation has no such field.
    Superfluous {
        /// The operation.
        op: String,
        /// The field.
        field: &'static str,
    },
    /// No group of that name.
    UnknownGroup {
        /// The name.
        found: String,
        /// The names there are.
        known: Vec<Arc<str>>,
    },
    /// The rank is no member of the group.
    NotAMember {
        /// The group.
        group: Arc<str>,
    },
    /// A root, a peer or a member that the group lacks. They are ranks of the group.
    NotInGroup {
        /// Which field says so.
        field: &'static str,
        /// The number.
        found: u32,
        /// How many ranks the group has.
        ranks: GroupSize,
    },
    /// The list of a new group names a rank twice.
    RepeatedMember {
        /// The rank.
        found: u32,
    },
    /// The call has no layout.
    Layout(
        /// Why.
        LayoutError,
    ),
    /// A text that is no view.
    View(
        /// Which.
        NoView,
    ),
    /// Views that are not as long as the call makes them.
    ViewLength {
        /// Which field says so.
        field: &'static str,
        /// How many positions they have.
        found: u64,
        /// How many the call reads or writes there.
        expected: u64,
    },
    /// Views without positions that cannot share equally what the call needs.
    UnequalViews {
        /// Which field says so.
        field: &'static str,
        /// How many there are.
        views: u64,
        /// How many positions the call reads or writes there.
        expected: u64,
    },
    /// A buffer where the call has none: nothing is read, or nothing written.
    NoBuffer {
        /// Which field says so.
        field: &'static str,
        /// The call.
        call: String,
    },
    /// A unit within a unit.
    NestedUnit,
    /// A split or a wait within a unit.
    NotInUnit {
        /// The operation.
        op: String,
    },
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape { line, column, found } => {
                write!(f, "line {line}, column {column}: {found}")
            }
            Self::EmptyWorld => f.write_str("a world needs at least one rank, and has 0"),
            Self::LargeWorld { found, limit } => {
                write!(f, "a world of {found} ranks; at most {limit} are read")
            }
            Self::RepeatedGroup { name } => write!(f, "group {name} stands twice"),
            Self::Group { name, fault } => write!(f, "group {name}: {fault}"),
            Self::Rank { found, world } => {
                write!(f, "a program of {found:?}, which is no rank of a world of {world}")
            }
            Self::RepeatedRank { rank } => write!(f, "rank {rank} has two programs"),
            Self::Call { place, fault } => write!(f, "{place}: {fault}"),
        }
    }
}

impl core::error::Error for ProgramError {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operation { found, unknown } => write!(
                f,
                "{found:?} is none of the operations: {unknown}; nor send, recv, barrier, \
                 split, comm_split, new_group, local, fence, group or wait"
            ),
            Self::Dtype { found, unknown } => write!(f, "dtype {found:?}: {unknown}"),
            Self::Reduction { found, unknown } => write!(f, "redop {found:?}: {unknown}"),
            Self::Missing { op, field } => write!(f, "{op} needs {field}"),
            Self::Superfluous { op, field } => write!(f, "{op} has no {field}"),
            Self::UnknownGroup { found, known } => {
                write!(f, "no group {found:?}, only")?;
                for (at, name) in known.iter().enumerate() {
                    write!(f, "{} {name}", if at == 0 { "" } else { "," })?;
                }
                Ok(())
            }
            Self::NotAMember { group } => {
                write!(f, "the rank calls on group {group} and is no member of it")
            }
            Self::NotInGroup { field, found, ranks } => write!(
                f,
                "{field} {found} is not in the group, which has {ranks} ranks; a {field} is a \
                 rank of the group"
            ),
            Self::RepeatedMember { found } => write!(f, "ranks name {found} twice"),
            Self::Layout(fault) => fault.fmt(f),
            Self::View(fault) => fault.fmt(f),
            Self::ViewLength { field, found, expected } => {
                write!(f, "{field} names {found} positions, and the call has {expected} there")
            }
            Self::UnequalViews { field, views, expected } => write!(
                f,
                "{field} has {views} views without positions for {expected} elements; give each \
                 its positions, as in x[0..4]"
            ),
            Self::NoBuffer { field, call } => {
                write!(f, "{field} is given, and {call} has none on this rank")
            }
            Self::NestedUnit => f.write_str("a group of calls within a group of calls"),
            Self::NotInUnit { op } => write!(f, "{op} cannot stand in a group of calls"),
        }
    }
}

impl core::error::Error for Fault {}
