//! Totals that do not divide by the ranks.
//!
//! NCCL's calls take one count for every rank, so a reduce-scatter of 73 elements
//! over 4 ranks must pad to 76. MPI's vector forms take one count per rank instead.
//! The two leave positions on different ranks.

use core::fmt;
use core::ops::Range;

use rankwise_model::{
    Dtype, Element, ElementVisitor, GroupSize, NotInGroup, Rank, Reduction, Scalar,
    reduction::Combine,
};

use crate::amount::{ElemCount, Overflow};

/// A total to be divided among ranks.
///
/// ```
/// use rankwise_account::{Division, ElemCount};
/// use rankwise_model::GroupSize;
///
/// let ranks = GroupSize::new(4).unwrap();
/// let division = Division::new(ElemCount::new(73), ranks);
/// assert_eq!(division.even(), None);
/// assert_eq!(division.lost_by_truncating(), ElemCount::new(1)); // 4 × 18 = 72
///
/// let padded = division.padded()?;
/// assert_eq!(padded.block(), ElemCount::new(19)); // recvcount
/// assert_eq!(padded.length(), ElemCount::new(76)); // send elements per rank
/// assert_eq!(padded.owned_by(ranks.rank(3).unwrap())?, 57..73);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Division {
    total: ElemCount,
    ranks: GroupSize,
}

/// Equal blocks, the last ones filled up with padding.
///
/// The vector that a reduce-scatter reads on each rank is [`length`](Self::length)
/// long and its count is [`block`](Self::block). An all-gather of the blocks yields
/// `length` elements again, of which a consumer drops the last
/// [`padding`](Self::padding).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Padded {
    division: Division,
    block: u64,
    length: u64,
}

/// One count per rank, as MPI's vector calls take them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorSplit<'a> {
    division: Division,
    counts: &'a [u64],
}

/// Positions that one rank owns in a padded layout and another in a vector layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerChange {
    /// The positions of the original vector.
    pub positions: Range<u64>,
    /// The owner by equal blocks.
    pub padded: Rank,
    /// The owner by the vector of counts.
    pub vector: Rank,
}

/// Why a vector of counts does not divide a total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DivisionError {
    /// It has another number of entries than there are ranks.
    Entries {
        /// How many it has.
        found: u64,
        /// How many it needs.
        ranks: GroupSize,
    },
    /// Its entries do not add up to the total; `None` if they do not fit in 64 bits.
    Total {
        /// What they add up to.
        found: Option<ElemCount>,
        /// What they should.
        total: ElemCount,
    },
}

impl Division {
    /// `total` elements among `ranks` ranks.
    pub const fn new(total: ElemCount, ranks: GroupSize) -> Self {
        Self { total, ranks }
    }

    /// The total.
    pub const fn total(&self) -> ElemCount {
        self.total
    }

    /// The ranks.
    pub const fn ranks(&self) -> GroupSize {
        self.ranks
    }

    fn n(&self) -> u64 {
        u64::from(self.ranks.get())
    }

    /// The block of every rank, if the total divides.
    pub fn even(&self) -> Option<ElemCount> {
        let total = self.total.get();
        let block = total.checked_div(self.n())?;
        (self.lost_by_truncating() == ElemCount::ZERO).then_some(ElemCount::new(block))
    }

    /// What is lost if every rank gets `total / n`, rounded down.
    pub fn lost_by_truncating(&self) -> ElemCount {
        ElemCount::new(self.total.get().checked_rem(self.n()).unwrap_or_default())
    }

    /// Equal blocks of `total / n`, rounded up. Without padding if the total divides.
    pub fn padded(&self) -> Result<Padded, Overflow> {
        let block = ElemCount::new(self.total.get().div_ceil(self.n()));
        let length = block.per_rank(self.ranks)?.get();
        Ok(Padded { division: *self, block: block.get(), length })
    }

    /// One count per rank.
    pub fn vector<'a>(&self, counts: &'a [u64]) -> Result<VectorSplit<'a>, DivisionError> {
        let found = u64::try_from(counts.len()).unwrap_or(u64::MAX);
        if found != self.n() {
            return Err(DivisionError::Entries { found, ranks: self.ranks });
        }
        let sum = counts.iter().try_fold(0_u64, |sum, count| sum.checked_add(*count));
        if sum != Some(self.total.get()) {
            let found = sum.map(ElemCount::new);
            return Err(DivisionError::Total { found, total: self.total });
        }
        Ok(VectorSplit { division: *self, counts })
    }
}

impl Padded {
    /// The count argument of the call: every rank's block, padding included.
    pub const fn block(&self) -> ElemCount {
        ElemCount::new(self.block)
    }

    /// All blocks: what every rank hands to the reduce-scatter.
    pub const fn length(&self) -> ElemCount {
        ElemCount::new(self.length)
    }

    /// The padding behind the total.
    pub const fn padding(&self) -> ElemCount {
        ElemCount::new(self.length.saturating_sub(self.division.total.get()))
    }

    /// The positions of the original vector that a rank's block holds; empty if its
    /// block is all padding.
    pub fn owned_by(&self, rank: Rank) -> Result<Range<u64>, NotInGroup> {
        let ranks = self.division.ranks;
        if !ranks.contains(rank) {
            return Err(NotInGroup { rank, ranks });
        }
        let total = self.division.total.get();
        // Below the length, which fits.
        let start = self.block.saturating_mul(u64::from(rank.index()));
        let end = start.saturating_add(self.block);
        Ok(start.min(total)..end.min(total))
    }

    /// Every rank with the positions that it owns, in rank order.
    pub fn owned(&self) -> impl Iterator<Item = (Rank, Range<u64>)> + use<> {
        let padded = *self;
        let ranks = self.division.ranks.ranks();
        ranks.filter_map(move |rank| Some((rank, padded.owned_by(rank).ok()?)))
    }

    /// The padding at the end of one rank's block.
    pub fn padding_on(&self, rank: Rank) -> Result<ElemCount, NotInGroup> {
        let owned = self.owned_by(rank)?;
        let valid = owned.end.saturating_sub(owned.start);
        Ok(ElemCount::new(self.block.saturating_sub(valid)))
    }

    /// The rank that owns a position of the original vector; `None` beyond its end.
    pub fn owner_of(&self, position: u64) -> Option<Rank> {
        if position >= self.division.total.get() {
            return None;
        }
        let index = position.checked_div(self.block)?;
        self.division.ranks.rank(u32::try_from(index).ok()?)
    }

    /// Where this layout and a vector layout of the same total disagree, in order of
    /// position: at most `2n` runs.
    ///
    /// ```
    /// use rankwise_account::{Division, ElemCount};
    /// use rankwise_model::GroupSize;
    ///
    /// let division = Division::new(ElemCount::new(73), GroupSize::new(4).unwrap());
    /// let vector = division.vector(&[18, 19, 18, 18])?;
    /// let changes: Vec<_> =
    ///     division.padded()?.changes_from(vector).map(|change| change.to_string()).collect();
    /// assert_eq!(changes, ["18 (rank 1 to 0)", "37 (rank 2 to 1)", "55-56 (rank 3 to 2)"]);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn changes_from<'a>(
        &self,
        vector: VectorSplit<'a>,
    ) -> impl Iterator<Item = OwnerChange> + use<'a> {
        let padded = *self;
        vector
            .owned()
            .flat_map(move |(rank, owned)| {
                let mut next = owned.start;
                core::iter::from_fn(move || {
                    if next >= owned.end {
                        return None;
                    }
                    let other = padded.owner_of(next)?;
                    let end = padded.owned_by(other).ok()?.end.min(owned.end);
                    let positions = next..end;
                    next = end;
                    Some(OwnerChange { positions, padded: other, vector: rank })
                })
            })
            .filter(|run| run.padded != run.vector)
    }
}

impl<'a> VectorSplit<'a> {
    /// Every rank with the positions that it owns, in rank order.
    pub fn owned(&self) -> impl Iterator<Item = (Rank, Range<u64>)> + use<'a> {
        let ranks = self.division.ranks.ranks();
        ranks.zip(self.counts).scan(0_u64, |next, (rank, count)| {
            let start = *next;
            *next = start.saturating_add(*count); // the counts add up to a u64
            Some((rank, start..*next))
        })
    }
}

/// What padding must hold so as not to matter to a reduction, should anyone read it:
/// 0 for a sum or an average, 1 for a product, the least value for max, the greatest
/// for min (±infinity for floats that have it).
///
/// ```
/// use rankwise_account::division::padding_value;
/// use rankwise_model::{Dtype, Reduction};
///
/// assert_eq!(padding_value(Reduction::Prod, Dtype::I32).to_string(), "1");
/// assert_eq!(padding_value(Reduction::Max, Dtype::F32).to_string(), "-inf");
/// assert_eq!(padding_value(Reduction::Min, Dtype::I8).to_string(), "127");
/// ```
pub fn padding_value(reduction: Reduction, dtype: Dtype) -> Scalar {
    struct Identity(Combine);
    impl ElementVisitor for Identity {
        type Output = Scalar;
        fn visit<T: Element>(self) -> Scalar {
            Scalar::of(T::identity(self.0))
        }
    }
    dtype.visit(Identity(reduction.recipe(dtype).combine))
}

impl fmt::Display for OwnerChange {
    /// `55-56 (rank 3 to 2)`: the positions, then the owner by the vector and by blocks.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = self.positions.end.saturating_sub(1);
        write!(f, "{}", self.positions.start)?;
        if last > self.positions.start {
            write!(f, "-{last}")?;
        }
        write!(f, " (rank {} to {})", self.vector, self.padded)
    }
}

impl fmt::Display for DivisionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entries { found, ranks } => {
                write!(f, "{found} counts for {ranks} ranks, one each is needed")
            }
            Self::Total { found: Some(found), total } => {
                write!(f, "the counts add up to {found}, not to {total}")
            }
            Self::Total { found: None, total } => {
                write!(f, "the counts add up to more than 64 bits hold, not to {total}")
            }
        }
    }
}

impl core::error::Error for DivisionError {}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn division(total: u64, ranks: u32) -> Division {
        Division::new(ElemCount::new(total), GroupSize::new(ranks).unwrap())
    }

    #[test]
    fn what_divides_needs_no_padding() {
        let even = division(8, 2);
        assert_eq!(even.even(), Some(ElemCount::new(4)));
        let padded = even.padded().unwrap();
        assert_eq!(padded.padding(), ElemCount::ZERO);
        let owned: Vec<_> = padded.owned().map(|(_, owned)| owned).collect();
        assert_eq!(owned, [0..4, 4..8]);
        assert_eq!(padded.changes_from(even.vector(&[4, 4]).unwrap()).next(), None);
    }

    /// 5 over 4: blocks of 2 put everything on three ranks and leave one with padding.
    #[test]
    fn a_block_may_be_all_padding() {
        let padded = division(5, 4).padded().unwrap();
        let owned: Vec<_> = padded.owned().map(|(_, owned)| owned).collect();
        assert_eq!(owned, [0..2, 2..4, 4..5, 5..5]);
        let ranks = GroupSize::new(4).unwrap();
        let padding: Vec<_> =
            ranks.ranks().map(|rank| padded.padding_on(rank).unwrap().get()).collect();
        assert_eq!(padding, [0, 0, 1, 2]);
        assert_eq!(padded.padding(), ElemCount::new(3));
        assert_eq!(padded.owner_of(4), ranks.rank(2));
        assert_eq!(padded.owner_of(5), None);
    }

    #[test]
    fn nothing_is_owned_of_nothing() {
        let padded = division(0, 3).padded().unwrap();
        assert_eq!(padded.block(), ElemCount::ZERO);
        assert!(padded.owned().all(|(_, owned)| owned.is_empty()));
        let vector = division(0, 3).vector(&[0, 0, 0]).unwrap();
        assert_eq!(padded.changes_from(vector).next(), None);
    }

    #[test]
    fn a_vector_must_fit() {
        let four = division(73, 4);
        let ranks = GroupSize::new(4).unwrap();
        assert_eq!(four.vector(&[73]), Err(DivisionError::Entries { found: 1, ranks }));
        let total = ElemCount::new(73);
        assert_eq!(
            four.vector(&[18, 18, 18, 18]),
            Err(DivisionError::Total { found: Some(ElemCount::new(72)), total })
        );
        assert_eq!(
            four.vector(&[u64::MAX, 1, 0, 0]),
            Err(DivisionError::Total { found: None, total })
        );
    }

    #[test]
    fn padding_may_overflow() {
        assert!(division(u64::MAX, 2).padded().is_err()); // 2 × 2^63
        assert_eq!(division(u64::MAX, 2).lost_by_truncating(), ElemCount::new(1));
        assert!(division(u64::MAX, 1).padded().is_ok());
    }

    #[test]
    fn average_is_padded_as_a_sum() {
        for dtype in Dtype::ALL {
            let value = padding_value(Reduction::Avg, dtype);
            assert_eq!(value, padding_value(Reduction::Sum, dtype));
            assert_eq!(value.bits(), 0);
        }
    }
}
