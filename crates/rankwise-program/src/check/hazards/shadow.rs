//! Who touched each position of a buffer last.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;

use crate::report::Access;

/// A buffer's bytes in stretches that have been touched by the same.
#[derive(Default)]
pub(super) struct Shadow(BTreeMap<u64, Stretch>);

#[derive(Clone)]
struct Stretch {
    end: u64,
    /// At most one per stream and access.
    lasts: Vec<Last>,
}

/// The last unit of a stream that touched something in a way.
#[derive(Clone, Copy)]
pub(super) struct Last {
    pub(super) stream: usize,
    pub(super) access: Access,
    /// Its index in the stream.
    pub(super) index: u64,
    /// The number of the touch.
    pub(super) touch: usize,
}

impl Shadow {
    /// Who touched something in a range, with the part of the range.
    pub(super) fn touches(&self, range: &Range<u64>) -> impl Iterator<Item = (Range<u64>, &Last)> {
        let (start, end) = (range.start, range.end);
        let first = self.0.range(..=start).next_back().map_or(start, |(at, _)| *at);
        let stretches = self.0.range(first..end).filter(move |(_, stretch)| stretch.end > start);
        stretches.flat_map(move |(at, stretch)| {
            let part = start.max(*at)..end.min(stretch.end);
            stretch.lasts.iter().map(move |last| (part.clone(), last))
        })
    }

    /// Remembers that a range has been touched.
    pub(super) fn touch(&mut self, range: &Range<u64>, touch: Last) {
        self.split(range.start);
        self.split(range.end);
        let mut gaps: Vec<Range<u64>> = Vec::new();
        let mut next = range.start;
        for (start, stretch) in self.0.range_mut(range.clone()) {
            if next < *start {
                gaps.push(next..*start);
            }
            next = stretch.end;
            let same =
                |last: &&mut Last| (last.stream, last.access) == (touch.stream, touch.access);
            match stretch.lasts.iter_mut().find(same) {
                Some(last) => *last = touch,
                None => stretch.lasts.push(touch),
            }
        }
        if next < range.end {
            gaps.push(next..range.end);
        }
        for gap in gaps {
            self.0.insert(gap.start, Stretch { end: gap.end, lasts: Vec::from([touch]) });
        }
    }

    /// Lets a stretch begin at a position, if one covers it.
    fn split(&mut self, at: u64) {
        if let Some((start, stretch)) = self.0.range_mut(..=at).next_back()
            && *start < at
            && at < stretch.end
        {
            let rest = stretch.clone();
            stretch.end = at;
            self.0.insert(at, rest);
        }
    }
}
