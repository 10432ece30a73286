//! Programs of ranks: steps that each rank does in an order of its own, on streams.
//!
//! What a rank calls when is all that decides whether calls meet; so a proposal with
//! programs is first written down as a [`Program`](rankwise_program::Program) and
//! [checked](rankwise_program::check()). What completes is then evaluated in terms, in
//! the order in which it completes; what never does leaves gaps.
//!
//! A call's count and element type come from its buffers, so [`sizes`] are found
//! first: rank by rank, each buffer as long as the steps before make it. What depends on
//! a call that never comes is of unknown size, and meets any.

mod communicators;
mod lower;
mod sizes;

pub(crate) use communicators::Communicators;
pub(crate) use lower::lower;
pub(crate) use sizes::{Moved, Numbered, OfRank, Sizes};
