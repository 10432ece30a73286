//! Memory, registrations, windows and one-sided calls.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use nccl_sys::{
    NCCL_CONFIG_INITIALIZER, ncclComm_t, ncclCommMemStat_t, ncclConfig_t, ncclDataType_t,
    ncclRedOp_t, ncclResult_t, ncclUniqueId, ncclWaitSignalDesc_t, ncclWindow_t,
};

use crate::machine::{comms, last_words, memory, nccl, on, read, stream, synchronize};

const I32: ncclDataType_t = ncclDataType_t::ncclInt32;
const SYMMETRIC: i32 = 1;

/// Memory of NCCL's on a device that holds these numbers.
fn memory_of_nccl<const N: usize>(device: usize, numbers: [i32; N]) -> *mut c_void {
    on(device);
    let mut at = null_mut();
    assert_eq!(nccl!(ncclMemAlloc(&raw mut at, 4 * N)), 0);
    // SAFETY: the stand-in's device memory is memory of this process, just allocated.
    unsafe { at.cast::<[i32; N]>().write(numbers) };
    at
}

fn register<const N: usize>(
    comms: [ncclComm_t; N],
    memories: [*mut c_void; N],
    bytes: usize,
) -> [ncclWindow_t; N] {
    let mut windows = [null_mut(); N];
    assert_eq!(nccl!(ncclGroupStart()), 0);
    for ((comm, at), window) in comms.into_iter().zip(memories).zip(&mut windows) {
        assert_eq!(nccl!(ncclCommWindowRegister(comm, at, bytes, window, SYMMETRIC)), 0);
    }
    assert_eq!(nccl!(ncclGroupEnd()), 0);
    assert!(windows.iter().all(|window| !window.is_null()));
    windows
}

/// A message by one-sided calls: each rank puts its second number into the peer's first.
#[test]
fn what_is_put_is_there_when_the_signal_is() {
    let comms = comms::<2>();
    let memories = [memory_of_nccl(0, [0, 70]), memory_of_nccl(1, [0, 71])];
    let windows = register(comms, memories, 8);
    let streams = [stream(0), stream(1)];
    for rank in 0..2 {
        on(rank);
        let peer = 1 - i32::try_from(rank).unwrap();
        let from = memories[rank].wrapping_byte_add(4);
        let (window, comm) = (windows[rank], comms[rank]);
        let code =
            nccl!(ncclPutSignal(from, 1, I32, peer, window, 0, 0, 0, 0, comm, streams[rank]));
        assert_eq!(code, 0);
        let mut wanted = ncclWaitSignalDesc_t { opCnt: 1, peer, sigIdx: 0, ctx: 0 };
        assert_eq!(nccl!(ncclWaitSignal(1, &raw mut wanted, comm, streams[rank])), 0);
    }
    assert_eq!([read(0, memories[0]), read(1, memories[1])], [[71, 70], [70, 71]]);
    let mut user = null_mut();
    assert_eq!(nccl!(ncclWinGetUserPtr(comms[0], windows[0], &raw mut user)), 0);
    assert_eq!(user, memories[0]);
    assert_eq!(nccl!(ncclWinGetUserPtr(comms[1], windows[0], &raw mut user)), 4);
    assert_eq!(nccl!(ncclCommWindowDeregister(comms[0], windows[0])), 0);
    assert_eq!(nccl!(ncclCommWindowDeregister(comms[0], windows[0])), 4);
    assert_eq!(nccl!(ncclMemFree(memories[0])), 0);
    assert_eq!(nccl!(ncclMemFree(memories[0])), 1, "not twice");
}

#[test]
fn one_sided_calls_are_checked_in_the_order_of_the_library() {
    let comms = comms::<2>();
    let [zero, _] = comms;
    let (at, plain) = (memory_of_nccl(0, [1, 2]), memory(0, &[1]));
    let mut wanted = ncclWaitSignalDesc_t { opCnt: 1, peer: 1, sigIdx: 0, ctx: 0 };
    // No window yet.
    assert_eq!(nccl!(ncclSignal(1, 0, 0, 0, zero, stream(0))), 5);
    assert_eq!(nccl!(ncclWaitSignal(1, &raw mut wanted, zero, stream(0))), 5);
    let [window, _] = register(comms, [at, memory_of_nccl(1, [0, 0])], 8);
    let put = |peer, window, offset, index, context, flags, from: *const c_void, count| {
        let on = stream(0);
        nccl!(ncclPutSignal(
            from, count, I32, peer, window, offset, index, context, flags, zero, on
        ))
    };
    for (code, words) in [
        (put(2, window, 0, 0, 0, 0, at, 1), "PutSignal : invalid root 2"),
        (put(1, window, 0, 0, 1, 0, at, 1), "Context 1 is invalid (must be in [0, 1))"),
        (put(1, window, 0, 1, 0, 0, at, 1), "Signal index 1 is invalid (must be in [0, 1))"),
        (put(1, window, 0, 0, 0, 1, at, 1), "PutSignal: flags 1"),
        (put(1, null_mut(), 0, 0, 0, 0, at, 1), "PutSignal: peerWin is NULL"),
        (put(1, window, 0, 0, 0, 0, null(), 1), "PutSignal: localbuff is NULL"),
        (put(1, window, 0, 0, 0, 0, plain, 1), "PutSignal: localbuff is in no symmetric window"),
        (put(1, window, 0, 0, 0, 0, at, 3), "PutSignal: localbuff is in no symmetric window"),
        (put(1, window, 4, 0, 0, 0, at, 2), "PutSignal: 8 bytes at 4 of the peer's window of 8"),
    ] {
        assert_eq!(code, 4, "{words}");
    }
    assert_eq!(put(1, window, 4, 0, 0, 0, at, 2), 4);
    assert_eq!(last_words(null_mut()), "PutSignal: 8 bytes at 4 of the peer's window of 8");
    assert_eq!(nccl!(ncclWaitSignal(0, &raw mut wanted, zero, stream(0))), 4);
    wanted.opCnt = 0;
    assert_eq!(nccl!(ncclWaitSignal(1, &raw mut wanted, zero, stream(0))), 4);
}

/// Two signals are waited for at once, and one that never comes ends with its sender.
#[test]
fn signals_are_counted_and_a_lost_sender_is_named() {
    let mut id = ncclUniqueId { internal: [0; 128] };
    assert_eq!(nccl!(ncclGetUniqueId(&raw mut id)), 0);
    let mut eager = ncclConfig_t { rmaEagerInit: 1, numRmaSig: 2, ..NCCL_CONFIG_INITIALIZER };
    let mut comms = [null_mut(); 2];
    nccl!(ncclGroupStart());
    for (rank, comm) in (0..).zip(&mut comms) {
        on(usize::try_from(rank).unwrap());
        assert_eq!(nccl!(ncclCommInitRankConfig(comm, 2, id, rank, &raw mut eager)), 0);
    }
    assert_eq!(nccl!(ncclGroupEnd()), 0);
    let [zero, one] = comms;
    let waits = stream(0);
    let mut wanted = ncclWaitSignalDesc_t { opCnt: 2, peer: 1, sigIdx: 1, ctx: 0 };
    assert_eq!(nccl!(ncclWaitSignal(1, &raw mut wanted, zero, waits)), 0);
    for _ in 0..2 {
        assert_eq!(nccl!(ncclSignal(0, 1, 0, 0, one, stream(1))), 0);
    }
    synchronize(0);
    let mut code = ncclResult_t(9);
    assert_eq!(nccl!(ncclCommGetAsyncError(zero, &raw mut code)), 0);
    assert_eq!(code.0, 0);
    assert_eq!(nccl!(ncclWaitSignal(1, &raw mut wanted, zero, waits)), 0);
    assert_eq!(nccl!(ncclCommAbort(one)), 0);
    synchronize(0);
    assert_eq!(nccl!(ncclCommGetAsyncError(zero, &raw mut code)), 0);
    assert_eq!(code.0, 6);
    assert!(last_words(zero).contains("rank 1 has left"), "{}", last_words(zero));
}

#[test]
fn what_cannot_be_registered_is_refused() {
    let [comm] = comms::<1>();
    let at = memory_of_nccl(0, [1, 2]);
    let (mut window, mut handle) = (null_mut(), null_mut());
    let odd = at.wrapping_byte_add(4);
    for (buffer, bytes, flags) in
        [(null_mut(), 8, 1), (at, 0, 1), (at, 5000, 1), (odd, 4, 1), (at, 8, 16), (at, 8, 5)]
    {
        let code = nccl!(ncclCommWindowRegister(comm, buffer, bytes, &raw mut window, flags));
        assert_eq!(code, 4, "{bytes} {flags}");
        assert!(window.is_null());
    }
    assert_eq!(nccl!(ncclCommRegister(comm, at, 8, &raw mut handle)), 0);
    assert_eq!(nccl!(ncclCommRegister(comm, null_mut(), 8, &raw mut handle)), 4);
    assert_eq!(nccl!(ncclCommDeregister(comm, handle)), 0);
    assert_eq!(nccl!(ncclCommDeregister(comm, handle)), 5);
    assert_eq!(nccl!(ncclCommDeregister(comm, null_mut())), 0);
    assert_eq!(nccl!(ncclMemAlloc(null_mut(), 8)), 1);
}

#[test]
fn a_suspended_communicator_takes_no_calls() {
    let [comm] = comms::<1>();
    let at = memory(0, &[1]);
    let suspended = || {
        let mut value = 9;
        let stat = ncclCommMemStat_t::ncclStatGpuMemSuspended;
        assert_eq!(nccl!(ncclCommMemStats(comm, stat, &raw mut value)), 0);
        value
    };
    let call = || nccl!(ncclAllReduce(at, at, 1, I32, ncclRedOp_t::ncclSum, comm, stream(0)));
    assert_eq!(nccl!(ncclCommResume(comm)), 5);
    assert_eq!(nccl!(ncclCommSuspend(comm, 0)), 4);
    assert_eq!((nccl!(ncclCommSuspend(comm, 1)), suspended(), call()), (0, 1, 5));
    assert_eq!(nccl!(ncclCommSuspend(comm, 1)), 5);
    assert_eq!((nccl!(ncclCommResume(comm)), suspended(), call()), (0, 0, 0));
    assert_eq!(nccl!(ncclCommMemStats(comm, ncclCommMemStat_t(4), null_mut())), 4);
}
