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
//! 3. [`check()`] is one rank's part, as a future that never blocks: for threads, and for
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
//! #     use std::time::Duration;
//! #     use rankwise_comm::*;
//! #     use rankwise_model::{GroupSize, Rank};
//! #     pub enum Comm {}
//! #     pub enum Bytes {}
//! #     pub enum Queue {}
//! #     pub fn launch(_: u32) -> Result<Vec<Comm>, Error> { Ok(Vec::new()) }
//! #     impl Memory for Bytes {
//! #         fn bytes(&self) -> usize { match *self {} }
//! #         fn device(&self) -> DeviceOrdinal { match *self {} }
//! #     }
//! #     impl Stream for Queue {
//! #         type Memory = Bytes;
//! #         fn fence(&self) -> Result<Fence, Error> { match *self {} }
//! #         fn wait_for(&self, _: &Fence) -> Result<(), Error> { match *self {} }
//! #         fn write_bytes(&self, _: ViewMut<'_, Dyn, Bytes>, _: &[u8]) -> Result<(), Error> { match *self {} }
//! #         fn read_bytes(&self, _: View<'_, Dyn, Bytes>, _: &mut [u8]) -> Result<(), Error> { match *self {} }
//! #         fn fetch_bytes(&self, _: View<'_, Dyn, Bytes>) -> Result<Pending<Vec<u8>>, Error> { match *self {} }
//! #     }
//! #     impl Communicator for Comm {
//! #         type Memory = Bytes;
//! #         type Stream = Queue;
//! #         fn rank(&self) -> Rank { match *self {} }
//! #         fn ranks(&self) -> GroupSize { match *self {} }
//! #         fn name(&self) -> &str { match *self {} }
//! #         fn device(&self) -> DeviceOrdinal { match *self {} }
//! #         fn capabilities(&self) -> &Capabilities { match *self {} }
//! #         fn stream(&self) -> &Queue { match *self {} }
//! #         fn new_stream(&self) -> Result<Queue, Error> { match *self {} }
//! #         fn allocate(&self, _: usize) -> Result<Bytes, Error> { match *self {} }
//! #         fn submit(_: &[Post<'_, Self>]) -> Result<(), Error> { Ok(()) }
//! #         fn split(&self, _: Option<u32>, _: i32) -> Result<Pending<Option<Self>>, Error> { match *self {} }
//! #         fn abort_handle(&self) -> AbortHandle { match *self {} }
//! #         fn close(self, _: Duration) -> Result<(), Error> { match self {} }
//! #     }
//! # }
//! use rankwise_conformance::{Fixture, Suite};
//! use rankwise_model::GroupSize;
//!
//! struct Mine;
//!
//! impl Fixture for Mine {
//!     type Comm = my_backend::Comm;
//!
//!     fn name(&self) -> String {
//!         "mine 1.0".to_owned()
//!     }
//!     fn launch(&self, ranks: GroupSize) -> Result<Vec<Self::Comm>, String> {
//!         my_backend::launch(ranks.get()).map_err(|error| error.to_string())
//!     }
//!     fn floor(&self) -> usize {
//!         45_000
//!     }
//! }
//!
//! fn main() { // or a #[test]
//!     Suite::full(Mine).run().assert_holds();
//! }
//! ```
//!
//! A backend that cannot do everything says so in its capabilities and lowers the floor;
//! one that names nobody when ranks contradict each other overrides
//! [`Fixture::blame`]; what is known to fail goes into [`Fixture::expected_failures`].
//!
//! # No promise about versions
//!
//! A new version may add cases, and a backend that passed may then fail. That is what a
//! suite is for; pin its version to decide when.

#![forbid(unsafe_code)]

pub mod case;
pub mod filter;
pub mod matrix;

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
