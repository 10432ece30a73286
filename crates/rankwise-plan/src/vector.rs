//! Vectors of terms: what a buffer holds, run by run.

use alloc::vec::Vec;
use core::ops::Range;

use rankwise_model::Dtype;

use crate::term::Placed;

/// What a buffer holds, as runs in order and without holes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vector {
    dtype: Dtype,
    runs: Vec<Run>,
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
        Self { dtype, runs: Vec::new() }
    }

    /// A vector of `count` elements that hold one run.
    pub fn of(dtype: Dtype, count: u64, content: Content) -> Self {
        let mut vector = Self::empty(dtype);
        vector.push(count, content);
        vector
    }

    /// The element type.
    pub const fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The number of elements.
    pub fn count(&self) -> u64 {
        self.runs.last().map_or(0, |run| run.positions.end)
    }

    /// Whether any position is promised to hold a value.
    pub fn promises_any(&self) -> bool {
        self.runs.iter().any(|run| !run.is_gap())
    }

    /// The runs, in order; adjacent ones never continue each other.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Appends `count` elements; a run that continues the last one is joined to it.
    pub fn push(&mut self, count: u64, content: Content) {
        if count == 0 {
            return;
        }
        if let Some(last) = self.runs.last_mut() {
            let held = last.positions.end.saturating_sub(last.positions.start);
            if last.content.shifted(held) == content {
                last.positions.end = last.positions.end.saturating_add(count);
                return;
            }
        }
        let start = self.count();
        self.runs.push(Run { positions: start..start.saturating_add(count), content });
    }

    /// Appends all of another vector.
    pub fn extend(&mut self, other: &Self) {
        for run in &other.runs {
            self.push(run.count(), run.content);
        }
    }

    /// The runs within `positions`, cut to it, positions counted from its start.
    pub fn within(&self, positions: Range<u64>) -> impl Iterator<Item = Run> + '_ {
        let first = self.runs.partition_point(|run| run.positions.end <= positions.start);
        let cut = positions.clone();
        self.runs.iter().skip(first).take_while(move |run| run.positions.start < positions.end).map(
            move |run| {
                let start = run.positions.start.max(cut.start);
                let end = run.positions.end.min(cut.end);
                Run {
                    positions: start.saturating_sub(cut.start)..end.saturating_sub(cut.start),
                    content: run.content.shifted(start.saturating_sub(run.positions.start)),
                }
            },
        )
    }

    /// The elements at `positions`; `None` if the vector has no such positions.
    pub fn slice(&self, positions: Range<u64>) -> Option<Self> {
        if positions.start > positions.end || positions.end > self.count() {
            return None;
        }
        let mut slice = Self::empty(self.dtype);
        for run in self.within(positions) {
            slice.push(run.count(), run.content);
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
        for run in &self.runs {
            let content = match run.content {
                Content::Term(placed) => Content::Term(change(placed)),
                gap @ Content::Gap(_) => gap,
            };
            mapped.push(run.count(), content);
        }
        mapped
    }
}

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

/// Cuts several vectors of one length at every boundary that any of them has, and
/// hands out the contents side by side.
///
/// Ends with the shortest.
pub fn side_by_side<'a>(
    vectors: &'a [&'a Vector],
) -> impl Iterator<Item = (Range<u64>, Vec<Content>)> + 'a {
    let mut next = alloc::vec![0_usize; vectors.len()];
    let mut start = 0_u64;
    core::iter::from_fn(move || {
        let mut end = u64::MAX;
        for (vector, index) in vectors.iter().zip(&next) {
            end = end.min(vector.runs.get(*index)?.positions.end);
        }
        let mut contents = Vec::with_capacity(vectors.len());
        for (vector, index) in vectors.iter().zip(&mut next) {
            let run = vector.runs.get(*index)?;
            contents.push(run.content.shifted(start.saturating_sub(run.positions.start)));
            if run.positions.end == end {
                *index = index.saturating_add(1);
            }
        }
        let segment = start..end;
        start = end;
        (!vectors.is_empty()).then_some((segment, contents))
    })
}
