//! Programs: steps that some ranks do in an order of their own.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_topology::WorldRank;

use crate::error::{Fault, PlanError};
use crate::file;
use crate::memory::ranks;
use crate::plan::{Act, Enqueued, Host, On, Plan, RankProgram, Step};
use crate::read::spot::Spot;
use crate::read::steps::{self, Scope};
use crate::read::{Declared, place};
use crate::words;

/// The programs of a proposal; their steps are added to `steps`.
pub(super) fn read(
    proposal: &Spot,
    written: &file::Proposal,
    declared: &Declared<'_>,
    text: &str,
    steps: &mut Vec<Step>,
) -> Result<Vec<RankProgram>, PlanError> {
    let all = proposal.key("program", proposal.span);
    let mut programs: Vec<RankProgram> = Vec::new();
    for (spot, program) in all.each(&written.program) {
        if !written.step.is_empty() {
            let expected = "either step, which all ranks do, or program, of which each has one";
            return Err(spot.error(Fault::Contradiction, "program besides step", expected));
        }
        let (on_spot, on) = spot.needed("on", program.on.as_ref(), "whose program it is")?;
        let on = place::on(&on_spot, on, declared)?;
        let mut acts = Vec::new();
        for (spot, step) in spot.key("step", spot.span).each(&program.step) {
            acts.push(enqueued(&spot, step, &on, declared, text, steps)?);
        }
        programs.push(RankProgram { on, acts, span: spot.span });
    }
    Ok(programs)
}

/// That no rank has two programs.
pub(super) fn one_for_each(plan: &Plan) -> Result<(), PlanError> {
    for proposal in plan.proposals.iter().filter(|proposal| !proposal.programs.is_empty()) {
        let mut owner: BTreeMap<WorldRank, usize> = BTreeMap::new();
        for (index, program) in proposal.programs.iter().enumerate() {
            for rank in ranks(plan.world).filter(|rank| plan.is_on(&program.on, *rank)) {
                let Some(first) = owner.insert(rank, index) else { continue };
                return Err(PlanError {
                    kind: Fault::Contradiction,
                    span: program.span,
                    path: format!("proposal.{}.program[{index}].on", proposal.name),
                    found: format!("a second program of rank {rank}, besides program[{first}]"),
                    expected: "one for each rank".into(),
                });
            }
        }
    }
    Ok(())
}

fn enqueued(
    spot: &Spot,
    step: &file::Step,
    on: &On,
    declared: &Declared<'_>,
    text: &str,
    steps: &mut Vec<Step>,
) -> Result<Enqueued, PlanError> {
    let stream = match spot.given("stream", step.stream.as_ref()) {
        Some((spot, name)) => Arc::from(spot.name(name)?),
        None => Arc::from(words::STREAM),
    };
    match step.call.as_ref().map(|call| call.value.as_str()) {
        Some(words::WAIT) => {
            steps::only(spot, step, words::WAIT, &["stream"], Scope::Together)?;
            Ok(Enqueued::Wait { stream })
        }
        Some(words::FENCE) => {
            steps::only(spot, step, words::FENCE, &["stream", "after"], Scope::Together)?;
            let (spot, after) = spot.needed("after", step.after.as_ref(), "the other stream")?;
            Ok(Enqueued::Fence { stream, after: Arc::from(spot.name(after)?) })
        }
        _ => {
            let mut read = steps::read(spot, step, declared, text, Scope::Program)?;
            set_on(&mut read.act, on);
            let waits = step.wait.as_ref().is_some_and(|wait| wait.value);
            steps.push(read);
            Ok(Enqueued::Step {
                step: steps.len().saturating_sub(1),
                stream,
                host: if waits { Host::Waits } else { Host::GoesOn },
            })
        }
    }
}

/// Who does it: those whose program it is in.
fn set_on(act: &mut Act, on: &On) {
    match act {
        Act::Message(message) => message.on = on.clone(),
        Act::Local(local) => local.on = on.clone(),
        // What a call stands for says itself who does which part of it.
        Act::Group(group) if group.stands_for.is_none() => {
            group.steps.iter_mut().for_each(|step| set_on(&mut step.act, on));
        }
        Act::Collective(_) | Act::Group(_) => {}
    }
}
