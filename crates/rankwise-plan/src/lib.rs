//! Placeholder.

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
pub mod values;
pub mod plan;
pub mod holds;
pub mod file;
mod text;
pub mod read;
pub mod limits;
pub mod schema;
mod names;
mod words;
