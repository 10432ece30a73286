//! Faults on request: what `RANKWISE_HOST_FAULTS` says to the host stand-ins.
//!
//! The variable holds clauses, separated by `;`:
//!
//! | clause | effect |
//! |---|---|
//! | `fail SYMBOL NTH CODE` | the call does nothing and answers `CODE`, any number |
//! | `delay SYMBOL NTH MILLISECONDS` | the call is held up before it does anything |
//! | `async SYMBOL NTH CODE` | the call does what it does; its communicator then has failed with `CODE` |
//! | `dead RANK NTH` | the rank dies at its `NTH` collective, message or signal: its calls answer `ncclSystemError`, its peers learn that it has left |
//! | `in-progress POLLS` | a non-blocking communicator is in progress for so many polls more than it has to |
//!
//! `NTH` counts the calls of that symbol in the process, from 1, or is `every`. A symbol
//! that starts with `cu` is the driver's, one that starts with `nccl` is NCCL's; each
//! stand-in takes its own clauses and reads the others for their form only.
//!
//! ```
//! use host_faults::{Faults, Struck};
//!
//! let faults = Faults::parse("fail ncclAllReduce 2 99", &["ncclAllReduce"]).unwrap();
//! assert_eq!(faults.strike("ncclAllReduce"), Struck::default());
//! assert_eq!(faults.strike("ncclAllReduce").answer, Some(99));
//! ```

#![forbid(unsafe_code)]

mod parse;
mod station;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub use parse::FaultError;
pub use station::{Refused, Station, VARIABLE};

/// Which of the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nth {
    /// This one, counted from 1.
    One(u64),
    /// All of them.
    Every,
}

impl Nth {
    fn is(self, number: u64) -> bool {
        match self {
            Self::One(one) => one == number,
            Self::Every => true,
        }
    }
}

/// What a clause about a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Fail(u32),
    Delay(Duration),
    Later(u32),
}

/// A clause about the calls of a symbol, and how many there have been.
#[derive(Debug)]
struct OfSymbol {
    symbol: String,
    nth: Nth,
    effect: Effect,
    calls: AtomicU64,
}

/// A clause about a rank, and how many calls it has made.
#[derive(Debug)]
struct OfRank {
    rank: u32,
    nth: u64,
    calls: AtomicU64,
}

/// What happens to one call; nothing, by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Struck {
    /// How long it is held up.
    pub delay: Duration,
    /// What it answers instead of doing anything.
    pub answer: Option<u32>,
    /// What its communicator has failed with afterwards.
    pub later: Option<u32>,
}

/// Faults that were asked for.
#[derive(Debug, Default)]
pub struct Faults {
    symbols: Vec<OfSymbol>,
    ranks: Vec<OfRank>,
    polls: u32,
}

impl Faults {
    /// Reads clauses; `known` are the symbols that this library has.
    ///
    /// # Errors
    ///
    /// [`FaultError`]: the first clause that is none, with what was expected there.
    pub fn parse(text: &str, known: &[&str]) -> Result<Self, FaultError> {
        parse::parse(text, known)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty() && self.ranks.is_empty() && self.polls == 0
    }

    /// Counts a call of a symbol, and says what happens to it.
    pub fn strike(&self, symbol: &str) -> Struck {
        let mut struck = Struck::default();
        for clause in self.symbols.iter().filter(|clause| clause.symbol == symbol) {
            let number = clause.calls.fetch_add(1, Ordering::Relaxed).saturating_add(1);
            if clause.nth.is(number) {
                match clause.effect {
                    Effect::Fail(code) => struck.answer = Some(code),
                    Effect::Delay(time) => struck.delay = struck.delay.saturating_add(time),
                    Effect::Later(code) => struck.later = Some(code),
                }
            }
        }
        struck
    }

    /// Counts a collective, message or signal of a rank, and says whether the rank dies.
    pub fn dies(&self, rank: u32) -> bool {
        self.ranks.iter().filter(|clause| clause.rank == rank).fold(false, |dies, clause| {
            let number = clause.calls.fetch_add(1, Ordering::Relaxed).saturating_add(1);
            // Every clause counts, whether one before it has struck or not.
            number >= clause.nth || dies
        })
    }

    /// How many polls more than it has to a communicator is in progress.
    pub fn polls(&self) -> u32 {
        self.polls
    }
}
