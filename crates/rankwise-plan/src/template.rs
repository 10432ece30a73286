//! Plans of known schemes of parallel training, made from their parameters.
//!
//! | template | what it does |
//! |---|---|
//! | [`Ddp`] | every rank holds everything; gradients are averaged on every rank |
//! | [`Fsdp`] | parameters, gradients and optimizer are sharded; parameters are gathered to be used |
//! | [`Hsdp`] | the same inside each group of a mesh, and replicas of it across the other axis |
//! | [`Zero`] | stage 1 shards the optimizer, 2 also gradients, 3 also parameters |
//! | [`TensorParallel`] | a column- and a row-parallel layer; partial outputs are summed |
//! | [`SequenceParallel`] | the same, with tokens sharded outside the pair |
//! | [`ExpertParallel`] | tokens go to the ranks of their experts and come back |
//! | [`Pipeline`] | stages hand activations on and gradients back |
//!
//! Each is a struct of checked parameters with a `draft`. A [`Draft`] is a
//! [`PlanFile`](crate::file::PlanFile) with its needs, and the *schedule*: which buffer
//! is parameter, gradient, optimizer state or activation, when it comes to be and when
//! it is let go. From both, [`Draft::holdings`] says what every rank holds after each
//! moment. What a buffer is as large as is not said a second time: it is read from the
//! plan's own evaluation.
//!
//! Which public descriptions the schemes follow is in `docs/templates.md`.
//!
//! ```
//! use rankwise_plan::need::{NeedsAnswer, judge_needs};
//! use rankwise_plan::evaluate::evaluate;
//! use rankwise_plan::template::{Fsdp, Ranks, Training};
//! use rankwise_plan::term::Terms;
//!
//! let training = Training::new(Ranks::flat(4), [1000, 2000]);
//! let draft = Fsdp { training }.draft()?;
//! let plan = draft.plan()?;
//! let mut terms = Terms::new();
//! let evaluation = evaluate(&plan, &plan.proposals[0], &mut terms)?;
//! let needs = judge_needs(&plan, &plan.proposals[0], &evaluation, &mut terms)?;
//! assert_eq!(needs.answer(), NeedsAnswer::Satisfied);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod error;
mod ranks;
mod training;

mod cut;
mod draft;
mod holdings;
mod needed;
mod update;
mod written;

mod linear_pair;
mod weights;

mod ddp;
mod expert_parallel;
mod fsdp;
mod hsdp;
mod pipeline;
mod sequence_parallel;
mod tensor_parallel;
mod zero;

pub use ddp::Ddp;
pub use draft::{Draft, Kind};
pub use error::TemplateError;
pub use expert_parallel::ExpertParallel;
pub use fsdp::Fsdp;
pub use holdings::{Amount, Extent, Held, Holdings, Moment, NOT_PEAKS};
pub use hsdp::Hsdp;
pub use linear_pair::LinearPair;
pub use pipeline::{Messages, Order, Pipeline};
pub use ranks::Ranks;
pub use sequence_parallel::SequenceParallel;
pub use tensor_parallel::TensorParallel;
pub use training::{Average, Optimizer, Rule, Training, Types};
pub use zero::{Stage, Zero};
