//! What can be asked of a communicator.

use std::ffi::c_int;

use nccl_sys::{ncclComm_t, ncclResult_t};
use rankwise_comm::Communicator;

use crate::abi::{answer, put};
use crate::comm::{called, settled};

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommGetAsyncError(
    raw: ncclComm_t,
    place: *mut ncclResult_t,
) -> ncclResult_t {
    answer("ncclCommGetAsyncError", || {
        let comm = called("ncclGetAsyncError", raw)?;
        // SAFETY: the caller's pointer, by the contract of this call in `nccl.h`.
        unsafe { put("ncclGetAsyncError : asyncError", place, comm.poll()) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommCount(raw: ncclComm_t, place: *mut c_int) -> ncclResult_t {
    answer("ncclCommCount", || {
        let ranks = settled("CommCount", raw)?.mock.ranks().get().cast_signed();
        // SAFETY: the caller's pointer, by the contract of this call in `nccl.h`.
        unsafe { put("CommCount : count", place, ranks) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommUserRank(
    raw: ncclComm_t,
    place: *mut c_int,
) -> ncclResult_t {
    answer("ncclCommUserRank", || {
        let rank = settled("CommUserRank", raw)?.mock.rank().index().cast_signed();
        // SAFETY: the caller's pointer, by the contract of this call in `nccl.h`.
        unsafe { put("CommUserRank : rank", place, rank) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommCuDevice(
    raw: ncclComm_t,
    place: *mut c_int,
) -> ncclResult_t {
    answer("ncclCommCuDevice", || {
        let device = settled("CommCuDevice", raw)?.device;
        // SAFETY: the caller's pointer, by the contract of this call in `nccl.h`.
        unsafe { put("CommCuDevice : devid", place, device) }
    })
}
