//! Communicators, and the handles that name them.
//!
//! A handle is never dereferenced and never issued twice: a stale one is refused.

use std::collections::HashMap;
use std::ffi::CStr;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};

use nccl_sys::{cudaStream_t, ncclComm_t, ncclResult_t};
use rankwise_comm::{Communicator, Error};
use rankwise_mock::{Comm, Stream};

use crate::error::{Answer, code_of, keep, refuse};
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
    /// Which of the mock's worlds it belongs to: a group may span several.
    pub(crate) world: u64,
    pub(crate) device: i32,
    /// The mock's stream for each of CUDA's.
    streams: Mutex<HashMap<usize, Arc<Stream>>>,
    pub(crate) operators: Mutex<Operators>,
    /// What went wrong after a call had returned. It stays.
    pub(crate) failure: OnceLock<(ncclResult_t, &'static CStr)>,
    pub(crate) is_finalized: AtomicBool,
    pub(crate) is_revoked: AtomicBool,
    /// How many units are not done yet.
    in_flight: Mutex<usize>,
    landed: Condvar,
}

impl HostComm {
    pub(crate) fn new(mock: Comm, world: u64, device: i32) -> Self {
        Self {
            mock,
            world,
            device,
            streams: Mutex::default(),
            operators: Mutex::default(),
            failure: OnceLock::new(),
            is_finalized: AtomicBool::new(false),
            is_revoked: AtomicBool::new(false),
            in_flight: Mutex::new(0),
            landed: Condvar::new(),
        }
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

    /// Notes what went wrong after a call had returned.
    pub(crate) fn fail(&self, error: &Error) {
        self.failure.get_or_init(|| (code_of(error), keep(&error.to_string())));
    }

    pub(crate) fn take_off(&self) {
        *lock(&self.in_flight) += 1;
    }

    pub(crate) fn land(&self) {
        *lock(&self.in_flight) -= 1;
        self.landed.notify_all();
    }

    /// Blocks until everything that was enqueued is over.
    pub(crate) fn drain(&self) {
        drop(wait_until(&self.landed, lock(&self.in_flight), |flying| *flying == 0));
    }
}

/// Issues a handle.
pub(crate) fn issue(comm: HostComm) -> ncclComm_t {
    let number = FIRST + STRIDE * ISSUED.fetch_add(1, Ordering::Relaxed);
    let handle = usize::try_from(number).unwrap_or(usize::MAX);
    lock(&ALIVE).get_or_insert_default().insert(handle, Arc::new(comm));
    ptr::without_provenance_mut(handle)
}

/// What a handle names, if it still does.
pub(crate) fn find(raw: ncclComm_t) -> Option<Arc<HostComm>> {
    lock(&ALIVE).as_ref()?.get(&raw.addr()).cloned()
}

/// Ends a handle.
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

/// The same, if calls can still be made on it.
pub(crate) fn ready(what: &str, raw: ncclComm_t) -> Answer<Arc<HostComm>> {
    let comm = called(what, raw)?;
    if comm.is_revoked.load(Ordering::Acquire) {
        let why = format!("{what}: communicator was revoked");
        return refuse(ncclResult_t::ncclInvalidUsage, why);
    }
    if let Some((code, text)) = comm.failure.get() {
        return refuse(*code, text.to_string_lossy());
    }
    Ok(comm)
}
