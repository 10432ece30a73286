//! A total shared out by one of the rules that programs use.

use core::fmt;
use core::ops::Range;

use rankwise_model::{NotInGroup, Rank};

use crate::amount::{ElemCount, Overflow};
use crate::division::Division;

/// What is done with a total that the ranks do not divide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Uneven {
    /// Blocks of `total / n` rounded up, the last ones shorter or empty, as
    /// `torch.chunk` cuts.
    Chunk,
    /// The first `total mod n` ranks get one more than the others.
    Balanced,
    /// Blocks of `total / n` rounded up, the last ones filled up with padding.
    Pad,
}

impl Uneven {
    /// Every rule.
    pub const ALL: [Self; 3] = [Self::Chunk, Self::Balanced, Self::Pad];

    /// The name used in plans and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chunk => "chunk",
            Self::Balanced => "balanced",
            Self::Pad => "pad",
        }
    }
}

impl fmt::Display for Uneven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A total shared out by a rule: which positions each rank has, and how much padding.
///
/// ```
/// use rankwise_account::{Division, ElemCount, Shares, Uneven};
/// use rankwise_model::GroupSize;
///
/// let ranks = GroupSize::new(3).unwrap();
/// let division = Division::new(ElemCount::new(4096), ranks);
/// let counts = |uneven| {
///     let shares = Shares::new(division, uneven).unwrap();
///     ranks.ranks().map(|rank| shares.count_of(rank).unwrap().get()).collect::<Vec<_>>()
/// };
/// assert_eq!(counts(Uneven::Chunk), [1366, 1366, 1364]);
/// assert_eq!(counts(Uneven::Balanced), [1366, 1365, 1365]);
/// assert_eq!(counts(Uneven::Pad), [1366, 1366, 1366]); // the last two of them padding
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    division: Division,
    uneven: Uneven,
}

impl Shares {
    /// The shares of a division. Fails only where padded blocks do not fit in 64 bits.
    pub fn new(division: Division, uneven: Uneven) -> Result<Self, Overflow> {
        if uneven != Uneven::Balanced {
            division.padded()?;
        }
        Ok(Self { division, uneven })
    }

    /// The positions of the total that `rank` has: its displacement and its end.
    pub fn owned_by(&self, rank: Rank) -> Result<Range<u64>, NotInGroup> {
        let ranks = self.division.ranks();
        if !ranks.contains(rank) {
            return Err(NotInGroup { rank, ranks });
        }
        if self.uneven != Uneven::Balanced {
            // Proved to fit when this was made.
            return self.division.padded().map_or(Ok(0..0), |padded| padded.owned_by(rank));
        }
        let (total, n) = (self.division.total().get(), u64::from(ranks.get()));
        let (each, more) =
            (total.checked_div(n).unwrap_or(0), self.division.lost_by_truncating().get());
        let index = u64::from(rank.index());
        // All shares together are the total, which fits.
        let start = each.saturating_mul(index).saturating_add(more.min(index));
        Ok(start..start.saturating_add(each).saturating_add(u64::from(index < more)))
    }

    /// How long the share of `rank` is, padding included.
    pub fn count_of(&self, rank: Rank) -> Result<ElemCount, NotInGroup> {
        let owned = self.owned_by(rank)?;
        let valid = owned.end.saturating_sub(owned.start);
        Ok(ElemCount::new(valid.saturating_add(self.padding_on(rank)?.get())))
    }

    /// The padding at the end of the share of `rank`.
    pub fn padding_on(&self, rank: Rank) -> Result<ElemCount, NotInGroup> {
        match (self.uneven, self.division.padded()) {
            (Uneven::Pad, Ok(padded)) => padded.padding_on(rank),
            _ => self.owned_by(rank).map(|_| ElemCount::ZERO),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use rankwise_model::GroupSize;

    use super::*;

    fn shares(total: u64, ranks: u32, uneven: Uneven) -> Vec<(Range<u64>, u64)> {
        let ranks = GroupSize::new(ranks).unwrap();
        let shares = Shares::new(Division::new(ElemCount::new(total), ranks), uneven).unwrap();
        let of = |rank| (shares.owned_by(rank).unwrap(), shares.padding_on(rank).unwrap().get());
        ranks.ranks().map(of).collect()
    }

    /// Field cases g05 and a03.
    #[test]
    fn shares_of_what_does_not_divide() {
        let balanced = |total, ranks| {
            let shares = shares(total, ranks, Uneven::Balanced);
            shares.into_iter().map(|(owned, _)| owned.end - owned.start).collect::<Vec<_>>()
        };
        assert_eq!(balanced(4096, 3), [1366, 1365, 1365]);
        assert_eq!(balanced(32, 5), [7, 7, 6, 6, 6]);
        assert_eq!(balanced(73, 4), [19, 18, 18, 18]);
        assert_eq!(balanced(2, 4), [1, 1, 0, 0]);
        assert_eq!(shares(73, 4, Uneven::Pad), [(0..19, 0), (19..38, 0), (38..57, 0), (57..73, 3)]);
        assert_eq!(shares(4096, 3, Uneven::Pad)[2], (2732..4096, 2));
        assert_eq!(shares(32, 5, Uneven::Pad)[4], (28..32, 3));
        assert_eq!(shares(5, 4, Uneven::Chunk), [(0..2, 0), (2..4, 0), (4..5, 0), (5..5, 0)]);
        assert_eq!(shares(73, 4, Uneven::Balanced)[3], (55..73, 0));
    }

    #[test]
    fn a_rank_of_another_group_has_no_share() {
        let two = GroupSize::new(2).unwrap();
        let third = GroupSize::new(3).unwrap().rank(2).unwrap();
        for uneven in Uneven::ALL {
            let shares = Shares::new(Division::new(ElemCount::new(8), two), uneven).unwrap();
            assert_eq!(shares.owned_by(third), Err(NotInGroup { rank: third, ranks: two }));
            assert!(shares.count_of(third).is_err());
        }
        let most = Division::new(ElemCount::new(u64::MAX), two);
        assert!(Shares::new(most, Uneven::Pad).is_err()); // 2 × 2^63
        assert!(Shares::new(most, Uneven::Balanced).is_ok());
    }
}
