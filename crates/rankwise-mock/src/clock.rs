//! What is ordered before what: how far a lane has followed the others.

/// For each other lane, up to which of its items everything is ordered before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock(Vec<(usize, u64)>);

impl Clock {
    /// Whether item `ticket` of `lane` is ordered before.
    pub(crate) fn covers(&self, lane: usize, ticket: u64) -> bool {
        self.0.iter().any(|(other, upto)| *other == lane && *upto >= ticket)
    }

    /// Everything of `lane` up to `ticket` is ordered before, too.
    pub(crate) fn advance(&mut self, lane: usize, ticket: u64) {
        match self.0.iter_mut().find(|(other, _)| *other == lane) {
            Some((_, upto)) => *upto = (*upto).max(ticket),
            None => self.0.push((lane, ticket)),
        }
    }

    /// Everything that `other` covers is ordered before, too.
    pub(crate) fn join(&mut self, other: &Self) {
        for (lane, ticket) in &other.0 {
            self.advance(*lane, *ticket);
        }
    }

    /// Drops what is ordered before everything to come.
    pub(crate) fn forget(&mut self, is_over: impl Fn(usize, u64) -> bool) {
        self.0.retain(|(lane, ticket)| !is_over(*lane, *ticket));
    }

    pub(crate) fn each(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.0.iter().copied()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
