//! Vectors run by run, alone and side by side.

use alloc::vec::Vec;
use core::ops::Range;

use super::{Content, Entry, Held, Run, Vector};

/// The runs of a part of a vector, in order; adjacent ones never continue each other.
#[derive(Clone, Debug)]
pub struct Runs<'a> {
    pieces: Pieces<'a>,
    /// A piece that does not continue the run before it.
    waiting: Option<Run>,
}

impl<'a> Runs<'a> {
    pub(super) fn new(entries: &'a [Entry], positions: Range<u64>) -> Self {
        let first = entries.partition_point(|entry| entry.end <= positions.start);
        let before = first.checked_sub(1).and_then(|before| entries.get(before));
        let pieces = Pieces {
            entries: entries.get(first..).unwrap_or_default(),
            start: before.map_or(0, |entry| entry.end),
            next: positions.start,
            positions,
        };
        Self { pieces, waiting: None }
    }
}

impl Iterator for Runs<'_> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        let mut run = self.waiting.take().or_else(|| self.pieces.next())?;
        for next in self.pieces.by_ref() {
            if run.content.shifted(run.count()) != next.content {
                self.waiting = Some(next);
                break;
            }
            run.positions.end = next.positions.end;
        }
        Some(run)
    }
}

/// The runs as they are kept: some may continue each other.
#[derive(Clone, Debug)]
struct Pieces<'a> {
    /// From the one that has the next position on.
    entries: &'a [Entry],
    /// Where the first of them starts.
    start: u64,
    next: u64,
    positions: Range<u64>,
}

impl Iterator for Pieces<'_> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        let (entry, others) = self.entries.split_first()?;
        if self.next >= self.positions.end {
            return None;
        }
        let into = self.next.saturating_sub(self.start);
        let (content, end) = match &entry.held {
            Held::Run(content) => (content.shifted(into), entry.end),
            Held::Series(series) => {
                let (content, left) = series.run_at(into)?;
                (content, entry.end.min(self.next.saturating_add(left)))
            }
        };
        let from = self.next.saturating_sub(self.positions.start);
        self.next = end.min(self.positions.end);
        if self.next == entry.end {
            (self.entries, self.start) = (others, entry.end);
        }
        let to = self.next.saturating_sub(self.positions.start);
        Some(Run { positions: from..to, content })
    }
}

/// Cuts several vectors of one length at every boundary that any of them has, and
/// hands out the contents side by side.
///
/// Ends with the shortest.
pub fn side_by_side<'a>(
    vectors: &'a [&'a Vector],
) -> impl Iterator<Item = (Range<u64>, Vec<Content>)> + 'a {
    let mut lanes: Vec<(Runs<'_>, Option<Run>)> = Vec::with_capacity(vectors.len());
    for vector in vectors {
        let mut runs = vector.runs();
        let first = runs.next();
        lanes.push((runs, first));
    }
    let mut start = 0_u64;
    core::iter::from_fn(move || {
        let mut end = u64::MAX;
        for (_, run) in &lanes {
            end = end.min(run.as_ref()?.positions.end);
        }
        let mut contents = Vec::with_capacity(lanes.len());
        for (runs, current) in &mut lanes {
            let run = current.as_ref()?;
            contents.push(run.content.shifted(start.saturating_sub(run.positions.start)));
            if run.positions.end == end {
                *current = runs.next();
            }
        }
        let segment = start..end;
        start = end;
        (!vectors.is_empty()).then_some((segment, contents))
    })
}
