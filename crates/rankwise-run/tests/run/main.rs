//! Plans, run on a small backend of these tests' own, and what the record says of it.

mod collectives;
mod faults;
mod filling;
mod local;
mod messages;
mod mission;
mod programs;
mod records;
mod toy;

use std::collections::BTreeMap;

use rankwise_plan::Plan;
use rankwise_plan::file::Format;
use rankwise_plan::read::NoArrays;
use rankwise_run::{Fill, Job, Outcome, run};
use toy::Wrong;

fn plan(text: &str) -> Plan {
    Plan::read(text, Format::Toml, &mut NoArrays).expect("the plan is right")
}

fn job(plan: &Plan, name: &str) -> Job {
    let proposal = plan.proposal(name).expect("the plan has it");
    Job::new(plan, proposal, Fill::Pattern { seed: 0 }).expect("it can be run")
}

/// Runs the proposal `p` of a plan.
fn outcome(text: &str, wrong: &Wrong) -> Outcome {
    let plan = plan(text);
    run(&job(&plan, "p"), toy::world(plan.world.get(), wrong))
}

/// What every rank holds in a buffer, as numbers.
fn held(outcome: &Outcome, buffer: &str) -> Vec<Vec<f64>> {
    let held: BTreeMap<_, _> =
        outcome.left.iter().filter(|((_, name), _)| name == buffer).collect();
    held.into_values()
        .map(|values| values.iter().map(rankwise_model::Scalar::to_f64).collect())
        .collect()
}
