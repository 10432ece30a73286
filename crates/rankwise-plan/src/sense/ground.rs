//! Reasons why equal values have equal bits, and ways in which they may not.

use alloc::vec::Vec;
use core::fmt;

use rankwise_model::{Combine, Dtype};

use crate::show::fold_name;

/// One reason why equal values have equal bits, or one way in which they may not.
///
/// Only what applies to the values at hand is ever listed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Ground {
    /// Values are moved, and never computed with.
    Movement,
    /// Integers wrap modulo 2^bits, in whatever order they are combined.
    Modulo {
        /// The width of the type.
        bits: u32,
    },
    /// The mean of integers is one truncating division after the whole sum. It is opaque:
    /// equal only to the same division of the same sum.
    Truncated {
        /// The divisor.
        by: u32,
    },
    /// A minimum or maximum of floats has no order.
    Extreme,
    /// A sum or product of two floats has only one order.
    OneOrder,
    /// The 1/n of a mean is a power of two: exact in its type, fused or not, barring
    /// underflow.
    ExactMean {
        /// `n`.
        over: u32,
        /// The type.
        dtype: Dtype,
    },
    /// *Hinge.* A sum or product of several floats, in an order that NCCL chooses: a ring
    /// starts at another rank for each part of a buffer, a tree folds the results of its
    /// branches.
    FoldOrder {
        /// Sum or product.
        how: Combine,
        /// Of how many values at once.
        parts: u64,
        /// In which type.
        dtype: Dtype,
    },
    /// *Hinge.* The same floats, folded in stages of other sizes.
    Grouping {
        /// How many values one folds at once, inner stages first.
        one: Vec<u64>,
        /// The same of the other.
        other: Vec<u64>,
    },
    /// *Hinge.* The 1/n of a mean is rounded to the type, and each product either once more
    /// or, fused with the addition, not.
    RoundedMean {
        /// `n`.
        over: u32,
        /// The type.
        dtype: Dtype,
    },
    /// *Hinge.* Another factor than a mean's: each product is rounded, or fused with the
    /// addition.
    RoundedFactor {
        /// The type.
        dtype: Dtype,
    },
    /// *Hinge.* One multiplies before, the other after a fold.
    FactorElsewhere,
    /// *Hinge.* Sums in a narrow type are rounded to it after each addition, or kept in
    /// `f32` and rounded once.
    Accumulation {
        /// The narrow type.
        dtype: Dtype,
    },
    /// *Hinge.* A value that is rounded already is converted to a type with fewer bits:
    /// a difference before it may become one of a whole unit of the new type.
    Narrowing {
        /// The type it is converted to.
        to: Dtype,
    },
    /// *Hinge.* The reduction is not named.
    Unnamed,
}

impl Ground {
    /// The name used in machine output.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Movement => "movement",
            Self::Modulo { .. } => "modulo",
            Self::Truncated { .. } => "truncated",
            Self::Extreme => "extreme",
            Self::OneOrder => "one_order",
            Self::ExactMean { .. } => "exact_mean",
            Self::FoldOrder { .. } => "fold_order",
            Self::Grouping { .. } => "grouping",
            Self::RoundedMean { .. } => "rounded_mean",
            Self::RoundedFactor { .. } => "rounded_factor",
            Self::FactorElsewhere => "factor_elsewhere",
            Self::Accumulation { .. } => "accumulation",
            Self::Narrowing { .. } => "narrowing",
            Self::Unnamed => "unnamed",
        }
    }

    /// Whether bits may differ by it. The others are reasons why they do not.
    pub const fn is_hinge(&self) -> bool {
        !matches!(
            self,
            Self::Movement
                | Self::Modulo { .. }
                | Self::Truncated { .. }
                | Self::Extreme
                | Self::OneOrder
                | Self::ExactMean { .. }
        )
    }
}

impl fmt::Display for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Movement => f.write_str("values are moved, not computed with"),
            Self::Modulo { bits } => {
                write!(f, "integers wrap modulo 2^{bits}, in every order alike")
            }
            Self::Truncated { by } => write!(
                f,
                "the integer mean is one truncating division by {by} after the whole sum, and equal \
                 to nothing but the same division"
            ),
            Self::Extreme => f.write_str("min and max have no order"),
            Self::OneOrder => f.write_str("a fold of two floats has one order"),
            Self::ExactMean { over, dtype } => {
                write!(
                    f,
                    "1/{over} is exact in {dtype}: the mean rounds as the sum does, barring underflow"
                )
            }
            Self::FoldOrder { how, parts, dtype } => write!(
                f,
                "fold order: a {} of {parts} {dtype} values at once, in the order of a ring or of a \
                 tree, as NCCL chooses",
                fold_name(*how)
            ),
            Self::Grouping { one, other } => {
                write!(f, "grouping: {} values at once against {}", InStages(one), InStages(other))
            }
            Self::RoundedMean { over, dtype } => write!(
                f,
                "the mean: 1/{over} is rounded to {dtype}, and each product with it is rounded or, by \
                 FMA, fused with the addition"
            ),
            Self::RoundedFactor { dtype } => write!(
                f,
                "the factor: each product in {dtype} is rounded or, by FMA, fused with the addition"
            ),
            Self::FactorElsewhere => f.write_str(
                "the factor: one multiplies at another point of the folds than the other",
            ),
            Self::Accumulation { dtype } => write!(
                f,
                "accumulation type: {dtype} is rounded after each addition, or kept in f32 and rounded \
                 once (NCCL's kernels for symmetric windows)"
            ),
            Self::Narrowing { to } => write!(
                f,
                "the conversion to {to}: of values rounded already, so that a difference before it \
                 may become one of a whole unit of {to}"
            ),
            Self::Unnamed => f.write_str("a reduction that is not named"),
        }
    }
}

/// `4`; `2, then 4`; `1` where nothing is folded.
struct InStages<'a>(&'a [u64]);

impl fmt::Display for InStages<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("1");
        }
        for (index, stage) in self.0.iter().enumerate() {
            write!(f, "{}{stage}", if index == 0 { "" } else { ", then " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::Ground;

    #[test]
    fn what_is_not_folded_is_one_value() {
        let grouping = Ground::Grouping { one: alloc::vec![], other: alloc::vec![6, 2] };
        assert_eq!(grouping.to_string(), "grouping: 1 values at once against 6, then 2");
    }
}
