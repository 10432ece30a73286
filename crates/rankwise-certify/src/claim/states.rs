//! States: what two proposals leave in the same places of a surface.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::compare::{differ, same};
use crate::execute::{Inputs, Left};
use crate::format::{Claim, Difference, Job, Side, Verdict};
use crate::number::Dtype;
use crate::rejected::{No, ensure};
use crate::sense::Sense;
use crate::term::Terms;
use crate::vector::{Content, Vector};
use crate::world::places;

/// Both sides, and what they leave.
pub(super) struct Both<'a> {
    pub(super) job: &'a Job,
    pub(super) sides: [&'a Side; 2],
    pub(super) left: [&'a Left<'a>; 2],
}

impl<'a> Both<'a> {
    pub(super) fn check(
        &self,
        verdict: &Verdict,
        inputs: &Inputs<'_>,
        terms: &Terms,
    ) -> Result<Sense, No> {
        let surface: BTreeSet<_> = self.job.surface.iter().collect();
        ensure!(surface.len() == self.job.surface.len(), "a buffer of the surface twice");
        let twins = self.twins()?;
        match (verdict.claim, &verdict.difference, twins) {
            (Claim::Different, None, None) => Ok(Sense::Exact),
            (_, _, None) => Err("the places are not the same on both sides".into()),
            (Claim::Different, None, _) => Err("the places are the same on both sides".into()),
            (Claim::Different, Some(difference), Some(twins)) => {
                self.differs(difference, &twins, inputs, terms)
            }
            (_, _, Some(twins)) => self.same(&twins, terms),
        }
    }

    /// The ranks of both sides that are one place: the same device, or else the same
    /// rank. `None` if one side has a place that the other does not have.
    fn twins(&self) -> Result<Option<Vec<[u32; 2]>>, No> {
        let [one, other] = self.sides;
        let both = one.devices.is_some() == other.devices.is_some();
        ensure!(both, "devices on one side only: the places may be the same");
        let (left, right) = (places(one), places(other));
        let twins = left.values().zip(right.values()).map(|(one, other)| [*one, *other]);
        Ok(left.keys().eq(right.keys()).then(|| twins.collect()))
    }

    /// Every place holds the same. Places that share both buffers are looked at once.
    fn same(&self, twins: &[[u32; 2]], terms: &Terms) -> Result<Sense, No> {
        let mut weakest = Sense::Exact;
        let nothing = Arc::new(Vector::empty(Dtype::U8));
        for buffer in &self.job.surface {
            let mut seen = BTreeSet::new();
            let mut has_values = false;
            for twin in twins {
                let [left, right] = self.held(*twin, buffer);
                let (left, right) = (left.unwrap_or(&nothing), right.unwrap_or(&nothing));
                if seen.insert([left, right].map(|held| Arc::as_ptr(held).addr())) {
                    has_values |= left.has_values();
                    let place = || format!("`{buffer}` of rank {}", twin[0]);
                    let sense = same(terms, left, right).map_err(|no| no.within(&place()))?;
                    weakest = weakest.max(sense);
                }
            }
            ensure!(has_values, "nothing is held in `{buffer}`: a claim about nothing");
        }
        Ok(weakest)
    }

    /// One place of the surface holds something else.
    fn differs(
        &self,
        difference: &Difference,
        twins: &[[u32; 2]],
        inputs: &Inputs<'_>,
        terms: &Terms,
    ) -> Result<Sense, No> {
        let Difference { rank, buffer, position, witness } = difference;
        ensure!(self.job.surface.contains(buffer), "a buffer that is not compared");
        let twin = twins.iter().find(|[one, _]| one == rank).ok_or("a rank that is not there")?;
        let position = position.ok_or("states are compared by their values, so say a position")?;
        let held = self.held(*twin, buffer);
        let contents = held.map(|held| held.map_or(Content::Nothing, |held| held.at(position.0)));
        differ(terms, inputs, contents, witness)
    }

    fn held(&self, [one, other]: [u32; 2], buffer: &str) -> [Option<&'a Arc<Vector>>; 2] {
        let [left, right] = self.left;
        [left.held(one, buffer), right.held(other, buffer)]
    }
}
