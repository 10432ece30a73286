//! A certificate as it is written: JSON, read strictly.
//!
//! Counts and positions are strings, since JSON readers round wide numbers; ranks and
//! indices are numbers. What is not there is left out; a key that is not known is an
//! error.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde_json::error::Category;

use crate::definition::{Collective, Op};
use crate::limits::TEXT_BYTES;
use crate::number::Dtype;
use crate::rejected::Rejected;
use crate::sense::Sense;

/// The version that is read.
const VERSION: u64 = 1;

/// All of it.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Certificate {
    #[serde(rename = "certificate")]
    _version: u64,
    pub(crate) job: Job,
    pub(crate) verdict: Verdict,
    pub(crate) digest: String,
}

/// What the verdict is about.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Job {
    /// For two sides: what makes an input of one an input of the other.
    pub(crate) inputs_agree: Option<InputsAgree>,
    pub(crate) sides: Vec<Side>,
    /// The terms that the needs speak of; each names earlier ones only.
    #[serde(default)]
    pub(crate) terms: Vec<Written>,
    #[serde(default)]
    pub(crate) needs: Vec<Need>,
    /// The buffers that are compared, by public name.
    #[serde(default)]
    pub(crate) surface: Vec<String>,
}

/// What makes an input of one side an input of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum InputsAgree {
    /// Both sides are proposals of one plan.
    OnePlan,
    /// They are of two plans: name, type, length, attachment and a meaning.
    ByMeaning,
}

/// One proposal, and everything it starts from.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Side {
    pub(crate) ranks: u32,
    pub(crate) devices: Option<Vec<String>>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) proposal: String,
    /// What its buffers are called outside.
    #[serde(default)]
    pub(crate) renamed: Vec<Renamed>,
    /// Groups of ranks, each in rank order, that acts refer to by index.
    pub(crate) partitions: Vec<Vec<Vec<u32>>>,
    pub(crate) steps: Vec<Step>,
}

#[derive(Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) dtype: Dtype,
    /// Elements on every rank, or on each in rank order.
    pub(crate) counts: Vec<Whole>,
    pub(crate) meaning: Option<String>,
    pub(crate) attached: Attached,
}

/// What a contribution belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Attached {
    /// The device of its rank, if that device has no other rank; else the rank.
    Device,
    Rank,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Renamed {
    pub(crate) own: String,
    pub(crate) public: String,
}

/// One act, as it was carried out.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Step {
    Collective(Call),
    Send(Message),
    Recv(Message),
    Move(Move),
    Fold(Fold),
    Scale(Scale),
    Cast(Cast),
}

/// A collective, once in each group.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
    pub(crate) call: Collective,
    pub(crate) over: u32,
    pub(crate) op: Option<Op>,
    pub(crate) root: Option<u32>,
    /// For a pre-multiplied sum: the scalar of each rank of the group.
    #[serde(default)]
    pub(crate) scalars: Vec<String>,
    pub(crate) count: Whole,
    /// What every member reads, or what each does, in rank order.
    pub(crate) send: Vec<Option<View>>,
    pub(crate) recv: Vec<Option<View>>,
}

/// Part of a buffer, or all of it where `at` is left out.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct View {
    pub(crate) buffer: String,
    /// Where it starts on rank 0 of the group.
    pub(crate) at: Option<Whole>,
    /// How much later it starts on each next rank.
    pub(crate) by: Option<Whole>,
}

/// One side of a message.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Message {
    pub(crate) rank: u32,
    pub(crate) peer: u32,
    /// Needed for part of a buffer only; checked where it is given.
    pub(crate) count: Option<Whole>,
    pub(crate) buffer: View,
}

/// Positions put one after the other.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Move {
    pub(crate) on: u32,
    pub(crate) from: Vec<Source>,
    pub(crate) to: View,
}

/// What is read: positions of a buffer, or a constant (nothing promised without value).
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Source {
    pub(crate) buffer: Option<String>,
    pub(crate) at: Option<Whole>,
    pub(crate) count: Option<Whole>,
    pub(crate) dtype: Option<Dtype>,
    pub(crate) value: Option<String>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fold {
    pub(crate) on: u32,
    pub(crate) op: Option<Op>,
    pub(crate) from: Vec<Source>,
    pub(crate) to: View,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scale {
    pub(crate) on: u32,
    pub(crate) by: String,
    pub(crate) from: Source,
    pub(crate) to: View,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cast {
    pub(crate) on: u32,
    pub(crate) dtype: Dtype,
    pub(crate) from: Source,
    pub(crate) to: View,
}

/// A term as it is written: parts are earlier terms, by index.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Written {
    Input(WrittenInput),
    Constant(WrittenConstant),
    Fold(WrittenFold),
    /// Times 1/n, as a float average multiplies.
    Mean(WrittenMean),
    /// Times a scalar of a pre-multiplied sum.
    Scalar(WrittenTimes),
    /// Times a constant of the plan.
    Times(WrittenTimes),
    /// Divided by n, truncating.
    Divide(WrittenMean),
    Cast(WrittenCast),
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenInput {
    pub(crate) name: String,
    pub(crate) of: Origin,
}

/// What a contribution, or a value, belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Origin {
    Device(String),
    Rank(u32),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device(device) => write!(f, "device {device}"),
            Self::Rank(rank) => write!(f, "rank {rank}"),
        }
    }
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenConstant {
    pub(crate) dtype: Dtype,
    pub(crate) value: String,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenFold {
    pub(crate) how: How,
    pub(crate) parts: Vec<WrittenPlaced>,
}

/// How two values become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum How {
    Sum,
    Prod,
    Max,
    Min,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenMean {
    pub(crate) of: u32,
    pub(crate) ranks: u32,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenTimes {
    pub(crate) of: u32,
    pub(crate) by: String,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenCast {
    pub(crate) of: u32,
    pub(crate) to: Dtype,
}

/// A term, and how far into its inputs it starts to read.
pub(crate) type WrittenPlaced = (u32, Whole);

/// So many positions that hold a term, or of which nothing is promised.
pub(crate) type WrittenRun = (Whole, Option<WrittenPlaced>);

/// What some ranks need to find.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Need {
    /// Its index in the plan.
    pub(crate) need: u32,
    pub(crate) buffer: String,
    /// From where up to where; all of the buffer if left out.
    pub(crate) positions: Option<(Whole, Whole)>,
    /// The plan's words for it.
    #[serde(rename = "holds")]
    _holds: String,
    pub(crate) values: Vec<Needed>,
}

/// What each of these ranks needs.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Needed {
    pub(crate) ranks: Vec<u32>,
    pub(crate) dtype: Dtype,
    pub(crate) runs: Vec<WrittenRun>,
}

/// What is claimed, and why.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Verdict {
    pub(crate) claim: Claim,
    pub(crate) sense: Sense,
    /// Terms that it speaks of, numbered on after those of the job.
    #[serde(default)]
    pub(crate) terms: Vec<Written>,
    /// For a claim about needs: the answer to each of the job.
    #[serde(default)]
    pub(crate) needs: Vec<Answer>,
    /// For two equal states: what both hold on the surface.
    #[serde(default)]
    pub(crate) state: Vec<Held>,
    /// For two different states: a place where they differ.
    pub(crate) difference: Option<Difference>,
}

/// What a certificate can claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
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

/// Whether one need is satisfied.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    pub(crate) need: u32,
    pub(crate) satisfied: bool,
    pub(crate) sense: Sense,
    pub(crate) difference: Option<Difference>,
}

/// What these ranks (of the first side) hold in a buffer, on both sides.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Held {
    pub(crate) buffer: String,
    pub(crate) ranks: Vec<u32>,
    pub(crate) runs: Vec<WrittenRun>,
}

/// A place where something else is held than what is needed, or than on the other side.
///
/// Of a need, the first of two is what was found and the second what is needed.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Difference {
    Values(Values),
    Nothing(Nothing),
    Length(Lengths),
    Type(Types),
    Places(Places),
}

/// Where in the world: a rank (and its twin), its device, a buffer.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Place {
    /// The rank, on one side or on both.
    pub(crate) ranks: Vec<u32>,
    pub(crate) device: Option<String>,
    pub(crate) buffer: String,
}

/// Two terms that differ for the input that the witness gives.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Values {
    pub(crate) place: Place,
    pub(crate) position: Whole,
    pub(crate) terms: (WrittenPlaced, WrittenPlaced),
    pub(crate) witness: Vec<Given>,
    pub(crate) values: (String, String),
}

/// The value of one element of one contribution.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Given {
    pub(crate) input: String,
    pub(crate) of: Origin,
    pub(crate) position: Whole,
    pub(crate) value: String,
}

/// Nothing is promised where a term is needed, or where the other side has one.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {
    pub(crate) place: Place,
    pub(crate) position: Whole,
    /// Which of the two has nothing: 0 or 1.
    pub(crate) which: u32,
    /// What the other has.
    pub(crate) term: WrittenPlaced,
}

/// A buffer of another length.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lengths {
    pub(crate) place: Place,
    pub(crate) lengths: (Whole, Whole),
}

/// A buffer of another element type.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Types {
    pub(crate) place: Place,
    pub(crate) types: (Dtype, Dtype),
}

/// A place that only one side has: the `nth` rank of a device, or a rank.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Places {
    pub(crate) which: u32,
    pub(crate) place: Origin,
    pub(crate) nth: u32,
}

/// A number of 64 bits, written as a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Whole(pub(crate) u64);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = text.parse::<u64>().ok().filter(|number| number.to_string() == text);
        number.map(Self).ok_or_else(|| D::Error::custom("a string of a whole number below 2^64"))
    }
}

impl fmt::Display for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Reads a certificate.
pub(crate) fn read(json: &str) -> Result<Certificate, Rejected> {
    /// The one key that every version has.
    #[derive(serde::Deserialize)]
    struct Version {
        certificate: u64,
    }
    let Version { certificate } = serde_json::from_str(json).map_err(|error| unreadable(&error))?;
    if certificate != VERSION {
        return Err(Rejected::Version { found: certificate });
    }
    serde_json::from_str(json).map_err(|error| unreadable(&error))
}

/// Refuses a text that is too long to be looked at.
pub(crate) fn short(json: &str) -> Result<(), Rejected> {
    if json.len() > TEXT_BYTES {
        let limit = u64::try_from(TEXT_BYTES).unwrap_or(u64::MAX);
        return Err(Rejected::Limit { what: "bytes of text", limit });
    }
    Ok(())
}

/// Where a text is not what it must be, and why.
pub(crate) fn unreadable(error: &serde_json::Error) -> Rejected {
    let why = error.to_string();
    let place = alloc::format!(" at line {} column {}", error.line(), error.column());
    let why = why.strip_suffix(place.as_str()).unwrap_or(&why).into();
    let (line, column) = match error.classify() {
        Category::Io => (0, 0),
        _ => (error.line(), error.column()),
    };
    Rejected::Unreadable { line, column, why }
}
