//! A certificate as it is written: JSON, read strictly.
//!
//! Counts and positions are strings, since JSON readers round wide numbers; ranks and
//! indices are numbers. What is not there is left out; a key that is not known is an
//! error, and so is a list where an object must be.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};

use crate::definition::{Collective, Op};
use crate::limits::TEXT_BYTES;
use crate::number::Dtype;
use crate::rejected::Rejected;
use crate::sense::Sense;

/// The version that is read.
pub(crate) const VERSION: u64 = 2;

/// All of it.
#[derive(Debug, serde::Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct Certificate {
    #[serde(rename = "certificate")]
    _version: u64,
    pub(crate) digest: String,
    pub(crate) job: Job,
    pub(crate) verdict: Verdict,
}

/// What the verdict is about.
#[derive(Debug, serde::Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct Job {
    /// One for needs, two for states.
    pub(crate) sides: Vec<Side>,
    /// For two sides: what makes an input of one an input of the other.
    pub(crate) inputs_agree: Option<InputsAgree>,
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
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct Side {
    pub(crate) ranks: u32,
    pub(crate) devices: Option<Vec<String>>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) proposal: String,
    /// Buffers that are called otherwise outside: the own name, and the public one.
    #[serde(default)]
    pub(crate) renamed: Vec<(String, String)>,
    /// Groups of ranks, each in rank order, that acts refer to by index.
    pub(crate) partitions: Vec<Vec<Vec<u32>>>,
    /// The acts, in the order in which they were carried out.
    pub(crate) steps: Vec<Step>,
}

#[derive(Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) dtype: Dtype,
    /// Elements on every rank, or on each in rank order.
    pub(crate) counts: Vec<Whole>,
    pub(crate) meaning: Option<String>,
    pub(crate) attached: Attached,
}

/// What a contribution belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Attached {
    /// The device of its rank, if that device has no other rank; else the rank.
    Device,
    Rank,
}

/// One act.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Step {
    Collective(Call),
    Send(Send),
    Recv(Recv),
    Local(Local),
}

/// A collective, once in each group.
#[derive(Debug, serde::Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct Call {
    pub(crate) call: Collective,
    /// The index of the partition.
    pub(crate) over: u32,
    /// None for a reduction that has no name.
    pub(crate) op: Option<Op>,
    pub(crate) root: Option<u32>,
    pub(crate) count: Whole,
    /// What every member reads, or what each does, in rank order.
    pub(crate) send: Vec<Option<View>>,
    /// What it writes. Where that is what it reads, the call is in place.
    pub(crate) recv: Vec<Option<View>>,
}

/// What is written, or what a collective reads.
#[derive(Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum View {
    /// All of a buffer. Written, it is made anew, as long as what is written.
    All(String),
    /// A buffer from a position on.
    From(String, Whole),
}

/// What else is read: part of a buffer, or a constant.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source {
    All(String),
    /// From a position on, so many.
    Part(String, Whole, Whole),
    /// So many positions of one value, or of which nothing is promised.
    Fill(Dtype, Whole, Option<String>),
}

#[derive(Debug, serde::Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct Send {
    pub(crate) rank: u32,
    pub(crate) peer: u32,
    pub(crate) from: Source,
}

#[derive(Debug, serde::Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct Recv {
    pub(crate) rank: u32,
    pub(crate) peer: u32,
    /// Checked where it is given.
    pub(crate) count: Option<Whole>,
    pub(crate) to: View,
}

/// What each rank of a partition does by itself.
#[derive(Debug, serde::Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct Local {
    /// The index of the partition.
    pub(crate) on: u32,
    pub(crate) act: Act,
    pub(crate) from: Vec<Source>,
    pub(crate) to: View,
}

/// What becomes of several sources. A fold combines them position by position; for all
/// others they are put one after the other.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Act {
    Join,
    Fold(Option<Op>),
    Scale(String),
    Cast(Dtype),
}

/// A term as it is written. Terms are named by index, an earlier one only.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Written {
    Input(String, Origin),
    Constant(Dtype, String),
    Fold(How, Vec<WrittenPlaced>),
    /// Times 1/n, as a float average multiplies.
    Mean(u32, u32),
    /// Times a scalar of a pre-multiplied sum.
    Scalar(u32, String),
    /// Times a constant of the plan.
    Times(u32, String),
    /// Divided by n, truncating.
    Divide(u32, u32),
    Cast(u32, Dtype),
}

/// What a contribution belongs to.
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

/// How two values become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum How {
    Sum,
    Prod,
    Max,
    Min,
}

/// A term, and how far into its inputs it starts to read.
pub(crate) type WrittenPlaced = (u32, Whole);

/// What some ranks need to find.
#[derive(Debug, serde::Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
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

/// What each of these ranks needs: so many positions of each term.
#[derive(Debug, serde::Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct Needed {
    pub(crate) ranks: Vec<u32>,
    pub(crate) dtype: Dtype,
    pub(crate) runs: Vec<(Whole, WrittenPlaced)>,
}

/// What is claimed, and why.
#[derive(Debug, serde::Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct Verdict {
    pub(crate) claim: Claim,
    pub(crate) sense: Sense,
    /// For a claim about needs: the answer to each of the job, in the same order.
    #[serde(default)]
    pub(crate) needs: Vec<Answer>,
    /// For two different states: a place where they differ. None if the places do.
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

/// Whether one need is satisfied: it is, unless there is a difference.
#[derive(Debug, serde::Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct Answer {
    pub(crate) sense: Sense,
    pub(crate) difference: Option<Difference>,
}

/// Where to look for something else than what is needed, or than the other side has.
#[derive(Debug, serde::Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct Difference {
    /// The rank; of two sides, that of the first.
    pub(crate) rank: u32,
    pub(crate) buffer: String,
    /// None if the buffer as a whole has another type or length.
    pub(crate) position: Option<Whole>,
    /// What makes two values differ: every element that either reads.
    #[serde(default)]
    pub(crate) witness: Vec<Given>,
}

/// The value of one element of one contribution.
#[derive(Debug, serde::Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct Given {
    pub(crate) input: String,
    pub(crate) of: Origin,
    pub(crate) position: Whole,
    pub(crate) value: String,
}

/// `remote = "Self"` leaves the derived reader a function of its own, which would take a
/// list as well, by the order of the fields above. Only objects are handed to it.
macro_rules! objects {
    ($($name:ident),+) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Object;

                impl<'de> Visitor<'de> for Object {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<$name, A::Error> {
                        $name::deserialize(MapAccessDeserializer::new(map))
                    }
                }

                deserializer.deserialize_map(Object)
            }
        }
    )+};
}

objects!(Certificate, Job, Side, Input, Call, Send, Recv, Local, Need, Needed);
objects!(Verdict, Answer, Difference, Given);

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
fn unreadable(error: &serde_json::Error) -> Rejected {
    let why = error.to_string();
    let place = alloc::format!(" at line {} column {}", error.line(), error.column());
    let why = why.strip_suffix(place.as_str()).unwrap_or(&why).into();
    Rejected::Unreadable { line: error.line(), column: error.column(), why }
}
