//! What a driver of the matcher says and asks.

use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_model::Rank;
use rankwise_topology::{Group, NotInWorld, WorldRank};

use super::{Entry, Matcher, Progress};
use crate::communicator::{CommId, Departure};
use crate::ending::Ending;
use crate::history::Made;
use crate::instance::{InstanceId, Seat, Standing};
use crate::participant::{Drivers, Told, Wait};
use crate::refused::Refused;
use crate::report::{Call, Report};
use crate::seq::Seq;
use crate::status::{Activity, RankStatus};
use crate::stream::{Item, Point, StreamId, Work};

impl Matcher {
    /// Enqueues one unit on a stream: a single call, or all calls of a group that share
    /// a rank and a stream. All are taken or none.
    ///
    /// The unit is one item of the stream: it is over when all its instances are. Its
    /// calls are logically concurrent. `seats` is cleared, and then has one seat per
    /// entry, in order.
    pub fn post(
        &mut self,
        rank: WorldRank,
        stream: StreamId,
        entries: &[Entry],
        seats: &mut Vec<Seat>,
    ) -> Result<Point, Refused> {
        seats.clear();
        let owner = self.stream(stream).ok_or(Refused::UnknownStream(stream))?.rank;
        if owner != rank {
            return Err(Refused::ForeignStream { stream, owner, rank });
        }
        for entry in entries {
            self.admit(rank, entry)?;
        }
        self.take_unit(rank, stream, entries, seats)
    }

    /// Makes a call that is in no stream, such as a split: it waits for nothing that
    /// has been enqueued.
    // By value, as the call it is; nothing of it is kept that need not be cloned.
    #[allow(clippy::needless_pass_by_value)]
    pub fn post_beside(&mut self, rank: WorldRank, entry: Entry) -> Result<Seat, Refused> {
        let position = self.admit(rank, &entry)?;
        Ok(self.sit(rank, position, &entry, None, None).0)
    }

    /// Makes a call that creates a group of these members, ranks of the communicator, in
    /// order: a [split](crate::Verb::Split) whose callers must all give the same list.
    // By value, as the call it is.
    #[allow(clippy::needless_pass_by_value)]
    pub fn post_new_group(
        &mut self,
        rank: WorldRank,
        entry: Entry,
        members: Arc<[Rank]>,
    ) -> Result<Seat, Refused> {
        let position = self.admit(rank, &entry)?;
        Ok(self.sit(rank, position, &entry, Some(&members), None).0)
    }

    /// Lets a stream wait, at this place, for a point of another stream or its own.
    pub fn stream_wait(&mut self, stream: StreamId, on: Point) -> Result<Point, Refused> {
        let waiting = self.stream(stream).ok_or(Refused::UnknownStream(stream))?;
        let target = self.stream(on.stream).ok_or(Refused::UnknownStream(on.stream))?;
        if on.index >= target.end() {
            return Err(Refused::UnknownPoint(on));
        }
        let own = waiting.last().and_then(|last| last.call);
        let theirs = || target.get(on.index).and_then(|item| item.call);
        let call = own.or_else(|| (target.rank == waiting.rank).then(theirs).flatten());
        self.suspect |= target.hopeless;
        Ok(self.enqueue(stream, Item { work: Work::Wait(on), call, failed: None }))
    }

    /// The last point of a stream; `None` if nothing was ever enqueued.
    pub fn last_point(&self, stream: StreamId) -> Option<Point> {
        let index = self.stream(stream)?.end().checked_sub(1)?;
        Some(Point { stream, index })
    }

    /// Says that an instance is over: its data has been moved, or nothing had to be.
    ///
    /// An instance that is not [agreed](Standing::Agreed), or over already, stays as it is.
    pub fn completed(&mut self, instance: InstanceId) {
        let Some(found) = self.instances.get(instance) else { return };
        if found.standing == Standing::Agreed {
            self.suspect |= found.watched;
            self.close(instance);
        }
    }

    /// Says that an instance will never be over, for a reason that has been published: a
    /// driver has dropped one of its calls together with what stood beside or before it.
    /// Whoever waits for it, now or later, is told the same.
    pub fn abandon(&mut self, instance: InstanceId, report: &Arc<Report>) {
        if let Some(found) = self.instances.get_mut(instance)
            && !matches!(found.standing, Standing::Failed(_))
        {
            found.standing = Standing::Failed(report.clone());
            self.suspect = true;
        }
    }

    /// The number of the next collective of a communicator; `None` while one is open.
    ///
    /// Then every member has called as many, and a driver that matches by itself may go on
    /// from there without this matcher, until it says so with
    /// [`skip_collectives`](Self::skip_collectives).
    pub fn collectives_over(&self, comm: CommId) -> Option<u64> {
        self.comm(comm)?.collectives_over()
    }

    /// Says that all collectives of a communicator below that number are over: every
    /// member has made them, they have agreed, and their data has been moved. While one
    /// is open here it says nothing.
    pub fn skip_collectives(&mut self, comm: CommId, next: u64) {
        if let Some(found) = self.comm_mut(comm) {
            found.skip_collectives(next);
        }
    }

    /// Recalls a collective that was skipped, for reports: of a rank, in the order of its
    /// program. The last [`CALLS_SHOWN`](crate::CALLS_SHOWN) are enough.
    // By value, as the call it is.
    #[allow(clippy::needless_pass_by_value)]
    pub fn recall(&mut self, rank: WorldRank, entry: Entry, number: u64) {
        let Entry { comm, signature, site, tag } = entry;
        let seq = Seq::Collective(number);
        if let Some(found) = self.rank_mut(rank) {
            let made = Made { comm, signature, tag, creates: None, site, seq };
            let call = found.history.push(made);
            found.history.close(call);
        }
    }

    /// Says that a rank's host goes no further before that.
    ///
    /// A rank of [many drivers](Drivers::Many) may be in several waits.
    pub fn block(&mut self, rank: WorldRank, wait: Wait) {
        let Some(participant) = self.rank_mut(rank) else { return };
        participant.waits.push(wait);
        let searched_next = participant.loose || participant.watched;
        self.suspect |=
            searched_next || self.is_awaited(rank) || self.failing && self.is_known_hopeless(wait);
    }

    /// Says that a rank waits no more, in whichever way its waits ended.
    pub fn resume(&mut self, rank: WorldRank) {
        let waits = self.rank(rank).map(|found| found.waits.clone()).unwrap_or_default();
        for wait in waits {
            self.resume_from(rank, wait);
        }
    }

    /// Says that one of a rank's waits has ended.
    pub fn resume_from(&mut self, rank: WorldRank, wait: Wait) {
        if let Some(participant) = self.rank_mut(rank)
            && let Some(found) = participant.waits.iter().position(|other| *other == wait)
        {
            participant.waits.remove(found);
            // Whoever gives up is free again, and what lacks it is not hopeless.
            self.suspect |= self.troubled && self.is_open(wait);
        }
    }

    /// How a wait stands, as far as [`take_verdicts`](Self::take_verdicts) has looked.
    pub fn progress(&self, wait: Wait) -> Progress {
        let failed = match wait {
            Wait::Instance(id) => self.instances.get(id).map(|found| match &found.standing {
                Standing::Failed(report) => Some(report),
                Standing::Open | Standing::Agreed | Standing::Frozen => None,
            }),
            Wait::Point(point) => {
                let item = self.stream(point.stream).and_then(|stream| stream.get(point.index));
                item.map(|item| item.failed.as_ref())
            }
        };
        match failed {
            None => Progress::Done,
            Some(None) => Progress::Pending,
            Some(Some(report)) => Progress::Failed(report.clone()),
        }
    }

    /// Says that a member will post nothing more on a communicator. Of a rank that has
    /// [ended](Self::end) it says nothing new.
    pub fn leave(&mut self, comm: CommId, rank: WorldRank, how: Ending) {
        if self.rank(rank).is_some_and(|found| found.ended.is_some()) {
            return;
        }
        let because = self.rank(rank).and_then(|found| found.told.clone());
        let because = because.map(|told| told.report);
        let Some(found) = self.comm_mut(comm) else { return };
        let Some(position) = found.group.rank_of(rank) else { return };
        found.leave(position, Departure { how, because });
        self.departed(rank);
    }

    /// Says that nothing more will come from a rank. What it has posted stays.
    pub fn end(&mut self, rank: WorldRank, how: Ending) {
        let Some(participant) = self.rank_mut(rank) else { return };
        participant.ended.get_or_insert(how);
        participant.waits.clear();
        self.departed(rank);
    }

    /// What a rank said at its end, such as the message of its panic: for reports.
    /// Say it before [`end`](Self::end) or [`leave`](Self::leave).
    pub fn last_words(&mut self, rank: WorldRank, words: impl Into<Arc<str>>) {
        if let Some(participant) = self.rank_mut(rank) {
            participant.words.get_or_insert(words.into());
        }
    }

    /// Says how many threads make a rank's calls; [one](Drivers::One) until said.
    pub fn set_drivers(&mut self, rank: WorldRank, drivers: Drivers) {
        if let Some(participant) = self.rank_mut(rank) {
            participant.drivers = drivers;
        }
        self.suspect = true;
    }

    /// Instances that are agreed and at the head of all their streams, oldest first.
    /// Each is returned until it is [completed](Self::completed).
    pub fn runnable(&mut self) -> Vec<InstanceId> {
        let mut ready = core::mem::take(&mut self.ready);
        ready.retain(|instance| {
            let is_runnable = self.is_runnable(*instance);
            // Whoever comes to the head of its stream next offers it again.
            if !is_runnable && let Some(found) = self.instances.get_mut(*instance) {
                found.offered = false;
            }
            is_runnable
        });
        ready.sort_unstable_by_key(|id| self.instances.get(*id).map(|found| found.created));
        self.ready.clone_from(&ready);
        ready
    }

    /// How many instances are not over, failed ones included.
    pub fn open_instances(&self) -> usize {
        self.instances.open()
    }

    /// The name of a stream; `None` for one of another matcher.
    pub fn stream_name(&self, stream: StreamId) -> Option<&Arc<str>> {
        Some(&self.stream(stream)?.name)
    }

    /// The group of a communicator; `None` for one of another matcher.
    pub fn group(&self, comm: CommId) -> Option<&Group> {
        Some(&self.comm(comm)?.group)
    }

    /// The name of a communicator; `None` for one of another matcher.
    pub fn name(&self, comm: CommId) -> Option<&Arc<str>> {
        Some(&self.comm(comm)?.name)
    }

    /// What every rank is doing, in order.
    pub fn status(&self) -> Vec<RankStatus> {
        let activity = |rank| {
            let Some(found) = self.rank(rank) else { return Activity::Computing };
            if let Some(how) = found.ended {
                return Activity::Ended { how, words: found.words.clone() };
            }
            let Some(wait) = found.waits.iter().find(|wait| self.is_open(**wait)) else {
                return Activity::Computing;
            };
            let mut waits_for: Vec<_> = self
                .open_in(*wait)
                .flat_map(|instance| self.missing_members(instance).map(|(world, _)| world))
                .filter(|other| *other != rank)
                .collect();
            waits_for.sort_unstable();
            waits_for.dedup();
            Activity::Blocked { call: self.waits_in(rank, *wait), waits_for }
        };
        self.world.ranks().map(|rank| RankStatus { rank, activity: activity(rank) }).collect()
    }

    /// A report for a rank that waits no longer, whatever becomes of its wait: in which
    /// call it waited, who had not come, and what those were doing.
    ///
    /// Nothing fails by it, and it depends on the moment.
    pub fn give_up(&mut self, rank: WorldRank) -> Arc<Report> {
        Arc::new(self.inconclusive(rank))
    }

    /// Whether the call may be made, and as which rank of the communicator.
    fn admit(&mut self, rank: WorldRank, entry: &Entry) -> Result<Rank, Refused> {
        if !self.world.contains(rank) {
            return Err(Refused::NotInWorld(NotInWorld { rank: rank.index(), world: self.world }));
        }
        if let Some(how) = self.rank(rank).and_then(|found| found.ended) {
            return Err(Refused::HasEnded { rank, how });
        }
        let comm = self.comm(entry.comm).ok_or(Refused::UnknownCommunicator(entry.comm))?;
        let name = || comm.name.clone();
        let Some(position) = comm.group.rank_of(rank) else {
            return Err(Refused::NotAMember { rank, communicator: name() });
        };
        if let Some(report) = comm.failed.clone() {
            let place = Call {
                communicator: name(),
                signature: entry.signature,
                tag: entry.tag.clone(),
                creates: None,
                seq: comm.peek(position, entry.signature.verb()),
                site: entry.site.clone(),
            };
            self.tell(rank, &report, Some(place));
            return Err(Refused::Failed(report));
        }
        if let Some(departure) = comm.departure(position) {
            return Err(Refused::HasLeft { rank, communicator: name(), how: departure.how });
        }
        match entry.signature.verb().peer() {
            Some(peer) if !comm.group.size().contains(peer) => {
                Err(Refused::NoSuchPeer { peer, communicator: name(), ranks: comm.group.size() })
            }
            _ => Ok(position),
        }
    }

    /// Says that a rank has been given a report otherwise than by a verdict or a refusal
    /// of this matcher. If it ends then, those who wait for it get the same report.
    pub fn inform(&mut self, rank: WorldRank, report: &Arc<Report>) {
        self.tell(rank, report, None);
    }

    /// Records that a rank has been given a report; only the first counts.
    pub(crate) fn tell(&mut self, rank: WorldRank, report: &Arc<Report>, place: Option<Call>) {
        if let Some(participant) = self.rank_mut(rank) {
            let last = participant.history.end().saturating_sub(1);
            participant.told.get_or_insert(Told { report: report.clone(), place, last });
        }
    }
}
