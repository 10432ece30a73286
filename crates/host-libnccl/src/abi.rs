//! How a call answers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use nccl_sys::{ncclComm_t, ncclResult_t};

use crate::error::{Answer, refuse};
use crate::{comm, faults};

/// Runs the inside of a call and makes a code of whatever comes out, a panic included.
pub(crate) fn answer(symbol: &str, inside: impl FnOnce() -> Answer) -> ncclResult_t {
    answer_of(symbol, ptr::null_mut(), inside)
}

/// The same for a call on a communicator, which a fault may strike afterwards.
pub(crate) fn answer_of(
    symbol: &str,
    raw: ncclComm_t,
    inside: impl FnOnce() -> Answer,
) -> ncclResult_t {
    let answered = catch_unwind(AssertUnwindSafe(|| {
        let struck = match faults::STATION.strike(symbol) {
            Ok(struck) => struck,
            Err(refused) => return refuse(ncclResult_t::ncclInvalidArgument, refused),
        };
        if let Some(code) = struck.answer {
            let why = format!("{symbol} answers {code}: a fault that was asked for");
            return refuse(ncclResult_t(code), why);
        }
        let answered = inside();
        if let (Some(code), Some(comm)) = (struck.later, comm::find(raw)) {
            let why = format!("{code} after {symbol}: a fault that was asked for");
            comm.fail_with(ncclResult_t(code), &why);
        }
        answered
    }));
    match answered {
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

/// Where a call hands its result out later: in a group, when that ends; on a communicator
/// that does not block, when somebody asks how it is.
pub(crate) struct Place<T>(*mut T);

// SAFETY: by the contract of `new`, whichever thread writes there may.
unsafe impl<T> Send for Place<T> {}

impl<T> Place<T> {
    /// Null is refused now.
    ///
    /// # Safety
    ///
    /// `place` is null, or valid for writing a `T`, on any thread, until the call is over.
    pub(crate) unsafe fn new(what: &str, place: *mut T, until_then: T) -> Answer<Self> {
        // SAFETY: by this function's contract.
        unsafe { put(what, place, until_then) }?;
        Ok(Self(place))
    }

    pub(crate) fn put(&self, value: T) {
        // SAFETY: not null, which `new` has seen, and valid by its contract.
        unsafe { self.0.write(value) };
    }
}
