//! Local acts on numbers: by the plan's own arithmetic, never by a second one.

use std::collections::BTreeMap;

use rankwise_model::GroupSize;
use rankwise_plan::error::Span;
use rankwise_plan::evaluate::evaluate;
use rankwise_plan::numbers::Numbers;
use rankwise_plan::plan::{
    Act, Attachment, Counts, Input, LocalAct, LocalStep, On, Plan, Proposal, Step,
};
use rankwise_plan::term::Terms;
use rankwise_plan::values::Values;
use rankwise_topology::World;

use crate::error::RunError;

/// The word of the act in a plan.
pub(crate) const fn word(act: &LocalAct) -> &'static str {
    act.name()
}

/// The buffers that the act reads.
pub(crate) fn reads(act: &LocalAct) -> Vec<&String> {
    act.reads().into_iter().map(|operand| &operand.buffer).collect()
}

/// What the act makes of what the buffers hold.
///
/// It is evaluated as a plan of its own: one rank, the buffers as inputs, this one step.
pub(crate) fn carry_out(
    local: &LocalStep,
    buffers: BTreeMap<String, Values>,
) -> Result<Values, RunError> {
    let inputs = buffers.into_iter().map(|(name, values)| {
        let input = Input {
            name: name.clone(),
            dtype: values.dtype(),
            counts: Counts::Each(values.count()),
            shape: None,
            meaning: None,
            attached: Attachment::Rank,
            values: Some(vec![values]),
            rounded: 0,
            span: Span::default(),
        };
        (name, input)
    });
    let act = Act::Local(LocalStep { on: On::EveryRank, ..local.clone() });
    let proposal = Proposal {
        name: "local".to_owned(),
        steps: vec![Step { act, span: Span::default() }],
        programs: Vec::new(),
        outputs: None,
        renames: BTreeMap::new(),
        span: Span::default(),
    };
    let plan = Plan {
        world: GroupSize::ONE,
        map: None,
        partitions: BTreeMap::new(),
        inputs: inputs.collect(),
        proposals: Vec::new(),
        needs: Vec::new(),
    };
    let mut terms = Terms::new();
    let evaluation = evaluate(&plan, &proposal, &mut terms)?;
    let numbers = Numbers::of(&plan, &mut terms);
    let rank = World::new(GroupSize::ONE).ranks().next();
    let made = rank.and_then(|rank| evaluation.after.get(rank, &local.recv.buffer));
    let values = made.and_then(|vector| {
        let scalars: Option<Vec<_>> = numbers.values(&terms, vector).into_iter().collect();
        Values::from_scalars(vector.dtype(), scalars?)
    });
    values.ok_or_else(|| RunError::Internal {
        what: format!("{} into {} has no values", word(&local.act), local.recv),
    })
}
