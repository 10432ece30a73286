//! Rank programs on NCCL.
//!
//! A rank program written against [`rankwise_comm`] runs here unchanged, on GPUs. Neither
//! CUDA nor NCCL is needed to build: both are loaded when [`Nccl::load`] is called, and a
//! function that an older NCCL lacks is an error of the call, or missing from the
//! [`Capabilities`](rankwise_comm::Capabilities).
//!
//! # The story
//!
//! 1. [`Nccl`] is the pair of libraries. It makes communicators: [`Nccl::init_rank`] for
//!    one rank of several threads or processes, [`Nccl::init_all`] for all devices of one.
//! 2. [`Comm`] is a rank's handle, [`Stream`] a device's work in order, [`DeviceMemory`]
//!    its memory.
//! 3. Every use of memory is noted *before* it is enqueued: which bytes, on which stream,
//!    reading or writing, ended by which event. A use on another stream waits for those
//!    that it conflicts with, without the host; memory is freed by a thread once all of
//!    its uses are over. So nothing's `Drop` matters: whatever is leaked, leaks.
//! 4. A fence is an event, recorded where it was taken. Who waits for it also asks the
//!    communicators that are involved whether they have failed, so that a peer's death is
//!    an error and no hang.
//! 5. Ending never waits for peers: see [`Comm`].
//!
//! # What is not promised
//!
//! NCCL folds in an order of its own (`FoldOrder::Unspecified`). It does not compare what
//! the ranks call: a mismatch may hang, or leave wrong numbers. Try it on the mock first.
//!
//! # Example
//!
//! ```no_run
//! use rankwise_comm::prelude::*;
//! use rankwise_nccl::Nccl;
//!
//! let nccl = Nccl::load()?;
//! let devices: Vec<_> = nccl.devices()?.iter().map(|device| device.ordinal).collect();
//! let comms = nccl.init_all(&devices)?;
//! std::thread::scope(|scope| {
//!     for comm in &comms {
//!         scope.spawn(move || {
//!             let mut x = comm.buffer::<f32>(4)?;
//!             comm.stream().write(&mut x, &[1.0, 2.0, 3.0, 4.0])?;
//!             comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
//!             comm.stream().read(&x)
//!         });
//!     }
//! });
//! # Ok::<(), Error>(())
//! ```

// Two foreign libraries are called here; each block answers the callee's contract.
#![allow(unsafe_code)]
#![deny(unsafe_op_in_unsafe_fn)]
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

mod driver;
mod library;

mod device;
mod ends;
mod point;
mod uses;

mod block;
mod memory;
mod stream;

mod capable;
mod comm;
mod handle;
mod init;
mod names;
mod split;
mod submit;

mod background;
mod leave;

pub use comm::Comm;
pub use device::DeviceInfo;
pub use init::UniqueId;
pub use library::{Nccl, Version};
pub use memory::DeviceMemory;
pub use stream::Stream;
