//! How calls take their seats, and how streams move on.

use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_model::Rank;
use rankwise_topology::WorldRank;

use super::{Entry, Matcher};
use crate::call::Verb;
use crate::communicator::End;
use crate::history::{Made, narrow};
use crate::instance::{Instance, InstanceId, Seat, Standing, Taken};
use crate::participant::Wait;
use crate::refused::Refused;
use crate::report::Call;
use crate::seq::Seq;
use crate::stream::{Item, Point, Stream, StreamId, Work};

impl Matcher {
    /// Seats the calls of a unit that have been admitted.
    pub(super) fn take_unit(
        &mut self,
        rank: WorldRank,
        stream: StreamId,
        entries: &[Entry],
        seats: &mut Vec<Seat>,
    ) -> Result<Point, Refused> {
        let found = self.stream(stream).ok_or(Refused::UnknownStream(stream))?;
        let index = found.end();
        let before = found.last().map(|last| &last.work);
        // The last of the instances right before the unit. Behind a wait it is not known.
        let order = |id: &InstanceId| self.instances.get(*id).map(|found| found.order);
        let last =
            before.map(|work| work.instances().iter().filter_map(order).max().unwrap_or(u64::MAX));
        let mut call = found.last().and_then(|last| last.call);
        let behind_hopeless = found.hopeless;
        let at = Some(Point { stream, index });
        let (mut loose, mut hopeless) = (false, behind_hopeless);
        for entry in entries {
            let position = self.position(rank, entry).ok_or_else(|| Refused::NotAMember {
                rank,
                communicator: self.name(entry.comm).cloned().unwrap_or_default(),
            })?;
            let (seat, begun) = self.sit(rank, position, entry, None, at);
            let order = self.instances.get(seat.instance).map(|found| found.order);
            // As long as every stream has its instances in one common order, streams
            // cannot wait in a circle. A new instance is the last.
            let ordered = last.is_none_or(|last| order > Some(last));
            loose |= !begun && !ordered;
            if let Some(found) = self.instances.get_mut(seat.instance) {
                // Others may have called here already, and wait.
                self.suspect |= behind_hopeless && !begun && !found.hopeless;
                found.hopeless |= behind_hopeless;
                hopeless |= found.hopeless || found.standing == Standing::Frozen;
            }
            call = self.rank(rank).and_then(|found| found.history.end().checked_sub(1));
            seats.push(seat);
        }
        for seat in seats.iter_mut() {
            if let Some(found) = self.instances.get(seat.instance) {
                seat.standing = found.standing.clone();
            }
        }
        let work = match seats.as_slice() {
            [] => Work::Over,
            [one] => Work::Call(one.instance),
            several => Work::Calls(several.iter().map(|seat| seat.instance).collect()),
        };
        if loose && let Some(participant) = self.rank_mut(rank) {
            participant.loose = true;
        }
        if hopeless && let Some(found) = self.stream_mut(stream) {
            found.hopeless = true;
        }
        Ok(self.enqueue(stream, Item { work, call, failed: None }))
    }

    fn position(&self, rank: WorldRank, entry: &Entry) -> Option<Rank> {
        self.comm(entry.comm)?.group.rank_of(rank)
    }

    /// Seats one call. Whether its instance began with it.
    pub(super) fn sit(
        &mut self,
        rank: WorldRank,
        position: Rank,
        entry: &Entry,
        creates: Option<&Arc<[Rank]>>,
        at: Option<Point>,
    ) -> (Seat, bool) {
        let (seq, seat, found) = self.number(position, entry);
        let (instance, begun) = match found {
            Some(instance) => (instance, false),
            None => (self.begin(rank, entry, seq, seat), true),
        };
        if !begun {
            self.await_less(rank);
        }
        let made = Made {
            comm: entry.comm,
            signature: entry.signature,
            tag: entry.tag.clone(),
            creates: creates.cloned(),
            site: entry.site.clone(),
            seq,
        };
        let call = self.rank_mut(rank).map_or(0, |found| found.history.push(made));
        let is_watched = self.rank(rank).is_some_and(|found| found.watched);
        let Some(found) = self.instances.get_mut(instance) else {
            return (Seat { instance, seq, standing: Standing::Open }, begun);
        };
        let was_frozen = found.standing == Standing::Frozen;
        let taken = Taken { call, at };
        found.take(seat, taken, &entry.signature, entry.tag.as_ref(), creates);
        self.suspect |= found.watched && is_watched;
        let standing = found.standing.clone();
        match &standing {
            Standing::Agreed => self.offer(instance),
            Standing::Frozen => self.suspect |= !was_frozen,
            Standing::Failed(report) => {
                let place = self.call(rank, call);
                self.tell(rank, report, place);
            }
            Standing::Open => {}
        }
        (Seat { instance, seq, standing }, begun)
    }

    /// The next number of the call's kind, its seat, and its instance if that has begun.
    fn number(&mut self, position: Rank, entry: &Entry) -> (Seq, usize, Option<InstanceId>) {
        let verb = entry.signature.verb();
        let message = match verb {
            Verb::Send { to } => Some((position, to, End::Send, 0)),
            Verb::Recv { from } => Some((from, position, End::Recv, 1)),
            _ => None,
        };
        let Some(comm) = self.comm_mut(entry.comm) else {
            return (Seq::Collective(0), 0, None);
        };
        match message {
            Some((from, to, end, seat)) => {
                let (number, found) = comm.next_message(from, to, end);
                (Seq::Message { from, to, number }, seat, found)
            }
            None => {
                let (number, found) = comm.next_collective(position);
                let seat = narrow(position.index().into()).unwrap_or(usize::MAX);
                (Seq::Collective(number), seat, found)
            }
        }
    }

    /// Begins an instance, with all its seats free.
    fn begin(&mut self, rank: WorldRank, entry: &Entry, seq: Seq, seat: usize) -> InstanceId {
        let Some(comm) = self.comm(entry.comm) else {
            return self.instances.insert(Instance::new(entry.comm, seq, 0, entry.signature));
        };
        let group = comm.group.clone();
        let pair = match seq {
            Seq::Collective(_) => None,
            Seq::Message { from, to, .. } => Some((from, to)),
        };
        let seats = if pair.is_some() { 2 } else { group.members().len() };
        let instance = Instance::new(entry.comm, seq, seats, entry.signature);
        let instance = self.instances.insert(instance);
        if let Some(comm) = self.comm_mut(entry.comm) {
            comm.opened(pair, instance);
        }
        match pair {
            None => {
                for member in group.members().iter().filter(|member| **member != rank) {
                    self.await_more(*member);
                }
            }
            Some((from, to)) => {
                let other = if seat == 0 { to } else { from };
                if let Some(other) = group.world_rank(other) {
                    self.await_more(other);
                }
            }
        }
        if self.gone > 0 || group.world() != self.world {
            // Whoever is gone did not come first, and will not come later.
            let lacks_one = self.missing_members(instance).any(|(world, position)| {
                world != rank && self.departure(instance, world, position).is_some()
            });
            self.suspect |= lacks_one;
        }
        instance
    }

    /// Adds an item to a stream and moves the stream on.
    pub(super) fn enqueue(&mut self, stream: StreamId, item: Item) -> Point {
        let mut index = 0;
        if let Some(found) = self.stream_mut(stream) {
            index = found.push(item);
            if found.base() == index {
                self.advance(stream);
            }
        }
        Point { stream, index }
    }

    /// Takes what is over off the head of a stream, and of those that waited for it.
    fn advance(&mut self, stream: StreamId) {
        let (mut next, mut moved) = (Some(stream), Vec::new());
        while let Some(stream) = next {
            while let Some(head) = self.stream(stream).and_then(Stream::head) {
                let target = match &head.work {
                    Work::Over => None,
                    Work::Wait(point) if !self.is_open(Wait::Point(*point)) => None,
                    Work::Wait(point) => Some(point.stream),
                    Work::Call(instance) => {
                        self.offer(*instance);
                        break;
                    }
                    Work::Calls(instances) => {
                        for instance in instances.clone() {
                            self.offer(instance);
                        }
                        break;
                    }
                };
                if let Some(target) = target {
                    if let Some(target) = self.stream_mut(target)
                        && !target.waiters.contains(&stream)
                    {
                        target.waiters.push(stream);
                    }
                    break;
                }
                if let Some(found) = self.stream_mut(stream) {
                    found.pop();
                    moved.append(&mut found.waiters);
                }
            }
            next = moved.pop();
        }
    }

    /// Closes an instance that is over.
    pub(super) fn close(&mut self, instance: InstanceId) {
        let Some(over) = self.instances.remove(instance) else { return };
        let (pair, number) = match over.seq {
            Seq::Collective(number) => (None, number),
            Seq::Message { from, to, number } => (Some((from, to)), number),
        };
        let Some(comm) = self.comm_mut(over.comm) else { return };
        comm.closed(pair, number);
        let group = comm.group.clone();
        for (seat, taken) in over.seats.iter().enumerate() {
            let Some(taken) = taken else { continue };
            if let Some(rank) = world_rank_of(&group, over.seq, seat)
                && let Some(participant) = self.rank_mut(rank)
            {
                participant.history.close(taken.call);
            }
            let Some(Point { stream, index }) = taken.at else { continue };
            let Some(found) = self.stream_mut(stream) else { continue };
            if let Some(item) = found.get_mut(index) {
                item.work.finish(instance);
                if found.base() == index {
                    self.advance(stream);
                }
            }
        }
    }

    /// Takes a rank's call back out of an instance that has not run: its seat is free
    /// again, and the rank is waited for. Its communicator has counted the call all the
    /// same. For a rank that aborts: say next that it [leaves](Self::leave).
    pub fn withdraw(&mut self, instance: InstanceId, rank: WorldRank) {
        let Some(found) = self.instances.get(instance) else { return };
        let (comm, seq, seats) = (found.comm, found.seq, found.seats.len());
        let Some(group) = self.comm(comm).map(|comm| comm.group.clone()) else { return };
        for seat in (0..seats).filter(|seat| world_rank_of(&group, seq, *seat) == Some(rank)) {
            let found = self.instances.get_mut(instance);
            let Some(taken) = found.and_then(|found| found.free(seat)) else { continue };
            self.await_more(rank);
            if let Some(participant) = self.rank_mut(rank) {
                participant.history.close(taken.call);
            }
            let Some(Point { stream, index }) = taken.at else { continue };
            let Some(queue) = self.stream_mut(stream) else { continue };
            if let Some(item) = queue.get_mut(index) {
                item.work.finish(instance);
                if queue.base() == index {
                    self.advance(stream);
                }
            }
        }
        // One that has ended leaves nothing any more: nothing else would be searched for it.
        let has_ended = self.rank(rank).is_some_and(|found| found.ended.is_some());
        self.suspect |= self.troubled || has_ended;
    }

    /// Remembers an instance that may be able to run.
    fn offer(&mut self, instance: InstanceId) {
        let Some(found) = self.instances.get_mut(instance) else { return };
        if found.standing != Standing::Agreed || core::mem::replace(&mut found.offered, true) {
            return;
        }
        self.ready.push(instance);
        let bound = self.instances.open().saturating_mul(2).saturating_add(64);
        if self.ready.len() > bound {
            let instances = &self.instances;
            self.ready.retain(|instance| instances.get(*instance).is_some());
        }
    }

    /// Whether an instance is agreed and at the head of all its streams.
    pub(super) fn is_runnable(&self, instance: InstanceId) -> bool {
        self.instances.get(instance).is_some_and(|found| {
            found.standing == Standing::Agreed
                && found.seats.iter().flatten().filter_map(|taken| taken.at).all(|point| {
                    self.stream(point.stream).is_some_and(|stream| stream.base() == point.index)
                })
        })
    }

    fn await_more(&mut self, rank: WorldRank) {
        if let Some(awaited) = self.awaited_mut(rank) {
            *awaited = awaited.saturating_add(1);
        }
    }

    fn await_less(&mut self, rank: WorldRank) {
        if let Some(awaited) = self.awaited_mut(rank) {
            *awaited = awaited.saturating_sub(1);
        }
    }

    fn awaited_mut(&mut self, rank: WorldRank) -> Option<&mut u64> {
        self.awaited.get_mut(narrow(rank.index().into())?)
    }

    /// Whether an open instance lacks a rank.
    pub(super) fn is_awaited(&self, rank: WorldRank) -> bool {
        let slot = narrow(rank.index().into()).unwrap_or(usize::MAX);
        self.awaited.get(slot).is_some_and(|awaited| *awaited > 0)
    }

    /// Takes note that a rank has gone, from everywhere or from a communicator.
    pub(super) fn departed(&mut self, rank: WorldRank) {
        self.gone = self.gone.saturating_add(1);
        let searched_next = self.rank(rank).is_some_and(|found| found.loose || found.watched);
        self.suspect |= searched_next || self.is_awaited(rank);
    }

    /// Whether a wait is for something that is known to be hopeless.
    pub(super) fn is_known_hopeless(&self, wait: Wait) -> bool {
        match wait {
            Wait::Point(point) => self.stream(point.stream).is_some_and(|found| found.hopeless),
            Wait::Instance(id) => self.instances.get(id).is_some_and(|found| found.hopeless),
        }
    }

    /// Whether something waited for is not over.
    pub(crate) fn is_open(&self, wait: Wait) -> bool {
        match wait {
            Wait::Instance(instance) => self.instances.get(instance).is_some(),
            Wait::Point(point) => self
                .stream(point.stream)
                .is_some_and(|stream| point.index >= stream.base() && point.index < stream.end()),
        }
    }

    /// The open instances that a wait is for, those of other streams not included.
    pub(crate) fn open_in(&self, wait: Wait) -> impl Iterator<Item = InstanceId> {
        let (one, stream, last) = match wait {
            Wait::Instance(instance) => (Some(instance), None, 0),
            Wait::Point(point) => (None, self.stream(point.stream), point.index),
        };
        let items = stream.into_iter().flat_map(Stream::items);
        let queued = items
            .take_while(move |(index, _)| *index <= last)
            .flat_map(|(_, item)| item.work.instances().iter().copied());
        one.into_iter().chain(queued).filter(|id| self.instances.get(*id).is_some())
    }

    /// The members of an instance that have not called.
    pub(crate) fn missing_members(
        &self,
        instance: InstanceId,
    ) -> impl Iterator<Item = (WorldRank, Rank)> {
        let found = self.instances.get(instance);
        let group = found.and_then(|found| Some(&self.comm(found.comm)?.group));
        found.zip(group).into_iter().flat_map(|(found, group)| {
            let free = found.seats.iter().enumerate().filter(|(_, taken)| taken.is_none());
            free.filter_map(|(seat, _)| {
                let position = position_of(group, found.seq, seat)?;
                Some((group.world_rank(position)?, position))
            })
        })
    }

    /// A call of a rank, for a report.
    pub(crate) fn call(&self, rank: WorldRank, number: u64) -> Option<Call> {
        self.rank(rank)?.history.get(number).map(|made| self.shown(made))
    }

    pub(crate) fn shown(&self, made: &Made) -> Call {
        Call {
            communicator: self.name(made.comm).cloned().unwrap_or_default(),
            signature: made.signature,
            tag: made.tag.clone(),
            creates: made.creates.clone(),
            seq: made.seq,
            site: made.site.clone(),
        }
    }

    /// The number of the call in which a rank waits, in its history.
    pub(crate) fn waits_at(&self, rank: WorldRank, wait: Wait) -> Option<u64> {
        match wait {
            Wait::Point(point) => {
                let stream = self.stream(point.stream)?;
                if stream.rank == rank { stream.get(point.index)?.call } else { None }
            }
            Wait::Instance(instance) => {
                let found = self.instances.get(instance)?;
                let group = &self.comm(found.comm)?.group;
                let position = group.rank_of(rank)?;
                let own = |(seat, taken): (usize, &Option<Taken>)| {
                    let here = position_of(group, found.seq, seat) == Some(position);
                    if here { taken.map(|taken| taken.call) } else { None }
                };
                found.seats.iter().enumerate().filter_map(own).max()
            }
        }
    }

    pub(crate) fn waits_in(&self, rank: WorldRank, wait: Wait) -> Option<Call> {
        self.call(rank, self.waits_at(rank, wait)?)
    }
}

/// Whose seat it is: of a collective by rank, of a message the sender's and the receiver's.
pub(crate) fn position_of(group: &rankwise_topology::Group, seq: Seq, seat: usize) -> Option<Rank> {
    match (seq, seat) {
        (Seq::Collective(_), seat) => group.size().rank(u32::try_from(seat).ok()?),
        (Seq::Message { from, .. }, 0) => Some(from),
        (Seq::Message { to, .. }, _) => Some(to),
    }
}

pub(crate) fn world_rank_of(
    group: &rankwise_topology::Group,
    seq: Seq,
    seat: usize,
) -> Option<WorldRank> {
    group.world_rank(position_of(group, seq, seat)?)
}
