//! Places in streams: events, recorded once, when they are made.

use core::hint;
use core::mem;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Instant;

use cudarc::driver::result;
use cudarc::driver::result::DriverError;
use cudarc::driver::sys::{CUevent, CUevent_flags, CUresult};
use rankwise_comm::{Completion, Error, Fault};

use crate::background;
use crate::device::Device;
use crate::driver::check;
use crate::handle::Handle;
use crate::stream::Queue;

/// A place in a stream: everything enqueued before it was recorded, and nothing after.
///
/// Made before the work that it is to stand behind, so that what the work touches can be
/// noted first: until it is recorded, and for good if it never is, it counts as not
/// passed, and nothing that it guards is freed.
pub(crate) struct Point {
    event: CUevent,
    device: &'static Device,
    /// The stream it is in.
    pub(crate) stream: u64,
    /// The communicators whose work may stand before it.
    handles: Vec<Arc<Handle>>,
    is_recorded: AtomicBool,
    /// The device is known to have passed it.
    is_passed: AtomicBool,
    /// How it ended, once known: an error that comes later is not this work's.
    outcome: OnceLock<Result<(), Error>>,
    /// Who awaits it. As long as there is anybody, a thread looks at it now and then.
    wakers: Mutex<Vec<Waker>>,
}

// SAFETY: events are not bound to a thread, and the driver locks what it does with one.
unsafe impl Send for Point {}
// SAFETY: as above; recording happens once, before anybody else asks.
unsafe impl Sync for Point {}

impl Point {
    /// A place that is not yet in its stream.
    pub(crate) fn new(queue: &Queue, handles: Vec<Arc<Handle>>) -> Result<Arc<Self>, Error> {
        let device = queue.device;
        let _bound = device.bind()?;
        let flags = CUevent_flags::CU_EVENT_DISABLE_TIMING;
        let event = check("cuEventCreate", result::event::create(flags))?;
        Ok(Arc::new(Self {
            event,
            device,
            stream: queue.number,
            handles,
            is_recorded: AtomicBool::new(false),
            is_passed: AtomicBool::new(false),
            outcome: OnceLock::new(),
            wakers: Mutex::default(),
        }))
    }

    /// Puts it behind everything that its stream has been given so far.
    pub(crate) fn record(&self, queue: &Queue) -> Result<(), Error> {
        let _bound = self.device.bind()?;
        // SAFETY: event and stream are alive: `self` and `queue` destroy them when they
        // are dropped. They are of one device: the point was made for this stream.
        check("cuEventRecord", unsafe { result::event::record(self.event, queue.raw()) })?;
        self.is_recorded.store(true, Ordering::Release);
        Ok(())
    }

    /// The event and the communicators, for a stream that is to wait for it. `None` if
    /// it has been passed well: then there is nothing to wait for.
    pub(crate) fn to_wait_for(&self) -> Option<(CUevent, &[Arc<Handle>])> {
        match self.look() {
            Some(Ok(())) => None,
            _ => Some((self.event, &self.handles)),
        }
    }

    /// Whether the device has passed it, however that ended.
    pub(crate) fn is_passed(&self) -> bool {
        matches!(self.ask(), Ok(true))
    }

    /// Whether it has been passed and all before it went well.
    pub(crate) fn is_passed_well(&self) -> bool {
        self.is_passed() && matches!(self.look(), Some(Ok(())))
    }

    fn ask(&self) -> Result<bool, Error> {
        if self.is_passed.load(Ordering::Acquire) {
            return Ok(true);
        }
        if !self.is_recorded.load(Ordering::Acquire) {
            return Ok(false); // an event that was never recorded reads as passed
        }
        let _bound = self.device.bind()?;
        // SAFETY: the event is alive: it is destroyed when `self` is dropped.
        match unsafe { result::event::query(self.event) } {
            Ok(()) => {
                self.is_passed.store(true, Ordering::Release);
                Ok(true)
            }
            Err(DriverError(CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
            Err(error) => check("cuEventQuery", Err(error)),
        }
    }

    /// How it ended, if it is over for those who wait: passed, or never to be passed well.
    fn look(&self) -> Option<Result<(), Error>> {
        if let Some(outcome) = self.outcome.get() {
            return Some(outcome.clone());
        }
        let asked = self.ask();
        let failure = self.handles.iter().find_map(|handle| handle.failure());
        let outcome = match (failure, asked) {
            (Some(error), _) | (None, Err(error)) => Err(error),
            (None, Ok(true)) => Ok(()),
            (None, Ok(false)) => return None,
        };
        Some(self.outcome.get_or_init(|| outcome).clone())
    }

    fn wakers(&self) -> MutexGuard<'_, Vec<Waker>> {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes who awaits it, if it is over; whether it is.
    fn wake_if_over(&self) -> bool {
        let is_over = self.look().is_some();
        if is_over {
            let wakers = mem::take(&mut *self.wakers());
            wakers.into_iter().for_each(Waker::wake);
        }
        is_over
    }

    /// Blocks until it is over, or until the deadline.
    pub(crate) fn wait_until(&self, deadline: Option<Instant>) -> Result<(), Error> {
        let mut patience = Patience::default();
        loop {
            if let Some(outcome) = self.look() {
                return outcome;
            }
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                let names = self.handles.iter().map(|handle| &*handle.name);
                let names = names.collect::<Vec<_>>().join(", ");
                let on = if names.is_empty() { String::new() } else { format!(" of {names}") };
                let what = format!("work{on} on device {} is not done", self.device.ordinal);
                return Err(Fault::TimedOut { waited: patience.since.elapsed(), what }.into());
            }
            patience.pause(deadline);
        }
    }
}

/// A point as a fence: what can be awaited needs to know itself.
pub(crate) struct Passing {
    pub(crate) point: Arc<Point>,
}

impl Completion for Passing {
    fn is_done(&self, _ticket: u64) -> bool {
        self.point.look().is_some()
    }

    fn wait(&self, _ticket: u64, deadline: Option<Instant>) -> Result<(), Error> {
        self.point.wait_until(deadline)
    }

    fn poll(&self, _ticket: u64, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if let Some(outcome) = self.point.look() {
            return Poll::Ready(outcome);
        }
        let mut wakers = self.point.wakers();
        let is_first = wakers.is_empty();
        if !wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
            wakers.push(cx.waker().clone());
        }
        drop(wakers);
        if is_first {
            // Weakly: a point that nobody can wait for any more need not be looked at.
            let point = Arc::downgrade(&self.point);
            background::wake(move || point.upgrade().is_none_or(|point| point.wake_if_over()));
        }
        Poll::Pending
    }
}

impl Drop for Point {
    fn drop(&mut self) {
        let Ok(_bound) = self.device.bind() else { return };
        // SAFETY: made in `new`, destroyed once; streams that wait for it go on doing so.
        let _ = unsafe { result::event::destroy(self.event) };
    }
}

/// How to wait for a device: spin for a moment, then yield, then sleep longer and longer.
struct Patience {
    since: Instant,
    rounds: u32,
    pause: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { since: Instant::now(), rounds: 0, pause: Duration::from_micros(20) }
    }
}

impl Patience {
    const LONGEST: Duration = Duration::from_millis(1);

    fn pause(&mut self, deadline: Option<Instant>) {
        self.rounds = self.rounds.saturating_add(1);
        match self.rounds {
            0..64 => hint::spin_loop(),
            64..128 => thread::yield_now(),
            _ => {
                let left = deadline.map(|it| it.saturating_duration_since(Instant::now()));
                thread::sleep(left.map_or(self.pause, |left| left.min(self.pause)));
                self.pause = self.pause.saturating_mul(2).min(Self::LONGEST);
            }
        }
    }
}
