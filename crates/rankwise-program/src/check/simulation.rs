//! Driving the matcher through a program.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_topology::{Group, WorldRank};

use super::completions::Completions;
use super::log::{Log, Logged, Spot, planned, slot};
use super::{Caveat, Findings, explained, hazards, order};
use crate::call::Signature;
use crate::communicator::CommId;
use crate::ending::Ending;
use crate::history::widen;
use crate::instance::{InstanceId, Instances, Seat};
use crate::matcher::{Entry, Matcher, Progress};
use crate::participant::Wait;
use crate::program::{Host, Local, Place, Planned, Program, Step};
use crate::report::Report;
use crate::site::Site;
use crate::stream::StreamId;

pub(super) struct Simulation<'a> {
    log: Log<'a>,
    matcher: Matcher,
    comms: BTreeMap<&'a str, CommId>,
    ranks: Vec<State>,
    /// By world rank, whether its host waits. Beside the states, since it is asked for
    /// every member of every instance that completes.
    waiting: Vec<bool>,
    /// By slot of an open instance, its number in the log.
    nodes: Vec<Option<u32>>,
    /// Room for the calls of a unit, used again and again.
    entries: Vec<Entry>,
    seats: Vec<Seat>,
    reports: Vec<Arc<Report>>,
    /// How many that ranks meet in have completed.
    completed: u64,
    untagged: u64,
    first_untagged: Option<u32>,
}

/// Groups that a rank need not look up again, at most.
const KNOWN: usize = 8;

/// Where a rank stands in its program.
#[derive(Default)]
struct State {
    next: usize,
    waits: Vec<Wait>,
    over: bool,
    streams: Vec<Stream>,
    /// The communicator of its work alone.
    own: Option<CommId>,
    /// The groups that it has called on.
    comms: Vec<(Arc<str>, CommId)>,
}

struct Stream {
    name: Arc<str>,
    id: StreamId,
    /// The last call that the host has not waited for, by its number in the log.
    unwaited: Option<usize>,
}

/// The calls of one step that share a stream; `None` are those beside all streams.
type Unit<'a> = (Option<&'a Arc<str>>, Vec<(Place, &'a Planned)>);

impl<'a> Simulation<'a> {
    pub(super) fn new(program: &'a Program) -> Self {
        let mut matcher = Matcher::new(program.world);
        let comms = program
            .groups
            .iter()
            .map(|(name, group)| (&**name, matcher.add_communicator(name.clone(), group)))
            .collect();
        Self {
            log: Log::new(program),
            matcher,
            comms,
            ranks: program.world.ranks().map(|_| State::default()).collect(),
            waiting: program.world.ranks().map(|_| false).collect(),
            nodes: Vec::new(),
            entries: Vec::new(),
            seats: Vec::new(),
            reports: Vec::new(),
            completed: 0,
            untagged: 0,
            first_untagged: None,
        }
    }

    pub(super) fn run(mut self) -> Findings {
        let mut ready: Vec<WorldRank> = self.log.program.world.ranks().collect();
        loop {
            for rank in core::mem::take(&mut ready) {
                self.advance(rank);
            }
            let runnable = self.matcher.runnable();
            if runnable.is_empty() {
                ready = self.fail();
                if ready.is_empty() {
                    return self.findings();
                }
            }
            for instance in runnable {
                self.complete(instance, &mut ready);
            }
            ready.sort_unstable();
            ready.dedup();
        }
    }

    /// Lets a rank go on until it waits or ends.
    fn advance(&mut self, rank: WorldRank) {
        let at = slot(rank).unwrap_or(usize::MAX);
        let program = self.log.program;
        let steps = program.ranks.get(at).map(Vec::as_slice).unwrap_or_default();
        loop {
            let Some(state) = self.ranks.get_mut(at).filter(|state| !state.over) else { return };
            while let Some(wait) = state.waits.last() {
                match self.matcher.progress(*wait) {
                    Progress::Done => {
                        self.matcher.resume_from(rank, *wait);
                        state.waits.pop();
                    }
                    Progress::Pending | Progress::Failed(_) => return,
                }
            }
            if let Some(waiting) = self.waiting.get_mut(at) {
                *waiting = false;
            }
            let Some(step) = steps.get(state.next) else {
                return self.end(rank);
            };
            let place = Place { rank, step: widen(state.next), within: None };
            state.next = state.next.saturating_add(1);
            if !self.step(place, step) {
                return self.end(rank);
            }
        }
    }

    /// Does one step. `false` if a call was refused: the program stops there.
    fn step(&mut self, place: Place, step: &'a Step) -> bool {
        let rank = place.rank;
        match step {
            Step::Call(call, host) if !call.signature.verb().is_beside() => {
                self.unit(rank, &call.stream, &[(place, call)], *host)
            }
            Step::Call(call, host) => self.beside(place, call, *host),
            Step::Unit(calls, host) => self.units(place, calls, *host),
            Step::Local(local, host) => self.local(place, local, *host),
            Step::Fence { stream, after } => {
                let (stream, after) = (self.stream(rank, stream), self.stream(rank, after));
                if let Some(point) = self.matcher.last_point(after) {
                    // Of the rank's own streams: never refused.
                    return self.matcher.stream_wait(stream, point).is_ok();
                }
                true
            }
            Step::Wait { stream } => {
                let id = self.stream(rank, stream);
                if let Some(point) = self.matcher.last_point(id) {
                    self.block(rank, Wait::Point(point));
                }
                self.set_unwaited(rank, stream, Host::Waits);
                true
            }
        }
    }

    fn units(&mut self, place: Place, calls: &'a [Planned], host: Host) -> bool {
        let mut units: Vec<Unit<'_>> = Vec::new();
        for (within, call) in (0..).zip(calls) {
            let place = Place { within: Some(within), ..place };
            // A split is in no stream.
            let stream = (!call.signature.verb().is_beside()).then_some(&call.stream);
            match units.iter_mut().find(|(known, _)| *known == stream) {
                Some((_, calls)) => calls.push((place, call)),
                None => units.push((stream, Vec::from([(place, call)]))),
            }
        }
        units.into_iter().all(|(stream, calls)| match stream {
            Some(stream) => self.unit(place.rank, stream, &calls, host),
            None => calls.into_iter().all(|(place, call)| self.beside(place, call, host)),
        })
    }

    /// Enqueues calls as one unit.
    fn unit(
        &mut self,
        rank: WorldRank,
        stream: &Arc<str>,
        calls: &[(Place, &Planned)],
        host: Host,
    ) -> bool {
        let mut entries = core::mem::take(&mut self.entries);
        entries.clear();
        for (place, call) in calls {
            // A program made by hand may name a group that it does not have.
            let Some(entry) = self.entry(*place, call) else { return false };
            entries.push(entry);
        }
        let mut seats = core::mem::take(&mut self.seats);
        let id = self.stream(rank, stream);
        let Ok(point) = self.matcher.post(rank, id, &entries, &mut seats) else { return false };
        for (((place, call), entry), seat) in calls.iter().zip(&entries).zip(&seats) {
            self.saw(*place, seat, entry.comm, call.tag.is_some());
        }
        (self.entries, self.seats) = (entries, seats);
        if !calls.is_empty() {
            self.set_unwaited(rank, stream, host);
        }
        if host == Host::Waits {
            self.block(rank, Wait::Point(point));
        }
        true
    }

    /// Makes a call that is in no stream.
    fn beside(&mut self, place: Place, call: &Planned, host: Host) -> bool {
        let Some(entry) = self.entry(place, call) else { return false };
        let comm = entry.comm;
        let seat = match &call.creates {
            None => self.matcher.post_beside(place.rank, entry),
            Some(members) => self.matcher.post_new_group(place.rank, entry, members.clone()),
        };
        let Ok(seat) = seat else { return false };
        self.saw(place, &seat, comm, call.tag.is_some());
        if host == Host::Waits {
            self.block(place.rank, Wait::Instance(seat.instance));
        }
        true
    }

    /// Enqueues work of the rank alone: a call on a communicator of its own.
    fn local(&mut self, place: Place, local: &Local, host: Host) -> bool {
        let rank = place.rank;
        let Some(comm) = self.own(rank) else { return false };
        let stream = self.stream(rank, &local.stream);
        let entry = Entry {
            comm,
            signature: Signature::local(),
            site: Site::Step(place),
            tag: local.tag.clone(),
        };
        let mut seats = Vec::with_capacity(1);
        let Ok(point) = self.matcher.post(rank, stream, &[entry], &mut seats) else { return false };
        for seat in &seats {
            self.saw(place, seat, comm, true);
        }
        if host == Host::Waits {
            self.block(rank, Wait::Point(point));
        }
        true
    }

    fn entry(&mut self, place: Place, call: &Planned) -> Option<Entry> {
        let state = self.ranks.get_mut(slot(place.rank)?)?;
        // Programs share the text of a name, and a rank is in few groups.
        let known = state.comms.iter().find(|(name, _)| Arc::ptr_eq(name, &call.group));
        let comm = match known {
            Some((_, comm)) => *comm,
            None => {
                let comm = *self.comms.get(&*call.group)?;
                if state.comms.len() < KNOWN {
                    state.comms.push((call.group.clone(), comm));
                }
                comm
            }
        };
        Some(Entry {
            comm,
            signature: call.signature,
            site: Site::Step(place),
            tag: call.tag.clone(),
        })
    }

    /// Takes note of a call in an instance.
    fn saw(&mut self, place: Place, seat: &Seat, comm: CommId, is_tagged: bool) {
        let at = Instances::slot_of(seat.instance);
        if at >= self.nodes.len() {
            self.nodes.resize(at.saturating_add(1), None);
        }
        let spot = Spot::of(place);
        let Some(known) = self.nodes.get_mut(at) else { return };
        let node = *known.get_or_insert_with(|| self.log.begin(comm, seat.seq, (place.rank, spot)));
        self.log.add(place.rank, spot, node, is_tagged);
    }

    fn complete(&mut self, instance: InstanceId, ready: &mut Vec<WorldRank>) {
        self.matcher.completed(instance);
        let node = self.nodes.get_mut(Instances::slot_of(instance)).and_then(Option::take);
        let Some(node) = node else { return };
        self.log.complete(node);
        let Some(noted) = self.log.noted(node).copied() else { return };
        if let Some(group) = self.matcher.group(noted.comm) {
            let (collective, pair) = match noted.seq {
                crate::seq::Seq::Collective(_) => (group.members(), [None, None]),
                crate::seq::Seq::Message { from, to, .. } => {
                    (&[][..], [from, to].map(|end| group.world_rank(end)))
                }
            };
            let members = collective.iter().copied().chain(pair.into_iter().flatten());
            let waits =
                |rank: &WorldRank| slot(*rank).and_then(|at| self.waiting.get(at)) == Some(&true);
            ready.extend(members.filter(waits));
        }
        let (rank, spot) = noted.lowest;
        let Some(first) = planned(self.log.program, spot.place(rank)) else { return };
        self.completed = self.completed.saturating_add(1);
        let moves_data = first.signature.payload().is_some();
        if moves_data && noted.calls > 1 && noted.tagged < noted.calls {
            self.untagged = self.untagged.saturating_add(1);
            self.first_untagged.get_or_insert(node);
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
        if let Some(waiting) = slot(rank).and_then(|at| self.waiting.get_mut(at)) {
            *waiting = true;
        }
    }

    fn state(&mut self, rank: WorldRank) -> Option<&mut State> {
        self.ranks.get_mut(slot(rank)?)
    }

    /// The stream of that name; a rank has few.
    fn stream(&mut self, rank: WorldRank, name: &Arc<str>) -> StreamId {
        let Self { ranks, matcher, .. } = self;
        let state = slot(rank).and_then(|at| ranks.get_mut(at));
        let known = state.as_ref().and_then(|state| {
            state.streams.iter().find(|stream| stream.name == *name).map(|stream| stream.id)
        });
        known.unwrap_or_else(|| {
            let id = matcher.add_stream(rank, name.clone());
            if let Some(state) = state {
                state.streams.push(Stream { name: name.clone(), id, unwaited: None });
            }
            id
        })
    }

    /// Remembers the last call on a stream, or that the host waits for it.
    fn set_unwaited(&mut self, rank: WorldRank, name: &Arc<str>, host: Host) {
        let Some(at) = slot(rank) else { return };
        let last = self.log.ranks.get(at).and_then(|calls| calls.len().checked_sub(1));
        let streams = self.ranks.get_mut(at).into_iter().flat_map(|state| &mut state.streams);
        if let Some(stream) = streams.into_iter().find(|stream| stream.name == *name) {
            stream.unwaited = last.filter(|_| host == Host::GoesOn);
        }
    }

    fn own(&mut self, rank: WorldRank) -> Option<CommId> {
        let Self { ranks, matcher, log, .. } = self;
        let state = ranks.get_mut(slot(rank)?)?;
        if state.own.is_none() {
            let alone = Group::new(log.program.world, [rank.index()]).ok()?;
            state.own = Some(matcher.add_communicator("local", &alone));
        }
        state.own
    }

    fn findings(self) -> Findings {
        let Self { log, reports, ranks, completed, untagged, first_untagged, .. } = self;
        let mut caveats = Vec::new();
        let first = first_untagged.and_then(|node| {
            let (rank, spot) = log.noted(node)?.lowest;
            log.call(rank, Logged { spot, node })
        });
        if let Some(first) = first {
            caveats.push(Caveat::TensorIdentityNotChecked { instances: untagged, first });
        }
        for ((rank, state), calls) in log.program.world.ranks().zip(ranks).zip(&log.ranks) {
            let mut streams = state.streams;
            streams.sort_unstable_by(|one, other| one.name.cmp(&other.name));
            for stream in streams {
                let last = stream.unwaited.and_then(|at| calls.get(at));
                if let Some(call) = last.and_then(|last| log.call(rank, *last)) {
                    caveats.push(Caveat::UnwaitedAtEnd { rank, stream: stream.name, call });
                }
            }
        }
        let mut reports = explained::reports(&log, reports);
        reports.extend(hazards::findings(log.program).into_iter().map(Arc::new));
        reports.sort();
        let completions = Completions::of(&log);
        Findings { reports, order: order::findings(&log), caveats, completed, completions }
    }
}
