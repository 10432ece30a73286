//! How the mock learns that a stream has come to its work.

use std::sync::{Condvar, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use rankwise_comm::{Completion, Error};

use crate::lock::{lock, wait_until};

/// Closed until the stream has come here: what the mock's stream waits for.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    opened: Condvar,
}

#[derive(Default)]
struct State {
    is_open: bool,
    /// Whom to wake: the one stream of the mock that waits here, by its last waker.
    waker: Option<Waker>,
}

impl Gate {
    pub(crate) fn open(&self) {
        let mut state = lock(&self.state);
        state.is_open = true;
        let waker = state.waker.take();
        drop(state);
        self.opened.notify_all();
        // Without the lock: waking carries out what has become possible.
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Completion for Gate {
    fn is_done(&self, _ticket: u64) -> bool {
        lock(&self.state).is_open
    }

    /// The mock polls; a deadline is never asked for.
    fn wait(&self, _ticket: u64, _deadline: Option<Instant>) -> Result<(), Error> {
        drop(wait_until(&self.opened, lock(&self.state), |state| state.is_open));
        Ok(())
    }

    fn poll(&self, _ticket: u64, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let mut state = lock(&self.state);
        if state.is_open {
            return Poll::Ready(Ok(()));
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}
