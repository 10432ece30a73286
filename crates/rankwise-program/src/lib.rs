//! Rank programs: what each rank calls, how calls match, who waits for whom.
//!
//! Whether a program of several ranks is right is a question about all of them: each
//! call of one rank must meet its like on the others, in an order that no rank's waiting
//! prevents. This crate answers it with one algorithm, for programs that run and for
//! programs in a file. It moves no data and starts no thread.
//!
//! # The story
//!
//! 1. [`Signature`] is a call as its caller sees it; what must agree follows from it.
//! 2. [`Matcher`] takes calls as they come and seats them in instances: the k-th
//!    collective of every member of a communicator is one, and the k-th send from one
//!    rank to another with the k-th recv ([`Seq`]).
//! 3. It knows what each rank's host and streams wait for ([`Wait`], [`Point`]), and
//!    finds what can never end: contradictions, members that are gone, circles.
//! 4. [`Report`] says so once, the same to every rank and in whatever order they came:
//!    its [`Kind`], the [`Aspect`]s that differ, the sides and their majority.
//! 5. [`Program`] is what every rank calls, written down; [`check`](check()) judges it
//!    without running it. Since it knows every call to the end, it also names orders that
//!    contradict each other and yet complete, calls that were skipped, added or swapped
//!    ([`Divergence`]), messages that went elsewhere, and calls that touch one buffer in
//!    no order ([`Conflict`]).
//! 6. [`Record`] is one call as a line of a file.
//!
//! # Example
//!
//! Two ranks all-reduce; one has four elements, the other five:
//!
//! ```
//! use rankwise_model::{Dtype, GroupSize, Operation, Reduction};
//! use rankwise_program::{
//!     Aspect, Collective, Entry, Kind, Matcher, Signature, Site, Standing, Wait,
//! };
//! use rankwise_topology::{Group, World};
//!
//! let world = World::new(GroupSize::new(2).unwrap());
//! let mut matcher = Matcher::new(world);
//! let comm = matcher.add_communicator("world", &Group::whole(world));
//! let sum = Collective::new(Operation::AllReduce { reduction: Reduction::Sum }).unwrap();
//!
//! let mut seats = Vec::new();
//! for (rank, count) in world.ranks().zip([4, 5]) {
//!     let stream = matcher.add_stream(rank, "s0");
//!     let signature = Signature::collective(sum, Dtype::F32, count);
//!     let site = Site::Text(format!("rank {rank}, call 0").into());
//!     let call = Entry { comm, signature, site, tag: None };
//!     let point = matcher.post(rank, stream, &[call], &mut seats)?;
//!     matcher.block(rank, Wait::Point(point));
//! }
//! assert_eq!(seats[0].standing, Standing::Frozen); // no data moves
//!
//! let verdicts = matcher.take_verdicts();
//! assert_eq!(verdicts.len(), 1); // one cause
//! assert_eq!(verdicts[0].victims.len(), 2); // and both ranks are told
//! let report = &verdicts[0].report;
//! assert_eq!(report.kind, Kind::Mismatch);
//! assert!(report.aspects.contains(Aspect::Count));
//! assert!(report.outliers.is_empty()); // one against one is no majority
//! assert_eq!(
//!     report.to_string(),
//!     "mismatch of count: all_reduce(sum), collective 0 of world (2 ranks), no majority: an even split
//!   rank 0: all_reduce(sum) of 4 × f32
//!     at rank 0, call 0
//!   rank 1: all_reduce(sum) of 5 × f32
//!     at rank 1, call 0"
//! );
//! # Ok::<(), rankwise_program::Refused>(())
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

extern crate alloc;

mod align;
mod blame;
pub mod call;
pub mod check;
pub mod communicator;
pub mod ending;
mod history;
pub mod instance;
pub mod matcher;
pub mod participant;
pub mod program;
pub mod record;
pub mod refused;
pub mod report;
pub mod seq;
pub mod site;
pub mod status;
pub mod stream;
mod verdicts;
mod waits;

pub use call::{Collective, Payload, Signature, Tag, Verb};
pub use check::{Caveat, Findings, check};
pub use communicator::CommId;
pub use ending::Ending;
pub use history::SHOWN as CALLS_SHOWN;
pub use instance::{InstanceId, Seat, Standing};
pub use matcher::{Entry, Matcher, Progress, Verdict};
pub use participant::{Drivers, Wait};
pub use program::{Program, ProgramError};
pub use record::Record;
pub use refused::Refused;
pub use report::{
    Absent, Access, Against, Aspect, Aspects, Call, Conflict, Divergence, Edge, Edit, Kind, Member,
    More, Report, Side, Touch, Unit, Why,
};
pub use seq::Seq;
pub use site::Site;
pub use status::{Activity, RankStatus};
pub use stream::{Point, StreamId};
