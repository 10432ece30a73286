//! How ranks leave.

use std::thread;
use std::time::Duration;

use rankwise_comm::Fault;
use rankwise_comm::prelude::*;

use crate::machine::{comms, run};

const SOON: Duration = Duration::from_secs(20);

#[test]
fn work_that_was_enqueued_is_done_after_the_handle_is_dropped() {
    let ends = run(2, |comm| {
        let (stream, mut x) = (comm.new_stream().unwrap(), comm.buffer::<i32>(1 << 18).unwrap());
        stream.write(&mut x, &vec![1; 1 << 18]).unwrap();
        for _ in 0..4 {
            comm.on(&stream).all_reduce_in_place(Reduction::Sum, &mut x).unwrap();
        }
        drop(comm);
        stream.read(&x).unwrap().iter().all(|value| *value == 16)
    });
    assert_eq!(ends, [true, true]);
}

#[test]
fn closing_waits_for_what_was_enqueued() {
    let mut comms = comms(2).into_iter();
    let (zero, one) = (comms.next().unwrap(), comms.next().unwrap());
    let mut x = zero.buffer::<i32>(1).unwrap();
    zero.all_reduce_in_place(Reduction::Max, &mut x).unwrap();
    let closing = thread::spawn(move || zero.close(SOON));
    thread::sleep(Duration::from_millis(20));
    assert!(!closing.is_finished());
    let mut y = one.buffer::<i32>(1).unwrap();
    one.all_reduce_in_place(Reduction::Max, &mut y).unwrap();
    closing.join().unwrap().unwrap();
    one.close(SOON).unwrap();
}

/// A call's end is not the end: what reads its result stands behind it.
#[test]
fn closing_waits_for_copies_too() {
    const ELEMENTS: usize = 1 << 22; // 16 MiB, which take a while
    for on_another in [false, true] {
        let comm = comms(1).remove(0);
        let mut x = comm.buffer::<i32>(ELEMENTS).unwrap();
        let other = comm.new_stream().unwrap();
        let stream = if on_another { &other } else { comm.stream() };
        stream.write(&mut x, &vec![3; ELEMENTS]).unwrap();
        comm.on(stream).all_reduce_in_place(Reduction::Sum, &mut x).unwrap();
        let fetched = stream.fetch(&x).unwrap();
        drop(other);
        comm.close(SOON).unwrap();
        assert!(fetched.fence().is_done());
        assert!(fetched.wait().unwrap().iter().all(|value| *value == 3));
    }
}

#[test]
fn closing_gives_up_what_no_peer_answers() {
    let mut comms = comms(2).into_iter();
    let (zero, _one) = (comms.next().unwrap(), comms.next().unwrap());
    let mut x = zero.buffer::<i32>(1).unwrap();
    zero.all_reduce_in_place(Reduction::Sum, &mut x).unwrap();
    let fence = zero.stream().fence().unwrap();
    let error = zero.close(Duration::from_millis(20)).unwrap_err();
    assert!(matches!(error.fault(), Fault::TimedOut { .. }), "{error}");
    assert!(matches!(fence.wait().unwrap_err().fault(), Fault::Closed { .. }));
}

#[test]
fn one_thread_closes_all_of_its_ranks() {
    for comm in comms(3) {
        comm.close(SOON).unwrap();
    }
}

#[test]
fn communicators_come_and_go() {
    // Destroying one that has failed leaves NCCL's thread inside a group: not ours.
    for _ in 0..3 {
        let ends = run(2, |comm| {
            let mut x = comm.buffer::<u8>(1 + comm.rank().index() as usize).unwrap();
            let enqueued = comm.all_reduce_in_place(Reduction::Sum, &mut x);
            enqueued.and_then(|()| comm.stream().fence()?.wait()).is_err()
        });
        assert_eq!(ends, [true, true]);
        let ends = run(2, |comm| {
            let mut x = comm.buffer::<u8>(1).unwrap();
            comm.stream().write(&mut x, &[3]).unwrap();
            comm.all_reduce_in_place(Reduction::Sum, &mut x).unwrap();
            comm.stream().read(&x).unwrap()
        });
        assert_eq!(ends, [[6], [6]]);
    }
}
