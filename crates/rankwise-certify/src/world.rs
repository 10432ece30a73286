//! Who takes part on a side: ranks, their devices, and what a contribution belongs to.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::format::{Attached, Origin, Side};
use crate::limits::RANKS;
use crate::list::nth;
use crate::rejected::{No, ensure};

/// The places of a side: the `nth` rank of each device, or, without devices, the ranks.
pub(crate) type Places = BTreeMap<(Origin, u32), u32>;

/// Refuses a side that contradicts itself.
pub(crate) fn sound(side: &Side) -> Result<(), No> {
    let ranks = side.ranks;
    ensure!((1..=RANKS).contains(&ranks), "{ranks} ranks, where 1 to {RANKS} may be");
    let ranks = usize::try_from(ranks).unwrap_or(usize::MAX);
    let devices = side.devices.as_ref().map_or(ranks, Vec::len);
    ensure!(devices == ranks, "{devices} devices for {ranks} ranks");
    let mut names = BTreeSet::new();
    for input in &side.inputs {
        ensure!(names.insert(&input.name), "the input `{}` twice", input.name);
        let counts = input.counts.len();
        ensure!([1, ranks].contains(&counts), "{counts} counts for {ranks} ranks");
    }
    let (mut owns, mut publics) = (BTreeSet::new(), BTreeSet::new());
    for (own, public) in &side.renamed {
        ensure!(owns.insert(own), "`{own}` renamed twice");
        ensure!(publics.insert(public), "two buffers renamed to `{public}`");
    }
    for (index, groups) in side.partitions.iter().enumerate() {
        let mut members = BTreeSet::new();
        ensure!(
            groups.iter().all(|group| !group.is_empty()),
            "partitions[{index}]: an empty group"
        );
        for rank in groups.iter().flatten() {
            ensure!(*rank < side.ranks, "partitions[{index}]: rank {rank} of {ranks}");
            ensure!(members.insert(rank), "partitions[{index}]: rank {rank} twice");
        }
    }
    Ok(())
}

/// The places of a side, each with its rank.
pub(crate) fn places(side: &Side) -> Places {
    let mut ranks_on: BTreeMap<&str, u32> = BTreeMap::new();
    let place = |rank| match device(side, rank) {
        None => ((Origin::Rank(rank), 0), rank),
        Some(device) => {
            let nth = ranks_on.entry(device).or_default();
            let place = (Origin::Device(device.into()), *nth);
            *nth = nth.saturating_add(1);
            (place, rank)
        }
    };
    (0..side.ranks).map(place).collect()
}

/// What a contribution of a rank belongs to.
pub(crate) fn owner(side: &Side, places: &Places, attached: Attached, rank: u32) -> Origin {
    let device = device(side, rank).filter(|_| attached == Attached::Device);
    let device = device.map(|device| Origin::Device(device.into()));
    let alone = device.filter(|device| !places.contains_key(&(device.clone(), 1)));
    alone.unwrap_or(Origin::Rank(rank))
}

fn device(side: &Side, rank: u32) -> Option<&str> {
    nth(side.devices.as_ref()?, rank).map(AsRef::as_ref)
}
