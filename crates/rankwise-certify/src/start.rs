//! Where something starts to read its inputs.

/// The first position that is read. What reads no input, a constant, is the same
/// wherever it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Start {
    At(u64),
    /// After every position, so that the earliest of several is one that reads.
    Anywhere,
}

impl Start {
    pub(crate) const ZERO: Self = Self::At(0);

    /// So many positions further on.
    pub(crate) const fn later(self, by: u64) -> Self {
        match self {
            Self::At(start) => Self::At(start.saturating_add(by)),
            Self::Anywhere => Self::Anywhere,
        }
    }

    /// Of a part of something: where it starts if the whole starts there.
    pub(crate) const fn of_whole_at(self, whole: Self) -> Self {
        match whole {
            Self::At(by) => self.later(by),
            Self::Anywhere => self,
        }
    }

    /// Of a part of something that starts there: where it starts within.
    pub(crate) const fn within(self, whole: Self) -> Self {
        match (self, whole) {
            (Self::At(start), Self::At(whole)) => Self::At(start.saturating_sub(whole)),
            _ => self,
        }
    }
}

/// Where something starts that has such parts.
pub(crate) fn earliest(parts: impl Iterator<Item = Start>) -> Start {
    parts.min().unwrap_or(Start::Anywhere)
}
