//! The calls in which every rank takes part, and what all calls have in common.

use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use nccl_sys::{
    cudaStream_t, ncclCollConfig_t, ncclComm_t, ncclDataType_t, ncclRedOp_t, ncclResult_t,
};
use rankwise_comm::Communicator;
use rankwise_mock::engine::Span;
use rankwise_mock::seam::RawCall;
use rankwise_model::{Dtype, Operation, Rank, Reduction, Scalar};
use rankwise_program::{Collective, Signature, Site, Verb};

use crate::abi::answer_of;
use crate::comm::{HostComm, ready, survives};
use crate::config::{PerCall, check_selection, read_call};
use crate::enqueue::Call;
use crate::error::{Answer, last_words, refuse};
use crate::operator::resolve;
use crate::{cuda, group, names};

/// The arguments that every call has.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    /// What the program calls.
    pub(crate) symbol: &'static str,
    /// NCCL's name for the call, as its messages have it.
    pub(crate) what: &'static str,
    pub(crate) send: *const c_void,
    pub(crate) recv: *mut c_void,
    pub(crate) count: usize,
    pub(crate) dtype: ncclDataType_t,
    pub(crate) comm: ncclComm_t,
    pub(crate) stream: cudaStream_t,
    /// What is asked of this one call, or null.
    pub(crate) config: *const ncclCollConfig_t,
}

/// What the ranks must agree on, and this rank's scalar.
type Signed = (Signature, Option<Scalar>);

/// Checks a call in NCCL's order and adds it to the thread's group.
///
/// # Safety
///
/// NCCL's contract for the call: each buffer that the rank has stays valid until the
/// stream has come past the call, and whoever else uses it is ordered with it by streams;
/// the configuration is null or one.
pub(crate) unsafe fn call(
    asked: Asked,
    sign: impl FnOnce(&HostComm, (Dtype, u64)) -> Answer<Signed>,
) -> ncclResult_t {
    answer_of(asked.symbol, asked.comm, || {
        // SAFETY: the caller's structure, by this function's contract.
        let per_call = unsafe { read_call(asked.what, asked.config) }?;
        group::add(|group| {
            let comm = ready(asked.what, asked.comm)?;
            survives(&comm)?;
            let called = checked(&comm, &asked, &per_call, sign);
            if let (Err(code), false) = (&called, comm.settings.is_blocking) {
                // What is wrong with an argument stays, of a communicator that does not block.
                comm.fail_with(*code, &last_words().to_string_lossy());
            }
            group.calls.push(called?);
            Ok(())
        })
    })
}

/// Checks the arguments of a call in NCCL's order.
fn checked(
    comm: &Arc<HostComm>,
    asked: &Asked,
    per_call: &PerCall,
    sign: impl FnOnce(&HostComm, (Dtype, u64)) -> Answer<Signed>,
) -> Answer<Call> {
    let dtype = names::dtype(asked.what, asked.dtype)?;
    let count = u64::try_from(asked.count).unwrap_or(u64::MAX);
    let (signature, scalar) = sign(comm, (dtype, count))?;
    if let (Some(selection), true) = (&per_call.insists_on, count > 0) {
        check_selection(asked.what, selection)?;
    }
    let (input, output) = spans(comm, asked, &signature, dtype)?;
    let site = Site::Text(asked.symbol.into());
    let raw = RawCall { signature, scalar, input, output, site };
    Ok(Call { comm: Arc::clone(comm), stream: asked.stream, raw, event: per_call.event })
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

/// Exports a collective, plain and with a configuration: with an operator or not, with a
/// root or not.
macro_rules! export {
    ($(
        $what:literal: $plain:ident $config:ident ( $($op:ident)? ; $($root:ident)? )
        $made:expr;
    )*) => { $(
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments)] // NCCL's own
        pub(crate) unsafe extern "C" fn $plain(
            send: *const c_void,
            recv: *mut c_void,
            count: usize,
            dtype: ncclDataType_t,
            $($op: ncclRedOp_t,)?
            $($root: c_int,)?
            comm: ncclComm_t,
            stream: cudaStream_t,
        ) -> ncclResult_t {
            let (symbol, config) = (stringify!($plain), ptr::null());
            let asked =
                Asked { symbol, what: $what, send, recv, count, dtype, comm, stream, config };
            // SAFETY: one contract.
            unsafe { export!(@call asked [$($op)?] [$($root)?] $made) }
        }

        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments)] // NCCL's own
        pub(crate) unsafe extern "C" fn $config(
            send: *const c_void,
            recv: *mut c_void,
            count: usize,
            dtype: ncclDataType_t,
            $($op: ncclRedOp_t,)?
            $($root: c_int,)?
            comm: ncclComm_t,
            stream: cudaStream_t,
            config: *const ncclCollConfig_t,
        ) -> ncclResult_t {
            let symbol = stringify!($config);
            let asked =
                Asked { symbol, what: $what, send, recv, count, dtype, comm, stream, config };
            // SAFETY: one contract.
            unsafe { export!(@call asked [$($op)?] [$($root)?] $made) }
        }
    )* };
    (@call $asked:ident [$op:ident] [$root:ident] $made:expr) => {
        combine($asked, $op, Some($root), $made)
    };
    (@call $asked:ident [$op:ident] [] $made:expr) => { combine($asked, $op, None, $made) };
    (@call $asked:ident [] [$root:ident] $made:expr) => { carry($asked, Some($root), $made) };
    (@call $asked:ident [] [] $made:expr) => { carry($asked, None, $made) };
}

export! {
    "AllReduce": ncclAllReduce ncclAllReduceConfig (op; )
        |reduction, _| Operation::AllReduce { reduction };
    "Reduce": ncclReduce ncclReduceConfig (op; root)
        |reduction, root| Operation::Reduce { reduction, root };
    "ReduceScatter": ncclReduceScatter ncclReduceScatterConfig (op; )
        |reduction, _| Operation::ReduceScatter { reduction };
    "Broadcast": ncclBroadcast ncclBroadcastConfig (; root)
        |root| Operation::Broadcast { root };
    "AllGather": ncclAllGather ncclAllGatherConfig (; )
        |_| Operation::AllGather;
    "AlltoAll": ncclAlltoAll ncclAlltoAllConfig (; )
        |_| Operation::AllToAll;
    "Gather": ncclGather ncclGatherConfig (; root)
        |root| Operation::Gather { root };
    "Scatter": ncclScatter ncclScatterConfig (; root)
        |root| Operation::Scatter { root };
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
    let (symbol, send, recv, config) = ("ncclBcast", buffer.cast_const(), buffer, ptr::null());
    let asked = Asked { symbol, what: "Broadcast", send, recv, count, dtype, comm, stream, config };
    // SAFETY: one contract.
    unsafe { carry(asked, Some(root), |root| Operation::Broadcast { root }) }
}
