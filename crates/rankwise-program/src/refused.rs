//! Why a call was not taken.

use alloc::sync::Arc;
use core::fmt;

use rankwise_model::{GroupSize, Rank};
use rankwise_topology::{NotInWorld, WorldRank};

use crate::communicator::CommId;
use crate::ending::Ending;
use crate::report::Report;
use crate::stream::{Point, StreamId};

/// Why a call was not taken. Nothing of it, nor of its unit, counts as made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// This matcher issued no such communicator.
    UnknownCommunicator(CommId),
    /// This matcher issued no such stream.
    UnknownStream(StreamId),
    /// Nothing has been enqueued there.
    UnknownPoint(Point),
    /// The world has no such rank.
    NotInWorld(NotInWorld),
    /// The stream is another rank's.
    ForeignStream {
        /// The stream.
        stream: StreamId,
        /// Whose it is.
        owner: WorldRank,
        /// Who called.
        rank: WorldRank,
    },
    /// The rank does not belong to the communicator.
    NotAMember {
        /// Who called.
        rank: WorldRank,
        /// On which communicator.
        communicator: Arc<str>,
    },
    /// The message goes to or comes from a rank that the communicator lacks.
    NoSuchPeer {
        /// The rank that is none.
        peer: Rank,
        /// The communicator.
        communicator: Arc<str>,
        /// How many ranks it has.
        ranks: GroupSize,
    },
    /// The rank has left the communicator.
    HasLeft {
        /// Who called.
        rank: WorldRank,
        /// On which communicator.
        communicator: Arc<str>,
        /// How it left.
        how: Ending,
    },
    /// The rank has ended.
    HasEnded {
        /// Who called.
        rank: WorldRank,
        /// How it ended.
        how: Ending,
    },
    /// The communicator has failed.
    Failed(
        /// Why: the same report that every rank gets.
        Arc<Report>,
    ),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownCommunicator(found) => {
                write!(f, "{found} is none of this matcher's; add it first")
            }
            Self::UnknownStream(found) => {
                write!(f, "{found} is none of this matcher's; add it first")
            }
            Self::UnknownPoint(found) => write!(f, "{found} has not been enqueued"),
            Self::NotInWorld(found) => found.fmt(f),
            Self::ForeignStream { stream, owner, rank } => {
                write!(f, "rank {rank} calls on {stream}, which is rank {owner}'s")
            }
            Self::NotAMember { rank, communicator } => {
                write!(f, "rank {rank} calls on communicator {communicator} and is no member of it")
            }
            Self::NoSuchPeer { peer, communicator, ranks } => write!(
                f,
                "peer {peer} is not in communicator {communicator}, which has {ranks} ranks"
            ),
            Self::HasLeft { rank, communicator, how } => {
                write!(f, "rank {rank} calls on communicator {communicator} after it {how}")
            }
            Self::HasEnded { rank, how } => write!(f, "rank {rank} calls after it {how}"),
            Self::Failed(report) => report.fmt(f),
        }
    }
}

impl core::error::Error for Refused {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Failed(report) => Some(&**report),
            Self::NotInWorld(found) => Some(found),
            _ => None,
        }
    }
}
