//! Waiting for another backend's fence without a thread.

use std::sync::{Arc, Weak};
use std::task::Wake;

use crate::hub::{Changes, Hub};
use crate::lane::Act;

/// Lets a lane go on that waits for another backend's fence.
pub(crate) struct Nudge {
    hub: Weak<Hub>,
    lane: usize,
}

impl Nudge {
    pub(crate) fn new(hub: &Arc<Hub>, lane: usize) -> Self {
        Self { hub: Arc::downgrade(hub), lane }
    }
}

impl Wake for Nudge {
    fn wake(self: Arc<Self>) {
        let Some(hub) = self.hub.upgrade() else { return };
        let mut state = hub.lock();
        let first = state.lanes.get_mut(self.lane).and_then(|lane| lane.queue.front_mut());
        if let Some(Act::Foreign { nudged, .. }) = first.map(|item| &mut item.act) {
            *nudged = true;
        }
        let changes = Changes { ready: vec![self.lane], ..Changes::default() };
        hub.settle(state, changes);
    }
}
