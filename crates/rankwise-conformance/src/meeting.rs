//! A point where ranks meet outside the backend under test.

use core::time::Duration;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::defect::Defect;

/// A barrier among the ranks' threads that gives up.
pub(crate) struct Meeting {
    ranks: u32,
    within: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    here: u32,
    times: u64,
}

impl Meeting {
    pub(crate) fn new(ranks: u32, within: Duration) -> Self {
        Self { ranks, within, state: Mutex::default(), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until every rank has come.
    pub(crate) fn wait(&self) -> Result<(), Defect> {
        let deadline = Instant::now().checked_add(self.within);
        let mut state = self.lock();
        let (mine, ranks) = (state.times, self.ranks);
        state.here += 1;
        if state.here == ranks {
            *state = State { here: 0, times: mine + 1 };
            self.changed.notify_all();
            return Ok(());
        }
        while state.times == mine {
            let left = deadline
                .map_or(self.within, |deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                let here = state.here;
                let words =
                    format!("only {here} of {ranks} ranks came here within {:?}", self.within);
                return Err(Defect::new(words));
            }
            let (next, _) =
                self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
            state = next;
        }
        Ok(())
    }
}
