//! The group: how many ranks, on which devices.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use rankwise_model::GroupSize;
use rankwise_topology::{Device, MapError, RankMap, Sharing, World, WorldRank};

use crate::error::{Fault, PlanError};
use crate::file::{self, Spanned, Whole};
use crate::read::spot::Spot;
use crate::words;
use crate::{limits, names};

/// The ranks of a plan and what is known of where they are.
#[derive(Clone, Debug)]
pub(super) struct Ranks {
    pub(super) size: GroupSize,
    pub(super) world: World,
    pub(super) map: Option<RankMap>,
}

impl Ranks {
    pub(super) fn read(plan: &Spot, file: &file::PlanFile) -> Result<Self, PlanError> {
        let (spot, group) =
            plan.needed("group", file.group.as_ref(), "the group: its devices or ranks")?;
        let stated = spot.given("ranks", group.ranks.as_ref());
        let stated = stated.map(|(spot, ranks)| group_size(&spot, ranks.get())).transpose()?;
        let Some((devices_spot, devices)) = spot.given("devices", group.devices.as_ref()) else {
            let Some(size) = stated else {
                let expected = "devices, a list with the device of each rank, or ranks, a number";
                return Err(spot.error(Fault::Missing, "neither devices nor ranks", expected));
            };
            if let Some((spot, sharing)) = spot.given("sharing", group.sharing.as_ref()) {
                spot.word(sharing, &words::SHARINGS)?;
                let expected = "no sharing where there are no devices";
                return Err(spot.error(Fault::Contradiction, format!("{sharing:?}"), expected));
            }
            let world = World::new(size);
            return Ok(Self { size, world, map: None });
        };
        let count = u64::try_from(devices.len()).unwrap_or(u64::MAX);
        let size = group_size(&devices_spot, count)?;
        if let Some(stated) = stated
            && stated != size
        {
            let found = format!("{size} devices for {stated} ranks");
            let expected = "one device for each rank, named again where it has several";
            return Err(devices_spot.error(Fault::Contradiction, found, expected));
        }
        let sharing = match spot.given("sharing", group.sharing.as_ref()) {
            Some((spot, word)) => spot.word(word, &words::SHARINGS)?,
            None => Sharing::Exclusive,
        };
        let map = rank_map(&devices_spot, devices, sharing)?;
        Ok(Self { size, world: map.world(), map: Some(map) })
    }

    /// Whether every rank has a device of its own.
    pub(super) fn has_exclusive_devices(&self) -> bool {
        let devices = self.map.as_ref().map(|map| u32::try_from(map.devices().len()));
        devices == Some(Ok(self.size.get()))
    }

    /// The rank of the world with that index.
    pub(super) fn rank(&self, spot: &Spot, index: Whole) -> Result<WorldRank, PlanError> {
        self.rank_at(index.get()).ok_or_else(|| {
            spot.error(Fault::UnknownName, format!("rank {}", index.get()), self.indices())
        })
    }

    /// What a rank may be, in words.
    pub(super) fn indices(&self) -> String {
        format!("a rank of the group: 0 to {}", self.size.get().saturating_sub(1))
    }

    pub(super) fn rank_at(&self, index: u64) -> Option<WorldRank> {
        u32::try_from(index).ok().and_then(|index| self.world.rank(index))
    }

    /// A device of the map, however its name is spelt.
    pub(super) fn device(&self, spot: &Spot, name: &str) -> Result<&Device, PlanError> {
        let Some(map) = &self.map else {
            let expected = "ranks instead: the plan says only how many there are";
            return Err(spot.error(Fault::UnknownName, format!("device {name:?}"), expected));
        };
        map.find(name).ok_or_else(|| {
            let known: Vec<String> = map.devices().iter().map(ToString::to_string).collect();
            spot.unknown(name, known.iter().map(String::as_str))
        })
    }
}

fn group_size(spot: &Spot, ranks: u64) -> Result<GroupSize, PlanError> {
    if ranks > limits::RANKS {
        let expected = format!("at most {}", limits::RANKS);
        return Err(spot.error(Fault::Limit, format!("{ranks} ranks"), expected));
    }
    u32::try_from(ranks)
        .ok()
        .and_then(GroupSize::new)
        .ok_or_else(|| spot.error(Fault::Value, "no ranks", "at least one rank"))
}

fn rank_map(
    spot: &Spot,
    devices: &[Spanned<String>],
    sharing: Sharing,
) -> Result<RankMap, PlanError> {
    let mut parsed = Vec::new();
    for (spot, name) in spot.each(devices) {
        let device = Device::parse(spot.name(name)?);
        parsed.push(device.map_err(|error| {
            let expected = format!("the name of a device: {error}");
            spot.error(Fault::Value, names::quoted(name), expected)
        })?);
    }
    RankMap::new(parsed, sharing).map_err(|error| {
        let (rank, expected) = match &error {
            MapError::Repeated { second, .. } => {
                (Some(*second), "each device once, or sharing = \"shared\"")
            }
            MapError::Overlapping { slice_rank, .. } => {
                (Some(*slice_rank), "devices apart, or sharing = \"shared\"")
            }
            MapError::CannotTell { second_rank, .. } => {
                (Some(*second_rank), "names by which devices can be told apart")
            }
            _ => (None, "a device for each rank"),
        };
        let at = rank.and_then(|rank| usize::try_from(rank.index()).ok());
        let place = at.and_then(|at| spot.each(devices).nth(at)).map(|(spot, _)| spot);
        place.as_ref().unwrap_or(spot).error(Fault::Contradiction, error.to_string(), expected)
    })
}
