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
    /// Which of [`Strokes::targets`] it is stored to; each as long as the stroke.
    pub(super) targets: Range<usize>,
}

/// What a stroke reads.
pub(super) enum Origin {
    /// One rank's bytes, as long as the stroke.
    Moved(Span),
    /// Every rank's input, from this byte on.
    Folded {
        /// The offset in each input, in bytes.
        from: usize,
    },
}

/// Every stroke of a collective, laid end to end.
pub(super) struct Strokes {
    pub(super) list: Vec<Stroke>,
    pub(super) targets: Vec<Span>,
    /// The length of the line, in elements.
    pub(super) line: usize,
    /// Bytes read and bytes written in all.
    pub(super) weight: u64,
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
    /// Groups the pieces of `layout`; every span of the result lies inside its side.
    pub(super) fn of(layout: &Layout, sides: &[Sides], size: Size) -> Result<Self, JobError> {
        let mut wanted = Vec::with_capacity(sides.len());
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

        let part = |rank: Rank, side, from: u64, length: u64| {
            part(layout, sides, size, (rank, side), from..from.saturating_add(length))
        };
        let targets = wanted
            .iter()
            .map(|wanted| part(wanted.rank, Side::Output, wanted.output_start, wanted.key.length))
            .collect::<Result<Vec<_>, _>>()?;

        let mut strokes = Self { list: Vec::new(), targets, line: 0, weight: 0 };
        let mut first_target = 0_usize;
        for same in wanted.chunk_by(|a, b| a.key == b.key) {
            let Some(&Wanted { key, .. }) = same.first() else { continue };
            let (origin, bytes, sources) = match key.source {
                Some(rank) => {
                    let span = part(rank, Side::Input, key.start, key.length)?;
                    (Origin::Moved(span), span.bytes(), 1)
                }
                None => {
                    let mut bytes = 0;
                    for rank in layout.ranks().ranks() {
                        bytes = part(rank, Side::Input, key.start, key.length)?.bytes();
                    }
                    (Origin::Folded { from: in_bytes(key.start, size) }, bytes, sides.len())
                }
            };
            let line = strokes.line..strokes.line.saturating_add(bytes.div_euclid(size.bytes));
            let targets = first_target..first_target.saturating_add(same.len());
            let sides = sources.saturating_add(same.len());
            let weight = u64::try_from(bytes.saturating_mul(sides)).unwrap_or(u64::MAX);
            strokes.weight = strokes.weight.saturating_add(weight);
            (strokes.line, first_target) = (line.end, targets.end);
            strokes.list.push(Stroke { line, origin, targets });
        }
        Ok(strokes)
    }
}

/// Elements as bytes. Saturated, it is beyond any span.
fn in_bytes(elements: u64, size: Size) -> usize {
    usize::try_from(elements).unwrap_or(usize::MAX).saturating_mul(size.bytes)
}

/// Some elements of one side. An error here would be a contradiction between the
/// layout's lengths and its pieces, which is not believed but checked.
fn part(
    layout: &Layout,
    sides: &[Sides],
    size: Size,
    (rank, side): (Rank, Side),
    elements: Range<u64>,
) -> Result<Span, JobError> {
    let operation = layout.operation();
    let needed = elements.end.saturating_mul(size.dtype.bytes());
    let sides = usize::try_from(rank.index()).ok().and_then(|rank| sides.get(rank));
    let whole = sides.and_then(|sides| match side {
        Side::Output => sides.output,
        _ => sides.input,
    });
    let whole = whole.ok_or(JobError::Missing { operation, rank, side, needed })?;
    let from = in_bytes(elements.start, size);
    let bytes = in_bytes(elements.end, size).saturating_sub(from);
    whole.part(from, bytes).ok_or_else(|| {
        let found = u64::try_from(whole.bytes()).unwrap_or(u64::MAX);
        JobError::Short { operation, rank, side, needed, found }
    })
}
