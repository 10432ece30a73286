//! Communicators, and the handles that name them.
//!
//! A handle is never dereferenced and never issued twice: a stale one is refused.

use std::collections::HashMap;
use std::ffi::CStr;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use nccl_sys::{cudaStream_t, ncclComm_t, ncclResult_t};
use rankwise_comm::{Communicator, Error};
use rankwise_mock::{Comm, Stream};

use crate::config::Settings;
use crate::error::{Answer, code_of, keep, refuse};
use crate::family::{Family, Patience};
use crate::faults;
use crate::group::Run;
use crate::lock::{lock, wait_until};
use crate::operator::Operators;

/// Communicators that are alive, by handle.
static ALIVE: Mutex<Option<HashMap<usize, Arc<HostComm>>>> = Mutex::new(None);

/// Handles are this far apart, as if something stood between them.
const STRIDE: u64 = 0x1000;
const FIRST: u64 = 0x8_0000_0000;
static ISSUED: AtomicU64 = AtomicU64::new(0);

/// One rank's communicator.
pub(crate) struct HostComm {
    pub(crate) mock: Comm,
    pub(crate) family: Arc<Family>,
    /// Which of the mock's worlds it belongs to: a group may span several.
    pub(crate) world: u64,
    pub(crate) device: i32,
    pub(crate) settings: Settings,
    /// The mock's stream for each of CUDA's.
    streams: Mutex<HashMap<usize, Arc<Stream>>>,
    pub(crate) operators: Mutex<Operators>,
    /// What went wrong after a call had returned. It stays, unless the rank is revoked.
    failure: Mutex<Option<(ncclResult_t, &'static CStr)>>,
    /// What has to end before a communicator that does not block is asked for more.
    progress: Mutex<Progress>,
    pub(crate) is_finalized: AtomicBool,
    pub(crate) is_revoked: AtomicBool,
    pub(crate) is_suspended: AtomicBool,
    /// How many calls there were in which all ranks take part, by kind.
    pub(crate) turns: Turns,
    /// How many units are not done yet.
    in_flight: Mutex<usize>,
    landed: Condvar,
}

/// How often a rank has called what all ranks have to call in the same order.
#[derive(Default)]
pub(crate) struct Turns {
    pub(crate) splits: AtomicU32,
    pub(crate) shrinks: AtomicU32,
    pub(crate) grows: AtomicU32,
    pub(crate) windows: AtomicU32,
}

/// What a communicator that does not block is still at.
#[derive(Default)]
struct Progress {
    runs: Vec<Run>,
    /// How often it says so even if there is nothing.
    polls: u32,
}

impl HostComm {
    pub(crate) fn new(
        mock: Comm,
        family: Arc<Family>,
        world: u64,
        device: i32,
        settings: Settings,
    ) -> Self {
        Self {
            mock,
            family,
            world,
            device,
            settings,
            streams: Mutex::default(),
            operators: Mutex::default(),
            failure: Mutex::default(),
            progress: Mutex::default(),
            is_finalized: AtomicBool::new(false),
            is_revoked: AtomicBool::new(false),
            is_suspended: AtomicBool::new(false),
            turns: Turns::default(),
            in_flight: Mutex::new(0),
            landed: Condvar::new(),
        }
    }

    /// The own rank, as an index.
    pub(crate) fn rank(&self) -> usize {
        usize::try_from(self.mock.rank().index()).unwrap_or(usize::MAX)
    }

    /// How many ranks there are.
    pub(crate) fn size(&self) -> usize {
        usize::try_from(self.mock.ranks().get()).unwrap_or(usize::MAX)
    }

    /// Ends this rank's part of everything.
    pub(crate) fn leave(&self, how: &'static str) {
        self.family.leave(self.rank(), how);
        self.mock.abort_handle().abort(how);
    }

    /// Has the communicator be in progress until this has ended, and for one poll at least.
    pub(crate) fn begin(&self, run: Option<Run>) {
        let mut progress = lock(&self.progress);
        progress.runs.extend(run);
        progress.polls = progress.polls.max(1 + faults::polls());
    }

    /// Waits for nothing any more.
    pub(crate) fn give_up(&self) {
        let given_up = std::mem::take(&mut *lock(&self.progress));
        // Outside the lock: what is dropped may be the last to know of this communicator.
        drop(given_up);
    }

    /// Whether something has begun that nobody has seen the end of.
    pub(crate) fn is_in_progress(&self) -> bool {
        let progress = lock(&self.progress);
        progress.polls > 0 || !progress.runs.is_empty()
    }

    /// What `ncclCommGetAsyncError` says, which is also when things are looked after.
    pub(crate) fn poll(&self) -> ncclResult_t {
        let mut progress = lock(&self.progress);
        let mut runs = std::mem::take(&mut progress.runs);
        runs.retain_mut(|run| match run(Patience::Look) {
            None => true,
            Some(Ok(())) => false,
            Some(Err((code, text))) => {
                self.fail_with(code, &text);
                false
            }
        });
        progress.runs = runs;
        if let Some((code, _)) = self.failure() {
            *progress = Progress::default();
            return code;
        }
        let is_held = progress.polls > 0;
        progress.polls = progress.polls.saturating_sub(1);
        if is_held || !progress.runs.is_empty() {
            return ncclResult_t::ncclInProgress;
        }
        ncclResult_t::ncclSuccess
    }

    /// The mock's stream that stands for one of CUDA's.
    pub(crate) fn stream(&self, stream: cudaStream_t) -> Result<Arc<Stream>, Error> {
        let mut streams = lock(&self.streams);
        if let Some(known) = streams.get(&stream.addr()) {
            return Ok(Arc::clone(known));
        }
        let made = Arc::new(self.mock.new_stream()?);
        streams.insert(stream.addr(), Arc::clone(&made));
        Ok(made)
    }

    /// Notes what went wrong after a call had returned; the first time counts.
    pub(crate) fn fail(&self, error: &Error) {
        self.fail_with(code_of(error), &error.to_string());
    }

    /// The same, in a code and words.
    pub(crate) fn fail_with(&self, code: ncclResult_t, text: &str) {
        // What was in flight when a rank was revoked has to end like this.
        if !self.is_revoked.load(Ordering::Acquire) {
            lock(&self.failure).get_or_insert((code, keep(text)));
        }
    }

    /// What went wrong after a call had returned, if anything did.
    pub(crate) fn failure(&self) -> Option<(ncclResult_t, &'static CStr)> {
        *lock(&self.failure)
    }

    /// Revoked ranks have a new start.
    pub(crate) fn forget_failure(&self) {
        *lock(&self.failure) = None;
    }

    pub(crate) fn take_off(&self) {
        *lock(&self.in_flight) += 1;
    }

    pub(crate) fn land(&self) {
        *lock(&self.in_flight) -= 1;
        self.landed.notify_all();
    }

    /// Whether everything that was enqueued is over.
    pub(crate) fn is_drained(&self) -> bool {
        *lock(&self.in_flight) == 0
    }

    /// Blocks until it is.
    pub(crate) fn drain(&self) {
        drop(wait_until(&self.landed, lock(&self.in_flight), |flying| *flying == 0));
    }
}

/// Issues a handle.
pub(crate) fn issue(comm: Arc<HostComm>) -> ncclComm_t {
    let number = FIRST + STRIDE * ISSUED.fetch_add(1, Ordering::Relaxed);
    let handle = usize::try_from(number).unwrap_or(usize::MAX);
    lock(&ALIVE).get_or_insert_default().insert(handle, comm);
    ptr::without_provenance_mut(handle)
}

/// What a handle names, if it still does.
pub(crate) fn find(raw: ncclComm_t) -> Option<Arc<HostComm>> {
    lock(&ALIVE).as_ref()?.get(&raw.addr()).cloned()
}

/// Ends a handle. Whatever it was still at is given up by its owner.
pub(crate) fn take(raw: ncclComm_t) -> Option<Arc<HostComm>> {
    lock(&ALIVE).as_mut()?.remove(&raw.addr())
}

/// The communicator that a caller means.
pub(crate) fn called(what: &str, raw: ncclComm_t) -> Answer<Arc<HostComm>> {
    let invalid = ncclResult_t::ncclInvalidArgument;
    if raw.is_null() {
        return refuse(invalid, format_args!("{what} : comm argument is NULL"));
    }
    let corrupted = || refuse(invalid, "Error: corrupted comm object detected");
    find(raw).map_or_else(corrupted, Ok)
}

/// The same, if nothing is in progress and nothing has failed.
pub(crate) fn settled(what: &str, raw: ncclComm_t) -> Answer<Arc<HostComm>> {
    let comm = called(what, raw)?;
    check_settled(&comm)?;
    Ok(comm)
}

/// Whether nothing is in progress and nothing has failed.
pub(crate) fn check_settled(comm: &HostComm) -> Answer {
    if comm.is_in_progress() {
        let why = "Attempt to use communicator before the previous operation returned ncclSuccess";
        return refuse(ncclResult_t::ncclInvalidArgument, why);
    }
    match comm.failure() {
        Some((code, text)) => refuse(code, text.to_string_lossy()),
        None => Ok(()),
    }
}

/// The same, if calls can still be made on it.
pub(crate) fn ready(what: &str, raw: ncclComm_t) -> Answer<Arc<HostComm>> {
    let comm = called(what, raw)?;
    let usage = ncclResult_t::ncclInvalidUsage;
    if comm.is_revoked.load(Ordering::Acquire) {
        return refuse(usage, format_args!("{what}: communicator was revoked"));
    }
    check_settled(&comm)?;
    for (flag, how) in [(&comm.is_suspended, "is suspended"), (&comm.is_finalized, "was finalized")]
    {
        if flag.load(Ordering::Acquire) {
            return refuse(usage, format_args!("{what}: communicator {how}"));
        }
    }
    Ok(comm)
}

/// Counts a collective, message or signal of this rank: a fault may have it die there.
pub(crate) fn survives(comm: &HostComm) -> Answer {
    if !faults::dies(comm.mock.rank().index()) {
        return Ok(());
    }
    let why = "this rank has died: a fault that was asked for";
    comm.fail_with(ncclResult_t::ncclSystemError, why);
    comm.leave("it has died");
    refuse(ncclResult_t::ncclSystemError, why)
}
