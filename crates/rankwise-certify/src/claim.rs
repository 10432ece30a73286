//! The claim, held against what carrying the acts out again leaves.

mod compare;
mod needs;
mod states;
mod written;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use crate::Verified;
use crate::execute::{Inputs, execute};
use crate::format::{Certificate, Claim, Input, InputsAgree, Job, Side, Verdict};
use crate::rejected::{No, Rejected, ensure};
use crate::sense::Sense;
use crate::term::Terms;

/// Checks a certificate.
pub(crate) fn check(certificate: &Certificate) -> Result<Verified, Rejected> {
    let (job, verdict) = (&certificate.job, &certificate.verdict);
    shape(job, verdict).map_err(|no| no.in_claim("verdict.claim"))?;
    let mut terms = Terms::default();
    let mut left = Vec::new();
    let mut inputs = Inputs::new();
    for (index, side) in job.sides.iter().enumerate() {
        let own = declare(job, index, side, &mut terms);
        let own = own.map_err(|no| no.in_job(format!("sides[{index}].inputs")))?;
        left.push(execute(side, index, &own, &mut terms)?);
        inputs.extend(own);
    }
    let sense = match (job.sides.as_slice(), left.as_slice()) {
        ([side], [left]) => needs::check(job, verdict, side, left, &inputs, &mut terms)?,
        ([one, other], [left, right]) => {
            let both = states::Both { job, sides: [one, other], left: [left, right] };
            both.check(verdict, &inputs, &terms).map_err(|no| no.in_claim("verdict"))?
        }
        _ => return Err(No::from("one side or two").in_claim("job.sides")),
    };
    stated(verdict.sense, sense).map_err(|no| no.in_claim("verdict"))?;
    Ok(Verified {
        claim: verdict.claim,
        sense,
        proposals: job.sides.iter().map(|side| side.proposal.clone()).collect(),
        needs: job.needs.iter().map(|need| need.need).collect(),
        buffers: job.surface.clone(),
    })
}

/// Whether the parts are there that the claim speaks of, and no others.
fn shape(job: &Job, verdict: &Verdict) -> Result<(), No> {
    let two = matches!(verdict.claim, Claim::Same | Claim::Different);
    let sides = if two { 2 } else { 1 };
    ensure!(job.sides.len() == sides, "it is about {sides} sides, not {}", job.sides.len());
    ensure!(job.inputs_agree.is_some() == two, "`inputs_agree` is stated for two sides only");
    ensure!(job.surface.is_empty() != two, "a surface is for a claim about states, and none else");
    ensure!(!two || job.terms.is_empty(), "terms without a need");
    ensure!(job.needs.is_empty() == two, "needs are for a claim about needs, and none else");
    ensure!(job.needs.len() == verdict.needs.len(), "an answer for each need");
    let differ = verdict.claim == Claim::Different;
    ensure!(differ || verdict.difference.is_none(), "a difference is for different states only");
    Ok(())
}

/// Refuses a sense that is not the one that was found.
fn stated(stated: Sense, found: Sense) -> Result<(), No> {
    ensure!(stated == found, "sense: {} is claimed, {} holds", stated.name(), found.name());
    Ok(())
}

/// The inputs of a side, each one with that of the other side where they agree.
fn declare<'a>(
    job: &'a Job,
    index: usize,
    side: &'a Side,
    terms: &mut Terms,
) -> Result<Inputs<'a>, No> {
    let others = job.sides.iter().enumerate().filter(|(other, _)| *other != index);
    let others = others.flat_map(|(_, side)| &side.inputs);
    let others: BTreeMap<&str, &Input> = others.map(|one| (one.name.as_str(), one)).collect();
    let mut inputs = Inputs::new();
    for input in &side.inputs {
        let alike = others.get(input.name.as_str()) == Some(&input);
        let agrees = match job.inputs_agree {
            None => true,
            Some(InputsAgree::ByMeaning) => alike && input.meaning.is_some(),
            Some(InputsAgree::OnePlan) => {
                let name = &input.name;
                ensure!(alike, "`{name}` is not the same on both sides of one plan");
                true
            }
        };
        let identity = (input.name.clone(), (!agrees).then_some(index));
        inputs.insert(&input.name, terms.input(identity, input.dtype));
    }
    Ok(inputs)
}
