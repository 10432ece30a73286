//! What the number in front of a collective means.
//!
//! "Four elements" and "sixteen bytes" fit every collective there is, and mean
//! something else for each. This crate keeps the meanings apart: it allocates
//! nothing, performs no I/O, and reads every length from the one table of
//! [`rankwise_model`].
//!
//! # The story
//!
//! 1. [`ElemCount`] and [`ByteCount`] do not mix; an [`Amount`] is elements of a
//!    known type, hence both, checked for overflow once.
//! 2. [`payload`](payload()) says what a rank hands in and gets back, [`PerRole`] says it for a
//!    group of any size without a loop, and [`NOT_SAID`] says what it leaves open.
//! 3. [`NcclCall`] and [`MpiCall`] put the two count conventions side by side,
//!    in-place offsets included, which differ.
//! 4. [`Test`] is one program of nccl-tests: what its `size` and `count` columns are.
//! 5. [`Basis`] is the S that algbw and busbw are defined on; [`TrafficEstimate`]
//!    is a different figure and a different type.
//! 6. [`Division`] is for totals that do not divide: padding, ownership, loss.
//! 7. [`Label`] is a bare number with a unit. It cannot be compared; its
//!    [`Settled`] form can, and [`Label::readings`] lists all it might mean.
//!
//! # Example
//!
//! Two ranks, four 4-byte integers each:
//!
//! ```
//! use rankwise_account::{ByteCount, Label, payload};
//! use rankwise_model::{Dtype, GroupSize, Layout, Operation};
//!
//! let ranks = GroupSize::new(2).unwrap();
//! let gather = Layout::new(Operation::AllGather, ranks, 4)?; // sendcount 4
//! let at_0 = payload(&gather, Dtype::I32, ranks.first())?;
//! assert_eq!(at_0.input.bytes(), ByteCount::new(16));
//! assert_eq!(at_0.output.bytes(), ByteCount::new(32));
//!
//! let label = Label::parse("16 B")?;
//! assert_eq!(
//!     label.settle().unwrap_err().to_string(),
//!     "16 B cannot be compared: missing the operation, whether it is input, output, count \
//!      or size, the number of ranks, the element type",
//! );
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

#[cfg(test)]
extern crate std;

pub mod amount;
pub mod bandwidth;
mod decimal;
pub mod division;
pub mod label;
pub mod mpi;
pub mod nccl;
pub mod nccl_tests;
pub mod payload;
pub mod ratio;
pub mod shares;
pub mod traffic;
pub mod unit;

pub use amount::{Amount, ByteCount, ElemCount, Overflow};
pub use bandwidth::{Bandwidth, Basis, bus_factor};
pub use division::{Division, DivisionError, OwnerChange, Padded, VectorSplit};
pub use label::{
    Factor, Figure, Formula, Impossible, Label, LabelError, Meaning, Missing, Number, Part,
    Reading, Settled, Unsettled,
};
pub use mpi::{MpiCall, MpiCount, MpiCounts, MpiInPlace};
pub use nccl::NcclCall;
pub use nccl_tests::{ImpliedRanks, Rounding, Test, TestError, TestRow};
pub use payload::{NOT_SAID, Payload, PayloadError, PerRole, Role, RoleShare, payload};
pub use ratio::Ratio;
pub use shares::{Shares, Uneven};
pub use traffic::{Algorithm, TrafficEstimate};
pub use unit::ByteUnit;
