//! The mock's streams.

use core::any::Any;
use core::ops::Range;
use std::sync::Arc;

use rankwise_comm::{DeviceOrdinal, Dyn, Error, Fault, Fence, Memory, Pending, View, ViewMut};
use rankwise_program::CommId;
use rankwise_topology::WorldRank;

use crate::clock::Clock;
use crate::explore::Step;
use crate::foreign::Nudge;
use crate::hub::{Changes, Hub, State};
use crate::landing::Landing;
use crate::lane::{Act, Lane, Progress};
use crate::memory::{Block, Change, HostMemory};
use crate::point::Place;
use crate::uses::{Access, Use, What};

/// Work of one rank that runs in the order in which it was enqueued.
///
/// No thread belongs to it: whoever enqueues or waits carries out what has become
/// possible.
pub struct Stream {
    start: Arc<Place>,
    name: Arc<str>,
}

impl Stream {
    pub(crate) fn new(hub: &Arc<Hub>, rank: WorldRank, comm: CommId, name: &str) -> Self {
        let mut state = hub.lock();
        let stream = state.matcher.add_stream(rank, name);
        let name: Arc<str> = name.into();
        let lane = Lane::new(rank, comm, Arc::clone(&name), stream);
        let progress = Arc::clone(&lane.progress);
        let at = state.lanes.len();
        state.lanes.push(lane);
        drop(state);
        let (hub, clock) = (Arc::clone(hub), Clock::default());
        Self { start: Arc::new(Place { hub, rank, lane: at, progress, clock, from: 0 }), name }
    }

    pub(crate) fn lane(&self) -> usize {
        self.start.lane
    }

    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.start.hub
    }

    pub(crate) fn rank(&self) -> WorldRank {
        self.start.rank
    }

    pub(crate) const fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(crate) fn progress(&self) -> &Arc<Progress> {
        &self.start.progress
    }

    /// Enqueues something, if this stream still takes work, and carries out what becomes
    /// possible by it. What another rank has enqueued may have to be `seen` first.
    fn enqueue<R>(
        &self,
        seen: Option<WorldRank>,
        act: impl FnOnce(&mut State, &mut Changes) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let (hub, rank) = (self.hub(), self.rank());
        hub.turn(Step::Stream)?;
        let (mut state, mut changes) = (hub.lock(), Changes::default());
        state.stir(rank);
        if let Some(other) = seen {
            state.show(other, &mut changes);
        }
        let still = state.still(&hub.desks, &[rank], &mut changes);
        let failure = state.lanes.get(self.lane()).and_then(|lane| lane.failure.as_ref());
        let done = match failure.map(|(_, error)| error.clone()) {
            Some(error) => Err(state.told(rank, error)),
            None => act(&mut state, &mut changes),
        };
        drop(still);
        hub.settle(state, changes);
        done
    }

    /// Enqueues an act of this rank alone.
    fn push(&self, state: &mut State, changes: &mut Changes, act: Act) -> u64 {
        changes.ready.push(self.lane());
        state.lanes.get_mut(self.lane()).map_or(0, |lane| lane.push(None, act))
    }

    fn block<'m>(&self, memory: &'m HostMemory) -> Result<&'m Arc<Block>, Error> {
        let (found, needed) = (memory.device(), DeviceOrdinal(self.rank().index()));
        if found != needed {
            return Err(Fault::ForeignMemory { verb: None, found, needed }.into());
        }
        memory.block_of(self.hub())
    }

    /// Changes bytes behind everything on this stream.
    pub(crate) fn change(
        &self,
        memory: &HostMemory,
        range: Range<usize>,
        change: Change,
        what: What,
    ) -> Result<(), Error> {
        let block = self.block(memory)?;
        self.enqueue(None, |state, changes| {
            state.use_by_host(self.rank(), block, self.lane(), &range, Access::Write, what)?;
            self.push(state, changes, Act::Change { block: Arc::clone(block), range, change });
            Ok(())
        })
    }

    /// A read to the host: after everything on this stream, and after the last writers
    /// on the others.
    fn fetch_range(
        &self,
        memory: &HostMemory,
        range: &Range<usize>,
        after: After,
    ) -> Result<(u64, Arc<Landing>), Error> {
        let block = self.block(memory)?;
        self.enqueue(None, |state, changes| {
            let (lane, what) = (self.lane(), What::HostRead);
            if let After::LastWriters = after {
                state.follow_writers(lane, block, range)?;
            }
            state.use_by_host(self.rank(), block, lane, range, Access::Read, what)?;
            let landing = Arc::new(Landing::new(range.len()));
            let (block, at) = (Arc::clone(block), range.start);
            let act = Act::Fetch { block, at, landing: Arc::clone(&landing) };
            Ok((self.push(state, changes, act), landing))
        })
    }
}

/// What a read to the host comes after, besides its own stream.
#[derive(Clone, Copy)]
enum After {
    LastWriters,
    Nothing,
}

impl rankwise_comm::Stream for Stream {
    type Memory = HostMemory;

    fn fence(&self) -> Result<Fence, Error> {
        if !self.progress().follows() {
            return Ok(Fence::new(self.start.clone(), self.progress().enqueued()));
        }
        let state = self.hub().lock();
        let Some(lane) = state.lanes.get(self.lane()) else {
            return Err(Fault::Internal { what: format!("no lane {}", self.lane()) }.into());
        };
        let (hub, clock) = (Arc::clone(self.hub()), lane.clock().clone());
        let progress = Arc::clone(&lane.progress);
        let (rank, from) = (self.rank(), lane.progress.enqueued());
        let place = Place { hub, rank, lane: self.lane(), progress, clock, from };
        Ok(Fence::new(Arc::new(place), from))
    }

    fn wait_for(&self, fence: &Fence) -> Result<(), Error> {
        let completion: &dyn Any = &**fence.completion();
        let own = completion
            .downcast_ref::<Place>()
            .filter(|place| place.hub.number == self.hub().number);
        self.enqueue(own.map(|place| place.rank), |state, changes| {
            let Some(place) = own else {
                let waker = Nudge::waker(self.hub(), self.lane(), self.progress().next());
                let fence = Some(fence.clone());
                self.push(state, changes, Act::Foreign { fence, waker, nudged: false });
                return Ok(());
            };
            let ticket = place.ticket(fence.ticket());
            place.check(ticket)?;
            state.asks(place.rank);
            // What comes before on the same stream, or is known to be over, orders itself.
            if place.lane == self.lane() || place.progress.is_known(ticket) {
                return Ok(());
            }
            if let Some(lane) = state.lanes.get_mut(self.lane()) {
                lane.order(|clock| clock.join(&place.clock));
            }
            changes.ready.push(self.lane());
            state.follow(self.lane(), place.lane, ticket)
        })
    }

    fn write_bytes(&self, to: ViewMut<'_, Dyn, HostMemory>, bytes: &[u8]) -> Result<(), Error> {
        let range = to.byte_range();
        if range.len() != bytes.len() {
            return Err(Fault::Transfer { host: bytes.len(), buffer: range.len() }.into());
        }
        let view = to.as_view();
        let block = self.block(view.memory())?;
        self.enqueue(None, |state, changes| {
            let (lane, what) = (self.lane(), What::HostWrite);
            state.use_by_host(self.rank(), block, lane, &range, Access::Write, what)?;
            let (block, at, bytes) = (Arc::clone(block), range.start, bytes.into());
            self.push(state, changes, Act::Write { block, at, bytes });
            Ok(())
        })
    }

    fn read_bytes(&self, from: View<'_, Dyn, HostMemory>, bytes: &mut [u8]) -> Result<(), Error> {
        let range = from.byte_range();
        if range.len() != bytes.len() {
            return Err(Fault::Transfer { host: bytes.len(), buffer: range.len() }.into());
        }
        let (ticket, landing) = self.fetch_range(from.memory(), &range, After::LastWriters)?;
        Fence::new(self.start.clone(), ticket).wait()?;
        landing.fill(|found| bytes.copy_from_slice(found));
        Ok(())
    }

    fn fetch_bytes(&self, from: View<'_, Dyn, HostMemory>) -> Result<Pending<Vec<u8>>, Error> {
        let (ticket, landing) =
            self.fetch_range(from.memory(), &from.byte_range(), After::Nothing)?;
        Ok(Pending::new(Fence::new(self.start.clone(), ticket), move || Ok(landing.take())))
    }
}

impl State {
    /// What comes next on `lane` starts after item `ticket` of `other`.
    pub(crate) fn follow(&mut self, lane: usize, other: usize, ticket: u64) -> Result<(), Error> {
        let Some(followed) = self.lanes.get(other) else { return Ok(()) };
        // The matcher counts only what peers take part in.
        let on = followed.point_upto(ticket);
        let Some(stream) = self.lanes.get(lane).map(|lane| lane.stream) else { return Ok(()) };
        let point =
            match on {
                None => None,
                Some(on) => Some(self.matcher.stream_wait(stream, on).map_err(|refused| {
                    Error::from(Fault::Internal { what: refused.to_string() })
                })?),
            };
        if let Some(lane) = self.lanes.get_mut(lane) {
            lane.order(|clock| clock.advance(other, ticket));
            lane.push(point, Act::Follow { lane: other, ticket });
        }
        self.forget_known(lane);
        Ok(())
    }

    /// Forgets what is ordered before the next item of a lane if it is before everything.
    pub(crate) fn forget_known(&mut self, at: usize) {
        let Some(clock) = self.lanes.get(at).map(Lane::clock).filter(|it| !it.is_empty()) else {
            return;
        };
        let known: Vec<_> =
            clock.each().filter(|(other, ticket)| self.is_known(*other, *ticket)).collect();
        if let Some(lane) = self.lanes.get_mut(at) {
            lane.order(|clock| clock.forget(|other, ticket| known.contains(&(other, ticket))));
        }
    }

    /// What comes next on `lane` starts after the last writers of these bytes.
    fn follow_writers(
        &mut self,
        lane: usize,
        block: &Block,
        range: &Range<usize>,
    ) -> Result<(), Error> {
        let writers: Vec<_> = block.uses().writers(range).collect();
        for (other, ticket) in writers {
            if !self.is_before(lane, other, ticket) {
                self.follow(lane, other, ticket)?;
            }
        }
        Ok(())
    }

    /// Whether item `ticket` of lane `other` is ordered before the next item of `lane`.
    fn is_before(&self, lane: usize, other: usize, ticket: u64) -> bool {
        lane == other
            || self.lanes.get(lane).is_some_and(|lane| lane.clock().covers(other, ticket))
            || self.is_known(other, ticket)
    }

    /// Whether the host knows that item `ticket` of `lane` is over: then it is ordered
    /// before everything to come.
    fn is_known(&self, lane: usize, ticket: u64) -> bool {
        self.lanes.get(lane).is_some_and(|lane| lane.progress.is_known(ticket))
    }

    /// The use that the next item of `lane` would make, if nothing unordered conflicts.
    pub(crate) fn check_use(&self, rank: WorldRank, block: &Block, new: &Use) -> Result<(), Error> {
        let uses = block.uses();
        let before = |earlier: &Use| self.is_before(new.lane, earlier.lane, earlier.ticket);
        uses.conflict(new, before).map_or(Ok(()), |earlier| Err(self.hazard(rank, earlier, new)))
    }

    /// Two uses of the same bytes that nothing orders.
    pub(crate) fn hazard(&self, rank: WorldRank, earlier: &Use, later: &Use) -> Error {
        let (start, end) = (&earlier.bytes.start, &earlier.bytes.end);
        let bytes = *start.max(&later.bytes.start)..*end.min(&later.bytes.end);
        let (earlier, later) = (self.describe_use(earlier), self.describe_use(later));
        Fault::Hazard { earlier, later, bytes, rank: rank.index() }.into()
    }

    /// Notes a use that has been checked.
    pub(crate) fn note_use(&self, block: &Block, new: Use) {
        let lane = new.lane;
        let before = |earlier: &Use| self.is_before(lane, earlier.lane, earlier.ticket);
        let is_over = |earlier: &Use| self.is_known(earlier.lane, earlier.ticket);
        block.uses().note(new, before, is_over);
    }

    /// Notes the host's use of some bytes by the next item of `lane`, or refuses it.
    fn use_by_host(
        &self,
        rank: WorldRank,
        block: &Block,
        lane: usize,
        range: &Range<usize>,
        access: Access,
        what: What,
    ) -> Result<(), Error> {
        if range.is_empty() {
            return Ok(());
        }
        let new = self.next_use(lane, range, access, what);
        self.check_use(rank, block, &new)?;
        self.note_use(block, new);
        Ok(())
    }

    /// The use that the next item of `lane` would make.
    pub(crate) fn next_use(
        &self,
        lane: usize,
        range: &Range<usize>,
        access: Access,
        what: What,
    ) -> Use {
        let ticket = self.lanes.get(lane).map_or(0, |lane| lane.progress.next());
        Use { lane, ticket, bytes: range.clone(), access, what }
    }

    fn describe_use(&self, one: &Use) -> String {
        let name = self.lanes.get(one.lane).map_or("?", |lane| &lane.name);
        format!("{} on stream {name}", one.what)
    }
}
