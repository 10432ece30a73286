//! Rank maps: every rank of a world on a device.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use rankwise_model::GroupSize;

use crate::device::{Device, Host, Naming};
use crate::world::{World, WorldRank};

/// Whether several ranks may be on one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// Each device hosts one rank, as NCCL wants it unless told otherwise.
    #[default]
    Exclusive,
    /// A device may host several ranks.
    Shared,
}

/// Which device each rank of a world is on.
///
/// Holding a `RankMap` tells you:
///
/// - it is total: every rank of its world has a device;
/// - any two of its devices are known to be the same or not: none of them
///   [cannot be told](crate::Sameness::CannotTell) from another;
/// - if it is exclusive, no device hosts two ranks, nor a slice of it another.
///
/// It does **not** tell you that such devices exist, or which are close to each
/// other. A clone is cheap and shares the map.
///
/// ```
/// use rankwise_topology::{Device, RankMap, Sharing};
///
/// let [a, b] = [Device::named("A")?, Device::named("B")?];
/// let map = RankMap::new(vec![a.clone(), b, a.clone()], Sharing::Shared)?;
/// let rank_2 = map.world().rank(2).unwrap();
/// assert_eq!(map.device(rank_2), Some(&a));
/// assert_eq!(map.ranks_on(&a).map(|rank| rank.index()).collect::<Vec<_>>(), [0, 2]);
/// assert_eq!(map.ownership(rank_2).unwrap().to_string(), "device A, as rank 2");
///
/// let repeated = RankMap::new(vec![a.clone(), a], Sharing::Exclusive).unwrap_err();
/// assert_eq!(
///     repeated.to_string(),
///     "device A is bound to rank 0 and to rank 1: sharing must be asked for",
/// );
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct RankMap(Arc<Bindings>);

#[derive(PartialEq, Eq)]
struct Bindings {
    world: World,
    sharing: Sharing,
    /// Distinct devices, as first spelt, in the order of their first ranks.
    devices: Vec<Device>,
    /// By [`Device::key`], the place in `devices`.
    by_key: BTreeMap<Device, u32>,
    /// By rank, the place in `devices`.
    bound: Vec<u32>,
    /// The same turned round: sorted by place, then rank.
    hosted: Vec<(u32, WorldRank)>,
}

/// Why devices make no rank map.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MapError {
    /// There are no devices, hence no ranks.
    Empty,
    /// There are more devices than 32 bits count.
    TooMany,
    /// An exclusive map has a device twice.
    Repeated {
        /// The device.
        device: Device,
        /// The first rank on it.
        first: WorldRank,
        /// The next.
        second: WorldRank,
    },
    /// An exclusive map has a GPU and a slice of it.
    Overlapping {
        /// The GPU.
        whole: Device,
        /// The first rank on it.
        whole_rank: WorldRank,
        /// The slice.
        slice: Device,
        /// The first rank on that.
        slice_rank: WorldRank,
    },
    /// Two of the devices cannot be told to be the same or different.
    CannotTell {
        /// The one.
        first: Device,
        /// A rank on it.
        first_rank: WorldRank,
        /// The other.
        second: Device,
        /// A rank on that.
        second_rank: WorldRank,
    },
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a rank map needs at least one device"),
            Self::TooMany => write!(f, "a rank map has at most {} devices", u32::MAX),
            Self::Repeated { device, first, second } => write!(
                f,
                "device {device} is bound to rank {first} and to rank {second}: \
                 sharing must be asked for"
            ),
            Self::Overlapping { whole, whole_rank, slice, slice_rank } => write!(
                f,
                "device {slice} of rank {slice_rank} is a slice of device {whole} of rank \
                 {whole_rank}: sharing must be asked for"
            ),
            Self::CannotTell { first, first_rank, second, second_rank } => write!(
                f,
                "{first} of rank {first_rank} and {second} of rank {second_rank} may be one device \
                 or two: name both by UUID, or both by host and PCI bus id"
            ),
        }
    }
}

impl core::error::Error for MapError {}

impl RankMap {
    /// The map that puts rank `i` on `devices[i]`.
    pub fn new(devices: Vec<Device>, sharing: Sharing) -> Result<Self, MapError> {
        let ranks = u32::try_from(devices.len()).map_err(|_| MapError::TooMany)?;
        let world = World::new(GroupSize::new(ranks).ok_or(MapError::Empty)?);
        settle(world, &devices)?;
        let bindings = Bindings::new(world, sharing, devices);
        if sharing == Sharing::Exclusive {
            bindings.exclude()?;
        }
        Ok(Self(Arc::new(bindings)))
    }

    /// The map with the same devices, the one of each rank now at its new rank.
    ///
    /// `old_ranks` are this world's, in the order of their new numbers: whatever
    /// held for the devices still does.
    pub(crate) fn rearranged(&self, old_ranks: impl Iterator<Item = WorldRank>) -> Self {
        let devices = old_ranks.filter_map(|rank| self.device(rank).cloned()).collect();
        Self(Arc::new(Bindings::new(self.world(), self.sharing(), devices)))
    }

    /// The world whose ranks are mapped.
    pub fn world(&self) -> World {
        self.0.world
    }

    /// Whether a device may host several ranks.
    pub fn sharing(&self) -> Sharing {
        self.0.sharing
    }

    /// The device that a rank is on; `None` only for a rank of a larger world.
    pub fn device(&self, rank: WorldRank) -> Option<&Device> {
        self.0.device_at(*self.0.bound.get(rank.slot())?)
    }

    /// The ranks on a device, ascending: one where the map is exclusive, and
    /// none where the device is not in it.
    pub fn ranks_on(&self, device: &Device) -> impl Iterator<Item = WorldRank> + use<'_> {
        let place = self.0.by_key.get(&device.key()).copied();
        place.into_iter().flat_map(|place| self.0.hosted_at(place)).map(|(_, rank)| *rank)
    }

    /// The distinct devices, in the order of their first ranks.
    pub fn devices(&self) -> &[Device] {
        &self.0.devices
    }

    /// The device of that name, however [`Device::parse`] would let it be spelt.
    ///
    /// ```
    /// use rankwise_topology::{Device, RankMap, Sharing};
    ///
    /// let map = RankMap::new(vec![Device::parse("node1/0000:59:00.0")?], Sharing::Exclusive)?;
    /// assert_eq!(map.find("NODE1/59:00.0"), map.devices().first());
    /// assert_eq!(map.find("node1/cuda:0"), None); // not known to be it
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn find(&self, name: &str) -> Option<&Device> {
        let key = Device::parse(name).ok()?.key();
        self.0.device_at(*self.0.by_key.get(&key)?)
    }

    /// Who owns what a rank owns; `None` only for a rank of a larger world.
    pub fn ownership(&self, rank: WorldRank) -> Option<Ownership<'_>> {
        let device = self.device(rank)?;
        let place = *self.0.bound.get(rank.slot())?;
        let one_of_several = self.0.hosted_at(place).len() > 1;
        Some(Ownership { device, rank, one_of_several })
    }
}

impl Bindings {
    fn new(world: World, sharing: Sharing, by_rank: Vec<Device>) -> Self {
        let mut devices = Vec::new();
        let mut by_key = BTreeMap::new();
        let mut next = 0_u32;
        let bound: Vec<_> = by_rank
            .into_iter()
            .map(|device| {
                let place = *by_key.entry(device.key()).or_insert(next);
                if place == next {
                    devices.push(device);
                    // There are no more devices than ranks, which a `u32` counts.
                    next = next.saturating_add(1);
                }
                place
            })
            .collect();
        let mut hosted: Vec<_> = bound.iter().copied().zip(world.ranks()).collect();
        hosted.sort_unstable();
        Self { world, sharing, devices, by_key, bound, hosted }
    }

    fn device_at(&self, place: u32) -> Option<&Device> {
        self.devices.get(usize::try_from(place).ok()?)
    }

    /// The entries of one device in `hosted`.
    fn hosted_at(&self, place: u32) -> &[(u32, WorldRank)] {
        let from = self.hosted.partition_point(|(hosted, _)| *hosted < place);
        let rest = self.hosted.get(from..).unwrap_or_default();
        let end = rest.partition_point(|(hosted, _)| *hosted == place);
        rest.get(..end).unwrap_or_default()
    }

    fn first_rank_on(&self, place: u32) -> Option<WorldRank> {
        self.hosted_at(place).first().map(|(_, rank)| *rank)
    }

    /// Refuses a device with two ranks, and a GPU beside a slice of it.
    fn exclude(&self) -> Result<(), MapError> {
        let repeat = self
            .hosted
            .windows(2)
            .filter_map(|pair| match pair {
                [(place, first), (next, second)] if place == next => {
                    Some((*second, *first, *place))
                }
                _ => None,
            })
            .min();
        if let Some((second, first, place)) = repeat
            && let Some(device) = self.device_at(place).cloned()
        {
            return Err(MapError::Repeated { device, first, second });
        }
        for (place, slice) in (0..=u32::MAX).zip(&self.devices) {
            let whole = slice.whole().and_then(|whole| self.by_key.get(&whole.key()));
            if let Some(at) = whole.copied()
                && let (Some(whole), Some(whole_rank), Some(slice_rank)) =
                    (self.device_at(at).cloned(), self.first_rank_on(at), self.first_rank_on(place))
            {
                let slice = slice.clone();
                return Err(MapError::Overlapping { whole, whole_rank, slice, slice_rank });
            }
        }
        Ok(())
    }
}

/// Refuses devices that may or may not be one.
///
/// Not every pair is compared: on one host all must be named in one way, and
/// that is compared with the first. Each rank's own spelling counts, for two
/// ranks may give one UUID different hosts.
fn settle(world: World, devices: &[Device]) -> Result<(), MapError> {
    let mut hosts: BTreeMap<Option<&Host>, (Naming<'_>, Bound<'_>)> = BTreeMap::new();
    for bound @ (rank, device) in world.ranks().zip(devices) {
        let naming = device.naming();
        let (agreed, first) = *hosts.entry(device.host()).or_insert((naming, bound));
        if naming != agreed || (rank != first.0 && !naming.settles()) {
            return Err(cannot_tell(first, bound));
        }
    }
    // Without a host a name compares only with others without, or by UUID.
    let Some((naming, unnamed)) = hosts.get(&None).copied() else { return Ok(()) };
    let comparable = |other: Naming<'_>| other == naming && naming.is_global();
    let stranger = hosts
        .iter()
        .filter(|(host, (other, _))| host.is_some() && !comparable(*other))
        .map(|(_, (_, bound))| *bound)
        .min();
    match stranger {
        Some(stranger) => Err(cannot_tell(unnamed.min(stranger), unnamed.max(stranger))),
        None => Ok(()),
    }
}

/// A rank and the device it is on.
type Bound<'a> = (WorldRank, &'a Device);

fn cannot_tell((first_rank, first): Bound<'_>, (second_rank, second): Bound<'_>) -> MapError {
    let (first, second) = (first.clone(), second.clone());
    MapError::CannotTell { first, first_rank, second, second_rank }
}

impl fmt::Debug for RankMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bindings = f.debug_map();
        for (rank, device) in self.world().ranks().filter_map(|at| Some((at, self.device(at)?))) {
            // Numbers and names, without the wrappers that `Debug` would show.
            bindings.entry(&rank.index(), &format_args!("{device}"));
        }
        bindings.finish()
    }
}

/// Where a rank's values are: `device A`, or `device A, as rank 2` where the
/// device hosts several ranks and its name alone does not say whose they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ownership<'a> {
    device: &'a Device,
    rank: WorldRank,
    one_of_several: bool,
}

impl fmt::Display for Ownership<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "device {}", self.device)?;
        if self.one_of_several { write!(f, ", as rank {}", self.rank) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
