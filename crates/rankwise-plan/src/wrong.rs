//! Wrongness by name: not "mismatch", but what it is.
//!
//! - [`Wrong`] are the names. Each has one for machines and a sentence for people.
//! - `value` names what is wrong with one value: what it is made of against what it
//!   should be made of. `groups` says over which group it was reduced, by the plan's
//!   own names; `scale` what it was multiplied by.
//! - `placement` looks at a whole need, and at all ranks: right pieces in another
//!   order, or at another owner.
//! - `history` looks back over the steps: a value that was overwritten, one that is in
//!   another buffer, a buffer that was read where nothing had been written.
//! - `naming` puts them together for one place where something else is held than should be.
//! - `remedy` says what would mend it.

mod groups;
mod history;
mod name;
mod naming;
mod placement;
mod remedy;
mod scale;
mod sentence;
mod value;

pub use groups::Contributors;
pub use name::Wrong;
pub use placement::{Owner, Permutation};

pub(crate) use groups::Groups;
pub(crate) use history::History;
pub(crate) use naming::{Difference, Naming, Why};
pub(crate) use placement::Claim;
pub(crate) use value::Scene;

/// More than this of one kind is not listed one by one.
pub(crate) const LISTED: usize = 4;

/// What is said of forms that could not be told apart.
pub(crate) const NOT_PROVEN: &str = "not known to be equal: nested folds are compared as written, and no input was found for which they differ";
