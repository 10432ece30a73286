//! Groups, by the thread.

use std::ptr::{null, null_mut};

use nccl_sys::{ncclDataType_t, ncclRedOp_t, ncclUniqueId};

use crate::machine::{comms, last_words, memory, nccl, on, read, stream};

const I32: ncclDataType_t = ncclDataType_t::ncclInt32;
const SUM: ncclRedOp_t = ncclRedOp_t::ncclSum;

#[test]
fn a_group_ends_only_if_it_was_started() {
    assert_eq!(nccl!(ncclGroupEnd()), 5);
    assert_eq!(last_words(null_mut()), "ncclGroupEnd: not in a group call.");
    assert_eq!(nccl!(ncclGroupStart()), 0);
    assert_eq!(nccl!(ncclGroupStart()), 0);
    assert_eq!(nccl!(ncclGroupEnd()), 0);
    assert_eq!(nccl!(ncclGroupEnd()), 0);
    assert_eq!(nccl!(ncclGroupEnd()), 5);
}

#[test]
fn one_thread_drives_all_ranks() {
    let comms = comms::<3>();
    let memories = [memory(0, &[1, 10]), memory(1, &[2, 20]), memory(2, &[3, 30])];
    nccl!(ncclGroupStart());
    for (device, (comm, memory)) in comms.into_iter().zip(memories).enumerate() {
        let code = nccl!(ncclAllReduce(memory, memory, 2, I32, SUM, comm, stream(device)));
        assert_eq!(code, 0);
    }
    assert_eq!(read::<2>(0, memories[0]), [1, 10], "nothing happens before the end");
    assert_eq!(nccl!(ncclGroupEnd()), 0);
    for (device, memory) in memories.into_iter().enumerate() {
        assert_eq!(read(device, memory), [6, 60]);
    }
}

#[test]
fn a_call_that_fails_poisons_its_group() {
    let [comm] = comms::<1>();
    let (from, into) = (memory(0, &[7]), memory(0, &[0]));
    nccl!(ncclGroupStart());
    assert_eq!(nccl!(ncclAllGather(from, into, 1, I32, comm, stream(0))), 0);
    assert_eq!(nccl!(ncclAllGather(from, into, 1, ncclDataType_t(99), comm, null_mut())), 4);
    assert_eq!(nccl!(ncclGroupEnd()), 4);
    assert_eq!(read(0, into), [0]);
    // The next group is clean.
    assert_eq!(nccl!(ncclAllGather(from, into, 1, I32, comm, stream(0))), 0);
    assert_eq!(read(0, into), [7]);
}

#[test]
fn a_message_to_oneself_needs_both_sides() {
    let [comm] = comms::<1>();
    let (from, into) = (memory(0, &[7]), memory(0, &[0]));
    on(0);
    assert_eq!(nccl!(ncclSend(from, 1, I32, 0, comm, null_mut())), 5);
    assert_eq!(last_words(null_mut()), "Trying to send to self without a matching recv");
    nccl!(ncclGroupStart());
    assert_eq!(nccl!(ncclRecv(into, 1, I32, 0, comm, null_mut())), 0);
    assert_eq!(nccl!(ncclSend(from, 1, I32, 0, comm, null_mut())), 0);
    assert_eq!(nccl!(ncclGroupEnd()), 0);
    assert_eq!(read(0, into), [7]);
}

#[test]
fn one_thread_makes_all_ranks_and_splits_them_again() {
    let mut id = ncclUniqueId { internal: [0; 128] };
    assert_eq!(nccl!(ncclGetUniqueId(&raw mut id)), 0);
    let mut comms = [null_mut(); 2];
    nccl!(ncclGroupStart());
    for (rank, comm) in (0..).zip(&mut comms) {
        on(usize::try_from(rank).unwrap());
        assert_eq!(nccl!(ncclCommInitRank(comm, 2, id, rank)), 0);
        assert!(comm.is_null());
    }
    assert_eq!(nccl!(ncclGroupEnd()), 0);
    let mut parts = [null_mut(); 2];
    nccl!(ncclGroupStart());
    for (rank, (comm, part)) in (0..).zip(comms.into_iter().zip(&mut parts)) {
        // In reverse order.
        assert_eq!(nccl!(ncclCommSplit(comm, 5, -rank, part, null_mut())), 0);
    }
    assert_eq!(nccl!(ncclGroupEnd()), 0);
    for (part, (wanted_rank, wanted_device)) in parts.into_iter().zip([(1, 0), (0, 1)]) {
        let (mut rank, mut count, mut device) = (9, 9, 9);
        assert_eq!(nccl!(ncclCommUserRank(part, &raw mut rank)), 0);
        assert_eq!(nccl!(ncclCommCount(part, &raw mut count)), 0);
        assert_eq!(nccl!(ncclCommCuDevice(part, &raw mut device)), 0);
        assert_eq!((rank, count, device), (wanted_rank, 2, wanted_device));
    }
    let mut none = parts[0];
    nccl!(ncclGroupStart());
    assert_eq!(nccl!(ncclCommSplit(comms[0], -1, 0, &raw mut none, null_mut())), 0);
    assert_eq!(nccl!(ncclCommSplit(comms[1], -1, 0, &raw mut none, null_mut())), 0);
    assert_eq!(nccl!(ncclGroupEnd()), 0);
    assert!(none.is_null());
    assert_eq!(nccl!(ncclCommSplit(comms[0], -2, 0, &raw mut none, null_mut())), 4);
    assert_eq!(nccl!(ncclAllGather(null(), null_mut(), 0, I32, null_mut(), null_mut())), 4);
}
