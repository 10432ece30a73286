//! What the calls of one step touch, and whether they may.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use rankwise_topology::WorldRank;

use super::alike::Groups;
use crate::call::{Signature, Tag};
use crate::check::log::calls_of;
use crate::program::{Place, Planned, Step, View};
use crate::report::{Access, Touch, Unit};

/// One view that a call reads or writes.
#[derive(Clone)]
pub(super) struct Touched<'a> {
    pub(super) by: Caller<'a>,
    pub(super) access: Access,
    pub(super) view: &'a View,
    /// The positions in bytes.
    pub(super) bytes: Range<u64>,
}

/// Who touches.
#[derive(Clone, Copy)]
pub(super) struct Caller<'a> {
    pub(super) place: Place,
    pub(super) signature: Signature,
    pub(super) group: Option<&'a Arc<str>>,
    pub(super) stream: &'a Arc<str>,
    tag: Option<&'a Tag>,
    /// Bytes of an element.
    width: u64,
    layering: Layering,
}

/// Whether a call's output lies on its input as the operation allows it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Layering {
    InPlace,
    Apart,
}

impl Touched<'_> {
    /// As a report shows it.
    pub(super) fn shown(&self) -> Touch {
        Touch {
            place: self.by.place,
            signature: self.by.signature,
            group: self.by.group.cloned(),
            stream: self.by.stream.clone(),
            tag: self.by.tag.cloned(),
            access: self.access,
            view: self.view.clone(),
        }
    }

    /// Positions that both touch: in elements, if theirs are of one width.
    pub(super) fn shared_with(&self, other: &Self, bytes: &Range<u64>) -> (View, Unit) {
        let (unit, width) = match self.by.width {
            width if width == other.by.width => (Unit::Elements, width),
            _ => (Unit::Bytes, 1),
        };
        let of = |at: u64| if at == u64::MAX { at } else { at.checked_div(width).unwrap_or(at) };
        let buffer = self.view.buffer.clone();
        (View { buffer, start: of(bytes.start), end: of(bytes.end) }, unit)
    }
}

/// Every view that a step touches, empty ones left out.
pub(super) fn touched_by<'a>(
    groups: &Groups<'a>,
    place: Place,
    step: &'a Step,
) -> Vec<Touched<'a>> {
    let mut touched = Vec::new();
    if let Step::Local(local, _) = step {
        let caller = Caller {
            place,
            signature: Signature::local(),
            group: None,
            stream: &local.stream,
            tag: local.tag.as_ref(),
            width: local.dtype.bytes(),
            // What a kernel reads and writes of one buffer is its own affair.
            layering: Layering::InPlace,
        };
        let reader = Caller { width: local.read_dtype.bytes(), ..caller };
        add(reader, Access::Read, &local.buffers.reads, &mut touched);
        add(caller, Access::Write, &local.buffers.writes, &mut touched);
    }
    for (place, planned) in calls_of(place.rank, place.step, step) {
        let Some(payload) = planned.signature.payload() else { continue };
        let (layering, reads) = lies(groups, place.rank, planned);
        let caller = Caller {
            place,
            signature: planned.signature,
            group: Some(&planned.group),
            stream: &planned.stream,
            tag: planned.tag.as_ref(),
            width: payload.dtype.bytes(),
            layering,
        };
        add(caller, reads, &planned.buffers.reads, &mut touched);
        add(caller, Access::Write, &planned.buffers.writes, &mut touched);
    }
    touched
}

/// How a call's output lies on its input, and what becomes of the input.
pub(super) fn lies(groups: &Groups<'_>, rank: WorldRank, planned: &Planned) -> (Layering, Access) {
    // Of two buffers, none lies on the other, and nobody asks which way.
    if let ([read], [write]) = (&planned.buffers.reads[..], &planned.buffers.writes[..])
        && read.buffer != write.buffer
    {
        return (Layering::Apart, Access::Read);
    }
    let layout = || {
        let group = groups.get(&planned.group)?;
        let own = group.rank_of(rank)?;
        Some((planned.signature.layout(own, group.size())?.ok()?, own))
    };
    let Some((layout, own)) = layout() else { return (Layering::Apart, Access::Read) };
    let Ok(at) = layout.at(own) else { return (Layering::Apart, Access::Read) };
    if !(at.has_input() && at.has_output()) {
        // What it hands in for an output that it has no part in may be its input.
        return (Layering::InPlace, Access::Read);
    }
    if !planned.buffers.is_in_place(&at) {
        return (Layering::Apart, Access::Read);
    }
    // A reduction may use the rest of its input as scratch: no other call may read it.
    let scratch = layout.operation().kind().reduces() && at.input_len() > at.output_len();
    (Layering::InPlace, if scratch { Access::Write } else { Access::Read })
}

fn add<'a>(by: Caller<'a>, access: Access, views: &'a [View], into: &mut Vec<Touched<'a>>) {
    for view in views.iter().filter(|view| !view.is_empty()) {
        let byte = |at: u64| at.saturating_mul(by.width);
        into.push(Touched { by, access, view, bytes: byte(view.start)..byte(view.end) });
    }
}

/// Two touches of one unit that may not overlap and do, of which at least one writes;
/// and where. The first that is found, in the order of positions.
pub(super) fn overlap<'t, 'a>(
    touched: &'t [Touched<'a>],
) -> Option<(&'t Touched<'a>, &'t Touched<'a>, Range<u64>)> {
    let mut sorted: Vec<&Touched<'a>> = touched.iter().collect();
    sorted.sort_by_key(|touch| (&*touch.view.buffer, touch.bytes.start));
    let (mut any, mut writing) = (Reaching::default(), Reaching::default());
    let mut buffer = "";
    for touch in sorted {
        if *touch.view.buffer != *buffer {
            (any, writing, buffer) = (Reaching::default(), Reaching::default(), &touch.view.buffer);
        }
        let before = match touch.access {
            Access::Write => any.over(touch),
            Access::Read => writing.over(touch),
        };
        if let Some(before) = before {
            let shared = touch.bytes.start..touch.bytes.end.min(before.bytes.end);
            let ordered =
                if before.by.place <= touch.by.place { (before, touch) } else { (touch, before) };
            return Some((ordered.0, ordered.1, shared));
        }
        any.add(touch);
        if touch.access == Access::Write {
            writing.add(touch);
        }
    }
    None
}

/// Of touches that begin no later than a position: which reach furthest, of two calls.
#[derive(Default)]
struct Reaching<'t, 'a> {
    furthest: Option<&'t Touched<'a>>,
    /// The furthest of another call.
    second: Option<&'t Touched<'a>>,
}

impl<'t, 'a> Reaching<'t, 'a> {
    /// One that overlaps with a touch, if it may not.
    fn over(&self, touch: &Touched<'_>) -> Option<&'t Touched<'a>> {
        let may = |before: &&Touched<'_>| {
            before.by.place == touch.by.place && touch.by.layering == Layering::InPlace
        };
        let found = self.furthest.filter(|before| !may(before)).or(self.second);
        found.filter(|before| before.bytes.end > touch.bytes.start)
    }

    fn add(&mut self, touch: &'t Touched<'a>) {
        let end = |found: Option<&Touched<'_>>| found.map_or(0, |found| found.bytes.end);
        let of_furthest = self.furthest.is_some_and(|found| found.by.place == touch.by.place);
        if touch.bytes.end > end(self.furthest) {
            if !of_furthest {
                self.second = self.furthest;
            }
            self.furthest = Some(touch);
        } else if !of_furthest && touch.bytes.end > end(self.second) {
            self.second = Some(touch);
        }
    }
}
