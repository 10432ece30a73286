//! Streams: work in order, each on a thread of its own.
//!
//! A host function may block for as long as it likes: it holds up its own stream
//! and whoever waits for that, and nobody else.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use crate::abi::{Answer, CUcontext, CUevent, CUhostFn, CUresult, CUstream, answer, put};
use crate::context::Context;
use crate::driver::Driver;
use crate::lock::{lock, wait_until};
use crate::settings::Pauses;
use crate::work::HostFunction;

pub(crate) use crate::work::Work;

/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: c_uint = 1;

/// The lowest and the highest priority. They are kept, and mean nothing here: a
/// priority is a hint, and no program may rely on it.
const LEAST_PRIORITY: c_int = 0;
const GREATEST_PRIORITY: c_int = -5;

/// Streams are numbered, so that each dawdles in its own way.
static MADE: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static IS_A_STREAMS: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is a stream's, so that who calls is a host function.
pub(crate) fn is_in_host_function() -> bool {
    IS_A_STREAMS.get()
}

/// How a stream stands to the null stream of its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// It is the null stream: it waits for all blocking ones, and they wait for it.
    Legacy,
    /// It waits for the null stream and is waited for.
    Blocking,
    /// It goes its own way.
    NonBlocking,
}

/// A stream.
pub(crate) struct Stream {
    pub(crate) context: Arc<Context>,
    order: Order,
    priority: c_int,
    /// Where its pauses start.
    number: u64,
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Work>,
    submitted: u64,
    done: u64,
    has_thread: bool,
    is_closed: bool,
}

impl Stream {
    pub(crate) fn new(context: &Arc<Context>, order: Order, priority: c_int) -> Arc<Self> {
        let stream = Arc::new(Self {
            context: Arc::clone(context),
            order,
            priority,
            number: MADE.fetch_add(1, Ordering::Relaxed),
            queue: Mutex::default(),
            changed: Condvar::new(),
        });
        context.adopt(&stream);
        stream
    }

    /// Adds work behind all that there is. The ticket says when it is done.
    pub(crate) fn submit(self: &Arc<Self>, work: Work) -> Answer<u64> {
        let before = self.implicitly_before();
        let mut queue = lock(&self.queue);
        if !queue.has_thread {
            let stream = Arc::clone(self);
            let pauses = Pauses::of_stream(Driver::get()?.seed, self.number);
            let thread = thread::Builder::new().name("host-libcuda".to_owned());
            thread.spawn(move || stream.run(pauses)).map_err(|_| CUresult::OUT_OF_MEMORY)?;
            queue.has_thread = true;
        }
        for work in before.into_iter().chain([work]) {
            queue.waiting.push_back(work);
            queue.submitted += 1;
        }
        self.changed.notify_all();
        Ok(queue.submitted)
    }

    /// The waits that the null stream brings about.
    fn implicitly_before(&self) -> Vec<Work> {
        let others = match self.order {
            Order::Legacy => {
                let mut streams = self.context.streams();
                streams.retain(|stream| stream.order == Order::Blocking);
                streams
            }
            Order::Blocking => self.context.used_legacy_stream().into_iter().collect(),
            Order::NonBlocking => Vec::new(),
        };
        let busy = others.into_iter().filter(|stream| !stream.is_idle());
        busy.map(|stream| (stream.submitted(), stream))
            .map(|(ticket, stream)| Work::Behind(stream, ticket))
            .collect()
    }

    /// The ticket of the last work.
    pub(crate) fn submitted(&self) -> u64 {
        lock(&self.queue).submitted
    }

    fn is_idle(&self) -> bool {
        let queue = lock(&self.queue);
        queue.done == queue.submitted
    }

    /// Blocks until the work with this ticket, and so all before it, is done.
    pub(crate) fn wait_for(&self, ticket: u64) {
        drop(wait_until(&self.changed, lock(&self.queue), |queue| queue.done >= ticket));
    }

    /// Adds work and blocks until it is done.
    pub(crate) fn submit_and_wait(self: &Arc<Self>, work: Work) -> Answer {
        let ticket = self.submit(work)?;
        self.wait_for(ticket);
        self.context.check()
    }

    /// Blocks until all that there is now is done.
    fn synchronize(self: &Arc<Self>) -> Answer {
        if self.order == Order::Legacy {
            // What it waits for has no ticket of its own yet.
            return self.submit_and_wait(Work::Nothing);
        }
        self.wait_for(self.submitted());
        self.context.check()
    }

    /// The thread ends once the work is done.
    pub(crate) fn close(&self) {
        lock(&self.queue).is_closed = true;
        self.changed.notify_all();
    }

    fn run(&self, mut pauses: Pauses) {
        IS_A_STREAMS.set(true);
        while let Some(work) = self.next() {
            pauses.next().take();
            work.perform(&self.context, pauses.next());
            lock(&self.queue).done += 1;
            self.changed.notify_all();
        }
    }

    fn next(&self) -> Option<Work> {
        let mut queue = wait_until(&self.changed, lock(&self.queue), |queue| {
            queue.is_closed || !queue.waiting.is_empty()
        });
        queue.waiting.pop_front()
    }
}

/// The stream that a caller means, if nothing has gone wrong where it lives.
pub(crate) fn stream_called(stream: CUstream) -> Answer<Arc<Stream>> {
    let driver = Driver::get()?;
    let stream = match stream.addr() {
        // Null and `CU_STREAM_LEGACY`; then `CU_STREAM_PER_THREAD`.
        0 | 1 => Context::current()?.legacy_stream(),
        2 => Context::current()?.stream_of_this_thread(),
        _ => driver.streams.get(stream)?,
    };
    stream.context.check()?;
    Ok(stream)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuStreamCreate(stream: *mut CUstream, flags: c_uint) -> CUresult {
    answer("cuStreamCreate", || {
        // SAFETY: one contract.
        unsafe { cuStreamCreateWithPriority(stream, flags, LEAST_PRIORITY) }.answer()
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuStreamCreateWithPriority(
    stream: *mut CUstream,
    flags: c_uint,
    priority: c_int,
) -> CUresult {
    answer("cuStreamCreateWithPriority", || {
        let context = Context::current()?;
        let order = match flags {
            0 => Order::Blocking,
            NON_BLOCKING => Order::NonBlocking,
            _ => return Err(CUresult::INVALID_VALUE),
        };
        if stream.is_null() {
            return Err(CUresult::INVALID_VALUE);
        }
        let driver = Driver::get()?;
        let priority = priority.clamp(GREATEST_PRIORITY, LEAST_PRIORITY);
        let made = Stream::new(&context, order, priority);
        // SAFETY: the caller's pointer, by the contract of this call in `cuda.h`.
        unsafe { put(stream, driver.streams.issue(made)) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuStreamDestroy_v2(stream: CUstream) -> CUresult {
    // Returns at once; the work that is queued is still done.
    answer("cuStreamDestroy_v2", || {
        Driver::get()?.streams.take(stream).map(|stream| stream.close())
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuStreamSynchronize(stream: CUstream) -> CUresult {
    answer("cuStreamSynchronize", || stream_called(stream)?.synchronize())
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuStreamQuery(stream: CUstream) -> CUresult {
    answer("cuStreamQuery", || {
        let is_idle = stream_called(stream)?.is_idle();
        if is_idle { Ok(()) } else { Err(CUresult::NOT_READY) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuStreamWaitEvent(
    stream: CUstream,
    event: CUevent,
    flags: c_uint,
) -> CUresult {
    answer("cuStreamWaitEvent", || {
        let stream = stream_called(stream)?;
        let event = Driver::get()?.events.get(event)?;
        if flags != 0 {
            return Err(CUresult::INVALID_VALUE);
        }
        // An event that was never recorded holds nobody up.
        match event.recording() {
            Some(recording) => stream.submit(Work::Wait(recording)).map(drop),
            None => Ok(()),
        }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuStreamGetCtx(
    stream: CUstream,
    context: *mut CUcontext,
) -> CUresult {
    answer("cuStreamGetCtx", || {
        let handle = stream_called(stream)?.context.handle();
        // SAFETY: the caller's pointer, by the contract of this call in `cuda.h`.
        unsafe { put(context, handle) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuStreamGetPriority(
    stream: CUstream,
    priority: *mut c_int,
) -> CUresult {
    answer("cuStreamGetPriority", || {
        let kept = stream_called(stream)?.priority;
        // SAFETY: the caller's pointer, by the contract of this call in `cuda.h`.
        unsafe { put(priority, kept) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuCtxGetStreamPriorityRange(
    least: *mut c_int,
    greatest: *mut c_int,
) -> CUresult {
    answer("cuCtxGetStreamPriorityRange", || {
        Context::current()?;
        for (place, value) in [(least, LEAST_PRIORITY), (greatest, GREATEST_PRIORITY)] {
            if !place.is_null() {
                // SAFETY: the caller's pointer, by the contract of this call; not null.
                unsafe { put(place, value) }?;
            }
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuLaunchHostFunc(
    stream: CUstream,
    function: CUhostFn,
    data: *mut c_void,
) -> CUresult {
    answer("cuLaunchHostFunc", || {
        let stream = stream_called(stream)?;
        let function = function.ok_or(CUresult::INVALID_VALUE)?;
        // SAFETY: the caller gives the function away for just that.
        let function = unsafe { HostFunction::new(function, data) };
        stream.submit(Work::Call(function)).map(drop)
    })
}
