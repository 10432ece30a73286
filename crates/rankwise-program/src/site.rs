//! Where a call was made.

use alloc::sync::Arc;
use core::fmt;
use core::panic::Location;

use crate::program::Place;

/// Where a call was made: a line of Rust, or a place in a file that records calls.
///
/// A site is for people: it plays no part in matching, and two calls of one line are
/// not the same call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Site {
    /// A line of the running program.
    Code(&'static Location<'static>),
    /// A place in a file: `program.json, rank 1, call 0`, or a frame of a dump.
    Text(Arc<str>),
    /// A call of a [`Program`](crate::Program).
    Step(Place),
    /// Not recorded.
    Unknown,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(location) => location.fmt(f),
            Self::Text(text) => f.pad(text),
            Self::Step(place) => place.fmt(f),
            Self::Unknown => f.pad("at an unrecorded place"),
        }
    }
}
