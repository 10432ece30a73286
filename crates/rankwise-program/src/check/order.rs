//! Orders of calls that contradict each other, though nothing hangs.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;

use rankwise_topology::{Group, WorldRank};

use super::log::{Log, Logged, Spot};
use crate::blame::circle::{Stuck, report_on_circle};
use crate::history::narrow;
use crate::report::{Edge, Kind, Report};
use crate::waits::components::components;

/// One report per set of instances that precede each other in a circle: an instance
/// precedes another if a rank calls it first. Where that goes round, the program
/// completes only because the calls are on several streams.
pub(super) fn findings(log: &Log<'_>) -> Vec<Report> {
    let mut precedes: Vec<Vec<usize>> = vec![Vec::new(); log.instances.len()];
    let mut one: Vec<usize> = Vec::new();
    let mut next: Vec<usize> = Vec::new();
    let mut under_way: Option<(WorldRank, u64)> = None;
    for (rank, logged) in log.met() {
        let step = logged.spot.place(rank).step;
        if under_way != Some((rank, step)) {
            core::mem::swap(&mut one, &mut next);
            next.clear();
            if under_way.is_some_and(|(before, _)| before != rank) {
                one.clear();
            }
            under_way = Some((rank, step));
        }
        let Some(node) = narrow(logged.node.into()) else { continue };
        next.push(node);
        for before in &one {
            // Ranks mostly make the same calls one after the other.
            if let Some(precedes) = precedes.get_mut(*before)
                && precedes.last() != Some(&node)
            {
                precedes.push(node);
            }
        }
    }
    let completed = |node: usize| log.instances.get(node).is_some_and(|noted| noted.completed);
    let after = |node: usize| precedes.get(node).map(Vec::as_slice).unwrap_or_default();
    let circles: Vec<BTreeSet<usize>> = components(log.instances.len(), completed, after)
        .into_iter()
        .filter(|component| component.len() > 1)
        .map(|component| component.into_iter().collect())
        .collect();
    if circles.is_empty() {
        return Vec::new();
    }
    let mut calls: BTreeMap<usize, Vec<(WorldRank, Logged)>> = BTreeMap::new();
    for (rank, logged) in log.met() {
        let node = narrow(logged.node.into()).unwrap_or(usize::MAX);
        calls.entry(node).or_default().push((rank, logged));
    }
    let mut reports: Vec<Report> =
        circles.iter().map(|circle| report(log, circle, &calls)).collect();
    reports.sort();
    reports
}

/// As if each rank waited in the first of these that it calls.
fn report(
    log: &Log<'_>,
    circle: &BTreeSet<usize>,
    calls: &BTreeMap<usize, Vec<(WorldRank, Logged)>>,
) -> Report {
    let step = |rank: WorldRank, spot: Spot| spot.place(rank).step;
    let mut first_step: BTreeMap<WorldRank, u64> = BTreeMap::new();
    for (rank, logged) in circle.iter().filter_map(|node| calls.get(node)).flatten() {
        let step = step(*rank, logged.spot);
        first_step.entry(*rank).and_modify(|first| *first = step.min(*first)).or_insert(step);
    }
    let is_first = |(rank, logged): &&(WorldRank, Logged)| {
        first_step.get(rank) == Some(&step(*rank, logged.spot))
    };
    let mut stuck = Vec::new();
    for calls in circle.iter().filter_map(|node| calls.get(node)) {
        let mut waits_for: Vec<WorldRank> =
            calls.iter().filter(|call| !is_first(call)).map(|(rank, _)| *rank).collect();
        waits_for.sort_unstable();
        waits_for.dedup();
        for (rank, logged) in calls.iter().filter(is_first) {
            let Some(call) = log.call(*rank, *logged) else { continue };
            let group = log.program.group(&call.communicator);
            let ranks = group.map_or(log.program.world.size(), Group::size);
            let edge = Edge { rank: *rank, call, waits_for: waits_for.clone() };
            stuck.push(Stuck { edge, ranks, call: 0 });
        }
    }
    report_on_circle(Kind::OrderDiffers, log.program.world.size(), stuck)
}
