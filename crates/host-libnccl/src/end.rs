//! How communicators end.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use nccl_sys::{ncclComm_t, ncclResult_t};
use rankwise_comm::Communicator;

use crate::abi::answer;
use crate::comm::{called, ready, take};
use crate::error::refuse;
use crate::group::leak_a_level;

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclCommFinalize(raw: ncclComm_t) -> ncclResult_t {
    answer(|| {
        if raw.is_null() {
            return Ok(());
        }
        let comm = ready("CommFinalize", raw)?;
        if comm.is_finalized.swap(true, Ordering::AcqRel) {
            let why = "communicator has been finalized";
            return refuse(ncclResult_t::ncclInvalidArgument, why);
        }
        comm.drain();
        Ok(())
    })
}

/// Waits for what was enqueued. Like NCCL, it refuses a communicator that has failed, and
/// then leaves the thread inside a group.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclCommDestroy(raw: ncclComm_t) -> ncclResult_t {
    answer(|| {
        if raw.is_null() {
            return Ok(());
        }
        let comm = called("CommDestroy", raw).inspect_err(|_| leak_a_level())?;
        if let Some((code, text)) = comm.failure.get() {
            leak_a_level();
            return refuse(*code, text.to_string_lossy());
        }
        comm.drain();
        take(raw);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclCommAbort(raw: ncclComm_t) -> ncclResult_t {
    answer(|| {
        if raw.is_null() {
            return Ok(());
        }
        let comm = called("CommAbort", raw)?;
        take(raw);
        comm.mock.abort_handle().abort("ncclCommAbort");
        Ok(())
    })
}

/// Ends what is in flight and keeps the communicator, for the calls that free it.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclCommRevoke(raw: ncclComm_t, flags: c_int) -> ncclResult_t {
    answer(|| {
        if raw.is_null() {
            return Ok(());
        }
        let comm = called("CommRevoke", raw)?;
        let is_over = comm.is_finalized.load(Ordering::Acquire);
        if flags != 0 || is_over || comm.is_revoked.swap(true, Ordering::AcqRel) {
            let why = "communicator cannot be revoked (again)";
            return refuse(ncclResult_t::ncclInvalidArgument, why);
        }
        comm.mock.abort_handle().abort("ncclCommRevoke");
        Ok(())
    })
}
