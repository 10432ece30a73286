//! What is refused, with which code: those of NCCL 2.32.3, unless a test says otherwise.

use std::ptr::{null, null_mut, without_provenance_mut};

use nccl_sys::{
    NCCL_CONFIG_INITIALIZER, ncclDataType_t, ncclRedOp_t, ncclResult_t, ncclScalarResidence_t,
    ncclUniqueId,
};

use crate::machine::{comms, last_words, memory, nccl, on, stream, words};

const I32: ncclDataType_t = ncclDataType_t::ncclInt32;
const SUM: ncclRedOp_t = ncclRedOp_t::ncclSum;

#[test]
fn codes_have_the_words_of_the_library() {
    assert_eq!(words(0), "no error");
    assert_eq!(words(5), "invalid usage (run with NCCL_DEBUG=WARN for details)");
    assert_eq!(words(6), "remote process exited or there was a network error");
    assert_eq!(words(8), "timeout");
    assert_eq!(words(9), "unknown result code");
}

#[test]
fn null_is_refused_or_nothing() {
    let mut version = 0;
    assert_eq!(nccl!(ncclGetVersion(&raw mut version)), 0);
    assert_eq!(version, 23_203);
    assert_eq!(nccl!(ncclGetVersion(null_mut())), 4);
    assert_eq!(nccl!(ncclGetUniqueId(null_mut())), 4);
    assert_eq!(nccl!(ncclCommDestroy(null_mut())), 0);
    assert_eq!(nccl!(ncclCommAbort(null_mut())), 0);
    assert_eq!(nccl!(ncclCommFinalize(null_mut())), 0);
    assert_eq!(nccl!(ncclCommRevoke(null_mut(), 0)), 0);
    assert_eq!(nccl!(ncclCommCount(null_mut(), null_mut())), 4);
    let code = nccl!(ncclAllReduce(null(), null_mut(), 1, I32, SUM, null_mut(), null_mut()));
    assert_eq!(code, 4);
}

#[test]
fn a_handle_that_is_none_is_refused() {
    let [comm] = comms::<1>();
    assert_eq!(nccl!(ncclCommDestroy(comm)), 0);
    let (mut count, mut code) = (0, ncclResult_t(0));
    for stale in [comm, without_provenance_mut(0x1234)] {
        assert_eq!(nccl!(ncclCommCount(stale, &raw mut count)), 4);
        assert_eq!(nccl!(ncclCommGetAsyncError(stale, &raw mut code)), 4);
        assert_eq!(nccl!(ncclAllReduce(null(), null_mut(), 0, I32, SUM, stale, null_mut())), 4);
    }
}

#[test]
fn a_root_a_type_or_an_operator_that_is_not_there_is_refused() {
    let [comm] = comms::<1>();
    on(0);
    let wild = (ncclDataType_t(12), ncclRedOp_t(77));
    for root in [-1, 1] {
        let code = nccl!(ncclReduce(null(), null_mut(), 0, I32, wild.1, root, comm, null_mut()));
        assert_eq!(code, 4);
        assert_eq!(nccl!(ncclBcast(null_mut(), 0, I32, root, comm, null_mut())), 4);
        assert_eq!(nccl!(ncclSend(null(), 0, I32, root, comm, null_mut())), 4);
    }
    assert_eq!(nccl!(ncclAllReduce(null(), null_mut(), 0, wild.0, SUM, comm, null_mut())), 4);
    assert_eq!(nccl!(ncclAllReduce(null(), null_mut(), 0, I32, wild.1, comm, null_mut())), 4);
    // Nothing of it stays: the communicator is as good as before.
    let mut code = ncclResult_t(9);
    assert_eq!(nccl!(ncclCommGetAsyncError(comm, &raw mut code)), 0);
    assert_eq!(code.0, 0);
    assert_eq!(nccl!(ncclAllReduce(null(), null_mut(), 0, I32, SUM, comm, null_mut())), 0);
}

#[test]
fn pointers_are_looked_up() {
    let [zero, one] = comms::<2>();
    let (own, other) = (memory(0, &[1, 2, 3, 4]), memory(1, &[1, 2, 3, 4]));
    let stream = stream(0);
    for wrong in [null_mut(), without_provenance_mut(0x40), own.wrapping_byte_add(4), other] {
        let code = nccl!(ncclAllReduce(wrong, own, 4, I32, SUM, zero, stream));
        assert_eq!(code, 4, "{wrong:?}");
        assert_eq!(nccl!(ncclRecv(wrong, 4, I32, 1, zero, stream)), 4, "{wrong:?}");
    }
    // A side that a rank does not have is not looked at.
    nccl!(ncclGroupStart());
    let wild = without_provenance_mut(0x40);
    let on_one = crate::machine::stream(1);
    assert_eq!(nccl!(ncclReduce(own, wild, 4, I32, SUM, 1, zero, stream)), 0);
    assert_eq!(nccl!(ncclReduce(other, other, 4, I32, SUM, 1, one, on_one)), 0);
    assert_eq!(nccl!(ncclGroupEnd()), 0);
    assert_eq!(crate::machine::read(1, other), [2, 4, 6, 8]);
}

#[test]
fn an_operator_belongs_to_its_communicator_and_type() {
    let [zero, one] = comms::<2>();
    let host = ncclScalarResidence_t::ncclScalarHostImmediate;
    let (mut op, mut three) = (SUM, 3_i32);
    let scalar = (&raw mut three).cast();
    assert_eq!(nccl!(ncclRedOpCreatePreMulSum(&raw mut op, scalar, I32, host, zero)), 0);
    assert!(op.0 >= 5);
    let wrong = nccl!(ncclAllReduce(null(), null_mut(), 0, I32, op, one, null_mut()));
    assert_eq!(wrong, 4, "of another communicator");
    let own = memory(0, &[0]);
    let f32 = ncclDataType_t::ncclFloat32;
    let wrong = nccl!(ncclAllReduce(own, own, 1, f32, op, zero, null_mut()));
    assert_eq!(wrong, 4, "of another type");
    assert_eq!(nccl!(ncclRedOpDestroy(SUM, zero)), 4, "not made at run time");
    assert_eq!(nccl!(ncclRedOpDestroy(op, one)), 4, "of another communicator");
    assert_eq!(nccl!(ncclRedOpDestroy(op, zero)), 0);
    assert_eq!(nccl!(ncclRedOpDestroy(op, zero)), 4, "gone");
    assert_eq!(nccl!(ncclAllReduce(null(), null_mut(), 0, I32, op, zero, null_mut())), 4, "gone");
}

#[test]
fn communicators_that_cannot_be_are_refused() {
    on(0);
    let mut comms = [null_mut(); 2];
    let list = comms.as_mut_ptr();
    assert_eq!(nccl!(ncclCommInitAll(null_mut(), 1, null())), 4);
    assert_eq!(nccl!(ncclCommInitAll(list, -1, null())), 4);
    assert_eq!(nccl!(ncclCommInitAll(list, 2, [0, 99].as_ptr())), 4);
    assert_eq!(nccl!(ncclCommInitAll(list, 2, [1, 1].as_ptr())), 5);
    let mut id = ncclUniqueId { internal: [0; 128] };
    assert_eq!(nccl!(ncclGetUniqueId(&raw mut id)), 0);
    for (ranks, rank) in [(0, 0), (2, 2), (2, -1)] {
        assert_eq!(nccl!(ncclCommInitRank(list, ranks, id, rank)), 4);
        assert_eq!(last_words(null_mut()), format!("Invalid rank requested : {rank}/{ranks}"));
    }
    assert_eq!(nccl!(ncclCommInitRank(null_mut(), 1, id, 0)), 4);
    let mut config = NCCL_CONFIG_INITIALIZER;
    config.magic = 7;
    assert_eq!(nccl!(ncclCommInitRankConfig(list, 1, id, 0, &raw mut config)), 4);
    config = NCCL_CONFIG_INITIALIZER;
    assert_eq!(nccl!(ncclCommInitRankConfig(list, 1, id, 0, &raw mut config)), 0);
    assert!(!comms[0].is_null());
}
