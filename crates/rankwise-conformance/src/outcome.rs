//! What came of a suite: a verdict per case.

use core::fmt;
use std::time::Duration;

use rankwise_model::Rank;

use crate::defect::Failure;

/// What came of one case.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// Every rank got what it must.
    Passed,
    /// A rank did not.
    Failed(Failure),
    /// It was not run.
    Skipped {
        /// Why.
        reason: String,
    },
    /// It failed, as the fixture says that it does.
    ExpectedFailure {
        /// How it failed.
        failure: Failure,
        /// Why that is known.
        because: String,
    },
    /// It passed, although the fixture says that it fails: strike the expectation out.
    UnexpectedlyPassed {
        /// Why it was thought to fail.
        because: String,
    },
    /// Some ranks were not done in time.
    Hung {
        /// Which ranks.
        waiting: Vec<Rank>,
        /// How long was waited.
        waited: Duration,
        /// How many threads did not come back even after an abort, and are leaked.
        leaked: usize,
    },
}

/// A case by name, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The name of the case, the law or the mismatch.
    pub name: String,
    /// What came of it.
    pub verdict: Verdict,
}

/// What came of a suite.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub(crate) backend: String,
    pub(crate) entries: Vec<Entry>,
    pub(crate) floor: usize,
    /// Why the suite ended before its end, if it did.
    pub(crate) stopped: Option<String>,
}

impl Verdict {
    /// Whether the case was run.
    pub const fn ran(&self) -> bool {
        !matches!(self, Self::Skipped { .. })
    }

    /// Whether it makes the suite fail.
    pub const fn is_bad(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::UnexpectedlyPassed { .. } | Self::Hung { .. })
    }

    /// What it is called in a summary.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed(_) => "failed",
            Self::Skipped { .. } => "skipped",
            Self::ExpectedFailure { .. } => "failed as expected",
            Self::UnexpectedlyPassed { .. } => "passed unexpectedly",
            Self::Hung { .. } => "hung",
        }
    }
}

impl Outcome {
    /// The cases in the order in which they were run.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The cases that make the suite fail.
    pub fn bad(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.verdict.is_bad())
    }

    /// How many cases were run.
    pub fn ran(&self) -> usize {
        self.entries.iter().filter(|entry| entry.verdict.ran()).count()
    }

    /// Whether nothing is bad, nothing was left out by a stop, and enough was run.
    pub fn holds(&self) -> bool {
        self.bad().next().is_none() && self.stopped.is_none() && self.ran() >= self.floor
    }

    /// Prints the outcome to standard error, and panics unless it [holds](Self::holds).
    ///
    /// # Panics
    ///
    /// If it does not hold: that is how a test fails.
    #[track_caller]
    #[allow(clippy::print_stderr)] // what was skipped is to be seen even if all is well
    pub fn assert_holds(&self) {
        eprintln!("{self}");
        assert!(self.holds(), "{} does not conform; see above", self.backend);
    }

    /// The skipped cases by reason: how many, and one of them.
    fn skips(&self) -> Vec<(&str, usize, &str)> {
        let mut skips: Vec<(&str, usize, &str)> = Vec::new();
        for entry in &self.entries {
            let Verdict::Skipped { reason } = &entry.verdict else { continue };
            match skips.iter_mut().find(|(known, ..)| known == reason) {
                Some((_, times, _)) => *times += 1,
                None => skips.push((reason, 1, &entry.name)),
            }
        }
        skips
    }
}

/// How many bad cases are shown in full.
const SHOWN: usize = 20;

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passed = self.entries.iter().filter(|entry| entry.verdict == Verdict::Passed).count();
        let skipped = self.entries.len() - self.ran();
        let bad = self.bad().count();
        let expected = self.ran() - passed - bad;
        write!(f, "{}: {passed} passed, {bad} bad", self.backend)?;
        write!(f, ", {expected} failed as expected, {skipped} skipped")?;
        for entry in self.bad().take(SHOWN) {
            write!(f, "\n  {entry}")?;
        }
        if bad > SHOWN {
            write!(f, "\n  … and {} more", bad - SHOWN)?;
        }
        for (reason, times, one) in self.skips() {
            write!(f, "\n  skipped {times} × ({reason}), such as {one}")?;
        }
        if let Some(stopped) = &self.stopped {
            write!(f, "\n  stopped early: {stopped}")?;
        }
        if self.ran() < self.floor {
            let (ran, floor) = (self.ran(), self.floor);
            write!(f, "\n  only {ran} cases were run, at least {floor} must be")?;
        }
        Ok(())
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.verdict)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        match self {
            Self::Passed => Ok(()),
            Self::Failed(failure) => write!(f, ": {failure}"),
            Self::Skipped { reason } => write!(f, ": {reason}"),
            Self::ExpectedFailure { failure, because } => write!(f, " ({because}): {failure}"),
            Self::UnexpectedlyPassed { because } => {
                write!(f, "; strike out the expectation ({because})")
            }
            Self::Hung { waiting, waited, leaked } => {
                let ranks: Vec<String> = waiting.iter().map(ToString::to_string).collect();
                write!(f, ": after {waited:?} still waiting: rank {}", ranks.join(", "))?;
                if *leaked > 0 {
                    write!(f, "; {leaked} threads are leaked")?;
                }
                Ok(())
            }
        }
    }
}
