//! The pieces of all outputs, grouped so that what is equal is read once.

use core::ops::Range;

use rankwise_model::reference::Side;
use rankwise_model::{Layout, Rank, Source};

use super::footprint::{Sides, Size};
use super::job_error::JobError;
use super::seat::Span;

/// Equal positions of equal sources, and every output that wants them.
pub(super) struct Stroke {
    /// Its place on the line of all strokes, in elements.
    pub(super) line: Range<usize>,
    /// What is read.
    pub(super) origin: Origin,
    /// Which of the targets it is stored to; each as long as the stroke.
    pub(super) targets: Range<usize>,
}

/// What a stroke reads.
pub(super) enum Origin {
    /// One of the sources, as long as the stroke.
    Moved {
        /// Its place among them.
        source: usize,
    },
    /// Every rank's input, from this byte on.
    Folded {
        /// The offset in each input, in bytes.
        from: usize,
    },
}

/// Every stroke of a collective, laid end to end: what it is, whatever the memory.
pub(super) struct Strokes {
    pub(super) list: Vec<Stroke>,
    /// Parts of inputs that are moved.
    sources: Vec<Part>,
    /// Parts of outputs.
    targets: Vec<Part>,
    /// The length of the line, in elements.
    pub(super) line: usize,
    /// Bytes read and bytes written in all.
    pub(super) weight: u64,
}

/// Some elements of one rank's side.
#[derive(Clone, Copy)]
struct Part {
    rank: Rank,
    from: u64,
    length: u64,
}

/// Where the strokes of a collective lie in memory.
#[derive(Default)]
pub(super) struct Placed {
    pub(super) sources: Vec<Span>,
    pub(super) targets: Vec<Span>,
}

/// A piece of one rank's output, with what tells one stroke from another first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Wanted {
    key: Key,
    rank: Rank,
    output_start: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// Where in the source it starts; the source, `None` for all of them; its length.
    start: u64,
    source: Option<Rank>,
    length: u64,
}

impl Strokes {
    /// Groups the pieces of `layout`.
    pub(super) fn of(layout: &Layout, size: Size) -> Self {
        let mut wanted = Vec::new();
        for at in layout.each() {
            wanted.extend(at.pieces().map(|piece| {
                let length = piece.output.end.saturating_sub(piece.output.start);
                let source = match piece.source {
                    Source::Rank(rank) => Some(rank),
                    Source::EveryRank => None,
                };
                let key = Key { start: piece.start, source, length };
                Wanted { key, rank: at.rank(), output_start: piece.output.start }
            }));
        }
        wanted.sort_unstable();

        let target = |wanted: &Wanted| Part {
            rank: wanted.rank,
            from: wanted.output_start,
            length: wanted.key.length,
        };
        let targets = wanted.iter().map(target).collect();
        let (list, sources) = (Vec::new(), Vec::new());
        let mut strokes = Self { list, sources, targets, line: 0, weight: 0 };
        let ranks = usize::try_from(layout.ranks().get()).unwrap_or(usize::MAX);
        let mut first_target = 0_usize;
        for same in wanted.chunk_by(|a, b| a.key == b.key) {
            let Some(&Wanted { key, .. }) = same.first() else { continue };
            let (origin, sources) = match key.source {
                Some(rank) => {
                    let source = strokes.sources.len();
                    strokes.sources.push(Part { rank, from: key.start, length: key.length });
                    (Origin::Moved { source }, 1)
                }
                None => (Origin::Folded { from: in_bytes(key.start, size) }, ranks),
            };
            let length = usize::try_from(key.length).unwrap_or(usize::MAX);
            let line = strokes.line..strokes.line.saturating_add(length);
            let targets = first_target..first_target.saturating_add(same.len());
            let sides = sources.saturating_add(same.len());
            let weight = in_bytes(key.length, size).saturating_mul(sides);
            let weight = u64::try_from(weight).unwrap_or(u64::MAX);
            strokes.weight = strokes.weight.saturating_add(weight);
            (strokes.line, first_target) = (line.end, targets.end);
            strokes.list.push(Stroke { line, origin, targets });
        }
        strokes
    }

    /// Finds the strokes of `layout` in memory; every span lies inside its side.
    pub(super) fn place(
        &self,
        layout: &Layout,
        sides: &[Sides],
        size: Size,
        placed: &mut Placed,
    ) -> Result<(), JobError> {
        let Placed { sources, targets } = placed;
        sources.clear();
        targets.clear();
        for source in &self.sources {
            sources.push(part(layout, sides, size, Side::Input, *source)?);
        }
        for target in &self.targets {
            targets.push(part(layout, sides, size, Side::Output, *target)?);
        }
        // A fold reads the same elements of every input.
        for stroke in &self.list {
            let Origin::Folded { from } = stroke.origin else { continue };
            let bytes = stroke.line.len().saturating_mul(size.bytes);
            for (rank, side) in layout.ranks().ranks().zip(sides) {
                if side.input.is_none_or(|input| input.part(from, bytes).is_none()) && bytes > 0 {
                    let (operation, side) = (layout.operation(), Side::Input);
                    let needed = from.saturating_add(bytes);
                    let needed = u64::try_from(needed).unwrap_or(u64::MAX);
                    return Err(JobError::Missing { operation, rank, side, needed });
                }
            }
        }
        Ok(())
    }
}

/// Elements as bytes. Saturated, it is beyond any span.
fn in_bytes(elements: u64, size: Size) -> usize {
    usize::try_from(elements).unwrap_or(usize::MAX).saturating_mul(size.bytes)
}

/// Some elements of one side in memory. An error here would be a contradiction between the
/// layout's lengths and its pieces, which is not believed but checked.
fn part(
    layout: &Layout,
    sides: &[Sides],
    size: Size,
    side: Side,
    Part { rank, from, length }: Part,
) -> Result<Span, JobError> {
    let operation = layout.operation();
    let needed = from.saturating_add(length).saturating_mul(size.dtype.bytes());
    let sides = usize::try_from(rank.index()).ok().and_then(|rank| sides.get(rank));
    let whole = sides.and_then(|sides| match side {
        Side::Output => sides.output,
        _ => sides.input,
    });
    let whole = whole.ok_or(JobError::Missing { operation, rank, side, needed })?;
    whole.part(in_bytes(from, size), in_bytes(length, size)).ok_or_else(|| {
        let found = u64::try_from(whole.bytes()).unwrap_or(u64::MAX);
        JobError::Short { operation, rank, side, needed, found }
    })
}
