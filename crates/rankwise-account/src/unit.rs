//! Units of bytes. MiB is 2^20 and MB is 10^6, everywhere and always.

use core::fmt;

/// A unit of bytes, binary or decimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ByteUnit {
    /// One byte.
    B,
    /// 2^10 bytes.
    KiB,
    /// 2^20 bytes.
    MiB,
    /// 2^30 bytes.
    GiB,
    /// 2^40 bytes.
    TiB,
    /// 10^3 bytes.
    KB,
    /// 10^6 bytes.
    MB,
    /// 10^9 bytes.
    GB,
    /// 10^12 bytes.
    TB,
}

impl ByteUnit {
    /// Every unit, the binary ones first, small to large.
    pub const ALL: [Self; 9] = [
        Self::B,
        Self::KiB,
        Self::MiB,
        Self::GiB,
        Self::TiB,
        Self::KB,
        Self::MB,
        Self::GB,
        Self::TB,
    ];

    /// The number of bytes in one.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::B => 1,
            Self::KiB => 1 << 10,
            Self::MiB => 1 << 20,
            Self::GiB => 1 << 30,
            Self::TiB => 1 << 40,
            Self::KB => 1_000,
            Self::MB => 1_000_000,
            Self::GB => 1_000_000_000,
            Self::TB => 1_000_000_000_000,
        }
    }

    /// The symbol: `KiB` is 1024 bytes, `kB` is 1000.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::B => "B",
            Self::KiB => "KiB",
            Self::MiB => "MiB",
            Self::GiB => "GiB",
            Self::TiB => "TiB",
            Self::KB => "kB",
            Self::MB => "MB",
            Self::GB => "GB",
            Self::TB => "TB",
        }
    }

    /// The unit with exactly that symbol. Case matters: `KB` is 1000 to some and
    /// 1024 to others, `Mb` is bits, so neither is read.
    ///
    /// ```
    /// use rankwise_account::ByteUnit;
    ///
    /// assert_eq!(ByteUnit::of_symbol("MiB"), Some(ByteUnit::MiB));
    /// assert_eq!(ByteUnit::of_symbol("KB"), None);
    /// ```
    pub fn of_symbol(symbol: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.symbol() == symbol)
    }
}

impl fmt::Display for ByteUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.symbol())
    }
}
