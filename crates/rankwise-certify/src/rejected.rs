//! Why a certificate is not accepted.

use alloc::string::String;
use core::fmt;

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
        /// Which claim: `needs[0]`.
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

    pub(crate) fn job(place: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Job { place: place.into(), why: why.into() }
    }

    pub(crate) fn claim(place: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Claim { place: place.into(), why: why.into() }
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { line: 0, why, .. } => write!(f, "no certificate: {why}"),
            Self::Unreadable { line, column, why } => {
                write!(f, "no certificate: {line}:{column}: {why}")
            }
            Self::Version { found } => {
                write!(f, "a certificate of version {found}, where version 1 is read")
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
