//! Everything that the ranks of one world share, and the lock that guards it.
//!
//! No thread belongs to the hub. Whoever enqueues the last missing piece carries out
//! what has become possible, and so does a rank that would otherwise only wait.

use core::any::Any;
use core::future::Future;
use core::ops::Range;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rankwise_comm::{Capabilities, Error, Fault, Fence};
use rankwise_model::GroupSize;
use rankwise_program::{CommId, Drivers, Ending, InstanceId, Matcher, Verdict, Wait};
use rankwise_topology::{Group, World, WorldRank};

use crate::engine::Job;
use crate::explore::{Baton, Step as Turn, Touched};
use crate::express::{Desks, Table};
use crate::inject::Injection;
use crate::instance::{Instance, Splitting};
use crate::jobs::{Jobs, Offer, work_through};
use crate::landing::Landing;
use crate::lane::{Act, Item, Lane};
use crate::memory::{Block, Change};
use crate::point::Place;
use crate::quirks::Quirks;
use crate::recording::Recorder;
use crate::table::place;
use crate::waits::Waits;

/// What the ranks of one world share.
pub(crate) struct Hub {
    /// Tells the memory of one world from that of another.
    pub(crate) number: u64,
    pub(crate) jobs: Jobs,
    pub(crate) rigor: Rigor,
    pub(crate) quirks: Quirks,
    /// Of the world's communicators, and of those of one rank.
    pub(crate) capabilities: [Capabilities; 2],
    pub(crate) injection: Option<Arc<Injection>>,
    pub(crate) recorder: Option<Recorder>,
    /// Its ranks take turns, and every call goes the long way.
    pub(crate) baton: Option<Arc<Baton>>,
    pub(crate) desks: Arc<Desks>,
    state: Mutex<State>,
}

/// What a world does besides.
#[derive(Default)]
pub(crate) struct Extras {
    pub(crate) rigor: Rigor,
    pub(crate) quirks: Quirks,
    pub(crate) injection: Option<Arc<Injection>>,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) baton: Option<Arc<Baton>>,
}

/// What a world does with memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rigor {
    #[default]
    Usual,
    /// Memory that nothing has been written to is poisoned.
    Strict,
}

/// What the lock guards.
pub(crate) struct State {
    pub(crate) matcher: Matcher,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) baton: Option<Arc<Baton>>,
    pub(crate) desks: Arc<Desks>,
    /// Where the ranks of a communicator meet the short way: of every one that is small
    /// enough, until a rank leaves it or it fails.
    pub(crate) tables: HashMap<CommId, Arc<Table>>,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) instances: HashMap<InstanceId, Instance>,
    pub(crate) splits: HashMap<InstanceId, Splitting>,
    /// Communicators that a report has ended, on every rank.
    pub(crate) failed: HashMap<CommId, Error>,
    /// Communicators that a rank has left.
    pub(crate) left: HashMap<(CommId, WorldRank), String>,
    /// Communicators that a rank has left because a stream of its own failed, and how.
    pub(crate) lost: HashMap<(CommId, WorldRank), Error>,
    /// Ranks whose program is over, and how.
    pub(crate) ended: HashMap<WorldRank, String>,
    /// What each rank waits for.
    pub(crate) waits: Vec<Waits>,
}

/// Work that is done outside the lock.
enum Step {
    Write { lane: usize, block: Arc<Block>, at: usize, bytes: Box<[u8]> },
    Fetch { lane: usize, block: Arc<Block>, at: usize, landing: Arc<Landing> },
    Change { lane: usize, block: Arc<Block>, range: Range<usize>, change: Change },
    Poison { lane: usize, parts: Vec<(Arc<Block>, Range<usize>)> },
    Job { instance: InstanceId, job: Arc<Job> },
    Foreign { lane: usize, fence: Fence, waker: Waker },
}

/// What to do after the state has changed: lanes that may go on, wakers to wake.
#[derive(Default)]
pub(crate) struct Changes {
    pub(crate) ready: Vec<usize>,
    pub(crate) wakers: Vec<Waker>,
    /// What nobody needs any more. Dropped without the lock: a fence of another backend
    /// runs that backend's code.
    pub(crate) garbage: Vec<Item>,
    /// Items that could not be taken in: their communicator has failed meanwhile, or by a
    /// defect of this crate.
    pub(crate) broken: Vec<(usize, u64, Error)>,
}

impl Hub {
    pub(crate) fn new(ranks: GroupSize, drivers: Drivers, extras: Extras) -> Arc<Self> {
        static WORLDS: AtomicU64 = AtomicU64::new(0);
        let world = World::new(ranks);
        let mut matcher = Matcher::new(world);
        for rank in world.ranks() {
            matcher.set_drivers(rank, drivers);
        }
        let desks = Arc::new(Desks::new(place(ranks.get())));
        let state = State {
            matcher,
            recorder: extras.recorder.clone(),
            baton: extras.baton.clone(),
            desks: Arc::clone(&desks),
            tables: HashMap::new(),
            lanes: Vec::new(),
            instances: HashMap::new(),
            splits: HashMap::new(),
            failed: HashMap::new(),
            left: HashMap::new(),
            lost: HashMap::new(),
            ended: HashMap::new(),
            waits: world.ranks().map(|_| Waits::new(drivers)).collect(),
        };
        let number = WORLDS.fetch_add(1, Ordering::Relaxed);
        let Extras { rigor, quirks, injection, recorder, baton } = extras;
        let capabilities = [ranks, GroupSize::ONE].map(|ranks| quirks.capabilities(ranks));
        let (jobs, state) = (Jobs::default(), Mutex::new(state));
        Arc::new(Self {
            number,
            jobs,
            rigor,
            quirks,
            capabilities,
            injection,
            recorder,
            baton,
            desks,
            state,
        })
    }

    /// Comes to something that a peer could notice. An error if ranks take turns and this one
    /// has none any more.
    pub(crate) fn turn(&self, step: Turn) -> Result<(), Error> {
        self.baton.as_ref().map_or(Ok(()), |baton| baton.turn(step))
    }

    /// Asks without waiting whether something of a rank is over.
    pub(crate) fn ask(&self, rank: WorldRank, is_over: impl Fn() -> bool) -> bool {
        // Given up, whoever asks until it is over must not ask for ever.
        self.try_ask(rank, is_over).unwrap_or(true)
    }

    /// The same. An error if ranks take turns and this one has none any more.
    pub(crate) fn try_ask(
        &self,
        rank: WorldRank,
        is_over: impl Fn() -> bool,
    ) -> Result<bool, Error> {
        let Some(baton) = &self.baton else { return Ok(is_over()) };
        baton.turn(Turn::Poll)?;
        let over = is_over();
        baton.touch(|touched| touched.asked(rank));
        baton.polled(over);
        Ok(over)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic under the lock is a defect of this crate; the state is still the one
        // before or after a whole step, and peers must not panic for it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries out whatever has become possible, and wakes whoever waits for it.
    pub(crate) fn settle<'h>(
        self: &'h Arc<Self>,
        mut state: MutexGuard<'h, State>,
        mut changes: Changes,
    ) {
        loop {
            state.apply_failures(&mut changes);
            let step = state.next_step(&mut changes);
            // A lane that went on may have failed, or taken something back: somebody who
            // sleeps has to be told, and nobody may come after this.
            if step.is_none() && state.apply_failures(&mut changes) {
                continue;
            }
            drop(state);
            changes.garbage.clear();
            changes.wakers.drain(..).for_each(wake);
            let Some(step) = step else { return };
            state = self.carry_out(step, &mut changes);
        }
    }

    /// Does a step outside the lock, and notes under it that it has been done.
    #[allow(unsafe_code)]
    fn carry_out<'h>(
        self: &'h Arc<Self>,
        step: Step,
        changes: &mut Changes,
    ) -> MutexGuard<'h, State> {
        match step {
            Step::Write { lane, block, at, bytes } => {
                // SAFETY: the item is the first of its lane and marked as running, and
                // `Uses` has let in nothing unordered that touches these bytes.
                let fits = unsafe { block.write(at, &bytes) };
                self.finish_local(lane, fits, changes)
            }
            Step::Fetch { lane, block, at, landing } => {
                // SAFETY: as above; nobody writes these bytes meanwhile.
                let fits = landing.fill(|bytes| unsafe { block.read(at, bytes) });
                self.finish_local(lane, fits, changes)
            }
            Step::Change { lane, block, range, change } => {
                // SAFETY: as above; the item writes, and nobody else touches these bytes.
                let fits = unsafe { block.change(&range, change) };
                self.finish_local(lane, fits, changes)
            }
            Step::Poison { lane, parts } => {
                for (block, range) in parts {
                    // SAFETY: as above: these are outputs of the calls that come next.
                    unsafe { block.change(&range, Change::Poison) };
                }
                let mut state = self.lock();
                if let Some(queue) = state.lanes.get_mut(lane) {
                    queue.running = false;
                    changes.ready.push(lane);
                }
                state
            }
            Step::Foreign { lane, fence, waker } => {
                self.follow_foreign(lane, fence, &waker, changes)
            }
            Step::Job { instance, job } => {
                let shared = self.jobs.publish(Some(instance), &job);
                if shared {
                    self.wake_helpers(instance);
                }
                let finished = work_through(&job);
                if shared {
                    self.jobs.withdraw(&job);
                }
                let mut state = self.lock();
                if finished {
                    state.finish_instance(instance, changes);
                }
                state
            }
        }
    }

    /// Takes part in a job that somebody has published; `false` if there is none.
    pub(crate) fn help(self: &Arc<Self>) -> bool {
        let Some(Offer { job, instance }) = self.jobs.any() else { return false };
        let finished = work_through(&job);
        self.jobs.withdraw(&job);
        if let Some(instance) = instance.filter(|_| finished) {
            let mut changes = Changes::default();
            let mut state = self.lock();
            state.finish_instance(instance, &mut changes);
            self.settle(state, changes);
        }
        true
    }

    /// Parked ranks that wait for this instance may as well help with it.
    fn wake_helpers(&self, instance: InstanceId) {
        let state = self.lock();
        let seats = state.instances.get(&instance).into_iter().flat_map(|found| &found.seats);
        let lanes = seats.flatten().filter_map(|seat| state.lanes.get(seat.lane));
        let waiting = lanes.flat_map(|lane| &lane.waiters).map(|(_, waker)| waker.clone());
        let wakers: Vec<Waker> = waiting.collect();
        drop(state); // a waker is somebody else's code
        wakers.into_iter().for_each(wake);
    }

    fn finish_local(
        &self,
        lane: usize,
        fits: bool,
        changes: &mut Changes,
    ) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        if let Some(queue) = state.lanes.get_mut(lane) {
            queue.running = false;
            let ticket = queue.queue.front().map(|item| item.ticket);
            if fits {
                let rank = queue.rank;
                queue.finish_first(&mut changes.wakers, &mut changes.ready);
                changes.ready.push(lane);
                state.ends_on(rank);
            } else if let Some(ticket) = ticket {
                let what = "a copy outside its block was enqueued".to_owned();
                state.fail_lane(lane, ticket, &Fault::Internal { what }.into(), changes);
            }
        }
        state
    }

    /// The first item of `lane` waits for another backend's fence: goes on when it wakes.
    fn follow_foreign(
        &self,
        lane: usize,
        fence: Fence,
        waker: &Waker,
        changes: &mut Changes,
    ) -> MutexGuard<'_, State> {
        // Asked, and dropped, without the lock: it is another backend's code.
        let mut fence = Some(fence);
        let asked = catch_unwind(AssertUnwindSafe(|| ask(fence.as_mut(), waker)));
        let asked = asked.unwrap_or_else(|_| {
            let what = "another backend's fence panicked when it was asked".to_owned();
            Poll::Ready(Err(Fault::Internal { what }.into()))
        });
        if asked.is_ready() {
            drop(catch_unwind(AssertUnwindSafe(|| drop(fence.take()))));
        }
        let mut state = self.lock();
        let Some(queue) = state.lanes.get_mut(lane) else { return state };
        queue.running = false;
        let first = queue.queue.front_mut();
        match (asked, first) {
            (Poll::Pending, Some(Item { act: Act::Foreign { fence: slot, nudged, .. }, .. })) => {
                *slot = fence;
                if core::mem::take(nudged) {
                    changes.ready.push(lane);
                }
            }
            (Poll::Ready(Err(error)), Some(Item { ticket, .. })) => {
                // The peers learn of it as of a rank that never came.
                let (ticket, rank) = (*ticket, queue.rank);
                state.matcher.last_words(rank, error.to_string());
                state.withdraw(lane, ticket, Ending::Killed, &error, changes);
            }
            _ => {
                let rank = queue.rank;
                queue.finish_first(&mut changes.wakers, &mut changes.ready);
                changes.ready.push(lane);
                state.ends_on(rank);
            }
        }
        state
    }
}

/// Whether a followed fence has been passed. Of the mock's own, of another world, no host
/// waits by it.
fn ask(fence: Option<&mut Fence>, waker: &Waker) -> Poll<Result<(), Error>> {
    let Some(fence) = fence else { return Poll::Ready(Ok(())) };
    let completion: &dyn Any = &**fence.completion();
    match completion.downcast_ref::<Place>() {
        Some(place) => place.follow(fence.ticket(), waker),
        None => Pin::new(fence).poll(&mut Context::from_waker(waker)),
    }
}

/// Wakes somebody. A waker that panics has no say in what becomes of the others; the panic
/// hook has shown it.
fn wake(waker: Waker) {
    drop(catch_unwind(AssertUnwindSafe(|| waker.wake())));
}

impl State {
    /// A communicator of those ranks, and where they meet.
    pub(crate) fn add_communicator(
        &mut self,
        name: &Arc<str>,
        group: &Group,
    ) -> (CommId, Option<Arc<Table>>) {
        let comm = self.matcher.add_communicator(Arc::clone(name), group);
        if let Some(recorder) = &self.recorder {
            recorder.add_communicator(comm, name, group);
        }
        let table = match self.baton {
            None => Table::new(comm, group),
            Some(_) => None,
        };
        self.tables.extend(table.iter().map(|table| (comm, Arc::clone(table))));
        (comm, table)
    }

    /// The rank is given this error: what it does next, it does because of that.
    pub(crate) fn told(&mut self, rank: WorldRank, error: Error) -> Error {
        if let Some(report) = error.report() {
            self.matcher.inform(rank, report);
        }
        error
    }

    /// Something fails by this step.
    pub(crate) fn notes_trouble(&self) {
        if let Some(baton) = &self.baton {
            baton.touch(Touched::trouble);
        }
    }

    /// What this step does depends on how far the streams of that rank are.
    pub(crate) fn asks(&self, rank: WorldRank) {
        if let Some(baton) = &self.baton {
            baton.touch(|touched| touched.asked(rank));
        }
    }

    /// Something on a stream of that rank is over by this step.
    fn ends_on(&self, rank: WorldRank) {
        if let Some(baton) = &self.baton {
            baton.touch(|touched| touched.ended(rank));
        }
    }

    /// The first item of a lane.
    pub(crate) fn first_item(&self, lane: usize) -> Option<u64> {
        self.lanes.get(lane)?.queue.front().map(|item| item.ticket)
    }

    /// The next work to be done outside the lock. What needs no work is done at once.
    fn next_step(&mut self, changes: &mut Changes) -> Option<Step> {
        while let Some(lane) = changes.ready.pop() {
            if let Some(step) = self.advance(lane, changes) {
                return Some(step);
            }
        }
        None
    }

    /// Looks at the first item of a lane.
    fn advance(&mut self, at: usize, changes: &mut Changes) -> Option<Step> {
        let lane = self.lanes.get_mut(at)?;
        if lane.running {
            return None;
        }
        let item = lane.queue.front_mut()?;
        match &mut item.act {
            Act::Write { block, at: start, bytes } => {
                lane.running = true;
                let (block, bytes) = (Arc::clone(block), core::mem::take(bytes));
                Some(Step::Write { lane: at, block, at: *start, bytes })
            }
            Act::Fetch { block, at: start, landing } => {
                lane.running = true;
                let (block, landing) = (Arc::clone(block), Arc::clone(landing));
                Some(Step::Fetch { lane: at, block, at: *start, landing })
            }
            Act::Change { block, range, change } => {
                lane.running = true;
                let (block, range) = (Arc::clone(block), range.clone());
                Some(Step::Change { lane: at, block, range, change: *change })
            }
            Act::Foreign { fence, waker, .. } => {
                let (fence, waker) = (fence.take()?, waker.clone());
                lane.running = true;
                Some(Step::Foreign { lane: at, fence, waker })
            }
            Act::Follow { lane: other, ticket } => {
                let (other, ticket, own) = (*other, *ticket, item.ticket);
                let followed = self.lanes.get_mut(other)?;
                if let Some(error) = followed.failure_of(ticket).cloned() {
                    match followed.withdrawn {
                        None => self.fail_lane(at, own, &error, changes),
                        Some(how) => self.withdraw(at, own, how, &error, changes),
                    }
                } else if followed.progress.is_over(ticket) {
                    let lane = self.lanes.get_mut(at)?;
                    let rank = lane.rank;
                    lane.finish_first(&mut changes.wakers, &mut changes.ready);
                    changes.ready.push(at);
                    self.ends_on(rank);
                } else if !followed.followers.contains(&(ticket, at)) {
                    followed.followers.push((ticket, at));
                }
                None
            }
            Act::Calls { poison, .. } if !poison.before.is_empty() => {
                lane.running = true;
                Some(Step::Poison { lane: at, parts: core::mem::take(&mut poison.before) })
            }
            Act::Calls { instances, reached, .. } => {
                let first_time = !core::mem::replace(reached, true);
                let instances = instances.clone();
                self.reach(at, &instances, first_time, changes)
            }
        }
    }

    /// A unit of calls is the first of its lane: starts the instances that are complete.
    fn reach(
        &mut self,
        at: usize,
        instances: &[InstanceId],
        first_time: bool,
        changes: &mut Changes,
    ) -> Option<Step> {
        for id in instances {
            let Some(instance) = self.instances.get_mut(id) else { continue };
            if first_time {
                instance.reached = instance.reached.saturating_add(1);
            }
        }
        for id in instances {
            let Some(instance) = self.instances.get_mut(id).filter(|one| one.is_ready()) else {
                continue;
            };
            instance.running = true;
            instance.since = self.recorder.as_ref().map(|_| Instant::now());
            match instance.job() {
                Ok(job) => {
                    // Others of the unit may be complete too.
                    changes.ready.push(at);
                    return Some(Step::Job { instance: *id, job: Arc::new(job) });
                }
                Err(what) => {
                    instance.running = false;
                    self.fail_instance(*id, &Fault::Internal { what }.into(), changes);
                }
            }
        }
        None
    }

    /// All the data of an instance has been moved.
    #[allow(unsafe_code)]
    pub(crate) fn finish_instance(&mut self, id: InstanceId, changes: &mut Changes) {
        let Some(instance) = self.instances.remove(&id) else { return };
        self.matcher.completed(id);
        let comm = instance.seats.iter().flatten().map(|seat| seat.comm).next();
        if let Some(comm) = comm {
            self.reopen(comm);
            let when = instance.seq.zip(instance.since);
            if let Some((recorder, (seq, since))) = self.recorder.as_ref().zip(when) {
                recorder.moved(comm, seq, since);
            }
        }
        for seat in instance.seats.into_iter().flatten() {
            let Some(lane) = self.lanes.get_mut(seat.lane) else { continue };
            let Some(item) = lane.queue.front_mut().filter(|item| item.ticket == seat.ticket)
            else {
                continue; // its lane has failed for another call of the unit
            };
            if let Act::Calls { open, poison, .. } = &mut item.act {
                *open = open.saturating_sub(1);
                if *open == 0 {
                    let rank = lane.rank;
                    for (block, range) in core::mem::take(&mut poison.after) {
                        // SAFETY: the calls are done, whose inputs these bytes were part
                        // of; they count as written, so that nobody else uses them before
                        // the item is over.
                        unsafe { block.change(&range, Change::Poison) };
                    }
                    lane.finish_first(&mut changes.wakers, &mut changes.ready);
                    changes.ready.push(seat.lane);
                    self.ends_on(rank);
                }
            }
        }
    }

    /// Fails what is broken and what the matcher has found, and whatever is found because
    /// of that: what fails shows the matcher what was under way at tables. Whether there
    /// was anything.
    fn apply_failures(&mut self, changes: &mut Changes) -> bool {
        let mut any = false;
        loop {
            let broken = core::mem::take(&mut changes.broken);
            let verdicts = self.matcher.take_verdicts();
            if broken.is_empty() && verdicts.is_empty() {
                return any;
            }
            any = true;
            for (lane, ticket, error) in broken {
                self.fail_lane(lane, ticket, &error, changes);
            }
            for verdict in verdicts {
                self.publish(verdict, changes);
            }
        }
    }

    /// Publishes what the matcher has found.
    fn publish(&mut self, verdict: Verdict, changes: &mut Changes) {
        self.notes_trouble();
        let error = Error::from(verdict.report);
        for comm in verdict.comms {
            self.failed.entry(comm).or_insert_with(|| error.clone());
            self.shut(comm, changes);
        }
        for instance in verdict.instances {
            self.fail_instance(instance, &error, changes);
        }
        for (_, wait) in verdict.victims {
            match wait {
                Wait::Instance(instance) => self.fail_instance(instance, &error, changes),
                Wait::Point(point) => {
                    let stuck = self.lanes.iter().position(|lane| lane.stream == point.stream);
                    if let Some(lane) = stuck {
                        self.fail_stuck(lane, &error, changes);
                    }
                }
            }
        }
    }

    /// A lane that can never go on fails from the first item that is not being done.
    fn fail_stuck(&mut self, at: usize, error: &Error, changes: &mut Changes) {
        let Some(lane) = self.lanes.get(at) else { return };
        let first = lane.queue.iter().find(|item| match &item.act {
            Act::Follow { .. } => true,
            Act::Calls { instances, .. } => !instances
                .iter()
                .any(|id| self.instances.get(id).is_some_and(|instance| instance.running)),
            Act::Write { .. } | Act::Fetch { .. } | Act::Change { .. } | Act::Foreign { .. } => {
                false
            }
        });
        if let Some(ticket) = first.map(|item| item.ticket) {
            self.fail_lane(at, ticket, error, changes);
        }
    }

    /// An instance will never be done: fails every lane that has it, from there on.
    pub(crate) fn fail_instance(&mut self, id: InstanceId, error: &Error, changes: &mut Changes) {
        self.fail(Failing::Instance(id), error, changes);
    }

    /// Ends a lane from `ticket` on, the rank's calls of the short way included. Returns the
    /// items that are dropped, and the lanes that follow them.
    pub(crate) fn fail_from(
        &mut self,
        at: usize,
        ticket: u64,
        error: &Error,
        changes: &mut Changes,
    ) -> (Vec<Item>, Vec<(u64, usize)>) {
        let Some(rank) = self.lanes.get(at).map(|lane| lane.rank) else {
            return Default::default();
        };
        let desks = Arc::clone(&self.desks);
        let _still = self.still(&desks, &[rank], changes);
        let lane = self.lanes.get_mut(at);
        lane.map(|lane| lane.fail_from(ticket, error, &mut changes.wakers)).unwrap_or_default()
    }

    /// From `ticket` on the lane does nothing any more.
    pub(crate) fn fail_lane(
        &mut self,
        at: usize,
        ticket: u64,
        error: &Error,
        changes: &mut Changes,
    ) {
        self.fail(Failing::Lane(at, ticket), error, changes);
    }

    /// Fails something, the lanes that follow it, and the peers of the calls that they
    /// held, and so on: by a list, since a chain may be as long as the world.
    fn fail(&mut self, first: Failing, error: &Error, changes: &mut Changes) {
        self.notes_trouble();
        let mut failing = vec![first];
        while let Some(next) = failing.pop() {
            match next {
                Failing::Instance(id) => {
                    if let Some(splitting) = self.splits.remove(&id) {
                        for seat in splitting.seats.into_iter().flatten() {
                            seat.fail(error, &mut changes.wakers);
                        }
                    }
                    if self.instances.get(&id).is_none_or(|instance| instance.running) {
                        continue;
                    }
                    let Some(instance) = self.instances.remove(&id) else { continue };
                    // A rank that has not called yet must not wait for those that lost theirs.
                    if let Some(report) = error.report() {
                        self.matcher.abandon(id, report);
                    }
                    let seats = instance.seats.into_iter().flatten();
                    failing.extend(seats.map(|seat| Failing::Lane(seat.lane, seat.ticket)));
                }
                Failing::Lane(at, ticket) => {
                    let (dropped, followers) = self.fail_from(at, ticket, error, changes);
                    for item in dropped {
                        if let Act::Calls { instances, .. } = &item.act {
                            failing.extend(instances.iter().copied().map(Failing::Instance));
                        }
                        changes.garbage.push(item);
                    }
                    for (_, follower) in followers {
                        let own = self.first_item(follower);
                        failing.extend(own.map(|ticket| Failing::Lane(follower, ticket)));
                    }
                }
            }
        }
    }
}

/// What is to fail.
enum Failing {
    Instance(InstanceId),
    Lane(usize, u64),
}
