//! Other orders of the same devices, as real jobs come to them.
//!
//! Each function gives a permutation σ of the ranks: rank r is then where rank σ(r) was,
//! on its device.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::device::{DeviceOrder, Host, Identity, Unresolved, Visible, VisibleDevices};
use crate::mesh::{Axis, Mesh, MeshError};
use crate::partition::{Partition, PartitionError};
use crate::permutation::{Permutation, PermutationError};
use crate::rank_map::{RankMap, Sharing};
use crate::world::{World, WorldRank};

/// Why there is no such order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReorderError {
    /// What a process sees cannot be told without asking the driver.
    Unresolved(Unresolved),
    /// A host shows fewer devices than it has ranks.
    Hidden {
        /// The host, where it is said.
        host: Option<String>,
        /// How many devices a process sees there.
        visible: usize,
        /// How many ranks are there.
        ranks: usize,
    },
    /// An ordinal is a device that no rank of the host is on.
    NoRank {
        /// The host, where it is said.
        host: Option<String>,
        /// The index of the device.
        index: u32,
    },
    /// Several ranks may be on one device, so which has which ordinal is not said.
    Shared,
    /// The split is not one.
    Split(PartitionError),
    /// A rank without a colour is in no group, so it has no new place.
    NoColour {
        /// The rank.
        rank: WorldRank,
    },
    /// The mesh is not one.
    Mesh(MeshError),
    /// The new order does not name each axis once.
    Axes {
        /// The axes of the mesh.
        mesh: Vec<String>,
        /// The axes in their new order.
        order: Vec<String>,
    },
    /// The new places are no permutation.
    Permutation(PermutationError),
}

impl fmt::Display for ReorderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = |host: &Option<String>| match host {
            Some(host) => alloc::format!(" on {host}"),
            None => String::new(),
        };
        match self {
            Self::Unresolved(error) => error.fmt(f),
            Self::Hidden { host, visible, ranks } => {
                write!(f, "{visible} visible devices for {ranks} ranks{}", on(host))
            }
            Self::NoRank { host, index } => {
                write!(f, "device {index}{} is visible, but no rank is on it", on(host))
            }
            Self::Shared => f.write_str(
                "devices may be shared, so which rank takes which ordinal is not said: list the \
                 devices",
            ),
            Self::Split(error) => error.fmt(f),
            Self::NoColour { rank } => write!(
                f,
                "split: rank {rank} has no colour, so it is in no group and has no new place"
            ),
            Self::Mesh(error) => error.fmt(f),
            Self::Axes { mesh, order } => write!(
                f,
                "axes {} in the order {}: name each once",
                mesh.join(", "),
                order.join(", ")
            ),
            Self::Permutation(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ReorderError {}

/// The order after a split by colour and key: group after group, by colour, each in the
/// order of its new ranks.
///
/// ```
/// use rankwise_model::GroupSize;
/// use rankwise_topology::{World, reorder};
///
/// let world = World::new(GroupSize::new(4).unwrap());
/// let by = [(Some(0), 1), (Some(0), 0), (Some(1), 0), (Some(1), 0)];
/// assert_eq!(reorder::by_split(world, &by)?.to_string(), "(0 1)");
/// # Ok::<(), rankwise_topology::ReorderError>(())
/// ```
pub fn by_split(
    world: World,
    colours_and_keys: &[(Option<i32>, i32)],
) -> Result<Permutation, ReorderError> {
    let split = Partition::split(world, colours_and_keys).map_err(ReorderError::Split)?;
    if let Some(rank) = world.ranks().find(|rank| split.locate(*rank).is_none()) {
        return Err(ReorderError::NoColour { rank });
    }
    let members = split.groups().iter().flat_map(|group| group.members().iter());
    Permutation::from_images(members.map(|rank| rank.index())).map_err(ReorderError::Permutation)
}

/// The order of the ranks of `mesh` when its axes are laid out in another order, slowest
/// first.
///
/// ```
/// use rankwise_topology::{Mesh, reorder};
///
/// // Ranks 0 to 3 were one node; now neighbours in rank are on two.
/// let mesh = Mesh::new([("node", 2), ("gpu", 4)])?;
/// let order = reorder::by_axes(&mesh, &["gpu", "node"]).unwrap();
/// assert_eq!(order.images(), [0, 4, 1, 5, 2, 6, 3, 7]);
/// # Ok::<(), rankwise_topology::MeshError>(())
/// ```
pub fn by_axes(mesh: &Mesh, order: &[&str]) -> Result<Permutation, ReorderError> {
    let axes = || ReorderError::Axes {
        mesh: mesh.axes().iter().map(|axis| axis.name().to_string()).collect(),
        order: order.iter().map(ToString::to_string).collect(),
    };
    let mut ordered: Vec<&Axis> = Vec::new();
    for name in order {
        let axis = mesh.axes().iter().find(|axis| axis.name() == *name).ok_or_else(axes)?;
        if ordered.iter().any(|other| other.name() == *name) {
            return Err(axes());
        }
        ordered.push(axis);
    }
    if ordered.len() != mesh.axes().len() {
        return Err(axes());
    }
    Permutation::from_images(Mesh::offsets(ordered)).map_err(ReorderError::Permutation)
}

/// The order under a value of `CUDA_VISIBLE_DEVICES` on every host, if the map is that of
/// ranks which take ordinals 0, 1, … there without the variable.
///
/// The ranks of a host take the ordinals in rank order. Index `i` is `cuda:i` where the
/// map names devices by ordinals among all of the host (then both count in one way, and
/// `order` does not matter), and else the device of the host's `i`-th rank.
pub fn by_visible(
    map: &RankMap,
    value: &str,
    order: DeviceOrder,
) -> Result<Permutation, ReorderError> {
    if map.sharing() == Sharing::Shared {
        return Err(ReorderError::Shared);
    }
    let mut hosts: BTreeMap<Option<&Host>, Vec<(WorldRank, Option<u32>)>> = BTreeMap::new();
    for rank in map.world().ranks() {
        let Some(device) = map.device(rank) else { continue };
        let ordinal = match device.identity() {
            Identity::Ordinal(ordinal) if *ordinal.visible() == Visible::Everything => {
                Some(ordinal.index())
            }
            _ => None,
        };
        // A label tells no host: all labels are on the one that goes without saying.
        hosts.entry(device.host()).or_default().push((rank, ordinal));
    }
    let mut images: Vec<u32> = map.world().ranks().map(WorldRank::index).collect();
    for (host, ranks) in hosts {
        let host = host.map(ToString::to_string);
        let ordinals: Option<Vec<u32>> = ranks.iter().map(|(_, ordinal)| *ordinal).collect();
        let order = if ordinals.is_some() { DeviceOrder::Physical } else { order };
        let indices: Vec<u32> =
            ordinals.unwrap_or_else(|| (0..).zip(&ranks).map(|(index, _)| index).collect());
        let devices = indices.iter().max().map_or(0, |last| last.saturating_add(1));
        let seen =
            VisibleDevices::of(Some(value), devices, order).map_err(ReorderError::Unresolved)?;
        if seen.len() < ranks.len() {
            let (visible, ranks) = (seen.len(), ranks.len());
            return Err(ReorderError::Hidden { host, visible, ranks });
        }
        for (ordinal, (rank, _)) in (0..).zip(&ranks) {
            let index = seen.index(ordinal).unwrap_or(ordinal);
            let old = indices.iter().position(|known| *known == index);
            let old = old.and_then(|old| ranks.get(old));
            let Some((old, _)) = old else { return Err(ReorderError::NoRank { host, index }) };
            if let Some(image) = images.get_mut(rank.slot()) {
                *image = old.index();
            }
        }
    }
    Permutation::from_images(images).map_err(ReorderError::Permutation)
}

#[cfg(test)]
mod tests {
    use rankwise_model::GroupSize;
    use rstest::rstest;

    use super::*;
    use crate::device::Device;

    fn map(names: &[&str]) -> RankMap {
        let devices = names.iter().map(|name| Device::parse(name).unwrap()).collect();
        RankMap::new(devices, Sharing::Exclusive).unwrap()
    }

    fn world(ranks: u32) -> World {
        World::new(GroupSize::new(ranks).unwrap())
    }

    /// `CUDA_VISIBLE_DEVICES=3,6,5,4,0,7,1,2`: rank 0 takes ordinal 0, which is index 3.
    #[test]
    fn visible_devices_are_taken_in_the_order_of_the_variable() {
        let all = map(&["g0", "g1", "g2", "g3", "g4", "g5", "g6", "g7"]);
        let order = by_visible(&all, "3,6,5,4,0,7,1,2", DeviceOrder::Physical).unwrap();
        assert_eq!(order.images(), [3, 6, 5, 4, 0, 7, 1, 2]);
        assert_eq!(order.inverse().images(), [4, 6, 7, 0, 3, 2, 1, 5]);
        // Whose numbers they are is not known unless it is said …
        let unknown = by_visible(&all, "3,6,5,4,0,7,1,2", DeviceOrder::Unknown);
        assert!(matches!(unknown, Err(ReorderError::Unresolved(Unresolved::Order { .. }))));
        // … or the plan counts as CUDA does, on each host.
        let ordinals = map(&["n0/cuda:0", "n1/cuda:0", "n0/cuda:1", "n1/cuda:1"]);
        let order = by_visible(&ordinals, "1,0", DeviceOrder::Unknown).unwrap();
        assert_eq!(order.to_string(), "(0 2)(1 3)");
    }

    #[rstest]
    #[case(&["a", "b"], "0,9,1", "1 visible devices for 2 ranks")]
    #[case(&["a", "b"], "GPU-af7b61d8", "GPU-af7b61d8 names a device by its UUID; only the driver knows its index")]
    #[case(&["n/cuda:0", "n/cuda:2"], "1,0", "device 1 on n is visible, but no rank is on it")]
    fn what_cannot_be_resolved_says_why(
        #[case] names: &[&str],
        #[case] value: &str,
        #[case] text: &str,
    ) {
        let error = by_visible(&map(names), value, DeviceOrder::Physical).unwrap_err();
        assert_eq!(error.to_string(), text);
    }

    /// Colour 1 is [3, 1], colour 5 is [2, 0].
    #[test]
    fn a_split_orders_by_colour_then_key() {
        let by = [(Some(5), 0), (Some(1), 7), (Some(5), -1), (Some(1), 2)];
        assert_eq!(by_split(world(4), &by).unwrap().images(), [3, 1, 2, 0]);
        let none = [(Some(0), 0), (None, 0)];
        let rank = world(2).rank(1).unwrap();
        assert_eq!(by_split(world(2), &none), Err(ReorderError::NoColour { rank }));
    }

    #[test]
    fn three_axes_turned() {
        let mesh = Mesh::new([("pp", 2), ("dp", 2), ("tp", 2)]).unwrap();
        // Rank = tp · 4 + pp · 2 + dp, which was pp · 4 + dp · 2 + tp.
        let order = by_axes(&mesh, &["tp", "pp", "dp"]).unwrap();
        assert_eq!(order.images(), [0, 2, 4, 6, 1, 3, 5, 7]);
        let text = |order: &[&str]| by_axes(&mesh, order).unwrap_err().to_string();
        assert_eq!(text(&["tp", "pp"]), "axes pp, dp, tp in the order tp, pp: name each once");
        assert_eq!(
            text(&["tp", "tp", "pp"]),
            "axes pp, dp, tp in the order tp, tp, pp: name each once"
        );
    }
}
