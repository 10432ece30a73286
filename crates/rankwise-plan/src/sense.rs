//! In which sense two terms are equal.

mod ground;
mod grounds;

use core::fmt;

use num_rational::BigRational;
use rankwise_model::{Combine, Dtype};

use crate::form::{exact, nearest};
use crate::term::{Factor, Placed, Term, Terms};

pub use ground::Ground;
pub(crate) use grounds::Gathering;
pub use grounds::Grounds;

/// A sense of equality, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Sense {
    /// The same bits, always: integers and movement.
    Exact,
    /// The same bits in every fold order: minima and maxima, sums of two.
    Unique,
    /// The same bits if both fold in the same order.
    BitsGivenFoldOrder,
    /// Within a stated set or bound: a float average differs per hop by whether the
    /// multiplication is fused with the addition; a float sum of `n` values in
    /// another order by at most `(n−1)·u·Σ|x|`, `u` half a unit of the last place at 1.
    WithinBound,
    /// Equal as real numbers; nothing is said about bits.
    OverTheReals,
}

impl Sense {
    /// Every sense, strongest first.
    pub const ALL: [Self; 5] = [
        Self::Exact,
        Self::Unique,
        Self::BitsGivenFoldOrder,
        Self::WithinBound,
        Self::OverTheReals,
    ];

    /// The name used in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Unique => "unique",
            Self::BitsGivenFoldOrder => "bits given the fold order",
            Self::WithinBound => "within a stated bound",
            Self::OverTheReals => "over the reals",
        }
    }

    /// What the sense promises, in a sentence.
    pub const fn promise(self) -> &'static str {
        match self {
            Self::Exact => "the same bits, always",
            Self::Unique => "the same bits in every fold order",
            Self::BitsGivenFoldOrder => {
                "the same bits if both fold in the same order; NCCL promises no order"
            }
            Self::WithinBound => {
                "not always the same bits: another fold order moves a float sum of n values by at \
                 most (n-1)·u·Σ|x|, and an average may fuse its multiplication with the addition"
            }
            Self::OverTheReals => "equal as real numbers; rounding may differ",
        }
    }
}

impl fmt::Display for Sense {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The sense in which two terms are equal, given that their forms are.
pub fn sense(terms: &Terms, left: Placed, right: Placed) -> Sense {
    let (Some(one), Some(other)) = (terms.traits(left.term), terms.traits(right.term)) else {
        return Sense::OverTheReals;
    };
    if left == right {
        return one.of_itself;
    }
    match (one.rounds.max(other.rounds), one.scales || other.scales) {
        (Rounds::Never, _) => Sense::Exact,
        (Rounds::Uniquely, false) => Sense::Unique,
        (Rounds::ByOrder, false) => Sense::WithinBound,
        (_, true) => Sense::OverTheReals,
    }
}

/// When the bits of a value depend on how it was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rounds {
    /// Never: there is no float arithmetic in it.
    Never,
    /// Never either: minima, maxima, at most one sum or product of two values.
    Uniquely,
    /// The order of its folds shows in its bits.
    ByOrder,
}

/// How a term rounds, known when it is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traits {
    /// The sense in which the term equals itself, computed twice.
    of_itself: Sense,
    rounds: Rounds,
    /// Whether a float in it is multiplied by a factor, or cut off by a conversion.
    scales: bool,
}

impl Traits {
    const EXACT: Self = Self { of_itself: Sense::Exact, rounds: Rounds::Never, scales: false };
    const UNIQUE: Self = Self { of_itself: Sense::Unique, rounds: Rounds::Uniquely, scales: false };
    const ORDERED: Self =
        Self { of_itself: Sense::BitsGivenFoldOrder, rounds: Rounds::ByOrder, scales: false };
    const SCALED: Self =
        Self { of_itself: Sense::WithinBound, rounds: Rounds::ByOrder, scales: true };
    /// By a power of two: exact but for underflow.
    const HALVED: Self = Self { of_itself: Sense::Unique, rounds: Rounds::ByOrder, scales: false };
    const CUT: Self = Self { of_itself: Sense::Exact, rounds: Rounds::ByOrder, scales: true };
    const NOTHING_KNOWN: Self =
        Self { of_itself: Sense::OverTheReals, rounds: Rounds::ByOrder, scales: true };

    /// The traits of a term whose parts are in `terms` already.
    pub(crate) fn of(terms: &Terms, term: &Term, dtype: Dtype) -> Self {
        let inner = term
            .parts()
            .map(|part| terms.traits(part).unwrap_or(Self::NOTHING_KNOWN))
            .fold(Self::EXACT, Self::with);
        let is_float = dtype.is_float();
        match term {
            Term::Unnamed { .. } => Self::NOTHING_KNOWN,
            // Its form is that of +0.
            Term::Constant { value, .. } if value.to_f64() == 0.0 && value.bits() != 0 => Self::CUT,
            // −0 + 0 is +0, and a NaN is lost beside an infinity.
            Term::Combined { parts, .. }
                if is_float && parts.iter().any(|part| terms.constant_of(part.term).is_some()) =>
            {
                inner.with(Self::ORDERED).with(Self { of_itself: Sense::Exact, ..Self::CUT })
            }
            Term::Combined { how: Combine::Sum | Combine::Prod, parts } if is_float => {
                // A sum of two has no order, unless what it adds up has been rounded.
                let ordered = parts.len() > 2 || inner.rounds > Rounds::Never;
                inner.with(if ordered { Self::ORDERED } else { Self::UNIQUE })
            }
            Term::Combined { .. } if is_float => inner.with(Self::UNIQUE),
            Term::Scaled { by, .. } if is_float => {
                inner.with(if is_exact_reciprocal(by, dtype) { Self::HALVED } else { Self::SCALED })
            }
            // What was rounded may be cut off anywhere.
            Term::Cast { .. } if inner.rounds == Rounds::ByOrder => inner.with(Self::CUT),
            _ => inner,
        }
    }

    fn with(self, other: Self) -> Self {
        Self {
            of_itself: self.of_itself.max(other.of_itself),
            rounds: self.rounds.max(other.rounds),
            scales: self.scales || other.scales,
        }
    }
}

/// Whether it is the 1/n of an average that the element type holds exactly, so that
/// multiplying by it is exact (barring underflow), fused or not.
fn is_exact_reciprocal(factor: &Factor, dtype: Dtype) -> bool {
    match factor {
        // 1/n is at least 2^-32, and these types reach further down.
        Factor::Reciprocal(ranks) if matches!(dtype, Dtype::F64 | Dtype::F32 | Dtype::Bf16) => {
            ranks.get().is_power_of_two()
        }
        Factor::Reciprocal(ranks) => {
            let one = BigRational::from_integer(1.into());
            let reciprocal = one / BigRational::from_integer(ranks.get().into());
            nearest(dtype, &reciprocal).and_then(exact) == Some(reciprocal)
        }
        Factor::Scalar(_) | Factor::Constant(_) => false,
    }
}
