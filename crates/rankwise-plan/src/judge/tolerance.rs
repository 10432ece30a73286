//! How far a value may be from the reference and still be right.
//!
//! Integers, movement, minima, maxima and sums of two have one right answer. For the
//! rest the reference and the value found may each be off from the exact one: by
//! `(n−1)·u·Σ|x|` for a sum of n values, by a rounding more for each product and each
//! factor, `u` being half a unit of the last place at 1 of the type of that step. The
//! allowed distance is the sum of both, to first order with an eighth to spare.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use num_traits::{Signed, ToPrimitive};
use rankwise_model::{Combine, Dtype, DtypeClass, Scalar};

use crate::numbers::Numbers;
use crate::sense::{Sense, sense};
use crate::term::{Factor, Placed, Term, Terms};
use crate::vector::{Content, Vector};

/// By position: the allowed distance, or `None` where the bits must agree.
pub(super) fn of_vector(terms: &Terms, numbers: &Numbers<'_>, vector: &Vector) -> Vec<Option<f64>> {
    let mut all = Vec::new();
    for run in vector.runs() {
        for offset in 0..run.count() {
            all.push(match run.content.shifted(offset) {
                Content::Term(placed) => of_term(terms, numbers, placed),
                Content::Gap(_) => None,
            });
        }
    }
    all
}

/// The same for one position.
pub(super) fn of_term(terms: &Terms, numbers: &Numbers<'_>, placed: Placed) -> Option<f64> {
    if sense(terms, placed, placed) <= Sense::Unique {
        return None;
    }
    let known = &mut BTreeMap::new();
    let Bound { error, .. } = Bounds { terms, numbers }.of(placed, known)?;
    // Off on either side, and second-order terms.
    Some(2.25 * error)
}

/// The magnitude of a value, and how far it may be from the exact one.
#[derive(Clone, Copy)]
struct Bound {
    magnitude: f64,
    error: f64,
}

struct Bounds<'a> {
    terms: &'a Terms,
    numbers: &'a Numbers<'a>,
}

impl Bounds<'_> {
    fn of(&self, placed: Placed, known: &mut BTreeMap<Placed, Option<Bound>>) -> Option<Bound> {
        if let Some(bound) = known.get(&placed) {
            return *bound;
        }
        let bound = self.fresh(placed, known);
        known.insert(placed, bound);
        bound
    }

    fn fresh(&self, placed: Placed, known: &mut BTreeMap<Placed, Option<Bound>>) -> Option<Bound> {
        let dtype = self.terms.dtype(placed.term)?;
        let (unit, least) = roundoff(dtype);
        // One rounding of a value of that magnitude.
        let rounded = |bound: Bound, roundings: f64| Bound {
            magnitude: bound.magnitude,
            error: bound.error + roundings * (unit * (bound.magnitude + bound.error) + least),
        };
        match self.terms.get(placed.term)? {
            Term::Atom { .. } | Term::Constant { .. } => {
                let magnitude = self.numbers.value(self.terms, placed)?.to_f64().abs();
                Some(Bound { magnitude, error: 0.0 })
            }
            Term::Combined { how, parts } => {
                let mut total: Option<Bound> = None;
                for part in parts {
                    let next = self.of(part.shifted(placed.at), known)?;
                    total = Some(total.map_or(next, |total| total.with(*how, next)));
                }
                let steps = match how {
                    Combine::Sum | Combine::Prod => {
                        u32::try_from(parts.len()).ok()?.saturating_sub(1)
                    }
                    Combine::Max | Combine::Min => 0,
                };
                Some(rounded(total?, f64::from(steps)))
            }
            Term::Scaled { term, by } => {
                let inner = self.of(Placed { term: *term, at: placed.at }, known)?;
                let factor = match by {
                    Factor::Reciprocal(ranks) => 1.0 / f64::from(ranks.get()),
                    Factor::Scalar(scalar) => scalar.to_f64().abs(),
                    Factor::Constant(ratio) => ratio.abs().to_f64()?,
                };
                let scaled =
                    Bound { magnitude: inner.magnitude * factor, error: inner.error * factor };
                // The factor is rounded, and the product.
                Some(rounded(scaled, 2.0))
            }
            Term::Divided { term, .. } => self.of(Placed { term: *term, at: placed.at }, known),
            Term::Cast { term, .. } => {
                let inner = self.of(Placed { term: *term, at: placed.at }, known)?;
                // Cutting off may move what was moved to the next whole number.
                let whole = !dtype.is_float() && inner.error > 0.0;
                let cut = Bound { error: inner.error + if whole { 1.0 } else { 0.0 }, ..inner };
                Some(rounded(cut, 1.0))
            }
            Term::Unnamed { .. } => None,
        }
    }
}

impl Bound {
    fn with(self, how: Combine, next: Self) -> Self {
        let most = |bound: Self| bound.magnitude + bound.error;
        match how {
            Combine::Sum => {
                Self { magnitude: self.magnitude + next.magnitude, error: self.error + next.error }
            }
            Combine::Prod => {
                let magnitude = self.magnitude * next.magnitude;
                Self { magnitude, error: most(self) * most(next) - magnitude }
            }
            Combine::Max | Combine::Min => Self {
                magnitude: self.magnitude.max(next.magnitude),
                error: self.error.max(next.error),
            },
        }
    }
}

/// Half a unit of the last place at 1, and the least positive value of the type; no
/// rounding at all for integers.
fn roundoff(dtype: Dtype) -> (f64, f64) {
    match dtype.class() {
        DtypeClass::Float { precision } => {
            let unit = (0..precision).fold(1.0, |unit: f64, _| unit / 2.0);
            (unit, Scalar::from_bits(dtype, 1).to_f64())
        }
        DtypeClass::Integer { .. } => (0.0, 0.0),
    }
}

/// Whether a value found is right.
pub(super) fn agrees(found: Scalar, expected: Scalar, tolerance: Option<f64>) -> bool {
    if found == expected {
        return true;
    }
    let (value, reference) = (found.to_f64(), expected.to_f64());
    if found.dtype().is_float() && value.is_nan() && reference.is_nan() {
        // Which NaN is the hardware's business.
        return true;
    }
    // Where the reference is infinite, or the bound is, there is nothing to be near to.
    let finite = reference.is_finite() && value.is_finite();
    tolerance.is_some_and(|tolerance| {
        finite && tolerance.is_finite() && (value - reference).abs() <= tolerance
    })
}
