//! The one report that every survivor gets.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::message::PROTOCOL;

/// What kept the ranks from meeting, or ended their session.
///
/// One value, made where all connections end and sent to every rank that is still
/// there: equal on all of them. Ranks are plain numbers here, since a process may have
/// claimed one that the world does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The number of ranks that the host of the rendezvous was told.
    pub ranks: u32,
    /// How far they had come.
    pub stage: Stage,
    /// What is wrong, the first [`FAULTS`](Self::FAULTS); never empty.
    pub faults: Vec<Fault>,
    /// How many faults more there are.
    pub more: u32,
    /// Connections that said which rank they were and were turned away, the first few.
    pub refused: Vec<Refused>,
    /// Connections turned away that said nothing of use: scanners, garbage, silence.
    pub strangers: u32,
}

/// How far the ranks had come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Stage {
    /// They were gathering: not all had come.
    Gathering,
    /// Some had come to a barrier, and the others had not.
    At(String),
    /// They had all passed a barrier, and none was at the next.
    After(String),
}

/// Who a process said it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whence {
    /// Its host.
    pub host: String,
    /// Its process id there.
    pub process: u32,
    /// The address that it came from; `-` for the host of the rendezvous itself.
    pub address: String,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Fault {
    /// Ranks that did not come in time.
    Missing {
        /// Which.
        ranks: Vec<u32>,
        /// The time they had, in milliseconds.
        within_ms: u64,
    },
    /// Several processes that say they are one rank.
    Twice {
        /// The rank.
        rank: u32,
        /// The processes, the first few.
        processes: Vec<Whence>,
    },
    /// A process whose rank is not below the number of ranks.
    NoSuchRank {
        /// What it says.
        rank: u32,
        /// Who it is.
        process: Whence,
    },
    /// A process that was told another number of ranks.
    WorldSize {
        /// Its rank.
        rank: u32,
        /// The number it was told.
        found: u32,
        /// The number that the host of the rendezvous was told.
        needed: u32,
    },
    /// Library versions that differ.
    Libraries {
        /// Each version with its ranks, the one with most ranks first.
        versions: Vec<(Option<String>, Vec<u32>)>,
    },
    /// A device that several ranks are bound to.
    DeviceTwice {
        /// The device.
        device: String,
        /// The ranks.
        ranks: Vec<u32>,
    },
    /// Devices that overlap, or may.
    Devices {
        /// In words, with both.
        what: String,
        /// The ranks.
        ranks: Vec<u32>,
    },
    /// Ranks that named no device, while others did.
    NoDevice {
        /// Which.
        ranks: Vec<u32>,
    },
    /// A rank whose connection ended: its process is gone, or dropped its session.
    Lost {
        /// Which.
        rank: u32,
        /// Who it was.
        process: Whence,
    },
    /// Ranks that did not come to a barrier in time.
    Late {
        /// Which.
        ranks: Vec<u32>,
        /// The barrier.
        barrier: String,
        /// The time that the first to run out of patience had, in milliseconds.
        within_ms: u64,
    },
    /// Ranks at different barriers.
    Parted {
        /// Each barrier with its ranks.
        barriers: Vec<(String, Vec<u32>)>,
    },
    /// A rank that gave up.
    GaveUp {
        /// Which.
        rank: u32,
        /// Its reason.
        reason: String,
    },
    /// A rank that sent what the protocol does not allow.
    Broke {
        /// Which.
        rank: u32,
        /// What it sent, in words.
        what: String,
    },
    /// No members at all.
    Empty,
}

/// A connection that was turned away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The rank that it said it was, which nothing confirms.
    pub rank: u32,
    /// Where it came from.
    pub address: String,
    /// Why.
    pub why: Refusal,
}

/// Why a connection was turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Refusal {
    /// It does not know the secret.
    WrongSecret,
    /// It uses no secret, and one is asked for.
    NoSecret,
    /// It uses a secret, and none is asked for.
    SecretUnasked,
    /// It belongs to another job, or to an earlier start of this one.
    OtherJob,
    /// It speaks another version of the protocol: of another release.
    OtherProtocol {
        /// Its version.
        found: u32,
    },
    /// It began well, and then left or sent something else.
    Broken,
}

impl Fault {
    /// Every rank that the fault names.
    pub fn ranks(&self) -> Vec<u32> {
        match self {
            Self::Missing { ranks, .. }
            | Self::DeviceTwice { ranks, .. }
            | Self::Devices { ranks, .. }
            | Self::NoDevice { ranks }
            | Self::Late { ranks, .. } => ranks.clone(),
            Self::Twice { rank, .. }
            | Self::NoSuchRank { rank, .. }
            | Self::WorldSize { rank, .. }
            | Self::Lost { rank, .. }
            | Self::GaveUp { rank, .. }
            | Self::Broke { rank, .. } => vec![*rank],
            Self::Libraries { versions } => all(versions.iter().map(|(_, ranks)| ranks)),
            Self::Parted { barriers } => all(barriers.iter().map(|(_, ranks)| ranks)),
            Self::Empty => Vec::new(),
        }
    }
}

fn all<'a>(lists: impl Iterator<Item = &'a Vec<u32>>) -> Vec<u32> {
    let mut ranks: Vec<u32> = lists.flatten().copied().collect();
    ranks.sort_unstable();
    ranks
}

impl Report {
    /// The most faults that a report lists.
    pub const FAULTS: usize = 64;
    /// The most connections turned away that a report lists.
    pub const REFUSED: usize = 16;

    /// Whether a fault, or a connection that was turned away, names that rank.
    pub fn names(&self, rank: u32) -> bool {
        self.faults.iter().any(|fault| fault.ranks().contains(&rank))
            || self.refused.iter().any(|refused| refused.rank == rank)
    }
}

/// `rank 3`, `ranks 0 to 4 and 6`.
struct Ranks<'a>(&'a [u32]);

impl fmt::Display for Ranks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(ranks) = self;
        if let [rank] = ranks {
            return write!(f, "rank {rank}");
        }
        let runs: Vec<String> = ranks
            .chunk_by(|one, next| one.checked_add(1) == Some(*next))
            .flat_map(|run| match run {
                [first, _, .., last] => vec![format!("{first} to {last}")],
                short => short.iter().map(u32::to_string).collect(),
            })
            .collect();
        f.write_str("ranks ")?;
        match runs.split_last() {
            Some((last, [])) => f.write_str(last),
            Some((last, rest)) => write!(f, "{} and {last}", rest.join(", ")),
            None => f.write_str("none"),
        }
    }
}

impl fmt::Display for Whence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {}", self.process, self.host.escape_debug())?;
        if self.address == "-" { Ok(()) } else { write!(f, " ({})", self.address) }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { ranks, within_ms } => {
                write!(f, "{} did not come within {}", Ranks(ranks), Time(*within_ms))
            }
            Self::Twice { rank, processes } => {
                let processes: Vec<_> = processes.iter().map(ToString::to_string).collect();
                write!(f, "rank {rank} is claimed more than once: by {}", processes.join(", by "))
            }
            Self::NoSuchRank { rank, process } => {
                write!(f, "{process} says it is rank {rank}, which this world does not have")
            }
            Self::WorldSize { rank, found, needed } => write!(
                f,
                "rank {rank} was told that there are {found} ranks, and the rendezvous that there \
                 are {needed}"
            ),
            Self::Libraries { versions } => {
                let versions: Vec<_> = versions
                    .iter()
                    .map(|(version, ranks)| match version {
                        Some(version) => format!("{} on {}", version.escape_debug(), Ranks(ranks)),
                        None => format!("none on {}", Ranks(ranks)),
                    })
                    .collect();
                write!(f, "library versions differ: {}", versions.join("; "))
            }
            Self::DeviceTwice { device, ranks } => write!(
                f,
                "device {} is bound to {}: give each rank its own, or ask for sharing",
                device.escape_debug(),
                Ranks(ranks)
            ),
            Self::Devices { what, .. } => f.write_str(what),
            Self::NoDevice { ranks } => {
                write!(f, "{} named no device, and others did", Ranks(ranks))
            }
            Self::Lost { rank, process } => {
                write!(f, "rank {rank} is gone: {process} closed its connection")
            }
            Self::Late { ranks, barrier, within_ms } => write!(
                f,
                "{} did not come to `{}` within {}",
                Ranks(ranks),
                barrier.escape_debug(),
                Time(*within_ms)
            ),
            Self::Parted { barriers } => {
                let barriers: Vec<_> = barriers
                    .iter()
                    .map(|(name, ranks)| format!("{} at `{}`", Ranks(ranks), name.escape_debug()))
                    .collect();
                write!(f, "the ranks are at different barriers: {}", barriers.join("; "))
            }
            Self::GaveUp { rank, reason } => {
                write!(f, "rank {rank} gave up: {}", reason.escape_debug())
            }
            Self::Broke { rank, what } => {
                write!(f, "rank {rank} broke the protocol: {}", what.escape_debug())
            }
            Self::Empty => f.write_str("there are no members"),
        }
    }
}

/// Milliseconds, as seconds where that is short.
struct Time(u64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0 / 1000, self.0 % 1000) {
            (seconds, 0) => write!(f, "{seconds} s"),
            _ => write!(f, "{} ms", self.0),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WrongSecret => "has another secret",
            Self::NoSecret => "has no secret, and one is asked for",
            Self::SecretUnasked => "has a secret, and none is asked for",
            Self::OtherJob => "belongs to another job",
            Self::OtherProtocol { found } => {
                return write!(f, "speaks version {found} of the protocol, not {PROTOCOL}");
            }
            Self::Broken => "left or sent something else",
        })
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gathering => f.write_str("while gathering"),
            Self::At(barrier) => write!(f, "at `{}`", barrier.escape_debug()),
            Self::After(barrier) => write!(f, "after `{}`", barrier.escape_debug()),
        }
    }
}

impl fmt::Display for Report {
    /// A line for each fault, then for each connection that was turned away.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ranks, {}", self.ranks, self.stage)?;
        for fault in &self.faults {
            write!(f, "\n  {fault}")?;
        }
        if self.more > 0 {
            write!(f, "\n  and {} more", self.more)?;
        }
        for Refused { rank, address, why } in &self.refused {
            write!(f, "\n  turned away: {address}, which said it was rank {rank}, {why}")?;
        }
        match self.strangers {
            0 => Ok(()),
            1 => f.write_str("\n  turned away: 1 connection that was no rank's"),
            many => write!(f, "\n  turned away: {many} connections that were no rank's"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(fault: &Fault) -> String {
        fault.to_string()
    }

    #[test]
    fn a_report_names_ranks_and_both_numbers() {
        let late = Fault::Missing { ranks: vec![0, 1, 2, 5, 7], within_ms: 1500 };
        assert_eq!(text(&late), "ranks 0 to 2, 5 and 7 did not come within 1500 ms");
        let report = Report {
            ranks: 8,
            stage: Stage::At("warm".to_owned()),
            faults: vec![Fault::Late {
                ranks: vec![3],
                barrier: "warm".to_owned(),
                within_ms: 9000,
            }],
            more: 0,
            refused: vec![Refused {
                rank: 5,
                address: "[::1]:4711".to_owned(),
                why: Refusal::WrongSecret,
            }],
            strangers: 1,
        };
        assert_eq!(
            report.to_string(),
            "8 ranks, at `warm`\n  rank 3 did not come to `warm` within 9 s\n  turned away: \
             [::1]:4711, which said it was rank 5, has another secret\n  turned away: 1 \
             connection that was no rank's"
        );
        assert!(report.names(3) && report.names(5) && !report.names(4));
        let written = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&written).unwrap(), report);
    }

    #[test]
    fn what_others_sent_is_shown_escaped() {
        let gave_up = Fault::GaveUp { rank: 1, reason: "no\nmemory\u{1b}[2J".to_owned() };
        assert_eq!(text(&gave_up), "rank 1 gave up: no\\nmemory\\u{1b}[2J");
    }
}
