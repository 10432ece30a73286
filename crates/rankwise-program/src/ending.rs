//! How a rank comes to its end.

use core::fmt;

/// How a rank came to post nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Ending {
    /// Its program returned.
    Returned,
    /// It panicked.
    Panicked,
    /// Its handle was dropped.
    Dropped,
    /// It closed the communicator.
    Closed,
    /// It, or somebody for it, aborted.
    Aborted,
    /// It was killed, as by a fault on request.
    Killed,
}

impl fmt::Display for Ending {
    /// As the end of a sentence about the rank: `returned`, `dropped its handle`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Returned => "returned",
            Self::Panicked => "panicked",
            Self::Dropped => "dropped its handle",
            Self::Closed => "closed the communicator",
            Self::Aborted => "aborted",
            Self::Killed => "was killed",
        })
    }
}
