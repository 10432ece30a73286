//! The proposals: their steps, their outputs, and what their buffers are called.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::error::{Fault, PlanError};
use crate::file::{self, Spanned};
use crate::limits;
use crate::plan::{Act, Proposal};
use crate::read::spot::Spot;
use crate::read::steps::Scope;
use crate::read::{Declared, programs, steps};

/// The proposals, in the order of the file.
pub(super) fn read(
    plan: &Spot,
    declared: &Declared<'_>,
    text: &str,
) -> Result<Vec<Proposal>, PlanError> {
    let all = plan.key("proposal", plan.span);
    check_steps(&all, &declared.file.proposal, limits::STEPS)?;
    let mut proposals = Vec::new();
    let mut made = 0;
    for (name, proposal) in declared.file.proposal.iter() {
        all.key(&name.value, name.span).name(&name.value)?;
        let spot = all.key(&name.value, proposal.span);
        proposals.push(one(&spot, name, &proposal.value, declared, text, &mut made)?);
    }
    Ok(proposals)
}

/// Refuses more than `most` steps in one plan, at the first that is too many.
fn check_steps(
    all: &Spot,
    proposals: &file::Table<file::Proposal>,
    most: u64,
) -> Result<(), PlanError> {
    let mut left = usize::try_from(most).unwrap_or(usize::MAX);
    for (name, proposal) in proposals.iter() {
        let steps = all.key(&name.value, proposal.span).key("step", proposal.span);
        if let Some((spot, _)) = steps.each(&proposal.value.step).nth(left) {
            let found = format!("more than {most} steps in the plan");
            return Err(spot.error(Fault::Limit, found, format!("at most {most}")));
        }
        left = left.saturating_sub(proposal.value.step.len());
        let programs = all.key(&name.value, proposal.span).key("program", proposal.span);
        for (program, of) in programs.each(&proposal.value.program) {
            let steps = program.key("step", program.span);
            if let Some((spot, _)) = steps.each(&of.step).nth(left) {
                let found = format!("more than {most} steps in the plan");
                return Err(spot.error(Fault::Limit, found, format!("at most {most}")));
            }
            left = left.saturating_sub(of.step.len());
        }
    }
    Ok(())
}

fn one(
    spot: &Spot,
    name: &Spanned<String>,
    proposal: &file::Proposal,
    declared: &Declared<'_>,
    text: &str,
    made: &mut u64,
) -> Result<Proposal, PlanError> {
    let mut own = Vec::new();
    let together = spot.key("step", spot.span);
    for (spot, step) in together.each(&proposal.step) {
        let read = steps::read(&spot, step, declared, text, Scope::Together)?;
        // With what groups are made of.
        let parts = u64::try_from(read.act.each().count()).unwrap_or(u64::MAX);
        *made = made.saturating_add(parts);
        if *made > limits::STEPS {
            let found = format!("{made} steps up to here, those of groups counted one by one");
            return Err(spot.error(Fault::Limit, found, format!("at most {}", limits::STEPS)));
        }
        own.push(read);
    }
    let programs = programs::read(spot, proposal, declared, text, &mut own)?;
    let steps = own;
    let mut buffers: BTreeSet<&str> = declared.inputs.clone();
    let acts = steps.iter().flat_map(|step| step.act.each());
    buffers.extend(acts.filter_map(Act::writes).map(|written| written.buffer.as_str()));
    let renames = match spot.given("as", proposal.renames.as_ref()) {
        None => BTreeMap::new(),
        Some((spot, table)) => renames(&spot, table, &buffers)?,
    };
    let called: BTreeSet<&str> =
        buffers.iter().map(|buffer| renames.get(*buffer).map_or(*buffer, String::as_str)).collect();
    let outputs = match spot.given("outputs", proposal.outputs.as_ref()) {
        None => None,
        Some((spot, written)) => Some(outputs(&spot, written, &called)?),
    };
    Ok(Proposal { name: name.value.clone(), steps, programs, outputs, renames, span: name.span })
}

/// Buffers by the names that they are called.
fn outputs(
    spot: &Spot,
    written: &[Spanned<String>],
    called: &BTreeSet<&str>,
) -> Result<Vec<String>, PlanError> {
    let mut outputs: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    for (spot, name) in spot.each(written) {
        if !called.contains(name.as_str()) {
            return Err(spot.unknown(name, called.iter().copied()));
        }
        if !seen.insert(name) {
            let found = format!("the buffer {name:?} a second time");
            return Err(spot.error(Fault::Contradiction, found, "each buffer once"));
        }
        outputs.push(name.clone());
    }
    Ok(outputs)
}

/// Other names for buffers, so that no two are called the same.
fn renames(
    spot: &Spot,
    table: &file::Table<String>,
    buffers: &BTreeSet<&str>,
) -> Result<BTreeMap<String, String>, PlanError> {
    let mut renames = BTreeMap::new();
    for (buffer, called) in table.iter() {
        if !buffers.contains(buffer.value.as_str()) {
            let here = spot.key(&buffer.value, buffer.span);
            return Err(here.unknown(&buffer.value, buffers.iter().copied()));
        }
        spot.key(&buffer.value, called.span).name(&called.value)?;
        renames.insert(buffer.value.clone(), called.value.clone());
    }
    let kept = buffers.iter().filter(|buffer| !renames.contains_key(**buffer));
    let mut taken: BTreeMap<&str, &str> = kept.map(|buffer| (*buffer, *buffer)).collect();
    for (buffer, called) in table.iter() {
        if let Some(other) = taken.insert(&called.value, &buffer.value) {
            let found = format!("{:?}, which is what {other} is called", called.value);
            let here = spot.key(&buffer.value, called.span);
            return Err(here.error(Fault::Contradiction, found, "a name for each buffer"));
        }
    }
    Ok(renames)
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use crate::error::Span;
    use crate::file::{Format, PlanFile};

    use super::*;

    #[test]
    fn steps_are_limited_over_all_proposals() {
        let text = "[[proposal.a.step]]\n[[proposal.b.step]]\n[[proposal.b.step]]\n";
        let file = PlanFile::read(text, Format::Toml).unwrap();
        let all = Spot::root().key("proposal", Span::default());
        assert_eq!(check_steps(&all, &file.proposal, 3), Ok(()));
        let error = check_steps(&all, &file.proposal, 2).unwrap_err();
        assert_eq!((error.kind, error.span.place(text).to_string()), (Fault::Limit, "3:1".into()));
        assert_eq!(
            error.to_string(),
            "proposal.b.step[1]: found more than 2 steps in the plan, expected at most 2"
        );
    }
}
