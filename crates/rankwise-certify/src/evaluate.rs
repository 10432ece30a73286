//! Concrete values: a witness put into a term.
//!
//! Integers wrap modulo 2^w. Floats stand for real numbers and are exact; only a
//! conversion rounds, to the nearest element.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;

use num_traits::{One, Zero};

use crate::format::{How, Origin};
use crate::limits::NUMBER_BITS;
use crate::number::Number;
use crate::term::{Placed, Term, Terms};

/// One element of one contribution.
pub(crate) type Element = (u32, Origin, u64);

/// What a witness says, and how much of it was used.
pub(crate) struct Witness<'a> {
    pub(crate) terms: &'a Terms,
    pub(crate) given: BTreeMap<Element, Number>,
    pub(crate) used: BTreeSet<Element>,
    pub(crate) known: BTreeMap<Placed, Number>,
}

impl Witness<'_> {
    /// The value of a term where it is placed, or why it has none.
    pub(crate) fn value(&mut self, placed: Placed) -> Result<Number, String> {
        if let Some(value) = self.known.get(&placed) {
            return Ok(value.clone());
        }
        let terms = self.terms;
        let (term, dtype) = terms
            .get(placed.term)
            .zip(terms.dtype(placed.term))
            .ok_or("it speaks of a term that is not there")?;
        let of = |of: u32| Placed { term: of, at: placed.at };
        let value = match term {
            Term::Input { input, of } => {
                let element = (*input, of.clone(), placed.at);
                let Some(value) = self.given.get(&element).cloned() else {
                    let name = terms.identity(*input).map_or("", |input| &input.name);
                    return Err(format!(
                        "the witness says nothing of {name} of {of} at {}",
                        placed.at
                    ));
                };
                self.used.insert(element);
                value
            }
            Term::Constant { value, .. } => value.clone(),
            Term::Fold { how, parts } => {
                let mut total: Option<Number> = None;
                for part in parts {
                    let next = self.value(part.later(placed.at))?;
                    let folded = match total {
                        None => next,
                        Some(total) => match how {
                            How::Sum => total + next,
                            How::Prod => product(&total, &next)?,
                            How::Max => total.max(next),
                            How::Min => total.min(next),
                        },
                    };
                    total = Some(dtype.wrapped(folded).ok_or("an integer is a fraction")?);
                }
                total.unwrap_or_else(Number::zero)
            }
            Term::Mean { of: part, ranks } => {
                let by = Number::new(One::one(), (*ranks).into());
                product(&self.value(of(*part))?, &by)?
            }
            Term::Scalar { of: part, by } | Term::Times { of: part, by } => {
                product(&self.value(of(*part))?, by)?
            }
            Term::Divide { of: part, by } => {
                (self.value(of(*part))? / Number::from_integer((*by).into())).trunc()
            }
            Term::Cast { of: part, to } => {
                let value = self.value(of(*part))?;
                let from = terms.dtype(*part).ok_or("it speaks of a term that is not there")?;
                if to.is_float() {
                    to.nearest(&value).ok_or("a conversion leads to an infinity")?
                } else if from.is_float() && !to.has(&value) {
                    return Err(
                        "a float is converted to an integer type that does not hold it".into()
                    );
                } else {
                    value
                }
            }
        };
        let value = dtype.wrapped(value).ok_or("an integer is a fraction")?;
        let bits = value.numer().bits().max(value.denom().bits());
        if bits > NUMBER_BITS {
            return Err(format!("a number of more than {NUMBER_BITS} binary digits comes up"));
        }
        self.known.insert(placed, value.clone());
        Ok(value)
    }
}

fn product(one: &Number, other: &Number) -> Result<Number, String> {
    let bits = |number: &Number| number.numer().bits().saturating_add(number.denom().bits());
    if bits(one).saturating_add(bits(other)) > NUMBER_BITS {
        return Err(format!("a number of more than {NUMBER_BITS} binary digits comes up"));
    }
    Ok(one * other)
}
