//! Needs: what ranks hold, against what they need.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::sync::Arc;

use super::compare::{differ, same};
use super::stated;
use super::written::Table;
use crate::execute::{Inputs, Left};
use crate::format::{Answer, Claim, Difference, Job, Need, Side, Verdict};
use crate::rejected::{No, Rejected, ensure};
use crate::sense::Sense;
use crate::term::Terms;
use crate::vector::{Content, Vector};

/// Checks the answer to each need. The weakest sense of all is that of the verdict.
pub(super) fn check(
    job: &Job,
    verdict: &Verdict,
    side: &Side,
    left: &Left<'_>,
    inputs: &Inputs<'_>,
    terms: &mut Terms,
) -> Result<Sense, Rejected> {
    let table = Table::read(job, inputs, terms)?;
    let mut weakest = Sense::Exact;
    for (index, (need, answer)) in job.needs.iter().zip(&verdict.needs).enumerate() {
        let needed = needed(need, side, &table, terms);
        let needed = needed.map_err(|no| no.in_job(format!("needs[{index}]")))?;
        let place = format!("verdict.needs[{index}]");
        let look = Look { need, needed, left, inputs, terms };
        weakest = weakest.max(look.answer(answer).map_err(|no| no.in_claim(place))?);
    }
    let all = verdict.needs.iter().all(|answer| answer.difference.is_none());
    if all != (verdict.claim == Claim::Satisfied) {
        return Err(No::from("the answers say otherwise").in_claim("verdict.claim"));
    }
    Ok(weakest)
}

/// What each rank needs.
type ByRank = BTreeMap<u32, Arc<Vector>>;

fn needed(need: &Need, side: &Side, table: &Table, terms: &Terms) -> Result<ByRank, No> {
    let mut needed = ByRank::new();
    for value in &need.values {
        let vector = Arc::new(table.vector(value, terms)?);
        let count = vector.count();
        let fits = need.positions.is_none_or(|(from, to)| from.0.checked_add(count) == Some(to.0));
        ensure!(fits, "{count} values, which are not as many as the positions");
        for rank in &value.ranks {
            ensure!(*rank < side.ranks, "rank {rank}, which is not there");
            ensure!(needed.insert(*rank, Arc::clone(&vector)).is_none(), "rank {rank} twice");
        }
    }
    ensure!(!needed.is_empty(), "a need of nobody");
    ensure!(needed.values().any(|vector| vector.count() > 0), "a need of no position");
    Ok(needed)
}

struct Look<'a> {
    need: &'a Need,
    needed: ByRank,
    left: &'a Left<'a>,
    inputs: &'a Inputs<'a>,
    terms: &'a Terms,
}

impl Look<'_> {
    fn answer(&self, answer: &Answer) -> Result<Sense, No> {
        let sense = match &answer.difference {
            None => self.satisfied()?,
            Some(difference) => self.differs(difference)?,
        };
        stated(answer.sense, sense)?;
        Ok(sense)
    }

    /// Every rank holds what it needs. Ranks that share both are looked at once.
    fn satisfied(&self) -> Result<Sense, No> {
        let mut weakest = Sense::Exact;
        let mut seen = BTreeSet::new();
        for (rank, needed) in &self.needed {
            let held = self.left.held(*rank, &self.need.buffer);
            let address = held.map(|held| Arc::as_ptr(held).addr());
            if seen.insert((address, Arc::as_ptr(needed).addr())) {
                let found = self.found(*rank, needed).ok_or("another type or length is held");
                let sense =
                    found.map_err(No::from).and_then(|found| same(self.terms, &found, needed));
                weakest = weakest.max(sense.map_err(|no| no.within(&format!("rank {rank}")))?);
            }
        }
        Ok(weakest)
    }

    /// One rank does not hold what it needs.
    fn differs(&self, difference: &Difference) -> Result<Sense, No> {
        let Difference { rank, buffer, position, witness } = difference;
        ensure!(*buffer == self.need.buffer, "a difference in another buffer");
        let needed = self.needed.get(rank).ok_or("a rank that does not need it")?;
        let Some(found) = self.found(*rank, needed) else {
            let whole = position.is_none() && witness.is_empty();
            ensure!(whole, "a position, where the type or the length is another one");
            return Ok(Sense::Exact);
        };
        let position = position.ok_or("type and length are what is needed, so say a position")?;
        let from = self.need.positions.map_or(0, |(from, _)| from.0);
        let at = position.0.checked_sub(from).filter(|at| *at < needed.count());
        let at = at.ok_or("a position that is not needed")?;
        differ(self.terms, self.inputs, [found.at(at), needed.at(at)], witness)
    }

    /// What a rank holds at the positions that are needed; `None` if the buffer has
    /// another type, is shorter, or, where all of it is needed, has another length. A
    /// buffer that is not there holds nothing.
    fn found(&self, rank: u32, needed: &Vector) -> Option<Vector> {
        let Some(held) = self.left.held(rank, &self.need.buffer) else {
            return Some(Vector::of(needed.dtype, needed.count(), Content::Nothing));
        };
        let from = self.need.positions.map(|(from, _)| from.0);
        let fits = held.dtype == needed.dtype && (from.is_some() || held.count() == needed.count());
        held.part(from.unwrap_or(0), needed.count()).filter(|_| fits)
    }
}
