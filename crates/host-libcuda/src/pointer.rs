//! What a program can ask about an address.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

use crate::abi::{Answer, CUcontext, CUdeviceptr, CUresult, address, answer, device_pointer, put};
use crate::driver::Driver;
use crate::memory::Home;

/// # Safety
///
/// `data` is null or valid for writing what the attribute is.
unsafe fn attribute(data: *mut c_void, number: c_int, pointer: CUdeviceptr) -> Answer {
    let found = Driver::get()?.memory.find(address(pointer)?)?;
    let allocation = found.ok_or(CUresult::INVALID_VALUE)?;
    let is_pinned = allocation.home == Home::Pinned;
    let start = device_pointer(allocation.start());
    // SAFETY: in each arm `data` has room for the type that `cuda.h` gives for the
    // attribute, by this function's contract.
    unsafe {
        match number {
            // CONTEXT
            1 => put(data.cast::<CUcontext>(), allocation.context.handle()),
            // MEMORY_TYPE: host is 1, device is 2
            2 => put(data.cast::<c_uint>(), if is_pinned { 1 } else { 2 }),
            // DEVICE_POINTER
            3 => put(data.cast::<CUdeviceptr>(), pointer),
            // HOST_POINTER
            4 if is_pinned => put(data.cast::<CUdeviceptr>(), pointer),
            // BUFFER_ID
            7 => put(data.cast::<c_ulonglong>(), allocation.id),
            // IS_MANAGED
            8 => put(data.cast::<bool>(), false),
            // DEVICE_ORDINAL
            9 => put(data.cast::<c_int>(), allocation.context.ordinal.cast_signed()),
            // RANGE_START_ADDR
            11 => put(data.cast::<CUdeviceptr>(), start),
            // RANGE_SIZE
            12 => put(data.cast::<usize>(), allocation.bytes()),
            // MAPPED
            13 => put(data.cast::<bool>(), true),
            5 | 6 | 10 | 14..=22 => Err(CUresult::NOT_SUPPORTED),
            _ => Err(CUresult::INVALID_VALUE),
        }
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuPointerGetAttribute(
    data: *mut c_void,
    number: c_int,
    pointer: CUdeviceptr,
) -> CUresult {
    // SAFETY: the caller's pointer, by the contract of this call in `cuda.h`.
    answer("cuPointerGetAttribute", || unsafe { attribute(data, number, pointer) })
}
