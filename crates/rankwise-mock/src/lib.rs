//! Every rank of a job in one process: exact, deterministic, and merciless about blame.
//!
//! A rank program written against [`rankwise_comm`] runs here unchanged, on a laptop and
//! in unit tests. Results are bitwise those of the model, in every run. What NCCL answers
//! with a hang or with wrong numbers, this answers with one report, equal on every rank:
//! which call, which ranks are the odd ones out, who never came, who waits for whom.
//!
//! # The story
//!
//! 1. A [`World`] has so many ranks; [`World::run`] gives each a thread, and
//!    [`World::communicators`] gives you the handles for tasks of your own.
//! 2. [`Comm`] is a rank's handle, [`Stream`] its work in order, [`HostMemory`] what
//!    stands for a device's memory.
//! 3. No thread belongs to the mock. Whoever enqueues the last missing piece carries
//!    out what has become possible; ranks that wait help with large pieces.
//! 4. An [`Exploration`] runs a small program in every order in which its ranks can reach
//!    their calls.
//! 5. [`engine`] moves and folds the bytes: the one unsafe seam, which stand-ins for a
//!    real library use too.
//!
//! # What it is stricter about than a GPU
//!
//! - Two uses of the same bytes on different streams that nothing orders are an error,
//!   whether or not they happened to collide.
//! - Calls that do not match freeze: no data moves, and nothing is half-written.
//! - A wait that can never end is reported at once, as a cycle or by the name of the rank
//!   that ended; a rank that merely computes is waited for.
//!
//! # Example: a rank that never comes
//!
//! ```
//! use rankwise_comm::prelude::*;
//! use rankwise_mock::World;
//!
//! let ended = World::of(2).run(|comm| {
//!     if comm.rank().index() == 1 {
//!         return Ok(()); // forgets to take part
//!     }
//!     let mut x = comm.buffer::<f32>(4)?;
//!     comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
//!     comm.stream().fence()?.wait()
//! });
//! let error = ended[0].clone().unwrap_err();
//! assert_eq!(error.kind(), ErrorKind::Peer);
//! assert!(error.to_string().contains("rank 1"), "{error}");
//! ```

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

pub mod engine;
pub mod seam;

mod clock;
mod comm;
mod explore;
mod express;
mod foreign;
mod hub;
mod inject;
mod instance;
mod jobs;
mod landing;
mod lane;
mod leaving;
mod memory;
mod point;
mod quirks;
mod recording;
mod split;
mod stream;
mod submit;
mod table;
mod uses;
mod waits;
mod world;

pub use comm::Comm;
pub use explore::{
    Deadlines, Exploration, Explored, Failure, Orders, Outcome, ParseScheduleError, RankEnd,
    Schedule, Trouble, block_on, host_step,
};
pub use inject::{Fault, Faults};
pub use memory::HostMemory;
pub use quirks::{Quirk, Quirks};
pub use recording::{Recorder, Recording};
pub use stream::Stream;
pub use world::{Panicked, World};

/// The guide's examples, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/mock.md")]
struct Guide;
