//! How far a value may be from the reference and still be right.
//!
//! Integers, movement, minima, maxima and sums of two have one right answer. A float
//! sum in another order may be off by `(n−1)·u·Σ|x|`; a scaled one by `(n+1)·u·Σ|k·x|`
//! (the reciprocal and the product round once more each).

use alloc::vec::Vec;

use num_traits::{Signed, ToPrimitive};
use rankwise_model::{Dtype, DtypeClass, Scalar};

use crate::form::Form;
use crate::numbers::Numbers;
use crate::sense::{Sense, sense};
use crate::term::{Placed, Term, Terms};
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

fn of_term(terms: &Terms, numbers: &Numbers<'_>, placed: Placed) -> Option<f64> {
    if sense(terms, placed, placed) <= Sense::Unique {
        return None;
    }
    let dtype = terms.dtype(placed.term)?;
    let unit = unit_roundoff(dtype)?;
    let form = terms.forms().of(placed)?;
    let magnitude = |part: crate::form::PlacedForm| numbers.magnitude(terms, part);
    let (parts, total) = match terms.forms().get(form.form)? {
        Form::Sum { parts, .. } => {
            let mut total = 0.0;
            for (part, times) in parts {
                let part = terms.forms().shifted(*part, form.at);
                total += times.abs().to_f64()? * magnitude(part)?;
            }
            (parts.len(), total)
        }
        _ => (2, numbers.value(terms, placed)?.to_f64().abs()),
    };
    let scaled = !matches!(terms.get(placed.term), Some(Term::Combined { .. }))
        || sense(terms, placed, placed) >= Sense::WithinBound;
    let steps = u32::try_from(parts).ok()?;
    let steps = if scaled { steps.saturating_add(1) } else { steps.saturating_sub(1) };
    Some(f64::from(steps) * unit * total)
}

/// Half a unit of the last place at 1: the largest relative error of one rounding.
fn unit_roundoff(dtype: Dtype) -> Option<f64> {
    match dtype.class() {
        DtypeClass::Float { precision } => {
            Some((0..precision).fold(1.0, |unit: f64, _| unit / 2.0))
        }
        DtypeClass::Integer { .. } => None,
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
    tolerance.is_some_and(|tolerance| (value - reference).abs() <= tolerance)
}
