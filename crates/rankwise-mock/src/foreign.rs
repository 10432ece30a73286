//! Waiting for another backend's fence without a thread.

use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};

use crate::hub::{Changes, Hub};
use crate::lane::Act;

/// Lets a lane go on whose first item waits for another backend's fence.
///
/// One waker serves the item however often it asks: a backend that keeps every waker
/// keeps one.
pub(crate) struct Nudge {
    hub: Weak<Hub>,
    lane: usize,
    ticket: u64,
}

impl Nudge {
    pub(crate) fn waker(hub: &Arc<Hub>, lane: usize, ticket: u64) -> Waker {
        Waker::from(Arc::new(Self { hub: Arc::downgrade(hub), lane, ticket }))
    }
}

impl Wake for Nudge {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let Some(hub) = self.hub.upgrade() else { return };
        let mut state = hub.lock();
        let first = state.lanes.get_mut(self.lane).and_then(|lane| lane.queue.front_mut());
        let Some(first) = first.filter(|item| item.ticket == self.ticket) else { return };
        let Act::Foreign { fence, nudged, .. } = &mut first.act else { return };
        if fence.is_none() {
            // It is being asked at this moment, and will have to be asked again.
            *nudged = true;
            return;
        }
        let changes = Changes { ready: vec![self.lane], ..Changes::default() };
        hub.settle(state, changes);
    }
}
