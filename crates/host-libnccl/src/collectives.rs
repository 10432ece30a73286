//! The calls in which every rank takes part, and what all calls have in common.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use nccl_sys::{cudaStream_t, ncclComm_t, ncclDataType_t, ncclRedOp_t, ncclResult_t};
use rankwise_comm::Communicator;
use rankwise_mock::engine::Span;
use rankwise_mock::seam::RawCall;
use rankwise_model::{Dtype, Operation, Rank, Reduction, Scalar};
use rankwise_program::{Collective, Signature, Site, Verb};

use crate::abi::answer;
use crate::comm::{HostComm, ready};
use crate::enqueue::Call;
use crate::error::{Answer, refuse};
use crate::operator::resolve;
use crate::{cuda, group, names};

/// The arguments that every call has.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    /// NCCL's name for the call, as its messages have it.
    pub(crate) what: &'static str,
    pub(crate) send: *const c_void,
    pub(crate) recv: *mut c_void,
    pub(crate) count: usize,
    pub(crate) dtype: ncclDataType_t,
    pub(crate) comm: ncclComm_t,
    pub(crate) stream: cudaStream_t,
}

/// What the ranks must agree on, and this rank's scalar.
type Signed = (Signature, Option<Scalar>);

/// Checks a call in NCCL's order and adds it to the thread's group.
///
/// # Safety
///
/// NCCL's contract for the call: each buffer that the rank has stays valid until the
/// stream has come past the call, and whoever else uses it is ordered with it by streams.
pub(crate) unsafe fn call(
    asked: Asked,
    sign: impl FnOnce(&HostComm, (Dtype, u64)) -> Answer<Signed>,
) -> ncclResult_t {
    answer(|| {
        group::add(|group| {
            let comm = ready(asked.what, asked.comm)?;
            let dtype = names::dtype(asked.what, asked.dtype)?;
            let count = u64::try_from(asked.count).unwrap_or(u64::MAX);
            let (signature, scalar) = sign(&comm, (dtype, count))?;
            let (input, output) = spans(&comm, &asked, &signature, dtype)?;
            let site = Site::Text(format!("nccl{}", asked.what).into());
            let raw = RawCall { signature, scalar, input, output, site };
            group.calls.push(Call { comm, stream: asked.stream, raw });
            Ok(())
        })
    })
}

/// The buffers of a call, each as long as the model says, and known to the driver.
fn spans(
    comm: &HostComm,
    asked: &Asked,
    signature: &Signature,
    dtype: Dtype,
) -> Answer<(Option<Span>, Option<Span>)> {
    let invalid = ncclResult_t::ncclInvalidArgument;
    let (own, ranks) = (comm.mock.rank(), comm.mock.ranks());
    let layout = match signature.layout(own, ranks) {
        Some(Ok(layout)) => layout,
        Some(Err(error)) => return refuse(invalid, error),
        None => return refuse(ncclResult_t::ncclInternalError, "a call that moves nothing"),
    };
    let Ok(layout) = layout.at(own) else {
        return refuse(ncclResult_t::ncclInternalError, "a rank outside its own group");
    };
    let (reads, writes) = match signature.verb() {
        Verb::Send { .. } => (true, false),
        Verb::Recv { .. } => (false, true),
        _ => (layout.has_input(), layout.has_output()),
    };
    let span = |name: &str, has: bool, pointer: *mut c_void, len: u64| {
        if !has || len == 0 {
            return Ok(has.then(|| Span::new(NonNull::dangling(), 0)));
        }
        let what = format!("{} : {name}", asked.what);
        let bytes = len.checked_mul(dtype.bytes()).and_then(|bytes| usize::try_from(bytes).ok());
        let Some(bytes) = bytes else {
            return refuse(invalid, format_args!("{what} of {len} elements"));
        };
        cuda::check_span(&what, pointer.addr(), bytes, comm.device)?;
        let start = NonNull::new(pointer.cast::<u8>());
        Ok(start.map(|start| Span::new(start, bytes)))
    };
    let input = span("sendbuff", reads, asked.send.cast_mut(), layout.input_len())?;
    let output = span("recvbuff", writes, asked.recv, layout.output_len())?;
    Ok((input, output))
}

/// The signature of a collective.
fn sign(operation: Operation, dtype: Dtype, count: u64) -> Answer<Signature> {
    match Collective::new(operation) {
        Some(collective) => Ok(Signature::collective(collective, dtype, count)),
        None => refuse(ncclResult_t::ncclInternalError, "a message is no collective"),
    }
}

/// A collective that combines.
///
/// # Safety
///
/// As [`call`].
unsafe fn combine(
    asked: Asked,
    op: ncclRedOp_t,
    root: Option<c_int>,
    operation: impl FnOnce(Reduction, Rank) -> Operation,
) -> ncclResult_t {
    // SAFETY: by this function's contract.
    unsafe {
        call(asked, |comm, (dtype, count)| {
            let root = names::rank(asked.what, root.unwrap_or(0), comm.mock.ranks())?;
            let (reduction, scalar) = resolve(asked.what, comm, op, (dtype, count))?;
            Ok((sign(operation(reduction, root), dtype, count)?, scalar))
        })
    }
}

/// A collective that only moves.
///
/// # Safety
///
/// As [`call`].
unsafe fn carry(
    asked: Asked,
    root: Option<c_int>,
    operation: impl FnOnce(Rank) -> Operation,
) -> ncclResult_t {
    // SAFETY: by this function's contract.
    unsafe {
        call(asked, |comm, (dtype, count)| {
            let root = names::rank(asked.what, root.unwrap_or(0), comm.mock.ranks())?;
            Ok((sign(operation(root), dtype, count)?, None))
        })
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclAllReduce(
    send: *const c_void,
    recv: *mut c_void,
    count: usize,
    dtype: ncclDataType_t,
    op: ncclRedOp_t,
    comm: ncclComm_t,
    stream: cudaStream_t,
) -> ncclResult_t {
    let asked = Asked { what: "AllReduce", send, recv, count, dtype, comm, stream };
    // SAFETY: one contract.
    unsafe { combine(asked, op, None, |reduction, _| Operation::AllReduce { reduction }) }
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)] // NCCL's own
pub(crate) unsafe extern "C" fn ncclReduce(
    send: *const c_void,
    recv: *mut c_void,
    count: usize,
    dtype: ncclDataType_t,
    op: ncclRedOp_t,
    root: c_int,
    comm: ncclComm_t,
    stream: cudaStream_t,
) -> ncclResult_t {
    let asked = Asked { what: "Reduce", send, recv, count, dtype, comm, stream };
    // SAFETY: one contract.
    unsafe {
        combine(asked, op, Some(root), |reduction, root| Operation::Reduce { reduction, root })
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclReduceScatter(
    send: *const c_void,
    recv: *mut c_void,
    count: usize,
    dtype: ncclDataType_t,
    op: ncclRedOp_t,
    comm: ncclComm_t,
    stream: cudaStream_t,
) -> ncclResult_t {
    let asked = Asked { what: "ReduceScatter", send, recv, count, dtype, comm, stream };
    // SAFETY: one contract.
    unsafe { combine(asked, op, None, |reduction, _| Operation::ReduceScatter { reduction }) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclBroadcast(
    send: *const c_void,
    recv: *mut c_void,
    count: usize,
    dtype: ncclDataType_t,
    root: c_int,
    comm: ncclComm_t,
    stream: cudaStream_t,
) -> ncclResult_t {
    let asked = Asked { what: "Broadcast", send, recv, count, dtype, comm, stream };
    // SAFETY: one contract.
    unsafe { carry(asked, Some(root), |root| Operation::Broadcast { root }) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclBcast(
    buffer: *mut c_void,
    count: usize,
    dtype: ncclDataType_t,
    root: c_int,
    comm: ncclComm_t,
    stream: cudaStream_t,
) -> ncclResult_t {
    // SAFETY: one contract.
    unsafe { ncclBroadcast(buffer.cast_const(), buffer, count, dtype, root, comm, stream) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclAllGather(
    send: *const c_void,
    recv: *mut c_void,
    count: usize,
    dtype: ncclDataType_t,
    comm: ncclComm_t,
    stream: cudaStream_t,
) -> ncclResult_t {
    let asked = Asked { what: "AllGather", send, recv, count, dtype, comm, stream };
    // SAFETY: one contract.
    unsafe { carry(asked, None, |_| Operation::AllGather) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclAlltoAll(
    send: *const c_void,
    recv: *mut c_void,
    count: usize,
    dtype: ncclDataType_t,
    comm: ncclComm_t,
    stream: cudaStream_t,
) -> ncclResult_t {
    let asked = Asked { what: "AlltoAll", send, recv, count, dtype, comm, stream };
    // SAFETY: one contract.
    unsafe { carry(asked, None, |_| Operation::AllToAll) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclGather(
    send: *const c_void,
    recv: *mut c_void,
    count: usize,
    dtype: ncclDataType_t,
    root: c_int,
    comm: ncclComm_t,
    stream: cudaStream_t,
) -> ncclResult_t {
    let asked = Asked { what: "Gather", send, recv, count, dtype, comm, stream };
    // SAFETY: one contract.
    unsafe { carry(asked, Some(root), |root| Operation::Gather { root }) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclScatter(
    send: *const c_void,
    recv: *mut c_void,
    count: usize,
    dtype: ncclDataType_t,
    root: c_int,
    comm: ncclComm_t,
    stream: cudaStream_t,
) -> ncclResult_t {
    let asked = Asked { what: "Scatter", send, recv, count, dtype, comm, stream };
    // SAFETY: one contract.
    unsafe { carry(asked, Some(root), |root| Operation::Scatter { root }) }
}
