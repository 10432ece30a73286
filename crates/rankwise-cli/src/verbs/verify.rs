//! `rankwise verify CERT [--plan PLAN]`: whether a certificate holds.

use std::path::Path;

use rankwise_certify::{Claim, Rejected, Verified, verify};
use schemars::JsonSchema;
use serde::Serialize;

use super::certify::make;
use crate::args::PlanRef;
use crate::command::{Answer, Asked, Failure};
use crate::exit::Exit;
use crate::unusable::Unusable;

#[derive(Serialize, JsonSchema)]
pub(crate) struct Data {
    certificate: String,
    claim: Option<&'static str>,
    sense: Option<&'static str>,
    proposals: Vec<String>,
    needs: Vec<u32>,
    buffers: Vec<String>,
    /// The plans that it was held against.
    plans: Vec<String>,
    why: Option<String>,
}

/// Checks a certificate, and whether it is about the plans named, if any are.
pub(crate) fn run(asked: Asked, file: &Path, plans: &[PlanRef]) -> Result<Answer, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Unusable::file(file, error.to_string(), "a readable certificate"))?;
    let progress = asked.progress("verifying");
    let verified = match verify(&text) {
        Err(rejected) if rejected.is_unreadable() => return Err(unreadable(file, &rejected).into()),
        Err(rejected) => Err(rejected.to_string()),
        Ok(verified) => match elsewhere(asked, &verified, &text, plans)? {
            None => Ok(verified),
            Some(why) => Err(why),
        },
    };
    drop(progress);
    let known = verified.as_ref().ok();
    let data = Data {
        certificate: file.display().to_string(),
        claim: known.map(|known| known.claim.name()),
        sense: known.map(|known| known.sense.name()),
        proposals: known.map(|known| known.proposals.clone()).unwrap_or_default(),
        needs: known.map(|known| known.needs.clone()).unwrap_or_default(),
        buffers: known.map(|known| known.buffers.clone()).unwrap_or_default(),
        plans: plans.iter().map(ToString::to_string).collect(),
        why: verified.as_ref().err().cloned(),
    };
    let (verdict, exit) = match &verified {
        Ok(_) => ("verified", Exit::Yes),
        Err(_) => ("rejected", Exit::No),
    };
    let name = file.display();
    asked.answer(verdict, exit, &data, |page| match &verified {
        Ok(verified) => {
            page.verdict(exit, &format!("{name}: verified: {}", told(verified)));
            page.item("sense: ", verified.sense.name());
            let held = match data.plans.as_slice() {
                [] => "not held against one: --plan does that".to_owned(),
                plans => format!("the job is that of {}", plans.join(" and ")),
            };
            page.item("plan: ", &held);
        }
        Err(why) => page.verdict(exit, &format!("{name}: rejected: {why}")),
    })
}

/// What has been verified, in words.
fn told(verified: &Verified) -> String {
    let names = verified.proposals.join(" and ");
    match verified.claim {
        Claim::Satisfied | Claim::NotSatisfied => {
            let needs: Vec<String> = verified.needs.iter().map(ToString::to_string).collect();
            let (noun, needs) = (if needs.len() == 1 { "need" } else { "needs" }, needs.join(", "));
            match verified.claim {
                Claim::Satisfied => format!("{names} satisfies {noun} {needs}"),
                _ => format!("{names} does not satisfy {noun} {needs}"),
            }
        }
        Claim::Same => format!("{names} leave the same {}", verified.buffers.join(", ")),
        Claim::Different => format!("{names} leave another {}", verified.buffers.join(", ")),
    }
}

/// Why a certificate is not about these plans, if it is not.
fn elsewhere(
    asked: Asked,
    verified: &Verified,
    text: &str,
    plans: &[PlanRef],
) -> Result<Option<String>, Failure> {
    let named = |plan: &PlanRef, proposal: &String| {
        let proposal = plan.proposal.clone().unwrap_or_else(|| proposal.clone());
        PlanRef { file: plan.file.clone(), proposal: Some(proposal) }
    };
    let (first, second) = match (plans, verified.proposals.as_slice()) {
        ([], _) => return Ok(None),
        ([plan], [one]) => (named(plan, one), None),
        ([plan], [one, other]) if plan.proposal.is_none() => {
            (named(plan, one), Some(named(plan, other)))
        }
        ([left, right], [one, other]) => (named(left, one), Some(named(right, other))),
        (plans, proposals) => {
            let (found, expected) = (plans.len(), proposals.len());
            let found = format!("--plan {found} times for {expected} proposals");
            return Err(Unusable::usage(
                found,
                "one plan without a name, or one for each proposal",
            )
            .into());
        }
    };
    let (_, made) = make(asked, &first, second.as_ref())?;
    let made = match made {
        Ok(made) => made,
        Err(why) => return Ok(Some(format!("the plan gives no certificate: {why}"))),
    };
    let certificate: serde_json::Value = serde_json::from_str(text).map_err(Failure::Json)?;
    let is_it = certificate.get("job") == Some(made.job());
    Ok((!is_it).then(|| format!("its job is not that of {first}")))
}

fn unreadable(file: &Path, rejected: &Rejected) -> Box<Unusable> {
    Unusable::file(file, rejected.to_string(), "a certificate, as `rankwise certify` writes it")
}
