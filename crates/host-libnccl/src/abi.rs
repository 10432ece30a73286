//! How a call answers.

use std::panic::{AssertUnwindSafe, catch_unwind};

use nccl_sys::ncclResult_t;

use crate::error::{Answer, refuse};

/// Runs the inside of a call and makes a code of whatever comes out, a panic included.
pub(crate) fn answer(inside: impl FnOnce() -> Answer) -> ncclResult_t {
    match catch_unwind(AssertUnwindSafe(inside)) {
        Ok(Ok(())) => ncclResult_t::ncclSuccess,
        Ok(Err(code)) => code,
        Err(_) => ncclResult_t::ncclInternalError,
    }
}

/// Hands a result out.
///
/// # Safety
///
/// `place` is null or valid for writing a `T`.
pub(crate) unsafe fn put<T>(what: &str, place: *mut T, value: T) -> Answer {
    if place.is_null() {
        return refuse(ncclResult_t::ncclInvalidArgument, format_args!("{what} argument is NULL"));
    }
    // SAFETY: not null, and then valid by this function's contract.
    unsafe { place.write(value) };
    Ok(())
}
