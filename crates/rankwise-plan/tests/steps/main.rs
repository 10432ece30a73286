//! The steps that real programs have, each with values worked out by hand: views,
//! ragged buffers, groups, padding, tensors along an axis.

mod elsewhere;
mod groups;
mod infinities;
mod programs;
mod ragged;
mod refused;
mod tensors;
mod views;

use rankwise_plan::error::PlanError;
use rankwise_plan::evaluate::{Evaluation, evaluate};
use rankwise_plan::file::Format;
use rankwise_plan::need::{NeedsAnswer, judge_needs};
use rankwise_plan::plan::Plan;
use rankwise_plan::read::NoArrays;
use rankwise_plan::term::Terms;
use rankwise_topology::World;

/// A plan for some ranks: its inputs, and the steps of its one proposal.
fn text(ranks: u32, inputs: &str, steps: &[&str]) -> String {
    let steps: Vec<String> = steps.iter().map(|step| format!("    {{ {step} }},\n")).collect();
    format!(
        "format = 1\ngroup.ranks = {ranks}\n{inputs}\nproposal.p.step = [\n{}]\n",
        steps.concat()
    )
}

fn plan(text: &str) -> Plan {
    Plan::read(text, Format::Toml, &mut NoArrays).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// What the proposals of a plan leave on its ranks.
struct Done {
    plan: Plan,
    terms: Terms,
    evaluation: Evaluation,
}

fn done(text: &str) -> Done {
    let plan = plan(text);
    let mut terms = Terms::new();
    let evaluation = evaluate(&plan, &plan.proposals[0], &mut terms)
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    Done { plan, terms, evaluation }
}

impl Done {
    /// What a rank holds in a buffer, run by run.
    fn held(&self, rank: u32, buffer: &str) -> Vec<String> {
        let rank = World::new(self.plan.world).rank(rank).unwrap();
        let vector = self.evaluation.after.get(rank, buffer).unwrap();
        vector.runs().map(|run| self.terms.show_run(&run)).collect()
    }
}

/// What is wrong with a plan, read or carried out.
fn refusal(text: &str) -> PlanError {
    match Plan::read(text, Format::Toml, &mut NoArrays) {
        Err(error) => error,
        Ok(plan) => match evaluate(&plan, &plan.proposals[0], &mut Terms::new()) {
            Err(error) => error,
            Ok(_) => panic!("carried out as if it were right\n{text}"),
        },
    }
}

fn refused(ranks: u32, inputs: &str, steps: &[&str]) -> String {
    refusal(&text(ranks, inputs, steps)).to_string()
}

/// Whether the needs of a plan are satisfied, and the first that is not.
fn answer(text: &str) -> (NeedsAnswer, Option<String>) {
    let Done { plan, mut terms, evaluation } = done(text);
    let report = judge_needs(&plan, &plan.proposals[0], &evaluation, &mut terms)
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let evidence = report.needs.iter().find_map(|need| need.evidence.as_ref());
    let wrongs = evidence.map(|evidence| {
        evidence.wrongs.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    });
    (report.answer(), wrongs)
}

const SATISFIED: (NeedsAnswer, Option<String>) = (NeedsAnswer::Satisfied, None);
