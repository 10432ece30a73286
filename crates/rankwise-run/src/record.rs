//! The record of a run: what was run, on what, with which map, and was it right.
//!
//! A file format: `format` comes first and is checked first. 64-bit numbers are strings,
//! since JSON readers keep 53 bits of a number. Unknown keys are errors.

mod compose;
mod wide;

use core::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use self::compose::fold_order;
pub use self::wide::Wide;

/// The version of [`RunRecord`] that this crate writes, and the only one it reads.
pub const FORMAT: u32 = 1;

/// What was run, on what, with which map, and was it right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunRecord {
    /// The version of this format: [`FORMAT`].
    pub format: u32,
    /// What wrote the record.
    pub tool: Tool,
    /// What the plan is called, such as its file; for the reader only.
    pub plan: Option<String>,
    /// The proposal that was run.
    pub proposal: String,
    /// The one answer.
    pub verdict: Verdict,
    /// What it ran on; `null` if no rank got a communicator.
    pub backend: Option<Backend>,
    /// The number of ranks.
    pub world: u32,
    /// Every rank, in rank order: where it was to be, where it was, how it ended.
    pub ranks: Vec<RankRecord>,
    /// What the inputs held.
    pub fill: FillRecord,
    /// What was done, step by step in the order of the plan.
    pub steps: Vec<StepRecord>,
    /// What every rank holds, by buffer and then by rank; only of ranks that came to
    /// their end.
    pub buffers: Vec<BufferRecord>,
    /// Every need of the plan, in its order.
    pub needs: Vec<NeedRecord>,
    /// What went wrong, each once however many ranks said it.
    pub errors: Vec<ErrorRecord>,
}

/// What wrote a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Its name: `rankwise`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The one answer of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every buffer holds what the model says, and every need is met.
    Right,
    /// A buffer holds something else.
    Differs,
    /// Every buffer holds what the model says, and a need is not met by that.
    NeedNotMet,
    /// Every buffer holds what the model says, and it is not known whether every need is met.
    Unknown,
    /// A rank did not come to its end.
    Failed,
}

/// What it ran on, by the backend's own words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Backend {
    /// Its name, with its version where it has one.
    pub name: String,
    /// In which order it folds.
    pub fold_order: FoldOrder,
    /// Whether it splits communicators.
    pub splits: bool,
}

/// In which order a backend folds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FoldOrder {
    /// Rank 0, 1, …: the bits of every result are the model's.
    Rank,
    /// Any: sums of floats are compared within a bound.
    Unspecified,
}

/// One rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RankRecord {
    /// The rank.
    pub rank: u32,
    /// The device that the plan puts it on, where it says.
    pub planned: Option<String>,
    /// The device that it was on, as the backend counts; `null` without a communicator.
    pub ordinal: Option<u32>,
    /// Which of the errors ended it; `null` if it came to its end.
    pub error: Option<u32>,
}

/// What the inputs held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FillRecord {
    /// The seed of generated values; `null` if none were to be generated.
    pub seed: Option<Wide>,
    /// Every input, by name.
    pub inputs: Vec<InputRecord>,
}

/// Where the values of one input come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InputRecord {
    /// The input.
    pub input: String,
    /// Where its values come from.
    pub values: ValuesOrigin,
}

/// Where values come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ValuesOrigin {
    /// The plan gives them.
    Given,
    /// Small integers that count up through positions, ranks and inputs: no two alike.
    Counted,
    /// Small integers scattered over what the type has: some alike.
    Scattered,
}

/// One step of the proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepRecord {
    /// The step, from 0.
    pub step: u32,
    /// What was called, one entry per distinct call.
    pub calls: Vec<CallRecord>,
    /// What was done without communication; `null` in a step that communicates.
    pub local: Option<LocalRecord>,
}

/// One call, by all ranks that made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallRecord {
    /// What was called: `reduce_scatter(sum)`, `send(to 1)`.
    pub op: String,
    /// What the backend calls the communicator.
    pub comm: String,
    /// Who takes part, as ranks of the world in rank order; of a message, the sender and
    /// the receiver.
    pub group: Vec<u32>,
    /// The number of the call within its communicator, from 0: collectives alone, splits
    /// included; messages per ordered pair.
    pub seq: Wide,
    /// The count argument, in elements.
    pub count: Wide,
    /// What the count argument counts: `one rank's shard (recvcount)`.
    pub convention: String,
    /// The element type.
    pub dtype: String,
    /// How it went on each rank that made it. A rank of the group that is not here did
    /// not get so far, or made another call.
    pub ranks: Vec<RankOutcome>,
}

/// One local act, by all ranks that did it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LocalRecord {
    /// What was done: `slice`, `scale`, ….
    pub op: String,
    /// How it went on each rank that did it.
    pub ranks: Vec<RankOutcome>,
}

/// How something went on one rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RankOutcome {
    /// The rank.
    pub rank: u32,
    /// Which of the errors; `null` if it was done.
    pub error: Option<u32>,
}

/// What one rank holds in one buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BufferRecord {
    /// The rank.
    pub rank: u32,
    /// The device that the plan puts it on, where it says.
    pub device: Option<String>,
    /// The buffer, by the name that needs use.
    pub buffer: String,
    /// The element type.
    pub dtype: String,
    /// Its length in elements.
    pub count: Wide,
    /// Whether a step wrote it; else it is an input, which must be as it was.
    pub written: bool,
    /// Whether it holds what the model says.
    pub verdict: BufferVerdict,
    /// In which sense what was found equals what was expected, or was to: `exact`,
    /// `unique`, `bits given the fold order`, `within a stated bound`. `null` where
    /// nothing is promised.
    pub sense: Option<String>,
    /// How many positions hold something else.
    pub wrong: Wide,
    /// The first of them.
    pub first_difference: Option<Difference>,
    /// The law that explains the whole array, such as `unreduced`, where it differs.
    pub law: Option<String>,
}

/// Whether a buffer holds what the model says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BufferVerdict {
    /// At every position of which something is promised.
    Holds,
    /// Not at every one.
    Differs,
    /// Nothing is promised of any position, and none was looked at.
    NotPromised,
}

/// A position that holds something else than it should.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// The position, in elements.
    pub position: Wide,
    /// What it holds.
    pub found: Value,
    /// What it should.
    pub expected: Value,
}

/// One element.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// In decimal.
    pub value: String,
    /// Its bits: `0x` and as many hexadecimal digits as the type has.
    pub bits: String,
}

/// Whether one need is met by what the ranks hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NeedRecord {
    /// Its index in the plan.
    pub need: u32,
    /// Who needs it: `every rank`, `rank 0`, `device A`, `group tp`.
    pub on: String,
    /// In which buffer.
    pub buffer: String,
    /// At which positions, the last excluded; `null` for the whole buffer.
    pub positions: Option<[Wide; 2]>,
    /// What is needed there, as the plan says it.
    pub holds: String,
    /// Whether it is met.
    pub answer: NeedVerdict,
    /// The weakest sense in which it is; `null` unless it is met.
    pub sense: Option<String>,
    /// Why not, in words; `null` if it is met.
    pub why: Option<String>,
}

/// Whether a need is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NeedVerdict {
    /// By the proposal, and by what the ranks hold.
    Met,
    /// By one of them not.
    NotMet,
    /// Something that it depends on is not stated, or a rank did not come to its end.
    Unknown,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorRecord {
    /// Whose fault it is: `plan`, `caller`, `peer`, `device`, `internal`.
    pub kind: String,
    /// What it says.
    pub text: String,
    /// Whose part it ended, in rank order.
    pub ranks: Vec<u32>,
}

/// Why a text is no record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordError {
    /// It is not JSON, or has not the fields of a record.
    Json {
        /// What is wrong, with the line and the column.
        text: String,
    },
    /// It is a record of another format.
    Format {
        /// Its version.
        found: u64,
    },
}

impl RunRecord {
    /// The record as JSON, with a newline at its end.
    pub fn to_json(&self) -> Result<String, RecordError> {
        let mut text = serde_json::to_string_pretty(self).map_err(json)?;
        text.push('\n');
        Ok(text)
    }

    /// Reads a record.
    pub fn from_json(text: &str) -> Result<Self, RecordError> {
        #[derive(Deserialize)]
        struct Version {
            format: u64,
        }
        let Version { format: found } = serde_json::from_str(text).map_err(json)?;
        if found != u64::from(FORMAT) {
            return Err(RecordError::Format { found });
        }
        serde_json::from_str(text).map_err(json)
    }
}

#[allow(clippy::needless_pass_by_value)] // as `map_err` wants it
fn json(error: serde_json::Error) -> RecordError {
    RecordError::Json { text: error.to_string() }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json { text } => f.write_str(text),
            Self::Format { found } => {
                write!(f, "found a record of format {found}, this version reads {FORMAT}")
            }
        }
    }
}

impl core::error::Error for RecordError {}
