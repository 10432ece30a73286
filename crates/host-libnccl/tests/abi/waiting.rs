//! Communicators that do not block.

use std::ptr::null_mut;

use nccl_sys::{
    NCCL_CONFIG_INITIALIZER, ncclComm_t, ncclConfig_t, ncclDataType_t, ncclRedOp_t, ncclResult_t,
    ncclUniqueId,
};

use crate::machine::{last_words, memory, nccl, on, read, stream};

const I32: ncclDataType_t = ncclDataType_t::ncclInt32;
const SUM: ncclRedOp_t = ncclRedOp_t::ncclSum;
const IN_PROGRESS: u32 = 7;

fn asked(comm: ncclComm_t) -> u32 {
    let mut code = ncclResult_t(99);
    assert_eq!(nccl!(ncclCommGetAsyncError(comm, &raw mut code)), 0);
    code.0
}

/// Polls until it is in progress no longer.
fn settle(comm: ncclComm_t) -> u32 {
    loop {
        match asked(comm) {
            IN_PROGRESS => std::thread::yield_now(),
            code => return code,
        }
    }
}

fn config() -> ncclConfig_t {
    ncclConfig_t { blocking: 0, ..NCCL_CONFIG_INITIALIZER }
}

/// Two ranks, made by one thread without a group, which only works without blocking.
fn two() -> [ncclComm_t; 2] {
    let mut id = ncclUniqueId { internal: [0; 128] };
    assert_eq!(nccl!(ncclGetUniqueId(&raw mut id)), 0);
    let mut comms = [null_mut(); 2];
    for (rank, comm) in (0..).zip(&mut comms) {
        on(usize::try_from(rank).unwrap());
        let code = nccl!(ncclCommInitRankConfig(comm, 2, id, rank, &mut config()));
        assert_eq!(code, IN_PROGRESS);
        assert!(!comm.is_null(), "the handle is there at once");
    }
    comms
}

#[test]
fn a_communicator_is_in_progress_until_a_poll_says_otherwise() {
    let [zero, one] = two();
    let mut count = 0;
    assert_eq!(nccl!(ncclCommCount(zero, &raw mut count)), 4);
    assert_eq!(nccl!(ncclCommFinalize(zero)), 4);
    assert_eq!(settle(zero), 0);
    assert_eq!(nccl!(ncclCommCount(zero, &raw mut count)), 0);
    // The other has not been asked yet.
    assert_eq!(nccl!(ncclCommCount(one, &raw mut count)), 4);
    assert!(last_words(null_mut()).starts_with("Attempt to use communicator before"));
    assert_eq!(nccl!(ncclCommDestroy(one)), 4);
    assert_eq!(nccl!(ncclGroupEnd()), 0, "the level that it has leaked");
    assert_eq!(settle(one), 0);
    let memories = [memory(0, &[1]), memory(1, &[2])];
    for (rank, comm) in [zero, one].into_iter().enumerate() {
        let at = memories[rank];
        let code = nccl!(ncclAllReduce(at, at, 1, I32, SUM, comm, stream(rank)));
        assert_eq!(code, IN_PROGRESS);
        assert_eq!(nccl!(ncclAllReduce(at, at, 1, I32, SUM, comm, null_mut())), 4);
        assert_eq!(settle(comm), 0);
    }
    assert_eq!(read(1, memories[1]), [3]);
    for comm in [zero, one] {
        assert_eq!(nccl!(ncclCommFinalize(comm)), IN_PROGRESS);
        assert_eq!(settle(comm), 0);
        assert_eq!(nccl!(ncclCommDestroy(comm)), 0);
    }
}

#[test]
fn parts_are_handed_out_when_the_parent_has_settled() {
    let comms = two();
    let mut parts = [null_mut(); 2];
    for comm in comms {
        assert_eq!(settle(comm), 0);
    }
    for ((key, comm), part) in (0..).zip(comms).zip(&mut parts) {
        let code = nccl!(ncclCommSplit(comm, 0, -key, part, null_mut()));
        assert_eq!(code, IN_PROGRESS);
    }
    assert_eq!(parts, [null_mut(); 2]);
    for comm in comms {
        assert_eq!(settle(comm), 0);
    }
    for (part, wanted) in parts.into_iter().zip([1, 0]) {
        let mut rank = 9;
        assert_eq!(nccl!(ncclCommUserRank(part, &raw mut rank)), 0);
        assert_eq!(rank, wanted);
    }
}

/// On one that blocks it would be forgotten.
#[test]
fn a_wrong_argument_stays() {
    let [zero, one] = two();
    assert_eq!([settle(zero), settle(one)], [0, 0]);
    assert_eq!(nccl!(ncclBcast(null_mut(), 0, I32, 2, zero, null_mut())), 4);
    assert_eq!(asked(zero), 4);
    let mut count = 0;
    assert_eq!(nccl!(ncclCommCount(zero, &raw mut count)), 4);
    assert_eq!(nccl!(ncclCommAbort(zero)), 0);
    assert_eq!(nccl!(ncclCommAbort(one)), 0);
}

#[test]
fn one_that_nobody_joins_can_be_aborted() {
    let mut id = ncclUniqueId { internal: [0; 128] };
    assert_eq!(nccl!(ncclGetUniqueId(&raw mut id)), 0);
    let mut comm = null_mut();
    on(0);
    let code = nccl!(ncclCommInitRankConfig(&raw mut comm, 2, id, 0, &mut config()));
    assert_eq!((code, asked(comm), asked(comm)), (IN_PROGRESS, IN_PROGRESS, IN_PROGRESS));
    assert_eq!(nccl!(ncclCommAbort(comm)), 0);
}

#[test]
fn both_kinds_cannot_be_made_in_one_group() {
    let mut ids = [ncclUniqueId { internal: [0; 128] }; 2];
    for id in &mut ids {
        assert_eq!(nccl!(ncclGetUniqueId(id)), 0);
    }
    let mut comms = [null_mut(); 2];
    on(0);
    assert_eq!(nccl!(ncclGroupStart()), 0);
    assert_eq!(nccl!(ncclCommInitRank(&raw mut comms[0], 1, ids[0], 0)), 0);
    let code = nccl!(ncclCommInitRankConfig(&raw mut comms[1], 1, ids[1], 0, &mut config()));
    assert_eq!(code, 0);
    assert_eq!(nccl!(ncclGroupEnd()), 4);
}
