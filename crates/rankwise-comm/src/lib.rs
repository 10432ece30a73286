//! One rank's handle on a group: the trait that every backend implements.
//!
//! A rank program written against [`Communicator`] runs unchanged on every backend:
//! in memory, on the host stand-ins, on NCCL. The crate has no runtime, no thread and
//! no clock of its own; it checks calls, and says what a backend must do with them.
//!
//! # The story
//!
//! 1. [`Buffer`] is typed memory of a backend; [`View`] and [`ViewMut`] are parts of
//!    it. Their [`Kind`] is an element type, or [`Dyn`] when it is known at run time only.
//! 2. [`CheckedCall`] is one call of one rank. It can exist only if lengths, root,
//!    overflow and the in-place relation are right, so backends check nothing again.
//! 3. [`Calls`] is what a user writes: `all_reduce`, `send`, …, on a communicator, on
//!    a communicator [with a stream](On), or in a [`Group`].
//! 4. [`Communicator::submit`] is the one verb that a backend implements for all of them.
//! 5. A call returns when it is enqueued. A [`Fence`] is a point in a [`Stream`] that
//!    can be waited for, awaited, or handed to another stream.
//! 6. [`Error`] says what went wrong, with both numbers, the operation, the rank and
//!    the line; [`ErrorKind`] says whose fault it is. What peers did is one
//!    [`Report`](rankwise_program::Report), equal on every rank.
//!
//! # Example
//!
//! A rank program, generic over the backend:
//!
//! ```
//! use rankwise_comm::prelude::*;
//!
//! /// Every rank contributes `mine` and gets the mean.
//! fn average<C: Communicator>(comm: &C, mine: &[f32]) -> Result<Vec<f32>, Error> {
//!     let mut gradient = comm.buffer::<f32>(mine.len())?;
//!     comm.stream().write(&mut gradient, mine)?;
//!     comm.all_reduce_in_place(Reduction::Avg, &mut gradient)?;
//!     comm.stream().read(&gradient) // waits
//! }
//! ```
//!
//! # Why the borrow ends when the call returns
//!
//! `&mut` guards the *moment of enqueue*, not the flight: work is asynchronous, and no
//! value exists whose `Drop` would have to run for memory to be safe. The backend owns
//! what is in flight (its queue holds the memory), so leaking or dropping a buffer, a
//! view, a fence or a group frees and aliases nothing early.

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

pub mod kind;

pub mod buffer;
pub mod bytes;
pub mod view;

pub mod capabilities;
pub mod checked;
pub mod reduce_op;

pub mod calls;
pub mod communicator;
pub mod group;
pub mod on;
pub mod post;

pub mod abort;
pub mod fence;
pub mod pending;
pub mod stream;

pub mod error;

pub use abort::{Abort, AbortHandle};
pub use buffer::{Buffer, DeviceOrdinal, Memory};
pub use calls::Calls;
pub use capabilities::{Capabilities, DtypeSet, FoldOrder};
pub use checked::{Caller, CheckedCall, Part, Placement};
pub use communicator::Communicator;
pub use error::{Error, ErrorKind, Fault, Side};
pub use fence::{Completion, Fence};
pub use group::{Group, Joined};
pub use kind::{Dyn, Kind};
pub use on::On;
pub use pending::Pending;
pub use post::Post;
pub use reduce_op::{ReduceOp, premul};
pub use stream::Stream;
pub use view::{Source, Target, View, ViewMut};

/// What a rank program needs in scope.
pub mod prelude {
    pub use crate::{
        Buffer, Calls, Communicator, Dyn, Error, ErrorKind, Fence, Pending, Source, Stream, Target,
        View, ViewMut, premul,
    };
    pub use rankwise_model::{Dtype, Element, GroupSize, Rank, Reduction};
}
