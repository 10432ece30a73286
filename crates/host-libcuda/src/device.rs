//! What a program can ask about a device.

use std::ffi::{c_char, c_int};
use std::slice;

use crate::abi::{Answer, CUdevice, CUresult, CUuuid, answer, put};
use crate::context::Context;
use crate::driver::Driver;

/// The memory that each device says it has, in bytes. It is this process's own.
pub(crate) const TOTAL_BYTES: usize = 8 << 30;

const NAME: &[u8] = b"rankwise host memory";

/// What `cuDeviceGetAttribute` answers, by the numbers of `cuda.h`; zero for the rest.
const ATTRIBUTES: &[(c_int, c_int)] = &[
    (1, 1024), // MAX_THREADS_PER_BLOCK
    (10, 32),  // WARP_SIZE
    (16, 1),   // MULTIPROCESSOR_COUNT
    (31, 1),   // CONCURRENT_KERNELS
    (40, 1),   // ASYNC_ENGINE_COUNT
    (41, 1),   // UNIFIED_ADDRESSING
    (75, 9),   // COMPUTE_CAPABILITY_MAJOR
    (78, 1),   // STREAM_PRIORITIES_SUPPORTED
    (115, 1),  // MEMORY_POOLS_SUPPORTED: there is cuMemAllocAsync
];

/// `CU_DEVICE_ATTRIBUTE_PCI_BUS_ID`: each device on a bus of its own.
const PCI_BUS_ID: c_int = 33;

fn attribute(number: c_int, device: CUdevice) -> Answer<c_int> {
    let listed = ATTRIBUTES.iter().find(|(listed, _)| *listed == number);
    match (listed, number) {
        (Some((_, value)), _) => Ok(*value),
        (None, PCI_BUS_ID) => Ok(device),
        (None, 1..=150) => Ok(0),
        (None, _) => Err(CUresult::INVALID_VALUE),
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> CUresult {
    answer("cuDeviceGetCount", || {
        let devices = Driver::get()?.devices.len();
        let devices = c_int::try_from(devices).map_err(|_| CUresult::UNKNOWN)?;
        // SAFETY: the caller's pointer, by the contract of this call in `cuda.h`.
        unsafe { put(count, devices) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int) -> CUresult {
    answer("cuDeviceGet", || {
        Driver::get()?.device_called(ordinal)?;
        // SAFETY: the caller's pointer, by the contract of this call in `cuda.h`.
        unsafe { put(device, ordinal) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceGetName(
    name: *mut c_char,
    capacity: c_int,
    device: CUdevice,
) -> CUresult {
    answer("cuDeviceGetName", || {
        Driver::get()?.device_called(device)?;
        let capacity = usize::try_from(capacity).map_err(|_| CUresult::INVALID_VALUE)?;
        if name.is_null() || capacity == 0 {
            return Err(CUresult::INVALID_VALUE);
        }
        // SAFETY: the caller has `capacity` bytes there, by the contract of this call.
        let place = unsafe { slice::from_raw_parts_mut(name.cast::<u8>(), capacity) };
        let length = NAME.len().min(capacity - 1);
        place[..length].copy_from_slice(&NAME[..length]);
        place[length] = 0;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceGetAttribute(
    value: *mut c_int,
    number: c_int,
    device: CUdevice,
) -> CUresult {
    answer("cuDeviceGetAttribute", || {
        Driver::get()?.device_called(device)?;
        // SAFETY: the caller's pointer, by the contract of this call in `cuda.h`.
        unsafe { put(value, attribute(number, device)?) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceTotalMem_v2(
    bytes: *mut usize,
    device: CUdevice,
) -> CUresult {
    answer("cuDeviceTotalMem_v2", || {
        Driver::get()?.device_called(device)?;
        // SAFETY: the caller's pointer, by the contract of this call in `cuda.h`.
        unsafe { put(bytes, TOTAL_BYTES) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceGetUuid_v2(
    uuid: *mut CUuuid,
    device: CUdevice,
) -> CUresult {
    answer("cuDeviceGetUuid_v2", || {
        Driver::get()?.device_called(device)?;
        let mut bytes = *b"rankwise-host-00";
        let ordinal = u8::try_from(device).map_err(|_| CUresult::INVALID_DEVICE)?;
        bytes[14] += ordinal / 10;
        bytes[15] += ordinal % 10;
        // SAFETY: the caller's pointer, by the contract of this call in `cuda.h`.
        unsafe { put(uuid, CUuuid { bytes }) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceGetUuid(uuid: *mut CUuuid, device: CUdevice) -> CUresult {
    answer("cuDeviceGetUuid", || {
        // SAFETY: one contract.
        unsafe { cuDeviceGetUuid_v2(uuid, device) }.answer()
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> CUresult {
    answer("cuMemGetInfo_v2", || {
        let used = Context::current()?.used_bytes();
        // SAFETY: the caller's pointers, by the contract of this call in `cuda.h`.
        unsafe {
            put(free, TOTAL_BYTES.saturating_sub(used))?;
            put(total, TOTAL_BYTES)
        }
    })
}

/// There is no code here to run, hence no module, hence no valid handle of one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuModuleUnload(_: *mut std::ffi::c_void) -> CUresult {
    answer("cuModuleUnload", || Driver::get().and(Err(CUresult::INVALID_HANDLE)))
}
