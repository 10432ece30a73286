//! Fewer ranks, and more.

use std::ptr::{null, null_mut};

use nccl_sys::{NCCL_CONFIG_INITIALIZER, ncclComm_t, ncclDataType_t, ncclRedOp_t, ncclUniqueId};

use crate::machine::{comms, last_words, memory, nccl, on, read, stream, synchronize};

const I32: ncclDataType_t = ncclDataType_t::ncclInt32;
const SUM: ncclRedOp_t = ncclRedOp_t::ncclSum;

fn place(comm: ncclComm_t) -> [i32; 3] {
    let [mut rank, mut count, mut device] = [9; 3];
    assert_eq!(nccl!(ncclCommUserRank(comm, &raw mut rank)), 0);
    assert_eq!(nccl!(ncclCommCount(comm, &raw mut count)), 0);
    assert_eq!(nccl!(ncclCommCuDevice(comm, &raw mut device)), 0);
    [rank, count, device]
}

/// Sums one number per rank and device over these communicators.
fn sum<const N: usize>(comms: [ncclComm_t; N], devices: [usize; N]) -> i32 {
    let memories = devices.map(|device| memory(device, &[1 << device]));
    assert_eq!(nccl!(ncclGroupStart()), 0);
    for ((comm, device), at) in comms.into_iter().zip(devices).zip(memories) {
        assert_eq!(nccl!(ncclAllReduce(at, at, 1, I32, SUM, comm, stream(device))), 0);
    }
    assert_eq!(nccl!(ncclGroupEnd()), 0);
    let sums: Vec<i32> =
        devices.iter().zip(memories).map(|(device, at)| read::<1>(*device, at)[0]).collect();
    assert!(sums.windows(2).all(|pair| pair[0] == pair[1]), "{sums:?}");
    sums[0]
}

#[test]
fn the_survivors_keep_their_order() {
    let [zero, one, two] = comms::<3>();
    let mut parts = [null_mut(); 2];
    nccl!(ncclGroupStart());
    for (comm, part) in [zero, two].into_iter().zip(&mut parts) {
        let mut gone = [1];
        assert_eq!(nccl!(ncclCommShrink(comm, gone.as_mut_ptr(), 1, part, null_mut(), 0)), 0);
    }
    assert_eq!(nccl!(ncclGroupEnd()), 0);
    assert_eq!(parts.map(place), [[0, 2, 0], [1, 2, 2]]);
    assert_eq!(sum(parts, [0, 2]), 0b101);
    // The parent is as good as before.
    assert_eq!(sum([zero, one, two], [0, 1, 2]), 0b111);
}

#[test]
fn who_stays_has_to_be_agreed_on() {
    let [zero, one, two] = comms::<3>();
    let mut part = null_mut();
    let mut shrink = |comm, gone: &mut [i32], flags| {
        let len = i32::try_from(gone.len()).unwrap();
        nccl!(ncclCommShrink(comm, gone.as_mut_ptr(), len, &raw mut part, null_mut(), flags))
    };
    assert_eq!(shrink(zero, &mut [], 0), 4);
    assert_eq!(shrink(zero, &mut [0], 0), 4, "itself");
    assert_eq!(shrink(zero, &mut [3], 0), 4, "nobody");
    assert_eq!(shrink(zero, &mut [1], 2), 4, "no such flag");
    // Rank 1 stays for rank 0, and goes for rank 2.
    nccl!(ncclGroupStart());
    assert_eq!(shrink(zero, &mut [2], 0), 0);
    assert_eq!(shrink(one, &mut [0], 0), 0);
    nccl!(ncclCommAbort(two));
    assert_eq!(nccl!(ncclGroupEnd()), 5);
    assert!(last_words(null_mut()).contains("excludes [2]"), "{}", last_words(null_mut()));
}

/// The way out when a rank has died.
#[test]
fn survivors_of_a_dead_rank_revoke_and_go_on() {
    for revokes in [true, false] {
        let [zero, one, two] = comms::<3>();
        let memories = [memory(0, &[1]), memory(2, &[4])];
        for ((comm, at), device) in [zero, two].into_iter().zip(memories).zip([0, 2]) {
            assert_eq!(nccl!(ncclAllReduce(at, at, 1, I32, SUM, comm, stream(device))), 0);
        }
        assert_eq!(nccl!(ncclCommAbort(one)), 0);
        synchronize(0);
        let mut gone = [1];
        let mut parts = [null_mut(); 2];
        if revokes {
            assert_eq!(nccl!(ncclCommRevoke(zero, 0)), 0);
            assert_eq!(nccl!(ncclCommRevoke(two, 0)), 0);
        }
        nccl!(ncclGroupStart());
        for (comm, part) in [zero, two].into_iter().zip(&mut parts) {
            let flags = i32::from(!revokes);
            let list = gone.as_mut_ptr();
            assert_eq!(nccl!(ncclCommShrink(comm, list, 1, part, null_mut(), flags)), 0);
        }
        assert_eq!(nccl!(ncclGroupEnd()), 0);
        assert_eq!(sum(parts, [0, 2]), 0b101);
        assert_eq!(nccl!(ncclBcast(memories[0], 1, I32, 0, zero, null_mut())), 5, "revoked");
        assert_eq!(nccl!(ncclCommDestroy(zero)), 0);
    }
}

#[test]
fn revoked_ranks_can_still_be_split() {
    let comms = comms::<2>();
    for comm in comms {
        assert_eq!(nccl!(ncclCommRevoke(comm, 0)), 0);
    }
    let mut parts = [null_mut(); 2];
    nccl!(ncclGroupStart());
    for ((key, comm), part) in (0..).zip(comms).zip(&mut parts) {
        assert_eq!(nccl!(ncclCommSplit(comm, 3, -key, part, null_mut())), 0);
    }
    assert_eq!(nccl!(ncclGroupEnd()), 0);
    assert_eq!(parts.map(place), [[1, 2, 0], [0, 2, 1]]);
    assert_eq!(sum(parts, [0, 1]), 0b11);
}

#[test]
fn a_communicator_grows_by_whoever_has_its_id() {
    let [zero, one] = comms::<2>();
    let mut id = ncclUniqueId { internal: [0; 128] };
    assert_eq!(nccl!(ncclCommGetUniqueId(zero, &raw mut id)), 0);
    let mut grown = [null_mut(); 3];
    let [first, second, third] = &mut grown;
    nccl!(ncclGroupStart());
    assert_eq!(nccl!(ncclCommGrow(zero, 3, &raw const id, -1, first, null_mut())), 0);
    assert_eq!(nccl!(ncclCommGrow(one, 3, null(), -1, second, null_mut())), 0);
    on(2);
    assert_eq!(nccl!(ncclCommGrow(null_mut(), 3, &raw const id, 2, third, null_mut())), 0);
    assert_eq!(nccl!(ncclGroupEnd()), 0);
    assert_eq!(grown.map(place), [[0, 3, 0], [1, 3, 1], [2, 3, 2]]);
    assert_eq!(sum(grown, [0, 1, 2]), 0b111);
    let mut none = null_mut();
    assert_eq!(nccl!(ncclCommGrow(zero, 2, null(), -1, &raw mut none, null_mut())), 4);
    assert_eq!(nccl!(ncclCommGrow(zero, 3, null(), 0, &raw mut none, null_mut())), 4);
    assert_eq!(nccl!(ncclCommGrow(null_mut(), 3, null(), 2, &raw mut none, null_mut())), 4);
    assert_eq!(last_words(null_mut()), "ncclCommGrow: new ranks must pass non-NULL uniqueId");
    assert_eq!(nccl!(ncclCommGrow(null_mut(), 3, &raw const id, 3, &raw mut none, null_mut())), 4);
}

#[test]
fn several_ids_are_as_good_as_one() {
    let mut ids = [ncclUniqueId { internal: [0; 128] }; 2];
    for id in &mut ids {
        assert_eq!(nccl!(ncclGetUniqueId(id)), 0);
    }
    let (list, mut config) = (ids.as_mut_ptr(), NCCL_CONFIG_INITIALIZER);
    let mut comms = [null_mut(); 3];
    nccl!(ncclGroupStart());
    for (rank, comm) in (0..).zip(&mut comms) {
        on(usize::try_from(rank).unwrap());
        let code = nccl!(ncclCommInitRankScalable(comm, 3, rank, 2, list, &raw mut config));
        assert_eq!(code, 0);
    }
    assert_eq!(nccl!(ncclGroupEnd()), 0);
    assert_eq!(comms.map(place), [[0, 3, 0], [1, 3, 1], [2, 3, 2]]);
    for (count, list) in [(0, list), (4, list), (1, null_mut())] {
        let place = &raw mut comms[0];
        let code = nccl!(ncclCommInitRankScalable(place, 3, 0, count, list, &raw mut config));
        assert_eq!(code, 4, "{count}");
    }
}
