//! Relabelling: the ranks of a world renumbered.

use alloc::vec::Vec;
use core::fmt;

use rankwise_model::Rank;

use crate::device::{Device, Sameness};
use crate::group::{Group, GroupError};
use crate::permutation::Permutation;
use crate::rank_map::RankMap;
use crate::world::{World, WorldRank};

/// A renumbering of all ranks of a world: the new rank of each old one.
///
/// It moves no data and no device. What moves is whatever follows rank order:
/// the blocks of a gather and the owners of shards.
///
/// ```
/// use rankwise_model::GroupSize;
/// use rankwise_topology::{Relabelling, World};
///
/// let world = World::new(GroupSize::new(4).unwrap());
/// let turn = Relabelling::from_list(world, [1, 2, 0, 3])?; // old rank 0 becomes rank 1
/// assert_eq!(turn.new_rank(world.rank(0).unwrap()).unwrap().index(), 1);
/// assert_eq!(turn.to_string(), "(0 1 2)");
/// assert_eq!(turn.inverse().to_string(), "(0 2 1)");
/// assert!(turn.compose(&turn.inverse())?.is_identity());
/// # Ok::<(), rankwise_topology::RelabellingError>(())
/// ```
///
/// A clone is cheap.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Relabelling {
    /// The new ranks in the order of the old: as a list without repetition that
    /// is as long as its world, it has every rank once.
    new_ranks: Group,
}

/// Why there is no such relabelling.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RelabellingError {
    /// The list names a rank twice, none at all, or one that the world has not.
    List(GroupError),
    /// The list has fewer entries than the world has ranks.
    Short {
        /// How many entries it has.
        listed: u32,
        /// The world.
        world: World,
    },
    /// Something of another world was to be relabelled.
    OtherWorld {
        /// The world that the relabelling is for.
        relabelled: World,
        /// The other.
        found: World,
    },
    /// A device hosts several ranks, so which of them became which is not said.
    Shared {
        /// The device.
        device: Device,
        /// The first rank on it.
        first: WorldRank,
        /// The next.
        second: WorldRank,
    },
    /// The old map has a device that the new one has not.
    Missing {
        /// The device.
        device: Device,
        /// Its old rank.
        rank: WorldRank,
    },
    /// Whether the new map has a device of the old one cannot be told.
    CannotTell {
        /// The device as the old map names it.
        old: Device,
        /// A device of the new map that may be it.
        new: Device,
    },
}

impl fmt::Display for RelabellingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List(error) => write!(f, "relabelling: {error}"),
            Self::Short { listed, world } => {
                write!(f, "relabelling: {listed} new ranks for a world of {world}")
            }
            Self::OtherWorld { relabelled, found } => write!(
                f,
                "relabelling: made for a world of {relabelled}, used on a world of {found}"
            ),
            Self::Shared { device, first, second } => write!(
                f,
                "relabelling: device {device} hosts rank {first} and rank {second}, so the maps \
                 do not say which became which: list the new ranks"
            ),
            Self::Missing { device, rank } => {
                write!(f, "relabelling: the new map has no device {device} (old rank {rank})")
            }
            Self::CannotTell { old, new } => write!(
                f,
                "relabelling: {old} of the old map and {new} of the new may be one device or two: \
                 name both in one way"
            ),
        }
    }
}

impl core::error::Error for RelabellingError {}

impl From<GroupError> for RelabellingError {
    fn from(error: GroupError) -> Self {
        Self::List(error)
    }
}

impl Relabelling {
    /// The relabelling that changes nothing.
    pub fn identity(world: World) -> Self {
        Self { new_ranks: Group::whole(world) }
    }

    /// The relabelling with these new ranks, in the order of the old: entry `i`
    /// is what old rank `i` becomes.
    pub fn from_list(
        world: World,
        new_ranks: impl IntoIterator<Item = u32>,
    ) -> Result<Self, RelabellingError> {
        let new_ranks = Group::new(world, new_ranks)?;
        if new_ranks.size() != world.size() {
            return Err(RelabellingError::Short { listed: new_ranks.size().get(), world });
        }
        Ok(Self { new_ranks })
    }

    /// The relabelling that took the one map to the other: the devices stay, and
    /// each gets the rank that the new map gives it.
    ///
    /// ```
    /// use rankwise_topology::{Device, RankMap, Relabelling, Sharing};
    ///
    /// let map = |names: [&str; 3]| -> Result<_, Box<dyn core::error::Error>> {
    ///     let devices = names.map(Device::named).into_iter().collect::<Result<_, _>>()?;
    ///     Ok(RankMap::new(devices, Sharing::Exclusive)?)
    /// };
    /// let (old, new) = (map(["A", "B", "C"])?, map(["B", "C", "A"])?);
    /// let between = Relabelling::between(&old, &new)?;
    /// assert_eq!(between.to_string(), "(0 2 1)"); // A: 0 → 2, C: 2 → 1, B: 1 → 0
    /// assert_eq!(between.apply_map(&old)?, new);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn between(old: &RankMap, new: &RankMap) -> Result<Self, RelabellingError> {
        let (world, found) = (old.world(), new.world());
        if world != found {
            return Err(RelabellingError::OtherWorld { relabelled: world, found });
        }
        for map in [old, new] {
            one_rank_each(map)?;
        }
        let new_ranks = old
            .devices()
            .iter()
            .zip(world.ranks()) // one rank each, so these are the ranks of the devices
            .map(|(device, rank)| counterpart(device, rank, new))
            .collect::<Result<_, _>>()?;
        Ok(Self { new_ranks: Group::of_members(world, new_ranks)? })
    }

    /// The world that is relabelled.
    pub fn world(&self) -> World {
        self.new_ranks.world()
    }

    /// What an old rank becomes; `None` only for a rank of a larger world.
    pub fn new_rank(&self, old: WorldRank) -> Option<WorldRank> {
        self.new_ranks.members().get(old.slot()).copied()
    }

    /// What a new rank was; `None` only for a rank of a larger world.
    pub fn old_rank(&self, new: WorldRank) -> Option<WorldRank> {
        self.world().rank(self.new_ranks.rank_of(new).map(Rank::index)?)
    }

    /// The new rank of each old one, as a permutation of plain numbers.
    pub fn permutation(&self) -> Permutation {
        let new_ranks = self.new_ranks.members().iter().map(|rank| rank.index());
        // A whole world in some order has every number once.
        Permutation::from_images(new_ranks)
            .unwrap_or_else(|_| Permutation::identity(self.world().size().get()))
    }

    /// The way back.
    #[must_use]
    pub fn inverse(&self) -> Self {
        // Every rank of the world is a new rank once, so none is left out.
        let old_ranks: Vec<_> = self.world().ranks().filter_map(|new| self.old_rank(new)).collect();
        let new_ranks = Group::of_members(self.world(), old_ranks);
        Self { new_ranks: new_ranks.unwrap_or_else(|_| Group::whole(self.world())) }
    }

    /// This relabelling, then another of the same world.
    pub fn compose(&self, then: &Self) -> Result<Self, RelabellingError> {
        self.same_world(then.world())?;
        let both = self.new_ranks.members().iter().filter_map(|rank| then.new_rank(*rank));
        Ok(Self { new_ranks: Group::of_members(self.world(), both.collect())? })
    }

    /// The map after relabelling: each device keeps its place in the machine and
    /// takes its new rank.
    pub fn apply_map(&self, map: &RankMap) -> Result<RankMap, RelabellingError> {
        self.same_world(map.world())?;
        Ok(map.rearranged(self.inverse().new_ranks.members().iter().copied()))
    }

    /// Whether every rank keeps its number.
    pub fn is_identity(&self) -> bool {
        self.new_ranks.members().iter().copied().eq(self.world().ranks())
    }

    fn same_world(&self, found: World) -> Result<(), RelabellingError> {
        let relabelled = self.world();
        if relabelled == found {
            Ok(())
        } else {
            Err(RelabellingError::OtherWorld { relabelled, found })
        }
    }
}

fn one_rank_each(map: &RankMap) -> Result<(), RelabellingError> {
    if map.devices().len() == map.world().ranks().len() {
        return Ok(());
    }
    for device in map.devices() {
        let mut ranks = map.ranks_on(device);
        if let (Some(first), Some(second)) = (ranks.next(), ranks.next()) {
            return Err(RelabellingError::Shared { device: device.clone(), first, second });
        }
    }
    Ok(())
}

/// The rank that the new map gives a device of the old one.
fn counterpart(
    device: &Device,
    rank: WorldRank,
    new: &RankMap,
) -> Result<WorldRank, RelabellingError> {
    let found = new.ranks_on(device).next().filter(|_| device.naming().settles());
    if let Some(found) = found {
        return Ok(found);
    }
    let doubtful = |other: &&Device| device.sameness(other) == Sameness::CannotTell;
    Err(match new.devices().iter().find(doubtful) {
        Some(other) => RelabellingError::CannotTell { old: device.clone(), new: other.clone() },
        None => RelabellingError::Missing { device: device.clone(), rank },
    })
}

impl fmt::Display for Relabelling {
    /// In cycles, each from its lowest rank: `(0 1 2)` takes 0 to 1, 1 to 2 and
    /// 2 to 0. Ranks that keep their number are left out; the identity is `()`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.permutation().fmt(f)
    }
}

impl fmt::Debug for Relabelling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Relabelling({self} of {})", self.world())
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec::Vec;

    use rankwise_model::GroupSize;
    use rstest::rstest;

    use super::*;
    use crate::rank_map::Sharing;

    fn world(ranks: u32) -> World {
        World::new(GroupSize::new(ranks).unwrap())
    }

    fn map(names: &[&str], sharing: Sharing) -> RankMap {
        RankMap::new(names.iter().map(|name| Device::parse(name).unwrap()).collect(), sharing)
            .unwrap()
    }

    fn names(map: &RankMap) -> Vec<alloc::string::String> {
        map.world().ranks().map(|rank| map.device(rank).unwrap().to_string()).collect()
    }

    #[test]
    fn relabelled_a_is_rank_1_and_b_is_rank_0() {
        let before = map(&["A", "B"], Sharing::Exclusive);
        let exchange = Relabelling::from_list(before.world(), [1, 0]).unwrap();
        let after = exchange.apply_map(&before).unwrap();
        assert_eq!(names(&after), ["B", "A"]);
        assert_eq!(Relabelling::between(&before, &after), Ok(exchange));
    }

    #[test]
    fn a_cycle_is_not_its_own_inverse() {
        let before = map(&["A", "B", "C", "D"], Sharing::Exclusive);
        let turn = Relabelling::from_list(before.world(), [2, 0, 1, 3]).unwrap();
        assert_eq!(names(&turn.apply_map(&before).unwrap()), ["B", "C", "A", "D"]);
        assert_eq!(turn.to_string(), "(0 2 1)");
        assert_eq!(turn.inverse().to_string(), "(0 1 2)");
        assert_eq!(turn.old_rank(before.world().rank(2).unwrap()).map(WorldRank::index), Some(0));
    }

    #[test]
    fn compose_applies_the_receiver_first() {
        let exchange_01 = Relabelling::from_list(world(3), [1, 0, 2]).unwrap();
        let exchange_12 = Relabelling::from_list(world(3), [0, 2, 1]).unwrap();
        // 0 → 1 → 2, 1 → 0 → 0, 2 → 2 → 1
        assert_eq!(exchange_01.compose(&exchange_12).unwrap().to_string(), "(0 2 1)");
        assert_eq!(exchange_12.compose(&exchange_01).unwrap().to_string(), "(0 1 2)");
    }

    #[test]
    fn cycles_start_at_their_lowest_rank() {
        let several = Relabelling::from_list(world(6), [3, 1, 4, 0, 5, 2]).unwrap();
        assert_eq!(several.to_string(), "(0 3)(2 4 5)");
        assert_eq!(Relabelling::identity(world(6)).to_string(), "()");
    }

    #[test]
    fn shared_devices_keep_all_their_ranks() {
        let before = map(&["A", "A", "B"], Sharing::Shared);
        let turn = Relabelling::from_list(before.world(), [1, 2, 0]).unwrap();
        let after = turn.apply_map(&before).unwrap();
        assert_eq!(names(&after), ["B", "A", "A"]);
        assert_eq!(after.sharing(), Sharing::Shared);
    }

    #[rstest]
    #[case(&[0, 0], "relabelling: rank 0 stands twice in the group, at positions 0 and 1: a member has one rank")]
    #[case(&[0, 3, 1], "relabelling: rank 3 is not in a world of 3 (ranks 0 to 2)")]
    #[case(&[2, 0], "relabelling: 2 new ranks for a world of 3")]
    #[case(&[], "relabelling: a group needs at least one rank")]
    fn a_list_that_is_no_permutation_is_refused(#[case] list: &[u32], #[case] text: &str) {
        let error = Relabelling::from_list(world(3), list.iter().copied()).unwrap_err();
        assert_eq!(error.to_string(), text);
    }

    #[rstest]
    #[case(&["A", "C"], "relabelling: the new map has no device B (old rank 1)")]
    #[case(&["A"], "relabelling: made for a world of 2, used on a world of 1")]
    #[case(
        &["A", "A"],
        "relabelling: device A hosts rank 0 and rank 1, so the maps do not say which became \
         which: list the new ranks"
    )]
    #[case(
        &["n/cuda:0", "n/cuda:1"],
        "relabelling: A of the old map and n/cuda:0 of the new may be one device or two: \
         name both in one way"
    )]
    fn maps_of_other_devices_have_no_relabelling(#[case] new: &[&str], #[case] text: &str) {
        let old = map(&["A", "B"], Sharing::Exclusive);
        let new = map(new, Sharing::Shared);
        assert_eq!(Relabelling::between(&old, &new).unwrap_err().to_string(), text);
    }

    #[test]
    fn an_unrecorded_list_is_not_even_itself() {
        let unknown = map(&["n/cuda:0[?]"], Sharing::Exclusive);
        let error = Relabelling::between(&unknown, &unknown).unwrap_err();
        assert!(matches!(error, RelabellingError::CannotTell { .. }), "{error}");
    }

    #[test]
    fn worlds_do_not_mix() {
        let two = Relabelling::identity(world(2));
        let three = Relabelling::identity(world(3));
        let other = RelabellingError::OtherWorld { relabelled: world(2), found: world(3) };
        assert_eq!(two.compose(&three), Err(other.clone()));
        assert_eq!(two.apply_map(&map(&["A", "B", "C"], Sharing::Exclusive)), Err(other));
    }

    #[test]
    fn a_million_ranks_are_quick() {
        let devices = (0..1 << 20).map(|at| Device::named(&alloc::format!("d{at}")).unwrap());
        let before = RankMap::new(devices.collect(), Sharing::Exclusive).unwrap();
        let ranks = 0..before.world().size().get();
        let turned = Relabelling::from_list(before.world(), ranks.rev()).unwrap();
        let after = turned.apply_map(&before).unwrap();
        let rank_0 = before.world().rank(0).unwrap();
        assert_eq!(after.device(rank_0).unwrap().to_string(), "d1048575");
        assert_eq!(Relabelling::between(&before, &after), Ok(turned));
    }
}
