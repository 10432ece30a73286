//! The calls that copy and fill.
//!
//! What a caller may rely on, and no more: pageable memory has been read when a copy
//! from it returns, and has been written when a copy into it returns; pinned memory
//! is in use until the stream has come past the copy.

use std::ffi::{c_uchar, c_void};
use std::ptr;
use std::slice;
use std::sync::Arc;

use crate::abi::{Answer, CUcontext, CUdeviceptr, CUresult, CUstream, address, answer};
use crate::driver::Driver;
use crate::memory::{Home, Span};
use crate::stream::{Stream, Work, stream_called};
use crate::work::{Copy, Place};

/// One end of a copy.
enum End {
    Known(Span),
    Pageable(usize),
}

/// Whether the call returns before the copy is done, where that can be chosen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Return {
    AtOnce,
    WhenDone,
}

/// Device memory.
fn device(pointer: CUdeviceptr, bytes: usize) -> Answer<Span> {
    let span = Driver::get()?.memory.span(address(pointer)?, bytes)?;
    span.filter(|span| span.allocation.home == Home::Device).ok_or(CUresult::INVALID_VALUE)
}

/// Host memory, pinned or not, but no device's.
fn host(pointer: *const c_void, bytes: usize) -> Answer<End> {
    if pointer.is_null() {
        return Err(CUresult::INVALID_VALUE);
    }
    match any(pointer.expose_provenance(), bytes)? {
        End::Known(span) if span.allocation.home == Home::Device => Err(CUresult::INVALID_VALUE),
        end => Ok(end),
    }
}

/// Any memory. What the driver has never heard of is taken for pageable.
fn any(address: usize, bytes: usize) -> Answer<End> {
    let span = Driver::get()?.memory.span(address, bytes)?;
    Ok(span.map_or(End::Pageable(address), End::Known))
}

/// Copies, in stream order.
///
/// # Safety
///
/// A pageable end is valid for so many bytes, for writing if it is `into`, and is used
/// by nobody else during this call.
unsafe fn copy(
    stream: &Arc<Stream>,
    from: End,
    into: End,
    bytes: usize,
    returns: Return,
) -> Answer {
    let mut returns = returns;
    let from = match (from, &into) {
        (End::Known(from), End::Known(into)) if from.overlaps(into) => {
            return Err(CUresult::INVALID_VALUE);
        }
        // No copy that a driver is needed for; more likely a wild device pointer.
        (End::Pageable(_), End::Pageable(_)) => return Err(CUresult::INVALID_VALUE),
        (End::Known(span), _) => Place::Known(span),
        (End::Pageable(address), End::Known(_)) => {
            // SAFETY: valid by this function's contract.
            let source = unsafe {
                slice::from_raw_parts(ptr::with_exposed_provenance::<u8>(address), bytes)
            };
            Place::Staged(source.to_vec())
        }
    };
    let into = match into {
        End::Known(span) => Place::Known(span),
        End::Pageable(address) => {
            returns = Return::WhenDone;
            Place::Callers(address)
        }
    };
    // SAFETY: spans and the staged copy are `bytes` long. Spans were just seen not to
    // overlap; the others are each no driver's memory, and one of the ends is a span.
    // The caller's place is valid by contract, and we wait for the work before we return.
    let work = Work::Copy(unsafe { Copy::new(from, into, bytes) });
    match returns {
        Return::AtOnce => stream.submit(work).map(drop),
        Return::WhenDone => stream.submit_and_wait(work),
    }
}

fn fill(stream: CUstream, pointer: CUdeviceptr, value: u8, bytes: usize) -> Answer {
    let stream = stream_called(stream)?;
    if bytes == 0 {
        return Ok(());
    }
    stream.submit(Work::Fill(device(pointer, bytes)?, value)).map(drop)
}

/// The body of a copy: nothing is nothing, wherever it points.
///
/// # Safety
///
/// As for [`copy`], of the ends that `ends` finds.
unsafe fn copy_on(
    symbol: &str,
    stream: CUstream,
    bytes: usize,
    returns: Return,
    ends: impl FnOnce() -> Answer<(End, End)>,
) -> CUresult {
    answer(symbol, || {
        let stream = stream_called(stream)?;
        if bytes == 0 {
            return Ok(());
        }
        let (from, into) = ends()?;
        // SAFETY: by this function's contract.
        unsafe { copy(&stream, from, into, bytes, returns) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemcpyHtoDAsync_v2(
    into: CUdeviceptr,
    from: *const c_void,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    let ends = || Ok((host(from, bytes)?, End::Known(device(into, bytes)?)));
    // SAFETY: the caller's host memory, by the contract of this call in `cuda.h`.
    unsafe { copy_on("cuMemcpyHtoDAsync_v2", stream, bytes, Return::AtOnce, ends) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemcpyDtoHAsync_v2(
    into: *mut c_void,
    from: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    let ends = || Ok((End::Known(device(from, bytes)?), host(into, bytes)?));
    // SAFETY: the caller's host memory, by the contract of this call in `cuda.h`.
    unsafe { copy_on("cuMemcpyDtoHAsync_v2", stream, bytes, Return::AtOnce, ends) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemcpyDtoDAsync_v2(
    into: CUdeviceptr,
    from: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    let ends = || Ok((End::Known(device(from, bytes)?), End::Known(device(into, bytes)?)));
    // SAFETY: neither end is pageable.
    unsafe { copy_on("cuMemcpyDtoDAsync_v2", stream, bytes, Return::AtOnce, ends) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemcpyHtoD_v2(
    into: CUdeviceptr,
    from: *const c_void,
    bytes: usize,
) -> CUresult {
    let ends = || Ok((host(from, bytes)?, End::Known(device(into, bytes)?)));
    // SAFETY: the caller's host memory, by the contract of this call in `cuda.h`.
    unsafe { copy_on("cuMemcpyHtoD_v2", ptr::null_mut(), bytes, Return::WhenDone, ends) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemcpyDtoH_v2(
    into: *mut c_void,
    from: CUdeviceptr,
    bytes: usize,
) -> CUresult {
    let ends = || Ok((End::Known(device(from, bytes)?), host(into, bytes)?));
    // SAFETY: the caller's host memory, by the contract of this call in `cuda.h`.
    unsafe { copy_on("cuMemcpyDtoH_v2", ptr::null_mut(), bytes, Return::WhenDone, ends) }
}

/// Does not wait, for all its name: between devices the real one need not either.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemcpyDtoD_v2(
    into: CUdeviceptr,
    from: CUdeviceptr,
    bytes: usize,
) -> CUresult {
    let ends = || Ok((End::Known(device(from, bytes)?), End::Known(device(into, bytes)?)));
    // SAFETY: neither end is pageable.
    unsafe { copy_on("cuMemcpyDtoD_v2", ptr::null_mut(), bytes, Return::AtOnce, ends) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemcpyAsync(
    into: CUdeviceptr,
    from: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    let ends = || Ok((any(address(from)?, bytes)?, any(address(into)?, bytes)?));
    // SAFETY: the caller's host memory, by the contract of this call in `cuda.h`.
    unsafe { copy_on("cuMemcpyAsync", stream, bytes, Return::AtOnce, ends) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemcpyPeerAsync(
    into: CUdeviceptr,
    into_context: CUcontext,
    from: CUdeviceptr,
    from_context: CUcontext,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    let ends = || {
        let (from, into) = (device(from, bytes)?, device(into, bytes)?);
        let is_there = |span: &Span, handle| span.allocation.context.handle() == handle;
        if is_there(&from, from_context) && is_there(&into, into_context) {
            Ok((End::Known(from), End::Known(into)))
        } else {
            Err(CUresult::INVALID_VALUE)
        }
    };
    // SAFETY: neither end is pageable.
    unsafe { copy_on("cuMemcpyPeerAsync", stream, bytes, Return::AtOnce, ends) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemsetD8Async(
    pointer: CUdeviceptr,
    value: c_uchar,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    answer("cuMemsetD8Async", || fill(stream, pointer, value, bytes))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemsetD8_v2(
    pointer: CUdeviceptr,
    value: c_uchar,
    bytes: usize,
) -> CUresult {
    answer("cuMemsetD8_v2", || fill(ptr::null_mut(), pointer, value, bytes))
}
