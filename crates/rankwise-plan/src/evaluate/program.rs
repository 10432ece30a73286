//! A proposal with programs: what completes, in the order in which it does.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_program::program::Place;
use rankwise_program::{Findings, check};
use rankwise_topology::WorldRank;

use super::calls::{Calls, Member};
use super::{At, Machine, sizes};
use crate::error::{Fault, PlanError};
use crate::memory::{Memory, ranks};
use crate::plan::{Act, Direction, Enqueued, Plan, Proposal};
use crate::program::{Moved, Sizes, lower};
use crate::term::Terms;
use crate::vector::{Content, Gap, Vector};

impl<'a> Machine<'a> {
    /// Carries out whatever completes, and leaves gaps where something does not.
    pub(super) fn run_programs(&mut self) -> Result<Findings, PlanError> {
        let sizes = self.sizes()?;
        let findings = check(&lower(self.plan, self.proposal, &sizes)?);
        // Without a report everything completes, each read after its write.
        let is_clean = findings.reports.is_empty();
        // Then nobody asks for sizes any more, and they are given up: they may be large.
        let sizes = (!is_clean).then_some(sizes);
        // Read before it is written, in an order that nothing settles: nothing is known.
        for (rank, known) in ranks(self.plan.world).zip(sizes.iter().flat_map(|it| &it.ranks)) {
            for (buffer, (dtype, count, step)) in &known.moves.first {
                let gap = Content::Gap(Gap::NeverRan { step: *step });
                self.memory.put(rank, buffer, Arc::new(Vector::of(*dtype, *count, gap)));
            }
        }
        let mut done = Done::of(self.plan, self.proposal);
        for places in findings.completions.iter() {
            let places: Vec<Place> = places.collect();
            match self.complete(&places, &mut done) {
                Ok(()) if is_clean => {}
                Ok(()) => done.places.extend(places),
                // Where nothing settles an order, buffers need not fit: the report says why.
                Err(error) if error.kind == Fault::Limit || is_clean => {
                    return Err(error);
                }
                Err(_) => {}
            }
        }
        if let Some(sizes) = &sizes {
            self.leave_gaps(sizes, &mut done);
        }
        Ok(findings)
    }

    /// What every call moves, from dry runs with terms of their own.
    fn sizes(&self) -> Result<Sizes, PlanError> {
        let (mut brought, mut communicators) = Default::default();
        loop {
            let mut terms = Terms::new();
            let memory = Memory::of_inputs(self.plan, &mut terms);
            let mut machine = Machine::new(self.plan, self.proposal, &mut terms, memory);
            let found = sizes::sizes(&mut machine, brought, communicators)?;
            // Each run knows the sizes of more calls than the one before.
            if !found.late {
                return Ok(found.sizes);
            }
            (brought, communicators) = (found.brought, found.sizes.communicators);
        }
    }

    /// Carries out one operation: a collective's calls, both sides of a message, or one
    /// local act.
    fn complete(&mut self, places: &[Place], done: &mut Done<'a>) -> Result<(), PlanError> {
        let mut members: Vec<(WorldRank, Member<'a>)> = Vec::new();
        let mut recvs = Vec::new();
        for place in places {
            let Some(at) = self.at(*place, done)? else { continue };
            match &at.step.act {
                Act::Collective(call) => members.push((place.rank, Member { at, call })),
                Act::Local(local) => self.local(&at, local, place.rank)?,
                Act::Message(message) => match message.direction {
                    Direction::Send => self.message(&at, message, place.rank)?,
                    Direction::Recv => recvs.push((at, message, place.rank)),
                },
                // Of a group without a part for this rank there is nothing to do.
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
        for (index, member) in group.members().iter().enumerate() {
            // Most groups are in that order too.
            let there = members.get(index).filter(|(rank, _)| rank == member);
            let found = there.or_else(|| {
                members.get(members.binary_search_by_key(member, |(rank, _)| *rank).ok()?)
            });
            own.extend(found.map(|(_, member)| *member));
        }
        match Calls::of_members(own) {
            Some(calls) => self.collective(&calls, group),
            None => Ok(()),
        }
    }

    /// The step at a place of the lowered program, of a group the part. What a group makes
    /// anew is made before its first part.
    fn at(&mut self, place: Place, done: &mut Done<'a>) -> Result<Option<At<'a>>, PlanError> {
        let Some(at) = self.step_at(place, done) else { return Ok(None) };
        if !matches!(at.step.act, Act::Group(_)) {
            return Ok(Some(at));
        }
        let parts = self.parts(at, place, done)?;
        let within = place.within.and_then(|within| usize::try_from(within).ok());
        let part = within.map_or(Some(at), |within| at.part(*parts.get(within)?));
        Ok(part)
    }

    fn step_at(&self, place: Place, done: &Done<'a>) -> Option<At<'a>> {
        let acts = done.programs.get(usize::try_from(place.rank.index()).ok()?)?;
        match acts.get(usize::try_from(place.step).ok()?)? {
            Enqueued::Step { step, .. } => At::of(self.proposal, *step),
            Enqueued::Wait { .. } | Enqueued::Fence { .. } => None,
        }
    }

    /// The parts of a group that are the rank's, by their numbers.
    fn parts(
        &mut self,
        at: At<'a>,
        place: Place,
        done: &mut Done<'a>,
    ) -> Result<Arc<[usize]>, PlanError> {
        let key = (place.rank, place.step);
        if let Some(parts) = done.parts.get(&key) {
            return Ok(Arc::clone(parts));
        }
        let (opens, parts) = at.step.act.of_rank(self.plan, place.rank);
        let parts: Arc<[usize]> = parts.into();
        done.parts.insert(key, Arc::clone(&parts));
        for step in opens {
            if let Act::Local(local) = &step.act {
                self.local(&at, local, place.rank)?;
            }
        }
        Ok(parts)
    }

    /// Of what never completed, nothing is known that it would have written.
    fn leave_gaps(&mut self, sizes: &Sizes, done: &mut Done<'a>) {
        for rank in ranks(self.plan.world) {
            let Some(program) = self.plan.program_of(self.proposal, rank) else { continue };
            for index in 0..program.acts.len() {
                let step = u64::try_from(index).unwrap_or(u64::MAX);
                let place = Place { rank, step, within: None };
                let Some(at) = self.step_at(place, done) else { continue };
                let known = sizes.of_rank(rank);
                let moved = known.map(|known| known.moves.act(index)).unwrap_or_default();
                let is_group = matches!(at.step.act, Act::Group(_));
                // What a group could not make anew is missing anyway.
                let parts = if is_group { self.parts(at, place, done).ok() } else { None };
                for (within, moved) in (0..).zip(moved) {
                    let within: usize = within;
                    let part = parts.as_ref().and_then(|parts| at.part(*parts.get(within)?));
                    let (at, within) = match part {
                        Some(part) => (part, u64::try_from(within).ok()),
                        None => (at, None),
                    };
                    if !done.places.contains(&Place { within, ..place }) {
                        self.leave_gap(&at, rank, moved);
                    }
                }
            }
        }
    }

    fn leave_gap(&mut self, at: &At<'_>, rank: WorldRank, moved: &Moved) {
        let Some(written) = at.step.act.writes() else { return };
        let gap = Content::Gap(Gap::NeverRan { step: at.index });
        let left = match (&written.positions, self.memory.get(rank, &written.buffer)) {
            (Some(positions), Some(before)) => {
                let length = positions.end.saturating_sub(positions.start);
                before.replaced(positions.start, &Vector::of(before.dtype(), length, gap))
            }
            _ => moved.leaves.map(|(dtype, count)| Vector::of(dtype, count, gap)),
        };
        let Some(left) = left else { return };
        self.memory.put(rank, &written.buffer, Arc::new(left));
    }
}

/// What of the programs has been carried out.
struct Done<'a> {
    /// By rank, its program: every call asks.
    programs: Vec<&'a [Enqueued]>,
    places: BTreeSet<Place>,
    /// The parts of each group that has begun.
    parts: BTreeMap<(WorldRank, u64), Arc<[usize]>>,
}

impl<'a> Done<'a> {
    /// Nothing, yet.
    fn of(plan: &Plan, proposal: &'a Proposal) -> Self {
        let acts = |rank| plan.program_of(proposal, rank).map(|program| program.acts.as_slice());
        Self {
            programs: ranks(plan.world).map(|rank| acts(rank).unwrap_or_default()).collect(),
            places: BTreeSet::new(),
            parts: BTreeMap::new(),
        }
    }
}
