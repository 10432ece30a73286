//! Nothing's drop matters: whatever is leaked or dropped early, no memory is freed or
//! aliased while work uses it. The stand-in for libcuda fails the device if it is.

use std::mem;

use rankwise_comm::prelude::*;

use crate::machine::run;

const LONG: usize = 1 << 18;

#[test]
fn buffers_can_be_dropped_while_work_uses_them() {
    let ends = run(2, |comm| {
        let mut kept = comm.buffer::<i32>(LONG).unwrap();
        for round in 1..=8 {
            let other = comm.new_stream().unwrap();
            let mut x = comm.buffer::<i32>(LONG).unwrap();
            other.write(&mut x, &vec![round; LONG]).unwrap();
            comm.all_reduce(Reduction::Sum, &x, &mut kept).unwrap();
            drop(x);
            drop(other);
        }
        comm.stream().read(&kept).unwrap().iter().all(|value| *value == 16)
    });
    assert_eq!(ends, [true, true]);
}

#[test]
fn everything_can_be_leaked() {
    let ends = run(2, |comm| {
        let mut kept = comm.buffer::<i32>(LONG).unwrap();
        let other = comm.new_stream().unwrap();
        let mut x = comm.buffer::<i32>(LONG).unwrap();
        other.write(&mut x, &vec![5; LONG]).unwrap();
        comm.on(&other).all_reduce(Reduction::Sum, &x, &mut kept).unwrap();
        mem::forget(other.fence().unwrap());
        mem::forget(other.fetch(&x).unwrap());
        mem::forget(comm.split(Some(0), 0).unwrap());
        mem::forget(comm.abort_handle());
        mem::forget(x);
        mem::forget(other);
        let read = comm.stream().read(&kept).unwrap();
        mem::forget(kept);
        read.iter().all(|value| *value == 10)
    });
    assert_eq!(ends, [true, true]);
}

#[test]
fn pendings_can_be_dropped_before_they_are_done() {
    let ends = run(2, |comm| {
        let mut x = comm.buffer::<i32>(LONG).unwrap();
        comm.stream().write(&mut x, &vec![1; LONG]).unwrap();
        for _ in 0..4 {
            comm.all_reduce_in_place(Reduction::Sum, &mut x).unwrap();
            drop(comm.stream().fetch(&x).unwrap());
        }
        comm.stream().read(&x).unwrap().iter().all(|value| *value == 16)
    });
    assert_eq!(ends, [true, true]);
}

#[test]
fn a_leaked_communicator_harms_nobody() {
    let ends = run(2, |comm| {
        let mut x = comm.buffer::<i32>(2).unwrap();
        comm.stream().write(&mut x, &[1, 2]).unwrap();
        comm.all_reduce_in_place(Reduction::Sum, &mut x).unwrap();
        let read = comm.stream().read(&x).unwrap();
        mem::forget(comm);
        read
    });
    assert_eq!(ends, [[2, 4], [2, 4]]);
}
