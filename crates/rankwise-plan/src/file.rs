//! The plan file as it is written down: flat structs of optional, spanned fields.
//!
//! One serde model for TOML and JSON, and the source of the published schema
//! (`docs/plan.schema.json`). Nothing is decided here: a [`PlanFile`] may lack or
//! contradict anything. [`Plan::read`](crate::plan::Plan::read) says what it means.
//!
//! The format is described for its users in `docs/plan-format.md`.
//!
//! ```
//! use rankwise_plan::file::{Format, PlanFile};
//!
//! let file = PlanFile::read("format = 1\ngroup.ranks = 2", Format::Toml)?;
//! assert_eq!(file.group.unwrap().value.ranks.unwrap().value.get(), 2);
//!
//! let error = PlanFile::read("[group]\nrank = 2", Format::Toml).unwrap_err();
//! assert_eq!(error.path, "group.rank");
//! assert_eq!(error.expected, "one of devices, ranks, sharing; the nearest is ranks");
//! # Ok::<(), rankwise_plan::error::PlanError>(())
//! ```

mod literal;
mod table;
mod union;

pub use literal::{Literal, Whole};
pub use table::Table;
pub use union::{Buffers, Color, Counts, Over, Place, PlaceTable};

pub use crate::text::{Format, Spanned};

use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::PlanError;
use crate::schema;
use crate::text;

/// A list that knows its place, of values that know theirs.
pub type List<T> = Spanned<Vec<Spanned<T>>>;

/// A plan: proposals for one job on one group of ranks, and what is needed of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "rankwise plan")]
pub struct PlanFile {
    /// The version of this format. Required; 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::format", required)]
    pub format: Option<Spanned<Whole>>,
    /// The ranks, and the devices they are on. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub group: Option<Spanned<Group>>,
    /// The ranks as a mesh, row-major: the last axis varies fastest with the rank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mesh: Option<Spanned<Mesh>>,
    /// Partitions of the ranks, by name.
    #[serde(default, skip_serializing_if = "Table::is_empty")]
    pub groups: Table<NamedGroups>,
    /// What the ranks hold before the first step, by the name of the buffer.
    #[serde(default, skip_serializing_if = "Table::is_empty")]
    pub input: Table<Input>,
    /// The ways to do the job, by name.
    #[serde(default, skip_serializing_if = "Table::is_empty")]
    pub proposal: Table<Proposal>,
    /// What consumers need to find afterwards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub need: Vec<Spanned<Need>>,
}

/// The ranks of the job: `devices`, or `ranks`, or both if they agree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// The device of each rank, rank 0 first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub devices: Option<List<String>>,
    /// How many ranks there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Spanned<Whole>>,
    /// Whether a device may carry several ranks; exclusive if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::sharing")]
    pub sharing: Option<Spanned<String>>,
}

/// A mesh of the ranks. Each axis is also a partition by its name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mesh {
    /// The names of the axes, slowest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub axes: Option<List<String>>,
    /// The ranks along each axis; their product is the size of the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub shape: Option<List<Whole>>,
}

/// A named partition: exactly one of `ranks`, `lists`, `axis`, `axes`, `colors`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedGroups {
    /// One group: these ranks, in this order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<List<Whole>>,
    /// Several disjoint groups, each in its own order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lists: Option<List<Vec<Spanned<Whole>>>>,
    /// The groups along this axis of the mesh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub axis: Option<Spanned<String>>,
    /// The groups along these axes of the mesh together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub axes: Option<List<String>>,
    /// The groups of a split: each rank's color, rank 0 first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub colors: Option<List<Color>>,
    /// With `colors`: each rank's key, which orders its group; ties by rank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<List<Literal>>,
}

/// An input: one buffer of the same shape on every rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The element type. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::dtype", required)]
    pub dtype: Option<Spanned<String>>,
    /// Elements on each rank; may be left out where values give it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<Spanned<Whole>>,
    /// Elements on each rank, rank 0 first, where they are not as many on each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<List<Whole>>,
    /// The shape of the tensor that each rank has, row-major.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<List<Whole>>,
    /// What the values are, in words; part of their identity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meaning: Option<Spanned<String>>,
    /// What each contribution belongs to: its device, or its rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::attachment")]
    pub by: Option<Spanned<String>>,
    /// The values, written here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<Spanned<Keyed<Vec<Spanned<Literal>>>>>,
    /// The values, one array file per device or rank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Spanned<Keyed<String>>>,
    /// The values, all in one array file; `slice` says whose is what.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<Spanned<String>>,
    /// With `file`: `blocks` cuts it into equal blocks in rank order, `whole` gives
    /// all of it to each rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::slice")]
    pub slice: Option<Spanned<String>>,
}

/// Something for each device, or for each rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Keyed<T> {
    /// By the device's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<Spanned<Table<T>>>,
    /// By the rank, as a decimal key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<Spanned<Table<T>>>,
}

/// One way to do the job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    /// What it does, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub step: Vec<Spanned<Step>>,
    /// Instead of `step`: what each rank does, in an order of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub program: Vec<Spanned<RankProgram>>,
    /// The buffers that are its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outputs: Option<List<String>>,
    /// What its buffers are called in comparisons and needs: `y = "out"`.
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    pub renames: Option<Spanned<Table<String>>>,
}

/// What the ranks of one place do, each by itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RankProgram {
    /// Whose program it is. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub on: Option<Spanned<Place>>,
    /// What it does, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub step: Vec<Spanned<Step>>,
}

/// One step: a collective, one side of a message, or a local act.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What is done. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::call", required)]
    pub call: Option<Spanned<String>>,
    /// How values combine, for calls that combine any. Never a default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::op")]
    pub op: Option<Spanned<String>>,
    /// With `op = "premul"`: one scalar per rank of the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scalars: Option<List<Literal>>,
    /// The root of a rooted collective, as a rank of the step's group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<Spanned<Whole>>,
    /// The other side of a send or recv, as a rank of the step's group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<Spanned<Whole>>,
    /// The groups, by name or as lists of ranks; the whole world if not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over: Option<Spanned<Over>>,
    /// Who does a message or a local act; every rank if not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<Spanned<Place>>,
    /// The buffer that is read, or some positions of one, `"x[0..4]"`; several for
    /// `concat` and `fold`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send: Option<Spanned<Buffers>>,
    /// The buffer that is written, or some positions of one; the same as `send` means in
    /// place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recv: Option<Spanned<String>>,
    /// The count argument; checked by the convention of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<Spanned<Whole>>,
    /// With a call that ends in `_v`: one count for each rank of the group; with
    /// `all_to_all_v` one list for each rank, of what it sends to each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<Spanned<Counts>>,
    /// With `slice`: which positions, `"a..b"` without b.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::positions")]
    pub positions: Option<Spanned<String>>,
    /// With `scale`: the factor, a number or a fraction such as `"1/8"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Spanned<Literal>>,
    /// With `cast`, `alloc` and `fill`: the element type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::dtype")]
    pub dtype: Option<Spanned<String>>,
    /// In a program: the stream that the step is enqueued on; `main` if not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<Spanned<String>>,
    /// In a program: whether the host waits until the step is over; `false` if not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<Spanned<bool>>,
    /// With `fence`: the stream that `stream` waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Spanned<String>>,
    /// With `fill`, `pad` and `shard`: the constant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Spanned<Literal>>,
    /// With `shard` and `unshard`: the shape of the whole tensor, row-major.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<List<Whole>>,
    /// With `shape`: the axis that is divided, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dim: Option<Spanned<Whole>>,
    /// With `shard` and `unshard`: what is done where the length does not divide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::uneven")]
    pub uneven: Option<Spanned<String>>,
    /// With `group`: what is done as one, collectives and messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub step: Vec<Spanned<Self>>,
}

/// What some consumer needs to find after a proposal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Need {
    /// Who needs it. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub on: Option<Spanned<Place>>,
    /// In which buffer. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub buffer: Option<Spanned<String>>,
    /// At which positions, `"a..b"` without b; all of them if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::positions")]
    pub positions: Option<Spanned<String>>,
    /// What: an expression such as `sum(x)`. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub holds: Option<Spanned<String>>,
}

impl PlanFile {
    /// Reads the structs out of a text, and judges nothing yet.
    ///
    /// # Errors
    ///
    /// A syntax error, an unknown key, a value of the wrong kind, or a text or a
    /// nesting past its [limit](crate::limits).
    pub fn read(text: &str, format: Format) -> Result<Self, PlanError> {
        text::de::read(&text::parse(text, format)?)
    }
}
