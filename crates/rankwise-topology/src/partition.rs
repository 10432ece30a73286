//! Partitions: disjoint groups of one world.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use rankwise_model::Rank;

use crate::group::{Group, GroupError};
use crate::mesh::{Axis, Mesh};
use crate::world::{World, WorldRank};

/// Disjoint groups of one world: what a collective "over tp" runs in, once per
/// group and at the same time.
///
/// It need not cover the world: a rank may be in no group. A clone is cheap and
/// shares everything.
///
/// ```
/// use rankwise_topology::{Mesh, Partition};
///
/// let mesh = Mesh::new([("dp", 2), ("tp", 4)])?;
/// let dp = Partition::along(&mesh, &["dp"])?;
/// let groups: Vec<_> = dp.groups().iter().map(ToString::to_string).collect();
/// assert_eq!(groups, ["[0, 4]", "[1, 5]", "[2, 6]", "[3, 7]"]);
///
/// let (group, rank) = dp.locate(mesh.world().rank(6).unwrap()).unwrap();
/// assert_eq!((group.to_string().as_str(), rank.index()), ("[2, 6]", 1));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Partition(Arc<Parts>);

#[derive(PartialEq, Eq, Hash)]
struct Parts {
    world: World,
    groups: Vec<Group>,
    /// The group of each member of any, ascending by rank.
    places: Vec<(WorldRank, u32)>,
}

/// Why groups make no partition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartitionError {
    /// There is no list at all.
    NoLists,
    /// One of the lists is no group.
    List {
        /// Which list, from 0.
        list: u32,
        /// What is wrong with it.
        error: GroupError,
    },
    /// A rank is in two lists.
    Overlap {
        /// The rank.
        rank: WorldRank,
        /// The first list that has it, from 0.
        first: u32,
        /// The next.
        second: u32,
    },
    /// The mesh has no such axis.
    UnknownAxis {
        /// The name that is no axis.
        axis: String,
        /// The mesh's axes.
        mesh: Vec<Arc<str>>,
    },
    /// An axis is named twice.
    RepeatedAxis {
        /// The axis.
        axis: String,
    },
    /// A split has more or fewer entries than the world has ranks.
    ///
    /// Every rank of the parent takes part in a split, those without a colour too.
    Entries {
        /// How many colours and keys there are.
        found: usize,
        /// The world.
        world: World,
    },
    /// A split's colour is negative.
    NegativeColour {
        /// The rank that gave it.
        rank: WorldRank,
        /// The colour.
        colour: i32,
    },
}

impl fmt::Display for PartitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLists => f.write_str("a partition by lists needs at least one list"),
            Self::List { list, error } => write!(f, "group {list}: {error}"),
            Self::Overlap { rank, first, second } => write!(
                f,
                "rank {rank} is in group {first} and in group {second}: groups of one partition \
                 are disjoint"
            ),
            Self::UnknownAxis { axis, mesh } => {
                write!(f, "no mesh axis `{axis}`: there are")?;
                for (at, name) in mesh.iter().enumerate() {
                    write!(f, "{} `{name}`", if at == 0 { "" } else { "," })?;
                }
                Ok(())
            }
            Self::RepeatedAxis { axis } => write!(f, "mesh axis `{axis}` is named twice"),
            Self::Entries { found, world } => write!(
                f,
                "split: {found} colours and keys for a world of {world}: every rank takes part, \
                 with or without a colour"
            ),
            Self::NegativeColour { rank, colour: -1 } => write!(
                f,
                "split: rank {rank} has colour -1, which is NCCL_SPLIT_NOCOLOR: say no colour"
            ),
            Self::NegativeColour { rank, colour } => {
                write!(f, "split: rank {rank} has colour {colour}, needs 0 or more, or no colour")
            }
        }
    }
}

impl core::error::Error for PartitionError {}

impl Partition {
    /// One group: every rank of the world, in order.
    pub fn whole(world: World) -> Self {
        Self::of_groups(world, Vec::from([Group::whole(world)]))
    }

    /// The groups with these members; in each, the order of its list is rank
    /// order.
    ///
    /// ```
    /// use rankwise_model::GroupSize;
    /// use rankwise_topology::{Partition, World};
    ///
    /// let world = World::new(GroupSize::new(4).unwrap());
    /// let pairs = Partition::from_lists(world, [[3, 1], [2, 0]])?;
    /// let (_, rank) = pairs.locate(world.rank(3).unwrap()).unwrap();
    /// assert_eq!(rank.index(), 0);
    ///
    /// let overlap = Partition::from_lists(world, [[0, 1], [1, 2]]).unwrap_err();
    /// assert_eq!(
    ///     overlap.to_string(),
    ///     "rank 1 is in group 0 and in group 1: groups of one partition are disjoint",
    /// );
    /// # Ok::<(), rankwise_topology::PartitionError>(())
    /// ```
    pub fn from_lists<List: IntoIterator<Item = u32>>(
        world: World,
        lists: impl IntoIterator<Item = List>,
    ) -> Result<Self, PartitionError> {
        let mut groups = Vec::new();
        let mut listed = 0_u64;
        for (list, ranks) in (0..=u32::MAX).zip(lists) {
            let group =
                Group::new(world, ranks).map_err(|error| PartitionError::List { list, error })?;
            listed = listed.saturating_add(u64::from(group.size().get()));
            groups.push(group);
            // More members than ranks: some rank is in two lists, whatever follows.
            if listed > u64::from(world.size().get()) {
                break;
            }
        }
        if groups.is_empty() {
            return Err(PartitionError::NoLists);
        }
        let partition = Self::of_groups(world, groups);
        match partition.first_overlap() {
            Some(overlap) => Err(overlap),
            None => Ok(partition),
        }
    }

    /// The groups in which the named axes vary and the others are fixed.
    ///
    /// The order of the names is the order within a group, the last fastest;
    /// groups are ordered by the fixed axes, row-major. With no name every rank
    /// is alone.
    ///
    /// ```
    /// use rankwise_topology::{Mesh, Partition};
    ///
    /// let mesh = Mesh::new([("pp", 2), ("dp", 2), ("tp", 2)])?;
    /// let shown = |axes: &[&str]| -> Result<Vec<String>, rankwise_topology::PartitionError> {
    ///     let partition = Partition::along(&mesh, axes)?;
    ///     Ok(partition.groups().iter().map(ToString::to_string).collect())
    /// };
    /// assert_eq!(shown(&["pp", "tp"])?, ["[0, 1, 4, 5]", "[2, 3, 6, 7]"]);
    /// assert_eq!(shown(&["tp", "pp"])?, ["[0, 4, 1, 5]", "[2, 6, 3, 7]"]);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn along(mesh: &Mesh, axes: &[&str]) -> Result<Self, PartitionError> {
        let mut varying: Vec<&Axis> = Vec::new();
        for &name in axes {
            if varying.iter().any(|axis| axis.name() == name) {
                return Err(PartitionError::RepeatedAxis { axis: name.into() });
            }
            let Some(axis) = mesh.axes().iter().find(|axis| axis.name() == name) else {
                let mesh = mesh.axes().iter().map(|axis| axis.name().into()).collect();
                return Err(PartitionError::UnknownAxis { axis: name.into(), mesh });
            };
            varying.push(axis);
        }
        let fixed = mesh.axes().iter().filter(|axis| !axes.contains(&axis.name()));
        let within = Mesh::offsets(varying);
        let world = mesh.world();
        let groups = Mesh::offsets(fixed)
            .into_iter()
            .zip(0..=u32::MAX)
            .map(|(corner, list)| {
                // A point of the mesh is a rank of its world.
                Group::new(world, within.iter().map(|offset| corner.saturating_add(*offset)))
                    .map_err(|error| PartitionError::List { list, error })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self::of_groups(world, groups))
    }

    /// What `ncclCommSplit` and `MPI_Comm_split` make of the colour and key that
    /// each rank of the world gives, in rank order.
    ///
    /// Ranks of one colour are a group, ordered by key, then by rank. Keys are
    /// ordinary signed integers, not ranks. Without a colour
    /// (`NCCL_SPLIT_NOCOLOR`, `MPI_UNDEFINED`) a rank is in no group; it still
    /// has to make the call. Groups stand in ascending order of colour.
    ///
    /// NCCL documents negative colours other than −1 as illegal and takes them
    /// as ordinary ones (2.32.3); here they are an error.
    ///
    /// ```
    /// use rankwise_model::GroupSize;
    /// use rankwise_topology::{Partition, World};
    ///
    /// let world = World::new(GroupSize::new(4).unwrap());
    /// let by = [(Some(7), 5), (Some(7), 5), (None, 0), (Some(7), -1)];
    /// let split = Partition::split(world, &by)?;
    /// assert_eq!(split.groups()[0].to_string(), "[3, 0, 1]");
    /// assert!(split.locate(world.rank(2).unwrap()).is_none());
    /// # Ok::<(), rankwise_topology::PartitionError>(())
    /// ```
    pub fn split(
        world: World,
        colours_and_keys: &[(Option<i32>, i32)],
    ) -> Result<Self, PartitionError> {
        let found = colours_and_keys.len();
        if u32::try_from(found) != Ok(world.size().get()) {
            return Err(PartitionError::Entries { found, world });
        }
        let mut coloured = Vec::new();
        for (rank, (colour, key)) in world.ranks().zip(colours_and_keys) {
            match *colour {
                Some(colour) if colour < 0 => {
                    return Err(PartitionError::NegativeColour { rank, colour });
                }
                Some(colour) => coloured.push((colour, *key, rank)),
                None => {}
            }
        }
        // Colour, key, rank: no two entries are equal, so any sort gives this order.
        coloured.sort_unstable();
        let groups = coloured
            .chunk_by(|one, next| one.0 == next.0)
            .zip(0..=u32::MAX)
            .map(|(children, list)| {
                Group::of_members(world, children.iter().map(|(_, _, rank)| *rank).collect())
                    .map_err(|error| PartitionError::List { list, error })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self::of_groups(world, groups))
    }

    fn of_groups(world: World, groups: Vec<Group>) -> Self {
        let mut places: Vec<_> = groups
            .iter()
            .zip(0..=u32::MAX)
            .flat_map(|(group, at)| group.members().iter().map(move |rank| (*rank, at)))
            .collect();
        places.sort_unstable();
        Self(Arc::new(Parts { world, groups, places }))
    }

    /// The overlap that a reader of the lists meets first.
    fn first_overlap(&self) -> Option<PartitionError> {
        self.0
            .places
            .windows(2)
            .filter_map(|pair| match pair {
                [(rank, first), (next, second)] if rank == next => Some((*second, *first, *rank)),
                _ => None,
            })
            .min()
            .map(|(second, first, rank)| PartitionError::Overlap { rank, first, second })
    }

    /// The world whose ranks are grouped.
    pub fn world(&self) -> World {
        self.0.world
    }

    /// The groups. There may be none, where a split had no colours.
    pub fn groups(&self) -> &[Group] {
        &self.0.groups
    }

    /// The group that a rank of the world is in, and its rank there; `None` if
    /// it is in none. O(log n).
    pub fn locate(&self, member: WorldRank) -> Option<(&Group, Rank)> {
        let Parts { groups, places, .. } = &*self.0;
        let found = places.binary_search_by_key(&member, |(rank, _)| *rank).ok()?;
        let (_, at) = places.get(found)?;
        let group = groups.get(usize::try_from(*at).ok()?)?;
        group.rank_of(member).map(|rank| (group, rank))
    }

    /// Whether every rank of the world is in a group.
    pub fn covers_world(&self) -> bool {
        u32::try_from(self.0.places.len()) == Ok(self.world().size().get())
    }
}

impl fmt::Debug for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.groups()).finish()
    }
}

#[cfg(test)]
mod tests;
