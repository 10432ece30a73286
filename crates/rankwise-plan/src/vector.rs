//! Vectors of terms: what a buffer holds, run by run.
//!
//! Blocks of one length that read at one distance from each other are kept packed, as a
//! *series*: what an all-to-all leaves is one entry on each rank, not one per peer.
//! [`Vector::runs`] hands out plain runs all the same.

mod family;
mod runs;
mod series;
#[cfg(test)]
mod unpacked;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

use rankwise_model::Dtype;

use crate::term::{Placed, TermId};
pub(crate) use family::Family;
pub use runs::{Runs, side_by_side};
use series::Series;
pub(crate) use series::Sources;

/// What a buffer holds, in order and without holes.
///
/// Two vectors are equal when their runs are, however they are kept.
#[derive(Clone, Debug)]
pub struct Vector {
    dtype: Dtype,
    entries: Entries,
}

/// What a vector is kept as; most have one entry, which needs no list.
#[derive(Clone, Debug)]
enum Entries {
    None,
    One(Entry),
    Many(Vec<Entry>),
}

/// Part of a vector.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// Where it ends; it starts where the one before ends.
    end: u64,
    held: Held,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Held {
    Run(Content),
    /// At least two blocks.
    Series(Box<Series>),
}

/// Contiguous positions that hold consecutive positions of one term, or nothing known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The positions.
    pub positions: Range<u64>,
    /// What they hold.
    pub content: Content,
}

/// What a run holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Position `k` of the run holds the term at `at + k`.
    Term(Placed),
    /// No value is promised.
    Gap(Gap),
}

/// Why nothing is promised of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gap {
    /// A rooted call promises its output to the root only.
    OnRootOnly {
        /// The step, from 0.
        step: usize,
    },
    /// An in-place call promises its own block only; the rest of the buffer is lost.
    Clobbered {
        /// The step, from 0.
        step: usize,
    },
    /// The step that would write it is in a program of its rank and never completes, or
    /// is in no order with what reads it: the reports of the evaluation say why.
    NeverRan {
        /// The step, from 0.
        step: usize,
    },
    /// The buffer was allocated, and nothing has written the position.
    Unwritten {
        /// The step that allocated it, from 0.
        step: usize,
    },
    /// Computed from positions of which nothing was promised.
    ReadsGap {
        /// The step, from 0.
        step: usize,
    },
}

impl Content {
    /// The content `by` positions further on.
    #[must_use]
    pub const fn shifted(self, by: u64) -> Self {
        match self {
            Self::Term(placed) => Self::Term(placed.shifted(by)),
            Self::Gap(gap) => Self::Gap(gap),
        }
    }
}

impl Vector {
    /// An empty vector.
    pub const fn empty(dtype: Dtype) -> Self {
        Self { dtype, entries: Entries::None }
    }

    /// A vector of `count` elements that hold one run.
    pub fn of(dtype: Dtype, count: u64, content: Content) -> Self {
        let mut vector = Self::empty(dtype);
        vector.push(count, content);
        vector
    }

    /// `blocks` blocks of `block` elements each; the first reads at `at`, each next one
    /// `stride` further on. `None` if that is longer than 2^64, or than `terms` are.
    pub(crate) fn series(
        dtype: Dtype,
        block: u64,
        blocks: u64,
        terms: Sources,
        at: u64,
        stride: u64,
    ) -> Option<Self> {
        let count = block.checked_mul(blocks)?;
        let mut vector = Self::empty(dtype);
        if count > 0 {
            let series = Series::new(terms, block, at, stride);
            vector.push_held(count, series.cut(0..count)?);
        }
        Some(vector)
    }

    /// The element type.
    pub const fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The number of elements.
    pub fn count(&self) -> u64 {
        self.entries().last().map_or(0, |entry| entry.end)
    }

    /// Whether any position is promised to hold a value.
    pub fn promises_any(&self) -> bool {
        self.entries().iter().any(|entry| !matches!(entry.held, Held::Run(Content::Gap(_))))
    }

    /// The runs, in order; adjacent ones never continue each other.
    pub fn runs(&self) -> Runs<'_> {
        Runs::new(self.entries(), 0..self.count())
    }

    /// The most runs that it can have, told without looking at each.
    pub fn runs_at_most(&self) -> u64 {
        let mut start = 0_u64;
        self.entries().iter().fold(0_u64, |runs, entry| {
            let count = entry.end.saturating_sub(start);
            start = entry.end;
            runs.saturating_add(match &entry.held {
                Held::Run(_) => 1,
                Held::Series(series) => series.blocks(count),
            })
        })
    }

    /// How many entries it is kept as: what it costs.
    pub(crate) fn entries_kept(&self) -> usize {
        self.entries().len()
    }

    /// The terms in it, some of them several times, in lists that vectors may share.
    pub(crate) fn term_lists(&self) -> impl Iterator<Item = &[TermId]> {
        let mut start = 0_u64;
        self.entries().iter().filter_map(move |entry| {
            let count = entry.end.saturating_sub(start);
            start = entry.end;
            match &entry.held {
                Held::Run(Content::Term(placed)) => Some(core::slice::from_ref(&placed.term)),
                Held::Run(Content::Gap(_)) => None,
                Held::Series(series) => Some(series.terms_of(count)),
            }
        })
    }

    /// Whether every position is promised to hold a value.
    pub(crate) fn promises_all(&self) -> bool {
        self.entries().iter().all(|entry| !matches!(entry.held, Held::Run(Content::Gap(_))))
    }

    /// Appends `count` elements; a run that continues the last one is joined to it.
    pub fn push(&mut self, count: u64, content: Content) {
        self.push_held(count, Held::Run(content));
    }

    /// Appends all of another vector.
    pub fn extend(&mut self, other: &Self) {
        let mut start = 0_u64;
        for entry in other.entries() {
            self.push_held(entry.end.saturating_sub(start), entry.held.clone());
            start = entry.end;
        }
    }

    /// The runs within `positions`, cut to it, positions counted from its start.
    pub fn within(&self, positions: Range<u64>) -> Runs<'_> {
        Runs::new(self.entries(), positions)
    }

    /// The elements at `positions`; `None` if the vector has no such positions.
    pub fn slice(&self, positions: Range<u64>) -> Option<Self> {
        if positions.start > positions.end || positions.end > self.count() {
            return None;
        }
        let entries = self.entries();
        let first = entries.partition_point(|entry| entry.end <= positions.start);
        let mut slice = Self::empty(self.dtype);
        let before = first.checked_sub(1).and_then(|before| entries.get(before));
        let mut start = before.map_or(0, |entry| entry.end);
        for entry in entries.get(first..)? {
            if start >= positions.end {
                break;
            }
            let from = positions.start.max(start).saturating_sub(start);
            let to = positions.end.min(entry.end).saturating_sub(start);
            let held = match &entry.held {
                Held::Run(content) => Held::Run(content.shifted(from)),
                Held::Series(series) => series.cut(from..to)?,
            };
            slice.push_held(to.saturating_sub(from), held);
            start = entry.end;
        }
        Some(slice)
    }

    /// The same vector with `piece` from `start` on in place of what was there.
    pub fn replaced(&self, start: u64, piece: &Self) -> Option<Self> {
        let end = start.checked_add(piece.count())?;
        let mut whole = self.slice(0..start)?;
        whole.extend(piece);
        whole.extend(&self.slice(end..self.count())?);
        Some(whole)
    }

    /// Every content changed by `change`, run by run.
    #[must_use]
    pub fn map(&self, dtype: Dtype, mut change: impl FnMut(Placed) -> Placed) -> Self {
        let mut mapped = Self::empty(dtype);
        let mut start = 0_u64;
        for entry in self.entries() {
            let count = entry.end.saturating_sub(start);
            match &entry.held {
                Held::Run(Content::Term(placed)) => {
                    mapped.push(count, Content::Term(change(*placed)));
                }
                Held::Run(gap) => mapped.push(count, *gap),
                Held::Series(series) => match series.map(count, &mut change) {
                    Some(series) => mapped.push_held(count, Held::Series(Box::new(series))),
                    None => {
                        for run in self.within(start..entry.end) {
                            let content = match run.content {
                                Content::Term(placed) => Content::Term(change(placed)),
                                gap @ Content::Gap(_) => gap,
                            };
                            mapped.push(run.count(), content);
                        }
                    }
                },
            }
            start = entry.end;
        }
        mapped
    }

    fn entries(&self) -> &[Entry] {
        match &self.entries {
            Entries::None => &[],
            Entries::One(entry) => core::slice::from_ref(entry),
            Entries::Many(entries) => entries,
        }
    }

    fn push_held(&mut self, count: u64, held: Held) {
        if count == 0 {
            return;
        }
        let start = self.count();
        let end = start.saturating_add(count);
        let mut before = 0;
        let last = match &mut self.entries {
            Entries::None => None,
            Entries::One(entry) => Some(entry),
            Entries::Many(entries) => {
                let index = entries.len().checked_sub(2);
                before = index.and_then(|index| entries.get(index)).map_or(0, |entry| entry.end);
                entries.last_mut()
            }
        };
        if let (Some(Entry { end: last, held: Held::Run(content) }), Held::Run(next)) =
            (last, &held)
            && content.shifted(start.saturating_sub(before)) == *next
        {
            *last = end;
            return;
        }
        let entry = Entry { end, held };
        self.entries = match core::mem::replace(&mut self.entries, Entries::None) {
            Entries::None => Entries::One(entry),
            Entries::One(first) => Entries::Many(alloc::vec![first, entry]),
            Entries::Many(mut entries) => {
                entries.push(entry);
                Entries::Many(entries)
            }
        };
    }

    fn is_plain(&self) -> bool {
        self.entries().iter().all(|entry| matches!(entry.held, Held::Run(_)))
    }

    /// Whether both are kept as the same; then they are equal.
    pub(crate) fn is_kept_like(&self, other: &Self) -> bool {
        self.dtype == other.dtype && self.entries() == other.entries()
    }
}

impl PartialEq for Vector {
    fn eq(&self, other: &Self) -> bool {
        self.is_kept_like(other)
            || self.dtype == other.dtype
                && self.count() == other.count()
                // Runs that are kept as such are joined: kept otherwise, they differ.
                && !(self.is_plain() && other.is_plain())
                && self.runs().eq(other.runs())
    }
}

impl Eq for Vector {}

impl Run {
    /// Whether nothing is promised of its positions.
    pub const fn is_gap(&self) -> bool {
        matches!(self.content, Content::Gap(_))
    }

    /// The number of positions.
    pub const fn count(&self) -> u64 {
        self.positions.end.saturating_sub(self.positions.start)
    }
}
