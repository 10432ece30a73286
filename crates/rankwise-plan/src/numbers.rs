//! The values behind terms, where the plan gives the inputs' values.
//!
//! A term keeps the order of its folds, so its value is the model's, bit for bit.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use rankwise_model::{Combine, Scalar};

use crate::memory::{Origins, identity, ranks};
use crate::plan::Plan;
use crate::term::{Factor, InputId, Origin, Placed, Term, Terms};
use crate::values::Values;
use crate::vector::{Content, Vector};

/// The given values of a plan's inputs, ready to be put into terms.
#[derive(Clone, Debug)]
pub struct Numbers<'a> {
    values: BTreeMap<(InputId, Origin), &'a Values>,
}

impl<'a> Numbers<'a> {
    /// The values that `plan` gives.
    pub fn of(plan: &'a Plan, terms: &mut Terms) -> Self {
        let origins = Origins::of(plan);
        let mut all = BTreeMap::new();
        for input in plan.inputs.values() {
            let id = terms.input(&identity(input, &origins));
            let given = input.values.iter().flatten();
            for (rank, values) in ranks(plan.world).zip(given) {
                all.insert((id, origins.of_contribution(input, rank)), values);
            }
        }
        Self { values: all }
    }

    /// The value of a term at its position; `None` if an input in it is symbolic or
    /// a reduction in it is not named.
    pub fn value(&self, terms: &Terms, placed: Placed) -> Option<Scalar> {
        self.known_value(terms, placed, &mut BTreeMap::new())
    }

    /// The value, with those of folds met before: a term may be a part of itself in
    /// very many ways.
    fn known_value(
        &self,
        terms: &Terms,
        placed: Placed,
        known: &mut BTreeMap<Placed, Option<Scalar>>,
    ) -> Option<Scalar> {
        let Placed { term, at } = placed;
        let mut inner = |term, by: u64| {
            self.known_value(terms, Placed { term, at: at.checked_add(by)? }, known)
        };
        match terms.get(term)? {
            Term::Atom { input, origin } => self.values.get(&(*input, origin.clone()))?.get(at),
            Term::Constant { value, .. } => Some(*value),
            Term::Combined { how, parts } => {
                if let Some(value) = known.get(&placed) {
                    return *value;
                }
                let mut running = None;
                for (index, part) in parts.iter().enumerate() {
                    let next = self.known_value(terms, part.shifted(at), known);
                    running = match (index, running) {
                        (0, _) => next,
                        (_, Some(running)) => Scalar::combine(running, *how, next?),
                        (_, None) => None,
                    };
                }
                known.insert(placed, running);
                running
            }
            Term::Scaled { term, by } => {
                let value = inner(*term, 0)?;
                match by {
                    Factor::Reciprocal(ranks) => Some(value.average_before(*ranks)),
                    Factor::Scalar(scalar) => value.combine(Combine::Prod, *scalar),
                    Factor::Constant(ratio) => {
                        let constant = crate::form::nearest(value.dtype(), ratio)?;
                        value.combine(Combine::Prod, constant)
                    }
                }
            }
            Term::Divided { term, by } => Some(inner(*term, 0)?.average_after(*by)),
            Term::Cast { term, to } => Some(inner(*term, 0)?.convert(*to)),
            Term::Unnamed { .. } => None,
        }
    }

    /// The values of a vector, position by position.
    pub fn values(&self, terms: &Terms, vector: &Vector) -> Vec<Option<Scalar>> {
        let mut values = Vec::new();
        for run in vector.runs() {
            for offset in 0..run.count() {
                values.push(match run.content.shifted(offset) {
                    Content::Term(placed) => self.value(terms, placed),
                    Content::Gap(_) => None,
                });
            }
        }
        values
    }
}
