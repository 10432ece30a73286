//! From a proposal with programs to a program of ranks.

use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_model::{Dtype, Operation, Reduction};
use rankwise_program::program::{Buffers, Local, Planned, Step as Lowered};
use rankwise_program::{Collective, Program, Signature, Verb};
use rankwise_topology::{World, WorldRank};

use super::{Moved, Reductions, Sizes};
use crate::error::PlanError;
use crate::evaluate::{At, operation};
use crate::memory::ranks;
use crate::plan::{Act, CollectiveStep, Direction, Enqueued, Plan, Proposal};

/// The programs of a proposal as every rank's calls. A rank's step has the number of
/// its act.
///
/// Takes what is read and written out of `sizes`.
pub(crate) fn lower(
    plan: &Plan,
    proposal: &Proposal,
    sizes: &mut Sizes,
) -> Result<Program, PlanError> {
    let Sizes { moved, reductions, .. } = sizes;
    let mut programs = Vec::new();
    for rank in ranks(plan.world) {
        let acts = plan.program_of(proposal, rank).map(|program| program.acts.as_slice());
        let acts = acts.unwrap_or_default().iter().enumerate();
        let steps = acts.map(|(index, act)| {
            let moved = moved.get_mut(&(rank, index)).map(Vec::as_mut_slice).unwrap_or_default();
            one(plan, proposal, reductions, rank, moved, act)
        });
        let steps: Result<Vec<Lowered>, PlanError> = steps.collect();
        programs.push(steps?);
    }
    let groups = sizes.communicators.clone().into_groups().collect();
    Ok(Program { world: World::new(plan.world), groups, ranks: programs })
}

fn one(
    plan: &Plan,
    proposal: &Proposal,
    reductions: &Reductions,
    rank: WorldRank,
    moved: &mut [Moved],
    act: &Enqueued,
) -> Result<Lowered, PlanError> {
    let (step, stream, host) = match act {
        Enqueued::Wait { stream } => return Ok(Lowered::Wait { stream: stream.clone() }),
        Enqueued::Fence { stream, after } => {
            return Ok(Lowered::Fence { stream: stream.clone(), after: after.clone() });
        }
        Enqueued::Step { step, stream, host } => (*step, stream, *host),
    };
    let at = At::of(proposal, step);
    if let Some(at) = at.filter(|at| matches!(at.step.act, Act::Group(_))) {
        let (_, parts) = at.step.act.of_rank(plan, rank);
        let parts = parts.into_iter().filter_map(|part| at.part(part)).zip(&mut *moved);
        let calls = parts.map(|(at, moved)| planned(&at, reductions, moved, stream));
        let calls: Vec<Planned> = calls.collect::<Result<Option<Vec<_>>, _>>()?.unwrap_or_default();
        if !calls.is_empty() {
            return Ok(Lowered::Unit(calls, host));
        }
    }
    let mut nothing = Moved::default();
    let moved = moved.first_mut().unwrap_or(&mut nothing);
    let call = at.map(|at| planned(&at, reductions, moved, stream)).transpose()?.flatten();
    Ok(match call {
        Some(call) => Lowered::Call(call, host),
        None => {
            // Of an unknown element type nothing depends on its width.
            let dtype = moved.dtype.unwrap_or(Dtype::U8);
            let read_dtype = moved.read_dtype.unwrap_or(dtype);
            let (stream, buffers) = (stream.clone(), touched(moved));
            Lowered::Local(Local { stream, dtype, read_dtype, tag: None, buffers }, host)
        }
    })
}

/// The call of a collective or of one side of a message; `None` for anything else.
fn planned(
    at: &At<'_>,
    reductions: &Reductions,
    moved: &mut Moved,
    stream: &Arc<str>,
) -> Result<Option<Planned>, PlanError> {
    let signature = match &at.step.act {
        Act::Collective(call) => Some(collective(at, call, reductions, moved)?),
        Act::Message(message) => {
            let verb = match message.direction {
                Direction::Send => Verb::Send { to: message.peer },
                Direction::Recv => Verb::Recv { from: message.peer },
            };
            sized(verb, moved)
        }
        Act::Local(_) | Act::Group(_) => None,
    };
    let group = moved.call.as_ref().map(|(group, _)| group.clone());
    Ok(signature.zip(group).map(|(signature, group)| {
        let (stream, buffers) = (stream.clone(), touched(moved));
        Planned { group, signature, stream, tag: None, value: None, creates: None, buffers }
    }))
}

fn touched(moved: &mut Moved) -> Buffers {
    let (reads, writes) = (&mut moved.reads, &mut moved.writes);
    Buffers { reads: core::mem::take(reads), writes: core::mem::take(writes) }
}

/// A collective's signature. A reduction that a rank does not name is the others'.
fn collective(
    at: &At<'_>,
    call: &CollectiveStep,
    reductions: &Reductions,
    moved: &Moved,
) -> Result<Signature, PlanError> {
    let named = moved.call.as_ref().and_then(|call| reductions.get(call));
    let reduction =
        call.reduction.or(named.copied()).or(call.kind.reduces().then_some(Reduction::Sum));
    let operation: Operation = if reduction == call.reduction {
        operation(at, call)?
    } else {
        operation(at, &CollectiveStep { reduction, ..call.clone() })?
    };
    let verb = Collective::new(operation).map(Verb::Collective);
    Ok(verb.and_then(|verb| sized(verb, moved)).unwrap_or(Signature::local()))
}

fn sized(verb: Verb, moved: &Moved) -> Option<Signature> {
    let Some(payload) = moved.payload else { return Signature::unsized_data(verb) };
    let (dtype, count) = (payload.dtype, payload.count);
    match verb {
        Verb::Collective(collective) => Some(Signature::collective(collective, dtype, count)),
        Verb::Send { to } => Some(Signature::send(to, dtype, count)),
        Verb::Recv { from } => Some(Signature::recv(from, dtype, count)),
        _ => None,
    }
}
