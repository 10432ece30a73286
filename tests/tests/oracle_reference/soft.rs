//! Floats in whole numbers: decoding, exact sums and products, and one rounding.
//!
//! Nothing here asks the machine, `half` or `float8` for arithmetic: a finite value
//! is a sign, a whole number and a power of two. Two further bits below the last
//! one that matters are enough to round by, so what is lost further down is kept as
//! one sticky bit.

// Each rule has an arm of its own, and numbers have the names of a formula.
#![allow(clippy::match_same_arms, clippy::many_single_char_names)]

/// The layout of a binary float.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// Bits of the exponent field.
    pub(crate) exponent: u32,
    /// Stored bits of the significand.
    pub(crate) mantissa: u32,
    /// Whether the highest exponent means infinity and NaN (IEEE), or is an
    /// ordinary one but for a single NaN pattern (e4m3).
    pub(crate) has_infinity: bool,
    /// Whether a result past the largest finite value becomes it.
    pub(crate) saturates: bool,
}

pub(crate) const F64: Format = ieee(11, 52);
pub(crate) const F32: Format = ieee(8, 23);
pub(crate) const F16: Format = ieee(5, 10);
pub(crate) const BF16: Format = ieee(8, 7);
pub(crate) const E5M2: Format = Format { saturates: true, ..ieee(5, 2) };
pub(crate) const E4M3: Format =
    Format { exponent: 4, mantissa: 3, has_infinity: false, saturates: true };

const fn ieee(exponent: u32, mantissa: u32) -> Format {
    Format { exponent, mantissa, has_infinity: true, saturates: false }
}

/// What a bit pattern stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    Nan,
    Infinity {
        negative: bool,
    },
    /// `± mantissa · 2^exponent`; zero has mantissa 0 and keeps its sign.
    Finite {
        negative: bool,
        mantissa: u128,
        exponent: i32,
    },
}

impl Format {
    pub(crate) const fn width(self) -> u32 {
        1 + self.exponent + self.mantissa
    }

    pub(crate) const fn sign_bit(self) -> u64 {
        1 << (self.width() - 1)
    }

    /// The canonical NaN: every bit but the sign.
    pub(crate) const fn nan(self) -> u64 {
        self.sign_bit() - 1
    }

    pub(crate) const fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.mantissa
    }

    pub(crate) const fn largest_finite(self) -> u64 {
        if self.has_infinity { self.infinity() - 1 } else { self.nan() - 1 }
    }

    const fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    pub(crate) fn decode(self, bits: u64) -> Number {
        let negative = bits & self.sign_bit() != 0;
        let magnitude = bits & (self.sign_bit() - 1);
        let field = magnitude >> self.mantissa;
        let fraction = magnitude & ((1 << self.mantissa) - 1);
        if self.has_infinity && magnitude == self.infinity() {
            return Number::Infinity { negative };
        }
        if magnitude > self.largest_finite() {
            return Number::Nan;
        }
        let lowest = 1 - self.bias() - i32::try_from(self.mantissa).unwrap();
        let (mantissa, exponent) = match i32::try_from(field).unwrap() {
            0 => (fraction, lowest),
            field => (fraction | 1 << self.mantissa, lowest + field - 1),
        };
        Number::Finite { negative, mantissa: u128::from(mantissa), exponent }
    }

    /// The nearest bit pattern, ties to even.
    pub(crate) fn encode(self, number: Number) -> u64 {
        let (negative, magnitude) = match number {
            Number::Nan => return self.nan(),
            Number::Infinity { negative } => (negative, self.past_the_end()),
            Number::Finite { negative, mantissa, exponent } => {
                (negative, self.encode_magnitude(mantissa, exponent))
            }
        };
        magnitude | if negative { self.sign_bit() } else { 0 }
    }

    fn past_the_end(self) -> u64 {
        if self.saturates { self.largest_finite() } else { self.infinity() }
    }

    fn encode_magnitude(self, mantissa: u128, exponent: i32) -> u64 {
        if mantissa == 0 {
            return 0;
        }
        let stored = i32::try_from(self.mantissa).unwrap();
        let lowest = 1 - self.bias() - stored;
        let leading = exponent + 127 - i32::try_from(mantissa.leading_zeros()).unwrap();
        // The weight of the last bit that is kept.
        let mut last = (leading - stored).max(lowest);
        let mut kept = match last - exponent {
            0 => mantissa,
            up if up < 0 => mantissa << -up,
            down if down >= 128 => 0,
            down => {
                let rest = mantissa & ((1 << down) - 1);
                let tie = 1_u128 << (down - 1);
                let whole = mantissa >> down;
                whole + u128::from(rest > tie || (rest == tie && whole & 1 == 1))
            }
        };
        if kept >> (stored + 1) != 0 {
            kept >>= 1;
            last += 1;
        }
        let fraction = u64::try_from(kept).unwrap();
        let bits = if fraction >> self.mantissa == 0 {
            fraction
        } else {
            let field = u64::try_from(last - lowest + 1).unwrap();
            (field << self.mantissa) | (fraction & ((1 << self.mantissa) - 1))
        };
        if bits > self.largest_finite() { self.past_the_end() } else { bits }
    }

    /// `a + b`, rounded once.
    pub(crate) fn add(self, a: u64, b: u64) -> u64 {
        self.encode(sum(self.decode(a), self.decode(b)))
    }

    /// `a · b`, rounded once.
    pub(crate) fn multiply(self, a: u64, b: u64) -> u64 {
        self.encode(product(self.decode(a), self.decode(b)))
    }

    /// `1 / divisor`, rounded once.
    pub(crate) fn reciprocal(self, divisor: u32) -> u64 {
        let (one, divisor) = (1_u128 << 120, u128::from(divisor));
        let sticky = u128::from(one % divisor != 0);
        // A quotient of at least 88 bits; the bit put below it says that it is not exact.
        let mantissa = (one / divisor) << 1 | sticky;
        self.encode(Number::Finite { negative: false, mantissa, exponent: -121 })
    }

    /// Where a number that is no NaN stands in the order in which −0 is below +0.
    pub(crate) fn place(self, bits: u64) -> i128 {
        let magnitude = i128::from(bits & (self.sign_bit() - 1));
        if bits & self.sign_bit() == 0 { magnitude } else { -1 - magnitude }
    }
}

/// The bits of `from` as the nearest ones of `to`.
pub(crate) fn convert(from: Format, to: Format, bits: u64) -> u64 {
    to.encode(from.decode(bits))
}

fn sum(a: Number, b: Number) -> Number {
    use Number::{Finite, Infinity, Nan};
    match (a, b) {
        (Nan, _) | (_, Nan) => Nan,
        (Infinity { negative: a }, Infinity { negative: b }) if a != b => Nan,
        (Infinity { negative }, _) | (_, Infinity { negative }) => Infinity { negative },
        (
            Finite { negative: a, mantissa: m, exponent: e },
            Finite { negative: b, mantissa: k, exponent: f },
        ) => {
            let (high, low) = if e >= f { ((a, m, e), (b, k, f)) } else { ((b, k, f), (a, m, e)) };
            // 53 bits and 64 more below them fit; what is lower still is one sticky bit.
            let up = (high.2 - low.2).min(64);
            let down = (high.2 - up) - low.2;
            let exponent = high.2 - up;
            let lowered = if down == 0 {
                low.1
            } else if down > 120 {
                u128::from(low.1 != 0)
            } else {
                low.1 >> down | u128::from(low.1 & ((1 << down) - 1) != 0)
            };
            let signed = |negative: bool, magnitude: u128| {
                let magnitude = i128::try_from(magnitude).unwrap();
                if negative { -magnitude } else { magnitude }
            };
            let total = signed(high.0, high.1 << up) + signed(low.0, lowered);
            let negative = if total == 0 { a && b } else { total < 0 };
            Finite { negative, mantissa: total.unsigned_abs(), exponent }
        }
    }
}

fn product(a: Number, b: Number) -> Number {
    use Number::{Finite, Infinity, Nan};
    let negative = |number| match number {
        Nan => false,
        Infinity { negative } | Finite { negative, .. } => negative,
    };
    let negative = negative(a) != negative(b);
    match (a, b) {
        (Nan, _) | (_, Nan) => Nan,
        (Infinity { .. }, Finite { mantissa: 0, .. })
        | (Finite { mantissa: 0, .. }, Infinity { .. }) => Nan,
        (Infinity { .. }, _) | (_, Infinity { .. }) => Infinity { negative },
        (Finite { mantissa: m, exponent: e, .. }, Finite { mantissa: k, exponent: f, .. }) => {
            Finite { negative, mantissa: m * k, exponent: e + f }
        }
    }
}
