//! Why a certificate is not accepted.

use alloc::format;
use alloc::string::String;
use core::fmt;

use crate::format::VERSION;

/// Why a certificate is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rejected {
    /// The text is no certificate of this format.
    Unreadable {
        /// The line, from 1; 0 if the text as a whole is meant.
        line: usize,
        /// The column, from 1; 0 if the text as a whole is meant.
        column: usize,
        /// What is wrong there.
        why: String,
    },
    /// It is of another version of the format.
    Version {
        /// Which.
        found: u64,
    },
    /// Something was changed after it was sealed.
    Digest {
        /// The digest that it carries.
        stated: String,
        /// The digest of what it says.
        computed: String,
    },
    /// It asks for more than a limit allows.
    Limit {
        /// Which one.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// An act that cannot be carried out, or a job that contradicts itself.
    Job {
        /// Where: `sides[0].steps[3]`.
        place: String,
        /// What is wrong.
        why: String,
    },
    /// Something that is claimed does not hold.
    Claim {
        /// Which claim: `verdict.needs[0]`.
        place: String,
        /// What is wrong.
        why: String,
    },
}

impl Rejected {
    /// Whether the text is not even a certificate that could be looked at.
    pub const fn is_unreadable(&self) -> bool {
        matches!(self, Self::Unreadable { .. } | Self::Version { .. })
    }
}

/// Why something cannot be, before it is known where that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum No {
    Limit { what: &'static str, limit: u64 },
    Because(String),
}

impl No {
    /// Inside something that has a name.
    pub(crate) fn within(self, name: &str) -> Self {
        match self {
            Self::Because(why) => Self::Because(format!("{name}: {why}")),
            limit @ Self::Limit { .. } => limit,
        }
    }

    /// At a place of the job.
    pub(crate) fn in_job(self, place: impl Into<String>) -> Rejected {
        match self {
            Self::Limit { what, limit } => Rejected::Limit { what, limit },
            Self::Because(why) => Rejected::Job { place: place.into(), why },
        }
    }

    /// At a place of the claim.
    pub(crate) fn in_claim(self, place: impl Into<String>) -> Rejected {
        match self {
            Self::Limit { what, limit } => Rejected::Limit { what, limit },
            Self::Because(why) => Rejected::Claim { place: place.into(), why },
        }
    }
}

impl From<String> for No {
    fn from(why: String) -> Self {
        Self::Because(why)
    }
}

impl From<&str> for No {
    fn from(why: &str) -> Self {
        Self::Because(why.into())
    }
}

/// Goes on only if something holds; says why not, in words.
macro_rules! ensure {
    ($holds:expr, $($why:tt)+) => {
        if !$holds {
            return Err(alloc::format!($($why)+).into());
        }
    };
}
pub(crate) use ensure;

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { line: 0, why, .. } => write!(f, "no certificate: {why}"),
            Self::Unreadable { line, column, why } => {
                write!(f, "no certificate: {line}:{column}: {why}")
            }
            Self::Version { found } => {
                write!(f, "a certificate of version {found}, where version {VERSION} is read")
            }
            Self::Digest { stated, computed } => {
                write!(f, "changed after it was sealed: it says {stated} and is {computed}")
            }
            Self::Limit { what, limit } => write!(f, "past the limit of {limit} {what}"),
            Self::Job { place, why } => write!(f, "the job does not hold together: {place}: {why}"),
            Self::Claim { place, why } => write!(f, "the claim does not hold: {place}: {why}"),
        }
    }
}

impl core::error::Error for Rejected {}
