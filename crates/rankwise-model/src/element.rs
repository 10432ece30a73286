//! Element types as Rust types, with NCCL's arithmetic.
//!
//! Every step rounds to the element type. The sources of each rule are the
//! clauses `AR-*` of `docs/semantics.md`.

use core::fmt::Debug;

use float8::{F8E4M3, F8E5M2};
use half::{bf16, f16};

use crate::dtype::Dtype;
use crate::rank::GroupSize;
use crate::reduction::Combine;

mod sealed {
    pub trait Sealed {}
}

/// A type whose values travel in a collective.
///
/// Implemented for exactly the types of [`Dtype`], and for no others: neither
/// `char` (four bytes, not one) nor `bool` (bit patterns other than 0 and 1 are
/// undefined behaviour in Rust).
///
/// ```compile_fail
/// fn travels<T: rankwise_model::Element>() {}
/// travels::<char>();
/// ```
/// ```
/// fn travels<T: rankwise_model::Element>() {}
/// travels::<u8>();
/// ```
pub trait Element: Copy + Debug + PartialEq + Send + Sync + sealed::Sealed + 'static {
    /// The type as a value.
    const DTYPE: Dtype;

    /// The bit pattern, in the low bits.
    fn to_bits(self) -> u64;

    /// The value with the low bits of `bits`.
    fn from_bits(bits: u64) -> Self;

    /// One combining step: `self` is the running value, `next` the next contribution.
    ///
    /// Integers wrap modulo 2^w. Floats round to nearest even; fp8 goes through
    /// binary16 and saturates. A NaN result is the type's one canonical NaN.
    #[must_use]
    fn combine(self, how: Combine, next: Self) -> Self;

    /// What a contribution becomes before an average is summed: `self · T(1/n)`
    /// for floats; itself for integers, whose average is divided afterwards.
    #[must_use]
    fn average_before(self, ranks: GroupSize) -> Self;

    /// What the sum of an average becomes: `self / n` truncating for integers;
    /// itself for floats, whose average was scaled beforehand.
    #[must_use]
    fn average_after(self, ranks: GroupSize) -> Self;

    /// The neutral element of `how`: what padding must hold so as not to matter.
    fn identity(how: Combine) -> Self;

    /// The nearest value: floats round to nearest even (fp8 saturates), integers
    /// truncate toward zero and clamp, NaN becomes 0.
    fn from_f64(value: f64) -> Self;

    /// The value widened; exact for every type but 64-bit integers, which round.
    fn to_f64(self) -> f64;

    /// Whether the value is a NaN.
    fn is_nan(self) -> bool {
        self.to_f64().is_nan()
    }

    /// The value itself, or the canonical NaN of the type for any NaN.
    #[must_use]
    fn canonical(self) -> Self;
}

macro_rules! integer {
    ($($type:ty, $unsigned:ty, $wide:ty, $dtype:expr;)*) => {$(
        impl sealed::Sealed for $type {}

        // The casts are the definition: bit patterns, and clamping from floats.
        #[allow(
            clippy::cast_sign_loss,
            clippy::cast_possible_truncation,
            clippy::cast_possible_wrap,
            clippy::cast_precision_loss,
            clippy::cast_lossless,
            trivial_numeric_casts
        )]
        impl Element for $type {
            const DTYPE: Dtype = $dtype;

            fn to_bits(self) -> u64 {
                u64::from(self as $unsigned)
            }

            fn from_bits(bits: u64) -> Self {
                bits as Self
            }

            #[inline]
            fn combine(self, how: Combine, next: Self) -> Self {
                match how {
                    Combine::Sum => self.wrapping_add(next),
                    Combine::Prod => self.wrapping_mul(next),
                    Combine::Max => Ord::max(self, next),
                    Combine::Min => Ord::min(self, next),
                }
            }

            #[inline]
            fn average_before(self, _: GroupSize) -> Self {
                self
            }

            #[inline]
            fn average_after(self, ranks: GroupSize) -> Self {
                // Wide enough for any group size; truncates toward zero like NCCL.
                let quotient = (self as $wide).checked_div(ranks.get() as $wide);
                quotient.map_or(self, |quotient| quotient as Self)
            }

            fn identity(how: Combine) -> Self {
                match how {
                    Combine::Sum => 0,
                    Combine::Prod => 1,
                    Combine::Max => Self::MIN,
                    Combine::Min => Self::MAX,
                }
            }

            fn from_f64(value: f64) -> Self {
                value as Self
            }

            #[inline]
            fn to_f64(self) -> f64 {
                self as f64
            }

            #[inline]
            fn canonical(self) -> Self {
                self
            }
        }
    )*};
}

integer! {
    i8, u8, i64, Dtype::I8;
    u8, u8, u64, Dtype::U8;
    i32, u32, i64, Dtype::I32;
    u32, u32, u64, Dtype::U32;
    i64, u64, i64, Dtype::I64;
    u64, u64, u64, Dtype::U64;
}

/// `a` or `b` by fminf/fmaxf: a NaN loses, −0 is below +0.
macro_rules! choose {
    ($a:expr, $b:expr, $better:tt, $a_wins_tie:expr) => {{
        let (a, b) = ($a, $b);
        if Element::is_nan(a) {
            b
        } else if Element::is_nan(b) || a $better b || (a == b && $a_wins_tie) {
            a
        } else {
            b
        }
    }};
}

/// The arithmetic of a float type whose operations are correctly rounded when
/// carried out in `$wide` and rounded once: its own type for f32 and f64, f32 for
/// f16 and bf16 (24 significant bits are at least twice 11 plus 2, so rounding
/// twice is rounding once).
macro_rules! float {
    ($($type:ty, $wide:ty, $bits:ty, $dtype:expr, $to_bits:expr, $widen:expr, $narrow:expr, $from_f64:expr,
       $finish:expr, $nan:expr, $infinity:expr;)*) => {$(
        impl sealed::Sealed for $type {}

        #[allow(
            clippy::cast_possible_truncation,
            clippy::float_cmp,
            clippy::redundant_closure_call,
            trivial_numeric_casts
        )]
        impl Element for $type {
            const DTYPE: Dtype = $dtype;

            fn to_bits(self) -> u64 {
                u64::from($to_bits(self))
            }

            fn from_bits(bits: u64) -> Self {
                <$type>::from_bits(bits as $bits)
            }

            #[inline]
            fn combine(self, how: Combine, next: Self) -> Self {
                let (a, b): ($wide, $wide) = ($widen(self), $widen(next));
                let result: Self = match how {
                    Combine::Sum => $narrow(a + b),
                    Combine::Prod => $narrow(a * b),
                    Combine::Max => choose!(self, next, >, self.is_sign_positive()),
                    Combine::Min => choose!(self, next, <, self.is_sign_negative()),
                };
                $finish(result).canonical()
            }

            #[inline]
            fn average_before(self, ranks: GroupSize) -> Self {
                let reciprocal: Self = reciprocal_of(ranks);
                self.combine(Combine::Prod, reciprocal)
            }

            #[inline]
            fn average_after(self, _: GroupSize) -> Self {
                self
            }

            fn identity(how: Combine) -> Self {
                match how {
                    Combine::Sum => $from_f64(0.0),
                    Combine::Prod => $from_f64(1.0),
                    Combine::Max => <Self as Element>::from_bits($infinity | sign_bit($dtype)),
                    Combine::Min => <Self as Element>::from_bits($infinity),
                }
            }

            fn from_f64(value: f64) -> Self {
                $from_f64(value)
            }

            #[inline]
            fn to_f64(self) -> f64 {
                f64::from($widen(self))
            }

            #[inline]
            fn canonical(self) -> Self {
                if Element::is_nan(self) { <Self as Element>::from_bits($nan) } else { self }
            }
        }
    )*};
}

/// T(1/n): f64 divides; the others round the binary32 quotient (clause AR-6).
fn reciprocal_of<T: Element>(ranks: GroupSize) -> T {
    let exact = 1.0 / f64::from(ranks.get());
    if matches!(T::DTYPE, Dtype::F64) {
        T::from_f64(exact)
    } else {
        #[allow(clippy::cast_possible_truncation)] // rounding to binary32 is the rule
        let single = exact as f32;
        T::from_f64(f64::from(single))
    }
}

/// The top bit of the type's own width.
const fn sign_bit(dtype: Dtype) -> u64 {
    match dtype.bytes() {
        1 => 1 << 7,
        2 => 1 << 15,
        4 => 1 << 31,
        _ => 1 << 63,
    }
}

/// The nearest narrow value, ties to even, of one whose rounding reads the upper
/// half of the binary64 only (as `half`'s does): what stands in the lower half is
/// kept as a sticky bit, or a value just above a tie would pass for the tie. The
/// upper half has 20 mantissa bits, f16 needs 10 and two more.
fn with_sticky_low_half<T>(narrow: impl Fn(f64) -> T, value: f64) -> T {
    const LOW: u64 = 0xffff_ffff;
    const STICKY: u64 = 1 << 32;
    let bits = value.to_bits();
    let sticky = if bits & LOW == 0 { 0 } else { STICKY };
    narrow(f64::from_bits(bits & !LOW | sticky))
}

/// The infinities of e5m2, which exist as bit patterns, leave no combining step: the
/// result of min and max is encoded anew too, with saturation (clause AR-4).
fn saturated_e5m2(value: F8E5M2) -> F8E5M2 {
    F8E5M2::from_f32(value.to_f32())
}

float! {
    f32, f32, u32, Dtype::F32, f32::to_bits, |x: f32| x, |x: f32| x, |x: f64| x as f32, |x| x,
        0x7fff_ffff, 0x7f80_0000;
    f64, f64, u64, Dtype::F64, f64::to_bits, |x: f64| x, |x: f64| x, |x: f64| x, |x| x,
        0x7fff_ffff_ffff_ffff, 0x7ff0_0000_0000_0000;
    f16, f32, u16, Dtype::F16, f16::to_bits, f16::to_f32, f16::from_f32,
        |x: f64| with_sticky_low_half(f16::from_f64, x), |x| x, 0x7fff, 0x7c00;
    bf16, f32, u16, Dtype::Bf16, bf16::to_bits, bf16::to_f32, bf16::from_f32,
        |x: f64| with_sticky_low_half(bf16::from_f64, x), |x| x, 0x7fff, 0x7f80;
    // fp8 computes in binary16, rounds there, and then again with saturation
    // (clause AR-4). The identities of min and max are the largest finite values:
    // e4m3 has no infinity, and e5m2's is never produced.
    F8E4M3, f32, u8, Dtype::F8E4M3, |x: F8E4M3| F8E4M3::to_bits(&x), |x: F8E4M3| x.to_f32(),
        |x: f32| F8E4M3::from_f32(f16::from_f32(x).to_f32()), F8E4M3::from_f64, |x| x, 0x7f, 0x7e;
    F8E5M2, f32, u8, Dtype::F8E5M2, |x: F8E5M2| F8E5M2::to_bits(&x), |x: F8E5M2| x.to_f32(),
        |x: f32| F8E5M2::from_f32(f16::from_f32(x).to_f32()), F8E5M2::from_f64, saturated_e5m2,
        0x7f, 0x7b;
}
