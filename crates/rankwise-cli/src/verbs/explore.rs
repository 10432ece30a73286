//! `rankwise explore PLAN[#NAME]`: which permutations of the devices are harmless.

mod data;
mod words;

use rankwise_plan::explore::{
    Exchange, Exploration, ExploreError, Harm, Permuted, exchanges, explore, permuted,
};
use rankwise_plan::need::NeedsAnswer;
use rankwise_plan::plan::{Plan, Proposal};
use rankwise_plan::relabel::Effect;
use rankwise_plan::repair::{Repair, repairs, satisfied};
use rankwise_topology::{DeviceOrder, Permutation};

use crate::args::PlanRef;
use crate::command::{Answer, Asked, Failure};
use crate::exit::Exit;
use crate::load::Loaded;
use crate::needs;
use crate::order::{NoOrder, Order, cycles, place_name};

pub(crate) use self::data::{Data, UnknownData};

/// A proposal, and what permutations of the devices do to it.
struct Explored<'a> {
    plan: &'a Plan,
    proposal: &'a Proposal,
    found: Exploration,
    exchanges: Vec<Exchange>,
    kinds_left: usize,
    /// The permutation that was asked about.
    asked: Option<(Permutation, Permuted)>,
    /// Repairs of the order that was asked about or, without one, of the plan's own map;
    /// `None` where nothing is broken.
    repairs: Option<Vec<Repair>>,
}

/// Explores one proposal, or all; with an `order` of the devices, also what that does.
pub(crate) fn run(
    asked: Asked,
    reference: &PlanRef,
    order: Option<&Order>,
    numbers: DeviceOrder,
) -> Result<Answer, Failure> {
    let loaded = Loaded::read(&reference.file, asked)?;
    let permutation = match order.map(|order| order.permutation(&loaded.plan, numbers)).transpose()
    {
        Ok(permutation) => permutation.flatten(),
        Err(NoOrder::Unusable(unusable)) => return Err(unusable.into()),
        Err(NoOrder::Unknown(reason)) => return unknown(asked, &loaded, &reason),
    };
    let progress = asked.progress("judging permutations of the devices");
    let mut all = Vec::new();
    for proposal in loaded.proposals(reference.proposal.as_deref())? {
        match Explored::of(&loaded.plan, proposal, permutation.as_ref()) {
            Ok(explored) => all.push(explored),
            Err(ExploreError::Plan(error)) => return Err(loaded.unusable(&error).into()),
            Err(error) => return unknown(asked, &loaded, &error.to_string()),
        }
    }
    drop(progress);

    let exit = needs::worst(all.iter().map(Explored::exit));
    let verdict = match (exit, permutation.is_some()) {
        (Exit::Yes, true) => "harmless",
        (Exit::No, true) => "breaks",
        (Exit::Yes, false) => "satisfied",
        (Exit::No, false) => "not_satisfied",
        _ => "unknown",
    };
    let data = Data::of(&loaded, &all);
    asked.answer(verdict, exit, &data, |page| {
        for one in &all {
            one.compose(page);
        }
        page.notes(&loaded.notes);
    })
}

/// Nothing is known of the devices, or of their new order.
fn unknown(asked: Asked, loaded: &Loaded, reason: &str) -> Result<Answer, Failure> {
    let plan = loaded.file.display().to_string();
    let data = UnknownData { plan, reason: reason.to_owned() };
    asked.answer("unknown", Exit::Unknown, &data, |page| {
        page.verdict(Exit::Unknown, "harmless: unknown");
        page.say(reason);
    })
}

impl<'a> Explored<'a> {
    fn of(
        plan: &'a Plan,
        proposal: &'a Proposal,
        permutation: Option<&Permutation>,
    ) -> Result<Self, ExploreError> {
        let found = explore(plan, proposal)?;
        let judged = exchanges(plan, proposal, &found)?;
        let asked = match permutation {
            Some(permutation) => {
                Some((permutation.clone(), permuted(plan, proposal, permutation)?))
            }
            None => None,
        };
        let answers = found.needs.needs.iter().map(|need| need.answer);
        let repairs = match &asked {
            Some((_, permuted)) if permuted.harm() == Harm::Breaks && permuted.after.is_ok() => {
                Some(repairs(&permuted.plan, proposal, &satisfied(answers))?)
            }
            None if found.needs.answer() == NeedsAnswer::NotSatisfied => {
                let all: Vec<usize> = (0..plan.needs.len()).collect();
                Some(repairs(plan, proposal, &all)?)
            }
            _ => None,
        };
        let (exchanges, kinds_left) = (judged.judged, judged.kinds_left);
        Ok(Self { plan, proposal, found, exchanges, kinds_left, asked, repairs })
    }

    fn exit(&self) -> Exit {
        let answer = self.asked.as_ref().map_or(self.found.answer, |(_, asked)| asked.answer);
        needs::exit(answer)
    }

    fn name(&self, place: u32) -> String {
        place_name(self.plan, place)
    }

    /// A permutation in cycles of device names.
    fn cycles(&self, permutation: &Permutation) -> String {
        cycles(self.plan, permutation)
    }

    /// The plan that the repairs are of.
    fn broken_plan(&self) -> &Plan {
        self.asked.as_ref().map_or(self.plan, |(_, permuted)| &permuted.plan)
    }
}

/// The needs that a permutation breaks.
fn broken_needs(permuted: &Permuted) -> Vec<usize> {
    let effects = permuted.effects();
    let breaks = |(need, effect): (usize, Effect)| (effect == Effect::Breaks).then_some(need);
    effects.into_iter().enumerate().filter_map(breaks).collect()
}
