//! Terms and vectors as certificates write them: each distinct term once, by number.

use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::vec::Vec;

use rankwise_model::Combine;
use serde_json::{Value, json};

use super::NoCertificate;
use crate::form::exact;
use crate::term::{Factor, Origin, Placed, Term, TermId, Terms};
use crate::vector::{Content, Vector};

/// The terms written so far.
pub(super) struct Values<'a> {
    terms: &'a Terms,
    numbers: BTreeMap<TermId, u32>,
    written: Vec<Value>,
}

impl<'a> Values<'a> {
    pub(super) const fn new(terms: &'a Terms) -> Self {
        Self { terms, numbers: BTreeMap::new(), written: Vec::new() }
    }

    /// All terms that were written, by number.
    pub(super) fn written(self) -> Value {
        self.written.into()
    }

    /// A term where it is placed: its number and where it starts to read.
    fn placed(&mut self, placed: Placed) -> Result<Value, NoCertificate> {
        let number = self.number(placed.term)?;
        Ok(json!([number, placed.at.to_string()]))
    }

    /// A vector, run by run.
    pub(super) fn runs(&mut self, vector: &Vector) -> Result<Value, NoCertificate> {
        let mut runs = Vec::new();
        for run in vector.runs() {
            let content = match run.content {
                // A need states a value for every position.
                Content::Gap(_) => return Err(NoCertificate::not_expressed("a need of nothing")),
                Content::Term(placed) => self.placed(placed)?,
            };
            let count = run.positions.end.saturating_sub(run.positions.start);
            runs.push(json!([count.to_string(), content]));
        }
        Ok(runs.into())
    }

    /// The number of a term, which is written now if it is new.
    fn number(&mut self, id: TermId) -> Result<u32, NoCertificate> {
        if let Some(number) = self.numbers.get(&id) {
            return Ok(*number);
        }
        let terms = self.terms;
        let lost = || NoCertificate::not_expressed("a term of another evaluation");
        let written = match terms.get(id).ok_or_else(lost)? {
            Term::Atom { input, origin } => {
                let name = &terms.identity(*input).ok_or_else(lost)?.name;
                json!({ "input": [name, self::origin(origin)] })
            }
            Term::Combined { how, parts } => {
                let parts: Result<Vec<Value>, _> =
                    parts.iter().map(|part| self.placed(*part)).collect();
                json!({ "fold": [fold(*how), parts?] })
            }
            Term::Scaled { term, by } => {
                let of = self.number(*term)?;
                match by {
                    Factor::Reciprocal(ranks) => json!({ "mean": [of, ranks.get()] }),
                    Factor::Scalar(scalar) => {
                        let number = exact(*scalar).ok_or_else(|| {
                            NoCertificate::not_expressed("a product with an infinity or a NaN")
                        })?;
                        json!({ "scalar": [of, number.to_string()] })
                    }
                    Factor::Constant(by) => json!({ "times": [of, by.to_string()] }),
                }
            }
            Term::Divided { term, by } => {
                json!({ "divide": [self.number(*term)?, by.get()] })
            }
            Term::Cast { term, to } => {
                json!({ "cast": [self.number(*term)?, to.name()] })
            }
            Term::Constant { value, .. } => {
                let number = exact(*value).ok_or_else(|| {
                    NoCertificate::not_expressed("a constant that is an infinity or a NaN")
                })?;
                json!({ "constant": [value.dtype().name(), number.to_string()] })
            }
            Term::Unnamed { .. } => {
                return Err(NoCertificate::not_expressed("a reduction that has no name"));
            }
        };
        // Terms are limited far below 2^32.
        let number = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        self.numbers.insert(id, number);
        self.written.push(written);
        Ok(number)
    }
}

/// What a contribution is attached to.
pub(super) fn origin(origin: &Origin) -> Value {
    match origin {
        Origin::Device(device) => json!({ "device": &**device }),
        Origin::Rank(rank) => json!({ "rank": rank.index() }),
    }
}

const fn fold(how: Combine) -> &'static str {
    match how {
        Combine::Sum => "sum",
        Combine::Prod => "prod",
        Combine::Max => "max",
        Combine::Min => "min",
    }
}
