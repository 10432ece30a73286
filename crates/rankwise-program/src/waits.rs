//! Who waits for whom, and which waits can never end.
//!
//! The nodes are open instances, open items of streams, and ranks. Each needs others:
//! an instance the members it lacks and the items before its seats, an item its
//! instances and the item before it, a rank what it waits for. What is possible is the
//! least set that contains every node all of whose needs are possible; the rest is
//! hopeless. Among the hopeless, what needs each other is one component, and the
//! components are judged from those that need no other upwards.

pub(crate) mod components;
mod graph;

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use self::components::components;
use self::graph::{Fate, Needs, Nodes, fate_of, needs_of, possible};
use crate::instance::InstanceId;
use crate::matcher::Matcher;
use crate::participant::Wait;
use crate::report::Report;

/// What is hopeless at a moment, and why.
pub(crate) struct Outlook {
    judged: Judged,
    /// The nodes that are possible, each after those that it needs.
    possible: Vec<usize>,
    needs: Needs,
    nodes: Nodes,
}

/// What is known of the components of what is hopeless.
struct Judged {
    /// Per node, the component it is in; `None` for what is possible.
    component_of: Vec<Option<usize>>,
    findings: Vec<Finding>,
    /// Components that are causes, and may be published.
    causes: Vec<Cause>,
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
        let possible = possible(&needs, &fates, nodes.ranks);
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
        let mut judged = Judged { component_of, findings: Vec::new(), causes: Vec::new() };
        for (at, group) in groups.iter().enumerate() {
            let finding = judged.judge(at, group, &fates, &settled, &followed);
            judged.findings.push(finding);
        }
        Self { judged, possible, needs, nodes }
    }

    /// The causes that may be published now.
    pub(crate) fn causes(&self) -> &[Cause] {
        &self.judged.causes
    }

    /// Whether anything is hopeless at all.
    pub(crate) fn is_troubled(&self) -> bool {
        !self.judged.findings.is_empty()
    }

    /// Slots of instances that are possible, each after those that it needs.
    pub(crate) fn possible_instances(&self) -> impl Iterator<Item = usize> {
        self.possible.iter().copied().filter(|node| *node < self.nodes.instances)
    }

    /// The report by which a wait fails, if that is settled.
    pub(crate) fn failure(&self, matcher: &Matcher, wait: Wait) -> Option<&Arc<Report>> {
        let component = (*self.judged.component_of.get(self.nodes.wait(matcher, wait)?)?)?;
        match self.judged.findings.get(component)? {
            Finding::Failed(report) => Some(report),
            Finding::Unsettled | Finding::Cause => None,
        }
    }

    /// Whether anything has failed that is still there to be waited for.
    pub(crate) fn is_failing(&self) -> bool {
        self.judged.findings.iter().any(|finding| matches!(finding, Finding::Failed(_)))
    }

    /// Whether a node is hopeless; of an instance, its slot is its node.
    pub(crate) fn is_hopeless(&self, node: usize) -> bool {
        self.judged.component_of.get(node).is_some_and(Option::is_some)
    }

    /// The node of a rank.
    pub(crate) fn rank(&self, index: u32) -> usize {
        self.nodes.rank(index)
    }

    /// The nodes of a stream's open items.
    pub(crate) fn items(&self, stream: usize, open: usize) -> Range<usize> {
        let first = self.nodes.streams.get(stream).copied().unwrap_or(usize::MAX);
        first..first.saturating_add(open)
    }

    /// Per node, whether what it does next may settle something hopeless.
    ///
    /// What needs something possible is not settled. One such need is followed, over the
    /// instances it goes through, to what nothing stands in the way of: a free rank, or
    /// an instance that can run. As long as these stay as they are, it is not settled,
    /// unless something else becomes hopeless, which is noticed when it does.
    pub(crate) fn watched(&self) -> Vec<bool> {
        let mut watched = vec![false; self.nodes.all];
        for node in (0..self.nodes.all).filter(|node| self.is_hopeless(*node)) {
            let needs = self.needs.of(node);
            let mut next = needs.iter().rev().find(|needed| !self.is_hopeless(**needed));
            if next.is_some()
                && let Some(watched) = watched.get_mut(node)
            {
                *watched = true;
            }
            while let Some(at) = next {
                match watched.get_mut(*at) {
                    Some(watched @ false) => *watched = true,
                    // The rest of the way has been followed.
                    _ => break,
                }
                next = self.needs.of(*at).last();
            }
        }
        watched
    }
}

impl Judged {
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
            match self.findings.get(*other) {
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
}
