//! Another map of the devices, with as few of them moved as can be.

use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use rankwise_topology::Permutation;

use super::recheck::Bench;
use super::{Mend, Repair};
use crate::explore::Extent;
use crate::explore::count::candidates;
use crate::explore::demand::devices;
use crate::explore::relation::Relations;
use crate::explore::table::Tables;
use crate::relabel::permute;

/// Placements tried past which no better one is looked for.
const TRIED: u64 = 1 << 14;

/// Puts devices on other ranks.
pub(super) fn repair(bench: &Bench<'_>) -> Option<Repair> {
    let plan = bench.plan;
    let mut judge = Tables::new(plan, bench.proposal).ok()?;
    let tables = judge.of(plan, bench.wanted());
    let relations = Relations::of(plan.world.get(), tables.iter().map(|table| &table.good));
    let mut search = Search { relations: &relations, best: None, tried: 0 };
    search.extend(&mut BTreeMap::new(), 0);
    let (placement, _) = search.best.clone()?;
    let permutation = rearranged(plan.world.get(), &placement)?;
    let mended = permute(plan, &permutation).ok()?;
    let exhausted = search.tried <= TRIED && relations.extent() == Extent::Exact;
    let fewest = if exhausted { Extent::Exact } else { Extent::AtLeast };
    let names: Vec<String> = devices(&mended).iter().map(|name| format!("{name:?}")).collect();
    let text = format!("[group]\ndevices = [{}]\n", names.join(", "));
    bench.recheck(Mend::Map { permutation, fewest }, mended, 0, text)
}

/// Which rank each named device is on.
type Placement = BTreeMap<u32, u32>;

struct Search<'a> {
    relations: &'a Relations,
    best: Option<(Placement, usize)>,
    tried: u64,
}

impl Search<'_> {
    /// Tries to place the devices that are left, those that stay first.
    fn extend(&mut self, placed: &mut Placement, moved: usize) {
        self.tried = self.tried.saturating_add(1);
        let worse = self.best.as_ref().is_some_and(|(_, fewest)| moved >= *fewest);
        if self.tried > TRIED || worse {
            return;
        }
        let next = self.relations.variables().find(|device| !placed.contains_key(device));
        let Some(device) = next else {
            if self.relations.relations().iter().all(|relation| relation.allows(placed)) {
                // A device that nothing names moves too, if its rank is taken.
                let driven_out = placed.values().filter(|rank| !placed.contains_key(rank)).count();
                let moved = moved.saturating_add(driven_out);
                if self.best.as_ref().is_none_or(|(_, fewest)| moved < *fewest) {
                    self.best = Some((placed.clone(), moved));
                }
            }
            return;
        };
        let mut choices: Vec<u32> =
            candidates(self.relations, placed, device).into_iter().collect();
        choices.sort_by_key(|rank| *rank != device);
        for rank in choices {
            placed.insert(device, rank);
            self.extend(placed, moved.saturating_add(usize::from(rank != device)));
            placed.remove(&device);
        }
    }
}

/// The permutation that leads to a placement, with every other device left where it is
/// or, if its rank is taken, on a rank that is free.
fn rearranged(points: u32, placed: &Placement) -> Option<Permutation> {
    let mut on: BTreeMap<u32, u32> = placed.iter().map(|(device, rank)| (*rank, *device)).collect();
    let mut homeless = Vec::new();
    for device in (0..points).filter(|device| !placed.contains_key(device)) {
        match on.entry(device) {
            Entry::Vacant(free) => {
                free.insert(device);
            }
            Entry::Occupied(_) => homeless.push(device),
        }
    }
    for device in homeless {
        let rank = (0..points).find(|rank| !on.contains_key(rank))?;
        on.insert(rank, device);
    }
    Permutation::from_images(on.into_values()).ok()
}
