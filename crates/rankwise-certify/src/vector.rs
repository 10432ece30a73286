//! Buffers as runs of positions.

use alloc::vec::Vec;

use crate::list::count;
use crate::number::Dtype;
use crate::term::Placed;

/// What a run of positions holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Position `k` of the run holds the term, read `k` positions later.
    Term(Placed),
    /// No value is promised.
    Nothing,
    /// Something that a reduction without a name made: it equals nothing.
    Unnamed,
}

impl Content {
    pub(crate) const fn later(self, by: u64) -> Self {
        match self {
            Self::Term(placed) => Self::Term(placed.later(by)),
            other => other,
        }
    }
}

/// What a buffer holds: runs in order, without holes.
#[derive(Clone, Debug)]
pub(crate) struct Vector {
    pub(crate) dtype: Dtype,
    runs: Vec<Run>,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    start: u64,
    end: u64,
    content: Content,
}

impl Run {
    const fn at(&self, position: u64) -> Content {
        self.content.later(position.saturating_sub(self.start))
    }
}

impl Vector {
    pub(crate) const fn empty(dtype: Dtype) -> Self {
        Self { dtype, runs: Vec::new() }
    }

    pub(crate) fn of(dtype: Dtype, count: u64, content: Content) -> Self {
        let mut vector = Self::empty(dtype);
        // It starts empty: any count fits.
        let _ = vector.push(count, content);
        vector
    }

    pub(crate) fn count(&self) -> u64 {
        self.runs.last().map_or(0, |run| run.end)
    }

    /// How many runs it takes.
    pub(crate) fn runs(&self) -> u64 {
        count(&self.runs)
    }

    /// Whether anything is promised of any position.
    pub(crate) fn has_values(&self) -> bool {
        self.runs.iter().any(|run| run.content != Content::Nothing)
    }

    /// Appends positions; `None` if the length no longer fits.
    pub(crate) fn push(&mut self, count: u64, content: Content) -> Option<()> {
        let start = self.count();
        let end = start.checked_add(count)?;
        match self.runs.last_mut() {
            _ if count == 0 => {}
            Some(last) if last.at(start) == content => last.end = end,
            _ => self.runs.push(Run { start, end, content }),
        }
        Some(())
    }

    /// Appends the positions of another from `start` on; `None` if it has them not.
    pub(crate) fn append(&mut self, other: &Self, start: u64, count: u64) -> Option<()> {
        let end = start.checked_add(count).filter(|end| *end <= other.count())?;
        let first = other.runs.partition_point(|run| run.end <= start);
        for run in other.runs.get(first..)?.iter().take_while(|run| run.start < end) {
            let from = run.start.max(start);
            self.push(run.end.min(end).saturating_sub(from), run.at(from))?;
        }
        Some(())
    }

    /// So many positions from `start` on, if it has them.
    pub(crate) fn part(&self, start: u64, count: u64) -> Option<Self> {
        let mut part = Self::empty(self.dtype);
        part.append(self, start, count)?;
        Some(part)
    }

    /// The same with another in place of what was there from `start` on.
    pub(crate) fn with(&self, start: u64, part: &Self) -> Option<Self> {
        let end = start.checked_add(part.count())?;
        let mut whole = self.part(0, start)?;
        whole.append(part, 0, part.count())?;
        whole.append(self, end, self.count().checked_sub(end)?)?;
        Some(whole)
    }

    /// What one position holds; past the end, nothing.
    pub(crate) fn at(&self, position: u64) -> Content {
        let index = self.runs.partition_point(|run| run.end <= position);
        self.runs.get(index).map_or(Content::Nothing, |run| run.at(position))
    }
}

/// Several vectors cut at every boundary that any of them has: so many positions, and
/// what each holds there. Up to the longest; past its own end a vector promises nothing.
pub(crate) fn side_by_side<'a>(
    vectors: &[&'a Vector],
) -> impl Iterator<Item = (u64, Vec<Content>)> + use<'a> {
    let mut rest: Vec<&[Run]> = vectors.iter().map(|vector| vector.runs.as_slice()).collect();
    let mut start = 0;
    core::iter::from_fn(move || {
        let end = rest.iter().filter_map(|runs| runs.first()).map(|run| run.end).min()?;
        let contents = rest.iter_mut().map(|runs| {
            let Some((run, later)) = runs.split_first() else { return Content::Nothing };
            if run.end == end {
                *runs = later;
            }
            run.at(start)
        });
        let cut = (end.saturating_sub(start), contents.collect());
        start = end;
        Some(cut)
    })
}
