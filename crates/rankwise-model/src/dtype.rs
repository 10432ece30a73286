//! The element types that NCCL moves and reduces.

use core::fmt;
use core::str::FromStr;

use crate::element::Element;
use crate::spelling::{without_prefix, write_unknown};

/// An element type known at run time.
///
/// The set is NCCL's (`ncclDataType_t` of 2.32: no 16-bit integers, no bool, no
/// complex). Rust's `char` is four bytes and `bool` has invalid bit patterns:
/// neither is an element type here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Dtype {
    /// 8-bit signed integer, two's complement.
    I8,
    /// 8-bit unsigned integer.
    U8,
    /// 32-bit signed integer, two's complement.
    I32,
    /// 32-bit unsigned integer.
    U32,
    /// 64-bit signed integer, two's complement.
    I64,
    /// 64-bit unsigned integer.
    U64,
    /// IEEE 754 binary16 ("half").
    F16,
    /// The upper half of a binary32 ("bfloat16").
    Bf16,
    /// IEEE 754 binary32 ("float").
    F32,
    /// IEEE 754 binary64 ("double").
    F64,
    /// 8-bit float, 4 exponent and 3 mantissa bits, no infinity, maximum ±448.
    F8E4M3,
    /// 8-bit float, 5 exponent and 2 mantissa bits, largest finite ±57344.
    F8E5M2,
}

/// How the arithmetic of an element type behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DtypeClass {
    /// Integer arithmetic modulo 2^`bits`.
    Integer {
        /// Whether the top bit is a sign.
        signed: bool,
        /// Width in bits.
        bits: u32,
    },
    /// Rounding arithmetic.
    Float {
        /// Significant bits including the hidden one: 24 for `f32`.
        precision: u32,
    },
}

impl Dtype {
    /// Every element type, narrow to wide within its class.
    pub const ALL: [Self; 12] = [
        Self::I8,
        Self::U8,
        Self::I32,
        Self::U32,
        Self::I64,
        Self::U64,
        Self::F8E4M3,
        Self::F8E5M2,
        Self::F16,
        Self::Bf16,
        Self::F32,
        Self::F64,
    ];

    /// The size of one element in bytes.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::I8 | Self::U8 | Self::F8E4M3 | Self::F8E5M2 => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// The short name used in plans and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::I8 => "i8",
            Self::U8 => "u8",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::F8E4M3 => "f8e4m3",
            Self::F8E5M2 => "f8e5m2",
        }
    }

    /// Integer or float, with the width that its rules need.
    pub const fn class(self) -> DtypeClass {
        match self {
            Self::I8 => DtypeClass::Integer { signed: true, bits: 8 },
            Self::U8 => DtypeClass::Integer { signed: false, bits: 8 },
            Self::I32 => DtypeClass::Integer { signed: true, bits: 32 },
            Self::U32 => DtypeClass::Integer { signed: false, bits: 32 },
            Self::I64 => DtypeClass::Integer { signed: true, bits: 64 },
            Self::U64 => DtypeClass::Integer { signed: false, bits: 64 },
            Self::F8E4M3 => DtypeClass::Float { precision: 4 },
            Self::F8E5M2 => DtypeClass::Float { precision: 3 },
            Self::F16 => DtypeClass::Float { precision: 11 },
            Self::Bf16 => DtypeClass::Float { precision: 8 },
            Self::F32 => DtypeClass::Float { precision: 24 },
            Self::F64 => DtypeClass::Float { precision: 53 },
        }
    }

    /// Whether arithmetic rounds.
    pub const fn is_float(self) -> bool {
        matches!(self.class(), DtypeClass::Float { .. })
    }

    /// Calls `visitor` with the [`Element`] type that this value names.
    pub fn visit<V: ElementVisitor>(self, visitor: V) -> V::Output {
        match self {
            Self::I8 => visitor.visit::<i8>(),
            Self::U8 => visitor.visit::<u8>(),
            Self::I32 => visitor.visit::<i32>(),
            Self::U32 => visitor.visit::<u32>(),
            Self::I64 => visitor.visit::<i64>(),
            Self::U64 => visitor.visit::<u64>(),
            Self::F16 => visitor.visit::<half::f16>(),
            Self::Bf16 => visitor.visit::<half::bf16>(),
            Self::F32 => visitor.visit::<f32>(),
            Self::F64 => visitor.visit::<f64>(),
            Self::F8E4M3 => visitor.visit::<float8::F8E4M3>(),
            Self::F8E5M2 => visitor.visit::<float8::F8E5M2>(),
        }
    }
}

/// Code that is generic over the element type, called by [`Dtype::visit`].
pub trait ElementVisitor {
    /// What the code returns, whatever the type.
    type Output;
    /// Runs with the element type `T`.
    fn visit<T: Element>(self) -> Self::Output;
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownDtype;

impl fmt::Display for UnknownDtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_unknown(f, "element type", Dtype::ALL.into_iter().map(Dtype::name))
    }
}

impl core::error::Error for UnknownDtype {}

impl FromStr for Dtype {
    type Err = UnknownDtype;

    /// Reads the short name, or a name that NCCL, nccl-tests, NumPy or PyTorch
    /// print for the same type, in any case: `f32`, `float32`, `float`,
    /// `ncclFloat32`, `torch.float32`.
    fn from_str(word: &str) -> Result<Self, UnknownDtype> {
        const ALIASES: [(&str, Dtype); 29] = [
            ("int8", Dtype::I8),
            ("uint8", Dtype::U8),
            ("byte", Dtype::U8),
            ("int", Dtype::I32),
            ("int32", Dtype::I32),
            ("uint32", Dtype::U32),
            ("int64", Dtype::I64),
            ("long", Dtype::I64),
            ("uint64", Dtype::U64),
            ("half", Dtype::F16),
            ("float16", Dtype::F16),
            ("fp16", Dtype::F16),
            ("bfloat16", Dtype::Bf16),
            ("float", Dtype::F32),
            ("float32", Dtype::F32),
            ("fp32", Dtype::F32),
            ("double", Dtype::F64),
            ("float64", Dtype::F64),
            ("fp64", Dtype::F64),
            ("float8e4m3", Dtype::F8E4M3),
            ("float8_e4m3", Dtype::F8E4M3),
            ("float8_e4m3fn", Dtype::F8E4M3),
            ("f8_e4m3", Dtype::F8E4M3),
            ("e4m3", Dtype::F8E4M3),
            ("float8e5m2", Dtype::F8E5M2),
            ("float8_e5m2", Dtype::F8E5M2),
            ("f8_e5m2", Dtype::F8E5M2),
            ("e5m2", Dtype::F8E5M2),
            ("char", Dtype::I8),
        ];
        let bare = without_prefix(word, &["nccl", "torch."]);
        Self::ALL
            .into_iter()
            .map(|dtype| (dtype.name(), dtype))
            .chain(ALIASES)
            .find(|(name, _)| name.eq_ignore_ascii_case(bare))
            .map(|(_, dtype)| dtype)
            .ok_or(UnknownDtype)
    }
}
