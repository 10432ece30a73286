//! Orders of calls that contradict each other, though nothing hangs.

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use rankwise_model::GroupSize;
use rankwise_topology::WorldRank;

use crate::blame::circle::{Stuck, report_on_circle};
use crate::history::narrow;
use crate::report::{Call, Edge, Kind, Report};
use crate::waits::components::components;

/// Who called what in which order: one instance precedes another if a rank calls it
/// first. Where that goes round, the program completes only because the calls are on
/// several streams.
pub(super) struct Order {
    world: GroupSize,
    instances: Vec<Instance>,
    /// By world rank: its steps, and in each the instances it calls.
    steps: Vec<Vec<Vec<usize>>>,
}

#[derive(Default)]
struct Instance {
    completed: bool,
    calls: Vec<(WorldRank, Call)>,
    ranks: Option<GroupSize>,
}

impl Order {
    pub(super) fn new(world: GroupSize) -> Self {
        Self { world, instances: Vec::new(), steps: world.ranks().map(|_| Vec::new()).collect() }
    }

    /// A rank goes on to its next step.
    pub(super) fn step(&mut self, rank: WorldRank) {
        if let Some(steps) = self.steps_of(rank) {
            steps.push(Vec::new());
        }
    }

    /// Adds an instance and gives its number.
    pub(super) fn instance(&mut self) -> usize {
        self.instances.push(Instance::default());
        self.instances.len().saturating_sub(1)
    }

    /// A rank calls, in its latest step.
    pub(super) fn called(&mut self, rank: WorldRank, node: usize, call: Call, ranks: GroupSize) {
        if let Some(step) = self.steps_of(rank).and_then(|steps| steps.last_mut()) {
            step.push(node);
        }
        if let Some(instance) = self.instances.get_mut(node) {
            instance.calls.push((rank, call));
            instance.ranks = Some(ranks);
        }
    }

    pub(super) fn completed(&mut self, node: usize) {
        if let Some(instance) = self.instances.get_mut(node) {
            instance.completed = true;
        }
    }

    fn steps_of(&mut self, rank: WorldRank) -> Option<&mut Vec<Vec<usize>>> {
        self.steps.get_mut(narrow(rank.index().into())?)
    }

    /// One report per set of instances that precede each other in a circle.
    pub(super) fn findings(&self) -> Vec<Report> {
        let mut precedes = vec![Vec::new(); self.instances.len()];
        for steps in &self.steps {
            for pair in steps.windows(2) {
                let [one, next] = pair else { continue };
                for node in one {
                    if let Some(precedes) = precedes.get_mut(*node) {
                        precedes.extend_from_slice(next);
                    }
                }
            }
        }
        let completed =
            |node: usize| self.instances.get(node).is_some_and(|instance| instance.completed);
        let next = |node: usize| precedes.get(node).map(Vec::as_slice).unwrap_or_default();
        let mut reports: Vec<Report> = components(self.instances.len(), completed, next)
            .into_iter()
            .filter(|component| component.len() > 1)
            .map(|component| self.report(&component.into_iter().collect()))
            .collect();
        reports.sort();
        reports
    }

    /// As if each rank waited in the first of these that it calls.
    fn report(&self, component: &BTreeSet<usize>) -> Report {
        let mut first_of: Vec<Option<&Vec<usize>>> = Vec::with_capacity(self.steps.len());
        for steps in &self.steps {
            let is_in = |step: &&Vec<usize>| step.iter().any(|node| component.contains(node));
            first_of.push(steps.iter().find(is_in));
        }
        let is_first = |rank: WorldRank, node: usize| {
            let first = narrow(rank.index().into()).and_then(|slot| *first_of.get(slot)?);
            first.is_some_and(|first| first.contains(&node))
        };
        let mut stuck = Vec::new();
        for node in component {
            let Some(instance) = self.instances.get(*node) else { continue };
            let mut waits_for: Vec<WorldRank> = instance
                .calls
                .iter()
                .map(|(rank, _)| *rank)
                .filter(|rank| !is_first(*rank, *node))
                .collect();
            waits_for.sort_unstable();
            waits_for.dedup();
            for (rank, call) in instance.calls.iter().filter(|(rank, _)| is_first(*rank, *node)) {
                let edge = Edge { rank: *rank, call: call.clone(), waits_for: waits_for.clone() };
                let ranks = instance.ranks.unwrap_or(self.world);
                stuck.push(Stuck { edge, ranks, call: 0 });
            }
        }
        report_on_circle(Kind::OrderDiffers, self.world, stuck)
    }
}
