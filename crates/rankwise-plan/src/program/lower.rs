//! From a proposal with programs to a program of ranks.

use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_model::{Dtype, Operation, Reduction};
use rankwise_program::program::{Local, Planned, Step as Lowered};
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
        let known = sizes.of_rank(rank);
        let on = known.into_iter().flat_map(|known| &known.communicators);
        let on: Vec<(usize, Arc<str>)> = on
            .filter_map(|number| Some((*number, sizes.communicators.name(*number)?.clone())))
            .collect();
        let lowering = Lowering { plan, proposal, sizes, rank, on };
        let steps = acts.map(|(index, act)| {
            let moved = known.map(|known| known.moves.act(index)).unwrap_or_default();
            lowering.step(moved, act)
        });
        let steps: Result<Vec<Lowered>, PlanError> = steps.collect();
        programs.push(steps?);
    }
    let groups = sizes.communicators.by_name();
    Ok(Program { world: World::new(plan.world), groups, ranks: programs })
}

/// What the steps of a rank are made of.
struct Lowering<'a> {
    plan: &'a Plan,
    proposal: &'a Proposal,
    sizes: &'a Sizes,
    rank: WorldRank,
    /// Its communicators, by number and name.
    on: Vec<(usize, Arc<str>)>,
}

impl Lowering<'_> {
    fn step(&self, moved: &[Moved], act: &Enqueued) -> Result<Lowered, PlanError> {
        let (step, stream, host) = match act {
            Enqueued::Wait { stream } => return Ok(Lowered::Wait { stream: stream.clone() }),
            Enqueued::Fence { stream, after } => {
                return Ok(Lowered::Fence { stream: stream.clone(), after: after.clone() });
            }
            Enqueued::Step { step, stream, host } => (*step, stream, *host),
        };
        let at = At::of(self.proposal, step);
        if let Some(at) = at.filter(|at| matches!(at.step.act, Act::Group(_))) {
            let (_, parts) = at.step.act.of_rank(self.plan, self.rank);
            let parts = parts.into_iter().filter_map(|part| at.part(part)).zip(moved);
            let calls = parts.map(|(at, moved)| self.planned(&at, moved, stream));
            let calls: Vec<Planned> =
                calls.collect::<Result<Option<Vec<_>>, _>>()?.unwrap_or_default();
            if !calls.is_empty() {
                return Ok(Lowered::Unit(calls, host));
            }
        }
        let nothing = Moved::default();
        let moved = moved.first().unwrap_or(&nothing);
        let call = at.map(|at| self.planned(&at, moved, stream)).transpose()?.flatten();
        Ok(match call {
            Some(call) => Lowered::Call(call, host),
            None => {
                // Of an unknown element type nothing depends on its width.
                let dtype = moved.dtype.unwrap_or(Dtype::U8);
                let read_dtype = moved.read_dtype.unwrap_or(dtype);
                let (stream, buffers) = (stream.clone(), moved.buffers.clone());
                Lowered::Local(Local { stream, dtype, read_dtype, tag: None, buffers }, host)
            }
        })
    }

    /// The call of a collective or of one side of a message; `None` for anything else.
    fn planned(
        &self,
        at: &At<'_>,
        moved: &Moved,
        stream: &Arc<str>,
    ) -> Result<Option<Planned>, PlanError> {
        let signature = match &at.step.act {
            Act::Collective(call) => Some(self.collective(at, call, moved)?),
            Act::Message(message) => {
                let verb = match message.direction {
                    Direction::Send => Verb::Send { to: message.peer },
                    Direction::Recv => Verb::Recv { from: message.peer },
                };
                sized(verb, moved)
            }
            Act::Local(_) | Act::Group(_) => None,
        };
        let on = moved.call.and_then(|(on, _)| self.on.get(on));
        Ok(signature.zip(on).map(|(signature, (_, group))| Planned {
            group: group.clone(),
            signature,
            stream: stream.clone(),
            tag: None,
            value: None,
            creates: None,
            buffers: moved.buffers.clone(),
        }))
    }

    /// A collective's signature. A reduction that a rank does not name is the others'.
    fn collective(
        &self,
        at: &At<'_>,
        call: &CollectiveStep,
        moved: &Moved,
    ) -> Result<Signature, PlanError> {
        let named = || {
            let (on, seq) = moved.call?;
            self.sizes.reductions.get(&(self.on.get(on)?.0, seq)).copied()
        };
        let any = || call.kind.reduces().then_some(Reduction::Sum);
        let reduction = call.reduction.or_else(named).or_else(any);
        let operation: Operation = if reduction == call.reduction {
            operation(at, call)?
        } else {
            operation(at, &CollectiveStep { reduction, ..call.clone() })?
        };
        let verb = Collective::new(operation).map(Verb::Collective);
        Ok(verb.and_then(|verb| sized(verb, moved)).unwrap_or(Signature::local()))
    }
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
