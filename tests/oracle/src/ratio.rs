//! Exact fractions of 128 bits; what does not fit is not a number.

/// A fraction in lowest terms, its denominator positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    over: i128,
    under: i128,
}

impl Ratio {
    /// One.
    pub const ONE: Self = Self::whole(1);

    /// A whole number.
    pub const fn whole(number: i128) -> Self {
        Self { over: number, under: 1 }
    }

    /// `over / under`; `None` for a division by zero or past 128 bits.
    pub fn new(over: i128, under: i128) -> Option<Self> {
        if under == 0 {
            return None;
        }
        if under == 1 {
            return Some(Self::whole(over));
        }
        let divisor = gcd(over.checked_abs()?, under.checked_abs()?) * under.signum();
        Some(Self { over: over / divisor, under: under / divisor })
    }

    /// The numerator.
    pub const fn over(self) -> i128 {
        self.over
    }

    /// The denominator.
    pub const fn under(self) -> i128 {
        self.under
    }

    /// The sum.
    pub fn plus(self, other: Self) -> Option<Self> {
        if self.under == other.under {
            return Self::new(self.over.checked_add(other.over)?, self.under);
        }
        let left = self.over.checked_mul(other.under)?;
        let right = other.over.checked_mul(self.under)?;
        Self::new(left.checked_add(right)?, self.under.checked_mul(other.under)?)
    }

    /// The product.
    pub fn times(self, other: Self) -> Option<Self> {
        Self::new(self.over.checked_mul(other.over)?, self.under.checked_mul(other.under)?)
    }

    /// Whether it is the smaller of two.
    pub fn is_less(self, other: Self) -> Option<bool> {
        Some(self.over.checked_mul(other.under)? < other.over.checked_mul(self.under)?)
    }

    /// The nearest number of `precision` binary digits, ties to even.
    pub fn rounded(self, precision: u32) -> Option<Self> {
        let sign = self.over.signum();
        let (over, under) = (self.over.checked_abs()?, self.under);
        // The quotient's digits before the point decide how far to shift.
        let whole = over / under;
        let digits = i128::BITS - whole.leading_zeros();
        let (shift, over, under) = if digits > precision {
            let shift = digits - precision;
            (shift, over, under.checked_shl(shift).filter(|wide| wide >> shift == under)?)
        } else if under == 1 {
            return Some(self);
        } else {
            return self.rounded_fraction(precision);
        };
        let (quotient, rest) = (over / under, over % under);
        let up = match (rest.checked_mul(2)?).cmp(&under) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Equal => quotient & 1,
            std::cmp::Ordering::Greater => 1,
        };
        Some(Self::whole(sign * ((quotient + up) << shift)))
    }

    /// The same for a number with digits after the point.
    fn rounded_fraction(self, precision: u32) -> Option<Self> {
        let sign = self.over.signum();
        let (mut over, under) = (self.over.checked_abs()?, self.under);
        if over == 0 {
            return Some(self);
        }
        // Doubled until it has all its digits before the point.
        let mut doublings = 0_u32;
        while i128::BITS - (over / under).leading_zeros() < precision {
            over = over.checked_mul(2)?;
            doublings += 1;
        }
        let (quotient, rest) = (over / under, over % under);
        let up = match (rest.checked_mul(2)?).cmp(&under) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Equal => quotient & 1,
            std::cmp::Ordering::Greater => 1,
        };
        Self::new(sign * (quotient + up), 1_i128.checked_shl(doublings).filter(|power| *power > 0)?)
    }
}

const fn gcd(mut one: i128, mut other: i128) -> i128 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(over: i128, under: i128) -> Ratio {
        Ratio::new(over, under).unwrap()
    }

    #[test]
    fn fractions_are_exact() {
        assert_eq!(ratio(1, 2).plus(ratio(1, 3)), Some(ratio(5, 6)));
        assert_eq!(ratio(2, -4), ratio(-1, 2));
        assert_eq!(ratio(-1, 2).is_less(ratio(1, 3)), Some(true));
        assert_eq!(ratio(i128::MAX, 1).plus(Ratio::ONE), None);
    }

    #[test]
    fn rounding_is_to_nearest_even() {
        // 257 and 259 lie between 256, 258 and 260 at eight digits.
        for (exact, rounded) in [(257, 256), (259, 260), (258, 258), (255, 255), (-257, -256)] {
            assert_eq!(Ratio::whole(exact).rounded(8), Some(Ratio::whole(rounded)), "{exact}");
        }
        // 1/3 in eight digits: 0.01010101011 (binary), 171/512.
        assert_eq!(ratio(1, 3).rounded(8), Some(ratio(171, 512)));
        assert_eq!(ratio(1, 2).rounded(8), Some(ratio(1, 2)));
    }
}
