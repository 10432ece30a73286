//! How a verb ends.

use std::fmt;
use std::io;
use std::process::ExitStatus;

/// What every verb returns.
pub(crate) type Outcome = Result<Done, Failure>;

/// A verb that found nothing wrong.
#[derive(Debug)]
pub(crate) enum Done {
    /// It ran; the text says what it saw.
    Ran(String),
    /// This machine cannot run it; the text says why.
    Skipped(String),
}

/// Why a verb failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A program that was started did not succeed.
    Exit { command: String, status: ExitStatus },
    /// The operating system refused something.
    Io { doing: String, source: io::Error },
    /// A check found these faults.
    Faults(Vec<String>),
    /// Anything else, in words.
    Said(String),
}

impl Failure {
    /// Attaches what was being done to an I/O error.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit { command, status } => write!(f, "`{command}` ended with {status}"),
            Self::Io { doing, source } => write!(f, "{doing}: {source}"),
            Self::Faults(faults) => {
                write!(f, "{} found", plural(faults.len(), "fault"))?;
                faults.iter().try_for_each(|fault| write!(f, "\n  {fault}"))
            }
            Self::Said(text) => f.write_str(text),
        }
    }
}

/// `1 fault`, `2 faults`.
pub(crate) fn plural(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// A failure if there are faults, else what was checked.
pub(crate) fn judge(faults: Vec<String>, checked: impl FnOnce() -> String) -> Outcome {
    if faults.is_empty() { Ok(Done::Ran(checked())) } else { Err(Failure::Faults(faults)) }
}
