//! The whole job, and the ranks it issues.

use core::fmt;

use rankwise_model::GroupSize;

/// All participants of a job: what a launcher starts and what MPI calls
/// `MPI_COMM_WORLD`.
///
/// ```
/// use rankwise_model::GroupSize;
/// use rankwise_topology::World;
///
/// let world = World::new(GroupSize::new(2).unwrap());
/// assert_eq!(world.rank(1).unwrap().index(), 1);
/// assert_eq!(world.rank(2), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct World(GroupSize);

impl World {
    /// The world of that many ranks.
    pub const fn new(ranks: GroupSize) -> Self {
        Self(ranks)
    }

    /// The number of ranks.
    pub const fn size(self) -> GroupSize {
        self.0
    }

    /// Issues the rank at `index`, if this world has one.
    pub const fn rank(self, index: u32) -> Option<WorldRank> {
        if index < self.0.get() { Some(WorldRank(index)) } else { None }
    }

    /// Issues the rank at `index`, or says that this world has none there.
    pub const fn issue(self, index: u32) -> Result<WorldRank, NotInWorld> {
        match self.rank(index) {
            Some(rank) => Ok(rank),
            None => Err(NotInWorld { rank: index, world: self }),
        }
    }

    /// Every rank, in order.
    pub fn ranks(self) -> impl ExactSizeIterator<Item = WorldRank> + DoubleEndedIterator + Clone {
        (0..self.0.get()).map(WorldRank)
    }

    /// Whether this world has that rank.
    pub const fn contains(self, rank: WorldRank) -> bool {
        rank.0 < self.0.get()
    }
}

/// A participant's index in the whole job (torch's *global rank*).
///
/// Holding a `WorldRank` tells you that some [`World`] issued it. It does
/// **not** tell you which [`Device`](crate::Device) it is on, nor its position
/// in a group: the root of a broadcast and the block of an all-gather are
/// [`rankwise_model::Rank`]s, which only a [`Group`](crate::Group) converts.
///
/// ```compile_fail,E0308
/// use rankwise_model::{GroupSize, Operation};
/// use rankwise_topology::World;
///
/// let world = World::new(GroupSize::new(2).unwrap());
/// let _ = Operation::Broadcast { root: world.rank(0).unwrap() }; // global, not group
/// ```
///
/// ```
/// use rankwise_model::{GroupSize, Operation};
/// use rankwise_topology::{Group, World};
///
/// let world = World::new(GroupSize::new(2).unwrap());
/// let group = Group::new(world, [1, 0])?;
/// let root = group.rank_of(world.rank(0).unwrap()).unwrap();
/// let _ = Operation::Broadcast { root };
/// assert_eq!(root.index(), 1);
/// # Ok::<(), rankwise_topology::GroupError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorldRank(u32);

impl WorldRank {
    /// The index, from 0.
    pub const fn index(self) -> u32 {
        self.0
    }

    /// The index as a position in a list that has an entry for each rank.
    pub(crate) fn slot(self) -> usize {
        // A machine whose `usize` is narrower holds no such list: nothing is found.
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for WorldRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A rank that a world does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotInWorld {
    /// The number that is no rank.
    pub rank: u32,
    /// The world.
    pub world: World,
}

impl fmt::Display for NotInWorld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = self.world.size().get().saturating_sub(1);
        write!(f, "rank {} is not in a world of {} (ranks 0 to {last})", self.rank, self.world)
    }
}

impl core::error::Error for NotInWorld {}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec::Vec;

    use super::*;

    fn world(ranks: u32) -> World {
        World::new(GroupSize::new(ranks).unwrap())
    }

    #[test]
    fn ranks_run_from_zero() {
        let ranks: Vec<_> = world(3).ranks().map(WorldRank::index).collect();
        assert_eq!(ranks, [0, 1, 2]);
    }

    #[test]
    fn a_rank_of_a_larger_world_is_not_contained() {
        let seven = world(8).rank(7).unwrap();
        assert!(world(8).contains(seven));
        assert!(!world(7).contains(seven));
    }

    #[test]
    fn the_error_has_both_numbers() {
        let text = world(4).issue(4).unwrap_err().to_string();
        assert_eq!(text, "rank 4 is not in a world of 4 (ranks 0 to 3)");
    }
}
