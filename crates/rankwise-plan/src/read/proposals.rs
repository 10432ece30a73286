//! The proposals: their steps, their outputs, and what their buffers are called.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::error::{Fault, PlanError};
use crate::file::{self, Spanned};
use crate::limits;
use crate::plan::Proposal;
use crate::read::spot::Spot;
use crate::read::{Declared, steps};

/// The proposals, in the order of the file.
pub(super) fn read(
    plan: &Spot,
    declared: &Declared<'_>,
    text: &str,
) -> Result<Vec<Proposal>, PlanError> {
    let all = plan.key("proposal", plan.span);
    let mut steps_so_far = 0_u64;
    let mut proposals = Vec::new();
    for (name, proposal) in declared.file.proposal.iter() {
        all.key(&name.value, name.span).name(&name.value)?;
        let spot = all.key(&name.value, proposal.span);
        for (spot, _) in spot.key("step", spot.span).each(&proposal.value.step) {
            steps_so_far = steps_so_far.saturating_add(1);
            if steps_so_far > limits::STEPS {
                let expected = format!("at most {} in one plan", limits::STEPS);
                return Err(spot.error(Fault::Limit, format!("step {steps_so_far}"), expected));
            }
        }
        proposals.push(one(&spot, name, &proposal.value, declared, text)?);
    }
    Ok(proposals)
}

fn one(
    spot: &Spot,
    name: &Spanned<String>,
    proposal: &file::Proposal,
    declared: &Declared<'_>,
    text: &str,
) -> Result<Proposal, PlanError> {
    let steps = spot.key("step", spot.span);
    let steps =
        steps.each(&proposal.step).map(|(spot, step)| steps::read(&spot, step, declared, text));
    let steps = steps.collect::<Result<_, _>>()?;
    let outputs = match spot.given("outputs", &proposal.outputs) {
        None => None,
        Some((spot, written)) => Some(names(&spot, written)?),
    };
    let renames = match spot.given("as", &proposal.renames) {
        None => BTreeMap::new(),
        Some((spot, table)) => renames(&spot, table)?,
    };
    Ok(Proposal { name: name.value.clone(), steps, outputs, renames, span: name.span })
}

fn names(spot: &Spot, written: &[Spanned<String>]) -> Result<Vec<String>, PlanError> {
    let mut names: Vec<String> = Vec::new();
    for (spot, name) in spot.each(written) {
        if names.contains(name) {
            let found = format!("the buffer {name:?} a second time");
            return Err(spot.error(Fault::Contradiction, found, "each buffer once"));
        }
        names.push(spot.name(name)?.to_string());
    }
    Ok(names)
}

fn renames(
    spot: &Spot,
    table: &file::Table<String>,
) -> Result<BTreeMap<String, String>, PlanError> {
    let mut renames = BTreeMap::new();
    for (buffer, called) in table.iter() {
        spot.key(&buffer.value, buffer.span).name(&buffer.value)?;
        let here = spot.key(&buffer.value, called.span);
        here.name(&called.value)?;
        if let Some((other, _)) = renames.iter().find(|(_, taken)| **taken == called.value) {
            let found = format!("{:?}, which {other} is called", called.value);
            return Err(here.error(Fault::Contradiction, found, "a name for each buffer"));
        }
        renames.insert(buffer.value.clone(), called.value.clone());
    }
    Ok(renames)
}
