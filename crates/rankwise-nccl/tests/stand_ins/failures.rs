//! What the ranks do to each other.

use std::time::Duration;

use rankwise_comm::prelude::*;
use rankwise_comm::{ErrorKind, Fault};
use rankwise_nccl::Comm;

use crate::machine::{comms, run};

fn of_the_library(error: &Error) -> (i64, &str) {
    match error.fault() {
        Fault::Library { code, text, .. } => {
            assert_eq!(error.kind(), ErrorKind::Peer, "{text}");
            (*code, text)
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_mismatch_is_the_same_error_on_every_rank_and_stays() {
    let ends = run(3, |comm| {
        let len = if comm.rank().index() == 1 { 5 } else { 4 };
        let mut x = comm.buffer::<i32>(len).unwrap();
        let enqueued = comm.all_reduce_in_place(Reduction::Sum, &mut x);
        let waited = enqueued.and_then(|()| comm.stream().fence()?.wait()).unwrap_err();
        let read = comm.stream().read(&x).unwrap_err();
        let again = comm.all_reduce_in_place(Reduction::Sum, &mut x).unwrap_err();
        (waited, read, again)
    });
    let (first, ..) = &ends[0];
    let (code, text) = of_the_library(first);
    assert_eq!(code, 5, "{text}");
    assert!(text.contains("count"), "{text}");
    for (waited, read, again) in &ends {
        assert_eq!([waited, read, again], [first; 3]);
    }
}

#[test]
fn a_rank_that_leaves_is_named_to_those_who_wait_for_it() {
    let ends = run(3, |comm| {
        if comm.rank().index() == 2 {
            return None; // drops its handle
        }
        let mut x = comm.buffer::<f32>(4).unwrap();
        let enqueued = comm.all_reduce_in_place(Reduction::Sum, &mut x);
        Some(enqueued.and_then(|()| comm.stream().fence()?.wait()).unwrap_err())
    });
    let [Some(zero), Some(one), None] = &ends[..] else { panic!("{ends:?}") };
    assert_eq!(zero, one);
    let (code, text) = of_the_library(zero);
    assert_eq!(code, 6, "{text}");
    assert!(text.contains("rank 2"), "{text}");
}

/// Two ranks of which the second never comes.
fn alone() -> (Comm, Comm) {
    let mut comms = comms(2).into_iter();
    (comms.next().unwrap(), comms.next().unwrap())
}

#[test]
fn a_deadline_ends_a_wait_and_nothing_else() {
    let (zero, one) = alone();
    let mut x = zero.buffer::<i32>(1).unwrap();
    zero.stream().write(&mut x, &[1]).unwrap();
    zero.all_reduce_in_place(Reduction::Sum, &mut x).unwrap();
    let fence = zero.stream().fence().unwrap();
    let error = fence.wait_within(Duration::from_millis(20)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Peer);
    assert!(error.to_string().contains("work of world on device 0 is not done"), "{error}");
    let mut y = one.buffer::<i32>(1).unwrap();
    one.stream().write(&mut y, &[2]).unwrap();
    one.all_reduce_in_place(Reduction::Sum, &mut y).unwrap();
    fence.wait().unwrap();
    assert_eq!(zero.stream().read(&x).unwrap(), [3]);
}

#[test]
fn an_abort_from_another_thread_ends_a_wait() {
    let (zero, one) = alone();
    let mut x = zero.buffer::<i32>(1).unwrap();
    zero.all_reduce_in_place(Reduction::Sum, &mut x).unwrap();
    let handle = zero.abort_handle();
    let aborting = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        handle.abort("enough");
        handle.abort("again");
    });
    let error = zero.stream().fence().unwrap().wait().unwrap_err();
    aborting.join().unwrap();
    let Fault::Closed { how, communicator, .. } = error.fault() else { panic!("{error}") };
    assert_eq!((how.as_str(), communicator.as_str()), ("aborted: enough", "world"));
    assert_eq!(zero.all_reduce_in_place(Reduction::Sum, &mut x).unwrap_err(), error);
    assert_eq!(zero.split(None, 0).unwrap_err(), error);
    // The peer learns it too.
    let mut y = one.buffer::<i32>(1).unwrap();
    let enqueued = one.all_reduce_in_place(Reduction::Sum, &mut y);
    let error = enqueued.and_then(|()| one.stream().fence()?.wait()).unwrap_err();
    assert_eq!(of_the_library(&error).0, 6, "{error}");
    drop((x, y));
}

#[test]
fn an_abort_ends_a_split_that_waits_for_peers() {
    let (zero, one) = alone();
    let pending = zero.split(Some(0), 0).unwrap();
    assert!(pending.fence().wait_within(Duration::from_millis(20)).is_err());
    zero.abort_handle().abort("nobody comes");
    let error = pending.wait().unwrap_err();
    assert!(error.to_string().contains("aborted: nobody comes"), "{error}");
    drop(one);
}

#[test]
fn what_is_refused_at_the_call_leaves_the_communicator_usable() {
    let ends = run(2, |comm| {
        let x = comm.buffer::<i32>(3).unwrap();
        let mut y = comm.buffer::<i32>(4).unwrap();
        let error = comm.all_reduce(Reduction::Sum, &x, &mut y).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Caller);
        comm.stream().write(&mut y, &[1, 2, 3, 4]).unwrap();
        comm.all_reduce_in_place(Reduction::Max, &mut y).unwrap();
        comm.stream().read(&y).unwrap()
    });
    assert_eq!(ends, [[1, 2, 3, 4], [1, 2, 3, 4]]);
}

#[test]
fn what_belongs_to_another_device_is_refused() {
    let comms = comms(2);
    let mut x = comms[0].buffer::<i32>(1).unwrap();
    let foreign = comms[0].on(comms[1].stream()).all_reduce_in_place(Reduction::Sum, &mut x);
    let error = foreign.unwrap_err();
    assert_eq!(error.to_string(), "found a stream of device 1, needs one of device 0");
    let error = comms[1].stream().write(&mut x, &[1]).unwrap_err();
    assert!(matches!(error.fault(), Fault::ForeignMemory { .. }), "{error}");
}
