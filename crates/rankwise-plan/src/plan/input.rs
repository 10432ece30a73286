//! What the ranks hold before the first step.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use rankwise_model::{Dtype, GroupSize};
use rankwise_topology::WorldRank;

use crate::error::Span;
use crate::values::Values;

/// One buffer of one element type on every rank, before the first step.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its name, which is also the name of the buffer that holds it.
    pub name: String,
    /// The element type.
    pub dtype: Dtype,
    /// Elements on each rank.
    pub counts: Counts,
    /// The shape of the tensor that it is, row-major, where the plan says.
    pub shape: Option<Vec<u64>>,
    /// What the values are, in words; part of their identity.
    pub meaning: Option<String>,
    /// What each contribution belongs to: relabel the ranks and it stays there.
    pub attached: Attachment,
    /// The values, one entry per contribution in rank order; `None` for a purely
    /// symbolic input.
    pub values: Option<Vec<Values>>,
    /// How many literals had to be rounded to the element type.
    pub rounded: u64,
    /// Where it stands.
    pub span: Span,
}

/// How many elements an input has on each rank.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counts {
    /// As many on every rank.
    Each(u64),
    /// By rank: the input is ragged.
    ByRank(Vec<u64>),
}

impl Counts {
    /// How many there are on `rank`; none on a rank that the world does not have.
    pub fn on(&self, rank: WorldRank) -> u64 {
        match self {
            Self::Each(count) => *count,
            Self::ByRank(counts) => {
                let index = usize::try_from(rank.index()).ok();
                index.and_then(|index| counts.get(index)).copied().unwrap_or(0)
            }
        }
    }

    /// As many as on every rank, if that is one number.
    pub const fn each(&self) -> Option<u64> {
        match self {
            Self::Each(count) => Some(*count),
            Self::ByRank(_) => None,
        }
    }

    /// On all ranks of a world together; [`u64::MAX`] if that does not fit.
    pub fn total(&self, world: GroupSize) -> u64 {
        match self {
            Self::Each(count) => count.saturating_mul(u64::from(world.get())),
            Self::ByRank(counts) => counts.iter().copied().fold(0, u64::saturating_add),
        }
    }
}

impl fmt::Display for Counts {
    /// `4`, or by rank `3, 2, 2`; long lists are cut.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        match self {
            Self::Each(count) => count.fmt(f),
            Self::ByRank(counts) => {
                for (index, count) in counts.iter().take(SHOWN).enumerate() {
                    write!(f, "{}{count}", if index == 0 { "" } else { ", " })?;
                }
                if counts.len() > SHOWN { f.write_str(", …") } else { Ok(()) }
            }
        }
    }
}

/// What a contribution belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Attachment {
    /// The device: whichever rank the device becomes contributes it.
    Device,
    /// The rank: whichever device the rank is put on contributes it.
    Rank,
}
