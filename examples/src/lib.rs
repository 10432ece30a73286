//! Training steps that name no backend, and the numbered examples beside them.
//!
//! The examples in `src/bin` are to be read in order; `README.md` lists them. What they
//! share is here:
//!
//! 1. [`backend`] is the one place where a backend is chosen: a [`RankProgram`] is
//!    generic over the communicator, and [`Backend::run`] runs it.
//! 2. [`chain`] is the smallest network that needs a backward pass.
//! 3. [`Ddp`], [`Fsdp`] and [`Stage`] train it in three ways. Gradients are averaged by
//!    all-reduces; or parameters are gathered and gradients reduce-scattered; or each
//!    rank has a layer of its own, and activations travel.
//!
//! Each step is compiled once and runs on every backend.

#![forbid(unsafe_code)]

pub mod backend;
pub mod chain;
pub mod ddp;
pub mod fsdp;
pub mod pipeline;

pub use backend::{Backend, RankProgram};
pub use ddp::Ddp;
pub use fsdp::Fsdp;
pub use pipeline::Stage;
