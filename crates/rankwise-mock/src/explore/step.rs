//! What a rank is about to do, where it can be held.

use core::fmt;
use core::panic::Location;

use super::touched::Caution;

/// What a rank is about to do.
///
/// A rank can be held before whatever a peer could notice, and before whatever lets it
/// notice a peer. What is between two such steps belongs to the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Its program begins.
    Begin,
    /// The program's own, [`host_step`](super::host_step).
    Host,
    /// A call, or a group of which this is the first.
    Call(&'static str, &'static Location<'static>),
    /// A split of a communicator.
    Split(&'static Location<'static>),
    /// Something on a stream that only its rank takes part in.
    Stream,
    /// It comes to a wait for something that was not over before.
    Wait,
    /// It comes to a wait for something that is over.
    Passing,
    /// What it has waited for is over.
    GoOn,
    /// The deadline of its wait passes.
    Pass,
    /// It asks whether something is over.
    Poll,
    /// It asks what all ranks are doing.
    Status,
    /// It gives a communicator back.
    Leave,
    /// It aborts somebody's part of a communicator.
    Abort,
    /// Its program ends.
    End,
}

impl Step {
    /// Whether it may change what a poll is told.
    pub(super) const fn stirs(self) -> bool {
        !matches!(self, Self::Host | Self::Poll | Self::Status)
    }

    /// Whether it may be exchanged with whatever other ranks can do now or later, so that
    /// nothing need be tried in its stead.
    pub(super) const fn is_free(self, caution: Caution) -> bool {
        match self {
            Self::Begin => true,
            // What it finds is over, and stays so. Of a stream nobody but its rank knows, and
            // of an end or a drop nobody learns but by a report.
            Self::GoOn | Self::Passing | Self::Stream | Self::Leave | Self::End => {
                matches!(caution, Caution::None)
            }
            _ => false,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Self::Call(verb, site) => return write!(f, "{verb} at {site}"),
            Self::Split(site) => return write!(f, "split at {site}"),
            Self::Begin => "begin",
            Self::Host => "host_step",
            Self::Stream => "a write, a read or an order of a stream",
            Self::Wait => "wait",
            Self::Passing => "a wait for what is over",
            Self::GoOn => "go on after a wait",
            Self::Pass => "the deadline of a wait",
            Self::Poll => "a poll",
            Self::Status => "world_status",
            Self::Leave => "the drop of a communicator",
            Self::Abort => "abort",
            Self::End => "end",
        };
        f.write_str(words)
    }
}
