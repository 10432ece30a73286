//! One permutation of the devices, and what it does.

use alloc::vec::Vec;

use rankwise_topology::Permutation;

use super::ExploreError;
use crate::error::PlanError;
use crate::evaluate::{Evaluation, evaluate};
use crate::need::{Answer, NeedsAnswer, NeedsReport, judge_needs};
use crate::plan::{Plan, Proposal};
use crate::relabel::{Effect, permute};
use crate::term::Terms;

/// A plan before and after a permutation of its devices.
#[derive(Clone, Debug)]
pub struct Permuted {
    /// The plan with the devices permuted.
    pub plan: Plan,
    /// The needs before.
    pub before: NeedsReport,
    /// The needs after; or why the permuted plan contradicts itself.
    pub after: Result<NeedsReport, PlanError>,
    /// Whether the proposal does what is needed after it.
    pub answer: NeedsAnswer,
    /// Whether the calls of its programs met before, and do not any more.
    pub apart: bool,
}

/// Whether a permutation is harmless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Harm {
    /// Whatever was satisfied still is.
    None,
    /// Something that was satisfied is not known to be any more; nothing is broken.
    Undecided,
    /// Something that was satisfied is not any more.
    Breaks,
}

impl Permuted {
    /// What it does to each need; empty where the permuted plan contradicts itself.
    pub fn effects(&self) -> Vec<Effect> {
        let Ok(after) = &self.after else { return Vec::new() };
        let pairs = self.before.needs.iter().zip(&after.needs);
        pairs.map(|(before, after)| Effect::between(before, after)).collect()
    }

    /// Whether it is harmless.
    pub fn harm(&self) -> Harm {
        let asked = |report: &NeedsReport| {
            report.needs.iter().map(|need| need.answer).collect::<Vec<Answer>>()
        };
        let before = asked(&self.before);
        let Ok(after) = &self.after else {
            // What contradicts itself satisfies nothing.
            let any = before.contains(&Answer::Yes);
            return if any { Harm::Breaks } else { Harm::None };
        };
        if self.apart && before.contains(&Answer::Yes) {
            return Harm::Breaks;
        }
        let satisfied = before.iter().zip(asked(after)).filter(|(was, _)| **was == Answer::Yes);
        let harm = satisfied.map(|(_, is)| match is {
            Answer::Yes => Harm::None,
            Answer::Unknown => Harm::Undecided,
            Answer::No => Harm::Breaks,
        });
        harm.max().unwrap_or(Harm::None)
    }
}

/// Puts the rank that was on the device of rank `r` on that of rank `σ(r)`, and judges
/// the needs before and after.
///
/// Fails where the plan states no devices, where there is not one point for each rank,
/// and where the plan contradicts itself as it stands.
pub fn permuted(
    plan: &Plan,
    proposal: &Proposal,
    permutation: &Permutation,
) -> Result<Permuted, ExploreError> {
    let relabelled = permute(plan, permutation)?;
    let mut terms = Terms::new();
    let own = evaluate(plan, proposal, &mut terms)?;
    let before = judge_needs(plan, proposal, &own, &mut terms)?;
    let moved = evaluate(&relabelled, proposal, &mut terms);
    let meets = |evaluation: &Evaluation| evaluation.reports().is_empty();
    let apart = meets(&own) && moved.as_ref().is_ok_and(|moved| !meets(moved));
    // What contradicts itself satisfies nothing.
    let mut answer = NeedsAnswer::NotSatisfied;
    let after = moved.and_then(|evaluation| {
        let needs = judge_needs(&relabelled, proposal, &evaluation, &mut terms)?;
        answer = needs.answer_of(&evaluation);
        Ok(needs)
    });
    Ok(Permuted { plan: relabelled, before, after, answer, apart })
}
