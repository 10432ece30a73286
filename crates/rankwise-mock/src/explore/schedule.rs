//! An order of steps, as text and back.

use core::fmt;
use core::num::NonZeroU64;
use core::str::FromStr;

/// An order in which ranks take their steps: whose turn it is, step by step.
///
/// As text, `0*3 1*2 0`: rank 0 takes three steps, rank 1 two, rank 0 one.
///
/// ```
/// use rankwise_mock::Schedule;
///
/// let schedule: Schedule = "0*3 1 1 0".parse()?;
/// assert_eq!(schedule.to_string(), "0*3 1*2 0");
/// assert_eq!(schedule.steps().collect::<Vec<_>>(), [0, 0, 0, 1, 1, 0]);
/// assert_eq!("0*3 one".parse::<Schedule>().unwrap_err().token, "one");
/// # Ok::<_, rankwise_mock::ParseScheduleError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Schedule(Vec<(u32, NonZeroU64)>);

impl Schedule {
    /// Whose turn it is, step by step.
    pub fn steps(&self) -> impl Iterator<Item = u32> + '_ {
        // `repeat_n` takes a `usize`, which may be less.
        self.0.iter().flat_map(|(rank, times)| (0..times.get()).map(|_| *rank))
    }

    /// `rank` takes so many more; `false` if nobody could count them.
    fn push(&mut self, rank: u32, more: NonZeroU64) -> bool {
        match self.0.last_mut().filter(|(last, _)| *last == rank) {
            Some((_, times)) => match times.checked_add(more.get()) {
                Some(sum) => *times = sum,
                None => return false,
            },
            None => self.0.push((rank, more)),
        }
        true
    }
}

impl FromIterator<u32> for Schedule {
    fn from_iter<I: IntoIterator<Item = u32>>(steps: I) -> Self {
        let mut schedule = Self::default();
        for rank in steps {
            schedule.push(rank, NonZeroU64::MIN);
        }
        schedule
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (rank, times)) in self.0.iter().enumerate() {
            let gap = if at == 0 { "" } else { " " };
            match times.get() {
                1 => write!(f, "{gap}{rank}")?,
                times => write!(f, "{gap}{rank}*{times}")?,
            }
        }
        Ok(())
    }
}

/// A piece of text that is no part of a [`Schedule`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseScheduleError {
    /// The piece.
    pub token: String,
    /// Which piece it is, from 0.
    pub position: usize,
}

impl FromStr for Schedule {
    type Err = ParseScheduleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut schedule = Self::default();
        for (position, token) in text.split_whitespace().enumerate() {
            let turn = match token.split_once('*') {
                Some((rank, times)) => rank.parse().ok().zip(times.parse().ok()),
                None => token.parse().ok().map(|rank| (rank, NonZeroU64::MIN)),
            };
            if !turn.is_some_and(|(rank, times)| schedule.push(rank, times)) {
                return Err(ParseScheduleError { token: token.to_owned(), position });
            }
        }
        Ok(schedule)
    }
}

impl fmt::Display for ParseScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { token, position } = self;
        write!(
            f,
            "piece {position} of the schedule is {token:?}: write a rank, as in 0, or a rank and \
             how many steps it takes, as in 0*3"
        )
    }
}

impl core::error::Error for ParseScheduleError {}
