//! The table that every rank holds after the rendezvous.

use std::fmt;

use rankwise_model::GroupSize;
use rankwise_topology::{RankMap, Sharing, World, WorldRank};
use serde::{Deserialize, Serialize};

use crate::agree;
use crate::member::{BoundDevice, Member};
use crate::report::Fault;

/// Which process and which device each rank is.
///
/// Holding one tells you that every rank of its world is in it and has said the same
/// library version; and, if devices were named at all, that each rank named one, that
/// any two are known to be the same or not, and that none is bound twice unless sharing
/// was asked for. It does **not** tell you that what a process said of its device is
/// true, nor which devices are close to each other.
///
/// Written by serde, it is the record of a run; read back, it is checked again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Record", into = "Record")]
pub struct Table {
    world: World,
    members: Vec<Member>,
    sharing: Sharing,
    map: Option<RankMap>,
}

/// The version of the record.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    format: u32,
    /// Whether a device may host several ranks.
    shared: bool,
    /// By rank.
    members: Vec<Member>,
}

impl Table {
    /// The table of those members, rank 0 first; or everything on which they do not agree.
    pub fn new(members: Vec<Member>, sharing: Sharing) -> Result<Self, Vec<Fault>> {
        let ranks = u32::try_from(members.len()).ok().and_then(GroupSize::new);
        let Some(ranks) = ranks else { return Err(vec![Fault::Empty]) };
        let world = World::new(ranks);
        let map = agree::map(world, &members, sharing)?;
        Ok(Self { world, members, sharing, map })
    }

    /// The ranks.
    pub const fn world(&self) -> World {
        self.world
    }

    /// Who a rank is; `None` only for a rank of a larger world.
    pub fn member(&self, rank: WorldRank) -> Option<&Member> {
        self.members.get(usize::try_from(rank.index()).ok()?)
    }

    /// Every rank with its member, in order.
    pub fn members(&self) -> impl ExactSizeIterator<Item = (WorldRank, &Member)> {
        self.world.ranks().zip(&self.members)
    }

    /// Which device each rank is on; `None` if no rank named one.
    pub const fn map(&self) -> Option<&RankMap> {
        self.map.as_ref()
    }

    /// The library version that all have, if they named one.
    pub fn library(&self) -> Option<&str> {
        self.members.first()?.version()
    }

    /// The position of a rank among the ranks of its host, in rank order, and their
    /// number. It is what a launcher's local rank should be, and no ordinal.
    pub fn on_host(&self, rank: WorldRank) -> Option<(u32, u32)> {
        let host = self.member(rank)?.host();
        let mut place = (0_u32, 0_u32);
        for (other, _) in self.members().filter(|(_, member)| member.host() == host) {
            place.0 = place.0.saturating_add(u32::from(other < rank));
            place.1 = place.1.saturating_add(1);
        }
        Some(place)
    }
}

impl From<Table> for Record {
    fn from(table: Table) -> Self {
        let shared = table.sharing == Sharing::Shared;
        Self { format: FORMAT, shared, members: table.members }
    }
}

impl TryFrom<Record> for Table {
    type Error = String;

    fn try_from(record: Record) -> Result<Self, String> {
        if record.format != FORMAT {
            return Err(format!("format {}, this is format {FORMAT}", record.format));
        }
        let sharing = if record.shared { Sharing::Shared } else { Sharing::Exclusive };
        let words = |faults: Vec<Fault>| {
            faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        };
        Self::new(record.members, sharing).map_err(words)
    }
}

impl fmt::Display for Table {
    /// A line for each rank, under a line of headings, and below what all share.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headings =
            ["rank", "host", "process", "device", "ordinal", "CUDA_VISIBLE_DEVICES", "bus id"];
        let rows: Vec<_> = self.members().map(|(rank, member)| cells(rank, member)).collect();
        let widths: Vec<usize> = headings
            .iter()
            .enumerate()
            .map(|(at, heading)| {
                let cells = rows.iter().filter_map(|row| row.get(at));
                cells.map(|cell| cell.chars().count()).fold(heading.len(), usize::max)
            })
            .collect();
        let line = |cells: Vec<&str>| {
            let padded = cells.iter().zip(&widths).enumerate().map(|(at, (cell, width))| {
                // Numbers end in line, names begin in line.
                if matches!(at, 0 | 2 | 4) {
                    format!("{cell:>width$}")
                } else {
                    format!("{cell:<width$}")
                }
            });
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        writeln!(f, "{}", line(headings.to_vec()))?;
        for row in &rows {
            writeln!(f, "{}", line(row.iter().map(String::as_str).collect()))?;
        }
        write!(f, "{} ranks", self.world.size().get())?;
        if let Some(library) = self.library() {
            write!(f, ", library {library}")?;
        }
        match (&self.map, self.sharing) {
            (None, _) => f.write_str(", no devices named"),
            (Some(_), Sharing::Exclusive) => f.write_str(", one on each device"),
            (Some(map), Sharing::Shared) => {
                write!(f, ", on {} devices that may be shared", map.devices().len())
            }
        }
    }
}

fn cells(rank: WorldRank, member: &Member) -> [String; 7] {
    let device = member.bound();
    let said = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let name = device.and_then(|device| match (device.device_uuid(), device.bus_id()) {
        (Some(uuid), _) => Some(uuid.to_string()),
        (None, Some(bus)) => Some(bus.to_string()),
        (None, None) => None,
    });
    [
        rank.to_string(),
        member.host().to_string(),
        member.process().to_string(),
        said(name),
        said(device.and_then(BoundDevice::cuda_ordinal).map(|ordinal| ordinal.to_string())),
        match device.map(|device| device.cuda_visible_devices()) {
            Some(None) => "not set".to_owned(),
            visible => said(visible.flatten().map(str::to_owned)),
        },
        said(device.and_then(BoundDevice::bus_id).map(|bus| bus.to_string())),
    ]
}

#[cfg(test)]
mod tests;
