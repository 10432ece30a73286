//! Reports as text.

use core::fmt;

use rankwise_topology::WorldRank;

use super::{Call, Kind, Report};
use crate::site::Site;

impl Kind {
    /// The name used in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mismatch => "mismatch",
            Self::MissingRank => "missing rank",
            Self::UnmatchedMessage => "unmatched message",
            Self::Deadlock => "deadlock",
            Self::OrderDiffers => "order differs",
            Self::Hazard => "hazard",
            Self::Overlap => "overlap",
            Self::Inconclusive => "inconclusive",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Ranks as a list: `0, 1, 2`; a run of more than two is `0 to 6`.
pub(crate) struct Ranks<'a>(pub(crate) &'a [WorldRank]);

impl fmt::Display for Ranks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        let mut first = true;
        while let [start, ..] = rest {
            let run = (start.index()..)
                .zip(rest)
                .take_while(|(expected, rank)| *expected == rank.index())
                .count();
            let run = if run > 2 { run } else { 1 };
            let (shown, after) = rest.split_at(run);
            if !first {
                f.write_str(", ")?;
            }
            first = false;
            match shown {
                [start, .., last] => write!(f, "{start} to {last}")?,
                _ => start.fmt(f)?,
            }
            rest = after;
        }
        Ok(())
    }
}

impl fmt::Display for Call {
    /// `all_reduce(sum) of 4 × f32 (tag loss), collective 3 of tp, at train.rs:7:5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.signature.fmt(f)?;
        if let Some(tag) = &self.tag {
            write!(f, " (tag {tag})")?;
        }
        match self.seq {
            Some(seq) => write!(f, ", {seq} of {}", self.communicator)?,
            None => write!(f, " on {}", self.communicator)?,
        }
        write!(f, ", {}", Place(&self.site))
    }
}

/// A site with its preposition.
pub(crate) struct Place<'a>(pub(crate) &'a Site);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Site::Unknown => self.0.fmt(f),
            site => write!(f, "at {site}"),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on communicator {}", self.kind, self.communicator)
    }
}
