//! What the members of a job must agree on, and what they may not share.

use std::collections::BTreeMap;

use rankwise_topology::{MapError, RankMap, Sharing, World, WorldRank};

use crate::member::Member;
use crate::report::Fault;

/// The map of these members, where the i-th is rank i and all name a device; or
/// everything that is wrong with them.
pub(crate) fn map(
    world: World,
    members: &[Member],
    sharing: Sharing,
) -> Result<Option<RankMap>, Vec<Fault>> {
    let mut faults = Vec::new();
    faults.extend(versions(world, members));
    let map = match devices(world, members, sharing) {
        Ok(map) => map,
        Err(more) => {
            faults.extend(more);
            None
        }
    };
    if faults.is_empty() { Ok(map) } else { Err(faults) }
}

/// Versions that differ. Most ranks first: which version is right, numbers do not say.
fn versions(world: World, members: &[Member]) -> Option<Fault> {
    let mut versions: BTreeMap<Option<&str>, Vec<u32>> = BTreeMap::new();
    for (rank, member) in world.ranks().zip(members) {
        versions.entry(member.version()).or_default().push(rank.index());
    }
    let owned = |(version, ranks): (Option<&str>, _)| (version.map(str::to_owned), ranks);
    let mut versions: Vec<(_, Vec<u32>)> = versions.into_iter().map(owned).collect();
    versions.sort_by_key(|(_, ranks)| (core::cmp::Reverse(ranks.len()), ranks.first().copied()));
    (versions.len() > 1).then_some(Fault::Libraries { versions })
}

fn devices(
    world: World,
    members: &[Member],
    sharing: Sharing,
) -> Result<Option<RankMap>, Vec<Fault>> {
    let named: Vec<_> = members.iter().filter_map(Member::device).collect();
    if named.is_empty() {
        return Ok(None);
    }
    if named.len() < members.len() {
        let ranked = world.ranks().zip(members);
        let without = ranked.filter(|(_, member)| member.bound().is_none());
        return Err(vec![Fault::NoDevice {
            ranks: without.map(|(rank, _)| rank.index()).collect(),
        }]);
    }
    let refused = match RankMap::new(named.clone(), sharing) {
        Ok(map) => return Ok(Some(map)),
        Err(error) => refused(&error),
    };
    // The error names the first device with two ranks only: all of them are wanted.
    let Ok(shared) = RankMap::new(named, Sharing::Shared) else { return Err(vec![refused]) };
    let faults: Vec<Fault> = shared
        .devices()
        .iter()
        .map(|device| {
            let ranks = shared.ranks_on(device).map(WorldRank::index).collect();
            Fault::DeviceTwice { device: device.to_string(), ranks }
        })
        .filter(|fault| fault.ranks().len() > 1)
        .collect();
    Err(if faults.is_empty() { vec![refused] } else { faults })
}

/// The fault that a refused map is.
fn refused(error: &MapError) -> Fault {
    let ranks = match error {
        MapError::Repeated { first, second, .. } => vec![first.index(), second.index()],
        MapError::Overlapping { whole_rank, slice_rank, .. } => {
            vec![whole_rank.index(), slice_rank.index()]
        }
        MapError::CannotTell { first_rank, second_rank, .. } => {
            vec![first_rank.index(), second_rank.index()]
        }
        _ => Vec::new(),
    };
    Fault::Devices { what: error.to_string(), ranks }
}
