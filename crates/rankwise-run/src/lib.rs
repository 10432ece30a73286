//! A plan's rank programs on any backend, every output checked against the model, and a
//! versioned record of it.
//!
//! What a plan says is worked out before any hardware is touched; this crate lets ranks
//! do it. It knows no backend by name: whatever implements
//! [`Communicator`](rankwise_comm::Communicator) can run a plan.
//!
//! # The story
//!
//! 1. A [`Job`] is one proposal that can be run: nothing contradictory, every reduction
//!    named, every input with values ([`Fill`] says where they come from).
//! 2. [`run_rank`] carries out one rank's part, call by call, and reads what it is left
//!    with. [`run`](run()) and [`launch`] give every rank a thread.
//! 3. Every buffer is compared with the plan's terms in numbers: bit by bit where the
//!    backend folds in rank order, else in the sense that the model states. Positions of
//!    which nothing is promised are not looked at.
//! 4. The [`RunRecord`] says what was run, on what, with which map, and was it right.
//!
//! # Who listens
//!
//! Runs speak through [`tracing`], to the target `rankwise_run`; nobody listens unless the
//! caller says so. Names and fields are fixed:
//!
//! | what | name | level | fields |
//! |---|---|---|---|
//! | span around one rank's part | `rank` | info | `rank`, `ranks` (their number), `proposal` |
//! | event before a call | `call` | debug | `op`, `comm`, `seq`, `rank`, `count`, `convention` |
//! | event before a local act | `local` | trace | `op`, `rank`, `step` |
//!
//! `op` is the call as in reports (`reduce_scatter(sum)`, `send(to 1)`), or the plan's
//! word for a local act; `comm` is the backend's name of the communicator; `seq` is the
//! number of the call in it, from 0 (collectives are counted alone, splits included;
//! messages per ordered pair of ranks); `rank` is the rank in the world; `count` is the
//! count argument in elements, and `convention` what it counts (`one rank's shard
//! (recvcount)`); `step` is the step of the proposal, from 0. All numbers are unsigned,
//! everything else is text.
//!
//! # Example
//!
//! Generic over the backend, as callers that test several are:
//!
//! ```
//! use rankwise_comm::Communicator;
//! use rankwise_plan::Plan;
//! use rankwise_run::record::Verdict;
//! use rankwise_run::{Fill, Job, RunError, run};
//!
//! fn every_proposal<C: Communicator>(
//!     plan: &Plan,
//!     world: impl Fn() -> Vec<C>, // one communicator per rank
//! ) -> Result<(), RunError> {
//!     for proposal in &plan.proposals {
//!         let job = Job::new(plan, proposal, Fill::Pattern { seed: 0 })?;
//!         let outcome = run(&job, world());
//!         assert_eq!(outcome.record.verdict, Verdict::Right, "{:#?}", outcome.record);
//!     }
//!     Ok(())
//! }
//! ```

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

use std::time::Duration;

pub mod error;
pub mod fill;
pub mod job;
pub mod limits;

mod buffers;
pub mod call;
mod collective;
mod communicators;
mod local;
mod messages;
pub mod rank;
mod trace;

mod check;
pub mod record;
pub mod run;

pub use call::{ActRun, CallRun, Done};
pub use error::RunError;
pub use fill::{Fill, Origin};
pub use job::Job;
pub use rank::{RanOn, RankResult, run_rank};
pub use record::RunRecord;
pub use run::{Outcome, launch, run};

/// How long a rank that is done waits for what it has enqueued, before it leaves.
const CLOSING: Duration = Duration::from_mins(1);
