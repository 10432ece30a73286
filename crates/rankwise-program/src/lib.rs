//! Rank programs: what each rank calls, how calls match, who waits for whom.

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

pub mod call;
pub mod site;

pub use call::{Collective, Payload, Signature, Tag, Verb};
pub use site::Site;
