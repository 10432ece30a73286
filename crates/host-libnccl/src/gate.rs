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
    wakers: Vec<Waker>,
}

impl Gate {
    pub(crate) fn open(&self) {
        let mut state = lock(&self.state);
        state.is_open = true;
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        self.opened.notify_all();
        // Without the lock: waking carries out what has become possible.
        wakers.into_iter().for_each(Waker::wake);
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
        if !state.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
            state.wakers.push(context.waker().clone());
        }
        Poll::Pending
    }
}
