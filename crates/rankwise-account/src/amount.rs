//! Counts of elements, counts of bytes, and the one bridge between them.

use core::fmt;

use rankwise_model::{Dtype, GroupSize};

use crate::unit::ByteUnit;

/// A number of elements. Never bytes.
///
/// ```compile_fail,E0308
/// # use rankwise_account::{ByteCount, ElemCount};
/// let payload: ByteCount = ElemCount::new(4); // four what?
/// ```
/// ```
/// # use rankwise_account::{ByteCount, ElemCount};
/// # use rankwise_model::Dtype;
/// let payload: ByteCount = ElemCount::new(4).bytes(Dtype::I32)?; // four 4-byte integers
/// assert_eq!(payload, ByteCount::new(16));
/// # Ok::<(), rankwise_account::Overflow>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ElemCount(u64);

/// A number of bytes. Never elements, and never a rate.
///
/// It prints with its exact value, rounded or not:
///
/// ```
/// use rankwise_account::ByteCount;
///
/// assert_eq!(ByteCount::new(16).to_string(), "16 B");
/// assert_eq!(ByteCount::new(1_572_864).to_string(), "1.5 MiB (1572864 B)");
/// assert_eq!(ByteCount::new(1_000_000).to_string(), "≈976.56 KiB (1000000 B)");
/// assert_eq!(format!("{:#}", ByteCount::new(1_572_864)), "1572864 B");
/// ```
///
/// Two counts of different things do not add up:
///
/// ```compile_fail,E0308
/// # use rankwise_account::{ByteCount, ElemCount};
/// ByteCount::new(16).plus(ElemCount::new(4)).unwrap();
/// ```
/// ```
/// # use rankwise_account::{ByteCount, ElemCount};
/// ByteCount::new(16).plus(ByteCount::new(4)).unwrap();
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteCount(u64);

/// A figure that does not fit in 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overflow {
    /// Elements times the size of one.
    Bytes {
        /// How many elements.
        elements: ElemCount,
        /// Of which type.
        dtype: Dtype,
    },
    /// One block of elements per rank.
    Blocks {
        /// The block.
        elements: ElemCount,
        /// How many there are.
        ranks: GroupSize,
    },
    /// The same bytes on several ranks.
    Total {
        /// The bytes on one.
        bytes: ByteCount,
        /// How many ranks.
        ranks: u64,
    },
    /// Elements and elements.
    SumOfElements(ElemCount, ElemCount),
    /// Bytes and bytes.
    SumOfBytes(ByteCount, ByteCount),
}

impl ElemCount {
    /// None.
    pub const ZERO: Self = Self(0);

    /// So many elements.
    pub const fn new(elements: u64) -> Self {
        Self(elements)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The bytes of so many elements of type `dtype`.
    pub const fn bytes(self, dtype: Dtype) -> Result<ByteCount, Overflow> {
        match self.0.checked_mul(dtype.bytes()) {
            Some(bytes) => Ok(ByteCount(bytes)),
            None => Err(Overflow::Bytes { elements: self, dtype }),
        }
    }

    /// One such block per rank.
    pub fn per_rank(self, ranks: GroupSize) -> Result<Self, Overflow> {
        let product = self.0.checked_mul(u64::from(ranks.get()));
        product.map(Self).ok_or(Overflow::Blocks { elements: self, ranks })
    }

    /// The sum.
    pub fn plus(self, other: Self) -> Result<Self, Overflow> {
        self.0.checked_add(other.0).map(Self).ok_or(Overflow::SumOfElements(self, other))
    }
}

impl ByteCount {
    /// None.
    pub const ZERO: Self = Self(0);

    /// So many bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// How many whole elements of type `dtype` these bytes are; `None` with a remainder.
    ///
    /// ```
    /// use rankwise_account::{ByteCount, ElemCount};
    /// use rankwise_model::Dtype;
    ///
    /// assert_eq!(ByteCount::new(16).elements(Dtype::I32), Some(ElemCount::new(4)));
    /// assert_eq!(ByteCount::new(15).elements(Dtype::I32), None);
    /// ```
    pub fn elements(self, dtype: Dtype) -> Option<ElemCount> {
        if self.0.checked_rem(dtype.bytes()) == Some(0) {
            self.0.checked_div(dtype.bytes()).map(ElemCount)
        } else {
            None
        }
    }

    /// The sum.
    pub fn plus(self, other: Self) -> Result<Self, Overflow> {
        self.0.checked_add(other.0).map(Self).ok_or(Overflow::SumOfBytes(self, other))
    }

    /// The same bytes on each of `ranks` ranks, added up.
    pub fn on_each_of(self, ranks: u64) -> Result<Self, Overflow> {
        self.0.checked_mul(ranks).map(Self).ok_or(Overflow::Total { bytes: self, ranks })
    }
}

/// Elements of a known type: a count of elements and of bytes at once.
///
/// Holding an `Amount` tells you that its bytes fit in 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Amount {
    elements: ElemCount,
    dtype: Dtype,
    bytes: ByteCount,
}

impl Amount {
    /// `elements` elements of type `dtype`.
    pub const fn new(elements: ElemCount, dtype: Dtype) -> Result<Self, Overflow> {
        match elements.bytes(dtype) {
            Ok(bytes) => Ok(Self { elements, dtype, bytes }),
            Err(overflow) => Err(overflow),
        }
    }

    /// How many elements.
    pub const fn elements(&self) -> ElemCount {
        self.elements
    }

    /// Of which type.
    pub const fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// How many bytes.
    pub const fn bytes(&self) -> ByteCount {
        self.bytes
    }
}

impl fmt::Display for ElemCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, if self.0 == 1 { "element" } else { "elements" })
    }
}

/// The binary units that `Display` chooses from, large to small.
const SHOWN: [ByteUnit; 4] = [ByteUnit::TiB, ByteUnit::GiB, ByteUnit::MiB, ByteUnit::KiB];

/// Hundredths of `unit` in `bytes`, and whether that is exact.
fn hundredths(bytes: u64, unit: ByteUnit) -> (u128, bool) {
    let (bytes, unit) = (u128::from(bytes).saturating_mul(100), u128::from(unit.bytes()));
    let half = unit.wrapping_shr(1);
    let rounded = bytes.saturating_add(half).checked_div(unit).unwrap_or_default();
    (rounded, bytes.checked_rem(unit) == Some(0))
}

impl fmt::Display for ByteCount {
    /// The largest unit that states the number exactly with two decimals, else the
    /// largest unit that is not more than it, marked `≈`. The exact number is
    /// always there; `{:#}` prints nothing else.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fitting = || SHOWN.into_iter().filter(|unit| unit.bytes() <= self.0);
        let exact = fitting().find(|unit| hundredths(self.0, *unit).1);
        let Some(unit) = exact.or_else(|| fitting().next()).filter(|_| !f.alternate()) else {
            return write!(f, "{} B", self.0);
        };
        let (hundredths, is_exact) = hundredths(self.0, unit);
        let whole = hundredths.checked_div(100).unwrap_or_default();
        let rest = hundredths.checked_rem(100).unwrap_or_default();
        f.write_str(if is_exact { "" } else { "≈" })?;
        match (rest, rest.checked_rem(10)) {
            (0, _) => write!(f, "{whole}")?,
            (_, Some(0)) => write!(f, "{whole}.{}", rest.checked_div(10).unwrap_or_default())?,
            _ => write!(f, "{whole}.{rest:02}")?,
        }
        write!(f, " {unit} ({} B)", self.0)
    }
}

impl fmt::Display for Amount {
    /// `4 elements i32, 16 B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}, {}", self.elements, self.dtype, self.bytes)
    }
}

impl fmt::Display for Overflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes { elements, dtype } => {
                write!(f, "{elements} × {} B ({dtype})", dtype.bytes())?;
            }
            Self::Blocks { elements, ranks } => write!(f, "{elements} × {ranks} ranks")?,
            Self::Total { bytes, ranks } => write!(f, "{bytes:#} × {ranks} ranks")?,
            Self::SumOfElements(a, b) => write!(f, "{a} + {b}")?,
            Self::SumOfBytes(a, b) => write!(f, "{a:#} + {b:#}")?,
        }
        f.write_str(" does not fit in 64 bits")
    }
}

impl core::error::Error for Overflow {}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(0, "0 B")]
    #[case(32, "32 B")]
    #[case(1_023, "1023 B")]
    #[case(1_024, "1 KiB (1024 B)")]
    #[case(1_310_720_000, "1250 MiB (1310720000 B)")] // 1.220703125 GiB is not two decimals
    #[case(134_217_728, "128 MiB (134217728 B)")]
    #[case(1_048_577, "≈1 MiB (1048577 B)")]
    #[case(u64::MAX, "≈16777216 TiB (18446744073709551615 B)")]
    fn bytes_print_rounded_and_exact(#[case] bytes: u64, #[case] text: &str) {
        assert_eq!(ByteCount::new(bytes).to_string(), text);
    }

    #[test]
    fn overflow_names_both_numbers() {
        let elements = ElemCount::new(1 << 61);
        let error = elements.bytes(Dtype::F64).unwrap_err();
        assert_eq!(error, Overflow::Bytes { elements, dtype: Dtype::F64 });
        assert_eq!(
            error.to_string(),
            "2305843009213693952 elements × 8 B (f64) does not fit in 64 bits"
        );
        assert_eq!(elements.bytes(Dtype::F32), Ok(ByteCount::new(1 << 63)));
        assert!(ElemCount::new(u64::MAX).plus(ElemCount::new(1)).is_err());
        assert!(ByteCount::new(u64::MAX).plus(ByteCount::new(1)).is_err());
        assert!(ByteCount::new(1 << 63).on_each_of(2).is_err());
        assert!(ElemCount::new(1 << 63).per_rank(GroupSize::new(2).unwrap()).is_err());
    }

    #[test]
    fn an_amount_says_both() {
        let amount = Amount::new(ElemCount::new(4), Dtype::I32).unwrap();
        assert_eq!(amount.to_string(), "4 elements i32, 16 B");
        assert_eq!(
            Amount::new(ElemCount::new(1), Dtype::F8E4M3).unwrap().to_string(),
            "1 element f8e4m3, 1 B"
        );
    }
}
