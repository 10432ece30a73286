//! What the command says by its exit status.

use std::process::ExitCode;

/// The exit statuses; every verb uses the same five.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: the question was answered with yes, or there was none.
    Yes,
    /// 1: the question was answered with no.
    No,
    /// 2: the input or the command line cannot be used.
    Unusable,
    /// 3: the question cannot be decided from what is given.
    Unknown,
    /// 4: the run itself failed: the answer could not be delivered.
    RunFailed,
}

impl Exit {
    /// The status as a number.
    pub(crate) const fn status(self) -> u8 {
        match self {
            Self::Yes => 0,
            Self::No => 1,
            Self::Unusable => 2,
            Self::Unknown => 3,
            Self::RunFailed => 4,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.status())
    }
}
