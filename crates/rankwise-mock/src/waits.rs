//! Waiting: a short pause, then yields, then sleep; and what the matcher is told of it.
//!
//! Only a rank that goes to sleep is said to be blocked. A rank that drives several
//! tasks may wait for several things at once; then it is not said to be blocked, since
//! any of them may let it go on.

use core::cell::Cell;
use core::hint;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::Arc;
use std::task::Wake;
use std::thread::{self, Thread};
use std::time::Instant;

use rankwise_comm::{Error, Fault};
use rankwise_program::{Drivers, InstanceId, Wait};
use rankwise_topology::WorldRank;

use crate::explore::{Roused, Step, Touched};
use crate::hub::{Changes, Hub, State};
use crate::table::place;

/// Something a rank waits for.
pub(crate) trait Awaited {
    /// Whose work it is. Its host waits, unless the thread is known to be
    /// [another's](Host).
    fn rank(&self) -> WorldRank;

    /// Whether it is over, successfully or not. Takes no lock.
    fn is_over(&self) -> bool;

    /// Takes note, without a lock, that it is over well; `false` if it has to be asked for its
    /// outcome. Only asked when it is over.
    fn pass(&self) -> bool;

    /// What is woken when it is over. Gives the waker back if it is known already: it is
    /// somebody else's code, and must not be dropped under the lock.
    fn register(&self, state: &mut State, waker: Waker) -> Option<Waker>;

    /// What tells it from everything else that the rank may wait for.
    fn key(&self) -> Key;

    /// What the matcher calls it; `None` if no peer is needed for it.
    fn wait(&self, state: &State) -> Option<Wait>;

    /// How it ended. Only asked when it is over. Whoever is told of a failure has told of its
    /// calls before: reports show those that it made up to then.
    fn outcome(&self, state: &mut State, changes: &mut Changes) -> Result<(), Error>;
}

/// What tells one awaited thing from another: an item of a lane, or a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Item { lane: usize, ticket: u64 },
    Split(InstanceId),
}

/// The rank whose program this thread runs, where that is known.
#[derive(Clone, Copy)]
pub(crate) struct Host {
    world: u64,
    rank: WorldRank,
}

thread_local! {
    static HOST: Cell<Option<Host>> = const { Cell::new(None) };
}

impl Host {
    /// This thread runs the program of that rank, and nothing else, to its end.
    pub(crate) fn runs(hub: &Hub, rank: WorldRank) {
        HOST.set(Some(Self { world: hub.number, rank }));
    }

    /// Whose host waits when this thread waits for work of that rank.
    fn waiting_for(rank: WorldRank, hub: &Hub) -> WorldRank {
        HOST.get().filter(|host| host.world == hub.number).map_or(rank, |host| host.rank)
    }
}

/// What one rank waits for, asleep.
pub(crate) struct Waits {
    drivers: Drivers,
    asleep: Vec<(Key, Wait)>,
    /// It has called something since it fell asleep: one of its tasks is awake.
    stirred: bool,
    /// What has been polled once. A task is polled again before it counts as asleep, so
    /// that its other branches have had their turn.
    polled: Vec<Key>,
}

impl Waits {
    pub(crate) const fn new(drivers: Drivers) -> Self {
        Self { drivers, asleep: Vec::new(), stirred: false, polled: Vec::new() }
    }
}

impl State {
    /// Tells the matcher what the rank is doing. Any of several waits may let it go on.
    fn tell(&mut self, rank: WorldRank) {
        let Some(waits) = self.waits.get(place(rank.index())) else { return };
        self.matcher.resume(rank);
        if waits.drivers == Drivers::One && !waits.stirred {
            for (_, wait) in &waits.asleep {
                self.matcher.block(rank, *wait);
            }
        }
    }

    fn fall_asleep(&mut self, rank: WorldRank, key: Key, wait: Wait) {
        let Some(waits) = self.waits.get_mut(place(rank.index())) else { return };
        let known = waits.asleep.iter().any(|(other, _)| *other == key);
        if !known {
            waits.asleep.push((key, wait));
            self.desks.set_sleeps(rank, true);
        }
        if !known || waits.stirred {
            waits.stirred = false;
            self.tell(rank);
        }
    }

    /// The rank has called something: it is not asleep, whatever its tasks wait for.
    pub(crate) fn stir(&mut self, rank: WorldRank) {
        if let Some(waits) = self.waits.get_mut(place(rank.index()))
            && !waits.asleep.is_empty()
            && !waits.stirred
        {
            waits.stirred = true;
            self.tell(rank);
        }
    }

    /// What the rank waited for is over.
    fn wake_up(&mut self, rank: WorldRank, key: Key) {
        if let Some(waits) = self.waits.get_mut(place(rank.index())) {
            waits.polled.retain(|other| *other != key);
        }
        self.stop(rank, key);
    }

    /// The rank no longer waits for it. That it has polled is remembered: whoever makes a
    /// new future for each poll would otherwise be woken for ever.
    fn stop(&mut self, rank: WorldRank, key: Key) {
        let Some(waits) = self.waits.get_mut(place(rank.index())) else { return };
        let before = waits.asleep.len();
        waits.asleep.retain(|(other, _)| *other != key);
        if waits.asleep.len() != before {
            self.desks.set_sleeps(rank, !waits.asleep.is_empty());
            self.tell(rank);
        }
    }

    /// Whether this is the first time that the rank polls for it.
    fn is_first_poll(&mut self, rank: WorldRank, key: Key) -> bool {
        let Some(waits) = self.waits.get_mut(place(rank.index())) else { return false };
        let first = !waits.polled.contains(&key);
        if first {
            waits.polled.push(key);
        }
        first
    }
}

impl Hub {
    const PAUSES: u32 = 50;
    /// About twice what waking a sleeping thread costs.
    const YIELDING: Duration = Duration::from_micros(100);

    /// Blocks until it is over, or until the deadline.
    pub(crate) fn wait(
        self: &Arc<Self>,
        awaited: &impl Awaited,
        deadline: Option<Instant>,
    ) -> Result<(), Error> {
        if self.baton.is_some() {
            self.wait_in_turn(awaited, deadline.is_some())?;
        } else if !self.stay_awake(awaited) {
            self.sleep(awaited, deadline)?;
        } else if awaited.pass() {
            return Ok(());
        }
        let (mut state, mut changes) = (self.lock(), Changes::default());
        let mut outcome = awaited.outcome(&mut state, &mut changes);
        let host = Host::waiting_for(awaited.rank(), self);
        if host != awaited.rank() {
            // It learns of it, too.
            state.show(host, &mut changes);
            outcome = outcome.map_err(|error| state.told(host, error));
        }
        self.settle(state, changes);
        outcome
    }

    /// Waits as a rank that takes turns. It goes to sleep in one step, and on in another.
    fn wait_in_turn(self: &Arc<Self>, awaited: &impl Awaited, limited: bool) -> Result<(), Error> {
        let Some(baton) = &self.baton else { return Ok(()) };
        let rank = awaited.rank();
        let passes = awaited.is_over();
        baton.turn(if passes { Step::Passing } else { Step::Wait })?;
        baton.touch(|touched| touched.asked(rank));
        if awaited.is_over() {
            return Ok(());
        }
        let (mut state, changes) = (self.lock(), Changes::default());
        let unused = baton.waker().and_then(|waker| awaited.register(&mut state, waker));
        if !limited && let Some(wait) = awaited.wait(&state) {
            state.fall_asleep(rank, awaited.key(), wait);
        }
        self.settle(state, changes);
        drop(unused);
        let mut slept = Ok(Roused::Woken);
        while !awaited.is_over() && matches!(slept, Ok(Roused::Woken)) {
            slept = baton.sleep(limited);
        }
        baton.touch(|touched| touched.asked(rank));
        self.lock().wake_up(rank, awaited.key());
        match slept {
            Ok(Roused::Passed) if !awaited.is_over() => {
                let what = format!("rank {} still waits", rank.index());
                Err(Fault::TimedOut { waited: Duration::ZERO, what }.into())
            }
            Ok(_) => Ok(()),
            Err(given_up) => Err(given_up),
        }
    }

    /// Waits without sleeping, and helps meanwhile. Whether it is over.
    fn stay_awake(self: &Arc<Self>, awaited: &impl Awaited) -> bool {
        for _ in 0..Self::PAUSES {
            if awaited.is_over() {
                return true;
            }
            if !self.help() {
                hint::spin_loop();
            }
        }
        let start = Instant::now();
        while start.elapsed() < Self::YIELDING {
            if awaited.is_over() {
                return true;
            }
            if !self.help() {
                thread::yield_now();
            }
        }
        awaited.is_over()
    }

    fn sleep(
        self: &Arc<Self>,
        awaited: &impl Awaited,
        deadline: Option<Instant>,
    ) -> Result<(), Error> {
        let (host, start) = (Host::waiting_for(awaited.rank(), self), Instant::now());
        let (mut state, mut changes) = (self.lock(), Changes::default());
        for rank in [awaited.rank(), host] {
            state.show(rank, &mut changes);
        }
        awaited.register(&mut state, Waker::from(Unpark::this()));
        // A wait that ends by itself keeps nobody from going on.
        if deadline.is_none()
            && let Some(wait) = awaited.wait(&state)
        {
            state.fall_asleep(host, awaited.key(), wait);
        }
        self.settle(state, changes);

        let mut timed_out = None;
        while !awaited.is_over() {
            if self.help() {
                continue;
            }
            match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                None => thread::park(),
                Some(Duration::ZERO) => {
                    let what = format!("rank {} still waits\n{}", host.index(), self.status());
                    timed_out = Some(Fault::TimedOut { waited: start.elapsed(), what });
                    break;
                }
                Some(left) => thread::park_timeout(left),
            }
        }
        self.lock().wake_up(host, awaited.key());
        timed_out.map_or(Ok(()), |fault| Err(fault.into()))
    }

    /// The same without blocking.
    pub(crate) fn poll(
        self: &Arc<Self>,
        awaited: &impl Awaited,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Error>> {
        let (rank, key, waker) = (awaited.rank(), awaited.key(), cx.waker().clone());
        if let Some(baton) = &self.baton {
            if let Err(given_up) = self.try_ask(rank, || awaited.is_over()) {
                return Poll::Ready(Err(given_up));
            }
            // It may fall asleep.
            baton.touch(Touched::told);
        }
        let mut state = self.lock();
        if !awaited.is_over() {
            let mut changes = Changes::default();
            state.show(rank, &mut changes);
            let unused = awaited.register(&mut state, waker);
            let first = state.is_first_poll(rank, key);
            // Whoever polls with a waker that stands for nobody (`Waker::noop`) only looks,
            // however often: it will not be woken, so it does not wait. Nor does the rank
            // if it is another's program that polls.
            let elsewhere = Host::waiting_for(rank, self) != rank;
            let looks = elsewhere || cx.waker().data().is_null();
            if let Some(wait) = awaited.wait(&state).filter(|_| !first && !looks) {
                state.fall_asleep(rank, key, wait);
            }
            self.settle(state, changes);
            drop(unused);
            if first {
                cx.waker().wake_by_ref();
            }
            state = self.lock();
        }
        if !awaited.is_over() {
            return Poll::Pending;
        }
        state.wake_up(rank, key);
        let mut changes = Changes::default();
        let outcome = awaited.outcome(&mut state, &mut changes);
        self.settle(state, changes);
        Poll::Ready(outcome)
    }

    /// A task no longer waits for it.
    pub(crate) fn stop_waiting(&self, awaited: &impl Awaited) {
        self.lock().stop(awaited.rank(), awaited.key());
    }
}

/// Wakes a sleeping thread.
pub(crate) struct Unpark(Thread);

impl Unpark {
    /// Wakes this thread.
    pub(crate) fn this() -> Arc<Self> {
        Arc::new(Self(thread::current()))
    }
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}
