//! How a layer is cut into a shard for each rank, where it divides and where it does not.

use alloc::format;
use alloc::string::ToString;
use core::fmt;

use rankwise_account::division::Padded;
use rankwise_account::{Division, ElemCount, Uneven};
use rankwise_model::{GroupSize, Rank};

use super::error::TemplateError;
use crate::plan::Sharding;

/// A flat parameter cut into equal shards, the last of them filled up with zeros, as
/// FSDP and ZeRO do. Zeros add nothing to an average, and change no other element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    division: Division,
    padded: Padded,
}

impl Cut {
    /// The value of the padding.
    pub(super) const PADDING: &'static str = "0";

    /// So many elements over so many ranks, neither of them 0.
    pub(super) fn new(layer: usize, elements: u64, ranks: u64) -> Result<Self, TemplateError> {
        let what = || format!("layer {layer}");
        let group = u32::try_from(ranks).ok().and_then(GroupSize::new);
        let group = group.ok_or(TemplateError::TooManyRanks { ranks })?;
        let division = Division::new(ElemCount::new(elements), group);
        let padded = division
            .padded()
            .map_err(|_| TemplateError::Overflow { what: what(), factors: [elements, ranks] })?;
        Ok(Self { division, padded })
    }

    /// The elements of the layer.
    pub(super) const fn elements(self) -> u64 {
        self.division.total().get()
    }

    /// The elements of each shard, padding included.
    pub(super) const fn block(self) -> u64 {
        self.padded.block().get()
    }

    /// The elements of all shards.
    pub(super) const fn length(self) -> u64 {
        self.padded.length().get()
    }

    /// Whether shards are larger than the layer.
    pub(super) const fn is_padded(self) -> bool {
        self.length() > self.elements()
    }

    /// The elements of the layer that one rank of the group has.
    pub(super) fn owned_by(self, rank: u64) -> u64 {
        let rank = u32::try_from(rank).ok().and_then(|rank| self.division.ranks().rank(rank));
        let owned = rank.and_then(|rank| self.padded.owned_by(rank).ok()).unwrap_or(0..0);
        owned.end.saturating_sub(owned.start)
    }

    /// How a need says it.
    pub(super) fn sharding(self) -> Sharding {
        if !self.is_padded() {
            return Sharding::default();
        }
        let value = Some(Self::PADDING.to_string());
        Sharding { uneven: Some(Uneven::Pad), value, ..Sharding::default() }
    }

    /// The first and the last rank of the group that have padding.
    fn owners(self) -> Option<(Rank, Rank)> {
        let ranks = self.division.ranks();
        let last = ranks.rank(ranks.get().checked_sub(1)?)?;
        let has = |rank: &Rank| self.padded.padding_on(*rank).is_ok_and(|count| count.get() > 0);
        let backwards = (0..ranks.get()).rev().map_while(|index| ranks.rank(index));
        let first = backwards.take_while(has).last()?;
        Some((first, last))
    }
}

impl fmt::Display for Cut {
    /// `2001 elements: 501 on each of 4 ranks, with 3 zeros of padding on rank 3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (elements, block, ranks) = (self.elements(), self.block(), self.division.ranks());
        let s = if elements == 1 { "" } else { "s" };
        write!(f, "{elements} element{s}: {block} on each of {ranks} ranks")?;
        let padding = self.length().saturating_sub(elements);
        match self.owners() {
            None => Ok(()),
            Some((first, last)) if first == last => {
                write!(f, ", with {padding} zeros of padding on rank {first}")
            }
            Some((first, last)) => {
                write!(f, ", with {padding} zeros of padding on ranks {first} to {last}")
            }
        }
    }
}
