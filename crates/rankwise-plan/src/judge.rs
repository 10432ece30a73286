//! What arrays that a real run left say about it: right, or the law that explains them.

mod folds;
mod laws;
mod tolerance;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use rankwise_model::Scalar;
use rankwise_topology::WorldRank;

use crate::error::PlanError;
use crate::evaluate::{Evaluation, evaluate};
use crate::memory::ranks;
use crate::numbers::Numbers;
use crate::plan::{Plan, Proposal};
use crate::relabel::relabel;
use crate::term::Terms;
use crate::values::Values;
use crate::vector::{Content, Vector};
use crate::wrong::{History, Permutation};
use folds::Folded;
use laws::Case;

pub use laws::Law;

/// The arrays that a run left: by rank and buffer (public name).
pub type Observed = BTreeMap<(WorldRank, String), Values>;

/// What the arrays say.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// One finding per array, by buffer and then by rank.
    pub findings: Vec<Finding>,
    /// A map under which every array would be right: the device of each rank, in rank
    /// order. Only sought where the plan's own map does not explain them.
    pub map: Option<Vec<String>>,
    /// Pairs of ranks whose contributions are equal, so that exchanging them would
    /// not show in these arrays.
    pub indistinct: Vec<(WorldRank, WorldRank)>,
}

impl Judgement {
    /// By rank: whose `buffer` it holds, itself included. `None` unless every rank's
    /// array was judged and is some rank's right one.
    ///
    /// A list without repetitions says that nothing was computed wrongly: ranks are
    /// numbered otherwise than the plan numbers them.
    pub fn owners(&self, buffer: &str) -> Option<Vec<u32>> {
        owners(&self.findings, buffer)
    }
}

fn owners(findings: &[Finding], buffer: &str) -> Option<Vec<u32>> {
    let findings = findings.iter().filter(|finding| finding.buffer == buffer);
    let owner = |finding: &Finding| match &finding.law {
        Law::Right => Some(finding.rank.index()),
        law => law.owner().map(WorldRank::index),
    };
    findings.map(owner).collect()
}

/// What one array says.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Whose array.
    pub rank: WorldRank,
    /// On which device, where a map is given.
    pub device: Option<String>,
    /// Of which buffer.
    pub buffer: String,
    /// The law that explains it.
    pub law: Law,
    /// The first position with a wrong value: position, found, expected.
    pub first_wrong: Option<(u64, Scalar, Scalar)>,
    /// How many positions hold a wrong value.
    pub wrong: u64,
    /// How many there are.
    pub count: u64,
}

/// Why arrays cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JudgeError {
    /// The plan itself is contradictory.
    Plan(PlanError),
    /// An array of a buffer that the proposal does not leave on that rank.
    NoSuchBuffer {
        /// The rank.
        rank: WorldRank,
        /// The buffer.
        buffer: String,
    },
    /// An array of another element type or length than the buffer.
    Shape {
        /// The rank.
        rank: WorldRank,
        /// The buffer.
        buffer: String,
        /// Element type and length of the array.
        found: String,
        /// Element type and length of the buffer.
        needed: String,
    },
    /// The plan gives no values for what the buffer is made of.
    NoValues {
        /// The buffer.
        buffer: String,
    },
    /// No arrays at all.
    NoArrays,
}

impl fmt::Display for JudgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(error) => error.fmt(f),
            Self::NoSuchBuffer { rank, buffer } => {
                write!(f, "rank {rank}: the proposal leaves no buffer `{buffer}` there")
            }
            Self::Shape { rank, buffer, found, needed } => {
                write!(f, "rank {rank}, buffer `{buffer}`: found {found}, expected {needed}")
            }
            Self::NoValues { buffer } => write!(
                f,
                "buffer `{buffer}` is made of inputs without values, or by a reduction without a name; \
                 give the inputs' values in the plan"
            ),
            Self::NoArrays => f.write_str("no arrays were observed"),
        }
    }
}

impl core::error::Error for JudgeError {}

impl From<PlanError> for JudgeError {
    fn from(error: PlanError) -> Self {
        Self::Plan(error)
    }
}

/// Judges the arrays that a run of `proposal` left.
pub fn judge(
    plan: &Plan,
    proposal: &Proposal,
    observed: &Observed,
) -> Result<Judgement, JudgeError> {
    if observed.is_empty() {
        return Err(JudgeError::NoArrays);
    }
    let mut terms = Terms::new();
    let expected = Expected::of(plan, proposal, observed, &mut terms)?;
    let numbers = Numbers::of(plan, &mut terms);
    let mut folded: Option<Folded<'_>> = None;
    let mut findings = Vec::new();
    for ((rank, buffer), values) in observed {
        let key = (*rank, buffer.clone());
        let Some(want) = expected.buffers.get(&key) else { continue };
        let wrong = want.wrong_positions(values);
        let first_wrong = wrong.first().and_then(|position| {
            let want = usize::try_from(*position).ok().and_then(|index| want.values.get(index));
            Some((*position, values.get(*position)?, (*want?)?))
        });
        let law = if wrong.is_empty() {
            Law::Right
        } else {
            let case = Case { plan, rank: *rank, buffer, values, want, expected: &expected };
            let folded = folded.get_or_insert_with(|| Folded::of(plan, proposal, &mut terms));
            case.explain(&mut terms, &numbers, folded)
        };
        let wrong = u64::try_from(wrong.len()).unwrap_or(u64::MAX);
        let device = plan.device_of(*rank);
        findings.push(Finding {
            rank: *rank,
            device,
            buffer: buffer.clone(),
            law,
            first_wrong,
            wrong,
            count: values.count(),
        });
    }
    findings.sort_by(|one, other| (&one.buffer, one.rank).cmp(&(&other.buffer, other.rank)));
    let explained = findings.iter().all(|finding| finding.law == Law::Right);
    let map = if explained { None } else { better_map(plan, proposal, observed, &findings) };
    Ok(Judgement { findings, map, indistinct: indistinct(plan) })
}

/// What the arrays should hold.
pub(crate) struct Expected<'a> {
    pub(crate) proposal: &'a Proposal,
    pub(crate) evaluation: Evaluation,
    pub(crate) buffers: BTreeMap<(WorldRank, String), Want>,
}

/// What one array should hold.
pub(crate) struct Want {
    pub(crate) vector: Vector,
    /// By position; `None` where nothing is promised, so that anything is right.
    pub(crate) values: Vec<Option<Scalar>>,
    /// By position: how far a value may be off; `None` for bits.
    pub(crate) tolerance: Vec<Option<f64>>,
}

impl Want {
    pub(crate) fn wrong_positions(&self, values: &Values) -> Vec<u64> {
        let expected = self.values.iter().zip(&self.tolerance);
        let pairs = (0_u64..).zip(values.iter().zip(expected));
        pairs
            .filter(|(_, (found, (want, tolerance)))| {
                want.is_some_and(|want| !tolerance::agrees(*found, want, **tolerance))
            })
            .map(|(position, _)| position)
            .collect()
    }
}

impl<'a> Expected<'a> {
    fn of(
        plan: &Plan,
        proposal: &'a Proposal,
        observed: &Observed,
        terms: &mut Terms,
    ) -> Result<Self, JudgeError> {
        let evaluation = evaluate(plan, proposal, terms)?;
        let numbers = Numbers::of(plan, terms);
        let mut buffers = BTreeMap::new();
        for ((rank, buffer), found) in observed {
            let (rank, name) = (*rank, buffer.clone());
            let held = proposal.held(&evaluation.after, rank, buffer);
            let Some(held) = held else {
                return Err(JudgeError::NoSuchBuffer { rank, buffer: name });
            };
            if (found.dtype(), found.count()) != (held.dtype(), held.count()) {
                let shape = |dtype: &dyn fmt::Display, count: u64| {
                    alloc::format!("{count} elements of {dtype}")
                };
                return Err(JudgeError::Shape {
                    rank,
                    buffer: name,
                    found: shape(&found.dtype(), found.count()),
                    needed: shape(&held.dtype(), held.count()),
                });
            }
            let values = numbers.values(terms, held);
            let promised: u64 =
                held.runs().filter(|run| !run.is_gap()).map(|run| run.count()).sum();
            let known = values.iter().filter(|value| value.is_some()).count();
            if u64::try_from(known) != Ok(promised) {
                return Err(JudgeError::NoValues { buffer: name });
            }
            let tolerance = tolerance::of_vector(terms, &numbers, held);
            buffers.insert((rank, name), Want { vector: (**held).clone(), values, tolerance });
        }
        Ok(Self { proposal, evaluation, buffers })
    }

    pub(crate) const fn history<'s>(&'s self, terms: &'s Terms) -> History<'s> {
        History { terms, proposal: self.proposal, evaluation: &self.evaluation }
    }
}

/// A map under which every array is right, if the findings or a small search give one.
fn better_map(
    plan: &Plan,
    proposal: &Proposal,
    observed: &Observed,
    findings: &[Finding],
) -> Option<Vec<String>> {
    let devices: Option<Vec<String>> = ranks(plan.world).map(|rank| plan.device_of(rank)).collect();
    let devices = devices?;
    candidates(plan, findings).into_iter().find_map(|order| {
        let named: Option<Vec<&str>> = order
            .iter()
            .map(|rank| devices.get(usize::try_from(*rank).ok()?).map(String::as_str))
            .collect();
        let named = named?;
        let relabelled = relabel(plan, &named).ok()?;
        let right = all_right(&relabelled, proposal, observed)?;
        right.then(|| named.iter().map(ToString::to_string).collect())
    })
}

/// Whether every array is right, found out with as little arithmetic as it takes:
/// most maps that are tried fail at the first value.
fn all_right(plan: &Plan, proposal: &Proposal, observed: &Observed) -> Option<bool> {
    let mut terms = Terms::new();
    let evaluation = evaluate(plan, proposal, &mut terms).ok()?;
    let numbers = Numbers::of(plan, &mut terms);
    for ((rank, buffer), values) in observed {
        let held = proposal.held(&evaluation.after, *rank, buffer)?;
        for run in held.runs() {
            for offset in 0..run.count() {
                let Content::Term(placed) = run.content.shifted(offset) else { break };
                let found = values.get(run.positions.start.saturating_add(offset))?;
                let expected = numbers.value(&terms, placed)?;
                let right = found == expected || {
                    let tolerance = tolerance::of_term(&terms, &numbers, placed);
                    tolerance::agrees(found, expected, tolerance)
                };
                if !right {
                    return Some(false);
                }
            }
        }
    }
    Some(true)
}

/// Groups of at most this many ranks are searched exhaustively for a map.
const SEARCHED_RANKS: u32 = 6;

/// Orders of the devices worth trying: those that the findings suggest, and for small
/// worlds all of them.
fn candidates(plan: &Plan, findings: &[Finding]) -> Vec<Vec<u32>> {
    let mut orders = Vec::new();
    let n = plan.world.get();
    let is_order = |order: &Vec<u32>| {
        let mut sorted = order.clone();
        sorted.sort_unstable();
        sorted.iter().copied().eq(0..n)
    };
    for finding in findings {
        for order in finding.law.wrongs().iter().filter_map(|wrong| wrong.order_of_blocks(n)) {
            orders.push(order.inverse().as_slice().to_vec());
            orders.push(order.as_slice().to_vec());
        }
    }
    for buffer in findings.iter().map(|finding| &finding.buffer).collect::<BTreeSet<_>>() {
        if let Some(owners) = owners(findings, buffer) {
            orders.push(Permutation::new(owners.clone()).inverse().as_slice().to_vec());
            orders.push(owners);
        }
    }
    orders.retain(is_order);
    if n <= SEARCHED_RANKS {
        orders.extend(permutations((0..n).collect()));
    }
    orders
}

fn permutations(items: Vec<u32>) -> Vec<Vec<u32>> {
    if items.len() <= 1 {
        return alloc::vec![items];
    }
    let mut all = Vec::new();
    for first in &items {
        let rest = items.iter().copied().filter(|item| item != first).collect();
        for mut tail in permutations(rest) {
            tail.insert(0, *first);
            all.push(tail);
        }
    }
    all
}

/// Pairs of ranks with the same values in every input, next ones first.
fn indistinct(plan: &Plan) -> Vec<(WorldRank, WorldRank)> {
    let all: Vec<WorldRank> = ranks(plan.world).collect();
    let contribution = |rank: &WorldRank| -> Option<Vec<&[u8]>> {
        let index = usize::try_from(rank.index()).ok()?;
        let inputs = plan.inputs.values();
        inputs.map(|input| Some(input.values.as_ref()?.get(index)?.as_le_bytes())).collect()
    };
    let mut first_with: BTreeMap<Vec<&[u8]>, WorldRank> = BTreeMap::new();
    let mut pairs = Vec::new();
    for rank in &all {
        let Some(contribution) = contribution(rank).filter(|inputs| !inputs.is_empty()) else {
            continue;
        };
        match first_with.get(&contribution) {
            Some(first) => pairs.push((*first, *rank)),
            None => _ = first_with.insert(contribution, *rank),
        }
    }
    pairs
}
