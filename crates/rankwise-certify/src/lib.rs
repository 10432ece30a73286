//! An independent checker of certificates: what a plan was said to leave, looked at again.
//!
//! A *certificate* is a verdict written down as JSON together with everything it is
//! about: who takes part, what they hold, every act in the order in which it was
//! carried out, and what is claimed of the result. [`verify`] carries the acts out
//! again and believes nothing else. It shares no code with what writes certificates,
//! and has its own definition of every collective, so that one mistake in one place
//! cannot confirm itself. The format is in `docs/certificates.md` of the repository.
//!
//! # The story
//!
//! 1. `format` is a certificate as it is written, and `seal` the digest over it.
//! 2. `definition` says what each collective is, `world` who takes part; `execute`
//!    carries acts out, on `vector`s: buffers as runs of positions, so that cost follows
//!    distinct pieces.
//! 3. `term` is what a position holds, `normal` what is left of it when every law of
//!    arithmetic has been applied, and `sense` in which sense equal ones are equal.
//! 4. `claim` holds the verdict against the result. That two values are the same is
//!    shown by equal normal forms; that they differ by a *witness*, one concrete input
//!    that `evaluate` puts in.
//!
//! # Example
//!
//! ```
//! use rankwise_certify::{Rejected, verify};
//!
//! let no_certificate = verify("{}");
//! assert!(matches!(no_certificate, Err(Rejected::Unreadable { .. })));
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

pub mod limits;

mod rejected;

mod format;
mod seal;

mod definition;
mod execute;
mod vector;
mod world;

mod distinct;
mod list;
mod normal;
mod number;
mod sense;
mod start;
mod term;

mod claim;
mod evaluate;

use alloc::string::String;
use alloc::vec::Vec;

pub use format::Claim;
pub use rejected::Rejected;
pub use sense::Sense;

/// What a certificate proves: it has been carried out again, and holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// What is claimed.
    pub claim: Claim,
    /// The weakest sense in which anything that it rests on is equal, or differs.
    pub sense: Sense,
    /// The proposals that it is about: one, or the two that were compared.
    pub proposals: Vec<String>,
    /// The needs that it is about, by their index in the plan.
    pub needs: Vec<u32>,
    /// The buffers that it compares, for a claim about two states.
    pub buffers: Vec<String>,
}

/// Checks a certificate from first principles.
///
/// Nothing in it is trusted but what it says of the job itself (who takes part, what
/// they hold, what is done, what is needed): hold that against the plan. Work is
/// bounded by [`limits`]; no text makes it panic.
pub fn verify(json: &str) -> Result<Verified, Rejected> {
    format::short(json)?;
    let certificate = format::read(json)?;
    seal::check(json, &certificate.digest)?;
    claim::check(&certificate)
}

/// The digest that a certificate with this text must carry: `sha256:` and 64 digits,
/// over its text without the blanks between its words, and with an empty `digest`.
///
/// ```
/// let digest = rankwise_certify::digest(r#"{ "a": [true], "digest": "" }"#)?;
/// assert_eq!(digest, rankwise_certify::digest(r#"{"a":[true],"digest":"what it was"}"#)?);
/// assert!(digest.starts_with("sha256:"));
/// # Ok::<(), rankwise_certify::Rejected>(())
/// ```
pub fn digest(json: &str) -> Result<String, Rejected> {
    format::short(json)?;
    seal::digest(json)
}
