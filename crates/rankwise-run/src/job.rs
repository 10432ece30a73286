//! One proposal of a plan, ready to be run.

use std::collections::{BTreeMap, HashMap, HashSet};

use rankwise_model::{Dtype, GroupSize};
use rankwise_plan::evaluate::{Call, Evaluation, evaluate};
use rankwise_plan::plan::{Act, LocalAct, Operand, Plan, Proposal, Step};
use rankwise_plan::term::Terms;
use rankwise_topology::{Group, Partition, World, WorldRank};

use crate::error::RunError;
use crate::fill::{Fill, Origin};
use crate::limits;

/// One proposal of a plan, ready to be run.
///
/// Holding a `Job` tells you that its steps do not contradict one another, that every
/// reduction is named, that every input has values, and that the stated limits are
/// kept. It does **not** tell you that no rank waits for another for ever: whether
/// messages outside one block can, is a question of streams, and shows when it runs.
#[derive(Clone, Debug)]
pub struct Job {
    pub(crate) plan: Plan,
    pub(crate) proposal: Proposal,
    pub(crate) terms: Terms,
    pub(crate) evaluation: Evaluation,
    pub(crate) fill: Fill,
    pub(crate) origins: Vec<(String, Origin)>,
    /// The partitions that need communicators of their own, in the order of the steps.
    pub(crate) splits: Vec<Partition>,
    split_at: HashMap<Partition, usize>,
    /// By step and rank: what the buffer that it writes is afterwards.
    shapes: Vec<HashMap<WorldRank, Shape>>,
    /// By step and first member of a group: which of the step's calls is the group's.
    calls: Vec<BTreeMap<WorldRank, usize>>,
}

/// Element type and length of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) dtype: Dtype,
    /// In elements.
    pub(crate) count: u64,
}

impl Job {
    /// Checks that `proposal` can be run.
    pub fn new(plan: &Plan, proposal: &Proposal, fill: Fill) -> Result<Self, RunError> {
        within("ranks", u64::from(plan.world.get()), limits::RANKS)?;
        if !proposal.programs.is_empty() {
            return Err(RunError::Programs { proposal: proposal.name.clone() });
        }
        for (step, Step { act, .. }) in proposal.steps.iter().enumerate() {
            if let Some(operation) = not_run(act) {
                return Err(RunError::Operation { step, operation });
            }
            if let Some(call) = unnamed(act) {
                return Err(RunError::Unnamed { step, call });
            }
        }
        // Lengths come first: values of a plan that is too large are never made.
        let mut terms = Terms::new();
        let evaluation = evaluate(plan, proposal, &mut terms)?;
        within("elements in all buffers", elements(plan, &evaluation), limits::ELEMENTS)?;
        let (plan, origins) = fill.apply(plan)?;
        let shapes = evaluation.steps.iter().map(|step| {
            let shape = |vector: &rankwise_plan::vector::Vector| Shape {
                dtype: vector.dtype(),
                count: vector.count(),
            };
            step.writes.iter().map(|write| (write.rank, shape(&write.vector))).collect()
        });
        let splits = splits(&plan, proposal);
        let calls = evaluation.steps.iter().map(|step| {
            let firsts = step.calls.iter().map(|call| call.group.members().first().copied());
            firsts.zip(0..).filter_map(|(first, at)| Some((first?, at))).collect()
        });
        Ok(Self {
            shapes: shapes.collect(),
            calls: calls.collect(),
            split_at: splits.iter().cloned().zip(0..).collect(),
            splits,
            plan,
            proposal: proposal.clone(),
            terms,
            evaluation,
            fill,
            origins,
        })
    }

    /// The plan, with values for every input.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The proposal.
    pub const fn proposal(&self) -> &Proposal {
        &self.proposal
    }

    /// How many ranks it needs.
    pub const fn world(&self) -> GroupSize {
        self.plan.world
    }

    /// Where the values of each input come from, by its name.
    pub fn origins(&self) -> &[(String, Origin)] {
        &self.origins
    }

    /// What `rank` writes in this step.
    pub(crate) fn shape(&self, step: usize, rank: WorldRank) -> Result<Shape, RunError> {
        let shape = self.shapes.get(step).and_then(|shapes| shapes.get(&rank)).copied();
        shape.ok_or_else(|| RunError::Internal {
            what: format!("rank {rank} writes nothing in step {step}"),
        })
    }

    /// Which of the split communicators serves the partition; `None` if the world's does.
    pub(crate) fn split_of(&self, partition: &Partition) -> Option<usize> {
        self.split_at.get(partition).copied()
    }

    /// The collective of `group` in this step.
    pub(crate) fn call(&self, step: usize, group: &Group) -> Result<&Call, RunError> {
        let first = group.members().first();
        let at = first.and_then(|first| self.calls.get(step)?.get(first).copied());
        let call = at.and_then(|at| self.evaluation.steps.get(step)?.calls.get(at));
        call.ok_or_else(|| RunError::Internal {
            what: format!("step {step} has no call of {group}"),
        })
    }
}

fn within(what: &'static str, found: u64, limit: u64) -> Result<(), RunError> {
    if found > limit { Err(RunError::Limit { what, found, limit }) } else { Ok(()) }
}

/// What it does, if that is not run yet: groups, positions of buffers, tensors.
fn not_run(act: &Act) -> Option<String> {
    let operands: Vec<&Operand> = match act {
        Act::Collective(call) => vec![&call.send, &call.recv],
        Act::Message(message) => vec![&message.buffer],
        Act::Local(local) => match &local.act {
            LocalAct::Alloc { .. } | LocalAct::Shard { .. } | LocalAct::Unshard { .. } => {
                return Some(local.act.name().to_owned());
            }
            act => act.reads().into_iter().chain([&local.recv]).collect(),
        },
        Act::Group(group) => return Some(group.stands_for.unwrap_or("group").to_owned()),
    };
    let part = operands.into_iter().find(|operand| operand.positions.is_some());
    part.map(|operand| format!("a step on positions of a buffer, {operand},"))
}

/// What it does, if it combines and does not say how.
fn unnamed(act: &Act) -> Option<String> {
    match act {
        Act::Collective(call) if call.kind.reduces() && call.reduction.is_none() => {
            Some(call.kind.to_string())
        }
        Act::Local(local) => match &local.act {
            LocalAct::Fold { reduction: None, .. } => Some("fold".to_owned()),
            _ => None,
        },
        _ => None,
    }
}

/// In all buffers that all ranks ever have.
fn elements(plan: &Plan, evaluation: &Evaluation) -> u64 {
    let inputs = plan.inputs.values().map(|input| input.counts.total(plan.world));
    let writes = evaluation.steps.iter().flat_map(|step| &step.writes);
    inputs.chain(writes.map(|write| write.vector.count())).fold(0, u64::saturating_add)
}

/// Every partition of a collective but the world itself, each once.
fn splits(plan: &Plan, proposal: &Proposal) -> Vec<Partition> {
    let whole = Partition::whole(World::new(plan.world));
    let mut seen = HashSet::from([whole]);
    let collectives = proposal.steps.iter().filter_map(|step| match &step.act {
        Act::Collective(call) => Some(&call.over),
        _ => None,
    });
    collectives.filter(|over| seen.insert((*over).clone())).cloned().collect()
}
