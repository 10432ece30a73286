//! From a proposal with programs to a program of ranks.

use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_model::{Dtype, Operation, Reduction};
use rankwise_program::program::{Buffers, Local, Planned, Step as Lowered};
use rankwise_program::{Collective, Program, Signature, Verb};
use rankwise_topology::{World, WorldRank};

use super::{Moved, Sizes};
use crate::error::PlanError;
use crate::evaluate::{At, operation};
use crate::memory::ranks;
use crate::plan::{Act, CollectiveStep, Direction, Enqueued, Plan, Proposal};

/// The programs of a proposal as every rank's calls. A rank's step has the number of
/// its act.
pub(crate) fn lower(plan: &Plan, proposal: &Proposal, sizes: &Sizes) -> Result<Program, PlanError> {
    let mut programs = Vec::new();
    for rank in ranks(plan.world) {
        let acts = plan.program_of(proposal, rank).map(|program| program.acts.as_slice());
        let acts = acts.unwrap_or_default().iter().enumerate();
        let steps: Result<Vec<Lowered>, PlanError> =
            acts.map(|(index, act)| one(plan, proposal, sizes, rank, index, act)).collect();
        programs.push(steps?);
    }
    let groups = sizes.communicators.clone().into_groups().collect();
    Ok(Program { world: World::new(plan.world), groups, ranks: programs })
}

fn one(
    plan: &Plan,
    proposal: &Proposal,
    sizes: &Sizes,
    rank: WorldRank,
    index: usize,
    act: &Enqueued,
) -> Result<Lowered, PlanError> {
    let (step, stream, host) = match act {
        Enqueued::Wait { stream } => return Ok(Lowered::Wait { stream: stream.clone() }),
        Enqueued::Fence { stream, after } => {
            return Ok(Lowered::Fence { stream: stream.clone(), after: after.clone() });
        }
        Enqueued::Step { step, stream, host } => (*step, stream, *host),
    };
    let moved = sizes.moved.get(&(rank, index)).map(Vec::as_slice).unwrap_or_default();
    let at = At::of(proposal, step);
    if let Some(at) = at.filter(|at| matches!(at.step.act, Act::Group(_))) {
        let (_, parts) = at.step.act.of_rank(plan, rank);
        let parts = parts.into_iter().filter_map(|part| at.part(part)).zip(moved);
        let calls = parts.map(|(at, moved)| planned(&at, sizes, moved, stream));
        let calls: Vec<Planned> = calls.collect::<Result<Option<Vec<_>>, _>>()?.unwrap_or_default();
        if !calls.is_empty() {
            return Ok(Lowered::Unit(calls, host));
        }
    }
    let nothing = Moved::default();
    let moved = moved.first().unwrap_or(&nothing);
    let call = at.map(|at| planned(&at, sizes, moved, stream)).transpose()?.flatten();
    Ok(match call {
        Some(call) => Lowered::Call(call, host),
        None => {
            // Of an unknown element type nothing depends on its width.
            let dtype = moved.dtype.unwrap_or(Dtype::U8);
            let buffers = Buffers { reads: moved.reads.clone(), writes: moved.writes.clone() };
            Lowered::Local(Local { stream: stream.clone(), dtype, tag: None, buffers }, host)
        }
    })
}

/// The call of a collective or of one side of a message; `None` for anything else.
fn planned(
    at: &At<'_>,
    sizes: &Sizes,
    moved: &Moved,
    stream: &Arc<str>,
) -> Result<Option<Planned>, PlanError> {
    let signature = match &at.step.act {
        Act::Collective(call) => Some(collective(at, call, sizes, moved)?),
        Act::Message(message) => {
            let verb = match message.direction {
                Direction::Send => Verb::Send { to: message.peer },
                Direction::Recv => Verb::Recv { from: message.peer },
            };
            sized(verb, moved)
        }
        Act::Local(_) | Act::Group(_) => None,
    };
    Ok(signature.zip(moved.call.as_ref()).map(|(signature, (group, _))| {
        let (group, stream) = (group.clone(), stream.clone());
        let buffers = Buffers { reads: moved.reads.clone(), writes: moved.writes.clone() };
        Planned { group, signature, stream, tag: None, value: None, creates: None, buffers }
    }))
}

/// A collective's signature. A reduction that a rank does not name is the others'.
fn collective(
    at: &At<'_>,
    call: &CollectiveStep,
    sizes: &Sizes,
    moved: &Moved,
) -> Result<Signature, PlanError> {
    let named = moved.call.as_ref().and_then(|call| sizes.reductions.get(call));
    let reduction =
        call.reduction.or(named.copied()).or(call.kind.reduces().then_some(Reduction::Sum));
    let operation: Operation = operation(at, &CollectiveStep { reduction, ..call.clone() })?;
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
