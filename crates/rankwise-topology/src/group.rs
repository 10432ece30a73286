//! Groups: ordered lists of world ranks.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use rankwise_model::{GroupSize, Rank};

use crate::world::{NotInWorld, World, WorldRank};

/// The ranks that take part in one collective, in rank order.
///
/// The order of the list **is** rank order, hence data order: the member at
/// position `r` contributes block `r` of an all-gather. Frameworks that sort
/// the list first (`torch.distributed.new_group` does) are [`Group::sorted`].
///
/// ```
/// use rankwise_model::GroupSize;
/// use rankwise_topology::{Group, World};
///
/// let world = World::new(GroupSize::new(4).unwrap());
/// let global_3 = world.rank(3).unwrap();
///
/// let as_written = Group::new(world, [3, 2, 1, 0])?;
/// assert_eq!(as_written.rank_of(global_3).unwrap().index(), 0);
///
/// let as_torch = Group::sorted(world, [3, 2, 1, 0])?;
/// assert_eq!(as_torch.rank_of(global_3).unwrap().index(), 3);
/// # Ok::<(), rankwise_topology::GroupError>(())
/// ```
///
/// Holding a `Group` tells you that it has at least one member, that all are of
/// one world and that none is named twice. A clone is cheap and shares the list;
/// the list takes 4 bytes a member, and 8 more where it does not ascend.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Group(Arc<Members>);

#[derive(PartialEq, Eq, Hash)]
struct Members {
    world: World,
    size: GroupSize,
    in_order: Vec<WorldRank>,
    /// Position by world rank, ascending; empty where `in_order` itself ascends.
    by_world_rank: Vec<(WorldRank, u32)>,
}

/// Why a list is no group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GroupError {
    /// The list is empty.
    Empty,
    /// The world has no such rank.
    NotInWorld(NotInWorld),
    /// A rank is named twice.
    Repeated {
        /// The rank.
        rank: WorldRank,
        /// The position in the list of the first mention, from 0.
        first: u32,
        /// The position of the second.
        second: u32,
    },
}

impl fmt::Display for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a group needs at least one rank"),
            Self::NotInWorld(found) => found.fmt(f),
            Self::Repeated { rank, first, second } => write!(
                f,
                "rank {rank} stands twice in the group, at positions {first} and {second}: \
                 a member has one rank"
            ),
        }
    }
}

impl core::error::Error for GroupError {}

impl From<NotInWorld> for GroupError {
    fn from(found: NotInWorld) -> Self {
        Self::NotInWorld(found)
    }
}

impl Group {
    /// The group whose rank order is the order of the list.
    pub fn new(world: World, ranks: impl IntoIterator<Item = u32>) -> Result<Self, GroupError> {
        Self::of_members(world, issue_each(world, ranks)?)
    }

    /// The group of these ranks in ascending order, whatever order they are
    /// listed in.
    ///
    /// A rank listed twice is an error here too: a list is not a set.
    pub fn sorted(world: World, ranks: impl IntoIterator<Item = u32>) -> Result<Self, GroupError> {
        let mut members = issue_each(world, ranks)?;
        if let Some(repeated) = first_repeat(&by_world_rank(&members)) {
            return Err(repeated);
        }
        members.sort_unstable();
        Self::of_members(world, members)
    }

    /// Every rank of the world, in order.
    pub fn whole(world: World) -> Self {
        Self(Arc::new(Members {
            world,
            size: world.size(),
            in_order: world.ranks().collect(),
            by_world_rank: Vec::new(),
        }))
    }

    /// A group of ranks that `world` issued.
    pub(crate) fn of_members(world: World, in_order: Vec<WorldRank>) -> Result<Self, GroupError> {
        // More members than a `u32` counts cannot all differ.
        let size = GroupSize::new(u32::try_from(in_order.len()).unwrap_or(u32::MAX))
            .ok_or(GroupError::Empty)?;
        let ascends = in_order.is_sorted_by(|one, next| one < next);
        let by_world_rank = if ascends { Vec::new() } else { by_world_rank(&in_order) };
        match first_repeat(&by_world_rank) {
            Some(repeated) => Err(repeated),
            None => Ok(Self(Arc::new(Members { world, size, in_order, by_world_rank }))),
        }
    }

    /// The world whose ranks these are.
    pub fn world(&self) -> World {
        self.0.world
    }

    /// The number of members.
    pub fn size(&self) -> GroupSize {
        self.0.size
    }

    /// The members, in rank order: the one at position `r` has rank `r` here.
    pub fn members(&self) -> &[WorldRank] {
        &self.0.in_order
    }

    /// Who the member of that rank is in the world.
    ///
    /// `None` if the group is too small to have that rank.
    pub fn world_rank(&self, rank: Rank) -> Option<WorldRank> {
        self.0.in_order.get(usize::try_from(rank.index()).ok()?).copied()
    }

    /// The rank here of a participant of the world; `None` if it is no member.
    ///
    /// Binary search: O(log n).
    pub fn rank_of(&self, member: WorldRank) -> Option<Rank> {
        let Members { size, in_order, by_world_rank, .. } = &*self.0;
        let position = if by_world_rank.is_empty() {
            u32::try_from(in_order.binary_search(&member).ok()?).ok()?
        } else {
            let found = by_world_rank.binary_search_by_key(&member, |(rank, _)| *rank).ok()?;
            by_world_rank.get(found)?.1
        };
        size.rank(position)
    }

    /// Whether that participant is a member.
    pub fn contains(&self, member: WorldRank) -> bool {
        self.rank_of(member).is_some()
    }
}

/// The listed ranks, as far as they need be read: one more than the world has
/// is a repetition, whatever follows.
fn issue_each(
    world: World,
    ranks: impl IntoIterator<Item = u32>,
) -> Result<Vec<WorldRank>, NotInWorld> {
    let enough = usize::try_from(world.size().get()).unwrap_or(usize::MAX).saturating_add(1);
    ranks.into_iter().take(enough).map(|rank| world.issue(rank)).collect()
}

fn by_world_rank(in_order: &[WorldRank]) -> Vec<(WorldRank, u32)> {
    let mut positions: Vec<_> = in_order.iter().copied().zip(0..=u32::MAX).collect();
    positions.sort_unstable();
    positions
}

/// The repetition that a reader of the list meets first.
fn first_repeat(by_world_rank: &[(WorldRank, u32)]) -> Option<GroupError> {
    by_world_rank
        .windows(2)
        .filter_map(|pair| match pair {
            [(rank, first), (next, second)] if rank == next => Some((*second, *first, *rank)),
            _ => None,
        })
        .min()
        .map(|(second, first, rank)| GroupError::Repeated { rank, first, second })
}

/// Members shown before the rest is only counted.
const SHOWN: usize = 16;

impl fmt::Display for Group {
    /// `[2, 3]`; a long list is cut and its length given.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (at, member) in self.members().iter().take(SHOWN).enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{member}")?;
        }
        if self.members().len() > SHOWN {
            write!(f, ", … {} ranks", self.size())?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Group({self} of {})", self.world())
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString;

    use super::*;

    fn world(ranks: u32) -> World {
        World::new(GroupSize::new(ranks).unwrap())
    }

    #[test]
    fn list_order_is_rank_order() {
        let world = world(8);
        let group = Group::new(world, [5, 2, 7]).unwrap();
        let rank_of = |global| group.rank_of(world.rank(global).unwrap()).map(Rank::index);
        assert_eq!(
            (rank_of(5), rank_of(2), rank_of(7), rank_of(3)),
            (Some(0), Some(1), Some(2), None)
        );
        let in_group =
            |rank| group.world_rank(world.size().rank(rank).unwrap()).map(WorldRank::index);
        assert_eq!((in_group(0), in_group(2), in_group(3)), (Some(5), Some(7), None));
    }

    #[test]
    fn an_ascending_list_with_gaps_is_found_too() {
        let world = world(8);
        let group = Group::new(world, [1, 4, 6]).unwrap();
        assert_eq!(group.rank_of(world.rank(4).unwrap()).map(Rank::index), Some(1));
        assert!(!group.contains(world.rank(5).unwrap()));
    }

    #[test]
    fn the_repetition_met_first_is_named() {
        let world = world(4);
        let repeated = GroupError::Repeated { rank: world.rank(3).unwrap(), first: 0, second: 2 };
        assert_eq!(Group::new(world, [3, 1, 3, 1]), Err(repeated));
        assert_eq!(Group::sorted(world, [3, 1, 3, 1]), Err(repeated));
        assert_eq!(
            repeated.to_string(),
            "rank 3 stands twice in the group, at positions 0 and 2: a member has one rank"
        );
    }

    #[test]
    fn equal_neighbours_are_a_repetition() {
        let world = world(2);
        let rank = world.rank(0).unwrap();
        let repeated = GroupError::Repeated { rank, first: 0, second: 1 };
        assert_eq!(Group::new(world, [0, 0, 1]), Err(repeated));
    }

    #[test]
    fn an_endless_list_is_refused_in_finite_time() {
        let endless = Group::new(world(3), core::iter::repeat(0));
        assert!(matches!(endless, Err(GroupError::Repeated { first: 0, second: 1, .. })));
    }

    #[test]
    fn empty_and_foreign_ranks_are_refused() {
        assert_eq!(Group::new(world(2), []), Err(GroupError::Empty));
        let foreign = Group::new(world(2), [0, 2]).unwrap_err();
        assert_eq!(foreign.to_string(), "rank 2 is not in a world of 2 (ranks 0 to 1)");
    }

    #[test]
    fn long_groups_are_cut_when_shown() {
        assert_eq!(Group::new(world(4), [2, 3]).unwrap().to_string(), "[2, 3]");
        let long = Group::whole(world(1000)).to_string();
        assert!(long.ends_with("14, 15, … 1000 ranks]"), "{long}");
        assert_eq!(format!("{:?}", Group::whole(world(2))), "Group([0, 1] of 2)");
    }
}
