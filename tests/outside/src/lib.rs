//! The planning code of a sharded optimiser, as somebody else might write it.
//!
//! It stands for every crate that takes the definition and the accounting and
//! nothing more. It is `no_std` itself, and so shows that they do not mind.
//! Beside it stands [`stencil`], a rank program that leaves the backend to its caller.

#![no_std]

pub mod stencil;

use rankwise_account::{payload, Payload};
use rankwise_model::{Dtype, GroupSize, Layout, Operation, Reduction};

/// What each rank hands in and is left with when gradients of `shard` elements per
/// rank are reduce-scattered; nothing if that is no call at all.
pub fn gradient_shard(ranks: u32, shard: u64, dtype: Dtype) -> Option<Payload> {
    let ranks = GroupSize::new(ranks)?;
    let scatter = Operation::ReduceScatter { reduction: Reduction::Sum };
    let layout = Layout::new(scatter, ranks, shard).ok()?;
    payload(&layout, dtype, ranks.first()).ok()
}
