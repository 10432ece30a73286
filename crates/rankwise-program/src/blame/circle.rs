//! The report on ranks that wait for each other.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use rankwise_model::GroupSize;
use rankwise_topology::WorldRank;

use crate::instance::{InstanceId, Taken};
use crate::matcher::{Matcher, world_rank_of};
use crate::report::{Edge, Kind, Report};

/// An edge, and what a report on it needs besides.
pub(crate) struct Stuck {
    pub(crate) edge: Edge,
    /// The number of ranks in the communicator of its call.
    pub(crate) ranks: GroupSize,
    /// The number of its call among the rank's calls.
    pub(crate) call: u64,
}

/// A report on edges that go round, ordered so that it reads as a cycle.
pub(crate) fn report_on_circle(kind: Kind, world: GroupSize, mut stuck: Vec<Stuck>) -> Report {
    stuck.sort_by(|one, other| one.edge.cmp(&other.edge));
    let cycle = first_cycle(&stuck);
    let mut ordered: Vec<Stuck> = Vec::with_capacity(stuck.len());
    for (at, rank) in cycle.iter().enumerate() {
        let next = cycle.get(at.saturating_add(1)).or(cycle.first());
        let leads_on = |stuck: &Stuck| {
            let edge = &stuck.edge;
            edge.rank == *rank && next.is_some_and(|next| edge.waits_for.contains(next))
        };
        if let Some(found) = stuck.iter().position(leads_on) {
            ordered.push(stuck.remove(found));
        }
    }
    ordered.append(&mut stuck);

    let first = ordered.first();
    let name = first.map(|first| first.edge.call.communicator.clone());
    let ranks = first.map_or(world, |first| first.ranks);
    let mut report = Report::new(kind, name.unwrap_or_default(), ranks);
    report.seq = first.map(|first| first.edge.call.seq);
    report.waits = ordered.into_iter().map(|stuck| stuck.edge).collect();
    report
}

impl Matcher {
    /// The report on instances that need each other.
    pub(super) fn on_circle(&self, instances: &[InstanceId]) -> Report {
        let stuck: Vec<Stuck> =
            instances.iter().flat_map(|instance| self.stuck_at(*instance)).collect();
        let mut last: BTreeMap<WorldRank, u64> = BTreeMap::new();
        for Stuck { edge, call, .. } in &stuck {
            let until = last.entry(edge.rank).or_default();
            *until = (*until).max(*call);
        }
        let mut report = report_on_circle(Kind::Deadlock, self.world.size(), stuck);
        report.recent = self.recent(last.keys().copied().collect(), &last);
        report
    }

    /// Who has come to an instance with nothing left before it, and for whom those wait:
    /// members that have not called, or have calls before it that are not over.
    fn stuck_at(&self, instance: InstanceId) -> Vec<Stuck> {
        let Some(found) = self.instances.get(instance) else { return Vec::new() };
        let Some(comm) = self.comm(found.comm) else { return Vec::new() };
        let (mut here, mut awaited) = (Vec::new(), Vec::new());
        for (seat, taken) in found.seats.iter().enumerate() {
            let Some(world) = world_rank_of(&comm.group, found.seq, seat) else { continue };
            match taken {
                Some(taken) if self.is_at_front(taken) => here.push((world, taken.call)),
                _ => awaited.push(world),
            }
        }
        awaited.sort_unstable();
        awaited.dedup();
        let stuck = |(rank, number): (WorldRank, u64)| {
            let call = self.call(rank, number)?;
            let edge = Edge { rank, call, waits_for: awaited.clone() };
            Some(Stuck { edge, ranks: comm.group.size(), call: number })
        };
        here.into_iter().filter_map(stuck).collect()
    }

    fn is_at_front(&self, taken: &Taken) -> bool {
        taken.at.is_none_or(|point| {
            self.stream(point.stream).is_some_and(|stream| stream.base() == point.index)
        })
    }
}

/// The shortest cycle through the smallest rank that is on one, from that rank on.
fn first_cycle(stuck: &[Stuck]) -> Vec<WorldRank> {
    let mut waits_for: BTreeMap<WorldRank, Vec<WorldRank>> = BTreeMap::new();
    for Stuck { edge, .. } in stuck {
        waits_for.entry(edge.rank).or_default().extend(&edge.waits_for);
    }
    for next in waits_for.values_mut() {
        next.sort_unstable();
        next.dedup();
    }
    waits_for.keys().find_map(|start| cycle_through(*start, &waits_for)).unwrap_or_default()
}

fn cycle_through(
    start: WorldRank,
    waits_for: &BTreeMap<WorldRank, Vec<WorldRank>>,
) -> Option<Vec<WorldRank>> {
    let mut reached_from: BTreeMap<WorldRank, WorldRank> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(rank) = queue.pop_front() {
        for next in waits_for.get(&rank).into_iter().flatten() {
            if *next == start {
                let mut cycle = Vec::from([rank]);
                let mut at = rank;
                while let Some(before) = reached_from.get(&at) {
                    cycle.push(*before);
                    at = *before;
                }
                cycle.reverse();
                return Some(cycle);
            }
            if !reached_from.contains_key(next) {
                reached_from.insert(*next, rank);
                queue.push_back(*next);
            }
        }
    }
    None
}
