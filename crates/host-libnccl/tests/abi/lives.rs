//! How communicators fail and end.

use std::ptr::null_mut;

use nccl_sys::{ncclComm_t, ncclDataType_t, ncclRedOp_t, ncclResult_t};

use crate::machine::{comms, last_words, memory, nccl, stream, synchronize};

const I32: ncclDataType_t = ncclDataType_t::ncclInt32;

fn async_error(comm: ncclComm_t) -> u32 {
    let mut code = ncclResult_t(99);
    assert_eq!(nccl!(ncclCommGetAsyncError(comm, &raw mut code)), 0);
    code.0
}

/// Two ranks that call different things.
fn quarrel() -> [ncclComm_t; 2] {
    let comms = comms::<2>();
    for (device, (comm, op)) in comms.into_iter().zip([0, 3]).enumerate() {
        let (memory, stream) = (memory(device, &[1]), stream(device));
        // The one that comes last may learn of it at once.
        let code = nccl!(ncclAllReduce(memory, memory, 1, I32, ncclRedOp_t(op), comm, stream));
        assert!([0, 5].contains(&code));
    }
    synchronize(0);
    synchronize(1);
    comms
}

/// Stricter than NCCL, which would fold each in its own way.
#[test]
fn calls_that_differ_are_an_error_on_every_rank() {
    let [zero, one] = quarrel();
    assert_eq!([async_error(zero), async_error(one)], [5, 5]);
    assert_eq!(last_words(zero), last_words(one));
    assert!(last_words(zero).contains("min"), "{}", last_words(zero));
    let again = memory(0, &[1]);
    let code = nccl!(ncclAllReduce(again, again, 1, I32, ncclRedOp_t(0), zero, stream(0)));
    assert_eq!(code, 5, "it stays");
}

#[test]
fn a_failed_communicator_can_only_be_aborted() {
    let [zero, one] = quarrel();
    assert_eq!(nccl!(ncclCommFinalize(zero)), 5);
    assert_eq!(nccl!(ncclCommDestroy(zero)), 5);
    // As with NCCL, that has left this thread inside a group.
    assert_eq!(nccl!(ncclGroupEnd()), 0);
    assert_eq!(nccl!(ncclGroupEnd()), 5);
    assert_eq!(nccl!(ncclCommAbort(zero)), 0);
    assert_eq!(nccl!(ncclCommAbort(one)), 0);
    assert_eq!(nccl!(ncclCommAbort(one)), 4);
}

/// NCCL would leave the other waiting.
#[test]
fn a_peer_that_has_left_is_named() {
    let [zero, one] = comms::<2>();
    let memory = memory(0, &[1]);
    assert_eq!(nccl!(ncclBcast(memory, 1, I32, 1, zero, stream(0))), 0);
    assert_eq!(nccl!(ncclCommDestroy(one)), 0);
    synchronize(0);
    assert_eq!(async_error(zero), 6);
    assert!(last_words(zero).contains("rank 1"), "{}", last_words(zero));
}

#[test]
fn aborting_and_revoking_end_what_waits() {
    for revokes in [false, true] {
        let [zero, one] = comms::<2>();
        let memory = memory(0, &[1]);
        assert_eq!(nccl!(ncclBcast(memory, 1, I32, 1, zero, stream(0))), 0);
        if revokes {
            assert_eq!(nccl!(ncclCommRevoke(zero, 1)), 4);
            assert_eq!(nccl!(ncclCommRevoke(zero, 0)), 0);
            assert_eq!(nccl!(ncclCommRevoke(zero, 0)), 4);
            assert_eq!(nccl!(ncclBcast(memory, 1, I32, 1, zero, null_mut())), 5);
            let mut count = 0;
            assert_eq!(nccl!(ncclCommCount(zero, &raw mut count)), 0);
        }
        assert_eq!(nccl!(ncclCommAbort(zero)), 0);
        synchronize(0);
        assert_eq!(nccl!(ncclCommAbort(one)), 0);
    }
}

#[test]
fn finalizing_is_done_once() {
    let [comm] = comms::<1>();
    let memory = memory(0, &[1]);
    assert_eq!(nccl!(ncclBcast(memory, 1, I32, 0, comm, stream(0))), 0);
    assert_eq!(nccl!(ncclCommFinalize(comm)), 0);
    assert_eq!(nccl!(ncclCommFinalize(comm)), 4);
    assert_eq!(nccl!(ncclCommRevoke(comm, 0)), 4);
    assert_eq!(nccl!(ncclCommDestroy(comm)), 0);
}
