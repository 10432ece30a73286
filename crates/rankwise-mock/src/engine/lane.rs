//! The model's arithmetic, in a form that loops over memory turn into vectors.
//!
//! [`Element::combine`] is the definition: one step on one value, rounded and canonical.
//! What stands here leaves the same bits, said without branches and without conversions
//! to and fro between steps. Types narrower than a word travel several to a word, so that
//! no step needs to pack or unpack vectors. The tests hold each lane against the model.

use core::marker::PhantomData;

use rankwise_model::{Combine, Element, GroupSize, Scalar};

/// The values of one element type, as they lie in memory and as they are computed with.
pub(super) trait Lane {
    /// What is read and written at once: one value, or several side by side. Every bit
    /// pattern is one, and it is as aligned as it likes: reads assume nothing.
    type Word: Copy;
    /// A value between two steps. Already rounded to the element type, but a NaN is not
    /// yet the canonical one.
    type Wide: Copy;

    /// Any word, to fill an array with.
    const ZERO: Self::Word;
    /// Any value, to fill an array with.
    const NOTHING: Self::Wide;

    /// The value in part `part` of a word.
    fn widen(word: Self::Word, part: usize) -> Self::Wide;

    /// One step of a fold.
    fn combine(how: Combine, running: Self::Wide, next: Self::Wide) -> Self::Wide;

    /// A word with the value in part `part`, and zeroes in the others.
    fn narrow(value: Self::Wide, part: usize) -> Self::Word;

    /// Two words, each of which has zeroes where the other has a value.
    fn merge(one: Self::Word, other: Self::Word) -> Self::Word;

    /// The factor that a scalar of the element type is.
    fn factor(scalar: Scalar) -> Self::Wide;

    /// The average of which this word is the sum, for integers; the word itself for floats.
    fn average_after(word: Self::Word, _ranks: GroupSize) -> Self::Word {
        word
    }
}

/// An element type whose own arithmetic is good enough.
pub(super) struct Plain<T>(PhantomData<T>);

macro_rules! plain {
    ($($type:ty)*) => {$(
        impl Lane for Plain<$type> {
            type Word = $type;
            type Wide = $type;

            const ZERO: $type = 0;
            const NOTHING: $type = 0;

            #[inline(always)]
            fn widen(word: $type, _part: usize) -> $type {
                word
            }

            #[inline(always)]
            fn combine(how: Combine, running: $type, next: $type) -> $type {
                Element::combine(running, how, next)
            }

            #[inline(always)]
            fn narrow(value: $type, _part: usize) -> $type {
                value
            }

            #[inline(always)]
            fn merge(one: $type, _other: $type) -> $type {
                one
            }

            #[inline(always)]
            fn factor(scalar: Scalar) -> $type {
                Element::from_bits(scalar.bits())
            }

            #[inline(always)]
            fn average_after(word: $type, ranks: GroupSize) -> $type {
                Element::average_after(word, ranks)
            }
        }
    )*};
}

plain! { i8 u8 i32 u32 i64 u64 }

/// The larger or the smaller: a NaN loses, −0 is below +0.
macro_rules! choose {
    ($a:expr, $b:expr, $better:tt, $wins_tie:expr) => {{
        let (a, b) = ($a, $b);
        let wins = b.is_nan() | (a $better b) | ((a == b) & $wins_tie);
        if !a.is_nan() & wins { a } else { b }
    }};
}

/// A step in a float type of the language. A NaN stays one through every later step
/// (or loses to a number), so which one it is can wait for the end.
macro_rules! step {
    ($how:expr, $a:expr, $b:expr) => {{
        let (a, b) = ($a, $b);
        match $how {
            Combine::Sum => a + b,
            Combine::Prod => a * b,
            Combine::Max => choose!(a, b, >, a.is_sign_positive()),
            Combine::Min => choose!(a, b, <, a.is_sign_negative()),
        }
    }};
}

macro_rules! float {
    ($($type:ty)*) => {$(
        #[allow(clippy::float_cmp, reason = "equal zeroes are told apart by their sign")]
        impl Lane for Plain<$type> {
            type Word = $type;
            type Wide = $type;

            const ZERO: $type = 0.0;
            const NOTHING: $type = 0.0;

            #[inline(always)]
            fn widen(word: $type, _part: usize) -> $type {
                word
            }

            #[inline(always)]
            fn combine(how: Combine, running: $type, next: $type) -> $type {
                step!(how, running, next)
            }

            #[inline(always)]
            fn narrow(value: $type, _part: usize) -> $type {
                value.canonical()
            }

            #[inline(always)]
            fn merge(one: $type, _other: $type) -> $type {
                one
            }

            #[inline(always)]
            fn factor(scalar: Scalar) -> $type {
                Element::from_bits(scalar.bits())
            }
        }
    )*};
}

float! { f32 f64 }

/// A float type narrower than a binary32, which each of its values is between two steps.
///
/// It is computed with as the model does: in binary32, rounded to the type after each
/// step.
pub(super) struct Narrow<F>(PhantomData<F>);

/// How a narrow float type is encoded.
pub(super) trait Format {
    /// Its width, in bits.
    const WIDTH: u32;

    /// The value of a bit pattern; any NaN for a NaN.
    fn decode(bits: u32) -> f32;

    /// The bits of a value of the type; the canonical NaN for any NaN.
    fn encode(value: f32) -> u32;

    /// The nearest value of the type; a NaN for a NaN.
    fn round(value: f32) -> f32;

    /// What becomes of a value of the type that a minimum or maximum has chosen.
    fn chosen(value: f32) -> f32 {
        value
    }
}

impl<F: Format> Narrow<F> {
    const MASK: u32 = u32::MAX >> 32_u32.saturating_sub(F::WIDTH);

    /// Where part `part` begins.
    #[inline(always)]
    const fn shift(part: usize) -> u32 {
        // At most four parts, and below 32 in all.
        #[allow(clippy::cast_possible_truncation, clippy::arithmetic_side_effects)]
        let shift = part as u32 * F::WIDTH;
        shift
    }
}

#[allow(clippy::float_cmp, reason = "equal zeroes are told apart by their sign")]
impl<F: Format> Lane for Narrow<F> {
    type Word = u32;
    type Wide = f32;

    const ZERO: u32 = 0;
    const NOTHING: f32 = 0.0;

    #[inline(always)]
    fn widen(word: u32, part: usize) -> f32 {
        F::decode(word.wrapping_shr(Self::shift(part)) & Self::MASK)
    }

    #[inline(always)]
    fn combine(how: Combine, running: f32, next: f32) -> f32 {
        let value = step!(how, running, next);
        match how {
            Combine::Sum | Combine::Prod => F::round(value),
            Combine::Max | Combine::Min => F::chosen(value),
        }
    }

    #[inline(always)]
    fn narrow(value: f32, part: usize) -> u32 {
        F::encode(value).wrapping_shl(Self::shift(part))
    }

    #[inline(always)]
    fn merge(one: u32, other: u32) -> u32 {
        one | other
    }

    #[inline(always)]
    fn factor(scalar: Scalar) -> f32 {
        // The low bits are all there are.
        #[allow(clippy::cast_possible_truncation)]
        F::decode(scalar.bits() as u32)
    }
}
