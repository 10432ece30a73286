//! A place in a lane, as a fence sees it.

use core::task::{Context, Poll, Waker};
use std::sync::Arc;
use std::time::Instant;

use rankwise_comm::{Completion, Error, Fault};
use rankwise_program::Wait;
use rankwise_topology::WorldRank;

use crate::clock::Clock;
use crate::hub::{Changes, Hub, State};
use crate::lane::Progress;
use crate::waits::{Awaited, Key};

/// A lane, and what the place in it is ordered after on other lanes. One value serves
/// all fences of a lane that has followed no other.
///
/// A fence can be made of any completion and any ticket: so a place does not believe the
/// ticket that it is asked about.
pub(crate) struct Place {
    pub(crate) hub: Arc<Hub>,
    pub(crate) rank: WorldRank,
    pub(crate) lane: usize,
    pub(crate) progress: Arc<Progress>,
    pub(crate) clock: Clock,
    /// The least item that it can be about: the one that `clock` belongs to.
    pub(crate) from: u64,
}

/// One item of the lane.
struct Item<'p> {
    place: &'p Place,
    ticket: u64,
}

impl Place {
    fn item(&self, ticket: u64) -> Item<'_> {
        Item { place: self, ticket: self.ticket(ticket) }
    }

    /// The item that a fence of this ticket is about.
    pub(crate) fn ticket(&self, ticket: u64) -> u64 {
        ticket.max(self.from)
    }

    /// Whether the lane has ever had that item.
    pub(crate) fn check(&self, ticket: u64) -> Result<(), Error> {
        let enqueued = self.progress.enqueued();
        if self.ticket(ticket) <= enqueued {
            return Ok(());
        }
        let found = format!("a fence for item {ticket} of a stream that has had {enqueued}");
        Err(Fault::Foreign { found, needed: "a fence that the stream has given".into() }.into())
    }

    /// Wakes `waker` when the item is over. For a lane that follows: no host waits.
    pub(crate) fn follow(&self, ticket: u64, waker: &Waker) -> Poll<Result<(), Error>> {
        // Nobody would be woken by an item to come that goes the short way.
        self.check(ticket)?;
        let (item, waker) = (self.item(ticket), waker.clone());
        let (mut state, mut changes) = (self.hub.lock(), Changes::default());
        state.show(self.rank, &mut changes);
        if item.is_over() {
            let outcome = item.outcome(&mut state, &mut changes);
            self.hub.settle(state, changes);
            return Poll::Ready(outcome);
        }
        let unused = item.register(&mut state, waker);
        self.hub.settle(state, changes);
        drop(unused);
        Poll::Pending
    }
}

impl Completion for Place {
    fn is_done(&self, ticket: u64) -> bool {
        let ticket = self.ticket(ticket);
        let over = self.hub.ask(self.rank, || self.progress.is_over(ticket));
        if over && !self.progress.has_failed(ticket) {
            self.progress.learn(ticket);
        }
        over
    }

    fn wait(&self, ticket: u64, deadline: Option<Instant>) -> Result<(), Error> {
        self.check(ticket)?;
        self.hub.wait(&self.item(ticket), deadline)
    }

    fn poll(&self, ticket: u64, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.check(ticket)?;
        self.hub.poll(&self.item(ticket), cx)
    }

    fn stop_waiting(&self, ticket: u64) {
        self.hub.stop_waiting(&self.item(ticket));
    }
}

impl Awaited for Item<'_> {
    fn rank(&self) -> WorldRank {
        self.place.rank
    }

    fn is_over(&self) -> bool {
        self.place.progress.is_over(self.ticket)
    }

    fn pass(&self) -> bool {
        // What other lanes have done is learnt under the lock.
        let passed = !self.place.progress.has_failed(self.ticket) && self.place.clock.is_empty();
        if passed {
            self.place.progress.learn(self.ticket);
        }
        passed
    }

    fn register(&self, state: &mut State, waker: Waker) -> Option<Waker> {
        let Some(lane) = state.lanes.get_mut(self.place.lane) else { return Some(waker) };
        let known =
            |(ticket, other): &(u64, Waker)| *ticket == self.ticket && other.will_wake(&waker);
        if lane.waiters.iter().any(known) {
            return Some(waker);
        }
        lane.waiters.push((self.ticket, waker));
        None
    }

    fn key(&self) -> Key {
        Key::Item { lane: self.place.lane, ticket: self.ticket }
    }

    fn wait(&self, state: &State) -> Option<Wait> {
        state.lanes.get(self.place.lane)?.point_upto(self.ticket).map(Wait::Point)
    }

    fn outcome(&self, state: &mut State, changes: &mut Changes) -> Result<(), Error> {
        let failure = |lane: &crate::lane::Lane| lane.failure_of(self.ticket).cloned();
        if let Some(error) = state.lanes.get(self.place.lane).and_then(failure) {
            state.show(self.place.rank, changes);
            return Err(state.told(self.place.rank, error));
        }
        self.place.progress.learn(self.ticket);
        for (lane, ticket) in self.place.clock.each() {
            if let Some(lane) = state.lanes.get(lane) {
                lane.progress.learn(ticket);
            }
        }
        Ok(())
    }
}
