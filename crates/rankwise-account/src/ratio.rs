//! Exact fractions, for factors that depend on the number of ranks.

use core::fmt;

/// A fraction in lowest terms, never negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    numerator: u128,
    denominator: u128,
}

impl Ratio {
    /// One.
    pub const ONE: Self = Self { numerator: 1, denominator: 1 };

    /// `numerator / denominator`; `None` for a zero denominator.
    ///
    /// ```
    /// use rankwise_account::Ratio;
    ///
    /// assert_eq!(Ratio::new(6, 4).unwrap().to_string(), "3/2");
    /// assert_eq!(Ratio::new(8, 4).unwrap().whole(), Some(2));
    /// assert_eq!(Ratio::new(1, 0), None);
    /// ```
    pub fn new(numerator: u128, denominator: u128) -> Option<Self> {
        let (mut a, mut b) = (numerator, denominator);
        while let Some(rest) = a.checked_rem(b) {
            (a, b) = (b, rest);
        }
        // `a` is the greatest common divisor: zero only if both were zero.
        let numerator = numerator.checked_div(a)?;
        let denominator = denominator.checked_div(a)?;
        (denominator > 0).then_some(Self { numerator, denominator })
    }

    /// A whole number.
    pub const fn of(whole: u64) -> Self {
        Self { numerator: whole as u128, denominator: 1 } // lossless: u64 into u128
    }

    /// Above the line.
    pub const fn numerator(self) -> u128 {
        self.numerator
    }

    /// Below the line.
    pub const fn denominator(self) -> u128 {
        self.denominator
    }

    /// The product; `None` if it does not fit.
    pub fn times(self, other: Self) -> Option<Self> {
        // Crosswise first, so that what cancels cannot overflow.
        let left = Self::new(self.numerator, other.denominator)?;
        let right = Self::new(other.numerator, self.denominator)?;
        Self::new(
            left.numerator.checked_mul(right.numerator)?,
            left.denominator.checked_mul(right.denominator)?,
        )
    }

    /// The value, if it is a whole number that fits in 64 bits.
    pub fn whole(self) -> Option<u64> {
        if self.denominator == 1 { u64::try_from(self.numerator).ok() } else { None }
    }

    /// The nearest binary64, give or take a rounding of each part.
    #[allow(clippy::cast_precision_loss)] // said so
    pub fn to_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

impl fmt::Display for Ratio {
    /// `3/2`, or `2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.denominator == 1 {
            write!(f, "{}", self.numerator)
        } else {
            write!(f, "{}/{}", self.numerator, self.denominator)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cancels_does_not_overflow() {
        let huge = Ratio::new(u128::MAX, 3).unwrap();
        let inverse = Ratio::new(3, u128::MAX).unwrap();
        assert_eq!(huge.times(inverse), Some(Ratio::ONE));
        assert_eq!(huge.times(huge), None);
        assert_eq!(Ratio::new(0, 7), Ratio::new(0, 1));
        assert_eq!(Ratio::new(0, 0), None);
        assert_eq!(Ratio::of(0).times(huge), Some(Ratio::of(0)));
    }

    #[test]
    fn only_a_whole_number_is_whole() {
        assert_eq!(Ratio::new(7, 2).unwrap().whole(), None);
        assert_eq!(Ratio::new(1 << 64, 1).unwrap().whole(), None);
        assert_eq!(Ratio::of(u64::MAX).whole(), Some(u64::MAX));
    }
}
