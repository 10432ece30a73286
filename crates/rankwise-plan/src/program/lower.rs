//! From a proposal with programs to a program of ranks.

use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_model::{Dtype, Operation, Reduction};
use rankwise_program::program::{Buffers, Host, Local, Planned, Step as Lowered};
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
            acts.map(|(index, act)| one(proposal, sizes, rank, index, act)).collect();
        programs.push(steps?);
    }
    let groups = sizes.communicators.clone().into_groups().collect();
    Ok(Program { world: World::new(plan.world), groups, ranks: programs })
}

fn one(
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
    let nothing = Moved::default();
    let moved = sizes.moved.get(&(rank, index)).unwrap_or(&nothing);
    let at = At::of(proposal, step);
    let signature = match at.map(|at| (at, &at.step.act)) {
        Some((at, Act::Collective(call))) => Some(collective(&at, call, sizes, moved)?),
        Some((_, Act::Message(message))) => {
            let verb = match message.direction {
                Direction::Send => Verb::Send { to: message.peer },
                Direction::Recv => Verb::Recv { from: message.peer },
            };
            sized(verb, moved)
        }
        // The reader refuses groups in programs.
        Some((_, Act::Local(_) | Act::Group(_))) | None => None,
    };
    Ok(lowered(signature, moved, stream, host))
}

fn lowered(signature: Option<Signature>, moved: &Moved, stream: &Arc<str>, host: Host) -> Lowered {
    let stream = stream.clone();
    let buffers = Buffers { reads: moved.reads.clone(), writes: moved.writes.clone() };
    match signature.zip(moved.call.as_ref()) {
        Some((signature, (group, _))) => {
            let group = group.clone();
            let (tag, value, creates) = (None, None, None);
            Lowered::Call(Planned { group, signature, stream, tag, value, creates, buffers }, host)
        }
        None => {
            // Of an unknown element type nothing depends on its width.
            let dtype = moved.dtype.unwrap_or(Dtype::U8);
            Lowered::Local(Local { stream, dtype, tag: None, buffers }, host)
        }
    }
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
