//! What one rank found to be wrong.

use core::fmt;

use rankwise_comm::Error;
use rankwise_model::{Rank, Scalar};

use crate::values::Contributors;

/// What one rank found to be wrong in a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Defect {
    /// In words, with both numbers where there are any.
    pub words: String,
    /// Where a value is wrong, if one is.
    pub difference: Option<Difference>,
    /// What the backend said, if it refused or gave up.
    pub error: Option<Error>,
}

/// A value that is not the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which call of the case, from 0.
    pub round: u32,
    /// Who contributed in it.
    pub contributors: Contributors,
    /// The position in the output, in elements.
    pub position: u64,
    /// What is there.
    pub found: Scalar,
    /// What must be there.
    pub expected: Scalar,
}

/// A [`Defect`], and the rank that found it.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The rank that found it; `None` if there was no rank yet, or it concerns all.
    pub rank: Option<Rank>,
    /// What it found.
    pub defect: Defect,
}

impl Defect {
    /// Something wrong that is no single value.
    pub fn new(words: impl Into<String>) -> Self {
        Self { words: words.into(), difference: None, error: None }
    }

    pub(crate) fn of_difference(difference: Difference, hint: &str) -> Self {
        let Difference { round, contributors, position, found, expected } = difference;
        let words = format!(
            "round {round} ({contributors}), position {position}: found {found} (bits {:#x}), expected {expected} (bits {:#x}){hint}",
            found.bits(),
            expected.bits(),
        );
        Self { words, difference: Some(difference), error: None }
    }
}

impl From<Error> for Defect {
    fn from(error: Error) -> Self {
        Self {
            words: format!("an error where none was due: {error}"),
            difference: None,
            error: Some(error),
        }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl core::error::Error for Defect {}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rank {
            Some(rank) => write!(f, "rank {rank}: {}", self.defect),
            None => self.defect.fmt(f),
        }
    }
}

impl core::error::Error for Failure {}

impl fmt::Display for Contributors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::One => "one contributor per position",
            Self::Two => "two contributors per position",
            Self::Everyone => "arbitrary values",
        })
    }
}
