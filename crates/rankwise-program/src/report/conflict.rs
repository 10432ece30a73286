//! Two calls of a rank that touch the same positions of a buffer.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use rankwise_topology::WorldRank;

use super::show::Ranks;
use crate::call::{Signature, Tag};
use crate::program::{Place, View};

/// Two touches of one buffer of which at least one writes.
///
/// Of a [hazard](super::Kind::Hazard) nothing says which comes first; of an
/// [overlap](super::Kind::Overlap) they are of one call, or of calls made as one unit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Conflict {
    /// The ranks whose programs have it at the same place, in order.
    pub ranks: Vec<WorldRank>,
    /// The buffer, and the positions that both touch.
    pub shared: View,
    /// What those positions count: elements where both touches have them of one width.
    pub unit: Unit,
    /// The touch that stands earlier in the program.
    pub first: Touch,
    /// The other.
    pub second: Touch,
    /// How many more pairs of calls have been found on each of the ranks, of the same
    /// buffer and streams.
    pub more: u64,
}

/// One call that reads or writes a buffer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Touch {
    /// Where it stands in the program of the lowest rank.
    pub place: Place,
    /// What is called.
    pub signature: Signature,
    /// The name of its group; `None` for local work.
    pub group: Option<Arc<str>>,
    /// The name of its stream.
    pub stream: Arc<str>,
    /// The caller's name for it.
    pub tag: Option<Tag>,
    /// Whether it reads or writes.
    pub access: Access,
    /// What it reads or writes, in its own elements.
    pub view: View,
}

/// What is done to a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Its values are used.
    Read,
    /// Its values are replaced.
    Write,
}

/// What the positions of a buffer count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// Elements.
    Elements,
    /// Bytes.
    Bytes,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Read => "reads",
            Self::Write => "writes",
        })
    }
}

impl Conflict {
    /// `y[0..4] on rank 0, 1`.
    pub(super) fn headline(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.unit {
            Unit::Elements => "",
            Unit::Bytes => " (bytes)",
        };
        write!(f, "{}{unit} on rank {}", self.shared, Ranks(&self.ranks))
    }

    pub(super) fn body(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n  {}\n  {}", self.first, self.second)?;
        match self.more {
            0 => Ok(()),
            1 => f.write_str("\n  … and once more between these streams"),
            more => write!(f, "\n  … and {more} times more between these streams"),
        }
    }
}

impl fmt::Display for Touch {
    /// `all_reduce(sum) of 4 × f32 on world writes y[0..4], stream s0, at rank 0, call 0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.signature.fmt(f)?;
        if let Some(tag) = &self.tag {
            write!(f, " (tag {tag})")?;
        }
        if let Some(group) = &self.group {
            write!(f, " on {group}")?;
        }
        let Self { access, view, stream, place, .. } = self;
        write!(f, " {access} {view}, stream {stream}, at {place}")
    }
}
