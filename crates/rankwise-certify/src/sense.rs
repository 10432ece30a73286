//! In which sense two values are equal, judged from how each was computed.

use crate::format::How;
use crate::number::Dtype;

/// A sense of equality, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Sense {
    /// The same bits, always: integers and movement.
    Exact,
    /// The same bits in every fold order.
    Unique,
    /// The same bits if both fold in the same order.
    BitsGivenFoldOrder,
    /// Within a stated set or bound.
    WithinBound,
    /// Equal as real numbers; nothing is said about bits.
    OverTheReals,
}

impl Sense {
    /// The name in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Unique => "unique",
            Self::BitsGivenFoldOrder => "bits given the fold order",
            Self::WithinBound => "within a stated bound",
            Self::OverTheReals => "over the reals",
        }
    }
}

/// How a value depends on the way in which it is computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounding {
    /// The sense in which it equals itself, computed once more.
    pub(crate) again: Sense,
    /// The sense in which it equals another way to compute the same real number.
    other_way: Sense,
}

impl Rounding {
    /// Nothing in it rounds.
    pub(crate) const NONE: Self = Self { again: Sense::Exact, other_way: Sense::Exact };

    /// What both of two parts bring with them.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { again: self.again.max(other.again), other_way: self.other_way.max(other.other_way) }
    }

    /// Combined, so many of them, with a constant among them or not.
    pub(crate) fn folded(self, how: How, parts: usize, constant: bool, dtype: Dtype) -> Self {
        if !dtype.is_float() {
            return self;
        }
        // What is added to a constant may be -0, and lose its sign.
        if constant {
            return self
                .and(Self { again: Sense::BitsGivenFoldOrder, other_way: Sense::OverTheReals });
        }
        // A sum of two numbers that nothing rounded has one result.
        let in_order =
            matches!(how, How::Sum | How::Prod) && (parts > 2 || self.other_way > Sense::Exact);
        self.and(if in_order {
            Self { again: Sense::BitsGivenFoldOrder, other_way: Sense::WithinBound }
        } else {
            Self { again: Sense::Unique, other_way: Sense::Unique }
        })
    }

    /// Multiplied by something; exactly, if that is a power of two.
    pub(crate) fn multiplied(self, by_power_of_two: bool, dtype: Dtype) -> Self {
        match (dtype.is_float(), by_power_of_two) {
            (false, _) => self,
            (true, true) => self.and(Self { again: Sense::Unique, other_way: Sense::WithinBound }),
            // Fused with the addition after it, or not.
            (true, false) => {
                self.and(Self { again: Sense::WithinBound, other_way: Sense::OverTheReals })
            }
        }
    }

    /// Converted: what was rounded in some order may be cut off anywhere.
    pub(crate) fn converted(self) -> Self {
        if self.other_way < Sense::WithinBound {
            return self;
        }
        self.and(Self { again: Sense::Exact, other_way: Sense::OverTheReals })
    }

    /// The sense in which two different ways to compute one real number are equal.
    pub(crate) fn between(self, other: Self) -> Sense {
        self.other_way.max(other.other_way)
    }
}
