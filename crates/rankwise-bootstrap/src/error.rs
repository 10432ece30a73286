//! Why a rank does not meet the others.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::address::Address;
use crate::report::{Refusal, Report};

/// Why a rank did not meet the others, or lost them.
///
/// What the ranks did together is [`Failed`](Self::Failed), equal on every survivor; the
/// rest is what this rank saw alone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Something is wrong with the ranks together: one report for all.
    Failed(Arc<Report>),
    /// A setting or an argument is not possible.
    Setting {
        /// What is, and what is needed.
        what: String,
    },
    /// The address cannot be listened at.
    Listen {
        /// The address.
        address: String,
        /// The operating system's word.
        kind: io::ErrorKind,
    },
    /// Nobody who speaks the protocol was found at the address in time.
    Unreachable {
        /// This rank.
        rank: u32,
        /// The address.
        address: Address,
        /// The time that was given.
        within: Duration,
        /// How often it was tried.
        attempts: u32,
        /// What became of the last try.
        last: String,
    },
    /// The host of the rendezvous speaks another version of the protocol.
    Protocol {
        /// This rank.
        rank: u32,
        /// The host's version.
        found: u32,
        /// This rank's.
        needed: u32,
    },
    /// The secrets of this rank and of the host of the rendezvous do not fit.
    Secret {
        /// This rank.
        rank: u32,
        /// The address.
        address: Address,
        /// In which way, seen from the host.
        why: Refusal,
    },
    /// The rendezvous is another job's, or of another start of this one.
    Job {
        /// This rank.
        rank: u32,
        /// The address.
        address: Address,
        /// The job of the rendezvous.
        found: Option<String>,
        /// This rank's.
        needed: Option<String>,
    },
    /// The connection to the host of the rendezvous ended: its process is gone.
    HostLost {
        /// Its rank.
        host: u32,
        /// The address.
        address: Address,
    },
    /// The host of the rendezvous is connected and says nothing.
    HostSilent {
        /// Its rank.
        host: u32,
        /// The address.
        address: Address,
        /// How long it was waited for.
        within: Duration,
    },
    /// The host of the rendezvous sent what the protocol does not allow.
    HostBroke {
        /// Its rank.
        host: u32,
        /// What, in words.
        what: String,
    },
    /// An earlier barrier was given up in the middle, so that none can follow.
    Unfinished,
    /// The task that keeps the connection is gone, with its runtime.
    NoTask,
}

impl Error {
    pub(crate) fn setting(what: impl Into<String>) -> Self {
        Self::Setting { what: what.into() }
    }

    /// The report, where it is what all survivors have.
    pub fn report(&self) -> Option<&Report> {
        match self {
            Self::Failed(report) => Some(report),
            _ => None,
        }
    }

    /// Whether the error names that rank as a cause.
    pub fn names(&self, rank: u32) -> bool {
        match self {
            Self::Failed(report) => report.names(rank),
            Self::HostLost { host, .. }
            | Self::HostSilent { host, .. }
            | Self::HostBroke { host, .. } => *host == rank,
            _ => false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(report) => report.fmt(f),
            Self::Setting { what } => f.write_str(what),
            Self::Listen { address, kind: io::ErrorKind::AddrInUse } => write!(
                f,
                "{address} is in use: by another job, by a launcher's own store, or by a second \
                 process that takes itself for the host of the rendezvous"
            ),
            Self::Listen { address, kind: io::ErrorKind::AddrNotAvailable } => write!(
                f,
                "{address} is no address of this machine: start the host of the rendezvous there, \
                 or say where it is to listen"
            ),
            Self::Listen { address, kind } => write!(f, "cannot listen at {address}: {kind}"),
            Self::Unreachable { rank, address, within, attempts, last } => write!(
                f,
                "rank {rank} found no rendezvous at {address} within {within:?} ({attempts} tries, \
                 the last: {last})"
            ),
            Self::Protocol { rank, found, needed } => write!(
                f,
                "rank {rank} speaks version {needed} of the protocol, and the rendezvous version \
                 {found}: start all ranks with one release"
            ),
            Self::Secret { rank, address, why } => {
                write!(f, "the rendezvous at {address} turned rank {rank} away: it {why}")
            }
            Self::Job { rank, address, found, needed } => {
                let job = |job: &Option<String>| match job {
                    Some(job) => format!("job `{}`", job.escape_debug()),
                    None => "no named job".to_owned(),
                };
                write!(
                    f,
                    "the rendezvous at {address} belongs to {}, and rank {rank} to {}",
                    job(found),
                    job(needed)
                )
            }
            Self::HostLost { host, address } => write!(
                f,
                "rank {host} is gone: it hosted the rendezvous at {address} and closed the \
                 connection"
            ),
            Self::HostSilent { host, address, within } => write!(
                f,
                "rank {host}, which hosts the rendezvous at {address}, said nothing for {within:?}"
            ),
            Self::HostBroke { host, what } => {
                write!(f, "rank {host}, which hosts the rendezvous, sent {what}")
            }
            Self::Unfinished => {
                f.write_str("an earlier barrier was given up in the middle: none can follow it")
            }
            Self::NoTask => f.write_str("the session's task ended with its runtime"),
        }
    }
}

impl std::error::Error for Error {}
