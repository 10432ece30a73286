//! What the ranks hold, against what the model says.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rankwise_comm::FoldOrder;
use rankwise_model::Scalar;
use rankwise_plan::evaluate::Evaluation;
use rankwise_plan::judge::{Judgement, Law, Observed, judge};
use rankwise_plan::need::{Answer, judge_needs};
use rankwise_plan::numbers::Numbers;
use rankwise_plan::plan::{Need, On, Plan};
use rankwise_plan::sense::{Sense, sense};
use rankwise_plan::term::Terms;
use rankwise_plan::values::Values;
use rankwise_plan::vector::{Content, Vector};
use rankwise_topology::{World, WorldRank};

use crate::error::RunError;
use crate::job::Job;
use crate::rank::RankResult;
use crate::record::{
    BufferRecord, BufferVerdict, Difference, NeedRecord, NeedVerdict, Value, Wide, fold_order,
};

/// What a check says.
pub(crate) struct Checked {
    pub(crate) buffers: Vec<BufferRecord>,
    pub(crate) needs: Vec<NeedRecord>,
    /// What the check itself fell over.
    pub(crate) error: Option<RunError>,
}

/// Checks every rank that came to its end; also what those ranks hold, by public name.
pub(crate) fn check(job: &Job, results: &[RankResult]) -> (Checked, Observed) {
    let left = left(job, results);
    let mut checker = Checker::of(job, fold_order(results));
    match checker.check(&left) {
        Ok((buffers, needs)) => (Checked { buffers, needs, error: None }, left),
        Err(error) => {
            (Checked { buffers: Vec::new(), needs: Vec::new(), error: Some(error) }, left)
        }
    }
}

/// What the ranks hold, by the names that needs use.
fn left(job: &Job, results: &[RankResult]) -> Observed {
    let mut left = Observed::new();
    for result in results {
        for (name, values) in &result.buffers {
            let public = job.proposal.public_name(name);
            // A name that another buffer answers to is not this one's.
            let held = job.proposal.held(&job.evaluation.after, result.rank, public);
            let own = job.evaluation.after.get(result.rank, name);
            let same = held.zip(own).is_some_and(|(held, own)| Arc::ptr_eq(held, own));
            if same {
                left.insert((result.rank, public.to_owned()), values.clone());
            }
        }
    }
    left
}

struct Checker<'j> {
    job: &'j Job,
    terms: Terms,
    order: FoldOrder,
    /// By vector: readers of one call share it.
    expected: HashMap<usize, Arc<Expected>>,
}

/// What a buffer should hold.
struct Expected {
    /// By position; `None` where nothing is promised.
    values: Vec<Option<Scalar>>,
    /// The weakest sense in which a right value equals the expected one; `None` where
    /// nothing is promised at all.
    sense: Option<Sense>,
}

impl<'j> Checker<'j> {
    fn of(job: &'j Job, order: FoldOrder) -> Self {
        Self { job, terms: job.terms.clone(), order, expected: HashMap::new() }
    }

    fn check(&mut self, left: &Observed) -> Result<(Vec<BufferRecord>, Vec<NeedRecord>), RunError> {
        let job = self.job;
        let numbers = Numbers::of(&job.plan, &mut self.terms);
        let mut buffers = Vec::new();
        for ((rank, buffer), found) in left {
            let held = job.proposal.held(&job.evaluation.after, *rank, buffer);
            let held = held.ok_or_else(|| RunError::Internal {
                what: format!("rank {rank} holds {buffer}, which the plan does not leave there"),
            })?;
            if (held.dtype(), held.count()) != (found.dtype(), found.count()) {
                let (is, of) = (found.count(), found.dtype());
                let (should, be) = (held.count(), held.dtype());
                return Err(RunError::Internal {
                    what: format!("rank {rank} holds {is} × {of} in {buffer}, not {should} × {be}"),
                });
            }
            let expected = self.expected(&numbers, held)?;
            buffers.push(self.buffer(*rank, buffer, found, &expected));
        }
        // Bits that differ may still be within the bound; and a law may explain them.
        if buffers.iter().any(|buffer| buffer.verdict == BufferVerdict::Differs) {
            let judgement = judge(&job.plan, &job.proposal, left)
                .map_err(|error| RunError::Internal { what: error.to_string() })?;
            for buffer in &mut buffers {
                explain(buffer, &judgement);
            }
        }
        buffers.sort_by(|one, other| (&one.buffer, one.rank).cmp(&(&other.buffer, other.rank)));
        let needs = self.needs(&buffers)?;
        Ok((buffers, needs))
    }

    fn expected(
        &mut self,
        numbers: &Numbers<'_>,
        vector: &Arc<Vector>,
    ) -> Result<Arc<Expected>, RunError> {
        // The evaluation keeps every vector alive: no address is used twice.
        let address = Arc::as_ptr(vector).addr();
        if let Some(known) = self.expected.get(&address) {
            return Ok(Arc::clone(known));
        }
        let values = numbers.values(&self.terms, vector);
        let mut weakest = None;
        for run in vector.runs() {
            if let Content::Term(placed) = run.content {
                weakest = weakest.max(Some(sense(&self.terms, placed, placed)));
                let at = usize::try_from(run.positions.start).ok();
                if at.and_then(|at| values.get(at)).is_none_or(Option::is_none) {
                    let what = "a value that the plan promises is not known".to_owned();
                    return Err(RunError::Internal { what });
                }
            }
        }
        let sense = weakest.map(|weakest| match self.order {
            // Such a backend's bits are the model's, however they came about.
            FoldOrder::Rank => weakest.min(Sense::BitsGivenFoldOrder),
            FoldOrder::Unspecified if weakest > Sense::Unique => Sense::WithinBound,
            FoldOrder::Unspecified => weakest,
        });
        let expected = Arc::new(Expected { values, sense });
        self.expected.insert(address, Arc::clone(&expected));
        Ok(expected)
    }

    /// Compares bits.
    fn buffer(
        &self,
        rank: WorldRank,
        buffer: &str,
        found: &Values,
        expected: &Expected,
    ) -> BufferRecord {
        let pairs = (0_u64..).zip(found.iter().zip(&expected.values));
        let mut wrong = pairs.filter_map(|(position, (found, expected))| {
            let expected = (*expected)?;
            (found != expected).then_some((position, found, expected))
        });
        let first = wrong.next();
        let others = u64::try_from(wrong.count()).unwrap_or(u64::MAX);
        let first_difference = first.map(difference);
        BufferRecord {
            rank: rank.index(),
            device: self.job.plan.device_of(rank),
            buffer: buffer.to_owned(),
            dtype: found.dtype().to_string(),
            count: Wide(found.count()),
            written: is_written(self.job, rank, buffer),
            verdict: match (&first_difference, expected.sense) {
                (Some(_), _) => BufferVerdict::Differs,
                (None, None) if found.count() > 0 => BufferVerdict::NotPromised,
                (None, _) => BufferVerdict::Holds,
            },
            sense: expected.sense.map(|sense| sense.name().to_owned()),
            wrong: Wide(first_difference.as_ref().map_or(0, |_| others.saturating_add(1))),
            first_difference,
            law: None,
        }
    }

    fn needs(&mut self, buffers: &[BufferRecord]) -> Result<Vec<NeedRecord>, RunError> {
        let job = self.job;
        let evaluation = &job.evaluation;
        let report = judge_needs(&job.plan, &job.proposal, evaluation, &mut self.terms)?;
        let by_place: BTreeMap<(u32, &str), &BufferRecord> =
            buffers.iter().map(|buffer| ((buffer.rank, buffer.buffer.as_str()), buffer)).collect();
        let mut records = Vec::new();
        for (stated, planned) in job.plan.needs.iter().zip(&report.needs) {
            let (found, why) = observed(&job.plan, stated, &by_place);
            let evidence = planned.evidence.as_ref().map(|evidence| {
                let (rank, buffer) = (evidence.rank, &evidence.buffer);
                let (found, needed) = (&evidence.found, &evidence.needed);
                format!(
                    "the proposal leaves {found} on rank {rank} in {buffer}, needed is {needed}"
                )
            });
            let (answer, why) = match (planned.answer, found) {
                (Answer::No, _) => (NeedVerdict::NotMet, evidence),
                (_, NeedVerdict::NotMet) => (NeedVerdict::NotMet, why),
                (Answer::Unknown, _) => (NeedVerdict::Unknown, evidence),
                (Answer::Yes, found) => (found, why),
            };
            // What is found equals what the model says in one sense, and that equals
            // what is needed in another.
            let met = answer == NeedVerdict::Met;
            let found = places(&job.plan, stated)
                .filter_map(|(_, place)| named(by_place.get(&place)?.sense.as_deref()?));
            let sense = planned.sense.into_iter().chain(found).max().filter(|_| met);
            records.push(NeedRecord {
                need: u32::try_from(planned.need).unwrap_or(u32::MAX),
                on: match &stated.on {
                    On::EveryRank => "every rank".to_owned(),
                    On::Rank(rank) => format!("rank {rank}"),
                    On::Device(name) => format!("device {name}"),
                    On::Group(name) => format!("group {name}"),
                },
                buffer: stated.buffer.clone(),
                positions: stated.positions.as_ref().map(|at| [Wide(at.start), Wide(at.end)]),
                holds: stated.holds_text.clone(),
                answer,
                sense: sense.map(|sense| sense.name().to_owned()),
                why,
            });
        }
        Ok(records)
    }
}

/// Puts the judge's finding into the record of a buffer whose bits differ.
fn explain(buffer: &mut BufferRecord, judgement: &Judgement) {
    if buffer.verdict != BufferVerdict::Differs {
        return;
    }
    let finding = judgement
        .findings
        .iter()
        .find(|finding| finding.rank.index() == buffer.rank && finding.buffer == buffer.buffer);
    let Some(finding) = finding else { return };
    let bits = buffer.sense.as_deref() != Some(Sense::WithinBound.name());
    match (&finding.law, bits) {
        (Law::Right, false) => {
            buffer.verdict = BufferVerdict::Holds;
            buffer.wrong = Wide(0);
            buffer.first_difference = None;
        }
        (Law::Right, true) => {
            buffer.law = Some("within the bound of another fold order".to_owned());
        }
        (law, bits) => {
            buffer.law = Some(law.to_string());
            if !bits {
                buffer.wrong = Wide(finding.wrong);
                buffer.first_difference = finding.first_wrong.map(difference);
            }
        }
    }
}

/// Whether the ranks that a need names hold what the model says, where it looks.
fn observed(
    plan: &Plan,
    need: &Need,
    buffers: &BTreeMap<(u32, &str), &BufferRecord>,
) -> (NeedVerdict, Option<String>) {
    let mut answer = (NeedVerdict::Met, None);
    for (rank, place) in places(plan, need) {
        let Some(buffer) = buffers.get(&place) else {
            let why = format!("what rank {rank} holds in {} is not known", need.buffer);
            answer = (NeedVerdict::Unknown, Some(why));
            continue;
        };
        let Some(first) = &buffer.first_difference else { continue };
        let within = |position: u64| {
            need.positions.as_ref().is_none_or(|positions| positions.contains(&position))
        };
        let after =
            need.positions.as_ref().is_some_and(|positions| positions.end <= first.position.0);
        if within(first.position.0) {
            let why = format!(
                "rank {rank} holds {} at position {} of {}, expected {}",
                first.found.value, first.position, need.buffer, first.expected.value
            );
            return (NeedVerdict::NotMet, Some(why));
        }
        if !after {
            // Something before the needed positions is wrong: perhaps these are too.
            let why = format!("rank {rank} holds something else before these positions");
            answer = (NeedVerdict::Unknown, Some(why));
        }
    }
    answer
}

/// The ranks that a need names, each with the key of its buffer.
fn places<'n>(plan: &'n Plan, need: &'n Need) -> impl Iterator<Item = (WorldRank, (u32, &'n str))> {
    let ranks = World::new(plan.world).ranks().filter(|rank| plan.is_on(&need.on, *rank));
    ranks.map(|rank| (rank, (rank.index(), need.buffer.as_str())))
}

/// The sense of that name.
fn named(name: &str) -> Option<Sense> {
    Sense::ALL.into_iter().find(|sense| sense.name() == name)
}

fn difference((position, found, expected): (u64, Scalar, Scalar)) -> Difference {
    Difference { position: Wide(position), found: value(found), expected: value(expected) }
}

fn value(scalar: Scalar) -> Value {
    let digits = usize::try_from(scalar.dtype().bytes().saturating_mul(2)).unwrap_or(16);
    Value { value: scalar.to_string(), bits: format!("0x{:0digits$x}", scalar.bits()) }
}

/// Whether a step wrote the buffer on that rank.
fn is_written(job: &Job, rank: WorldRank, public: &str) -> bool {
    let Evaluation { before, after, .. } = &job.evaluation;
    let held = |memory| job.proposal.held(memory, rank, public);
    !held(before).zip(held(after)).is_some_and(|(before, after)| Arc::ptr_eq(before, after))
}
