//! What mends a plan whose data is in the wrong place, and what each repair asks.
//!
//! Four kinds are tried: another map of the devices; messages from the ranks that hold
//! what others need; an all-gather from which each takes its part; and another index
//! read by the consumer. Each comes as a whole plan that has been carried out and judged
//! again, so that a repair is never a guess; and as the text to write into the file.
//!
//! They are ordered by the logical payload that their steps add, then by the number of
//! steps. That order says nothing of time or traffic: no link speed is known here, and
//! another map or another index costs no payload but asks people to change something.

mod gather;
mod index;
mod map;
mod message;
mod recheck;

use alloc::string::String;
use alloc::vec::Vec;

use rankwise_account::{ByteCount, ElemCount, payload};
use rankwise_topology::{Permutation, WorldRank};

use crate::evaluate::StepRecord;
use crate::explore::{ExploreError, Extent};
use crate::need::Answer;
use crate::plan::{Plan, Proposal};
use recheck::Bench;

pub use message::Move;

/// One way to mend a plan, re-checked.
#[derive(Clone, Debug)]
pub struct Repair {
    /// What is changed.
    pub mend: Mend,
    /// The mended plan.
    pub plan: Plan,
    /// What to write into the plan's file: the steps that are added, or the keys that
    /// change.
    pub text: String,
    /// How many steps are added.
    pub steps: usize,
    /// The logical payload of the added steps on each rank that has one.
    pub payloads: Vec<RankPayload>,
    /// Whether every need of the mended plan is satisfied, beside those asked for.
    pub all_satisfied: bool,
}

/// What a repair changes.
#[derive(Clone, Debug)]
pub enum Mend {
    /// The map: rank r goes to the device of rank σ(r).
    Map {
        /// σ.
        permutation: Permutation,
        /// Whether fewer devices moved would do.
        fewest: Extent,
    },
    /// Messages are sent.
    Messages(Vec<Move>),
    /// A buffer is gathered, and each takes its part.
    Gather {
        /// The buffer.
        buffer: String,
        /// The partition over which, by name; the world if it has none.
        over: Option<String>,
    },
    /// Consumers read elsewhere, or something else.
    Index(Vec<Rewritten>),
}

/// A need as it would have to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The need, by its index in the plan.
    pub need: usize,
    /// What stands in the plan.
    pub from: String,
    /// What would have to.
    pub to: String,
}

/// The logical payload of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankPayload {
    /// The rank.
    pub rank: WorldRank,
    /// What it hands in.
    pub input: Volume,
    /// What it is promised.
    pub output: Volume,
}

/// Elements, and the bytes that they take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Volume {
    /// Elements.
    pub elements: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Volume {
    fn add(&mut self, elements: ElemCount, bytes: ByteCount) {
        self.elements = self.elements.saturating_add(elements.get());
        self.bytes = self.bytes.saturating_add(bytes.get());
    }
}

impl Repair {
    /// The output payload of all ranks together.
    pub fn total(&self) -> Volume {
        self.payloads.iter().fold(Volume::default(), |total, at| Volume {
            elements: total.elements.saturating_add(at.output.elements),
            bytes: total.bytes.saturating_add(at.output.bytes),
        })
    }

    /// The order among kinds that cost the same: the map, messages, a gather, an index.
    const fn kind(&self) -> u8 {
        match self.mend {
            Mend::Map { .. } => 0,
            Mend::Messages(_) => 1,
            Mend::Gather { .. } => 2,
            Mend::Index(_) => 3,
        }
    }
}

/// What is said beside the order of repairs.
pub const NOT_SAID: &str = "ordered by the logical payload of the added steps, then by their \
number. No link speed is known here: it is neither traffic nor time. A changed map or index adds \
no payload, but what it changes has to be changed by somebody";

/// The repairs of a plan that would satisfy the needs `wanted` (by index), cheapest
/// first; at most one of each kind, and none where they are satisfied.
///
/// Fails where the plan contradicts itself as it stands.
///
/// ```
/// use rankwise_plan::file::Format;
/// use rankwise_plan::read::NoArrays;
/// use rankwise_plan::repair::repairs;
/// use rankwise_plan::Plan;
///
/// let plan = Plan::read(
///     r#"
///     format = 1
///     group.devices = ["B", "A"]
///     input.x = { dtype = "i32", count = 4 }
///     proposal.it.step = [{ call = "reduce_scatter", op = "sum", send = "x", recv = "s" }]
///     need = [{ on = { device = "A" }, buffer = "s", holds = "shard(sum(x), 0)" }]
///     "#,
///     Format::Toml,
///     &mut NoArrays,
/// )?;
/// let found = repairs(&plan, &plan.proposals[0], &[0]).unwrap();
/// let costs: Vec<u64> = found.iter().map(|repair| repair.total().bytes).collect();
/// assert_eq!(costs, [0, 0, 8, 32]); // the map, the index, one shard, both on each rank
/// # Ok::<(), rankwise_plan::PlanError>(())
/// ```
pub fn repairs(
    plan: &Plan,
    proposal: &Proposal,
    wanted: &[usize],
) -> Result<Vec<Repair>, ExploreError> {
    let mut bench = Bench::new(plan, proposal, wanted)?;
    if bench.is_satisfied() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    found.extend(map::repair(&bench));
    found.extend(index::repair(&mut bench));
    let lacks = bench.lacks();
    if !lacks.is_empty() {
        found.extend(message::repair(&mut bench, &lacks));
        found.extend(gather::repair(&mut bench, &lacks));
    }
    found.sort_by_key(|repair| (repair.total().bytes, repair.steps, repair.kind()));
    Ok(found)
}

/// The needs of a plan that another satisfied and that it should satisfy too.
pub fn satisfied(answers: impl IntoIterator<Item = Answer>) -> Vec<usize> {
    let yes = answers.into_iter().enumerate().filter(|(_, answer)| *answer == Answer::Yes);
    yes.map(|(need, _)| need).collect()
}

/// The payload of each rank in some steps.
fn payloads(records: &[StepRecord]) -> Vec<RankPayload> {
    let mut all: alloc::collections::BTreeMap<WorldRank, RankPayload> =
        alloc::collections::BTreeMap::new();
    for call in records.iter().flat_map(|record| &record.calls) {
        for (rank, member) in call.layout.each().zip(call.group.members()) {
            // It fits: the buffers exist.
            let Ok(share) = payload(&call.layout, call.dtype, rank.rank()) else { continue };
            let (input, output) = (Volume::default(), Volume::default());
            let entry = all.entry(*member).or_insert(RankPayload { rank: *member, input, output });
            entry.input.add(share.input.elements(), share.input.bytes());
            entry.output.add(share.output.elements(), share.output.bytes());
        }
    }
    all.into_values().collect()
}
