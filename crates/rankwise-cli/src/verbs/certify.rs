//! `rankwise certify PLAN[#NAME] [PLAN[#NAME]]`: a verdict that others can check.

use std::fs;
use std::path::Path;

use rankwise_plan::certify::{self, Certificate, Claim, NoCertificate};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::PlanRef;
use crate::command::{Answer, Asked, Failure};
use crate::exit::Exit;
use crate::load::Loaded;
use crate::unusable::Unusable;

#[derive(Serialize, JsonSchema)]
pub(crate) struct Data {
    /// The proposals that it is about.
    proposals: Vec<String>,
    claim: Option<&'static str>,
    /// The file that it was written into, where one was asked for.
    out: Option<String>,
    certificate: Option<serde_json::Value>,
    /// Why there is none.
    why: Option<String>,
}

/// Certifies whether one proposal satisfies its needs, or whether two leave one state.
pub(crate) fn run(
    asked: Asked,
    first: &PlanRef,
    second: Option<&PlanRef>,
    out: Option<&Path>,
) -> Result<Answer, Failure> {
    let progress = asked.progress("certifying");
    let (names, made) = make(asked, first, second)?;
    drop(progress);
    let made = match made {
        Ok(certificate) => confirmed(certificate),
        Err(why @ (NoCertificate::Unknown { .. } | NoCertificate::NotExpressed { .. })) => {
            Err(why.to_string())
        }
        // Contradictions were told with their places.
        Err(why @ NoCertificate::Plan { .. }) => Err(why.to_string()),
    };
    let about = names.join(" and ");
    let (certificate, json) = match made {
        Ok(made) => made,
        Err(why) => {
            let data = Data {
                proposals: names,
                claim: None,
                out: None,
                certificate: None,
                why: Some(why),
            };
            return asked.answer("no_certificate", Exit::Unknown, &data, |page| {
                let why = data.why.as_deref().unwrap_or_default();
                page.verdict(Exit::Unknown, &format!("{about}: no certificate: {why}"));
            });
        }
    };
    if let Some(file) = out {
        write(file, &json)?;
    }
    let value = serde_json::from_str(&json).map_err(Failure::Json)?;
    let data = Data {
        proposals: names,
        claim: Some(certificate.claim().name()),
        out: out.map(|out| out.display().to_string()),
        certificate: out.is_none().then_some(value),
        why: None,
    };
    asked.answer("certified", Exit::Yes, &data, |page| match out {
        Some(file) => {
            page.verdict(Exit::Yes, &format!("{about}: {}", claimed(certificate.claim())));
            page.item("written: ", &file.display().to_string());
        }
        None => {
            let lines: Vec<String> = json.lines().map(str::to_owned).collect();
            page.verbatim(&lines);
        }
    })
}

/// Makes the certificate that one or two references ask for.
pub(crate) fn make(
    asked: Asked,
    first: &PlanRef,
    second: Option<&PlanRef>,
) -> Result<(Vec<String>, Result<Certificate, NoCertificate>), Failure> {
    let loaded = Loaded::read(&first.file, asked)?;
    let one = loaded.proposal(first.proposal.as_deref())?;
    let Some(second) = second else {
        let made = certify::needs(&loaded.plan, one);
        if let Err(NoCertificate::Plan { error, .. }) = &made {
            return Err(loaded.unusable(error).into());
        }
        return Ok((vec![loaded.name_of(one)], made));
    };
    // One file is one plan: its inputs are the same on both sides, said or not.
    let another =
        if second.file == first.file { None } else { Some(Loaded::read(&second.file, asked)?) };
    let beside = another.as_ref().unwrap_or(&loaded);
    let other = beside.proposal(second.proposal.as_deref())?;
    let made = certify::states((&loaded.plan, one), (&beside.plan, other));
    if let Err(NoCertificate::Plan { side, error }) = &made {
        let whose = if *side == 0 { &loaded } else { beside };
        return Err(whose.unusable(error).into());
    }
    Ok((vec![loaded.name_of(one), beside.name_of(other)], made))
}

/// A certificate that the independent checker confirms; no other leaves this command.
fn confirmed(certificate: Certificate) -> Result<(Certificate, String), String> {
    let json = certificate.to_json();
    match rankwise_certify::verify(&json) {
        Ok(_) => Ok((certificate, json)),
        Err(rejected) => Err(format!("the checker does not confirm it: {rejected}")),
    }
}

/// What a claim says, in words.
pub(crate) const fn claimed(claim: Claim) -> &'static str {
    match claim {
        Claim::Satisfied => "every need is satisfied",
        Claim::NotSatisfied => "not every need is satisfied",
        Claim::Same => "the same state",
        Claim::Different => "different states",
    }
}

/// Writes a file that appears when it is complete.
fn write(file: &Path, text: &str) -> Result<(), Box<Unusable>> {
    let mut beside = file.as_os_str().to_owned();
    beside.push(".part");
    let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, file));
    written.map_err(|error| {
        // What is left of an unfinished file is of no use to anybody.
        let _ = fs::remove_file(&beside);
        Unusable::file(file, error.to_string(), "a file that can be written")
    })
}
