//! The types of `cuda.h` that cross the boundary, and how a call answers.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::marker::STATION;
use crate::stream;

/// A device: its ordinal.
pub(crate) type CUdevice = c_int;
/// An address in device memory, here a plain address of this process.
pub(crate) type CUdeviceptr = c_ulonglong;
/// A context; never dereferenced, see [`handle`](crate::handle).
pub(crate) type CUcontext = *mut c_void;
/// A stream; never dereferenced.
pub(crate) type CUstream = *mut c_void;
/// An event; never dereferenced.
pub(crate) type CUevent = *mut c_void;
/// A function that a stream calls on the host.
pub(crate) type CUhostFn = Option<unsafe extern "C" fn(*mut c_void)>;

/// Sixteen bytes that name a device.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct CUuuid {
    pub(crate) bytes: [u8; 16],
}

/// What a call answers. Any number can come in, so this is no enum.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CUresult(pub(crate) c_uint);

impl CUresult {
    pub(crate) const SUCCESS: Self = Self(0);
    pub(crate) const INVALID_VALUE: Self = Self(1);
    pub(crate) const OUT_OF_MEMORY: Self = Self(2);
    pub(crate) const NOT_INITIALIZED: Self = Self(3);
    pub(crate) const NO_DEVICE: Self = Self(100);
    pub(crate) const INVALID_DEVICE: Self = Self(101);
    pub(crate) const INVALID_CONTEXT: Self = Self(201);
    pub(crate) const INVALID_HANDLE: Self = Self(400);
    pub(crate) const NOT_FOUND: Self = Self(500);
    pub(crate) const NOT_READY: Self = Self(600);
    pub(crate) const ILLEGAL_ADDRESS: Self = Self(700);
    pub(crate) const CONTEXT_IS_DESTROYED: Self = Self(709);
    pub(crate) const NOT_PERMITTED: Self = Self(800);
    pub(crate) const NOT_SUPPORTED: Self = Self(801);
    pub(crate) const UNKNOWN: Self = Self(999);

    /// What one call answers for another.
    pub(crate) fn answer(self) -> Answer {
        if self == Self::SUCCESS { Ok(()) } else { Err(self) }
    }
}

/// The inside of a call: what went wrong is a code.
pub(crate) type Answer<T = ()> = Result<T, CUresult>;

/// Runs the inside of a call and makes a code of whatever comes out, a panic included.
///
/// A host function must not call the driver. The real one may then refuse or
/// deadlock; this one always refuses.
pub(crate) fn answer(symbol: &str, inside: impl FnOnce() -> Answer) -> CUresult {
    if stream::is_in_host_function() {
        return CUresult::NOT_PERMITTED;
    }
    answer_anywhere(symbol, inside)
}

/// [`answer`] for calls that touch no state, which a host function may make too.
pub(crate) fn answer_anywhere(symbol: &str, inside: impl FnOnce() -> Answer) -> CUresult {
    let answered = catch_unwind(AssertUnwindSafe(|| {
        // A variable that cannot be read has been said; nothing works with it.
        let struck = STATION.strike(symbol).map_err(|_| CUresult::INVALID_VALUE)?;
        struck.answer.map_or(Ok(()), |code| Err(CUresult(code)))?;
        inside()
    }));
    match answered {
        Ok(Ok(())) => CUresult::SUCCESS,
        Ok(Err(code)) => code,
        Err(_) => CUresult::UNKNOWN,
    }
}

/// Hands a result out.
///
/// # Safety
///
/// `place` is null or valid for writing a `T`.
pub(crate) unsafe fn put<T>(place: *mut T, value: T) -> Answer {
    if place.is_null() {
        return Err(CUresult::INVALID_VALUE);
    }
    // SAFETY: not null, and then valid by this function's contract.
    unsafe { place.write(value) };
    Ok(())
}

/// A device pointer as an address of this process.
pub(crate) fn address(pointer: CUdeviceptr) -> Answer<usize> {
    usize::try_from(pointer).map_err(|_| CUresult::INVALID_VALUE)
}

/// An address of this process as a device pointer.
pub(crate) const fn device_pointer(address: usize) -> CUdeviceptr {
    // Lossless: addresses have at most 64 bits wherever there is a CUDA driver.
    address as CUdeviceptr
}
