//! Element types and the exact values of their elements.

use alloc::string::ToString;

use num_bigint::{BigInt, Sign};
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

use crate::format::How;
use crate::limits::{NUMBER_BITS, NUMBER_CHARACTERS};

/// An exact value.
pub(crate) type Number = BigRational;

/// How many binary digits a number takes, above and below the line, whichever is more.
pub(crate) fn bits(number: &Number) -> u64 {
    number.numer().bits().max(number.denom().bits())
}

/// A product, or nothing where it would be longer than numbers may be: it is not made.
pub(crate) fn product(one: &Number, other: &Number) -> Option<Number> {
    // Bits of a product add up, or are one less.
    let fits = bits(one).saturating_add(bits(other)) <= NUMBER_BITS || one.is_zero();
    fits.then(|| one * other)
}

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Dtype {
    I8,
    U8,
    I32,
    U32,
    I64,
    U64,
    F8E4M3,
    F8E5M2,
    F16,
    Bf16,
    F32,
    F64,
}

/// What an element type can hold.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Integer {
        bits: u32,
        signed: bool,
    },
    /// Significands of so many bits, in steps of at least 2^`step`, up to
    /// `significand · 2^exponent`.
    Float {
        precision: i64,
        step: i64,
        significand: u64,
        exponent: i64,
        saturates: bool,
    },
}

impl Dtype {
    pub(crate) const fn kind(self) -> Kind {
        const fn float(precision: i64, step: i64, significand: u64, exponent: i64) -> Kind {
            Kind::Float { precision, step, significand, exponent, saturates: false }
        }
        const fn eighth(precision: i64, step: i64, significand: u64, exponent: i64) -> Kind {
            Kind::Float { precision, step, significand, exponent, saturates: true }
        }
        match self {
            Self::I8 => Kind::Integer { bits: 8, signed: true },
            Self::U8 => Kind::Integer { bits: 8, signed: false },
            Self::I32 => Kind::Integer { bits: 32, signed: true },
            Self::U32 => Kind::Integer { bits: 32, signed: false },
            Self::I64 => Kind::Integer { bits: 64, signed: true },
            Self::U64 => Kind::Integer { bits: 64, signed: false },
            // 448 and 57344.
            Self::F8E4M3 => eighth(4, -9, 14, 5),
            Self::F8E5M2 => eighth(3, -16, 7, 13),
            Self::F16 => float(11, -24, 2047, 5),
            Self::Bf16 => float(8, -133, 255, 120),
            Self::F32 => float(24, -149, 0xff_ffff, 104),
            Self::F64 => float(53, -1074, 0x1f_ffff_ffff_ffff, 971),
        }
    }

    pub(crate) const fn is_float(self) -> bool {
        matches!(self.kind(), Kind::Float { .. })
    }

    /// Whether every value of `narrow` is one of this type.
    pub(crate) fn holds_all_of(self, narrow: Self) -> bool {
        match (self.kind(), narrow.kind()) {
            (Kind::Integer { bits, signed }, Kind::Integer { bits: of, signed: of_signed }) => {
                (signed == of_signed && bits >= of) || (signed && bits > of)
            }
            (
                Kind::Float { precision, step, exponent, .. },
                Kind::Float { precision: of, step: of_step, exponent: of_exponent, .. },
            ) => {
                let reach = exponent.saturating_add(precision);
                precision >= of && step <= of_step && reach >= of_exponent.saturating_add(of)
            }
            (Kind::Float { precision, .. }, Kind::Integer { bits, .. }) => {
                precision >= i64::from(bits)
            }
            (Kind::Integer { .. }, Kind::Float { .. }) => false,
        }
    }

    /// Whether 1/n is an element: multiplying by it then rounds nothing, but for underflow.
    pub(crate) fn holds_one_over(self, n: u32) -> bool {
        match self.kind() {
            Kind::Float { step, .. } => {
                n.is_power_of_two() && i64::from(n.trailing_zeros()) <= step.saturating_neg()
            }
            Kind::Integer { .. } => n == 1,
        }
    }

    /// An integer result as its type holds it: modulo 2^w, signed where the type is. A
    /// float stands for a real number. `None` for a fraction of integers.
    pub(crate) fn wrapped(self, value: Number) -> Option<Number> {
        let Kind::Integer { bits, signed } = self.kind() else { return Some(value) };
        let low = self.modulo(value)?.to_integer();
        let half = BigInt::one() << bits.saturating_sub(1);
        Some(Number::from_integer(if signed && low >= half { low - (half << 1_u32) } else { low }))
    }

    /// A multiplicity as the type knows it: from 0 up to 2^w for integers.
    pub(crate) fn modulo(self, value: Number) -> Option<Number> {
        let Kind::Integer { bits, .. } = self.kind() else { return Some(value) };
        if !value.is_integer() {
            return None;
        }
        let modulus = BigInt::one() << bits;
        let low = value.to_integer() % &modulus;
        let low = if low.sign() == Sign::Minus { low + modulus } else { low };
        Some(Number::from_integer(low))
    }

    /// Of integers: the value that changes no largest (or smallest) one.
    pub(crate) fn bound(self, how: How) -> Option<Number> {
        let Kind::Integer { bits, signed } = self.kind() else { return None };
        let half = BigInt::one() << bits.saturating_sub(1);
        let bound = match (how, signed) {
            (How::Max, true) => -half,
            (How::Max, false) => BigInt::zero(),
            (How::Min, true) => half - BigInt::one(),
            (How::Min, false) => (half << 1_u32) - BigInt::one(),
            (How::Sum | How::Prod, _) => return None,
        };
        Some(Number::from_integer(bound))
    }

    /// Whether the type has this very value.
    pub(crate) fn has(self, value: &Number) -> bool {
        let held = match self.kind() {
            Kind::Integer { .. } => self.wrapped(value.clone()),
            Kind::Float { .. } => self.nearest(value),
        };
        held.as_ref() == Some(value)
    }

    /// The nearest element, ties to even; fp8 saturates, and of other floats `None`
    /// stands for an infinity. An integer must be within its type.
    pub(crate) fn nearest(self, value: &Number) -> Option<Number> {
        let Kind::Float { precision, step, significand, exponent, saturates } = self.kind() else {
            return Some(value.clone()).filter(|value| self.has(value));
        };
        if value.is_zero() {
            return Some(value.clone());
        }
        let size = value.abs();
        let bits = |number: &BigInt| i64::try_from(number.bits()).ok();
        // 2^(magnitude - 1) < size < 2^(magnitude + 1)
        let magnitude = bits(size.numer())?.checked_sub(bits(size.denom())?)?;
        let magnitude =
            if size >= power_of_two(magnitude) { magnitude } else { magnitude.checked_sub(1)? };
        let unit = power_of_two(magnitude.checked_sub(precision)?.checked_add(1)?.max(step));
        let units = (size / &unit).reduced();
        let (whole, rest) = (units.floor(), units.fract());
        let half = Number::new(BigInt::one(), BigInt::from(2));
        let odd = whole.to_integer().bit(0);
        let up = rest > half || (rest == half && odd);
        let rounded = (if up { whole + Number::one() } else { whole }) * unit;
        let largest = Number::from_integer(significand.into()) * power_of_two(exponent);
        let rounded = match (rounded > largest, saturates) {
            (false, _) => rounded,
            (true, true) => largest,
            (true, false) => return None,
        };
        Some(if value.is_negative() { -rounded } else { rounded })
    }
}

fn power_of_two(exponent: i64) -> Number {
    let power = BigInt::one() << exponent.unsigned_abs();
    if exponent < 0 { Number::new(BigInt::one(), power) } else { Number::from_integer(power) }
}

/// An exact number as it must be written: `-7`, or `3/8` in lowest terms.
pub(crate) fn parse(text: &str) -> Option<Number> {
    if text.len() > NUMBER_CHARACTERS {
        return None;
    }
    let (over, under) = text.split_once('/').unwrap_or((text, "1"));
    let (over, under): (BigInt, BigInt) = (over.parse().ok()?, under.parse().ok()?);
    if under.sign() != Sign::Plus {
        return None;
    }
    let number = Number::new(over, under);
    (number.to_string() == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        parse(text).unwrap()
    }

    #[test]
    fn integers_wrap_modulo_their_width() {
        let wrapped = |dtype: Dtype, text| dtype.wrapped(number(text)).unwrap().to_string();
        assert_eq!(wrapped(Dtype::I8, "200"), "-56");
        assert_eq!(wrapped(Dtype::I8, "-129"), "127");
        assert_eq!(wrapped(Dtype::U8, "-1"), "255");
        assert_eq!(wrapped(Dtype::U64, "18446744073709551616"), "0");
        assert_eq!(Dtype::I32.wrapped(number("1/2")), None);
    }

    #[test]
    fn the_nearest_element_ties_to_even() {
        let nearest = |dtype: Dtype, text| dtype.nearest(&number(text)).map(|it| it.to_string());
        // bf16 has 8 bits: 257 is between 256 and 258, 259 between 258 and 260.
        assert_eq!(nearest(Dtype::Bf16, "257").unwrap(), "256");
        assert_eq!(nearest(Dtype::Bf16, "259").unwrap(), "260");
        assert_eq!(nearest(Dtype::F32, "16777217").unwrap(), "16777216");
        assert_eq!(nearest(Dtype::F32, "1/10").unwrap(), "13421773/134217728");
        assert_eq!(nearest(Dtype::F16, "-65519").unwrap(), "-65504");
        assert_eq!(nearest(Dtype::F16, "65520"), None);
        assert_eq!(nearest(Dtype::F8E4M3, "1000").unwrap(), "448");
        assert_eq!(nearest(Dtype::F8E5M2, "-1000000").unwrap(), "-57344");
        // Half of the smallest e4m3, 2^-9, goes to zero; a little more does not.
        assert_eq!(nearest(Dtype::F8E4M3, "1/1024").unwrap(), "0");
        assert_eq!(nearest(Dtype::F8E4M3, "9/8192").unwrap(), "1/512");
    }

    #[test]
    fn what_a_type_holds_of_another() {
        let holds = |wide: Dtype, narrow| wide.holds_all_of(narrow);
        assert!(holds(Dtype::F32, Dtype::Bf16) && holds(Dtype::F32, Dtype::F16));
        assert!(!holds(Dtype::F16, Dtype::Bf16) && !holds(Dtype::Bf16, Dtype::F16));
        assert!(holds(Dtype::F16, Dtype::F8E5M2) && !holds(Dtype::F8E5M2, Dtype::F8E4M3));
        assert!(holds(Dtype::I32, Dtype::U8) && !holds(Dtype::U32, Dtype::I8));
        assert!(holds(Dtype::F64, Dtype::U32) && !holds(Dtype::F32, Dtype::I32));
        assert!(Dtype::F8E4M3.holds_one_over(512) && !Dtype::F8E4M3.holds_one_over(1024));
        assert!(!Dtype::F32.holds_one_over(3));
    }

    #[test]
    fn a_number_has_one_text() {
        for text in ["", "+1", "01", "2/4", "1/0", "1/-2", "1.5", "-0", "1/1", " 1"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(number("-3/8").to_string(), "-3/8");
    }
}
