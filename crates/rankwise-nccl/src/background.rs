//! What is looked at now and then until it is over: wakers to wake, memory to give back.
//!
//! Two threads, started when first needed. They are kept apart since giving memory back
//! may wait for the device, and those who await must not.

use core::time::Duration;
use std::mem;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

/// Looks at something; whether it is over and need not be looked at again.
type Look = Box<dyn FnMut() -> bool + Send>;

struct Watch {
    name: &'static str,
    state: Mutex<State>,
    more: Condvar,
}

struct State {
    looks: Vec<Look>,
    has_thread: bool,
}

static WAKING: Watch = Watch::new("rankwise-nccl wakes");
static FREEING: Watch = Watch::new("rankwise-nccl frees");

/// Asks again and again until the answer is yes; it is quick and does not block.
pub(crate) fn wake(look: impl FnMut() -> bool + Send + 'static) {
    WAKING.add(Box::new(look));
}

/// The same for what may block for a while.
pub(crate) fn free(look: impl FnMut() -> bool + Send + 'static) {
    FREEING.add(Box::new(look));
}

impl Watch {
    const fn new(name: &'static str) -> Self {
        let state = Mutex::new(State { looks: Vec::new(), has_thread: false });
        Self { name, state, more: Condvar::new() }
    }

    fn add(&'static self, look: Look) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.looks.push(look);
        if !state.has_thread {
            // Without a thread nothing is freed and nobody woken until one can be had.
            let thread = thread::Builder::new().name(self.name.to_owned());
            state.has_thread = thread.spawn(move || self.run()).is_ok();
        }
        drop(state);
        self.more.notify_one();
    }

    fn run(&self) {
        const SHORTEST: Duration = Duration::from_micros(20);
        const LONGEST: Duration = Duration::from_millis(1);
        let mut kept: Vec<Look> = Vec::new();
        let mut pause = SHORTEST;
        loop {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.is_empty() {
                let waited = self.more.wait_while(state, |state| state.looks.is_empty());
                state = waited.unwrap_or_else(PoisonError::into_inner);
            }
            let new = mem::take(&mut state.looks);
            drop(state);
            if !new.is_empty() {
                pause = SHORTEST;
            }
            kept.extend(new);
            // Looked at without the lock: a waker may run anything.
            kept.retain_mut(|look| !look());
            if !kept.is_empty() {
                thread::sleep(pause);
                pause = pause.saturating_mul(2).min(LONGEST);
            }
        }
    }
}
