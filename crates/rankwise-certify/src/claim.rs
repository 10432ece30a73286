//! The claim, held against what carrying the acts out again leaves.

mod difference;
mod written;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::Verified;
use crate::execute::{Inputs, Left, execute};
use crate::format::{
    Answer, Certificate, Claim, Held, Input, InputsAgree, Job, Need, Side, Verdict,
};
use crate::rejected::Rejected;
use crate::sense::Sense;
use crate::term::{Identity, Placed, Terms};
use crate::vector::{Content, Vector, side_by_side};
use difference::Found;
use written::Table;

/// Everything that a claim is held against.
struct Check<'a> {
    job: &'a Job,
    verdict: &'a Verdict,
    terms: Terms,
    inputs: Inputs<'a>,
    left: Vec<Left<'a>>,
    table: Table,
}

/// Checks a certificate.
pub(crate) fn check(certificate: &Certificate) -> Result<Verified, Rejected> {
    let (job, verdict) = (&certificate.job, &certificate.verdict);
    shape(job, verdict)?;
    let mut terms = Terms::default();
    let mut left = Vec::new();
    let mut inputs = Inputs::new();
    for (index, side) in job.sides.iter().enumerate() {
        let own = declare(job, index, side, &mut terms)?;
        left.push(execute(side, index, &own, &mut terms)?);
        inputs.extend(own);
    }
    let table = Table::read(&job.terms, &verdict.terms, &inputs, &mut terms)?;
    let mut check = Check { job, verdict, terms, inputs, left, table };
    let sense = match verdict.claim {
        Claim::Satisfied | Claim::NotSatisfied => check.needs()?,
        Claim::Same => check.same()?,
        Claim::Different => check.different()?,
    };
    if verdict.sense != sense {
        let why = format!("{} is claimed, {} holds", verdict.sense.name(), sense.name());
        return Err(Rejected::claim("verdict.sense", why));
    }
    Ok(Verified {
        claim: verdict.claim,
        sense: verdict.sense,
        proposals: job.sides.iter().map(|side| side.proposal.clone()).collect(),
        needs: job.needs.iter().map(|need| need.need).collect(),
        buffers: job.surface.clone(),
    })
}

/// Whether the parts are there that the claim speaks of, and no others.
fn shape(job: &Job, verdict: &Verdict) -> Result<(), Rejected> {
    let two = matches!(verdict.claim, Claim::Same | Claim::Different);
    let sides = if two { 2 } else { 1 };
    let place = |wrong: bool, place: &str, why: &str| {
        if wrong { Err(Rejected::claim(place, why)) } else { Ok(()) }
    };
    place(job.sides.len() != sides, "job.sides", "the claim is about another number of proposals")?;
    place(job.inputs_agree.is_some() != two, "job.inputs_agree", "stated for two sides only")?;
    place(job.needs.is_empty() != two, "job.needs", "needs for a claim about needs only")?;
    place(two && !job.terms.is_empty(), "job.terms", "terms without a need")?;
    place(!two && !job.surface.is_empty(), "job.surface", "a surface for two states only")?;
    place(verdict.needs.is_empty() != two, "verdict.needs", "answers to needs only")?;
    let same = verdict.claim == Claim::Same;
    place(!same && !verdict.state.is_empty(), "verdict.state", "a state where none is shared")?;
    let differ = verdict.claim == Claim::Different;
    place(
        verdict.difference.is_some() != differ,
        "verdict.difference",
        "a difference for different states only",
    )
}

/// The inputs of a side, each one with that of the other side where they agree.
fn declare<'a>(
    job: &'a Job,
    index: usize,
    side: &'a Side,
    terms: &mut Terms,
) -> Result<Inputs<'a>, Rejected> {
    let others = job.sides.iter().enumerate().filter(|(other, _)| *other != index);
    let others = others.flat_map(|(_, side)| &side.inputs);
    let others: BTreeMap<&str, &Input> = others.map(|one| (one.name.as_str(), one)).collect();
    let mut inputs = Inputs::new();
    for input in &side.inputs {
        let other = others.get(input.name.as_str());
        let agrees = match job.inputs_agree {
            None => true,
            Some(InputsAgree::ByMeaning) => input.meaning.is_some() && other == Some(&input),
            Some(InputsAgree::OnePlan) if other == Some(&input) => true,
            Some(InputsAgree::OnePlan) => {
                let why = format!("`{}` is not the same on both sides of one plan", input.name);
                return Err(Rejected::job(format!("sides[{index}].inputs"), why));
            }
        };
        let identity = Identity {
            name: input.name.clone(),
            dtype: input.dtype,
            counts: input.counts.iter().map(|count| count.0).collect(),
            meaning: input.meaning.clone(),
            attached: input.attached,
            only: (!agrees).then_some(index),
        };
        inputs.insert(&input.name, terms.input(identity));
    }
    Ok(inputs)
}

impl Check<'_> {
    /// Every need and its answer.
    fn needs(&mut self) -> Result<Sense, Rejected> {
        let answers = &self.verdict.needs;
        if answers.len() != self.job.needs.len() {
            return Err(Rejected::claim(
                "verdict.needs",
                "another number of answers than of needs",
            ));
        }
        let mut weakest = Sense::Exact;
        for (index, (need, answer)) in self.job.needs.iter().zip(answers).enumerate() {
            let place = format!("verdict.needs[{index}]");
            if need.need != answer.need {
                return Err(Rejected::claim(place, "it answers another need"));
            }
            let sense = self.need(need, answer, &place)?;
            if answer.sense != sense {
                let why = format!("{} is claimed, {} holds", answer.sense.name(), sense.name());
                return Err(Rejected::claim(format!("{place}.sense"), why));
            }
            weakest = weakest.max(answer.sense);
        }
        let all = answers.iter().all(|answer| answer.satisfied);
        if all != (self.verdict.claim == Claim::Satisfied) {
            return Err(Rejected::claim("verdict.claim", "the answers say otherwise"));
        }
        Ok(weakest)
    }

    fn need(&mut self, need: &Need, answer: &Answer, place: &str) -> Result<Sense, Rejected> {
        let refuse = |why: &str| Rejected::claim(place, why);
        if need.values.iter().all(|value| value.ranks.is_empty()) {
            return Err(refuse("a need of nobody"));
        }
        let positions = need.positions.map(|(from, to)| (from.0, to.0));
        if positions.is_some_and(|(from, to)| from > to) {
            return Err(refuse("positions that end before they start"));
        }
        let mut values: BTreeMap<u32, (usize, Arc<Vector>)> = BTreeMap::new();
        for (index, value) in need.values.iter().enumerate() {
            let needed = self.table.vector(value.dtype, &value.runs, &mut self.terms)?;
            let wanted = positions.map(|(from, to)| to.saturating_sub(from));
            if wanted.is_some_and(|wanted| wanted != needed.count()) {
                return Err(refuse("as many positions as are needed"));
            }
            if needed_nothing(&needed) {
                return Err(refuse("a need of nothing"));
            }
            let needed = Arc::new(needed);
            for rank in &value.ranks {
                let twice = values.insert(*rank, (index, Arc::clone(&needed))).is_some();
                if twice || self.job.sides.first().is_none_or(|side| *rank >= side.ranks) {
                    return Err(refuse("a rank twice, or one that is not there"));
                }
            }
        }
        if values.values().all(|(_, needed)| needed.count() == 0) {
            return Err(refuse("a need of no position"));
        }
        let Some(left) = self.left.first() else { return Err(refuse("nobody who needs it")) };
        match (&answer.difference, answer.satisfied) {
            (None, true) => {}
            (Some(difference), false) => {
                let found = Found { terms: &self.terms, table: &self.table, inputs: &self.inputs };
                return found.need(difference, left, need, &values, place);
            }
            _ => return Err(refuse("a difference where the need is satisfied, or none where not")),
        }
        let mut weakest = Sense::Exact;
        let mut seen = BTreeSet::new();
        for (rank, (index, needed)) in &values {
            let held = left.held(*rank, &need.buffer);
            let held = held.ok_or_else(|| refuse("a buffer that nobody wrote"))?;
            if !seen.insert((Arc::as_ptr(held).addr(), *index)) {
                continue;
            }
            let sense = fits(&mut self.terms, held, positions, needed);
            let sense =
                sense.map_err(|why| Rejected::claim(place, format!("rank {rank}: {why}")))?;
            weakest = weakest.max(sense);
        }
        Ok(weakest)
    }

    /// Two equal states.
    fn same(&mut self) -> Result<Sense, Rejected> {
        let [first, second] = self.left.as_slice() else {
            return Err(Rejected::claim("job.sides", "two sides, for a claim about two states"));
        };
        let twins = twins(self.job, first, second)?;
        let mut stated: BTreeMap<(&str, u32), &Held> = BTreeMap::new();
        for held in &self.verdict.state {
            for rank in &held.ranks {
                if stated.insert((held.buffer.as_str(), *rank), held).is_some() {
                    return Err(Rejected::claim("verdict.state", "a rank's buffer twice"));
                }
            }
        }
        let surface: BTreeSet<&String> = self.job.surface.iter().collect();
        if surface.len() != self.job.surface.len() || surface.is_empty() {
            return Err(Rejected::claim("job.surface", "no buffer, or one twice"));
        }
        let mut weakest = Sense::Exact;
        let mut seen = BTreeSet::new();
        for buffer in surface {
            let held = |one| first.held(one, buffer).is_some_and(|held| held.has_values());
            if !twins.iter().any(|[one, _]| held(*one)) {
                let why = format!("nothing is held in `{buffer}`: a claim about nothing");
                return Err(Rejected::claim("job.surface", why));
            }
            for [one, other] in &twins {
                let place = || format!("`{buffer}` of rank {one}");
                let held = stated.remove(&(buffer.as_str(), *one));
                let held =
                    held.ok_or_else(|| Rejected::claim(place(), "nothing is stated of it"))?;
                let nothing = Arc::new(Vector::empty(crate::number::Dtype::U8));
                let left = first.held(*one, buffer).unwrap_or(&nothing);
                let right = second.held(*other, buffer).unwrap_or(&nothing);
                let key = [
                    Arc::as_ptr(left).addr(),
                    Arc::as_ptr(right).addr(),
                    core::ptr::from_ref(held).addr(),
                ];
                if left.count() > 0 && right.count() > 0 && !seen.insert(key) {
                    continue;
                }
                let written = self.table.vector(left.dtype, &held.runs, &mut self.terms)?;
                let sense = agree(&mut self.terms, [left, right, &written]);
                weakest = weakest.max(sense.map_err(|why| Rejected::claim(place(), why))?);
            }
        }
        if !stated.is_empty() {
            return Err(Rejected::claim("verdict.state", "of a buffer that is not compared"));
        }
        Ok(weakest)
    }

    /// Two different states.
    fn different(&mut self) -> Result<Sense, Rejected> {
        let [first, second] = self.left.as_slice() else {
            return Err(Rejected::claim("job.sides", "two sides, for a claim about two states"));
        };
        let Some(difference) = &self.verdict.difference else {
            return Err(Rejected::claim("verdict.difference", "it is missing"));
        };
        let found = Found { terms: &self.terms, table: &self.table, inputs: &self.inputs };
        found.states(difference, self.job, [first, second])
    }
}

fn needed_nothing(vector: &Vector) -> bool {
    side_by_side(&[vector]).any(|(_, contents)| !matches!(contents.first(), Some(Content::Term(_))))
}

/// Whether a buffer holds what is needed, and in which sense.
fn fits(
    terms: &mut Terms,
    held: &Vector,
    positions: Option<(u64, u64)>,
    needed: &Vector,
) -> Result<Sense, String> {
    if held.dtype != needed.dtype {
        return Err("another element type than is needed".into());
    }
    let (from, to) = positions.unwrap_or((0, held.count()));
    let mut part = Vector::empty(held.dtype);
    part.append(held, from, to.saturating_sub(from)).ok_or("a buffer that is too short")?;
    if part.count() != needed.count() {
        let (found, count) = (part.count(), needed.count());
        return Err(format!("{found} elements where {count} are needed"));
    }
    let mut weakest = Sense::Exact;
    for (_, contents) in side_by_side(&[&part, needed]) {
        terms.spend(1).map_err(|limit| format!("{limit}"))?;
        match contents.as_slice() {
            [Content::Term(found), Content::Term(wanted)] => {
                weakest = weakest.max(equal(terms, *found, *wanted)?);
            }
            _ => return Err("a position of which nothing is known".into()),
        }
    }
    Ok(weakest)
}

/// The sense in which two terms are equal, if they are.
fn equal(terms: &Terms, one: Placed, other: Placed) -> Result<Sense, String> {
    let normals = terms.normal(one).zip(terms.normal(other));
    match normals {
        Some((left, right)) if left == right => Ok(terms.sense(one, other)),
        _ => Err("another value than is claimed".into()),
    }
}

/// Whether both sides hold what is written, and in which sense they do the same.
fn agree(terms: &mut Terms, [left, right, written]: [&Vector; 3]) -> Result<Sense, String> {
    let mut weakest = Sense::Exact;
    for (_, contents) in side_by_side(&[left, right, written]) {
        terms.spend(1).map_err(|limit| format!("{limit}"))?;
        match contents.as_slice() {
            [Content::Nothing, Content::Nothing, Content::Nothing] => {}
            [Content::Term(one), Content::Term(other), Content::Term(stated)] => {
                equal(terms, *one, *stated)?;
                weakest = weakest.max(equal(terms, *one, *other)?);
            }
            _ => return Err("one has what the other has not".into()),
        }
    }
    Ok(weakest)
}

/// The ranks of both sides that are one place: the same device, or else the same rank.
fn twins(job: &Job, first: &Left<'_>, second: &Left<'_>) -> Result<Vec<[u32; 2]>, Rejected> {
    let refuse = |why: &str| Rejected::claim("job.sides", why);
    let [one, other] = job.sides.as_slice() else { return Err(refuse("two sides")) };
    let (left, right) = (difference::places(one, first), difference::places(other, second));
    if one.devices.is_some() != other.devices.is_some() || !left.keys().eq(right.keys()) {
        return Err(refuse("the places are not the same"));
    }
    Ok(left.into_values().zip(right.into_values()).map(|(one, other)| [one, other]).collect())
}
