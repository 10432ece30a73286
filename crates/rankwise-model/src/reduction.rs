//! How contributions combine, and what that means for each element type.

use core::fmt;
use core::str::FromStr;

use crate::dtype::Dtype;
use crate::spelling::write_unknown;

/// A named reduction. There is no default: the word *reduction* alone names none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Reduction {
    /// Addition.
    Sum,
    /// Multiplication.
    Prod,
    /// The larger; ignores a NaN unless every input is one; −0 < +0.
    Max,
    /// The smaller; ignores a NaN unless every input is one; −0 < +0.
    Min,
    /// The mean *as NCCL computes it*: for integers the wrapped sum divided once,
    /// truncating; for floats each input times the rounded 1/n, then summed.
    Avg,
    /// `Σ kᵣ·xᵣ` with one scalar per rank, of the element type.
    PreMulSum,
}

/// What combines two values into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Combine {
    /// `a + b`.
    Sum,
    /// `a · b`.
    Prod,
    /// The larger of the two.
    Max,
    /// The smaller of the two.
    Min,
}

/// What happens to each contribution before the fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Before {
    /// Nothing.
    AsIs,
    /// It is multiplied by 1/n, rounded to the element type first.
    TimesReciprocal,
    /// It is multiplied by the scalar of the rank that contributed it.
    TimesOwnScalar,
}

/// What happens to the folded value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum After {
    /// Nothing.
    AsIs,
    /// It is divided by n, once, truncating toward zero.
    DivideTruncating,
}

/// A reduction over one element type, taken apart.
///
/// ```
/// use rankwise_model::{Dtype, Reduction, reduction::{After, Before}};
///
/// // The same word, two different computations:
/// assert_eq!(Reduction::Avg.recipe(Dtype::I32).after, After::DivideTruncating);
/// assert_eq!(Reduction::Avg.recipe(Dtype::F32).before, Before::TimesReciprocal);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Recipe {
    /// Done to each contribution first.
    pub before: Before,
    /// Done between the running value and the next contribution.
    pub combine: Combine,
    /// Done to the result, once.
    pub after: After,
}

impl Reduction {
    /// Every reduction.
    pub const ALL: [Self; 6] =
        [Self::Sum, Self::Prod, Self::Max, Self::Min, Self::Avg, Self::PreMulSum];

    /// The name used in plans and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Prod => "prod",
            Self::Max => "max",
            Self::Min => "min",
            Self::Avg => "avg",
            Self::PreMulSum => "premul",
        }
    }

    /// What this reduction does over elements of type `dtype`
    /// (source: NCCL's `hostToDevRedOp`, as recorded in `docs/semantics.md`).
    pub const fn recipe(self, dtype: Dtype) -> Recipe {
        match self {
            Self::Sum => Recipe::plain(Combine::Sum),
            Self::Prod => Recipe::plain(Combine::Prod),
            Self::Max => Recipe::plain(Combine::Max),
            Self::Min => Recipe::plain(Combine::Min),
            Self::Avg if dtype.is_float() => Recipe {
                before: Before::TimesReciprocal,
                combine: Combine::Sum,
                after: After::AsIs,
            },
            Self::Avg => Recipe {
                before: Before::AsIs,
                combine: Combine::Sum,
                after: After::DivideTruncating,
            },
            Self::PreMulSum => {
                Recipe { before: Before::TimesOwnScalar, combine: Combine::Sum, after: After::AsIs }
            }
        }
    }
}

impl Recipe {
    const fn plain(combine: Combine) -> Self {
        Self { before: Before::AsIs, combine, after: After::AsIs }
    }
}

impl Combine {
    /// The plain reduction that combines so.
    pub const fn reduction(self) -> Reduction {
        match self {
            Self::Sum => Reduction::Sum,
            Self::Prod => Reduction::Prod,
            Self::Max => Reduction::Max,
            Self::Min => Reduction::Min,
        }
    }

    /// Whether combining a value with itself leaves it as it is.
    pub const fn is_idempotent(self) -> bool {
        matches!(self, Self::Max | Self::Min)
    }
}

impl fmt::Display for Reduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownReduction;

impl fmt::Display for UnknownReduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_unknown(f, "reduction", Reduction::ALL.into_iter().map(Reduction::name))
    }
}

impl core::error::Error for UnknownReduction {}

impl FromStr for Reduction {
    type Err = UnknownReduction;

    fn from_str(word: &str) -> Result<Self, UnknownReduction> {
        Self::ALL.into_iter().find(|reduction| reduction.name() == word).ok_or(UnknownReduction)
    }
}
