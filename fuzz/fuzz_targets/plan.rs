//! Any text as a plan, by hand and by machine: refused with a place, or read; and
//! what was read can be judged.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rankwise_plan::compare::{State, compare};
use rankwise_plan::error::PlanError;
use rankwise_plan::file::Format;
use rankwise_plan::plan::Plan;
use rankwise_plan::read::NoArrays;
use rankwise_plan::relabel::relabel;
use rankwise_plan::term::Terms;

fuzz_target!(|text: &str| {
    for format in [Format::Toml, Format::Json] {
        match Plan::read(text, format, &mut NoArrays) {
            Err(error) => is_placed(&error, text),
            // Larger ones are no more interesting, only slower.
            Ok(plan) if plan.world.get() <= 64 && plan.proposals.len() <= 4 => {
                judge(&plan, text);
                if let Some(mirrored) = mirror(&plan) {
                    judge(&mirrored, text);
                }
            }
            Ok(_) => {}
        }
    }
});

/// Compares each proposal with itself and with the first.
fn judge(plan: &Plan, text: &str) {
    for proposal in &plan.proposals {
        match compare((plan, proposal), (plan, proposal), &mut Terms::new()) {
            Err(error) => is_placed(&error.error, text),
            Ok(comparison) => {
                assert_ne!(comparison.state.state, State::Different, "{}", proposal.name);
                let [one, other] = &comparison.needs;
                assert_eq!(one.answer(), other.answer(), "{}", proposal.name);
            }
        }
        if let Some(first) = plan.proposals.first() {
            match compare((plan, first), (plan, proposal), &mut Terms::new()) {
                Err(error) => is_placed(&error.error, text),
                Ok(comparison) => drop(comparison.summary()),
            }
        }
    }
}

/// The plan with its devices the other way round, if it names any.
fn mirror(plan: &Plan) -> Option<Plan> {
    let names: Option<Vec<String>> =
        plan.map.as_ref()?.world().ranks().map(|rank| plan.device_of(rank)).collect();
    let names = names?;
    let mirrored: Vec<&str> = names.iter().rev().map(String::as_str).collect();
    Some(relabel(plan, &mirrored).expect("the plan's own devices"))
}

/// An error has a place in the text, and something to say about it.
fn is_placed(error: &PlanError, text: &str) {
    assert!(error.span.start <= error.span.end, "{error:?}");
    assert!(error.span.end <= text.len(), "{error:?}");
    assert!(!error.span.place(text).to_string().is_empty());
    assert!(!error.to_string().is_empty());
}
