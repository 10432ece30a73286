//! The nodes of the graph of waits, and what each needs.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use super::Fault;
use crate::history::{narrow, widen};
use crate::instance::{Instance, InstanceId, Instances, Standing};
use crate::matcher::Matcher;
use crate::participant::{Drivers, Wait};
use crate::report::Report;
use crate::stream::{Point, StreamId, Work};

/// Why an instance is hopeless by itself, if it is.
pub(super) enum Fate {
    /// It is not: only by others.
    Ordinary,
    /// It lacks members that went because of this report.
    Orphan(Arc<Report>),
    /// It has failed, or its communicator has before it was complete.
    Failed(Arc<Report>),
    /// It is a cause.
    Cause(Fault),
}

/// Numbers for everything that can wait or be waited for.
pub(super) struct Nodes {
    pub(super) instances: usize,
    /// Per stream: the node of its first open item.
    pub(super) streams: Vec<usize>,
    pub(super) ranks: usize,
    pub(super) all: usize,
}

impl Nodes {
    pub(super) fn of(matcher: &Matcher) -> Self {
        let instances = matcher.instances.slots();
        let mut next = instances;
        let mut streams = Vec::with_capacity(matcher.streams.len());
        for stream in &matcher.streams {
            streams.push(next);
            next = next.saturating_add(stream.open_items());
        }
        let all = next.saturating_add(matcher.ranks.len());
        Self { instances, streams, ranks: next, all }
    }

    pub(super) fn instance(id: InstanceId) -> usize {
        Instances::slot_of(id)
    }

    pub(super) fn rank(&self, index: u32) -> usize {
        self.ranks.saturating_add(narrow(index.into()).unwrap_or(usize::MAX))
    }

    /// The node of an item that is open.
    fn item(&self, matcher: &Matcher, point: Point) -> Option<usize> {
        let stream = matcher.stream(point.stream)?;
        let behind = narrow(point.index.checked_sub(stream.base())?)?;
        let first = *self.streams.get(narrow(point.stream.0.into())?)?;
        (behind < stream.open_items()).then(|| first.saturating_add(behind))
    }

    pub(super) fn wait(&self, matcher: &Matcher, wait: Wait) -> Option<usize> {
        match wait {
            Wait::Point(point) => self.item(matcher, point),
            Wait::Instance(id) => matcher.instances.get(id).map(|_| Self::instance(id)),
        }
    }

    fn before(&self, matcher: &Matcher, point: Point) -> Option<usize> {
        let index = point.index.checked_sub(1)?;
        self.item(matcher, Point { index, ..point })
    }
}

/// Which nodes each node needs, in the order of the nodes.
pub(super) struct Needs {
    flat: Vec<usize>,
    /// Where the needs of each node end.
    ends: Vec<usize>,
}

impl Needs {
    fn with_nodes(nodes: usize) -> Self {
        Self { flat: Vec::new(), ends: Vec::with_capacity(nodes) }
    }

    /// Adds the next node.
    fn push(&mut self, needs: impl IntoIterator<Item = usize>) {
        self.flat.extend(needs);
        self.ends.push(self.flat.len());
    }

    pub(super) fn of(&self, node: usize) -> &[usize] {
        let start = node.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        let range = start.zip(self.ends.get(node).copied());
        range.and_then(|(start, end)| self.flat.get(start..end)).unwrap_or(&[])
    }

    fn nodes(&self) -> usize {
        self.ends.len()
    }

    /// The other way round: who needs each node.
    fn reversed(&self) -> Vec<Vec<usize>> {
        let mut reversed = vec![Vec::new(); self.nodes()];
        for node in 0..self.nodes() {
            for needed in self.of(node) {
                if let Some(needing) = reversed.get_mut(*needed) {
                    needing.push(node);
                }
            }
        }
        reversed
    }
}

pub(super) fn fate_of(matcher: &Matcher, id: InstanceId, instance: &Instance) -> Fate {
    let failed = matcher.comm(instance.comm).and_then(|comm| comm.failed.as_ref());
    match (&instance.standing, failed) {
        (Standing::Failed(report), _) | (Standing::Open | Standing::Frozen, Some(report)) => {
            return Fate::Failed(report.clone());
        }
        (Standing::Frozen, None) => return Fate::Cause(Fault::Contradiction),
        (Standing::Agreed, _) => return Fate::Ordinary,
        (Standing::Open, None) => {}
    }
    let mut least: Option<Arc<Report>> = None;
    for (world, position) in matcher.missing_members(id) {
        match matcher.departure(id, world, position).map(|gone| gone.because) {
            None => {}
            Some(None) => return Fate::Cause(Fault::Gone),
            Some(Some(report)) => {
                least = least.into_iter().chain([report]).min();
            }
        }
    }
    least.map_or(Fate::Ordinary, Fate::Orphan)
}

pub(super) fn needs_of(
    matcher: &Matcher,
    nodes: &Nodes,
    fates: &[Option<(InstanceId, Fate)>],
) -> Needs {
    let mut needs = Needs::with_nodes(nodes.all);
    for fate in fates {
        let Some((id, fate)) = fate else {
            needs.push([]);
            continue;
        };
        if matches!(fate, Fate::Failed(_)) {
            needs.push([]);
            continue;
        }
        let lacking = matcher
            .missing_members(*id)
            .filter(|(world, position)| matcher.departure(*id, *world, *position).is_none())
            .map(|(world, _)| nodes.rank(world.index()));
        let seats = matcher.instances.get(*id).into_iter().flat_map(|found| &found.seats);
        let before = seats
            .filter_map(|taken| taken.as_ref()?.at)
            .filter_map(|point| nodes.before(matcher, point))
            // What a cause says does not depend on what is before it in streams.
            .filter(|_| !matches!(fate, Fate::Cause(_)));
        needs.push(lacking.chain(before));
    }
    for (at, stream) in (0..=u32::MAX).zip(&matcher.streams) {
        let id = StreamId(at);
        for (index, item) in stream.items() {
            let before = nodes.before(matcher, Point { stream: id, index });
            let target = match item.work {
                Work::Wait(point) => nodes.item(matcher, point),
                _ => None,
            };
            let open = |id: &&InstanceId| matcher.instances.get(**id).is_some();
            let instances = item.work.instances().iter().filter(open);
            needs.push(instances.map(|id| Nodes::instance(*id)).chain(before).chain(target));
        }
    }
    for rank in &matcher.ranks {
        let waits: &[Wait] = match rank.drivers {
            Drivers::One => &rank.waits,
            Drivers::Many => &[],
        };
        // A wait that is over lets its rank go on.
        let all_open = waits.iter().all(|wait| nodes.wait(matcher, *wait).is_some());
        let open = waits.iter().filter(|_| all_open);
        needs.push(open.filter_map(|wait| nodes.wait(matcher, *wait)));
    }
    needs
}

/// The least set of nodes that contains each node whose needs it contains; each comes
/// after its needs. Of a rank, the nodes from `ranks` on, one need is enough: whichever of
/// its waits ends may let it go on.
pub(super) fn possible(
    needs: &Needs,
    fates: &[Option<(InstanceId, Fate)>],
    ranks: usize,
) -> Vec<usize> {
    let reversed = needs.reversed();
    let never = |node: usize| match fates.get(node) {
        Some(Some((_, fate))) => !matches!(fate, Fate::Ordinary),
        _ => false,
    };
    let needed = |node: usize| {
        let all = widen(needs.of(node).len());
        if node < ranks { all } else { all.min(1) }
    };
    let mut unmet: Vec<u64> = (0..needs.nodes()).map(needed).collect();
    let mut possible = Vec::new();
    let mut found: Vec<usize> =
        (0..needs.nodes()).filter(|node| needs.of(*node).is_empty() && !never(*node)).collect();
    while let Some(node) = found.pop() {
        possible.push(node);
        for needing in reversed.get(node).into_iter().flatten() {
            let Some(unmet) = unmet.get_mut(*needing).filter(|unmet| **unmet > 0) else {
                continue; // found already
            };
            *unmet = unmet.saturating_sub(1);
            if *unmet == 0 && !never(*needing) {
                found.push(*needing);
            }
        }
    }
    possible
}
