//! Buffers as runs of positions.

use alloc::vec::Vec;

use crate::number::Dtype;
use crate::term::Placed;

/// What a run of positions holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Position `k` of the run holds the term from `at + k` on.
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
    end: u64,
    content: Content,
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
        u64::try_from(self.runs.len()).unwrap_or(u64::MAX)
    }

    /// Whether anything is promised of any position.
    pub(crate) fn has_values(&self) -> bool {
        self.runs.iter().any(|run| !matches!(run.content, Content::Nothing))
    }

    /// Appends positions; `None` if the length no longer fits.
    pub(crate) fn push(&mut self, count: u64, content: Content) -> Option<()> {
        let start = self.count();
        let end = start.checked_add(count)?;
        if count == 0 {
            return Some(());
        }
        let begun = self.runs.len().checked_sub(2).and_then(|at| self.runs.get(at));
        let begun = begun.map_or(0, |run| run.end);
        match self.runs.last_mut() {
            Some(last) if last.content.later(start.saturating_sub(begun)) == content => {
                last.end = end;
            }
            _ => self.runs.push(Run { end, content }),
        }
        Some(())
    }

    /// Appends the positions of another from `start` on; `None` if it has them not.
    pub(crate) fn append(&mut self, other: &Self, start: u64, count: u64) -> Option<()> {
        let end = start.checked_add(count).filter(|end| *end <= other.count())?;
        let first = other.runs.partition_point(|run| run.end <= start);
        let mut at = start;
        let mut from = first.checked_sub(1).and_then(|before| other.runs.get(before));
        for run in other.runs.get(first..)? {
            if at >= end {
                break;
            }
            let begun = from.map_or(0, |run| run.end);
            let to = run.end.min(end);
            self.push(to.saturating_sub(at), run.content.later(at.saturating_sub(begun)))?;
            at = to;
            from = Some(run);
        }
        Some(())
    }

    /// The same with another in place of what was there from `start` on.
    pub(crate) fn with(&self, start: u64, part: &Self) -> Option<Self> {
        let end = start.checked_add(part.count())?;
        let mut whole = Self::empty(self.dtype);
        whole.append(self, 0, start)?;
        whole.append(part, 0, part.count())?;
        whole.append(self, end, self.count().checked_sub(end)?)?;
        Some(whole)
    }

    /// What one position holds.
    pub(crate) fn at(&self, position: u64) -> Content {
        let index = self.runs.partition_point(|run| run.end <= position);
        let begun = index.checked_sub(1).and_then(|before| self.runs.get(before));
        let begun = begun.map_or(0, |run| run.end);
        let content = self.runs.get(index).map_or(Content::Nothing, |run| run.content);
        content.later(position.saturating_sub(begun))
    }
}

/// Several vectors cut at every boundary that any of them has: so many positions, and
/// what each holds there. Up to the longest; past its own end a vector promises nothing.
pub(crate) fn side_by_side<'a>(
    vectors: &'a [&'a Vector],
) -> impl Iterator<Item = (u64, Vec<Content>)> + 'a {
    let length = vectors.iter().map(|vector| vector.count()).max().unwrap_or(0);
    let mut next = alloc::vec![0_usize; vectors.len()];
    let mut begun = alloc::vec![0_u64; vectors.len()];
    let mut start = 0;
    core::iter::from_fn(move || {
        if start >= length {
            return None;
        }
        let run = |vector: &&Vector, index: &usize| vector.runs.get(*index).copied();
        let ends = vectors.iter().zip(&next).filter_map(|(vector, index)| run(vector, index));
        let end = ends.map(|run| run.end).min()?;
        let mut contents = Vec::with_capacity(vectors.len());
        for ((vector, index), begun) in vectors.iter().zip(&mut next).zip(&mut begun) {
            let Some(run) = run(vector, index) else {
                contents.push(Content::Nothing);
                continue;
            };
            contents.push(run.content.later(start.saturating_sub(*begun)));
            if run.end == end {
                *index = index.saturating_add(1);
                *begun = end;
            }
        }
        let count = end.saturating_sub(start);
        start = end;
        Some((count, contents))
    })
}
