//! The calls a rank has made, as far back as a report may need them.

use alloc::collections::VecDeque;
use alloc::sync::Arc;

use rankwise_model::Rank;

use crate::call::{Signature, Tag};
use crate::communicator::CommId;
use crate::seq::Seq;
use crate::site::Site;

/// How many calls a report shows of a rank, up to the one that it is about.
pub const SHOWN: u64 = 4;

/// One call of one rank.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) comm: CommId,
    pub(crate) signature: Signature,
    pub(crate) tag: Option<Tag>,
    pub(crate) creates: Option<Arc<[Rank]>>,
    pub(crate) site: Site,
    pub(crate) seq: Seq,
}

/// A rank's calls in the order of its program, numbered from 0.
///
/// Kept are all calls from the oldest open one on, and so many before it that what
/// leads up to an open call is the same whenever it is read.
#[derive(Debug, Default)]
pub(crate) struct History {
    calls: VecDeque<(Made, bool)>,
    /// The number of the first that is kept.
    base: u64,
    /// How many of those kept are over, counted from the first up to one that is open.
    over: u64,
}

impl History {
    /// Adds an open call and gives its number.
    pub(crate) fn push(&mut self, made: Made) -> u64 {
        let number = self.end();
        self.calls.push_back((made, true));
        number
    }

    /// The number of the next call.
    pub(crate) fn end(&self) -> u64 {
        self.base.saturating_add(widen(self.calls.len()))
    }

    /// The call of that number, if it is kept.
    pub(crate) fn get(&self, number: u64) -> Option<&Made> {
        self.calls.get(self.slot(number)?).map(|(made, _)| made)
    }

    /// The last calls up to that number, itself included, oldest first.
    pub(crate) fn up_to(&self, number: u64) -> impl Iterator<Item = &Made> {
        let past = number.saturating_add(1);
        (past.saturating_sub(SHOWN)..past).filter_map(|number| self.get(number))
    }

    /// Says that a call is over.
    pub(crate) fn close(&mut self, number: u64) {
        if let Some(slot) = self.slot(number)
            && let Some((_, open)) = self.calls.get_mut(slot)
        {
            *open = false;
        }
        while let Some((_, false)) = narrow(self.over).and_then(|over| self.calls.get(over)) {
            self.over = self.over.saturating_add(1);
        }
        while self.over >= SHOWN && widen(self.calls.len()) > SHOWN {
            self.calls.pop_front();
            self.base = self.base.saturating_add(1);
            self.over = self.over.saturating_sub(1);
        }
    }

    fn slot(&self, number: u64) -> Option<usize> {
        narrow(number.checked_sub(self.base)?)
    }
}

/// No machine holds more entries than a `u64` counts.
pub(crate) fn widen(entries: usize) -> u64 {
    u64::try_from(entries).unwrap_or(u64::MAX)
}

pub(crate) fn narrow(entries: u64) -> Option<usize> {
    usize::try_from(entries).ok()
}
