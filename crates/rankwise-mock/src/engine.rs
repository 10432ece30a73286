//! One collective that all ranks have agreed on, carried out on raw memory.
//!
//! A [`Job`] is given the [`Layout`](rankwise_model::Layout) of a collective and one
//! [`Seat`] per rank: where that rank's input and output lie. It moves and folds the
//! data, bit for bit as [`rankwise_model::reference`] says, and knows nothing of
//! communicators, streams, devices or blame. There are no threads here: whoever has
//! time calls [`Job::work`], as many at once as like.
//!
//! This is the one place where a raw address is believed, so there is one `unsafe`
//! door: [`Job::new`]. What can be checked, it checks: lengths, alignment, and that no
//! rank writes what another reads or writes.
//!
//! # Example
//!
//! Two ranks, two elements each, added up:
//!
//! ```
//! use rankwise_mock::engine::{Job, Seat, Span, Worked};
//! use rankwise_model::{Dtype, GroupSize, Layout, Operation, Reduction};
//!
//! let sum = Operation::AllReduce { reduction: Reduction::Sum };
//! let layout = Layout::new(sum, GroupSize::new(2).unwrap(), 2)?;
//!
//! let (mut a, mut b) = ([1_i32, 2], [10_i32, 20]);
//! let in_place = |memory: &mut [i32; 2]| {
//!     let span = Span::of(memory);
//!     Seat { input: Some(span), output: Some(span), scalar: None }
//! };
//! // SAFETY: both arrays outlive the job, and nobody else touches them until it is done.
//! let job = unsafe { Job::new(layout, Dtype::I32, &[in_place(&mut a), in_place(&mut b)])? };
//! while job.work() != Worked::Nothing {}
//! assert!(job.is_done());
//!
//! assert_eq!((a, b), ([11, 22], [11, 22]));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # How the work is cut
//!
//! The [pieces](rankwise_model::RankLayout::pieces) of all outputs are grouped into
//! *strokes*: equal positions of equal sources, read once and stored to every output
//! that wants them (an all-reduce is one stroke, a broadcast too, an all-gather one per
//! rank). Laid end to end, the strokes are a line of positions; a *share* is a run of
//! that line, and atomic cursors hand shares out, one for each thread that can be at
//! work at once: every thread begins at its own and ends with what others have left.
//!
//! # How a share is done
//!
//! In one pass over memory. A *group*, a few cache lines of every input, is read, folded
//! in rank order in registers and stored to every output that wants it; nothing is put
//! aside. The loops say how one element is computed, without branches, and are compiled
//! for each width of vectors; the widest that the processor has is taken. Narrow floats
//! are computed in binary32, rounded after every step, and several travel in one word.
//! Stores go past the caches where the job outgrows them and no output is an input.
//!
//! # Why shares do not race
//!
//! Each output position lies on exactly one position of the line, so no two shares
//! write the same byte, outputs being disjoint (checked). A share could read what
//! another writes only where an input and an output overlap, which is allowed in the
//! in-place relation of one rank only. Whatever the relation, the share that writes such
//! a position is the only one that reads it, at the same position of the line:
//!
//! - *same buffer* (`all_reduce`, `reduce`, `broadcast`): one stroke, which starts at 0 in
//!   inputs and outputs alike;
//! - *the input is the own block of the output* (`all_gather`, `gather`): rank `r`'s input
//!   is read by the stroke that fills block `r` of the outputs, from its first position;
//! - *the output is the own block of the input* (`reduce_scatter`, `scatter`): rank `r`'s
//!   block `r` is read by the stroke that fills rank `r`'s output, from its first position.
//!
//! And within a share, every group is read from all its sources before it is stored
//! anywhere; a move of bytes onto themselves is left out.

#![allow(clippy::inline_always, reason = "the loops are compiled anew for every width of vectors")]

#[allow(unsafe_code, reason = "reads from raw memory")]
mod copy;
mod cursor;
#[allow(unsafe_code, reason = "reads from raw memory")]
mod fold;
mod footprint;
mod format;
#[allow(unsafe_code, reason = "the one door, and what is promised at it")]
mod job;
mod job_error;
mod lane;
#[allow(unsafe_code, reason = "an address may cross threads")]
mod seat;
#[allow(unsafe_code, reason = "stores to raw memory")]
mod store;
mod stroke;
#[allow(unsafe_code, reason = "stores to raw memory")]
mod sweep;
#[allow(unsafe_code, reason = "instructions that not every processor has")]
mod width;

pub use job::{Job, Worked};
pub use job_error::JobError;
pub use seat::{Seat, Span};
