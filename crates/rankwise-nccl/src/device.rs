//! The devices of this process, and making one current.

use std::collections::BTreeMap;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use cudarc::driver::result;
use cudarc::driver::sys::{CUcontext, CUdevice, CUdevice_attribute};
use rankwise_comm::{DeviceOrdinal, Error, Fault};

use crate::driver::{self, check};

/// What can be told of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Its number in this process, as `CUDA_VISIBLE_DEVICES` leaves it.
    pub ordinal: DeviceOrdinal,
    /// The driver's name for the model.
    pub name: String,
    /// Its compute capability: major, minor.
    pub compute_capability: (u32, u32),
    /// Its memory, in bytes.
    pub memory_bytes: u64,
}

/// A device that is in use, with its primary context.
///
/// There is one per device, kept until the process ends, as is the context: streams,
/// events and memory may be given back at any time, by any thread.
pub(crate) struct Device {
    pub(crate) ordinal: DeviceOrdinal,
    pub(crate) compute_capability: (u32, u32),
    context: CUcontext,
}

// SAFETY: a context is not bound to the thread that retained it, and the driver locks
// what it does with one. The handle stays valid: it is never released.
unsafe impl Send for Device {}
// SAFETY: as above; a shared device gives its handle to the driver and to nobody else.
unsafe impl Sync for Device {}

impl Device {
    /// The device, whose context is made if this is the first use of it.
    pub(crate) fn open(ordinal: DeviceOrdinal) -> Result<&'static Self, Error> {
        static OPEN: Mutex<BTreeMap<u32, &'static Device>> = Mutex::new(BTreeMap::new());
        driver::load()?;
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(device) = open.get(&ordinal.0) {
            return Ok(*device);
        }
        let raw = find(ordinal)?;
        let compute_capability = compute_capability(raw)?;
        // SAFETY: `raw` comes from the driver.
        let context =
            check("cuDevicePrimaryCtxRetain", unsafe { result::primary_ctx::retain(raw) })?;
        let device: &'static Self =
            Box::leak(Box::new(Self { ordinal, compute_capability, context }));
        open.insert(ordinal.0, device);
        Ok(device)
    }

    /// Makes the device current on this thread; what was current is so again when the
    /// answer is dropped.
    pub(crate) fn bind(&self) -> Result<Bound, Error> {
        let before = check("cuCtxGetCurrent", result::ctx::get_current())?;
        if before == Some(self.context) {
            return Ok(Bound { before: None });
        }
        // SAFETY: the context is retained for good.
        check("cuCtxSetCurrent", unsafe { result::ctx::set_current(self.context) })?;
        Ok(Bound { before: Some(before.unwrap_or(ptr::null_mut())) })
    }
}

/// A device that is current on this thread. Nothing depends on its being dropped: who
/// leaks it leaves the device current, no more.
pub(crate) struct Bound {
    /// What was current before, if that was another: a pointer, so it stays on its thread.
    before: Option<CUcontext>,
}

impl Drop for Bound {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // SAFETY: it was current on this thread, or there was none; if it has been
            // destroyed since, the driver says so, and then none is current.
            let _ = unsafe { result::ctx::set_current(before) };
        }
    }
}

/// The devices that the driver shows to this process.
pub(crate) fn list() -> Result<Vec<DeviceInfo>, Error> {
    driver::load()?;
    let count = check("cuDeviceGetCount", result::device::get_count())?;
    (0..u32::try_from(count).unwrap_or(0))
        .map(|ordinal| {
            let ordinal = DeviceOrdinal(ordinal);
            let raw = find(ordinal)?;
            // SAFETY: `raw` comes from the driver.
            let bytes = check("cuDeviceTotalMem", unsafe { result::device::total_mem(raw) })?;
            Ok(DeviceInfo {
                ordinal,
                name: check("cuDeviceGetName", result::device::get_name(raw))?,
                compute_capability: compute_capability(raw)?,
                memory_bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
            })
        })
        .collect()
}

fn find(ordinal: DeviceOrdinal) -> Result<CUdevice, Error> {
    let count = check("cuDeviceGetCount", result::device::get_count())?;
    match i32::try_from(ordinal.0) {
        Ok(number) if number < count => check("cuDeviceGet", result::device::get(number)),
        _ => {
            let found = format!("device {ordinal}");
            let needed = format!("one of the {count} devices that the driver shows");
            Err(Fault::Foreign { found, needed }.into())
        }
    }
}

fn compute_capability(raw: CUdevice) -> Result<(u32, u32), Error> {
    let ask = |attribute| {
        // SAFETY: the device comes from the driver.
        let found = unsafe { result::device::get_attribute(raw, attribute) };
        Ok::<_, Error>(check("cuDeviceGetAttribute", found)?.unsigned_abs())
    };
    Ok((
        ask(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        ask(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
    ))
}
