//! How a rank ended, as the child tells it and as the table says it.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) rank: usize,
    pub(crate) how: How,
    /// Whole ones, from the start of the process.
    pub(crate) seconds: u64,
    /// The values, or the first line of what was said.
    pub(crate) text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Done,
    Error,
    Panic,
}

impl How {
    const ALL: [Self; 3] = [Self::Done, Self::Error, Self::Panic];

    const fn word(self) -> &'static str {
        match self {
            Self::Done => "ok",
            Self::Error => "error",
            Self::Panic => "panic",
        }
    }
}

impl Ending {
    pub(crate) fn to_line(&self) -> String {
        let Self { rank, how, seconds, text } = self;
        format!("{rank}\t{}\t{seconds}\t{text}", how.word())
    }

    pub(crate) fn from_line(line: &str) -> Option<Self> {
        let [rank, how, seconds, text] = line.splitn(4, '\t').collect::<Vec<_>>()[..] else {
            return None;
        };
        let how = How::ALL.into_iter().find(|known| known.word() == how)?;
        let (rank, seconds) = (rank.parse().ok()?, seconds.parse().ok()?);
        Some(Self { rank, how, seconds, text: text.to_owned() })
    }
}

/// Without the rank: what several of them may share.
impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.how.word())?;
        if self.seconds > 1 {
            write!(f, " after {} s", self.seconds)?;
        }
        write!(f, ", `{}`", self.text.replace('|', "\\|"))
    }
}
