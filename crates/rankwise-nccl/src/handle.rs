//! NCCL's communicator: used by many threads, ended once.

use core::mem;
use core::time::Duration;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use nccl_sys::{ncclComm_t, ncclResult_t};
use rankwise_comm::{Error, Fault};
use rankwise_model::{GroupSize, Rank};

use crate::device::Device;
use crate::library::{Nccl, call};

/// A communicator of NCCL, and who is using it.
///
/// The pointer is used only between [`enter`](Self::enter) and the drop of what that
/// returns, and is freed only when nobody is inside and nobody can enter again. So a
/// fence that asks for an error and an abort from another thread cannot meet a pointer
/// that is gone.
pub(crate) struct Handle {
    pub(crate) nccl: Nccl,
    pub(crate) device: &'static Device,
    pub(crate) rank: Rank,
    pub(crate) ranks: GroupSize,
    pub(crate) name: Arc<str>,
    /// Held while calls are made: NCCL wants one thread at a time.
    calls: Mutex<()>,
    /// The first thing that went wrong. It stays.
    failure: OnceLock<Error>,
    state: Mutex<State>,
    left: Condvar,
}

struct State {
    raw: ncclComm_t,
    inside: usize,
    end: End,
}

/// How far the communicator is from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It can be used.
    No,
    /// Nobody enters any more; somebody waits until nobody is inside, and then has it.
    Taken,
    /// Nobody enters any more; the last who is inside aborts it.
    Abort,
}

// SAFETY: NCCL's communicators are not bound to a thread; the pointer is handed to NCCL
// only, by whom the lock lets.
unsafe impl Send for State {}

/// Somebody who may use the pointer.
pub(crate) struct Inside<'h> {
    handle: &'h Handle,
    raw: ncclComm_t,
}

/// Somebody who alone makes calls on it.
pub(crate) struct Calling<'h> {
    pub(crate) inside: Inside<'h>,
    _calls: MutexGuard<'h, ()>,
}

/// A pointer that nobody else has any more.
pub(crate) struct Owned {
    nccl: Nccl,
    device: &'static Device,
    raw: ncclComm_t,
}

// SAFETY: as for `State`.
unsafe impl Send for Owned {}

impl Inside<'_> {
    /// The pointer, alive for as long as `self`.
    pub(crate) const fn raw(&self) -> ncclComm_t {
        self.raw
    }
}

impl Handle {
    /// Takes over a communicator that NCCL has made.
    ///
    /// # Safety
    ///
    /// `raw` is alive, was made by `nccl` on `device`, is this rank's of so many, and
    /// nobody else uses or ends it.
    pub(crate) unsafe fn adopt(
        nccl: Nccl,
        device: &'static Device,
        raw: ncclComm_t,
        (rank, ranks): (Rank, GroupSize),
        name: &str,
    ) -> Arc<Self> {
        Arc::new(Self {
            nccl,
            device,
            rank,
            ranks,
            name: name.into(),
            calls: Mutex::default(),
            failure: OnceLock::new(),
            state: Mutex::new(State { raw, inside: 0, end: End::No }),
            left: Condvar::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing under this lock can panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn closed(&self, how: &str) -> Error {
        let (rank, communicator) = (self.rank, self.name.as_ref().to_owned());
        Fault::Closed { rank, communicator, how: how.to_owned() }.into()
    }

    /// Lets somebody use the pointer, unless it is at its end.
    pub(crate) fn enter(&self) -> Result<Inside<'_>, Error> {
        let mut state = self.lock();
        if state.end != End::No {
            drop(state);
            return Err(self.failure.get().cloned().unwrap_or_else(|| self.closed("closed")));
        }
        state.inside = state.inside.saturating_add(1);
        Ok(Inside { handle: self, raw: state.raw })
    }

    /// Lets somebody make calls, alone.
    pub(crate) fn call(&self) -> Result<Calling<'_>, Error> {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Calling { inside: self.enter()?, _calls: calls })
    }

    /// What has gone wrong on this communicator, if anything has; asks NCCL.
    pub(crate) fn failure(&self) -> Option<Error> {
        if let Some(error) = self.failure.get() {
            return Some(error.clone());
        }
        let inside = self.enter().ok()?;
        let mut code = ncclResult_t::ncclSuccess;
        // SAFETY: the pointer is alive while we are inside; `code` may be written.
        let asked = unsafe { call!(self.nccl, ncclCommGetAsyncError(inside.raw(), &raw mut code)) };
        let error = match (asked, code) {
            (Err(error), _) => error,
            (Ok(()), ncclResult_t::ncclSuccess | ncclResult_t::ncclInProgress) => return None,
            (Ok(()), code) => self.nccl.fault("ncclCommGetAsyncError", code, inside.raw()),
        };
        Some(self.failure.get_or_init(|| error).clone())
    }

    /// Whether it has ended without anything having gone wrong.
    pub(crate) fn is_over(&self) -> bool {
        self.failure.get().is_none() && self.is_ended()
    }

    /// Whether nobody can enter any more.
    pub(crate) fn is_ended(&self) -> bool {
        self.lock().end != End::No
    }

    /// Ends this rank's part at once. Whoever is inside a call comes out of it with an
    /// error, as far as this NCCL can be told (`ncclCommRevoke`, 2.28.7).
    pub(crate) fn abort(&self, reason: &str) {
        let mut state = self.lock();
        if state.end != End::No {
            return;
        }
        let _ = self.failure.set(self.closed(&format!("aborted: {reason}")));
        tracing::warn!(comm = &*self.name, rank = self.rank.index(), reason, "aborted");
        state.end = End::Abort;
        if state.inside > 0 {
            // Counted, so that the pointer is alive until it has been revoked.
            state.inside = state.inside.saturating_add(1);
            let inside = Inside { handle: self, raw: state.raw };
            drop(state);
            // SAFETY: alive while we are inside. Revoking is made for other threads.
            let _ = unsafe { call!(self.nccl, ncclCommRevoke(inside.raw(), 0)) };
            return;
        }
        let owned = self.own(&mut state);
        drop(state);
        owned.abort();
    }

    /// Takes the pointer away for good, when nobody is inside. `None` if it is gone, or
    /// if somebody is inside for longer than `within`: then it is left as it was.
    pub(crate) fn take(&self, within: Duration) -> Option<Owned> {
        let mut state = self.lock();
        if state.end != End::No {
            return None;
        }
        state.end = End::Taken;
        let waited = self.left.wait_timeout_while(state, within, |state| state.inside > 0);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.inside > 0 {
            state.end = End::No;
            return None;
        }
        Some(self.own(&mut state))
    }

    fn own(&self, state: &mut State) -> Owned {
        let raw = mem::replace(&mut state.raw, core::ptr::null_mut());
        Owned { nccl: self.nccl, device: self.device, raw }
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let mut state = self.handle.lock();
        state.inside = state.inside.saturating_sub(1);
        if state.inside > 0 {
            return;
        }
        if state.end == End::Abort {
            let owned = self.handle.own(&mut state);
            drop(state);
            owned.abort();
        } else {
            self.handle.left.notify_all();
        }
    }
}

impl Owned {
    /// Kills what is in flight and frees the communicator.
    pub(crate) fn abort(self) {
        let Ok(_bound) = self.device.bind() else { return };
        // SAFETY: the pointer is alive, nobody else has it, and it ends here.
        let _ = unsafe { call!(self.nccl, ncclCommAbort(self.raw)) };
    }

    /// Says that no more will come, and waits until NCCL has flushed what there was.
    pub(crate) fn finalize(&self) -> Result<(), Error> {
        let _bound = self.device.bind()?;
        if nccl_sys::function!(self.nccl.library(), ncclCommFinalize).is_err() {
            return Ok(()); // before 2.14 `ncclCommDestroy` did all of it
        }
        // SAFETY: alive, and nobody else has it.
        unsafe { call!(self.nccl, ncclCommFinalize(self.raw)) }
    }

    /// Frees the communicator. May wait for peers: not for a thread that must go on.
    pub(crate) fn destroy(self) -> Result<(), Error> {
        let _bound = self.device.bind()?;
        // SAFETY: alive, nobody else has it, and it ends here. It has no asynchronous
        // error, with which NCCL would leave this thread inside a group.
        unsafe { call!(self.nccl, ncclCommDestroy(self.raw)) }
    }
}
