//! One value whose element type is known at run time only.

use core::fmt;

use crate::dtype::{Dtype, DtypeClass, ElementVisitor};
use crate::element::Element;
use crate::rank::GroupSize;
use crate::reduction::Combine;

/// An element type and a bit pattern of it.
///
/// Two scalars are `==` when type and bits are; `0.0` and `-0.0` are not, and a
/// NaN equals itself. For any other sense of equality, say which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scalar {
    dtype: Dtype,
    bits: u64,
}

/// A [`Scalar`] read from text, and whether it had to be rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Literal {
    /// The value.
    pub scalar: Scalar,
    /// Whether it differs from what was written (as far as binary64 can tell).
    pub rounded: bool,
}

/// Why a text is no value of an element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LiteralError {
    /// It is not a number.
    NotANumber,
    /// It has a fraction or an exponent, and the type holds integers.
    NotAnInteger {
        /// The type.
        dtype: Dtype,
    },
    /// It is an integer that the type cannot hold.
    OutOfRange {
        /// The type.
        dtype: Dtype,
        /// The least value it holds.
        least: i128,
        /// The greatest.
        greatest: i128,
    },
}

impl fmt::Display for LiteralError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotANumber => f.write_str("not a number"),
            Self::NotAnInteger { dtype } => write!(f, "not an integer, and {dtype} holds integers"),
            Self::OutOfRange { dtype, least, greatest } => {
                write!(f, "outside the range of {dtype} ({least} to {greatest})")
            }
        }
    }
}

impl core::error::Error for LiteralError {}

impl Scalar {
    /// The scalar that holds `value`.
    pub fn of<T: Element>(value: T) -> Self {
        Self { dtype: T::DTYPE, bits: value.to_bits() }
    }

    /// The scalar of `dtype` with the low bits of `bits`.
    pub fn from_bits(dtype: Dtype, bits: u64) -> Self {
        struct FromBits(u64);
        impl ElementVisitor for FromBits {
            type Output = Scalar;
            fn visit<T: Element>(self) -> Scalar {
                Scalar::of(T::from_bits(self.0))
            }
        }
        dtype.visit(FromBits(bits))
    }

    /// The element type.
    pub const fn dtype(self) -> Dtype {
        self.dtype
    }

    /// The bit pattern, in the low bits.
    pub const fn bits(self) -> u64 {
        self.bits
    }

    /// The value as a `T`, if that is its type.
    pub fn get<T: Element>(self) -> Option<T> {
        (T::DTYPE == self.dtype).then(|| T::from_bits(self.bits))
    }

    /// The value widened; exact for every type but 64-bit integers, which round.
    pub fn to_f64(self) -> f64 {
        struct ToF64(u64);
        impl ElementVisitor for ToF64 {
            type Output = f64;
            fn visit<T: Element>(self) -> f64 {
                T::from_bits(self.0).to_f64()
            }
        }
        self.dtype.visit(ToF64(self.bits))
    }

    /// The value of an integer type; `None` for floats.
    pub fn to_integer(self) -> Option<i128> {
        match self.dtype.class() {
            DtypeClass::Float { .. } => None,
            DtypeClass::Integer { signed: false, .. } => Some(i128::from(self.bits)),
            DtypeClass::Integer { signed: true, bits } => {
                let unused = 64_u32.saturating_sub(bits);
                let high = self.bits.wrapping_shl(unused).cast_signed();
                Some(i128::from(high.wrapping_shr(unused)))
            }
        }
    }

    /// One combining step, as [`Element::combine`]; `None` if the types differ.
    pub fn combine(self, how: Combine, next: Self) -> Option<Self> {
        struct Step(Combine, u64, u64);
        impl ElementVisitor for Step {
            type Output = Scalar;
            fn visit<T: Element>(self) -> Scalar {
                let Self(how, running, next) = self;
                Scalar::of(T::from_bits(running).combine(how, T::from_bits(next)))
            }
        }
        let same = self.dtype == next.dtype;
        same.then(|| self.dtype.visit(Step(how, self.bits, next.bits)))
    }

    /// What a contribution becomes before an average is summed.
    #[must_use]
    pub fn average_before(self, ranks: GroupSize) -> Self {
        struct Step(GroupSize, u64);
        impl ElementVisitor for Step {
            type Output = Scalar;
            fn visit<T: Element>(self) -> Scalar {
                Scalar::of(T::from_bits(self.1).average_before(self.0))
            }
        }
        self.dtype.visit(Step(ranks, self.bits))
    }

    /// What the sum of an average becomes.
    #[must_use]
    pub fn average_after(self, ranks: GroupSize) -> Self {
        struct Step(GroupSize, u64);
        impl ElementVisitor for Step {
            type Output = Scalar;
            fn visit<T: Element>(self) -> Scalar {
                Scalar::of(T::from_bits(self.1).average_after(self.0))
            }
        }
        self.dtype.visit(Step(ranks, self.bits))
    }

    /// The nearest value of `dtype`, by [`Element::from_f64`]; integers become
    /// integers of another width by their low bits, as NumPy and C do.
    #[must_use]
    pub fn convert(self, dtype: Dtype) -> Self {
        match (self.to_integer(), dtype.class()) {
            (Some(integer), DtypeClass::Integer { .. }) => {
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // the low bits
                Self::from_bits(dtype, integer as u64)
            }
            (Some(integer), _) if dtype != Dtype::F64 => {
                Self::nearest(dtype, odd_in_binary64(integer))
            }
            _ => Self::nearest(dtype, self.to_f64()),
        }
    }

    fn nearest(dtype: Dtype, value: f64) -> Self {
        struct FromF64(f64);
        impl ElementVisitor for FromF64 {
            type Output = Scalar;
            fn visit<T: Element>(self) -> Scalar {
                Scalar::of(T::from_f64(self.0).canonical())
            }
        }
        dtype.visit(FromF64(value))
    }

    /// Reads a decimal integer or float (`nan`, `inf` and `-inf` included).
    ///
    /// Integers must fit their type. Floats round to nearest even, and say so:
    ///
    /// ```
    /// use rankwise_model::{Dtype, Scalar};
    ///
    /// let third = Scalar::parse(Dtype::Bf16, "0.1").unwrap();
    /// assert!(third.rounded);
    /// assert_eq!(third.scalar.to_string(), "0.10009765625");
    /// assert!(Scalar::parse(Dtype::I8, "128").is_err());
    /// ```
    pub fn parse(dtype: Dtype, text: &str) -> Result<Literal, LiteralError> {
        match dtype.class() {
            DtypeClass::Integer { signed, bits } => Self::parse_integer(dtype, signed, bits, text),
            DtypeClass::Float { .. } => Self::parse_float(dtype, text),
        }
    }

    fn parse_integer(
        dtype: Dtype,
        signed: bool,
        bits: u32,
        text: &str,
    ) -> Result<Literal, LiteralError> {
        let unused = 64_u32.saturating_sub(bits);
        let (least, greatest) = if signed {
            (i128::from(i64::MIN.wrapping_shr(unused)), i128::from(i64::MAX.wrapping_shr(unused)))
        } else {
            (0, i128::from(u64::MAX.wrapping_shr(unused)))
        };
        let out_of_range = LiteralError::OutOfRange { dtype, least, greatest };
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(match text.parse::<f64>() {
                Ok(_) => LiteralError::NotAnInteger { dtype },
                Err(_) => LiteralError::NotANumber,
            });
        }
        let value = text.parse::<i128>().map_err(|_| out_of_range)?;
        if !(least..=greatest).contains(&value) {
            return Err(out_of_range);
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        // the low bits, checked above
        let scalar = Self::from_bits(dtype, value as u64);
        Ok(Literal { scalar, rounded: false })
    }

    fn parse_float(dtype: Dtype, text: &str) -> Result<Literal, LiteralError> {
        let wide = text.parse::<f64>().map_err(|_| LiteralError::NotANumber)?;
        let scalar = if dtype == Dtype::F32 {
            // Rounded from the text itself, not from its binary64 neighbour.
            Self::of(text.parse::<f32>().map_err(|_| LiteralError::NotANumber)?.canonical())
        } else {
            Self::nearest(dtype, wide)
        };
        #[allow(clippy::float_cmp)] // exactness is the question
        let rounded = scalar.to_f64() != wide && !wide.is_nan();
        Ok(Literal { scalar, rounded })
    }
}

/// A binary64 that rounds to any narrower float as `integer` itself does: of an
/// integer too long for it, the lower bits are kept as one sticky bit.
fn odd_in_binary64(integer: i128) -> f64 {
    const SPARE: u64 = (1 << 11) - 1; // 64 bits less the 53 of binary64
    let magnitude = u64::try_from(integer.unsigned_abs()).unwrap_or(u64::MAX);
    let lost = magnitude >> 53 != 0 && magnitude & SPARE != 0;
    let kept = if lost { magnitude & !SPARE | (SPARE.wrapping_add(1)) } else { magnitude };
    #[allow(clippy::cast_precision_loss)] // at most 53 significant bits are left
    let wide = kept as f64;
    if integer < 0 { -wide } else { wide }
}

impl fmt::Display for Scalar {
    /// Integers in decimal; floats as the shortest text of their widened value
    /// (of `f32` itself for `f32`) that reads back to the same bits. Two texts say
    /// less than the bits: any NaN is `NaN`, and the infinity of e5m2 is `inf`, which
    /// reads back saturated, as every conversion to fp8 is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.to_integer(), self.get::<f32>()) {
            (Some(integer), _) => integer.fmt(f),
            (None, Some(single)) => single.fmt(f),
            (None, None) => self.to_f64().fmt(f),
        }
    }
}
