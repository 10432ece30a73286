//! Certificates: a verdict with everything that somebody needs who wants to check it.
//!
//! A certificate says who takes part, what they hold, every act in the order in which it
//! was carried out, what is needed, and what came of it. `rankwise-certify`, which shares
//! no code with this crate, carries the acts out again by its own definitions. A
//! difference comes with a *witness*: an input for which the two values differ.
//!
//! A verdict that is not known has no certificate, and an act or a value that the format
//! cannot say has none either: never a wrong one. The format is in
//! `docs/certificates.md` of the repository.
//!
//! ```
//! use rankwise_plan::{Plan, certify, file::Format, read::NoArrays};
//!
//! let plan = Plan::read(
//!     r#"
//!     format = 1
//!     group.ranks = 2
//!     input.x = { dtype = "i32", count = 4 }
//!     proposal.whole.step = [
//!         { call = "all_reduce", op = "sum", send = "x", recv = "y" },
//!     ]
//!     need = [{ on = "every rank", buffer = "y", holds = "sum(x)" }]
//!     "#,
//!     Format::Toml,
//!     &mut NoArrays,
//! )?;
//! let certificate = certify::needs(&plan, &plan.proposals[0]).unwrap();
//! assert_eq!(certificate.claim(), certify::Claim::Satisfied);
//! assert!(certificate.to_json().contains("all_reduce"));
//! # Ok::<(), rankwise_plan::PlanError>(())
//! ```

mod acts;
mod difference;
mod job;
mod json;
mod values;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde_json::{Map, Value, json};

use crate::compare::{Comparison, State, compare};
use crate::error::PlanError;
use crate::evaluate::{Evaluation, evaluate};
use crate::need::{Answer, NeedsAnswer, NeedsReport, judge_needs};
use crate::plan::{Plan, Proposal};
use crate::sense::Sense;
use crate::term::Terms;
use difference::{needed_difference, state_difference};
use job::{Needed, needed, side};
use values::Values;

/// The version of the format.
const VERSION: u32 = 2;

/// A verdict with everything that it takes to check it.
#[derive(Clone, Debug, PartialEq)]
pub struct Certificate {
    claim: Claim,
    value: Value,
}

/// What a certificate claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Claim {
    /// Every need is satisfied.
    Satisfied,
    /// A need is not satisfied.
    NotSatisfied,
    /// Both proposals leave the same state.
    Same,
    /// They leave different states.
    Different,
}

impl Claim {
    /// The name used in certificates.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Satisfied => "satisfied",
            Self::NotSatisfied => "not_satisfied",
            Self::Same => "same",
            Self::Different => "different",
        }
    }
}

/// Why there is no certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoCertificate {
    /// The verdict is not known.
    Unknown {
        /// Why not, in words.
        because: Vec<String>,
    },
    /// It rests on something that certificates cannot say.
    NotExpressed {
        /// What that is.
        what: String,
    },
    /// A plan contradicts itself.
    Plan {
        /// Which: 0 for the first, 1 for the second.
        side: usize,
        /// How.
        error: PlanError,
    },
}

impl NoCertificate {
    fn not_expressed(what: impl Into<String>) -> Self {
        Self::NotExpressed { what: what.into() }
    }
}

impl fmt::Display for NoCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { because } => {
                write!(f, "the verdict is unknown: {}", because.join("; "))
            }
            Self::NotExpressed { what } => write!(f, "a certificate cannot say this: {what}"),
            Self::Plan { error, .. } => error.fmt(f),
        }
    }
}

impl core::error::Error for NoCertificate {}

impl Certificate {
    /// What it claims.
    pub const fn claim(&self) -> Claim {
        self.claim
    }

    /// The certificate as JSON, laid out for readers and sealed with its digest.
    pub fn to_json(&self) -> String {
        json::laid_out(&self.value)
    }

    /// What it is about, without what it claims: sides, needs, surface. A certificate
    /// belongs to a plan if this part of it is what the plan gives.
    pub fn job(&self) -> &Value {
        self.value.get("job").unwrap_or(&Value::Null)
    }

    fn sealed(claim: Claim, job: Value, verdict: Value) -> Self {
        let mut whole = Map::new();
        whole.insert("certificate".into(), VERSION.into());
        whole.insert("job".into(), job);
        whole.insert("verdict".into(), verdict);
        whole.insert("digest".into(), "".into());
        let digest = json::digest(&Value::Object(whole.clone()));
        whole.insert("digest".into(), digest.into());
        Self { claim, value: Value::Object(whole) }
    }
}

/// Certifies whether a proposal satisfies the needs of its plan.
///
/// Where one need is known not to be satisfied, those of which nothing is known are
/// left out.
pub fn needs(plan: &Plan, proposal: &Proposal) -> Result<Certificate, NoCertificate> {
    let contradiction = |error| NoCertificate::Plan { side: 0, error };
    let mut terms = Terms::new();
    let evaluation = evaluate(plan, proposal, &mut terms).map_err(contradiction)?;
    let report = judge_needs(plan, proposal, &evaluation, &mut terms).map_err(contradiction)?;
    let claim = match report.answer() {
        NeedsAnswer::Satisfied => Claim::Satisfied,
        NeedsAnswer::NotSatisfied => Claim::NotSatisfied,
        NeedsAnswer::Unknown => return Err(unknown(&report)),
        NeedsAnswer::NoneStated => {
            let because = alloc::vec!["the plan states no need".to_string()];
            return Err(NoCertificate::Unknown { because });
        }
    };
    let decided = report.needs.iter().filter(|need| need.answer != Answer::Unknown);
    let mut all: Vec<Needed> = Vec::new();
    for report in decided.clone() {
        all.push(needed(plan, report.need, &mut terms).map_err(contradiction)?);
    }
    let mut values = Values::new(&terms);
    let written: Result<Vec<Value>, _> =
        all.iter().map(|needed| needed.written(&mut values)).collect();
    let job = json!({
        "sides": [side(plan, proposal, &evaluation)?],
        "needs": written?,
        "terms": values.written(),
    });
    let mut answers = Vec::new();
    let mut weakest = Sense::Exact;
    for (report, needed) in decided.zip(&all) {
        let (sense, difference) = match report.answer {
            Answer::Yes => (report.sense.unwrap_or(Sense::Exact), None),
            _ => {
                let rank = report.evidence.as_ref().map(|evidence| evidence.rank);
                let held = held_by(proposal, &evaluation);
                let (sense, difference) = needed_difference(needed, rank, &held, &terms)?;
                (sense, Some(difference))
            }
        };
        weakest = weakest.max(sense);
        let mut answer = json!({ "sense": word(sense) });
        put(&mut answer, "difference", difference);
        answers.push(answer);
    }
    let verdict = json!({
        "claim": claim.name(),
        "sense": word(weakest),
        "needs": answers,
    });
    Ok(Certificate::sealed(claim, job, verdict))
}

/// Certifies whether two proposals, of one plan or of two, leave the same state.
pub fn states(
    left: (&Plan, &Proposal),
    right: (&Plan, &Proposal),
) -> Result<Certificate, NoCertificate> {
    let mut terms = Terms::new();
    let comparison = compare(left, right, &mut terms)
        .map_err(|error| NoCertificate::Plan { side: error.side, error: error.error })?;
    let Comparison { state: report, surface, evaluations: [first, second], .. } = &comparison;
    let sides = [held_by(left.1, first), held_by(right.1, second)];
    let agree = if core::ptr::eq(left.0, right.0) { "one_plan" } else { "by_meaning" };
    let job = json!({
        "inputs_agree": agree,
        "sides": [side(left.0, left.1, first)?, side(right.0, right.1, second)?],
        "surface": surface.compared,
    });
    let claim = match report.state {
        State::Same => Claim::Same,
        State::Different => Claim::Different,
        State::Unknown => return Err(NoCertificate::Unknown { because: report.because.clone() }),
    };
    let (sense, difference) = match claim {
        Claim::Same => (report.sense().unwrap_or(Sense::Exact), None),
        _ => state_difference(report.evidence.as_ref(), &sides, &terms)?,
    };
    let mut verdict = json!({ "claim": claim.name(), "sense": word(sense) });
    put(&mut verdict, "difference", difference);
    Ok(Certificate::sealed(claim, job, verdict))
}

/// A side and what it leaves.
#[derive(Clone, Copy)]
struct Leaves<'a> {
    proposal: &'a Proposal,
    evaluation: &'a Evaluation,
}

fn held_by<'a>(proposal: &'a Proposal, evaluation: &'a Evaluation) -> Leaves<'a> {
    Leaves { proposal, evaluation }
}

/// Adds a key, if there is something to say under it.
fn put(object: &mut Value, key: &str, value: Option<Value>) {
    if let (Some(map), Some(value)) = (object.as_object_mut(), value) {
        map.insert(key.into(), value);
    }
}

/// A sense as certificates write it.
const fn word(sense: Sense) -> &'static str {
    match sense {
        Sense::Exact => "exact",
        Sense::Unique => "unique",
        Sense::BitsGivenFoldOrder => "bits_given_fold_order",
        Sense::WithinBound => "within_bound",
        Sense::OverTheReals => "over_the_reals",
    }
}

fn unknown(report: &NeedsReport) -> NoCertificate {
    let open = report.needs.iter().filter(|need| need.answer == Answer::Unknown);
    let because = open.map(|need| {
        let wrongs = need.evidence.iter().flat_map(|evidence| &evidence.wrongs);
        let words: Vec<String> = wrongs.map(ToString::to_string).collect();
        format!("need {}: {}", need.need, words.join(", "))
    });
    NoCertificate::Unknown { because: because.collect() }
}
