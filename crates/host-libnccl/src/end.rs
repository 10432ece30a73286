//! How communicators end, and how they rest.

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nccl_sys::{NCCL_SUSPEND_MEM, ncclComm_t, ncclCommMemStat_t, ncclResult_t};
use rankwise_comm::Communicator;

use crate::abi::{answer, answer_of, put};
use crate::comm::{HostComm, called, check_settled, settled, take};
use crate::error::{Answer, refuse};
use crate::family::Patience;
use crate::group::leak_a_level;

/// Waits until what was enqueued is over, or has a communicator that does not block be in
/// progress until it is.
fn quiet(comm: &Arc<HostComm>) -> Answer {
    if comm.settings.is_blocking {
        comm.drain();
        return Ok(());
    }
    // Not what it is part of: it would keep itself.
    let weak = Arc::downgrade(comm);
    comm.begin(Some(Box::new(move |patience| {
        let is_over = weak.upgrade().is_none_or(|comm| comm.is_drained());
        (is_over || patience == Patience::Wait).then_some(Ok(()))
    })));
    Err(ncclResult_t::ncclInProgress)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclCommFinalize(raw: ncclComm_t) -> ncclResult_t {
    answer_of("ncclCommFinalize", raw, || {
        if raw.is_null() {
            return Ok(());
        }
        let comm = called("CommFinalize", raw)?;
        check_settled(&comm)?;
        let is_revoked = comm.is_revoked.load(Ordering::Acquire);
        if is_revoked || comm.is_finalized.swap(true, Ordering::AcqRel) {
            let why = "communicator has been finalized or revoked";
            return refuse(ncclResult_t::ncclInvalidArgument, why);
        }
        quiet(&comm)
    })
}

/// Waits for what was enqueued. Like NCCL, it refuses a communicator that has failed or is
/// in progress, and then leaves the thread inside a group.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclCommDestroy(raw: ncclComm_t) -> ncclResult_t {
    answer("ncclCommDestroy", || {
        if raw.is_null() {
            return Ok(());
        }
        let comm = called("CommDestroy", raw).inspect_err(|_| leak_a_level())?;
        check_settled(&comm).inspect_err(|_| leak_a_level())?;
        comm.drain();
        take(raw);
        comm.family.leave(comm.rank(), "it was destroyed");
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclCommAbort(raw: ncclComm_t) -> ncclResult_t {
    answer("ncclCommAbort", || {
        if raw.is_null() {
            return Ok(());
        }
        let comm = called("CommAbort", raw)?;
        take(raw);
        comm.leave("ncclCommAbort");
        comm.give_up();
        Ok(())
    })
}

/// Ends what is in flight and keeps the communicator, for the calls that free it or make
/// another of it.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclCommRevoke(raw: ncclComm_t, flags: c_int) -> ncclResult_t {
    answer("ncclCommRevoke", || {
        if raw.is_null() {
            return Ok(());
        }
        let comm = called("CommRevoke", raw)?;
        let is_over = comm.is_finalized.load(Ordering::Acquire);
        if flags != 0 || is_over || comm.is_revoked.swap(true, Ordering::AcqRel) {
            let why = "communicator cannot be revoked (again)";
            return refuse(ncclResult_t::ncclInvalidArgument, why);
        }
        comm.forget_failure();
        comm.family.revoke(comm.rank());
        comm.mock.abort_handle().abort("ncclCommRevoke");
        quiet(&comm)
    })
}

/// Changes between resting and not.
fn turn(comm: &HostComm, flag: &AtomicBool, to: bool, otherwise: &str) -> Answer {
    comm.drain();
    if flag.swap(to, Ordering::AcqRel) == to {
        return refuse(ncclResult_t::ncclInvalidUsage, otherwise);
    }
    Ok(())
}

/// Until it is resumed, every call on it is refused. No memory is given back.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclCommSuspend(raw: ncclComm_t, flags: c_int) -> ncclResult_t {
    answer_of("ncclCommSuspend", raw, || {
        let comm = settled("ncclCommSuspend", raw)?;
        if flags.cast_unsigned() != NCCL_SUSPEND_MEM {
            let why = format!("ncclCommSuspend: flags {flags} are none");
            return refuse(ncclResult_t::ncclInvalidArgument, why);
        }
        turn(&comm, &comm.is_suspended, true, "MemManager: Already suspended")
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclCommResume(raw: ncclComm_t) -> ncclResult_t {
    answer_of("ncclCommResume", raw, || {
        let comm = settled("ncclCommResume", raw)?;
        turn(&comm, &comm.is_suspended, false, "MemManager: Not in suspended state")
    })
}

/// A stand-in has no memory of its own: all sizes are zero; suspended it is or is not.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommMemStats(
    raw: ncclComm_t,
    stat: ncclCommMemStat_t,
    value: *mut u64,
) -> ncclResult_t {
    answer_of("ncclCommMemStats", raw, || {
        let comm = settled("ncclCommMemStats", raw)?;
        let known = match stat {
            ncclCommMemStat_t::ncclStatGpuMemSuspended => {
                u64::from(comm.is_suspended.load(Ordering::Acquire))
            }
            ncclCommMemStat_t::ncclStatGpuMemSuspend
            | ncclCommMemStat_t::ncclStatGpuMemPersist
            | ncclCommMemStat_t::ncclStatGpuMemTotal => 0,
            _ => {
                let why = format!("ncclCommMemStats: statistic {} is none", stat.0);
                return refuse(ncclResult_t::ncclInvalidArgument, why);
            }
        };
        // SAFETY: the caller's pointer, by the contract of this call in `nccl.h`.
        unsafe { put("ncclCommMemStats : value", value, known) }
    })
}
