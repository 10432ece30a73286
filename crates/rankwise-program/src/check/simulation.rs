//! Driving the matcher through a program.

use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_topology::{Group, WorldRank};

use super::order::Order;
use super::{Caveat, Findings};
use crate::call::Verb;
use crate::communicator::CommId;
use crate::ending::Ending;
use crate::history::{narrow, widen};
use crate::instance::InstanceId;
use crate::matcher::{Entry, Matcher, Progress};
use crate::participant::Wait;
use crate::program::{Host, Place, Planned, Program, Step};
use crate::report::{Call, Report};
use crate::site::Site;
use crate::stream::StreamId;

pub(super) struct Simulation<'a> {
    program: &'a Program,
    matcher: Matcher,
    comms: BTreeMap<&'a str, CommId>,
    ranks: Vec<State>,
    streams: BTreeMap<(WorldRank, Arc<str>), StreamId>,
    order: Order,
    instances: BTreeMap<InstanceId, Seen>,
    reports: Vec<Arc<Report>>,
    untagged: u64,
    first_untagged: Option<Call>,
    completed: u64,
}

/// Where a rank stands in its program.
#[derive(Default)]
struct State {
    next: usize,
    waits: Vec<Wait>,
    over: bool,
    /// Per stream, the last call that the host has not waited for.
    unwaited: BTreeMap<Arc<str>, Call>,
}

/// The calls of one step that share a stream; `None` are those beside all streams.
type Unit<'a> = (Option<&'a Arc<str>>, Vec<(Place, &'a Planned)>);

/// What is remembered of an open instance.
struct Seen {
    /// Its number in the graph of orders.
    node: usize,
    members: Vec<WorldRank>,
    calls: u64,
    tags: u64,
    /// As its lowest rank calls it.
    first: (WorldRank, Call),
}

impl<'a> Simulation<'a> {
    pub(super) fn new(program: &'a Program) -> Self {
        let mut matcher = Matcher::new(program.world);
        let comms = program
            .groups
            .iter()
            .map(|(name, group)| (&**name, matcher.add_communicator(name.clone(), group)))
            .collect();
        Self {
            program,
            matcher,
            comms,
            ranks: program.world.ranks().map(|_| State::default()).collect(),
            streams: BTreeMap::new(),
            order: Order::new(program.world.size()),
            instances: BTreeMap::new(),
            reports: Vec::new(),
            untagged: 0,
            first_untagged: None,
            completed: 0,
        }
    }

    pub(super) fn run(mut self) -> Findings {
        let mut ready: Vec<WorldRank> = self.program.world.ranks().collect();
        loop {
            for rank in core::mem::take(&mut ready) {
                self.advance(rank);
            }
            for instance in self.matcher.runnable() {
                self.complete(instance, &mut ready);
            }
            if ready.is_empty() {
                ready = self.fail();
            }
            ready.sort_unstable();
            ready.dedup();
            if ready.is_empty() {
                return self.findings();
            }
        }
    }

    /// Lets a rank go on until it waits or ends.
    fn advance(&mut self, rank: WorldRank) {
        let slot = narrow(rank.index().into()).unwrap_or(usize::MAX);
        let program = self.program;
        let steps = program.ranks.get(slot).map(Vec::as_slice).unwrap_or_default();
        loop {
            let Some(state) = self.ranks.get_mut(slot).filter(|state| !state.over) else { return };
            while let Some(wait) = state.waits.last() {
                match self.matcher.progress(*wait) {
                    Progress::Done => {
                        self.matcher.resume_from(rank, *wait);
                        state.waits.pop();
                    }
                    Progress::Pending | Progress::Failed(_) => return,
                }
            }
            let Some(step) = steps.get(state.next) else {
                return self.end(rank);
            };
            let place = Place { rank, step: widen(state.next), within: None };
            state.next = state.next.saturating_add(1);
            if !self.step(rank, place, step) {
                return self.end(rank);
            }
        }
    }

    /// Does one step. `false` if a call was refused: the program stops there.
    fn step(&mut self, rank: WorldRank, place: Place, step: &Step) -> bool {
        let (calls, host) = match step {
            Step::Call(call, host) => (core::slice::from_ref(call), *host),
            Step::Unit(calls, host) => (calls.as_slice(), *host),
            Step::Wait { stream } => {
                let id = self.stream(rank, stream);
                if let Some(point) = self.matcher.last_point(id) {
                    self.block(rank, Wait::Point(point));
                }
                if let Some(state) = self.state(rank) {
                    state.unwaited.remove(stream);
                }
                return true;
            }
        };
        self.order.step(rank);
        let in_unit = matches!(step, Step::Unit(..));
        let mut units: Vec<Unit<'_>> = Vec::new();
        for (within, call) in (0..).zip(calls) {
            let place = Place { within: in_unit.then_some(within), ..place };
            // A split is in no stream.
            let beside = matches!(call.signature.verb(), Verb::Split { .. });
            let stream = (!beside).then_some(&call.stream);
            match units.iter_mut().find(|(known, _)| *known == stream) {
                Some((_, calls)) => calls.push((place, call)),
                None => units.push((stream, Vec::from([(place, call)]))),
            }
        }
        units.into_iter().all(|(stream, calls)| self.unit(rank, stream, &calls, host))
    }

    fn unit(
        &mut self,
        rank: WorldRank,
        stream: Option<&Arc<str>>,
        calls: &[(Place, &Planned)],
        host: Host,
    ) -> bool {
        let entries: Option<Vec<Entry>> =
            calls.iter().map(|(place, call)| self.entry(*place, call)).collect();
        // A program made by hand may name a group that it does not have.
        let Some(entries) = entries else { return false };
        let mut seats = Vec::new();
        let mut waits = Vec::new();
        match stream {
            Some(name) => {
                let id = self.stream(rank, name);
                match self.matcher.post(rank, id, &entries, &mut seats) {
                    Ok(point) => waits.push(Wait::Point(point)),
                    Err(_) => return false,
                }
            }
            None => {
                for entry in &entries {
                    match self.matcher.post_beside(rank, entry.clone()) {
                        Ok(seat) => {
                            waits.push(Wait::Instance(seat.instance));
                            seats.push(seat);
                        }
                        Err(_) => return false,
                    }
                }
            }
        }
        for (entry, seat) in entries.iter().zip(&seats) {
            let call = Call {
                communicator: self.matcher.name(entry.comm).cloned().unwrap_or_default(),
                signature: entry.signature,
                tag: entry.tag.clone(),
                seq: seat.seq,
                site: entry.site.clone(),
            };
            if let (Some(state), Some(stream)) = (self.state(rank), stream) {
                match host {
                    Host::Waits => state.unwaited.remove(stream),
                    Host::GoesOn => state.unwaited.insert(stream.clone(), call.clone()),
                };
            }
            self.saw(rank, seat.instance, entry.comm, call);
        }
        if host == Host::Waits {
            for wait in waits {
                self.block(rank, wait);
            }
        }
        true
    }

    fn entry(&self, place: Place, call: &Planned) -> Option<Entry> {
        Some(Entry {
            comm: *self.comms.get(&*call.group)?,
            signature: call.signature,
            site: Site::Text(place.to_string().into()),
            tag: call.tag.clone(),
        })
    }

    /// Takes note of a call in an instance.
    fn saw(&mut self, rank: WorldRank, instance: InstanceId, comm: CommId, call: Call) {
        let group = self.matcher.group(comm);
        let seen = self.instances.entry(instance).or_insert_with(|| Seen {
            node: self.order.instance(),
            members: members(group, &call),
            calls: 0,
            tags: 0,
            first: (rank, call.clone()),
        });
        seen.calls = seen.calls.saturating_add(1);
        seen.tags = seen.tags.saturating_add(u64::from(call.tag.is_some()));
        if rank < seen.first.0 {
            seen.first = (rank, call.clone());
        }
        let ranks = group.map_or(self.program.world.size(), Group::size);
        self.order.called(rank, seen.node, call, ranks);
    }

    fn complete(&mut self, instance: InstanceId, ready: &mut Vec<WorldRank>) {
        self.matcher.completed(instance);
        self.completed = self.completed.saturating_add(1);
        let Some(seen) = self.instances.remove(&instance) else { return };
        self.order.completed(seen.node);
        ready.extend(&seen.members);
        let moves_data = seen.first.1.signature.payload().is_some();
        if moves_data && seen.members.len() > 1 && seen.tags < seen.calls {
            self.untagged = self.untagged.saturating_add(1);
            self.first_untagged.get_or_insert(seen.first.1);
        }
    }

    /// Nothing moves any more: asks why, and stops the ranks that are told.
    fn fail(&mut self) -> Vec<WorldRank> {
        let mut stopped = Vec::new();
        for verdict in self.matcher.take_verdicts() {
            if !self.reports.contains(&verdict.report) {
                self.reports.push(verdict.report);
            }
            stopped.extend(verdict.victims.into_iter().map(|(rank, _)| rank));
        }
        for rank in &stopped {
            self.end(*rank);
        }
        stopped
    }

    fn end(&mut self, rank: WorldRank) {
        if let Some(state) = self.state(rank) {
            state.over = true;
        }
        self.matcher.end(rank, Ending::Returned);
    }

    fn block(&mut self, rank: WorldRank, wait: Wait) {
        self.matcher.block(rank, wait);
        if let Some(state) = self.state(rank) {
            state.waits.push(wait);
        }
    }

    fn state(&mut self, rank: WorldRank) -> Option<&mut State> {
        self.ranks.get_mut(narrow(rank.index().into())?)
    }

    fn stream(&mut self, rank: WorldRank, name: &Arc<str>) -> StreamId {
        let matcher = &mut self.matcher;
        let added = || matcher.add_stream(rank, name.clone());
        *self.streams.entry((rank, name.clone())).or_insert_with(added)
    }

    fn findings(self) -> Findings {
        let mut caveats = Vec::new();
        if let Some(first) = self.first_untagged {
            let instances = self.untagged;
            caveats.push(Caveat::TensorIdentityNotChecked { instances, first });
        }
        for (rank, state) in self.program.world.ranks().zip(self.ranks) {
            for (stream, call) in state.unwaited {
                caveats.push(Caveat::UnwaitedAtEnd { rank, stream, call });
            }
        }
        let mut reports = self.reports;
        reports.sort();
        Findings { reports, order: self.order.findings(), caveats, completed: self.completed }
    }
}

/// Who takes part in a call.
fn members(group: Option<&Group>, call: &Call) -> Vec<WorldRank> {
    let Some(group) = group else { return Vec::new() };
    match call.seq {
        crate::seq::Seq::Collective(_) => group.members().to_vec(),
        crate::seq::Seq::Message { from, to, .. } => {
            let mut ends: Vec<_> =
                [from, to].into_iter().filter_map(|end| group.world_rank(end)).collect();
            ends.dedup();
            ends
        }
    }
}
