//! Ranks, and the size of the group that issues them.

use core::fmt;
use core::num::NonZeroU32;

/// The number of ranks in one group (NCCL's `nranks` of a communicator).
///
/// Never zero. It is *not* a number of devices, hosts or processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupSize(NonZeroU32);

impl GroupSize {
    /// A group of one.
    pub const ONE: Self = Self(NonZeroU32::MIN);

    /// A group of `ranks` ranks; `None` for zero.
    pub const fn new(ranks: u32) -> Option<Self> {
        match NonZeroU32::new(ranks) {
            Some(ranks) => Some(Self(ranks)),
            None => None,
        }
    }

    /// The number of ranks.
    pub const fn get(self) -> u32 {
        self.0.get()
    }

    /// Issues the rank at `index`, if this group has one.
    ///
    /// ```
    /// use rankwise_model::GroupSize;
    ///
    /// let two = GroupSize::new(2).unwrap();
    /// assert_eq!(two.rank(1).unwrap().index(), 1);
    /// assert_eq!(two.rank(2), None);
    /// ```
    pub const fn rank(self, index: u32) -> Option<Rank> {
        if index < self.get() { Some(Rank(index)) } else { None }
    }

    /// Rank 0, which every group has.
    pub const fn first(self) -> Rank {
        Rank(0)
    }

    /// Every rank of the group, in rank order.
    pub fn ranks(self) -> impl ExactSizeIterator<Item = Rank> + DoubleEndedIterator + Clone {
        (0..self.get()).map(Rank)
    }

    /// Whether this group has that rank.
    pub const fn contains(self, rank: Rank) -> bool {
        rank.0 < self.get()
    }
}

impl fmt::Display for GroupSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A participant's index in one group.
///
/// Holding a `Rank` tells you:
///
/// - some [`GroupSize`] issued it, so it is below *that* group's size;
/// - rank order is data order: this rank's contribution is block `index()` of
///   an all-gather, and its shard is block `index()` of a reduce-scatter.
///
/// It does **not** tell you which device, host or port stands behind it, nor
/// which rank of the whole job it is. Relabel the ranks and the same devices
/// hold different data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(u32);

impl Rank {
    /// The index, from 0.
    pub const fn index(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
