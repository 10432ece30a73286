//! Reductions that are made at run time: the pre-multiplied sum.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use nccl_sys::{ncclComm_t, ncclDataType_t, ncclRedOp_t, ncclResult_t, ncclScalarResidence_t};
use rankwise_comm::bytes::{element_at, width};
use rankwise_model::{Dtype, Reduction, Scalar};

use crate::abi::{answer, put};
use crate::comm::{HostComm, called, ready};
use crate::error::{Answer, refuse};
use crate::lock::lock;
use crate::names;

/// The operators of one communicator, by number.
pub(crate) type Operators = HashMap<u32, Scalar>;

/// Numbers are spread, and no two communicators have one in common.
static MADE: AtomicU32 = AtomicU32::new(0);

/// The reduction that a caller means, with its scalar.
pub(crate) fn resolve(
    what: &str,
    comm: &HostComm,
    number: ncclRedOp_t,
    (dtype, count): (Dtype, u64),
) -> Answer<(Reduction, Option<Scalar>)> {
    if let Some(reduction) = names::reduction(number) {
        return Ok((reduction, None));
    }
    let invalid = ncclResult_t::ncclInvalidArgument;
    let Some(scalar) = lock(&comm.operators).get(&number.0).copied() else {
        let number = number.0.cast_signed();
        let why = format!("{what} : reduction operation {number} unknown to this communicator");
        return refuse(invalid, why);
    };
    if scalar.dtype() != dtype && count > 0 {
        let why = "Data type supplied to user-created ncclRedOp_t does not match type given to \
                   reduction operation";
        return refuse(invalid, why);
    }
    Ok((Reduction::PreMulSum, Some(scalar)))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclRedOpCreatePreMulSum(
    op: *mut ncclRedOp_t,
    scalar: *mut c_void,
    dtype: ncclDataType_t,
    residence: ncclScalarResidence_t,
    raw: ncclComm_t,
) -> ncclResult_t {
    answer("ncclRedOpCreatePreMulSum", || {
        const WHAT: &str = "ncclRedOpCreatePreMulSum";
        let comm = ready(WHAT, raw)?;
        let invalid = ncclResult_t::ncclInvalidArgument;
        if scalar.is_null() {
            return refuse(invalid, format_args!("{WHAT} : scalar argument is NULL"));
        }
        if residence != ncclScalarResidence_t::ncclScalarHostImmediate {
            let why = "this stand-in takes scalars of the host only";
            return refuse(ncclResult_t::ncclInvalidUsage, why);
        }
        let dtype = names::dtype(WHAT, dtype)?;
        let width = width(dtype).min(8);
        let mut bytes = [0; 8];
        // SAFETY: the caller's scalar, as long as its type, by the contract of this call;
        // the array is eight bytes long and `width` at most that.
        unsafe { bytes.as_mut_ptr().copy_from_nonoverlapping(scalar.cast::<u8>(), width) };
        let Some(scalar) = element_at(dtype, &bytes, 0) else {
            return refuse(invalid, format_args!("{WHAT} : no scalar is that long"));
        };
        let number = 2_000_000_000 + MADE.fetch_add(1, Ordering::Relaxed) % 100_000_000;
        // SAFETY: the caller's pointer, by the contract of this call in `nccl.h`.
        unsafe { put(WHAT, op, ncclRedOp_t(number)) }?;
        lock(&comm.operators).insert(number, scalar);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclRedOpDestroy(op: ncclRedOp_t, raw: ncclComm_t) -> ncclResult_t {
    answer("ncclRedOpDestroy", || {
        const WHAT: &str = "ncclRedOpDestroy";
        let invalid = ncclResult_t::ncclInvalidArgument;
        if names::reduction(op).is_some() {
            return refuse(invalid, format_args!("{WHAT} : operator is a NCCL builtin."));
        }
        let comm = called(WHAT, raw)?;
        match lock(&comm.operators).remove(&op.0) {
            Some(_) => Ok(()),
            None => refuse(invalid, format_args!("{WHAT} : operator is garbage or was destroyed")),
        }
    })
}
