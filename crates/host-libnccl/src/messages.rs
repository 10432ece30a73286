//! `ncclSend` and `ncclRecv`.

use std::ffi::{c_int, c_void};
use std::ptr;

use nccl_sys::{cudaStream_t, ncclComm_t, ncclDataType_t, ncclResult_t};
use rankwise_comm::Communicator;
use rankwise_program::Signature;

use crate::collectives::{Asked, call};
use crate::names;

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclSend(
    send: *const c_void,
    count: usize,
    dtype: ncclDataType_t,
    peer: c_int,
    comm: ncclComm_t,
    stream: cudaStream_t,
) -> ncclResult_t {
    let (symbol, what) = ("ncclSend", "Send");
    let (recv, config) = (send.cast_mut(), ptr::null());
    let asked = Asked { symbol, what, send, recv, count, dtype, comm, stream, config };
    // SAFETY: one contract.
    unsafe {
        call(asked, |comm, (dtype, count)| {
            let to = names::rank("Send", peer, comm.mock.ranks())?;
            Ok((Signature::send(to, dtype, count), None))
        })
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclRecv(
    recv: *mut c_void,
    count: usize,
    dtype: ncclDataType_t,
    peer: c_int,
    comm: ncclComm_t,
    stream: cudaStream_t,
) -> ncclResult_t {
    let (symbol, what) = ("ncclRecv", "Recv");
    let (send, config) = (recv.cast_const(), ptr::null());
    let asked = Asked { symbol, what, send, recv, count, dtype, comm, stream, config };
    // SAFETY: one contract.
    unsafe {
        call(asked, |comm, (dtype, count)| {
            let from = names::rank("Recv", peer, comm.mock.ranks())?;
            Ok((Signature::recv(from, dtype, count), None))
        })
    }
}
