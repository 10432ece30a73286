//! Which bytes a collective reads and writes, and whether any two sides collide.

use rankwise_model::reference::Side;
use rankwise_model::{Dtype, Element, ElementVisitor, Layout, Operation, Rank, RankLayout};

use super::job_error::JobError;
use super::seat::{Seat, Span};

/// The sides that are really used, trimmed to their lengths; by rank.
pub(super) struct Sides {
    pub(super) input: Option<Span>,
    pub(super) output: Option<Span>,
}

/// Bytes that one rank touches.
pub(super) struct Touched {
    span: Span,
    rank: Rank,
    side: Side,
}

/// One rank's sides, once their presence, length and alignment are checked.
pub(super) fn sides(at: &RankLayout, seat: &Seat, size: Size) -> Result<Sides, JobError> {
    let side = |side, holds: bool, length, span| {
        if holds { checked(at, side, length, span, size) } else { Ok(None) }
    };
    Ok(Sides {
        input: side(Side::Input, at.has_input(), at.input_len(), seat.input)?,
        output: side(Side::Output, at.has_output(), at.output_len(), seat.output)?,
    })
}

/// An element type, and its size as an address sees it.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) dtype: Dtype,
    pub(super) bytes: usize,
}

impl Size {
    pub(super) fn of(dtype: Dtype) -> Self {
        struct SizeOf;
        impl ElementVisitor for SizeOf {
            type Output = usize;
            fn visit<T: Element>(self) -> usize {
                size_of::<T>()
            }
        }
        Self { dtype, bytes: dtype.visit(SizeOf) }
    }
}

fn checked(
    at: &RankLayout,
    side: Side,
    length: u64,
    span: Option<Span>,
    size: Size,
) -> Result<Option<Span>, JobError> {
    let (operation, rank) = (at.layout().operation(), at.rank());
    // Saturated, it is still longer than any span.
    let needed = length.saturating_mul(size.dtype.bytes());
    if needed == 0 {
        return Ok(None);
    }
    let span = span.ok_or(JobError::Missing { operation, rank, side, needed })?;
    let part = usize::try_from(needed).ok().and_then(|needed| span.part(0, needed));
    let part = part.ok_or_else(|| {
        let found = u64::try_from(span.bytes()).unwrap_or(u64::MAX);
        JobError::Short { operation, rank, side, needed, found }
    })?;
    let address = span.address();
    if !address.is_multiple_of(size.bytes) {
        return Err(JobError::Misaligned { operation, rank, side, dtype: size.dtype, address });
    }
    Ok(Some(part))
}

/// Whether any rank's sides lie in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    OutOfPlace,
    InPlace,
}

/// Checks that nobody writes what another reads or writes, in `O(n log n)`.
///
/// Two ranks may read the same bytes. `touched` is room for it, and left empty.
pub(super) fn check(
    layout: &Layout,
    sides: &[Sides],
    size: Size,
    touched: &mut Vec<Touched>,
) -> Result<Placement, JobError> {
    let operation = layout.operation();
    let mut placement = Placement::OutOfPlace;
    touched.clear();
    for (at, Sides { input, output }) in layout.each().zip(sides) {
        let rank = at.rank();
        // In place, the two are one run of bytes that is written.
        if let (Some(input), Some(output)) = (*input, *output)
            && let Some(span) = in_place(&at, input, output, size)
        {
            placement = Placement::InPlace;
            touched.push(Touched { span, rank, side: Side::InPlace });
            continue;
        }
        touched.extend(input.map(|span| Touched { span, rank, side: Side::Input }));
        touched.extend(output.map(|span| Touched { span, rank, side: Side::Output }));
    }
    touched.sort_unstable_by_key(|touched| touched.span.address());
    let checked = check_sorted(operation, touched);
    touched.clear();
    checked.map(|()| placement)
}

/// The one run of bytes that holds both sides, if they lie in the in-place relation.
fn in_place(at: &RankLayout, input: Span, output: Span, size: Size) -> Option<Span> {
    let relation = at.in_place()?;
    let offset = |elements: u64| usize::try_from(elements).ok()?.checked_mul(size.bytes);
    let whole = |side: Span, from: u64| side.address().checked_sub(offset(from)?);
    let start = whole(input, relation.input.start)?;
    if start != whole(output, relation.output.start)? {
        return None;
    }
    let first = if input.address() <= output.address() { input } else { output };
    (first.address() == start)
        .then(|| offset(relation.buffer_len))
        .flatten()
        .map(|buffer| Span::new(first.start(), buffer))
}

/// Of runs in the order of their starts: whoever starts before the furthest end so far
/// overlaps whoever ends there.
fn check_sorted(operation: Operation, touched: &[Touched]) -> Result<(), JobError> {
    let end = |touched: &Touched| touched.span.address().saturating_add(touched.span.bytes());
    let mut furthest: Option<&Touched> = None;
    let mut furthest_written: Option<&Touched> = None;
    for next in touched {
        let writes = next.side != Side::Input;
        let before = if writes { furthest } else { furthest_written };
        if let Some(before) = before
            && end(before) > next.span.address()
        {
            let shared = end(before).min(end(next)).saturating_sub(next.span.address());
            let (first, second) = ((before.rank, before.side), (next.rank, next.side));
            return Err(JobError::Overlap { operation, first, second, bytes: shared });
        }
        let further = |known: Option<&Touched>| known.is_none_or(|known| end(known) < end(next));
        if further(furthest) {
            furthest = Some(next);
        }
        if writes && further(furthest_written) {
            furthest_written = Some(next);
        }
    }
    Ok(())
}
