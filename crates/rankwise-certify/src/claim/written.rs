//! The terms that a certificate writes down, built again by this crate's own rules.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::execute::Inputs;
use crate::format::{Written, WrittenPlaced, WrittenRun};
use crate::number::Dtype;
use crate::rejected::Rejected;
use crate::term::{NoTerm, Placed, Terms};
use crate::vector::{Content, Vector};

/// By index: the term that is written there.
pub(crate) struct Table {
    terms: Vec<Placed>,
}

impl Table {
    /// Reads the terms of the job and, numbered on, those of the verdict.
    pub(crate) fn read(
        job: &[Written],
        verdict: &[Written],
        inputs: &Inputs<'_>,
        terms: &mut Terms,
    ) -> Result<Self, Rejected> {
        let mut table = Self { terms: Vec::new() };
        for (index, written) in job.iter().chain(verdict).enumerate() {
            // The job is the plan's, and may not speak of what the verdict says.
            let placed = table.term(written, inputs, terms).map_err(|no| match no {
                No::Rejected(rejected) => rejected,
                No::Why(why) => Rejected::claim(format!("terms[{index}]"), why),
            })?;
            table.terms.push(placed);
        }
        Ok(table)
    }

    fn term(
        &self,
        written: &Written,
        inputs: &Inputs<'_>,
        terms: &mut Terms,
    ) -> Result<Placed, No> {
        let of = |of: u32| self.placed(&(of, crate::format::Whole(0))).map_err(No::Why);
        Ok(match written {
            Written::Input(input) => {
                let id = inputs.get(input.name.as_str());
                let id = id.ok_or_else(|| No::Why(format!("no input `{}`", input.name)))?;
                let atom = terms.atom(*id, input.of.clone())?;
                terms.length(atom).ok_or_else(|| {
                    No::Why(format!("`{}` of {}, which nobody has", input.name, input.of))
                })?;
                atom
            }
            Written::Constant(constant) => {
                let value = terms.number(&constant.value)?;
                terms.constant(constant.dtype, value)?
            }
            Written::Fold(fold) => {
                let parts: Result<Vec<Placed>, String> =
                    fold.parts.iter().map(|part| self.placed(part)).collect();
                terms.fold(fold.how, &parts.map_err(No::Why)?)?
            }
            Written::Mean(mean) => terms.mean(of(mean.of)?, mean.ranks)?,
            Written::Scalar(times) => {
                let by = terms.number(&times.by)?;
                terms.scalar(of(times.of)?, by)?
            }
            Written::Times(times) => {
                let by = terms.number(&times.by)?;
                terms.times(of(times.of)?, by)?
            }
            Written::Divide(divide) => terms.divide(of(divide.of)?, divide.ranks)?,
            Written::Cast(cast) => terms.cast(of(cast.of)?, cast.to)?,
        })
    }

    /// A term that is written, where it is placed.
    pub(crate) fn placed(&self, (term, at): &WrittenPlaced) -> Result<Placed, String> {
        let known = usize::try_from(*term).ok().and_then(|term| self.terms.get(term));
        known
            .map(|placed| placed.later(at.0))
            .ok_or_else(|| format!("term {term}, which is not written before"))
    }

    /// A vector that is written.
    pub(crate) fn vector(
        &self,
        dtype: Dtype,
        runs: &[WrittenRun],
        terms: &mut Terms,
    ) -> Result<Vector, Rejected> {
        terms.spend(u64::try_from(runs.len()).unwrap_or(u64::MAX))?;
        let refuse = |why: String| Rejected::claim("runs", why);
        let mut vector = Vector::empty(dtype);
        for (count, placed) in runs {
            let content = match placed {
                None => Content::Nothing,
                Some(placed) => Content::Term(self.placed(placed).map_err(refuse)?),
            };
            vector
                .push(count.0, content)
                .ok_or_else(|| refuse("a length of 2^64 or more".into()))?;
        }
        Ok(vector)
    }
}

/// Why a term cannot be built.
enum No {
    Rejected(Rejected),
    Why(String),
}

impl From<NoTerm> for No {
    fn from(no: NoTerm) -> Self {
        match no {
            NoTerm::Limit(rejected) => Self::Rejected(rejected),
            NoTerm::Why(why) => Self::Why(why.into()),
        }
    }
}
