//! Events: places in streams.
//!
//! Each record makes a new [`Recording`], and a wait keeps the one it found: to
//! record an event again changes nothing for those who wait already.

use std::ffi::c_uint;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use crate::abi::{Answer, CUevent, CUresult, CUstream, answer, put};
use crate::context::Context;
use crate::driver::Driver;
use crate::lock::{lock, wait_until};
use crate::stream::{Work, stream_called};

/// `CU_EVENT_DISABLE_TIMING`.
const DISABLE_TIMING: c_uint = 2;
/// `CU_EVENT_BLOCKING_SYNC` and the former; events between processes are not offered.
const KNOWN_FLAGS: c_uint = 1 | DISABLE_TIMING;

/// An event.
pub(crate) struct Event {
    pub(crate) context: Arc<Context>,
    is_timed: bool,
    last: Mutex<Option<Arc<Recording>>>,
}

/// One place in one stream.
#[derive(Default)]
pub(crate) struct Recording {
    reached: Mutex<Option<Instant>>,
    changed: Condvar,
}

impl Recording {
    /// The stream has come to this place.
    pub(crate) fn reach(&self) {
        *lock(&self.reached) = Some(Instant::now());
        self.changed.notify_all();
    }

    /// Blocks until the stream has come to this place.
    pub(crate) fn wait(&self) {
        drop(wait_until(&self.changed, lock(&self.reached), |reached| reached.is_some()));
    }

    fn when(&self) -> Option<Instant> {
        *lock(&self.reached)
    }
}

impl Event {
    /// The place that the event stands for now, if it was ever recorded.
    pub(crate) fn recording(&self) -> Option<Arc<Recording>> {
        lock(&self.last).clone()
    }

    /// When the event was reached, for the time between two.
    fn when(&self) -> Answer<Instant> {
        let recording = self.recording().filter(|_| self.is_timed);
        recording.ok_or(CUresult::INVALID_HANDLE)?.when().ok_or(CUresult::NOT_READY)
    }
}

/// The event that a caller means, if nothing has gone wrong where it lives.
fn event_called(event: CUevent) -> Answer<Arc<Event>> {
    let event = Driver::get()?.events.get(event)?;
    event.context.check()?;
    Ok(event)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuEventCreate(event: *mut CUevent, flags: c_uint) -> CUresult {
    answer("cuEventCreate", || {
        let context = Context::current()?;
        if event.is_null() || flags & !KNOWN_FLAGS != 0 {
            return Err(CUresult::INVALID_VALUE);
        }
        let is_timed = flags & DISABLE_TIMING == 0;
        let made = Arc::new(Event { context, is_timed, last: Mutex::default() });
        // SAFETY: the caller's pointer, by the contract of this call in `cuda.h`.
        unsafe { put(event, Driver::get()?.events.issue(made)) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuEventDestroy_v2(event: CUevent) -> CUresult {
    // Who waits for it keeps the recording, so this can be done at any time.
    answer("cuEventDestroy_v2", || Driver::get()?.events.take(event).map(drop))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuEventRecord(event: CUevent, stream: CUstream) -> CUresult {
    answer("cuEventRecord", || {
        let event = event_called(event)?;
        let stream = stream_called(stream)?;
        if !Arc::ptr_eq(&event.context, &stream.context) {
            return Err(CUresult::INVALID_HANDLE);
        }
        // Locked over both, or two threads could leave the earlier place behind.
        let mut last = lock(&event.last);
        let recording = Arc::new(Recording::default());
        stream.submit(Work::Record(Arc::clone(&recording)))?;
        *last = Some(recording);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuEventQuery(event: CUevent) -> CUresult {
    answer("cuEventQuery", || {
        let recording = event_called(event)?.recording();
        let is_reached = recording.is_none_or(|recording| recording.when().is_some());
        if is_reached { Ok(()) } else { Err(CUresult::NOT_READY) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuEventSynchronize(event: CUevent) -> CUresult {
    answer("cuEventSynchronize", || {
        let event = event_called(event)?;
        if let Some(recording) = event.recording() {
            recording.wait();
        }
        event.context.check()
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuEventElapsedTime_v2(
    milliseconds: *mut f32,
    start: CUevent,
    end: CUevent,
) -> CUresult {
    answer("cuEventElapsedTime_v2", || {
        let (start, end) = (event_called(start)?, event_called(end)?);
        if !Arc::ptr_eq(&start.context, &end.context) {
            return Err(CUresult::INVALID_HANDLE);
        }
        let (start, end) = (start.when()?, end.when()?);
        let forward = end.saturating_duration_since(start).as_secs_f32();
        let back = start.saturating_duration_since(end).as_secs_f32();
        // SAFETY: the caller's pointer, by the contract of this call in `cuda.h`.
        unsafe { put(milliseconds, (forward - back) * 1e3) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuEventElapsedTime(
    milliseconds: *mut f32,
    start: CUevent,
    end: CUevent,
) -> CUresult {
    answer("cuEventElapsedTime", || {
        // SAFETY: one contract.
        unsafe { cuEventElapsedTime_v2(milliseconds, start, end) }.answer()
    })
}
