//! Templates: every plan meets its own needs, wrong variants do not, and what ranks
//! hold is what the papers say.

mod layers;
mod padding;
mod pipeline;
mod training;

use rankwise_plan::Plan;
use rankwise_plan::evaluate::evaluate;
use rankwise_plan::file::{Buffers, Over, PlanFile, Spanned, Step};
use rankwise_plan::need::{NeedsAnswer, NeedsReport, judge_needs};
use rankwise_plan::read::NoArrays;
use rankwise_plan::template::{Draft, Kind};
use rankwise_plan::term::Terms;
use rankwise_plan::wrong::Wrong;

fn judged(plan: &Plan) -> NeedsReport {
    let mut terms = Terms::new();
    let proposal = &plan.proposals[0];
    let evaluation = evaluate(plan, proposal, &mut terms).unwrap();
    judge_needs(plan, proposal, &evaluation, &mut terms).unwrap()
}

/// The names of what is wrong, at the first need that is not met.
#[track_caller]
fn wrongs(file: &PlanFile) -> (String, Vec<&'static str>) {
    let plan = Plan::from_file(file, "", &mut NoArrays).unwrap();
    let report = judged(&plan);
    assert_eq!(report.answer(), NeedsAnswer::NotSatisfied);
    let failing = report.needs.iter().find(|need| need.evidence.is_some()).unwrap();
    let evidence = failing.evidence.as_ref().unwrap();
    (evidence.buffer.clone(), evidence.wrongs.iter().map(Wrong::name).collect())
}

/// What rank 0 holds when `title` is done; every rank holds the same.
#[track_caller]
fn bytes(draft: &Draft, title: &str) -> [u64; 4] {
    let holdings = draft.holdings().unwrap();
    let moment = holdings.moments.iter().find(|moment| moment.title == title);
    let moment = moment.unwrap_or_else(|| panic!("{title}: not in {holdings:#?}"));
    let [(ranks, held)] = &moment.held[..] else { panic!("all ranks alike: {moment:?}") };
    assert_eq!(ranks.len(), draft.plan().unwrap().world.get() as usize);
    Kind::ALL.map(|kind| held.kinds.get(&kind).map_or(0, |amount| amount.bytes))
}

/// The steps of the one proposal, changed.
fn changed(draft: &Draft, change: impl FnOnce(&mut Vec<Step>)) -> PlanFile {
    let mut file = draft.file();
    let proposal = &mut file.proposal.0[0].1.value;
    let mut steps = proposal.step.drain(..).map(|step| step.value).collect();
    change(&mut steps);
    proposal.step = steps.into_iter().map(Spanned::nowhere).collect();
    file
}

fn is(step: &Step, call: &str, recv: &str) -> bool {
    step.call.as_ref().is_some_and(|said| said.value == call)
        && step.recv.as_ref().is_some_and(|said| said.value == recv)
}

#[track_caller]
fn find<'s>(steps: &'s mut [Step], call: &str, recv: &str) -> &'s mut Step {
    let found = steps.iter_mut().find(|step| is(step, call, recv));
    found.unwrap_or_else(|| panic!("no {call} into {recv}"))
}

fn word(text: &str) -> Spanned<String> {
    Spanned::nowhere(text.into())
}

fn buffer(name: &str) -> Spanned<Buffers> {
    Spanned::nowhere(Buffers::One(name.into()))
}

fn axis(name: &str) -> Spanned<Over> {
    Spanned::nowhere(Over::Name(name.into()))
}
