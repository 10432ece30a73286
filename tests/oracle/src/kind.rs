//! Element types, as far as small plans tell them apart.

use crate::ratio::Ratio;

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// An integer that wraps.
    Integer {
        /// Its width.
        bits: u32,
        /// Whether it has a sign.
        signed: bool,
    },
    /// A float: a real number that conversions round. Its range is never left here.
    Float {
        /// Bits of the significand, the leading one included.
        precision: u32,
    },
}

impl Kind {
    /// 8 bits, signed.
    pub const I8: Self = Self::Integer { bits: 8, signed: true };
    /// 8 bits, unsigned.
    pub const U8: Self = Self::Integer { bits: 8, signed: false };
    /// 32 bits, signed.
    pub const I32: Self = Self::Integer { bits: 32, signed: true };
    /// 32 bits, unsigned.
    pub const U32: Self = Self::Integer { bits: 32, signed: false };
    /// 64 bits, signed.
    pub const I64: Self = Self::Integer { bits: 64, signed: true };
    /// 64 bits, unsigned.
    pub const U64: Self = Self::Integer { bits: 64, signed: false };
    /// Brain float: the exponents of `f32`, 8 bits.
    pub const BF16: Self = Self::Float { precision: 8 };
    /// IEEE 754 binary32.
    pub const F32: Self = Self::Float { precision: 24 };
    /// IEEE 754 binary64.
    pub const F64: Self = Self::Float { precision: 53 };

    /// Every one of them.
    pub const ALL: [Self; 9] = [
        Self::I8,
        Self::U8,
        Self::I32,
        Self::U32,
        Self::I64,
        Self::U64,
        Self::BF16,
        Self::F32,
        Self::F64,
    ];

    /// How plans spell it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Integer { bits: 8, signed: true } => "i8",
            Self::Integer { bits: 8, signed: false } => "u8",
            Self::Integer { bits: 32, signed: true } => "i32",
            Self::Integer { bits: 32, signed: false } => "u32",
            Self::Integer { signed: true, .. } => "i64",
            Self::Integer { signed: false, .. } => "u64",
            Self::Float { precision: 8 } => "bf16",
            Self::Float { precision: 24 } => "f32",
            Self::Float { .. } => "f64",
        }
    }

    /// Whether it is a float.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::Float { .. })
    }

    /// The least and the greatest whole number of the type; of a float, the largest
    /// up to which all of them are numbers of the type.
    pub const fn ends(self) -> (i128, i128) {
        match self {
            Self::Integer { bits, signed: true } => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            Self::Integer { bits, signed: false } => (0, (1 << bits) - 1),
            Self::Float { precision } => (-((1 << precision) - 1), (1 << precision) - 1),
        }
    }

    /// Whether every number of another type is one of this.
    pub const fn holds_all_of(self, other: Self) -> bool {
        let ((least, greatest), (low, high)) = (self.ends(), other.ends());
        (self.is_float() || !other.is_float()) && least <= low && high <= greatest
    }

    /// A whole number modulo 2^w; a float has no modulus.
    pub const fn wrapped(self, number: i128) -> i128 {
        match self {
            Self::Integer { bits, signed } => {
                let low = number & ((1 << bits) - 1);
                if signed && low >> (bits - 1) == 1 { low - (1 << bits) } else { low }
            }
            Self::Float { .. } => number,
        }
    }

    /// A number of another type converted to this one. Of a float that is no number of
    /// an integer type, nothing is said: what becomes of it differs by machine, and of a
    /// fraction by how it came about.
    pub fn converted(self, number: Ratio, from: Self) -> Option<Ratio> {
        match self {
            Self::Float { precision } => number.rounded(precision),
            Self::Integer { .. } if number.under() != 1 => None,
            Self::Integer { .. } => {
                let wrapped = self.wrapped(number.over());
                (!from.is_float() || wrapped == number.over()).then_some(Ratio::whole(wrapped))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_what() {
        assert!(Kind::BF16.holds_all_of(Kind::U8) && Kind::F32.holds_all_of(Kind::BF16));
        assert!(Kind::I32.holds_all_of(Kind::U8) && !Kind::I32.holds_all_of(Kind::U32));
        assert!(!Kind::F32.holds_all_of(Kind::I32) && !Kind::I64.holds_all_of(Kind::BF16));
    }

    #[test]
    fn integers_wrap_to_both_sides() {
        assert_eq!(Kind::U8.wrapped(256), 0);
        assert_eq!(Kind::I8.wrapped(200), -56);
        assert_eq!(Kind::I64.wrapped(1 << 63), -(1 << 63));
        assert_eq!(Kind::I32.ends(), (-2_147_483_648, 2_147_483_647));
    }

    #[test]
    fn conversions_keep_low_bits_of_integers_and_round_to_floats() {
        let three_hundred = Ratio::whole(300);
        assert_eq!(Kind::U8.converted(three_hundred, Kind::I32), Some(Ratio::whole(44)));
        assert_eq!(Kind::U8.converted(three_hundred, Kind::F32), None);
        assert_eq!(Kind::U8.converted(Ratio::whole(200), Kind::F32), Some(Ratio::whole(200)));
        assert_eq!(Kind::I8.converted(Ratio::new(-7, 2).unwrap(), Kind::F32), None);
        assert_eq!(Kind::BF16.converted(Ratio::whole(257), Kind::F32), Some(Ratio::whole(256)));
    }
}
