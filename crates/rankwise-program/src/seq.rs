//! Which of its kind a call is: the numbers by which calls match.

use core::fmt;

use rankwise_model::Rank;

/// The number of a call within its communicator, from 0.
///
/// Collectives are counted alone, splits and barriers included; messages are counted
/// per ordered pair of ranks. Neither disturbs the other's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Seq {
    /// The k-th collective of every member.
    Collective(u64),
    /// The k-th message from one rank to another.
    Message {
        /// Who sends.
        from: Rank,
        /// Who receives.
        to: Rank,
        /// Which of the messages between the two.
        number: u64,
    },
}

impl fmt::Display for Seq {
    /// `collective 3`, `message 0 from 1 to 2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Collective(number) => write!(f, "collective {number}"),
            Self::Message { from, to, number } => {
                write!(f, "message {number} from {from} to {to}")
            }
        }
    }
}
