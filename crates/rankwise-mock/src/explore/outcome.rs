//! What an exploration has found.

use core::fmt;
use core::time::Duration;

use rankwise_comm::Error;

use super::schedule::Schedule;

/// How a rank's program ended.
#[derive(Clone, Debug, PartialEq)]
pub enum RankEnd<T> {
    /// It returned.
    Returned(Result<T, Error>),
    /// It panicked, with this message.
    Panicked(String),
}

impl<T> RankEnd<T> {
    /// What it returned, if it returned well.
    pub const fn value(&self) -> Option<&T> {
        match self {
            Self::Returned(Ok(value)) => Some(value),
            _ => None,
        }
    }

    /// The error that it returned, if it returned one.
    pub const fn error(&self) -> Option<&Error> {
        match self {
            Self::Returned(Err(error)) => Some(error),
            _ => None,
        }
    }
}

/// A way in which the ranks ended, in one order or in many.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome<T> {
    pub(super) ends: Vec<RankEnd<T>>,
    pub(super) schedule: Schedule,
    pub(super) times: u64,
}

impl<T> Outcome<T> {
    /// How each rank ended, in rank order.
    pub fn ends(&self) -> &[RankEnd<T>] {
        &self.ends
    }

    /// The first order that led here.
    pub const fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// How many of the orders that were followed led here.
    pub const fn times(&self) -> u64 {
        self.times
    }

    /// Whether all ranks returned well.
    pub fn is_well(&self) -> bool {
        self.ends.iter().all(|end| end.value().is_some())
    }
}

/// What an [`Exploration`](super::Exploration) has found, and how much it has seen.
#[derive(Clone, Debug)]
pub struct Explored<T> {
    pub(super) schedules: u64,
    pub(super) repeated: u64,
    pub(super) steps: u64,
    pub(super) deepest: u64,
    pub(super) held_back: u64,
    pub(super) is_complete: bool,
    pub(super) outcomes: Vec<Outcome<T>>,
    pub(super) failure: Option<Failure>,
    pub(super) given_up: Option<Failure>,
}

impl<T> Default for Explored<T> {
    fn default() -> Self {
        Self {
            schedules: 0,
            repeated: 0,
            steps: 0,
            deepest: 0,
            held_back: 0,
            is_complete: false,
            outcomes: Vec::new(),
            failure: None,
            given_up: None,
        }
    }
}

impl<T> Explored<T> {
    /// The first order in which something went wrong: a rank erred or panicked, the ranks ended
    /// otherwise than in the first order, or the order could not be followed.
    pub const fn failure(&self) -> Option<&Failure> {
        match &self.failure {
            Some(failure) => Some(failure),
            None => self.given_up(),
        }
    }

    /// The order that could not be followed to its end, with which the exploration ended.
    pub const fn given_up(&self) -> Option<&Failure> {
        self.given_up.as_ref()
    }

    /// The distinct ways in which the ranks ended, in the order in which they were met.
    pub fn outcomes(&self) -> &[Outcome<T>] {
        &self.outcomes
    }

    /// How many orders were followed to their end. Of a [reduced](super::Orders::Reduced)
    /// exploration, each stands for all that differ from it in nothing that could matter.
    pub const fn schedules(&self) -> u64 {
        self.schedules
    }

    /// How many runs of a reduced exploration turned out to stand for nothing new.
    pub const fn repeated(&self) -> u64 {
        self.repeated
    }

    /// How many steps were taken, by all ranks in all runs.
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// The steps of the longest run.
    pub const fn deepest(&self) -> u64 {
        self.deepest
    }

    /// How often a rank that polls in vain was held back until another had taken a step. If
    /// this is not 0, programs that count how often they have polled may end in more ways.
    pub const fn held_back(&self) -> u64 {
        self.held_back
    }

    /// Whether there is no order left: neither a limit was reached nor the exploration given
    /// up.
    pub const fn is_complete(&self) -> bool {
        self.is_complete
    }
}

impl<T: PartialEq> Explored<T> {
    /// Takes a run into account.
    pub(super) fn add(&mut self, ends: Vec<RankEnd<T>>, schedule: Schedule) {
        self.schedules = self.schedules.saturating_add(1);
        if let Some(known) = self.outcomes.iter_mut().find(|outcome| outcome.ends == ends) {
            known.times = known.times.saturating_add(1);
            return;
        }
        let bad = ends.iter().zip(0..).find_map(|(end, rank)| match end {
            RankEnd::Returned(Ok(_)) => None,
            RankEnd::Returned(Err(error)) => Some(Trouble::Erred { rank, error: error.clone() }),
            RankEnd::Panicked(message) => {
                Some(Trouble::Panicked { rank, message: message.clone() })
            }
        });
        let bad = bad.or_else(|| {
            let first = self.outcomes.first()?;
            let differs = first.ends.iter().zip(&ends).position(|(one, other)| one != other)?;
            let rank = u32::try_from(differs).unwrap_or(u32::MAX);
            Some(Trouble::Differs { rank, first: first.schedule.clone() })
        });
        if let (Some(trouble), None) = (bad, &self.failure) {
            self.failure = Some(Failure { schedule: schedule.clone(), trouble });
        }
        self.outcomes.push(Outcome { ends, schedule, times: 1 });
    }
}

/// An order in which something went wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    pub(super) schedule: Schedule,
    pub(super) trouble: Trouble,
}

impl Failure {
    /// The order, to be [replayed](super::Exploration::replay).
    pub const fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// What went wrong.
    pub const fn trouble(&self) -> &Trouble {
        &self.trouble
    }
}

/// What went wrong in an order.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Trouble {
    /// A rank returned an error; the first that did, in rank order.
    Erred {
        /// Which rank.
        rank: u32,
        /// The error.
        error: Error,
    },
    /// A rank panicked, and no rank before it erred or panicked.
    Panicked {
        /// Which rank.
        rank: u32,
        /// What it said, if that was text.
        message: String,
    },
    /// All went well, and the ranks did not return what they returned in the first order.
    Differs {
        /// The first rank that returned something else.
        rank: u32,
        /// The first order.
        first: Schedule,
    },
    /// The same order of steps led elsewhere than before: something other than the order
    /// decides what the ranks do, such as time, chance, or what an earlier run has left.
    /// The exploration ends.
    Undetermined {
        /// Which step of the order, from 0.
        step: usize,
        /// What the ranks could do here before.
        expected: String,
        /// What they can do now.
        found: String,
    },
    /// The order of a replay does not fit the program.
    Unfit {
        /// Which step of the order, from 0.
        step: usize,
        /// Whose turn it should be.
        rank: u32,
        /// What the ranks can do here.
        found: String,
    },
    /// A rank that has its turn came to no step of its own for so long: it computes for
    /// longer, or waits for another rank outside of the communicators, by a lock or a channel.
    /// The exploration ends; a thread that never comes back is left behind.
    Outside {
        /// Which rank.
        rank: u32,
        /// How long.
        patience: Duration,
    },
    /// A thread that runs no rank made a call on a communicator of the exploration. The
    /// exploration ends.
    Stranger,
    /// The run was longer than it may be: ranks that poll for ever, perhaps. The exploration
    /// ends.
    Endless {
        /// How many steps a run may have.
        max_steps: u64,
    },
    /// Every rank waits, and what they wait for is nothing that a rank can bring about: a
    /// fence of another backend, perhaps. The exploration ends.
    Stuck,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "in the order `{}`: {}", self.schedule, self.trouble)
    }
}

impl core::error::Error for Failure {}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Erred { rank, error } => write!(f, "rank {rank} ends with: {error}"),
            Self::Panicked { rank, message } => write!(f, "rank {rank} panicked: {message}"),
            Self::Differs { rank, first } => {
                write!(f, "rank {rank} returns something else than in the order `{first}`")
            }
            Self::Undetermined { step, expected, found } => write!(
                f,
                "at step {step} the ranks can do other things than the last time ({found}; then \
                 {expected}): something other than the order decides what they do"
            ),
            Self::Unfit { step, rank, found } => {
                write!(f, "at step {step} it cannot be the turn of rank {rank} ({found})")
            }
            Self::Outside { rank, patience } => write!(
                f,
                "rank {rank} came to no call for {patience:?}: it must not wait for another rank \
                 but by its communicators"
            ),
            Self::Stranger => f.write_str("a thread that runs no rank made a call"),
            Self::Endless { max_steps } => write!(f, "it has not ended after {max_steps} steps"),
            Self::Stuck => f.write_str("every rank waits for something that no rank can do"),
        }
    }
}
