//! A dry run: every buffer as long as the steps before make it, and nothing in it.
//!
//! Each rank goes through its program as if nothing ever waited, but for sizes: of a
//! recv, or on a rank that brings no input, the size is the other side's. Where that
//! never becomes known, the buffer is of unknown size, and so is what is made of it.
//!
//! Of ranks that move the same, and depend on nobody, one is gone through: see [`alike`].

mod alike;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use rankwise_model::{Dtype, Layout, Rank};
use rankwise_program::program::{Buffers, View};
use rankwise_program::{Payload, Seq};
use rankwise_topology::WorldRank;

use self::alike::{Alike, shared};
use super::collective::{count_of, layout, operation};
use super::message::{Ends, ends};
use super::{At, Machine};
use crate::error::PlanError;
use crate::memory::ranks;
use crate::plan::{
    Act, CollectiveStep, Direction, Elsewhere, Enqueued, GroupStep, LocalAct, LocalStep,
    MessageStep, Operand,
};
use crate::program::{Communicators, Moved, Numbered, OfRank, Sizes};
use crate::vector::{Content, Gap, Vector};

/// What is counted: the collectives of a rank on a communicator, its sends to a rank
/// and its recvs from one.
type Counted = (WorldRank, usize, Option<(Rank, Rank, Direction)>);

struct DryRun<'m, 'a> {
    machine: &'m mut Machine<'a>,
    sizes: Sizes,
    /// Buffers whose size depends on a call that may never come.
    unknown: BTreeSet<(WorldRank, String)>,
    counts: BTreeMap<Counted, u64>,
    /// The calls of the act that a rank is at, while any of them waits for a size.
    open: BTreeMap<WorldRank, Vec<OpenCall<'a>>>,
    /// What whoever brings the data moves.
    brought: Brought,
    /// What nobody had brought when everybody waited.
    given_up: Vec<Numbered>,
    /// The last vector that a buffer was given: most are as long as the one before.
    nothing: Option<Arc<Vector>>,
}

/// A call that is numbered, and may wait for its size.
struct OpenCall<'a> {
    at: At<'a>,
    key: Numbered,
    moved: Option<Moved>,
}

/// A rank, its program, and which act is next.
struct Course<'a> {
    rank: WorldRank,
    program: usize,
    acts: &'a [Enqueued],
    next: usize,
}

/// Whether a rank may wait for the size of another's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Patience {
    Waits,
    GoesOn,
}

/// What whoever brings the data of a call moves.
pub(super) type Brought = BTreeMap<Numbered, Payload>;

/// What one run through the programs has found.
pub(super) struct Found {
    pub(super) sizes: Sizes,
    pub(super) brought: Brought,
    /// Whether a size that was not waited for any longer has become known since.
    pub(super) late: bool,
}

/// Goes through the programs of a proposal, of which an earlier run knows what is
/// `brought` on which `communicators`. The machine's memory is of no use afterwards.
pub(super) fn sizes(
    machine: &mut Machine<'_>,
    brought: Brought,
    communicators: Communicators,
) -> Result<Found, PlanError> {
    let of_ranks = ranks(machine.plan.world).map(|_| OfRank::default()).collect();
    let mut run = DryRun {
        machine,
        sizes: Sizes { ranks: of_ranks, communicators, ..Sizes::default() },
        unknown: BTreeSet::new(),
        counts: BTreeMap::new(),
        open: BTreeMap::new(),
        brought,
        given_up: Vec::new(),
        nothing: None,
    };
    run.all()?;
    let DryRun { sizes, brought, given_up, .. } = run;
    let late = given_up.iter().any(|key| brought.contains_key(key));
    Ok(Found { sizes, brought, late })
}

impl<'a> DryRun<'_, 'a> {
    fn all(&mut self) -> Result<(), PlanError> {
        let (plan, proposal) = (self.machine.plan, self.machine.proposal);
        let course = |rank| {
            let program = proposal.programs.iter().position(|it| plan.is_on(&it.on, rank))?;
            let acts = proposal.programs.get(program)?.acts.as_slice();
            Some(Course { rank, program, acts, next: 0 })
        };
        let mut left: Vec<Course<'a>> = ranks(plan.world).filter_map(course).collect();
        let shared = shared(proposal);
        let mut alike = Alike::default();
        loop {
            let mut moved = false;
            for course in &mut left {
                let kind = if course.next == 0 { self.kind(course, &shared) } else { None };
                if let Some(first) = kind.as_ref().and_then(|kind| alike.get_mut(kind)) {
                    self.follow(course, first);
                    course.next = course.acts.len();
                    moved = true;
                    continue;
                }
                while let Some(act) = course.acts.get(course.next)
                    && self.act(course.rank, act, Patience::Waits)?
                {
                    course.next = course.next.saturating_add(1);
                    moved = true;
                }
                if let Some(kind) = kind {
                    alike.insert(kind, self.first(course.rank));
                }
            }
            left.retain(|course| course.next < course.acts.len());
            // If all wait, the lowest does no longer.
            match left.first_mut() {
                None => return Ok(()),
                Some(course) if !moved => {
                    if let Some(act) = course.acts.get(course.next) {
                        self.act(course.rank, act, Patience::GoesOn)?;
                    }
                    course.next = course.next.saturating_add(1);
                }
                Some(_) => {}
            }
        }
    }

    /// Goes through an act; whether that was possible.
    fn act(
        &mut self,
        rank: WorldRank,
        act: &Enqueued,
        patience: Patience,
    ) -> Result<bool, PlanError> {
        let at = match act {
            Enqueued::Step { step, .. } => At::of(self.machine.proposal, *step),
            Enqueued::Wait { .. } | Enqueued::Fence { .. } => None,
        };
        let moved = match at {
            None => Some(Vec::new()),
            Some(at) => self.step(at, rank, patience)?,
        };
        let Some(moved) = moved else { return Ok(false) };
        if let Some(known) = self.of_rank(rank) {
            Arc::make_mut(&mut known.moves).acts.push(moved);
        }
        Ok(true)
    }

    /// What a step moves; `None` while a size is missing.
    fn step(
        &mut self,
        at: At<'a>,
        rank: WorldRank,
        patience: Patience,
    ) -> Result<Option<Vec<Moved>>, PlanError> {
        if let Act::Local(local) = &at.step.act {
            return Ok(Some(Vec::from([self.local(&at, local, rank)?])));
        }
        let mut calls = match self.open.remove(&rank) {
            Some(calls) => calls,
            None => self.calls(at, rank)?,
        };
        for call in calls.iter_mut().filter(|call| call.moved.is_none()) {
            call.moved = self.call(call, rank, patience)?;
        }
        if calls.iter().any(|call| call.moved.is_none()) {
            self.open.insert(rank, calls);
            return Ok(None);
        }
        Ok(Some(calls.into_iter().filter_map(|call| call.moved).collect()))
    }

    fn of_rank(&mut self, rank: WorldRank) -> Option<&mut OfRank> {
        self.sizes.ranks.get_mut(usize::try_from(rank.index()).ok()?)
    }

    /// The calls of an act, each with its number: those of a group in its order, whichever
    /// is gone through first.
    fn calls(&mut self, at: At<'a>, rank: WorldRank) -> Result<Vec<OpenCall<'a>>, PlanError> {
        if let Act::Group(GroupStep { stands_for: Some(_), steps, .. }) = &at.step.act {
            // Of a call that is written out here, everybody is in some group.
            if let Some(
                Act::Collective(CollectiveStep { over, over_name, .. })
                | Act::Message(MessageStep { over, over_name, .. }),
            ) = steps.first().map(|step| &step.act)
            {
                at.group_of(over, over_name.as_deref(), rank)?;
            }
        }
        let (opens, parts) = at.step.act.of_rank(self.machine.plan, rank);
        for step in opens {
            if let Act::Local(local) = &step.act {
                self.local(&at, local, rank)?;
            }
        }
        let alone = (!matches!(at.step.act, Act::Group(_))).then_some(at);
        let parts = parts.into_iter().filter_map(|part| at.part(part));
        let mut calls = Vec::new();
        for at in alone.into_iter().chain(parts) {
            let (on, of_pair) = match &at.step.act {
                Act::Collective(call) => {
                    let over_name = call.over_name.as_deref();
                    let (group, _) = at.group_of(&call.over, over_name, rank)?;
                    (self.sizes.communicators.number(&call.over, over_name, group), None)
                }
                Act::Message(message) => {
                    let Ends { group, from, to, .. } = ends(&at, message, rank)?;
                    let over_name = message.over_name.as_deref();
                    let on = self.sizes.communicators.number(&message.over, over_name, group);
                    (on, Some((from, to, message.direction)))
                }
                Act::Local(_) | Act::Group(_) => continue,
            };
            let count = self.counts.entry((rank, on, of_pair)).or_default();
            let seq = match of_pair {
                None => Seq::Collective(*count),
                Some((from, to, _)) => Seq::Message { from, to, number: *count },
            };
            *count = count.saturating_add(1);
            calls.push(OpenCall { at, key: (on, seq), moved: None });
        }
        Ok(calls)
    }

    fn call(
        &mut self,
        open: &OpenCall<'a>,
        rank: WorldRank,
        patience: Patience,
    ) -> Result<Option<Moved>, PlanError> {
        let OpenCall { at, key, .. } = *open;
        let (mut moved, whole) = match &at.step.act {
            Act::Collective(call) => {
                let whole = call.send.positions.is_none() && !call.in_place();
                (self.collective(&at, call, key, rank, patience)?, whole)
            }
            Act::Message(message) => {
                let whole = message.buffer.positions.is_none();
                (self.message(&at, message, key, rank, patience)?, whole)
            }
            Act::Local(_) | Act::Group(_) => return Ok(Some(Moved::default())),
        };
        if at.part.is_some() && whole {
            // All of it, as long as it was before another part made it anew.
            let buffers = moved.iter_mut().map(|moved| Arc::make_mut(&mut moved.buffers));
            let reads = buffers.flat_map(|buffers| &mut buffers.reads);
            reads.for_each(|view| view.end = u64::MAX);
        }
        if let Some(moved) = &mut moved {
            let (on, seq) = key;
            moved.call = self.own_number(rank, on).map(|on| (on, seq));
        }
        Ok(moved)
    }

    /// Which of its own communicators one is to a rank.
    fn own_number(&mut self, rank: WorldRank, on: usize) -> Option<usize> {
        let own = &mut self.of_rank(rank)?.communicators;
        let known = own.iter().position(|known| *known == on);
        Some(known.unwrap_or_else(|| {
            own.push(on);
            own.len().saturating_sub(1)
        }))
    }

    fn collective(
        &mut self,
        at: &At<'a>,
        call: &CollectiveStep,
        key: Numbered,
        rank: WorldRank,
        patience: Patience,
    ) -> Result<Option<Moved>, PlanError> {
        let (group, own) = at.group_of(&call.over, call.over_name.as_deref(), rank)?;
        let operation = operation(at, call)?;
        let unit = layout(at, operation, group.size(), 1)?;
        let Ok(unit_at) = unit.at(own) else { return Ok(Some(Moved::default())) };
        let payload = if unit_at.has_input() {
            let known = self.is_known(rank, &call.send);
            let buffer = known.then(|| self.machine.read(at, rank, &call.send)).transpose()?;
            let payload = buffer.map(|buffer| {
                let count = count_of(at, call, &unit_at, rank, &buffer)?;
                Ok(Payload { dtype: buffer.dtype(), count })
            });
            payload.transpose()?
        } else {
            match (self.brought.get(&key).copied(), patience) {
                (None, Patience::Waits) => return Ok(None),
                (None, Patience::GoesOn) => {
                    self.given_up.push(key);
                    None
                }
                (Some(brought), _) => Some(stated(brought, call.count)),
            }
        };
        if let Some(reduction) = call.reduction {
            self.sizes.reductions.entry(key).or_insert(reduction);
        }
        if unit_at.has_input()
            && let Some(payload) = payload
        {
            self.brought.entry(key).or_insert(payload);
        }
        let layout = payload.map(|payload| layout(at, operation, group.size(), payload.count));
        let layout = layout.transpose()?;
        let before = self.before(rank, &call.recv, payload);
        let mut moved = touched_by(call, layout.as_ref(), own, before);
        moved.payload = payload;
        moved.dtype = payload.map(|payload| payload.dtype);
        moved.leaves = match (payload, &layout) {
            (Some(payload), _) if call.in_place() => {
                let before = self.machine.memory.get(rank, &call.recv.buffer);
                Some((payload.dtype, before.map_or(0, |before| before.count())))
            }
            // Where no output is promised, a buffer of that length is said to hold none.
            (Some(payload), Some(layout)) => {
                // The root's, where only it has one; else everybody's.
                let holder = operation.root().filter(|_| !unit_at.has_output()).unwrap_or(own);
                let promised = layout.at(holder).map_or(0, |at| at.output_len());
                Some((payload.dtype, promised))
            }
            _ => None,
        };
        self.leave(at, rank, &call.recv, moved.leaves);
        Ok(Some(moved))
    }

    fn message(
        &mut self,
        at: &At<'a>,
        message: &MessageStep,
        key: Numbered,
        rank: WorldRank,
        patience: Patience,
    ) -> Result<Option<Moved>, PlanError> {
        let mut moved = Moved::default();
        match message.direction {
            Direction::Send => {
                if self.is_known(rank, &message.buffer) {
                    let buffer = self.machine.read(at, rank, &message.buffer)?;
                    let payload = Payload { dtype: buffer.dtype(), count: buffer.count() };
                    self.brought.insert(key, payload);
                    moved.payload = Some(payload);
                }
                let count = moved.payload.map(|payload| payload.count);
                let reads = count.map(|count| view(true, &message.buffer, 0..count));
                let reads = reads.unwrap_or_default();
                moved.buffers = Arc::new(Buffers { reads, writes: Vec::new() });
            }
            Direction::Recv => {
                moved.payload = match (self.brought.get(&key).copied(), patience) {
                    (None, Patience::Waits) => return Ok(None),
                    (None, Patience::GoesOn) => {
                        self.given_up.push(key);
                        None
                    }
                    (Some(brought), _) => Some(stated(brought, message.count)),
                };
                let count = moved.payload.map(|payload| payload.count);
                let before = self.before(rank, &message.buffer, moved.payload);
                let writes = count.map(|count| made(true, &message.buffer, 0..count, before));
                let writes = writes.unwrap_or_default();
                moved.buffers = Arc::new(Buffers { reads: Vec::new(), writes });
                moved.leaves = moved.payload.map(|payload| (payload.dtype, payload.count));
                self.leave(at, rank, &message.buffer, moved.leaves);
            }
        }
        moved.dtype = moved.payload.map(|payload| payload.dtype);
        Ok(Some(moved))
    }

    fn local(
        &mut self,
        at: &At<'a>,
        step: &LocalStep,
        rank: WorldRank,
    ) -> Result<Moved, PlanError> {
        let reads = step.act.reads();
        let buffers = Buffers {
            reads: reads.iter().map(|from| all_of(from)).collect(),
            writes: Vec::from([all_of(&step.recv)]),
        };
        let mut moved = Moved { buffers: buffers.into(), ..Moved::default() };
        if let LocalAct::Cast { from, .. } = &step.act {
            let from = self.machine.memory.get(rank, &from.buffer);
            moved.read_dtype = from.map(|from| from.dtype());
        }
        let known = |of: &Operand| self.is_known(rank, of);
        let part_of_known = step.recv.positions.is_none() || known(&step.recv);
        if reads.iter().all(|from| known(from)) && part_of_known {
            self.machine.local(at, step, rank)?;
            let made = self.machine.memory.get(rank, &step.recv.buffer);
            moved.leaves = made.map(|made| (made.dtype(), made.count()));
        }
        moved.dtype = moved.leaves.map(|(dtype, _)| dtype);
        self.leave(at, rank, &step.recv, moved.leaves);
        Ok(moved)
    }

    /// Gives a buffer a size, or none that is known.
    fn leave(
        &mut self,
        at: &At<'_>,
        rank: WorldRank,
        into: &Operand,
        leaves: Option<(Dtype, u64)>,
    ) {
        // A part of a buffer leaves it as long as it is.
        if into.positions.is_some() {
            return;
        }
        let buffer = into.buffer.as_str();
        let Some((dtype, count)) = leaves else {
            self.unknown.insert((rank, String::from(buffer)));
            return;
        };
        if !self.unknown.is_empty() {
            self.unknown.remove(&(rank, String::from(buffer)));
        }
        let is_new = !self.machine.plan.inputs.contains_key(buffer);
        let nothing = self.nothing.take();
        let nothing = nothing.filter(|last| (last.dtype(), last.count()) == (dtype, count));
        let nothing = nothing.unwrap_or_else(|| {
            Arc::new(Vector::of(dtype, count, Content::Gap(Gap::NeverRan { step: at.index })))
        });
        self.nothing = Some(Arc::clone(&nothing));
        let name = self.machine.memory.put(rank, buffer, nothing);
        if let Some(known) = self.of_rank(rank).filter(|_| is_new) {
            let first = &mut Arc::make_mut(&mut known.moves).first;
            first.entry(name).or_insert((dtype, count, at.index));
        }
    }

    /// How long a buffer is until it is made anew, in elements of what is written then.
    fn before(&self, rank: WorldRank, of: &Operand, payload: Option<Payload>) -> u64 {
        let before = self.machine.memory.get(rank, &of.buffer);
        let bytes = before.map_or(0, |it| it.count().saturating_mul(it.dtype().bytes()));
        let width = payload.map_or(1, |payload| payload.dtype.bytes());
        bytes.saturating_add(width.saturating_sub(1)).checked_div(width).unwrap_or(bytes)
    }

    /// Whether the size of a buffer depends on nothing that may never come.
    fn is_known(&self, rank: WorldRank, of: &Operand) -> bool {
        self.unknown.is_empty() || !self.unknown.contains(&(rank, of.buffer.clone()))
    }
}

/// What a call moves whose data another brings: as much as it says itself, if it does.
fn stated(brought: Payload, count: Option<u64>) -> Payload {
    Payload { count: count.unwrap_or(brought.count), ..brought }
}

/// What a rank's call reads and writes; nothing that is known while its size is not.
/// What it writes is `before` elements long until then.
fn touched_by(call: &CollectiveStep, layout: Option<&Layout>, own: Rank, before: u64) -> Moved {
    let at = layout.and_then(|layout| layout.at(own).ok());
    let Some(at) = at else { return Moved::default() };
    let relation = at.in_place().filter(|_| call.in_place());
    let (input, output) = match relation {
        Some(relation) => (relation.input, relation.output),
        None => (0..at.input_len(), 0..at.output_len()),
    };
    let writes = match (at.has_output(), call.elsewhere) {
        (true, _) if call.in_place() => view(true, &call.recv, output),
        // What is handed in for nothing is lost.
        (false, Elsewhere::NotPromised) => Vec::from([all_of(&call.recv)]),
        (has_output, _) => made(has_output, &call.recv, output, before),
    };
    let buffers = Buffers { reads: view(at.has_input(), &call.send, input), writes };
    Moved { buffers: buffers.into(), ..Moved::default() }
}

/// What is written: a buffer that is made anew is another from its first position to the
/// last that it had.
fn made(is_there: bool, of: &Operand, positions: Range<u64>, before: u64) -> Vec<View> {
    let whole = of.positions.is_none();
    let end = if whole { positions.end.max(before) } else { positions.end };
    view(is_there, of, positions.start..end)
}

/// Some positions of what a call names.
fn view(is_there: bool, of: &Operand, positions: Range<u64>) -> Vec<View> {
    let base = of.positions.as_ref().map_or(0, |positions| positions.start);
    let view = is_there.then(|| View {
        buffer: of.buffer.as_str().into(),
        start: base.saturating_add(positions.start),
        end: base.saturating_add(positions.end),
    });
    view.into_iter().collect()
}

/// All that a call names.
fn all_of(operand: &Operand) -> View {
    let whole = View::whole(operand.buffer.as_str());
    match &operand.positions {
        None => whole,
        Some(positions) => View { start: positions.start, end: positions.end, ..whole },
    }
}
