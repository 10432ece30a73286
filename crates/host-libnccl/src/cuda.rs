//! What is needed of the driver: found where the program has loaded it.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::sync::OnceLock;

use nccl_sys::{cudaEvent_t, cudaStream_t, ncclResult_t};

use crate::error::{Answer, refuse};

type LaunchHostFunc =
    unsafe extern "C" fn(cudaStream_t, unsafe extern "C" fn(*mut c_void), *mut c_void) -> c_uint;
type CtxGetDevice = unsafe extern "C" fn(*mut c_int) -> c_uint;
type DeviceGetCount = unsafe extern "C" fn(*mut c_int) -> c_uint;
type PointerGetAttribute = unsafe extern "C" fn(*mut c_void, c_int, c_ulonglong) -> c_uint;
type EventRecord = unsafe extern "C" fn(cudaEvent_t, cudaStream_t) -> c_uint;
type MemAlloc = unsafe extern "C" fn(*mut c_ulonglong, usize) -> c_uint;
type MemFree = unsafe extern "C" fn(c_ulonglong) -> c_uint;

/// Functions of the driver.
struct Driver {
    launch_host_func: LaunchHostFunc,
    ctx_get_device: CtxGetDevice,
    device_get_count: DeviceGetCount,
    pointer_get_attribute: PointerGetAttribute,
    event_record: EventRecord,
    mem_alloc: MemAlloc,
    mem_free: MemFree,
}

fn driver() -> Answer<&'static Driver> {
    static DRIVER: OnceLock<Option<Driver>> = OnceLock::new();
    let found = DRIVER.get_or_init(find).as_ref();
    found.map_or_else(
        || refuse(ncclResult_t::ncclUnhandledCudaError, "no CUDA driver has been loaded"),
        Ok,
    )
}

#[cfg(unix)]
fn find() -> Option<Driver> {
    use libloading::os::unix::{Library, RTLD_LAZY};

    let names = ["libcuda.so", "libcuda.so.1"];
    let library = names.into_iter().find_map(|name| {
        // SAFETY: if the program uses CUDA it is loaded already, and this only finds it;
        // if not, its initialisers are those of a driver.
        unsafe { Library::open(Some(name), RTLD_LAZY) }.ok()
    })?;
    // SAFETY: the types are those of `cuda.h`.
    let driver = unsafe {
        Driver {
            launch_host_func: *library.get(b"cuLaunchHostFunc\0").ok()?,
            ctx_get_device: *library.get(b"cuCtxGetDevice\0").ok()?,
            device_get_count: *library.get(b"cuDeviceGetCount\0").ok()?,
            pointer_get_attribute: *library.get(b"cuPointerGetAttribute\0").ok()?,
            event_record: *library.get(b"cuEventRecord\0").ok()?,
            mem_alloc: *library.get(b"cuMemAlloc_v2\0").ok()?,
            mem_free: *library.get(b"cuMemFree_v2\0").ok()?,
        }
    };
    // For good: the functions are used until the process ends.
    std::mem::forget(library);
    Some(driver)
}

#[cfg(not(unix))]
fn find() -> Option<Driver> {
    None
}

fn check(what: &str, code: c_uint) -> Answer {
    if code == 0 {
        return Ok(());
    }
    let why = format!("Cuda failure {code} in {what}");
    refuse(ncclResult_t::ncclUnhandledCudaError, why)
}

/// Has a stream call a function.
///
/// # Safety
///
/// The function may be called with `data`, once, on another thread, at any time after
/// this call has begun.
pub(crate) unsafe fn launch(
    stream: cudaStream_t,
    function: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
) -> Answer {
    let driver = driver()?;
    // SAFETY: by this function's contract; the driver looks the stream up.
    check("cuLaunchHostFunc", unsafe { (driver.launch_host_func)(stream, function, data) })
}

/// Has a stream say that it has come here.
pub(crate) fn record(event: cudaEvent_t, stream: cudaStream_t) -> Answer {
    let driver = driver()?;
    // SAFETY: the driver looks both up.
    check("cuEventRecord", unsafe { (driver.event_record)(event, stream) })
}

/// Memory of the current device.
pub(crate) fn allocate(bytes: usize) -> Answer<usize> {
    let driver = driver()?;
    let mut start: c_ulonglong = 0;
    // SAFETY: `start` may be written.
    check("cuMemAlloc", unsafe { (driver.mem_alloc)(&raw mut start, bytes) })?;
    usize::try_from(start).map_err(|_| ncclResult_t::ncclInternalError)
}

/// Frees it.
pub(crate) fn free(start: usize) -> Answer {
    let driver = driver()?;
    // SAFETY: the driver looks the address up. That nothing uses the memory any more is
    // the caller's promise, by the contract of `ncclMemFree`.
    check("cuMemFree", unsafe { (driver.mem_free)(start as c_ulonglong) })
}

/// The device that is current on this thread.
pub(crate) fn current_device() -> Answer<i32> {
    let driver = driver()?;
    let mut device = 0;
    // SAFETY: `device` may be written.
    check("cuCtxGetDevice", unsafe { (driver.ctx_get_device)(&raw mut device) })?;
    Ok(device)
}

/// How many devices there are.
pub(crate) fn devices() -> Answer<i32> {
    let driver = driver()?;
    let mut count = 0;
    // SAFETY: `count` may be written.
    check("cuDeviceGetCount", unsafe { (driver.device_get_count)(&raw mut count) })?;
    Ok(count)
}

/// Whether so many bytes from an address on belong to one allocation of the device.
pub(crate) fn check_span(what: &str, address: usize, bytes: usize, device: i32) -> Answer {
    /// Numbers of `CUpointer_attribute`.
    const ORDINAL: c_int = 9;
    const RANGE_START: c_int = 11;
    const RANGE_BYTES: c_int = 12;

    let driver = driver()?;
    let mut ordinal: c_int = -1;
    let mut start: c_ulonglong = 0;
    let mut length: usize = 0;
    let ask = |place: *mut c_void, attribute| {
        // SAFETY: each place has the type that the attribute is written as; the driver
        // looks the address up and does not follow it.
        unsafe { (driver.pointer_get_attribute)(place, attribute, address as c_ulonglong) }
    };
    let codes = [
        ask((&raw mut ordinal).cast(), ORDINAL),
        ask((&raw mut start).cast(), RANGE_START),
        ask((&raw mut length).cast(), RANGE_BYTES),
    ];
    let invalid = ncclResult_t::ncclInvalidArgument;
    if codes != [0; 3] {
        return refuse(invalid, format_args!("{what} {address:#x} is not a valid pointer"));
    }
    if ordinal != device {
        let why = format!(
            "{what} {address:#x} allocated on device {ordinal} mismatchs with NCCL device {device}"
        );
        return refuse(invalid, why);
    }
    let offset = (address as c_ulonglong).checked_sub(start);
    let offset = offset.and_then(|offset| usize::try_from(offset).ok());
    let left = offset.and_then(|offset| length.checked_sub(offset));
    match left {
        Some(left) if left >= bytes => Ok(()),
        _ => refuse(
            invalid,
            format_args!(
                "{what} {address:#x} has {} bytes, the call needs {bytes}",
                left.unwrap_or(0)
            ),
        ),
    }
}
