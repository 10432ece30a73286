//! A proposal with programs: what completes, in the order in which it does.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_program::program::Place;
use rankwise_program::{Findings, check};
use rankwise_topology::WorldRank;

use super::calls::{Calls, Member};
use super::{At, Machine, sizes};
use crate::error::{Fault, PlanError};
use crate::memory::{Memory, ranks};
use crate::plan::{Act, Direction, Enqueued};
use crate::program::{Sizes, lower};
use crate::term::Terms;
use crate::vector::{Content, Gap, Vector};

impl<'a> Machine<'a> {
    /// Carries out whatever completes, and leaves gaps where something does not.
    pub(super) fn run_programs(&mut self) -> Result<Findings, PlanError> {
        let sizes = self.sizes()?;
        let findings = check(&lower(self.plan, self.proposal, &sizes)?);
        // Read before it is written, in an order that nothing settles: nothing is known.
        for ((rank, buffer), (dtype, count, step)) in &sizes.first {
            let nothing = Vector::of(*dtype, *count, Content::Gap(Gap::NeverRan { step: *step }));
            self.memory.put(*rank, buffer, Arc::new(nothing));
        }
        let mut done: BTreeSet<(WorldRank, u64)> = BTreeSet::new();
        for places in findings.completions.iter() {
            let places: Vec<Place> = places.collect();
            match self.complete(&places) {
                Ok(()) => done.extend(places.iter().map(|place| (place.rank, place.step))),
                // Where nothing settles an order, buffers need not fit: the report says why.
                Err(error) if error.kind == Fault::Limit || findings.reports.is_empty() => {
                    return Err(error);
                }
                Err(_) => {}
            }
        }
        self.leave_gaps(&sizes, &done);
        Ok(findings)
    }

    /// What every call moves, from a dry run with terms of its own.
    fn sizes(&self) -> Result<Sizes, PlanError> {
        let mut terms = Terms::new();
        let memory = Memory::of_inputs(self.plan, &mut terms);
        let mut machine = Machine::new(self.plan, self.proposal, &mut terms, memory);
        sizes::sizes(&mut machine)
    }

    /// Carries out one operation: a collective's calls, both sides of a message, or one
    /// local act.
    fn complete(&mut self, places: &[Place]) -> Result<(), PlanError> {
        let mut members: Vec<(WorldRank, Member<'a>)> = Vec::new();
        let mut recvs = Vec::new();
        for place in places {
            let Some(at) = self.at(*place) else { continue };
            match &at.step.act {
                Act::Collective(call) => members.push((place.rank, Member { at, call })),
                Act::Local(local) => self.local(&at, local, place.rank)?,
                Act::Message(message) => match message.direction {
                    Direction::Send => self.message(&at, message, place.rank)?,
                    Direction::Recv => recvs.push((at, message, place.rank)),
                },
                // The reader refuses groups in programs.
                Act::Group(_) => {}
            }
        }
        for (at, message, rank) in recvs {
            self.message(&at, message, rank)?;
        }
        let Some((rank, first)) = members.first().copied() else { return Ok(()) };
        let call = first.call;
        let (group, _) = first.at.group_of(&call.over, call.over_name.as_deref(), rank)?;
        // In rank order: places are in that of the world.
        let mut own = Vec::with_capacity(members.len());
        for member in group.members() {
            let found = members.binary_search_by_key(member, |(rank, _)| *rank).ok();
            own.extend(found.and_then(|found| members.get(found)).map(|(_, member)| *member));
        }
        match Calls::of_members(own) {
            Some(calls) => self.collective(&calls, group),
            None => Ok(()),
        }
    }

    /// The step at a place of the lowered program.
    fn at(&self, place: Place) -> Option<At<'a>> {
        let program = self.plan.program_of(self.proposal, place.rank)?;
        match program.acts.get(usize::try_from(place.step).ok()?)? {
            Enqueued::Step { step, .. } => At::of(self.proposal, *step),
            Enqueued::Wait { .. } | Enqueued::Fence { .. } => None,
        }
    }

    /// Of what never completed, nothing is known that it would have written.
    fn leave_gaps(&mut self, sizes: &Sizes, done: &BTreeSet<(WorldRank, u64)>) {
        for rank in ranks(self.plan.world) {
            let Some(program) = self.plan.program_of(self.proposal, rank) else { continue };
            for (index, act) in (0_u64..).zip(&program.acts) {
                let Enqueued::Step { step, .. } = act else { continue };
                let written = self.proposal.steps.get(*step).and_then(|step| step.act.writes());
                let Some(written) = written.filter(|_| !done.contains(&(rank, index))) else {
                    continue;
                };
                let at = usize::try_from(index).ok().map(|index| (rank, index));
                let moved = at.and_then(|at| sizes.moved.get(&at));
                if let Some((dtype, count)) = moved.and_then(|moved| moved.leaves) {
                    let gap = Content::Gap(Gap::NeverRan { step: *step });
                    let name = &written.buffer;
                    let whole = Vector::of(dtype, count, gap);
                    let left = match &written.positions {
                        None => whole,
                        Some(positions) => {
                            let length = positions.end.saturating_sub(positions.start);
                            let part = Vector::of(dtype, length, gap);
                            let before = self.memory.get(rank, name);
                            before
                                .and_then(|before| before.replaced(positions.start, &part))
                                .unwrap_or(whole)
                        }
                    };
                    self.memory.put(rank, name, Arc::new(left));
                }
            }
        }
    }
}
