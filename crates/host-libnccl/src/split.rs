//! Splitting communicators.

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::Ordering;

use nccl_sys::{NCCL_SPLIT_NOCOLOR, ncclComm_t, ncclConfig_t, ncclResult_t};
use rankwise_comm::{Communicator, Fault};

use crate::abi::{answer, put};
use crate::comm::{HostComm, issue, ready};
use crate::error::{refuse, refuse_with};
use crate::group;
use crate::init::check_config;

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommSplit(
    raw: ncclComm_t,
    color: c_int,
    key: c_int,
    place: *mut ncclComm_t,
    config: *mut ncclConfig_t,
) -> ncclResult_t {
    answer(|| {
        const WHAT: &str = "CommSplit";
        group::add(|group| {
            let comm = ready(WHAT, raw)?;
            // SAFETY: the caller's pointer, by the contract of this call in `nccl.h`.
            unsafe { put("CommSplit : newcomm", place, ptr::null_mut()) }?;
            if !config.is_null() {
                // SAFETY: the caller's structure, by the same contract.
                unsafe { check_config(config) }?;
            }
            let color = match u32::try_from(color) {
                Ok(color) => Some(color),
                Err(_) if color == NCCL_SPLIT_NOCOLOR => None,
                Err(_) => {
                    let why = format!("{WHAT} : color must be greater or equal to -1, not {color}");
                    return refuse(ncclResult_t::ncclInvalidArgument, why);
                }
            };
            let pending = comm.mock.split(color, key).or_else(|error| refuse_with(&error))?;
            // The wait is for the end of the group: one thread may drive all the ranks.
            group.jobs.push(Box::new(move || match pending.wait() {
                Ok(None) => Ok(()),
                Ok(Some(mock)) => {
                    let made = issue(HostComm::new(mock, comm.world, comm.device));
                    // SAFETY: by the contract above, until the thread's group has ended.
                    unsafe { put(WHAT, place, made) }
                }
                Err(error) => {
                    let is_own = matches!(error.fault(), Fault::Closed { .. });
                    if !(is_own || comm.is_revoked.load(Ordering::Acquire)) {
                        comm.fail(&error);
                    }
                    refuse_with(&error)
                }
            }));
            Ok(())
        })
    })
}
