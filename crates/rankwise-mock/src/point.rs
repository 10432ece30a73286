//! A place in a lane, as a fence sees it.

use core::task::{Context, Poll, Waker};
use std::sync::Arc;
use std::time::Instant;

use rankwise_comm::{Completion, Error};
use rankwise_program::Wait;
use rankwise_topology::WorldRank;

use crate::clock::Clock;
use crate::hub::{Hub, State};
use crate::lane::Progress;
use crate::waits::{Awaited, Key};

/// A lane, and what the place in it is ordered after on other lanes. One value serves
/// all fences of a lane that has followed no other.
pub(crate) struct Place {
    pub(crate) hub: Arc<Hub>,
    pub(crate) rank: WorldRank,
    pub(crate) lane: usize,
    pub(crate) progress: Arc<Progress>,
    pub(crate) clock: Clock,
}

/// One item of the lane.
struct Item<'p> {
    place: &'p Place,
    ticket: u64,
}

impl Place {
    const fn item(&self, ticket: u64) -> Item<'_> {
        Item { place: self, ticket }
    }
}

impl Completion for Place {
    fn is_done(&self, ticket: u64) -> bool {
        let over = self.progress.is_over(ticket);
        if over && !self.progress.has_failed(ticket) {
            self.progress.learn(ticket);
        }
        over
    }

    fn wait(&self, ticket: u64, deadline: Option<Instant>) -> Result<(), Error> {
        self.hub.wait(&self.item(ticket), deadline)
    }

    fn poll(&self, ticket: u64, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
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

    fn register(&self, state: &mut State, waker: &Waker) {
        let Some(lane) = state.lanes.get_mut(self.place.lane) else { return };
        let known =
            |(ticket, other): &(u64, Waker)| *ticket == self.ticket && other.will_wake(waker);
        if !lane.waiters.iter().any(known) {
            lane.waiters.push((self.ticket, waker.clone()));
        }
    }

    fn key(&self) -> Key {
        Key::Item { lane: self.place.lane, ticket: self.ticket }
    }

    fn wait(&self, state: &State) -> Option<Wait> {
        let lane = state.lanes.get(self.place.lane)?;
        let upto = lane.queue.iter().take_while(|item| item.ticket <= self.ticket);
        upto.filter_map(|item| item.point).last().map(Wait::Point)
    }

    fn outcome(&self, state: &mut State) -> Result<(), Error> {
        let failure = |lane: &crate::lane::Lane| lane.failure_of(self.ticket).cloned();
        if let Some(error) = state.lanes.get(self.place.lane).and_then(failure) {
            return Err(error);
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
