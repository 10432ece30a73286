//! The terms that a certificate writes down, built again by this crate's own rules.

use alloc::format;
use alloc::vec::Vec;

use crate::execute::Inputs;
use crate::format::{Job, Needed, Whole, Written, WrittenPlaced};
use crate::list::{count, nth};
use crate::rejected::{No, Rejected, ensure};
use crate::term::{Change, Placed, Terms};
use crate::vector::{Content, Vector};

/// By index: the term that is written there.
pub(super) struct Table(Vec<Placed>);

impl Table {
    pub(super) fn read(
        job: &Job,
        inputs: &Inputs<'_>,
        terms: &mut Terms,
    ) -> Result<Self, Rejected> {
        let mut table = Self(Vec::with_capacity(job.terms.len()));
        for (index, written) in job.terms.iter().enumerate() {
            let placed = table.term(written, inputs, terms);
            table.0.push(placed.map_err(|no| no.in_job(format!("terms[{index}]")))?);
        }
        Ok(table)
    }

    fn term(
        &self,
        written: &Written,
        inputs: &Inputs<'_>,
        terms: &mut Terms,
    ) -> Result<Placed, No> {
        let (of, how) = match written {
            Written::Input(name, of) => {
                let input =
                    inputs.get(name.as_str()).ok_or_else(|| format!("no input `{name}`"))?;
                let held = terms.length(*input, of).is_some();
                ensure!(held, "`{name}` of {of}, which nobody has");
                return terms.atom(*input, of.clone());
            }
            Written::Constant(dtype, value) => {
                let value = terms.number(value)?;
                return terms.constant(*dtype, value);
            }
            Written::Fold(how, parts) => {
                let parts = parts.iter().map(|part| self.placed(part));
                return terms.fold(*how, &parts.collect::<Result<Vec<_>, _>>()?);
            }
            Written::Mean(of, ranks) => (of, Change::Mean(*ranks)),
            Written::Scalar(of, by) => (of, Change::Scalar(terms.number(by)?)),
            Written::Times(of, by) => (of, Change::Times(terms.number(by)?)),
            Written::Divide(of, by) => (of, Change::Divide(*by)),
            Written::Cast(of, to) => (of, Change::Cast(*to)),
        };
        terms.change(self.placed(&(*of, Whole(0)))?, how)
    }

    fn placed(&self, (term, at): &WrittenPlaced) -> Result<Placed, No> {
        let known = nth(&self.0, *term).map(|placed| placed.later(at.0));
        known.ok_or_else(|| format!("term {term}, which is not written before").into())
    }

    /// What some ranks need, position by position.
    pub(super) fn vector(&self, needed: &Needed, terms: &Terms) -> Result<Vector, No> {
        terms.spend(count(&needed.runs))?;
        let mut vector = Vector::empty(needed.dtype);
        for (count, placed) in &needed.runs {
            let content = Content::Term(self.placed(placed)?);
            vector.push(count.0, content).ok_or("a length of 2^64 or more")?;
        }
        Ok(vector)
    }
}
