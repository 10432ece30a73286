//! The queue behind a stream: items that run in order.

use core::ops::Range;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Waker;

use rankwise_comm::{Error, Fence};
use rankwise_program::{CommId, Ending, InstanceId, Point, StreamId};
use rankwise_topology::WorldRank;

use crate::clock::Clock;
use crate::landing::Landing;
use crate::memory::{Block, Change};
use crate::submit::Poison;

/// How far a lane has come, readable without a lock. Items are numbered from 1: item
/// `ticket` is over once `done` has reached it.
#[derive(Debug)]
pub(crate) struct Progress {
    /// The last item that was enqueued. Written with the desk of the rank locked.
    enqueued: AtomicU64,
    /// The last item that was put in the lane's queue; the others went the short way.
    queued: AtomicU64,
    /// What comes next is ordered after items of other lanes.
    follows: AtomicBool,
    done: Alone<AtomicU64>,
    /// The first item that will never be done; `u64::MAX` if there is none.
    failed: AtomicU64,
    /// Up to where the host has seen it done.
    known: AtomicU64,
}

/// A cache line of its own: others write here than beside.
#[derive(Debug)]
#[repr(align(64))]
struct Alone<T>(T);

impl Default for Progress {
    fn default() -> Self {
        let zero = || AtomicU64::new(0);
        let (failed, follows) = (AtomicU64::new(u64::MAX), AtomicBool::new(false));
        let done = Alone(zero());
        Self { enqueued: zero(), queued: zero(), follows, done, failed, known: zero() }
    }
}

impl Progress {
    /// Whether the item is over, successfully or not.
    pub(crate) fn is_over(&self, ticket: u64) -> bool {
        // Acquire: what the item wrote is visible to whoever has seen it done.
        self.done.0.load(Ordering::Acquire) >= ticket || self.has_failed(ticket)
    }

    pub(crate) fn has_failed(&self, ticket: u64) -> bool {
        let failed = self.failed.load(Ordering::Acquire);
        failed != u64::MAX && failed <= ticket
    }

    /// The host has learnt that the item is done: what it enqueues from now on is
    /// ordered after it. Nothing is learnt of what is not done.
    pub(crate) fn learn(&self, ticket: u64) {
        let done = self.done.0.load(Ordering::Acquire);
        self.known.fetch_max(ticket.min(done), Ordering::AcqRel);
    }

    pub(crate) fn is_known(&self, ticket: u64) -> bool {
        self.known.load(Ordering::Acquire) >= ticket
    }

    /// The last item that was enqueued.
    pub(crate) fn enqueued(&self) -> u64 {
        self.enqueued.load(Ordering::Acquire)
    }

    /// The number of the next item. With the desk of the rank locked.
    pub(crate) fn next(&self) -> u64 {
        self.enqueued().saturating_add(1)
    }

    /// Numbers an item. With the desk of the rank locked.
    pub(crate) fn enqueue(&self) -> u64 {
        let ticket = self.next();
        self.enqueued.store(ticket, Ordering::Release);
        ticket
    }

    /// Whether nothing but calls of the short way is under way or orders what comes next.
    pub(crate) fn is_plain(&self) -> bool {
        let queued = self.queued.load(Ordering::Relaxed);
        self.done.0.load(Ordering::Acquire) >= queued
            && !self.follows()
            && !self.has_failed(u64::MAX)
    }

    /// Whether what comes next is ordered after items of other lanes.
    pub(crate) fn follows(&self) -> bool {
        self.follows.load(Ordering::Acquire)
    }

    /// The item is over, and so is all before it.
    pub(crate) fn finish(&self, ticket: u64) {
        // The last item of the short way and the first in the queue may end at once.
        self.done.0.fetch_max(ticket, Ordering::AcqRel);
    }

    fn fail(&self, ticket: u64) {
        self.failed.store(ticket, Ordering::Release);
    }
}

/// A stream's queue. Everything here is guarded by the hub's lock, `progress` apart.
pub(crate) struct Lane {
    pub(crate) rank: WorldRank,
    /// The communicator that it was made by.
    pub(crate) comm: CommId,
    pub(crate) name: Arc<str>,
    pub(crate) stream: StreamId,
    pub(crate) progress: Arc<Progress>,
    /// What its next item is ordered after, on other lanes.
    clock: Clock,
    /// Someone carries out the first item outside the lock.
    pub(crate) running: bool,
    pub(crate) queue: VecDeque<Item>,
    /// From this item on, nothing is done any more.
    pub(crate) failure: Option<(u64, Error)>,
    /// Its failure is the rank's own, that came to nothing in this way; `None` if the peers
    /// have the same error.
    pub(crate) withdrawn: Option<Ending>,
    /// Who wants to be woken once an item is over.
    pub(crate) waiters: Vec<(u64, Waker)>,
    /// Lanes whose first item follows an item of this one.
    pub(crate) followers: Vec<(u64, usize)>,
}

/// One piece of a lane's work.
pub(crate) struct Item {
    pub(crate) ticket: u64,
    /// The same place as the matcher counts it, for items that it knows.
    pub(crate) point: Option<Point>,
    pub(crate) act: Act,
}

/// What an item does.
pub(crate) enum Act {
    /// Bytes from the host.
    Write { block: Arc<Block>, at: usize, bytes: Box<[u8]> },
    /// Bytes to the host.
    Fetch { block: Arc<Block>, at: usize, landing: Arc<Landing> },
    /// A change that no call makes.
    Change { block: Arc<Block>, range: Range<usize>, change: Change },
    /// A unit of calls: over when none of its instances is open. What it is to poison is
    /// taken out when that has been done.
    Calls { instances: Vec<InstanceId>, open: usize, reached: bool, poison: Poison },
    /// Nothing before an item of another lane is over.
    Follow { lane: usize, ticket: u64 },
    /// Nothing before another backend's fence has been passed. It is taken out while it
    /// is asked; a nudge meanwhile means that it must be asked again.
    Foreign { fence: Option<Fence>, waker: Waker, nudged: bool },
}

impl Lane {
    pub(crate) fn new(rank: WorldRank, comm: CommId, name: Arc<str>, stream: StreamId) -> Self {
        Self {
            rank,
            comm,
            name,
            stream,
            progress: Arc::default(),
            clock: Clock::default(),
            running: false,
            queue: VecDeque::new(),
            failure: None,
            withdrawn: None,
            waiters: Vec::new(),
            followers: Vec::new(),
        }
    }

    /// Why the item was not done, if it was not.
    pub(crate) fn failure_of(&self, ticket: u64) -> Option<&Error> {
        self.failure.as_ref().filter(|(from, _)| *from <= ticket).map(|(_, error)| error)
    }

    /// The last place up to an item that the matcher knows of; `None` if no peer is needed
    /// for it.
    pub(crate) fn point_upto(&self, ticket: u64) -> Option<Point> {
        let upto = self.queue.iter().take_while(|item| item.ticket <= ticket);
        upto.filter_map(|item| item.point).last()
    }

    /// What its next item is ordered after, on other lanes.
    pub(crate) const fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Changes what its next item is ordered after.
    pub(crate) fn order(&mut self, change: impl FnOnce(&mut Clock)) {
        change(&mut self.clock);
        self.progress.follows.store(!self.clock.is_empty(), Ordering::Release);
    }

    /// Appends an item and numbers it. With the desk of the rank locked.
    pub(crate) fn push(&mut self, point: Option<Point>, act: Act) -> u64 {
        let ticket = self.progress.enqueue();
        self.push_numbered(ticket, point, act);
        ticket
    }

    /// Appends an item that has its number already.
    pub(crate) fn push_numbered(&mut self, ticket: u64, point: Option<Point>, act: Act) {
        self.progress.queued.store(ticket, Ordering::Relaxed);
        self.queue.push_back(Item { ticket, point, act });
    }

    /// The first item is over. Returns who is to be woken and who may go on.
    pub(crate) fn finish_first(&mut self, wakers: &mut Vec<Waker>, ready: &mut Vec<usize>) {
        if let Some(item) = self.queue.pop_front() {
            self.finish_through(item.ticket, wakers, ready);
        }
    }

    /// Everything up to `ticket` is over.
    pub(crate) fn finish_through(
        &mut self,
        ticket: u64,
        wakers: &mut Vec<Waker>,
        ready: &mut Vec<usize>,
    ) {
        self.progress.finish(ticket);
        self.release(|over| over <= ticket, wakers, ready);
    }

    /// From `ticket` on nothing is done any more. Returns the items that are dropped;
    /// none if it had failed that far already.
    pub(crate) fn fail_from(
        &mut self,
        ticket: u64,
        error: &Error,
        wakers: &mut Vec<Waker>,
    ) -> (Vec<Item>, Vec<(u64, usize)>) {
        if self.failure.as_ref().is_some_and(|(from, _)| *from <= ticket) {
            return (Vec::new(), Vec::new());
        }
        self.failure = Some((ticket, error.clone()));
        self.progress.fail(ticket);
        let keep = self.queue.partition_point(|item| item.ticket < ticket);
        let dropped = self.queue.split_off(keep).into();
        let followers = self.followers.extract_if(.., |(over, _)| *over >= ticket).collect();
        let over = self.waiters.extract_if(.., |(over, _)| *over >= ticket);
        wakers.extend(over.map(|(_, waker)| waker));
        (dropped, followers)
    }

    fn release(
        &mut self,
        is_over: impl Fn(u64) -> bool,
        wakers: &mut Vec<Waker>,
        ready: &mut Vec<usize>,
    ) {
        if !self.waiters.is_empty() {
            let over = self.waiters.extract_if(.., |(ticket, _)| is_over(*ticket));
            wakers.extend(over.map(|(_, waker)| waker));
        }
        if !self.followers.is_empty() {
            let over = self.followers.extract_if(.., |(ticket, _)| is_over(*ticket));
            ready.extend(over.map(|(_, lane)| lane));
        }
    }
}
