//! Who waits for whom, and which waits can never end.
//!
//! The nodes are open instances, open items of streams, and ranks. Each needs others:
//! an instance the members it lacks and the items before its seats, an item its
//! instances and the item before it, a rank what it waits for. What is possible is the
//! least set that contains every node all of whose needs are possible; the rest is
//! hopeless. Among the hopeless, what needs each other is one component, and the
//! components are judged from those that need no other upwards.

pub(crate) mod components;

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use self::components::components;
use crate::history::{narrow, widen};
use crate::instance::{Instance, InstanceId, Instances, Standing};
use crate::matcher::Matcher;
use crate::participant::{Drivers, Wait};
use crate::report::Report;
use crate::stream::{Point, Work};

/// What is hopeless at a moment, and why.
pub(crate) struct Outlook {
    /// Per node, the component it is in; `None` for what is possible.
    component_of: Vec<Option<usize>>,
    verdicts: Vec<Finding>,
    /// Components that are causes, and may be published.
    causes: Vec<Cause>,
    /// The nodes that are possible, each after those that it needs.
    possible: Vec<usize>,
    nodes: Nodes,
}

/// What is known of a component.
#[derive(Clone)]
enum Finding {
    /// Somebody concerned may still change what will be said.
    Unsettled,
    /// It fails by this cause.
    Failed(Arc<Report>),
    /// It is a cause that is being published.
    Cause,
}

/// A cause: what will be published.
pub(crate) struct Cause {
    pub(crate) fault: Fault,
    pub(crate) instances: Vec<InstanceId>,
}

/// What sort of cause.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// An instance whose calls contradict each other.
    Contradiction,
    /// An instance that lacks a member which is gone.
    Gone,
    /// Instances that need each other.
    Cycle,
}

/// Why an instance is hopeless by itself, if it is.
enum Fate {
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
struct Nodes {
    instances: usize,
    /// Per stream: the node of its first open item.
    streams: Vec<usize>,
    ranks: usize,
    all: usize,
}

impl Nodes {
    fn of(matcher: &Matcher) -> Self {
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

    fn instance(id: InstanceId) -> usize {
        Instances::slot_of(id)
    }

    fn rank(&self, index: u32) -> usize {
        self.ranks.saturating_add(narrow(index.into()).unwrap_or(usize::MAX))
    }

    /// The node of an item that is open.
    fn item(&self, matcher: &Matcher, point: Point) -> Option<usize> {
        let stream = matcher.stream(point.stream)?;
        let behind = narrow(point.index.checked_sub(stream.base())?)?;
        let first = *self.streams.get(narrow(point.stream.0.into())?)?;
        (behind < stream.open_items()).then(|| first.saturating_add(behind))
    }

    fn wait(&self, matcher: &Matcher, wait: Wait) -> Option<usize> {
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
pub(crate) struct Needs {
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

    pub(crate) fn of(&self, node: usize) -> &[usize] {
        let start = node.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        let range = start.zip(self.ends.get(node).copied());
        range.and_then(|(start, end)| self.flat.get(start..end)).unwrap_or(&[])
    }

    pub(crate) fn nodes(&self) -> usize {
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

impl Outlook {
    /// Judges everything that is open.
    pub(crate) fn of(matcher: &Matcher) -> Self {
        let nodes = Nodes::of(matcher);
        let mut fates: Vec<Option<(InstanceId, Fate)>> = Vec::new();
        fates.resize_with(nodes.instances, || None);
        for (id, instance) in matcher.instances.iter() {
            if let Some(fate) = fates.get_mut(Nodes::instance(id)) {
                *fate = Some((id, fate_of(matcher, id, instance)));
            }
        }
        let needs = needs_of(matcher, &nodes, &fates);
        let possible = possible(&needs, &fates);
        let mut hopeless = vec![true; nodes.all];
        for node in &possible {
            if let Some(hopeless) = hopeless.get_mut(*node) {
                *hopeless = false;
            }
        }
        let is_hopeless = |node: usize| hopeless.get(node) == Some(&true);

        // Whether everything that a node needs is hopeless, so that nothing can change.
        let settled = |node: usize| needs.of(node).iter().all(|needed| is_hopeless(*needed));
        // A cause needs nobody else to be one.
        let followed = |node: usize| -> &[usize] {
            match fates.get(node) {
                Some(Some((_, Fate::Cause(_) | Fate::Failed(_)))) => &[],
                _ => needs.of(node),
            }
        };
        let groups = components(nodes.all, is_hopeless, followed);

        let mut component_of = vec![None; nodes.all];
        for (at, group) in groups.iter().enumerate() {
            for node in group {
                if let Some(component) = component_of.get_mut(*node) {
                    *component = Some(at);
                }
            }
        }
        let mut outlook =
            Self { component_of, verdicts: Vec::new(), causes: Vec::new(), possible, nodes };
        for (at, group) in groups.iter().enumerate() {
            let finding = outlook.judge(at, group, &fates, &settled, &followed);
            outlook.verdicts.push(finding);
        }
        outlook
    }

    /// Judges a component, those that it needs being judged.
    fn judge<'a>(
        &mut self,
        at: usize,
        group: &[usize],
        fates: &[Option<(InstanceId, Fate)>],
        settled: &impl Fn(usize) -> bool,
        followed: &impl Fn(usize) -> &'a [usize],
    ) -> Finding {
        let fate = |node: &usize| fates.get(*node).and_then(Option::as_ref);
        if let [node] = group {
            match fate(node) {
                Some((_, Fate::Failed(report))) => return Finding::Failed(report.clone()),
                Some((id, Fate::Cause(fault))) => {
                    if !settled(*node) {
                        return Finding::Unsettled;
                    }
                    self.causes.push(Cause { fault: *fault, instances: vec![*id] });
                    return Finding::Cause;
                }
                _ => {}
            }
        }
        if !group.iter().all(|node| settled(*node)) {
            return Finding::Unsettled;
        }
        let orphaned = group.iter().filter_map(|node| match fate(node) {
            Some((_, Fate::Orphan(report))) => Some(report.clone()),
            _ => None,
        });
        let mut least: Option<Arc<Report>> = orphaned.min();
        let mut needs_others = least.is_some();
        for needed in group.iter().flat_map(|node| followed(*node)) {
            let Some(Some(other)) = self.component_of.get(*needed) else { continue };
            if *other == at {
                continue;
            }
            needs_others = true;
            match self.verdicts.get(*other) {
                Some(Finding::Failed(report)) => {
                    if least.as_ref().is_none_or(|least| report < least) {
                        least = Some(report.clone());
                    }
                }
                // A cause becomes a failure when it is published: then it is our turn.
                _ => return Finding::Unsettled,
            }
        }
        match least {
            Some(report) => Finding::Failed(report),
            None if needs_others => Finding::Unsettled,
            None => {
                let instances = group.iter().filter_map(|node| Some(fate(node)?.0)).collect();
                self.causes.push(Cause { fault: Fault::Cycle, instances });
                Finding::Cause
            }
        }
    }

    /// The causes that may be published now.
    pub(crate) fn causes(&self) -> &[Cause] {
        &self.causes
    }

    /// Whether anything is hopeless at all.
    pub(crate) fn is_troubled(&self) -> bool {
        !self.verdicts.is_empty()
    }

    /// Slots of instances that are possible, each after those that it needs.
    pub(crate) fn possible_instances(&self) -> impl Iterator<Item = usize> {
        self.possible.iter().copied().filter(|node| *node < self.nodes.instances)
    }

    /// The report by which a wait fails, if that is settled.
    pub(crate) fn failure(&self, matcher: &Matcher, wait: Wait) -> Option<&Arc<Report>> {
        let component = (*self.component_of.get(self.nodes.wait(matcher, wait)?)?)?;
        match self.verdicts.get(component)? {
            Finding::Failed(report) => Some(report),
            Finding::Unsettled | Finding::Cause => None,
        }
    }
}

fn fate_of(matcher: &Matcher, id: InstanceId, instance: &Instance) -> Fate {
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

fn needs_of(matcher: &Matcher, nodes: &Nodes, fates: &[Option<(InstanceId, Fate)>]) -> Needs {
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
        let id = crate::stream::StreamId(at);
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
        needs.push(waits.iter().filter_map(|wait| nodes.wait(matcher, *wait)));
    }
    needs
}

/// The least set of nodes that contains each node whose needs it contains; each comes
/// after its needs.
fn possible(needs: &Needs, fates: &[Option<(InstanceId, Fate)>]) -> Vec<usize> {
    let reversed = needs.reversed();
    let never = |node: usize| match fates.get(node) {
        Some(Some((_, fate))) => !matches!(fate, Fate::Ordinary),
        _ => false,
    };
    let mut unmet: Vec<u64> = (0..needs.nodes()).map(|node| widen(needs.of(node).len())).collect();
    let mut possible = Vec::new();
    let mut found: Vec<usize> =
        (0..needs.nodes()).filter(|node| needs.of(*node).is_empty() && !never(*node)).collect();
    while let Some(node) = found.pop() {
        possible.push(node);
        for needing in reversed.get(node).into_iter().flatten() {
            let Some(unmet) = unmet.get_mut(*needing) else { continue };
            *unmet = unmet.saturating_sub(1);
            if *unmet == 0 && !never(*needing) {
                found.push(*needing);
            }
        }
    }
    possible
}
