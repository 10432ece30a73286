//! Calls of a rank that touch the same positions of a buffer, and are in no order.
//!
//! Each unit that is enqueued knows, stream by stream, how many units it comes after for
//! certain: those of its own stream, and what fences and host waits have added. Of each
//! position of a buffer it is remembered which unit of which stream read and wrote it
//! last: if that one comes before, all earlier ones of its stream do.

mod alike;
mod clock;
mod found;
mod shadow;
mod unit;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;

use rankwise_topology::WorldRank;

use self::alike::{Groups, alike};
use self::clock::Clocks;
use self::found::{Found, OfRank};
use self::shadow::{Last, Shadow};
use self::unit::{Touched, overlap, touched_by};
use crate::program::{Host, Place, Program, Step};
use crate::report::{Access, Kind, Report};

/// One report for each hazard and each overlap, with the ranks that have it.
pub(super) fn findings(program: &Program) -> Vec<Report> {
    let mut found = Found::default();
    let groups = Groups::of(program);
    // What several ranks do is gone through once.
    let mut walked: Vec<(WorldRank, &[Step], OfRank<'_>)> = Vec::new();
    for (rank, steps) in program.world.ranks().zip(&program.ranks) {
        // Most programs say nothing of buffers.
        if !steps.iter().any(names_buffers) {
            continue;
        }
        let known = walked.iter().rev().take(COMPARED);
        let mut known = known.filter(|(other, of, _)| alike(&groups, (*other, *of), (rank, steps)));
        if let Some((.., conflicts)) = known.next() {
            found.add(rank, conflicts.clone());
            continue;
        }
        let mut walk = Walk::default();
        for (at, step) in (0..).zip(steps) {
            walk.step(&groups, Place { rank, step: at, within: None }, step);
        }
        found.add(rank, walk.conflicts.clone());
        walked.push((rank, steps, walk.conflicts));
    }
    found.reports(program)
}

/// With how many ranks before it one is compared, at most.
const COMPARED: usize = 8;

fn names_buffers(step: &Step) -> bool {
    match step {
        Step::Call(planned, _) => !planned.buffers.is_empty(),
        Step::Unit(calls, _) => calls.iter().any(|planned| !planned.buffers.is_empty()),
        Step::Local(local, _) => !local.buffers.is_empty(),
        Step::Fence { .. } | Step::Wait { .. } => false,
    }
}

/// A walk through the steps of one rank.
#[derive(Default)]
struct Walk<'a> {
    clocks: Clocks<'a>,
    /// By the name of a buffer.
    buffers: BTreeMap<&'a str, Shadow>,
    touched: Vec<Touched<'a>>,
    conflicts: OfRank<'a>,
}

impl<'a> Walk<'a> {
    fn step(&mut self, groups: &Groups<'a>, place: Place, step: &'a Step) {
        let (streams, host) = match step {
            Step::Wait { stream } => {
                let stream = self.clocks.stream(stream);
                return self.clocks.host_waits(stream);
            }
            Step::Fence { stream, after } => {
                let (stream, after) = (self.clocks.stream(stream), self.clocks.stream(after));
                return self.clocks.fence(stream, after);
            }
            // A split touches nothing, and is in no stream.
            Step::Call(call, _) if call.signature.verb().is_beside() => return,
            Step::Call(call, host) => (Vec::from([self.clocks.stream(&call.stream)]), *host),
            Step::Local(local, host) => (Vec::from([self.clocks.stream(&local.stream)]), *host),
            Step::Unit(calls, host) => {
                let beside = |verb: crate::call::Verb| verb.is_beside();
                let calls = calls.iter().filter(|call| !beside(call.signature.verb()));
                let mut streams: Vec<usize> =
                    calls.map(|call| self.clocks.stream(&call.stream)).collect();
                streams.sort_unstable();
                streams.dedup();
                (streams, *host)
            }
        };
        // One item on each stream, all at once.
        let items: Vec<(usize, u64)> =
            streams.iter().map(|stream| (*stream, self.clocks.enqueue(*stream))).collect();
        let touched = touched_by(groups, place, step);
        if let Some((first, second, shared)) = overlap(&touched) {
            self.conflicts.add(Kind::Overlap, first, second, &shared);
        }
        for touch in &touched {
            let stream = self.clocks.stream(touch.by.stream);
            self.meet(stream, touch);
        }
        for touch in touched {
            let stream = self.clocks.stream(touch.by.stream);
            let Some((_, index)) = items.iter().find(|(known, _)| *known == stream) else {
                continue;
            };
            let last =
                Last { stream, access: touch.access, index: *index, touch: self.touched.len() };
            let buffer: &'a str = &touch.view.buffer;
            self.buffers.entry(buffer).or_default().touch(&touch.bytes, last);
            self.touched.push(touch);
        }
        if host == Host::Waits {
            for stream in streams {
                self.clocks.host_waits(stream);
            }
        }
    }

    /// Finds what was enqueued before, touches the same and is not over for certain.
    fn meet(&mut self, stream: usize, touch: &Touched<'a>) {
        let Some(shadow) = self.buffers.get(&*touch.view.buffer) else { return };
        let mut met: BTreeMap<usize, Range<u64>> = BTreeMap::new();
        for (part, last) in shadow.touches(&touch.bytes) {
            let conflicts = touch.access == Access::Write || last.access == Access::Write;
            if !conflicts || last.index < self.clocks.before(stream, last.stream) {
                continue;
            }
            let shared = met.entry(last.touch).or_insert_with(|| part.clone());
            if shared.end == part.start {
                shared.end = part.end;
            }
        }
        for (number, shared) in met {
            if let Some(before) = self.touched.get(number) {
                self.conflicts.add(Kind::Hazard, before, touch, &shared);
            }
        }
    }
}
