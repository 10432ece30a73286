//! Devices' primary contexts, and which one a thread has current.
//!
//! A device has one primary context at a time and one handle for all of them, as
//! with the real driver: who kept the handle over a release and a new retain goes
//! on with the new context, but nothing made in the old one is valid any longer.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_uint;
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread::{self, ThreadId};

use crate::abi::{Answer, CUcontext, CUdevice, CUresult, answer, put};
use crate::driver::Driver;
use crate::lock::lock;
use crate::report;
use crate::stream::{Order, Stream};

/// The handle of device 0's context; the others follow.
const FIRST_HANDLE: usize = 0x7_0000_0000;
const STRIDE: usize = 0x10;

thread_local! {
    /// The contexts pushed on this thread, the current one last.
    static PUSHED: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
}

/// A device, whether it has a context or not.
pub(crate) struct Device {
    pub(crate) ordinal: u32,
    primary: Mutex<Primary>,
}

#[derive(Default)]
struct Primary {
    context: Option<Arc<Context>>,
    retained: usize,
}

impl Device {
    pub(crate) fn new(ordinal: u32) -> Self {
        Self { ordinal, primary: Mutex::default() }
    }

    /// The context that is alive on this device.
    fn context(&self) -> Answer<Arc<Context>> {
        lock(&self.primary).context.clone().ok_or(CUresult::CONTEXT_IS_DESTROYED)
    }

    fn retain(&self) {
        let mut primary = lock(&self.primary);
        primary.retained += 1;
        primary.context.get_or_insert_with(|| Arc::new(Context::new(self.ordinal)));
    }

    fn release(&self, driver: &Driver) -> Answer {
        let mut primary = lock(&self.primary);
        primary.retained = primary.retained.checked_sub(1).ok_or(CUresult::INVALID_CONTEXT)?;
        let ended = if primary.retained == 0 { primary.context.take() } else { None };
        drop(primary);
        if let Some(context) = ended {
            context.end(driver);
        }
        Ok(())
    }
}

/// One life of a device's primary context.
pub(crate) struct Context {
    pub(crate) ordinal: u32,
    /// Bytes of device memory in use.
    pub(crate) used: AtomicUsize,
    /// The first thing that went wrong in a stream. It stays.
    fault: OnceLock<CUresult>,
    /// Every stream that may still have work, destroyed ones included.
    streams: Mutex<Vec<Weak<Stream>>>,
    legacy: Mutex<Option<Arc<Stream>>>,
    per_thread: Mutex<HashMap<ThreadId, Arc<Stream>>>,
}

impl Context {
    pub(crate) fn new(ordinal: u32) -> Self {
        Self {
            ordinal,
            used: AtomicUsize::new(0),
            fault: OnceLock::new(),
            streams: Mutex::default(),
            legacy: Mutex::default(),
            per_thread: Mutex::default(),
        }
    }

    /// The context that this thread has current, if nothing has gone wrong in it.
    pub(crate) fn current() -> Answer<Arc<Self>> {
        let driver = Driver::get()?;
        let ordinal = current_ordinal().ok_or(CUresult::INVALID_CONTEXT)?;
        let context = driver.device(ordinal)?.context()?;
        context.check()?;
        Ok(context)
    }

    /// The handle of this device's contexts.
    pub(crate) fn handle(&self) -> CUcontext {
        handle_of(self.ordinal)
    }

    /// Bytes of device memory in use.
    pub(crate) fn used_bytes(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// What went wrong, if anything did.
    pub(crate) fn check(&self) -> Answer {
        self.fault.get().map_or(Ok(()), |code| Err(*code))
    }

    /// Something went wrong in a stream: every later call in this context says so.
    pub(crate) fn fail(&self, code: CUresult, why: impl fmt::Display) {
        if self.fault.set(code).is_ok() {
            report::say(format_args!("device {}: {why}", self.ordinal));
        }
    }

    /// Takes note of a new stream.
    pub(crate) fn adopt(&self, stream: &Arc<Stream>) {
        let mut streams = lock(&self.streams);
        streams.retain(|stream| stream.strong_count() > 0);
        streams.push(Arc::downgrade(stream));
    }

    /// Every stream that may still have work.
    pub(crate) fn streams(&self) -> Vec<Arc<Stream>> {
        lock(&self.streams).iter().filter_map(Weak::upgrade).collect()
    }

    /// The null stream.
    pub(crate) fn legacy_stream(self: &Arc<Self>) -> Arc<Stream> {
        let mut legacy = lock(&self.legacy);
        legacy.get_or_insert_with(|| Stream::new(self, Order::Legacy, 0)).clone()
    }

    /// The null stream, if it has ever been used.
    pub(crate) fn used_legacy_stream(&self) -> Option<Arc<Stream>> {
        lock(&self.legacy).clone()
    }

    /// The default stream of the calling thread.
    pub(crate) fn stream_of_this_thread(self: &Arc<Self>) -> Arc<Stream> {
        let mut streams = lock(&self.per_thread);
        let stream = streams.entry(thread::current().id());
        stream.or_insert_with(|| Stream::new(self, Order::Blocking, 0)).clone()
    }

    /// Nothing made in this context is valid any longer; work in flight goes on.
    fn end(self: &Arc<Self>, driver: &Driver) {
        driver.streams.retain(|stream| !Arc::ptr_eq(&stream.context, self));
        driver.events.retain(|event| !Arc::ptr_eq(&event.context, self));
        self.streams().iter().for_each(|stream| stream.close());
        lock(&self.legacy).take();
        lock(&self.per_thread).clear();
        driver.memory.end_context(self);
    }
}

fn current_ordinal() -> Option<u32> {
    PUSHED.with_borrow(|pushed| pushed.last().copied())
}

fn handle_of(ordinal: u32) -> CUcontext {
    ptr::without_provenance_mut(FIRST_HANDLE + STRIDE * ordinal as usize)
}

impl Driver {
    /// The device with this ordinal.
    pub(crate) fn device(&self, ordinal: u32) -> Answer<&Device> {
        self.devices.get(ordinal as usize).ok_or(CUresult::INVALID_DEVICE)
    }

    /// The device that a caller means.
    pub(crate) fn device_called(&self, device: CUdevice) -> Answer<&Device> {
        self.device(u32::try_from(device).map_err(|_| CUresult::INVALID_DEVICE)?)
    }

    /// The device whose context a handle names.
    pub(crate) fn device_of(&self, context: CUcontext) -> Answer<&Device> {
        self.devices
            .iter()
            .find(|device| handle_of(device.ordinal) == context)
            .ok_or(CUresult::INVALID_CONTEXT)
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDevicePrimaryCtxRetain(
    context: *mut CUcontext,
    device: CUdevice,
) -> CUresult {
    answer("cuDevicePrimaryCtxRetain", || {
        let device = Driver::get()?.device_called(device)?;
        // SAFETY: the caller's pointer, by the contract of this call in `cuda.h`.
        unsafe { put(context, handle_of(device.ordinal)) }?;
        device.retain();
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDevicePrimaryCtxRelease_v2(device: CUdevice) -> CUresult {
    answer("cuDevicePrimaryCtxRelease_v2", || {
        let driver = Driver::get()?;
        driver.device_called(device)?.release(driver)
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuCtxGetCurrent(context: *mut CUcontext) -> CUresult {
    answer("cuCtxGetCurrent", || {
        Driver::get()?;
        let current = current_ordinal().map_or(ptr::null_mut(), handle_of);
        // SAFETY: the caller's pointer, by the contract of this call in `cuda.h`.
        unsafe { put(context, current) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuCtxSetCurrent(context: CUcontext) -> CUresult {
    answer("cuCtxSetCurrent", || {
        let driver = Driver::get()?;
        let next = if context.is_null() { None } else { Some(alive(driver, context)?) };
        PUSHED.with_borrow_mut(|pushed| {
            pushed.pop();
            pushed.extend(next);
        });
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuCtxPushCurrent_v2(context: CUcontext) -> CUresult {
    answer("cuCtxPushCurrent_v2", || {
        let ordinal = alive(Driver::get()?, context)?;
        PUSHED.with_borrow_mut(|pushed| pushed.push(ordinal));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuCtxPopCurrent_v2(context: *mut CUcontext) -> CUresult {
    answer("cuCtxPopCurrent_v2", || {
        Driver::get()?;
        let popped = PUSHED.with_borrow_mut(Vec::pop).ok_or(CUresult::INVALID_CONTEXT)?;
        // SAFETY: the caller's pointer; this one may be null.
        if context.is_null() { Ok(()) } else { unsafe { put(context, handle_of(popped)) } }
    })
}

/// The ordinal of a context that may become current.
fn alive(driver: &Driver, context: CUcontext) -> Answer<u32> {
    Ok(driver.device_of(context)?.context()?.ordinal)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuCtxGetDevice(device: *mut CUdevice) -> CUresult {
    answer("cuCtxGetDevice", || {
        let ordinal = Context::current()?.ordinal;
        // SAFETY: the caller's pointer, by the contract of this call in `cuda.h`.
        unsafe { put(device, ordinal.cast_signed()) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuCtxSynchronize() -> CUresult {
    answer("cuCtxSynchronize", || {
        let context = Context::current()?;
        let all: Vec<_> = context.streams().into_iter().map(|s| (s.submitted(), s)).collect();
        for (ticket, stream) in all {
            stream.wait_for(ticket);
        }
        context.check()
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuCtxSetFlags(flags: c_uint) -> CUresult {
    answer("cuCtxSetFlags", || {
        // The flags of `CUctx_flags`; how a host thread waits is all they say here.
        Context::current()?;
        if flags & !0xff == 0 { Ok(()) } else { Err(CUresult::INVALID_VALUE) }
    })
}
