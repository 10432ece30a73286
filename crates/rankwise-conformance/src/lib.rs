//! One suite for every backend of [`rankwise_comm::Communicator`].
//!
//! The suite knows no backend. A backend joins it by saying how its ranks come to be
//! (a [`Fixture`]) and gets a [`Verdict`] per case.
//!
//! # The story
//!
//! 1. A [`Case`] is one call of every rank as data; the [`Matrix`] generates them.
//! 2. A [`Plan`] is a case with its numbers. What must come of them is derived from the
//!    model. They are chosen so that the answer is exact in any order of the fold, and
//!    that a wrong place shows as a wrong value; where that cannot be, the [`Sense`]
//!    says what else is right.
//! 3. [`check`] is one rank's part, as a future that never blocks: for threads, and for
//!    a thousand ranks as tasks. Outputs are poisoned before the call, buffers are
//!    guarded, inputs must stay as they were.
//! 4. A [`Law`] is what must hold between calls; a [`Quarrel`] is what a backend that
//!    promises blame must say when ranks contradict each other.
//! 5. The [`Suite`] runs them all under a watch: what hangs is reported with the ranks
//!    that still wait. Its [`Outcome`] shows each skip with its reason, and fails if
//!    fewer cases have run than the fixture's floor, or if a known failure passes.
//!
//! # A whole test file
//!
//! ```no_run
//! # mod my_backend {
//! #     use rankwise_comm::Communicator;
//! #     pub fn group<C: Communicator>(_: u32) -> Result<Vec<C>, String> { Err(String::new()) }
//! # }
//! use rankwise_conformance::{Fixture, Suite};
//! use rankwise_model::GroupSize;
//!
//! struct Mine<C>(std::marker::PhantomData<C>);
//!
//! impl<C: rankwise_comm::Communicator> Fixture for Mine<C> {
//!     type Comm = C; // my_backend::Comm
//!
//!     fn name(&self) -> String {
//!         "mine 1.0".to_owned()
//!     }
//!     fn launch(&self, ranks: GroupSize) -> Result<Vec<C>, String> {
//!         my_backend::group(ranks.get())
//!     }
//!     fn floor(&self) -> usize {
//!         2_000 // of the quick suite
//!     }
//! }
//!
//! fn conforms<C: rankwise_comm::Communicator>() {
//!     Suite::quick(Mine::<C>(std::marker::PhantomData)).run().assert_holds();
//! }
//! ```
//!
//! # No promise about versions
//!
//! A new version may add cases, and a backend that passed may then fail. That is what a
//! suite is for; pin its version to decide when.

#![forbid(unsafe_code)]

pub mod case;
pub mod filter;
pub mod matrix;

mod elements;
pub mod plan;
pub mod sense;
mod values;

pub mod check;
pub mod defect;
mod zone;

pub mod blame;
pub mod law;
mod meeting;

mod block_on;
mod crew;
pub mod fixture;
pub mod outcome;
pub mod suite;

pub use blame::Quarrel;
pub use case::{Case, Grouping, Pattern};
pub use check::check;
pub use defect::{Defect, Difference, Failure};
pub use filter::Filter;
pub use fixture::{Blame, ExpectedFailure, Fixture};
pub use law::Law;
pub use matrix::Matrix;
pub use outcome::{Entry, Outcome, Verdict};
pub use plan::{Plan, PlanError};
pub use sense::Sense;
pub use suite::{AfterHang, Suite};
pub use values::Contributors;
