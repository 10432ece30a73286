//! The calls that allocate and free.

use std::ffi::{c_uint, c_void};
use std::ptr;
use std::sync::Arc;

use crate::abi::{Answer, CUdeviceptr, CUresult, CUstream, address, answer, device_pointer, put};
use crate::context::Context;
use crate::driver::Driver;
use crate::memory::{Allocation, Home};
use crate::stream::{Work, stream_called};

/// `CU_MEMHOSTALLOC_PORTABLE`, `_DEVICEMAP` and `_WRITECOMBINED`: all the same here.
const HOST_ALLOC_FLAGS: c_uint = 7;

/// Allocates memory that may be used at once.
fn allocate_now(home: Home, bytes: usize) -> Answer<Arc<Allocation>> {
    let context = Context::current()?;
    if bytes == 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    let allocation = Driver::get()?.memory.allocate(&context, home, bytes)?;
    allocation.begin();
    Ok(allocation)
}

/// Frees at once. The real driver may wait for work in flight first, or may not;
/// nothing waits here, so whoever relies on it is told.
fn free_now(home: Home, start: usize) -> Answer {
    Context::current()?;
    let memory = &Driver::get()?.memory;
    let allocation = memory.condemn(start, home)?;
    memory.end(&allocation);
    allocation.context.check()
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemAlloc_v2(pointer: *mut CUdeviceptr, bytes: usize) -> CUresult {
    answer("cuMemAlloc_v2", || {
        if pointer.is_null() {
            return Err(CUresult::INVALID_VALUE);
        }
        let start = allocate_now(Home::Device, bytes)?.start();
        // SAFETY: the caller's pointer, by the contract of this call in `cuda.h`.
        unsafe { put(pointer, device_pointer(start)) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemFree_v2(pointer: CUdeviceptr) -> CUresult {
    answer("cuMemFree_v2", || match address(pointer)? {
        0 => Context::current().map(drop),
        start => free_now(Home::Device, start),
    })
}

/// Nothing to allocate gives a null pointer, which can be freed.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemAllocAsync(
    pointer: *mut CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    answer("cuMemAllocAsync", || {
        let stream = stream_called(stream)?;
        if pointer.is_null() {
            return Err(CUresult::INVALID_VALUE);
        }
        let start = if bytes == 0 {
            0
        } else {
            let memory = &Driver::get()?.memory;
            let allocation = memory.allocate(&stream.context, Home::Device, bytes)?;
            let start = allocation.start();
            stream.submit(Work::Begin(allocation))?;
            start
        };
        // SAFETY: the caller's pointer, by the contract of this call in `cuda.h`.
        unsafe { put(pointer, device_pointer(start)) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemFreeAsync(pointer: CUdeviceptr, stream: CUstream) -> CUresult {
    answer("cuMemFreeAsync", || {
        let stream = stream_called(stream)?;
        match address(pointer)? {
            0 => Ok(()),
            start => {
                let allocation = Driver::get()?.memory.condemn(start, Home::Device)?;
                stream.submit(Work::End(allocation)).map(drop)
            }
        }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemHostAlloc(
    pointer: *mut *mut c_void,
    bytes: usize,
    flags: c_uint,
) -> CUresult {
    answer("cuMemHostAlloc", || {
        if pointer.is_null() || flags & !HOST_ALLOC_FLAGS != 0 {
            return Err(CUresult::INVALID_VALUE);
        }
        let start = allocate_now(Home::Pinned, bytes)?.start();
        // SAFETY: the caller's pointer, by the contract of this call in `cuda.h`.
        unsafe { put(pointer, ptr::with_exposed_provenance_mut(start)) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemFreeHost(pointer: *mut c_void) -> CUresult {
    answer("cuMemFreeHost", || free_now(Home::Pinned, pointer.addr()))
}
