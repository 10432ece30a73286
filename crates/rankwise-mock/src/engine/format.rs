//! How the narrow float types are encoded, without branches.

// Sums of bit patterns, which wrap nowhere: each is argued where it stands.
#![allow(clippy::arithmetic_side_effects)]

use super::lane::Format;

const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7f80_0000;
const NAN: u32 = 0x7fc0_0000;

/// Nearest even, of which the low `dropped` bits are cut off. Carries into the exponent,
/// which is what the next power of two is.
#[inline(always)]
const fn cut(bits: u32, dropped: u32) -> u32 {
    let below_half = (1 << (dropped - 1)) - 1;
    let odd = (bits >> dropped) & 1;
    bits.wrapping_add(below_half + odd) & !((1 << dropped) - 1)
}

/// bfloat16: the upper half of a binary32.
pub(super) struct Bf16;

impl Format for Bf16 {
    const WIDTH: u32 = 16;

    #[inline(always)]
    fn decode(bits: u32) -> f32 {
        f32::from_bits(bits << 16)
    }

    #[inline(always)]
    fn encode(value: f32) -> u32 {
        if value.is_nan() { 0x7fff } else { value.to_bits() >> 16 }
    }

    /// A NaN needs no care where an operation passes on one of its operands or gives the
    /// plain one, as Rust promises for these targets: then it comes from a bf16, its lower
    /// half is clear, and nothing is rounded.
    #[inline(always)]
    fn round(value: f32) -> f32 {
        let cut = f32::from_bits(cut(value.to_bits(), 16));
        let plain_nans = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
        if !plain_nans && value.is_nan() { f32::from_bits(NAN) } else { cut }
    }
}

/// A type with subnormals of its own: fewer bits of exponent than a binary32.
trait Short {
    /// Bits of mantissa.
    const MANTISSA: u32;
    /// What is added to its exponent.
    const BIAS: u32;
    /// The first bit pattern that is not finite.
    const SPECIAL: u32;
    /// The bits of its canonical NaN.
    const NAN: u32;

    const DROPPED: u32 = 23 - Self::MANTISSA;
    /// The exponent that a binary32 has where this type has 1, its least normal one.
    const EXPONENT: u32 = 128 - Self::BIAS;
    const LEAST_NORMAL: u32 = Self::EXPONENT << 23;
    /// A power of two in whose neighbourhood a binary32 counts in steps of the least
    /// subnormal of this type: to add it is to round.
    const COARSE: u32 = (Self::EXPONENT + Self::DROPPED) << 23;
}

/// The value without its sign.
#[inline(always)]
fn decode<S: Short>(magnitude: u32) -> u32 {
    let mantissa = magnitude << S::DROPPED;
    let normal = mantissa + ((S::EXPONENT - 1) << 23);
    let least = f32::from_bits(S::LEAST_NORMAL);
    let subnormal = (f32::from_bits(mantissa + S::LEAST_NORMAL) - least).to_bits();
    if magnitude < 1 << S::MANTISSA { subnormal } else { normal }
}

/// The bits of a finite value of the type, without its sign.
#[inline(always)]
fn encode<S: Short>(magnitude: u32) -> u32 {
    let normal = magnitude.wrapping_sub((S::EXPONENT - 1) << 23) >> S::DROPPED;
    let steps = f32::from_bits(magnitude) + f32::from_bits(S::COARSE);
    let subnormal = steps.to_bits().wrapping_sub(S::COARSE);
    if magnitude < S::LEAST_NORMAL { subnormal } else { normal }
}

/// The nearest value with the type's mantissa and subnormals, however large; anything
/// for a NaN.
#[inline(always)]
fn round<S: Short>(magnitude: u32) -> u32 {
    let coarse = f32::from_bits(S::COARSE);
    let subnormal = (f32::from_bits(magnitude) + coarse - coarse).to_bits();
    // A NaN might carry beyond 32 bits, and is anything.
    let normal = cut(magnitude.min(INFINITY), S::DROPPED);
    if magnitude < S::LEAST_NORMAL { subnormal } else { normal }
}

/// Puts the sign of `value` on what becomes of its magnitude, and lets a NaN be one.
#[inline(always)]
fn signed(value: f32, of: impl FnOnce(u32) -> u32) -> f32 {
    let bits = value.to_bits();
    let result = f32::from_bits(of(bits & !SIGN) | bits & SIGN);
    if value.is_nan() { f32::from_bits(NAN) } else { result }
}

/// binary16.
pub(super) struct F16;

impl Short for F16 {
    const MANTISSA: u32 = 10;
    const BIAS: u32 = 15;
    const SPECIAL: u32 = 0x7c00;
    const NAN: u32 = 0x7fff;
}

impl F16 {
    /// 65504.
    const GREATEST: u32 = 0x477f_e000;

    #[inline(always)]
    fn round_magnitude(magnitude: u32) -> u32 {
        let rounded = round::<Self>(magnitude);
        if rounded > Self::GREATEST { INFINITY } else { rounded }
    }
}

impl Format for F16 {
    const WIDTH: u32 = 16;

    #[inline(always)]
    fn decode(bits: u32) -> f32 {
        let (sign, magnitude) = ((bits & 0x8000) << 16, bits & 0x7fff);
        let special = magnitude << Self::DROPPED | INFINITY;
        let finite = decode::<Self>(magnitude);
        f32::from_bits(if magnitude < Self::SPECIAL { finite } else { special } | sign)
    }

    #[inline(always)]
    fn encode(value: f32) -> u32 {
        let (sign, magnitude) = ((value.to_bits() & SIGN) >> 16, value.to_bits() & !SIGN);
        let finite = encode::<Self>(magnitude);
        let number = if magnitude < INFINITY { finite } else { Self::SPECIAL } | sign;
        if value.is_nan() { Self::NAN } else { number }
    }

    #[inline(always)]
    fn round(value: f32) -> f32 {
        signed(value, Self::round_magnitude)
    }
}

/// fp8 with four bits of exponent. It has no infinities.
pub(super) struct E4m3;

impl Short for E4m3 {
    const MANTISSA: u32 = 3;
    const BIAS: u32 = 7;
    const SPECIAL: u32 = 0x7f;
    const NAN: u32 = 0x7f;
}

impl E4m3 {
    /// 448.
    const GREATEST: u32 = 0x43e0_0000;
}

impl Format for E4m3 {
    const WIDTH: u32 = 8;

    #[inline(always)]
    fn decode(bits: u32) -> f32 {
        let (sign, magnitude) = ((bits & 0x80) << 24, bits & 0x7f);
        let finite = decode::<Self>(magnitude);
        f32::from_bits(if magnitude < Self::SPECIAL { finite } else { NAN } | sign)
    }

    #[inline(always)]
    fn encode(value: f32) -> u32 {
        let (sign, magnitude) = ((value.to_bits() & SIGN) >> 24, value.to_bits() & !SIGN);
        let number = encode::<Self>(magnitude) | sign;
        if value.is_nan() { Self::NAN } else { number }
    }

    /// Through binary16, and then with saturation.
    #[inline(always)]
    fn round(value: f32) -> f32 {
        signed(value, |magnitude| {
            round::<Self>(F16::round_magnitude(magnitude)).min(Self::GREATEST)
        })
    }
}

/// fp8 with five bits of exponent. It has infinities as bit patterns, but no step ends
/// in one.
pub(super) struct E5m2;

impl Short for E5m2 {
    const MANTISSA: u32 = 2;
    const BIAS: u32 = 15;
    const SPECIAL: u32 = 0x7c;
    const NAN: u32 = 0x7f;
}

impl E5m2 {
    /// 57344.
    const GREATEST: u32 = 0x4760_0000;
}

impl Format for E5m2 {
    const WIDTH: u32 = 8;

    #[inline(always)]
    fn decode(bits: u32) -> f32 {
        let (sign, magnitude) = ((bits & 0x80) << 24, bits & 0x7f);
        let special = magnitude << Self::DROPPED | INFINITY;
        let finite = decode::<Self>(magnitude);
        f32::from_bits(if magnitude < Self::SPECIAL { finite } else { special } | sign)
    }

    #[inline(always)]
    fn encode(value: f32) -> u32 {
        let (sign, magnitude) = ((value.to_bits() & SIGN) >> 24, value.to_bits() & !SIGN);
        let finite = encode::<Self>(magnitude);
        let number = if magnitude < INFINITY { finite } else { Self::SPECIAL } | sign;
        if value.is_nan() { Self::NAN } else { number }
    }

    /// Through binary16, and then with saturation.
    #[inline(always)]
    fn round(value: f32) -> f32 {
        signed(value, |magnitude| {
            round::<Self>(F16::round_magnitude(magnitude)).min(Self::GREATEST)
        })
    }

    #[inline(always)]
    fn chosen(value: f32) -> f32 {
        signed(value, |magnitude| magnitude.min(Self::GREATEST))
    }
}
