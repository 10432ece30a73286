//! Splitting a communicator.

use core::panic::Location;
use core::ptr;
use core::task::{Context, Poll, Waker};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use nccl_sys::{NCCL_SPLIT_NOCOLOR, ncclComm_t};
use rankwise_comm::{Communicator, Completion, Error, Fault, Fence, Pending};
use rankwise_model::GroupSize;

use crate::comm::Comm;
use crate::handle::Handle;
use crate::library::call;

/// What a split gives: the own part, or none.
type Outcome = Result<Option<Comm>, Error>;

/// Where the thread that waits in NCCL puts what it got.
struct Slot {
    state: Mutex<State>,
    changed: Condvar,
    since: Instant,
    name: String,
}

#[derive(Default)]
struct State {
    /// Once it is over: whether it went well.
    over: Option<Result<(), Error>>,
    outcome: Option<Outcome>,
    wakers: Vec<Waker>,
}

/// Splits: NCCL waits for all ranks in that call, so a thread of its own makes it. Until
/// it is over, other calls on this communicator wait for it, as NCCL wants.
#[track_caller]
pub(crate) fn split(
    comm: &Comm,
    color: Option<u32>,
    key: i32,
) -> Result<Pending<Option<Comm>>, Error> {
    let site = Location::caller();
    let signed = match color.map(i32::try_from).transpose() {
        Ok(signed) => signed.unwrap_or(NCCL_SPLIT_NOCOLOR),
        Err(_) => {
            let what = format!("colours above {} ({site}); found {color:?}", i32::MAX);
            let backend = comm.capabilities().backend().to_owned();
            return Err(Fault::Unsupported { backend, what, since: None }.into());
        }
    };
    if let Some(error) = comm.handle.failure() {
        return Err(error);
    }
    let number = comm.splits.fetch_add(1, Ordering::Relaxed);
    let name = format!("{}/split {number}", comm.name());
    let (state, changed) = (Mutex::default(), Condvar::new());
    let slot = Arc::new(Slot { state, changed, since: Instant::now(), name });
    let (parent, filled) = (Arc::clone(&comm.handle), Arc::clone(&slot));
    thread::Builder::new()
        .name("rankwise-nccl splits".to_owned())
        .spawn(move || {
            let outcome = join(&parent, signed, key, &filled.name);
            filled.fill(outcome);
        })
        .map_err(|error| Fault::Internal { what: format!("no thread to split on: {error}") })?;
    let taken = Arc::clone(&slot);
    Ok(Pending::new(Fence::new(slot, 0), move || {
        let outcome = taken.lock().outcome.take();
        outcome.unwrap_or_else(|| {
            Err(Fault::Internal { what: "a split was taken twice".to_owned() }.into())
        })
    }))
}

/// Takes part in the split; waits for all ranks of the parent.
fn join(parent: &Arc<Handle>, color: i32, key: i32, name: &str) -> Outcome {
    let nccl = parent.nccl;
    let calling = parent.call()?;
    let _bound = parent.device.bind()?;
    let mut raw: ncclComm_t = ptr::null_mut();
    // SAFETY: the parent is alive while we are inside, and nobody else makes calls on it;
    // `raw` may be written; without a configuration the parent's is taken.
    let split = unsafe {
        let parent = calling.inside.raw();
        call!(nccl, ncclCommSplit(parent, color, key, &raw mut raw, ptr::null_mut()))
    };
    drop(calling);
    split.map_err(|error| parent.failure().unwrap_or(error))?;
    if raw.is_null() {
        return Ok(None);
    }
    let (mut rank, mut count) = (0, 0);
    // SAFETY: NCCL has just made it and nobody else has it; both ints may be written.
    unsafe { call!(nccl, ncclCommUserRank(raw, &raw mut rank)) }?;
    // SAFETY: as above.
    unsafe { call!(nccl, ncclCommCount(raw, &raw mut count)) }?;
    let ranks = u32::try_from(count).ok().and_then(GroupSize::new);
    let own = ranks
        .zip(u32::try_from(rank).ok())
        .and_then(|(ranks, rank)| ranks.rank(rank).map(|rank| (rank, ranks)));
    let Some(own) = own else {
        let what = format!("NCCL made rank {rank} of {count}");
        return Err(Fault::Internal { what }.into());
    };
    // SAFETY: NCCL has just made it, on the parent's device; the numbers are its own.
    unsafe { Comm::adopt(nccl, parent.device, raw, own, name) }.map(Some)
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fill(&self, outcome: Outcome) {
        let mut state = self.lock();
        state.over = Some(outcome.as_ref().map(|_| ()).map_err(Clone::clone));
        state.outcome = Some(outcome);
        let wakers = core::mem::take(&mut state.wakers);
        drop(state);
        self.changed.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Completion for Slot {
    fn is_done(&self, _ticket: u64) -> bool {
        self.lock().over.is_some()
    }

    fn wait(&self, _ticket: u64, deadline: Option<Instant>) -> Result<(), Error> {
        let mut state = self.lock();
        loop {
            if let Some(over) = &state.over {
                return over.clone();
            }
            let Some(deadline) = deadline else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let what = format!("not every rank has split off {}", self.name);
                return Err(Fault::TimedOut { waited: self.since.elapsed(), what }.into());
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn poll(&self, _ticket: u64, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let mut state = self.lock();
        if let Some(over) = &state.over {
            return Poll::Ready(over.clone());
        }
        if !state.wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
            state.wakers.push(cx.waker().clone());
        }
        Poll::Pending
    }
}
