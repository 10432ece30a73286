//! Whether two proposals are the same job, and whether each consumer gets what it needs.
//!
//! A *plan* names a group of ranks, what they hold, one or more *proposals* (steps
//! that communicate or act locally) and what consumers *need* afterwards. This crate
//! reads a plan, works out what every proposal leaves on every rank, as *terms* over
//! the contributions, and judges. It holds for all values of the inputs, not only for
//! those that a plan happens to give. It performs no I/O.
//!
//! # The story
//!
//! 1. [`file`](mod@file) is a plan as it is written down, in TOML or JSON; [`read`] makes a
//!    validated [`Plan`] of it, or a [`PlanError`] with its place; [`holds`] is the
//!    language of needs.
//! 2. [`term`] says what a position holds: who contributed, combined how, in which
//!    order; [`form`] is what is left of a term when every law has been applied.
//!    [`vector`] is a buffer as runs of positions, so that cost follows distinct
//!    pieces, never ranks × elements.
//! 3. [`evaluate`](mod@evaluate) carries out a proposal's steps in terms;
//!    [`numbers`] puts given values into them.
//! 4. [`need`] judges what a consumer finds, [`wrong`] names what is wrong with it, and
//!    [`sense`](mod@sense) says in which sense equal terms are equal.
//! 5. [`compare`](mod@compare) sets two proposals side by side;
//!    [`relabel`](mod@relabel) exchanges the ranks of devices; [`explore`](mod@explore)
//!    says which exchanges are harmless, and [`repair`] mends one that is not;
//!    [`judge`](mod@judge) reads arrays that a real run left.
//! 6. [`certify`](mod@certify) writes a verdict down so that somebody who trusts none
//!    of this can check it.
//!
//! # Example
//!
//! ```
//! use rankwise_plan::compare::{Summary, compare};
//! use rankwise_plan::file::Format;
//! use rankwise_plan::read::NoArrays;
//! use rankwise_plan::term::Terms;
//! use rankwise_plan::Plan;
//!
//! let plan = Plan::read(
//!     r#"
//!     format = 1
//!     group.devices = ["A", "B"]
//!     input.x = { dtype = "i32", count = 4, meaning = "gradient" }
//!     proposal.whole.step = [
//!         { call = "all_reduce", op = "sum", send = "x", recv = "y" },
//!     ]
//!     proposal.sharded.step = [
//!         { call = "reduce_scatter", op = "sum", send = "x", recv = "s" },
//!         { call = "all_gather", send = "s", recv = "y" },
//!     ]
//!     need = [{ on = "every rank", buffer = "y", holds = "sum(x)" }]
//!     "#,
//!     Format::Toml,
//!     &mut NoArrays,
//! )?;
//! let [whole, sharded] = [&plan.proposals[0], &plan.proposals[1]];
//! let comparison = compare((&plan, whole), (&plan, sharded), &mut Terms::new()).unwrap();
//! assert_eq!(comparison.summary(), Summary::SameState);
//! # Ok::<(), rankwise_plan::PlanError>(())
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

pub mod error;
pub mod limits;
pub mod values;

pub mod file;
pub mod holds;
mod names;
pub mod plan;
pub mod read;
pub mod schema;
mod text;
mod words;

pub mod evaluate;
pub mod form;
pub mod memory;
pub mod numbers;
mod program;
pub mod show;
pub mod term;
pub mod vector;

pub mod certify;
pub mod compare;
mod equal;
pub mod explore;
pub mod judge;
pub mod need;
pub mod relabel;
pub mod repair;
pub mod sense;
pub mod surface;
pub mod template;
pub mod witness;
pub mod wrong;

pub use error::PlanError;
pub use plan::Plan;
