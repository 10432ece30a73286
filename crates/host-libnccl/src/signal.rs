//! One-sided calls: putting into a peer's window, signalling, waiting for signals.
//!
//! They are host functions of the stream: a put copies, a signal counts at the peer, and
//! a wait holds the stream up until so many signals have come. A peer that leaves before
//! it has signalled is the communicator's asynchronous error.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;
use std::slice;
use std::sync::Arc;

use nccl_sys::{
    cudaStream_t, ncclComm_t, ncclDataType_t, ncclResult_t, ncclWaitSignalDesc_t, ncclWindow_t,
};
use rankwise_comm::Communicator;
use rankwise_comm::bytes::width;

use crate::abi::answer_of;
use crate::comm::{HostComm, ready, survives};
use crate::error::{Answer, last_words, refuse};
use crate::family::{Counter, Lost};
use crate::{cuda, group, names, window};

/// What one of these calls has to do, once the stream comes to it.
pub(crate) struct Act {
    comm: Arc<HostComm>,
    stream: cudaStream_t,
    what: &'static str,
    puts: Option<Put>,
    signals: Option<Counter>,
    waits: Vec<(Counter, u64)>,
}

/// Bytes that are copied.
struct Put {
    from: usize,
    into: usize,
    bytes: usize,
}

impl Act {
    fn new(comm: &Arc<HostComm>, stream: cudaStream_t, what: &'static str) -> Self {
        let comm = Arc::clone(comm);
        Self { comm, stream, what, puts: None, signals: None, waits: Vec::new() }
    }

    pub(crate) fn comm(&self) -> &HostComm {
        &self.comm
    }

    /// Puts it on its stream.
    pub(crate) fn launch(self) -> Answer {
        let (stream, comm) = (self.stream, Arc::clone(&self.comm));
        comm.take_off();
        let data = Box::into_raw(Box::new(self));
        // SAFETY: the function takes what is given away here, once.
        let launched = unsafe { cuda::launch(stream, perform, data.cast()) };
        if launched.is_err() {
            // SAFETY: the driver has refused, so nobody else has it.
            drop(unsafe { Box::from_raw(data) });
            comm.land();
        }
        launched
    }

    fn perform(&self) {
        if let Some(Put { from, into, bytes }) = self.puts {
            let from = ptr::with_exposed_provenance::<u8>(from);
            let into = ptr::with_exposed_provenance_mut::<u8>(into);
            // SAFETY: both ends were looked up when the call was made, `from` in the
            // driver and `into` in the peer's window. That they stay valid until the
            // stream has come past, and that nobody touches them meanwhile but in the
            // order of signals, is the contract of `ncclPutSignal`. A rank may put into
            // its own window, so the two may overlap.
            unsafe { ptr::copy(from, into, bytes) };
        }
        if let Some(counter) = self.signals {
            self.comm.family.signal(counter);
        }
        for (counter, count) in &self.waits {
            if let Err(lost @ Lost::Peer { .. }) = self.comm.family.await_signals(*counter, *count)
            {
                let why = format!("{}: {lost}", self.what);
                self.comm.fail_with(ncclResult_t::ncclRemoteError, &why);
            }
        }
    }
}

/// # Safety
///
/// `data` is a `Box<Act>` that was given away for this one call.
unsafe extern "C" fn perform(data: *mut c_void) {
    // SAFETY: by this function's contract.
    let act = unsafe { Box::from_raw(data.cast::<Act>()) };
    // Nothing may unwind into the driver.
    drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| act.perform())));
    act.comm.land();
}

/// Which signal.
#[derive(Clone, Copy)]
struct Which {
    context: c_int,
    index: c_int,
}

/// Whether there is such a signal.
fn check_signal(comm: &HostComm, which: Which) -> Answer {
    let invalid = ncclResult_t::ncclInvalidArgument;
    let Which { context, index } = which;
    let settings = comm.settings;
    if !(0..settings.contexts).contains(&context) {
        let most = settings.contexts;
        return refuse(
            invalid,
            format_args!("Context {context} is invalid (must be in [0, {most}))"),
        );
    }
    if !(0..settings.signals).contains(&index) {
        let most = settings.signals;
        let why = format!("Signal index {index} is invalid (must be in [0, {most}))");
        return refuse(invalid, why);
    }
    Ok(())
}

/// Whether signals can be used yet.
fn check_begun(what: &str, comm: &HostComm, raw: ncclComm_t) -> Answer {
    if comm.settings.is_eager || window::has_symmetric(raw) {
        return Ok(());
    }
    let why = format!("{what}: register a symmetric window first, or set rmaEagerInit");
    refuse(ncclResult_t::ncclInvalidUsage, why)
}

/// The counter at a peer that this rank's signals count.
fn at_peer(comm: &HostComm, what: &str, peer: c_int, which: Which) -> Answer<Counter> {
    let peer = names::rank(what, peer, comm.mock.ranks())?;
    let at = usize::try_from(peer.index()).unwrap_or(usize::MAX);
    Ok(Counter { at, from: comm.rank(), context: which.context, index: which.index })
}

/// Adds an act to the thread's group.
fn add(
    (symbol, what): (&str, &'static str),
    raw: ncclComm_t,
    stream: cudaStream_t,
    fill: impl FnOnce(&Arc<HostComm>, &mut Act) -> Answer,
) -> ncclResult_t {
    answer_of(symbol, raw, || {
        group::add(|group| {
            let comm = ready(what, raw)?;
            survives(&comm)?;
            let mut act = Act::new(&comm, stream, what);
            if let Err(code) = fill(&comm, &mut act) {
                if !comm.settings.is_blocking {
                    comm.fail_with(code, &last_words().to_string_lossy());
                }
                return Err(code);
            }
            group.acts.push(act);
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)] // NCCL's own
pub(crate) unsafe extern "C" fn ncclPutSignal(
    local: *const c_void,
    count: usize,
    dtype: ncclDataType_t,
    peer: c_int,
    window: ncclWindow_t,
    offset: usize,
    index: c_int,
    context: c_int,
    flags: c_uint,
    raw: ncclComm_t,
    stream: cudaStream_t,
) -> ncclResult_t {
    const WHAT: &str = "PutSignal";
    add(("ncclPutSignal", WHAT), raw, stream, |comm, act| {
        let invalid = ncclResult_t::ncclInvalidArgument;
        let which = Which { context, index };
        let counter = at_peer(comm, WHAT, peer, which)?;
        let dtype = names::dtype(WHAT, dtype)?;
        check_signal(comm, which)?;
        if flags != 0 {
            return refuse(invalid, format_args!("{WHAT}: flags {flags} are none"));
        }
        if window.is_null() {
            return refuse(invalid, format_args!("{WHAT}: peerWin is NULL"));
        }
        let theirs = window::known(WHAT, raw, window)?;
        if !theirs.is_symmetric {
            return refuse(invalid, format_args!("{WHAT}: peerWin is no symmetric window"));
        }
        if local.is_null() {
            return refuse(invalid, format_args!("{WHAT}: localbuff is NULL"));
        }
        let Some(bytes) = count.checked_mul(width(dtype)) else {
            return refuse(invalid, format_args!("{WHAT}: {count} elements"));
        };
        if !window::is_symmetric(raw, local.addr(), bytes) {
            return refuse(invalid, format_args!("{WHAT}: localbuff is in no symmetric window"));
        }
        let (start, len) = theirs.parts.get(counter.at).copied().unwrap_or_default();
        // Stricter than NCCL, which would write beyond it.
        if len.checked_sub(offset).is_none_or(|left| left < bytes) {
            let why = format!("{WHAT}: {bytes} bytes at {offset} of the peer's window of {len}");
            return refuse(invalid, why);
        }
        let into = start.wrapping_add(offset);
        act.puts = (bytes > 0).then_some(Put { from: local.addr(), into, bytes });
        act.signals = Some(counter);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclSignal(
    peer: c_int,
    index: c_int,
    context: c_int,
    flags: c_uint,
    raw: ncclComm_t,
    stream: cudaStream_t,
) -> ncclResult_t {
    const WHAT: &str = "Signal";
    add(("ncclSignal", WHAT), raw, stream, |comm, act| {
        let which = Which { context, index };
        let counter = at_peer(comm, WHAT, peer, which)?;
        check_signal(comm, which)?;
        if flags != 0 {
            let why = format!("{WHAT}: flags {flags} are none");
            return refuse(ncclResult_t::ncclInvalidArgument, why);
        }
        check_begun(WHAT, comm, raw)?;
        act.signals = Some(counter);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclWaitSignal(
    count: c_int,
    descriptions: *mut ncclWaitSignalDesc_t,
    raw: ncclComm_t,
    stream: cudaStream_t,
) -> ncclResult_t {
    const WHAT: &str = "WaitSignal";
    add(("ncclWaitSignal", WHAT), raw, stream, |comm, act| {
        let invalid = ncclResult_t::ncclInvalidArgument;
        let len = usize::try_from(count).ok().filter(|len| *len > 0 && !descriptions.is_null());
        let Some(len) = len else {
            return refuse(invalid, format_args!("{WHAT}: nothing to wait for"));
        };
        // SAFETY: the caller's list, as long as `count` says, by the contract of this call.
        for wanted in unsafe { slice::from_raw_parts(descriptions, len) } {
            let counted = u64::try_from(wanted.opCnt).ok().filter(|count| *count > 0);
            let Some(counted) = counted else {
                return refuse(invalid, format_args!("{WHAT}: opCnt {}", wanted.opCnt));
            };
            let which = Which { context: wanted.ctx, index: wanted.sigIdx };
            check_signal(comm, which)?;
            // Stricter than NCCL, which does not look.
            let peer = names::rank(WHAT, wanted.peer, comm.mock.ranks())?;
            let from = usize::try_from(peer.index()).unwrap_or(usize::MAX);
            let Which { context, index } = which;
            act.waits.push((Counter { at: comm.rank(), from, context, index }, counted));
        }
        check_begun(WHAT, comm, raw)
    })
}
