//! Why memory cannot hold the sides of a collective.

use core::fmt;

use rankwise_model::reference::Side;
use rankwise_model::{Dtype, GroupSize, Operation, Rank};

/// Why a [`Job`](super::Job) cannot be made of these seats.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobError {
    /// Not one seat per rank.
    Seats {
        /// The operation.
        operation: Operation,
        /// How many there are.
        found: usize,
        /// How many ranks there are.
        ranks: GroupSize,
    },
    /// The engine has no arithmetic for the element type.
    Unknown {
        /// The operation.
        operation: Operation,
        /// The element type.
        dtype: Dtype,
    },
    /// A side that is needed has no span.
    Missing {
        /// The operation.
        operation: Operation,
        /// Whose side.
        rank: Rank,
        /// Which.
        side: Side,
        /// Its length in bytes.
        needed: u64,
    },
    /// A span is shorter than its side.
    Short {
        /// The operation.
        operation: Operation,
        /// Whose side.
        rank: Rank,
        /// Which.
        side: Side,
        /// The length of the side in bytes.
        needed: u64,
        /// The length of the span in bytes.
        found: u64,
    },
    /// A span starts at no multiple of the element size.
    Misaligned {
        /// The operation.
        operation: Operation,
        /// Whose side.
        rank: Rank,
        /// Which.
        side: Side,
        /// The element type.
        dtype: Dtype,
        /// The address of the span's first byte.
        address: usize,
    },
    /// One side would write what the other reads or writes, and the two are not input
    /// and output of one rank in the operation's in-place relation.
    Overlap {
        /// The operation.
        operation: Operation,
        /// The side that starts first in memory.
        first: (Rank, Side),
        /// The side that starts within it.
        second: (Rank, Side),
        /// How many bytes they share.
        bytes: usize,
    },
    /// A pre-multiplied sum lacks a rank's scalar or has one of another type; or a scalar
    /// was given for another operation.
    Scalar {
        /// The operation.
        operation: Operation,
        /// Whose scalar.
        rank: Rank,
        /// The type it must have; `None` if there must be none.
        needed: Option<Dtype>,
        /// The type it has; `None` if there is none.
        found: Option<Dtype>,
    },
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seats { operation, found, ranks } => {
                write!(f, "{operation}: {found} seats were given for {ranks} ranks")
            }
            Self::Unknown { operation, dtype } => {
                write!(f, "{operation}: no arithmetic for {dtype} here")
            }
            Self::Missing { operation, rank, side, needed } => {
                write!(f, "{operation}: rank {rank} has no {side}, needs {needed} bytes")
            }
            Self::Short { operation, rank, side, needed, found } => {
                write!(f, "{operation}: rank {rank}: the {side} has {found} bytes, needs {needed}")
            }
            Self::Misaligned { operation, rank, side, dtype, address } => write!(
                f,
                "{operation}: rank {rank}: the {side} starts at {address:#x}, which is no \
                 multiple of the {} bytes of {dtype}",
                dtype.bytes()
            ),
            Self::Overlap { operation, first, second, bytes } => write!(
                f,
                "{operation}: the {} of rank {} and the {} of rank {} share {bytes} bytes other \
                 than in place",
                first.1, first.0, second.1, second.0
            ),
            Self::Scalar { operation, rank, needed, found } => {
                write!(f, "{operation}: rank {rank} ")?;
                match found {
                    Some(dtype) => write!(f, "has a scalar of type {dtype}, ")?,
                    None => f.write_str("has no scalar, ")?,
                }
                match needed {
                    Some(dtype) => write!(f, "needs one of type {dtype}"),
                    None => f.write_str("needs none"),
                }
            }
        }
    }
}

impl core::error::Error for JobError {}
