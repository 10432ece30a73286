//! What every rank is doing.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use rankwise_topology::WorldRank;

use crate::ending::Ending;
use crate::report::Call;

/// What one rank is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankStatus {
    /// Who.
    pub rank: WorldRank,
    /// What.
    pub activity: Activity,
}

/// What a rank is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Activity {
    /// It is in none of the calls that are matched here: it may still make any.
    Computing,
    /// It waits.
    Blocked {
        /// In which call; `None` if it waits for nothing that it called itself.
        call: Option<Call>,
        /// For which members, in world rank order. Empty if all have come and only
        /// earlier work on somebody's stream is in the way.
        waits_for: Vec<WorldRank>,
    },
    /// It has ended.
    Ended {
        /// How.
        how: Ending,
        /// What it said, such as the message of its panic.
        words: Option<Arc<str>>,
    },
}

impl fmt::Display for RankStatus {
    /// One line of a table: `rank 2   waits in all_reduce(sum) of 4 × f32 … for 0, 1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {:<5} ", self.rank.index())?;
        match &self.activity {
            Activity::Computing => f.write_str("computes"),
            Activity::Blocked { call, waits_for } => {
                f.write_str("waits")?;
                if let Some(call) = call {
                    write!(f, " in {call}")?;
                }
                if !waits_for.is_empty() {
                    write!(f, " for {}", crate::report::Ranks(waits_for))?;
                }
                Ok(())
            }
            Activity::Ended { how, words } => {
                how.fmt(f)?;
                match words {
                    Some(words) => write!(f, ": {words}"),
                    None => Ok(()),
                }
            }
        }
    }
}
