//! The short way beside others: another thread of the rank, another stream of it that fails,
//! another communicator, another world.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rankwise_comm::Fence;
use rankwise_comm::prelude::*;
use rankwise_mock::{Comm, Fault, Faults, World};

use crate::watchdog::in_time;

/// A fence of a ticket that its stream has not had is refused, of whichever world it is.
#[test]
fn a_forged_fence_of_another_world_is_refused() {
    in_time(|| {
        let one = World::of(1).communicators().remove(0);
        let other = World::of(1).communicators().remove(0);
        let mut x = one.buffer::<i32>(1).expect("room");
        let fence = one.stream().fence().expect("a fence");
        let forged = Fence::new(fence.completion().clone(), 1);
        other.stream().wait_for(&forged).expect("asked later");
        let end = other.stream().fence();
        one.all_reduce_in_place(Reduction::Sum, &mut x).expect("alone");
        let ended = end.and_then(|end| end.wait());
        assert!(ended.is_err(), "{ended:?}");
    });
}

/// What a rank had called the short way when it was told of a failure, a report shows. In a
/// strict world every call goes the long way.
#[test]
fn where_a_rank_was_told_does_not_depend_on_the_way_of_its_calls() {
    let program = |comm: &Comm| {
        let rank = comm.rank().index();
        let pair = comm.split(Some(rank / 2), 0)?.wait()?.expect("a colour");
        let stream = comm.new_stream()?;
        let mut x = comm.buffer::<i32>(1 + usize::from(rank == 1))?;
        let mut y = comm.buffer::<f32>(1)?;
        if rank < 2 {
            pair.all_reduce_in_place(Reduction::Sum, &mut x)?; // of two sizes
        }
        thread::sleep(Duration::from_millis(20));
        for _ in 0..5 {
            comm.on(&stream).all_reduce_in_place(Reduction::Sum, &mut y)?;
            thread::sleep(Duration::from_millis(10));
        }
        if rank < 2 {
            pair.stream().fence()?.wait().expect_err("the sizes");
        }
        let two = comm.ranks().rank(2).expect("in the group");
        match rank {
            1 => comm.on(&stream).recv(two, &mut y)?,
            2 => comm.on(&stream).all_reduce_in_place(Reduction::Max, &mut y)?,
            _ => comm.on(&stream).all_reduce_in_place(Reduction::Sum, &mut y)?,
        }
        stream.fence()?.wait()
    };
    let text = move |world: World| {
        let ended = in_time(move || world.run(program));
        ended[2].clone().expect_err("a report").to_string()
    };
    assert_eq!(text(World::of(3)), text(World::of(3).strict()));
}

/// A device that fails takes its rank from the communicator, whichever stream it was.
#[test]
fn a_rank_whose_stream_has_failed_calls_on_another() {
    in_time(|| {
        let faults = Faults::none().at(0, "world", 0, Fault::LateError("broken".into()));
        let comms = World::of(2).with_faults(faults).communicators();
        let mut x: Vec<_> = comms.iter().map(|comm| comm.buffer::<i32>(1).expect("room")).collect();
        let mut y = comms[0].buffer::<i32>(1).expect("room");
        let other = comms[0].new_stream().expect("a stream");
        comms[0].all_reduce_in_place(Reduction::Sum, &mut x[0]).expect("enqueued");
        comms[0].all_reduce_in_place(Reduction::Sum, &mut x[0]).expect("enqueued");
        comms[1].all_reduce_in_place(Reduction::Sum, &mut x[1]).expect("enqueued");
        let told = comms[0].on(&other).all_reduce_in_place(Reduction::Sum, &mut y);
        let told = told.and_then(|()| other.fence()?.wait());
        assert!(told.as_ref().is_err_and(|told| told.kind() == ErrorKind::Device), "{told:?}");
    });
}

/// The same, where what it has to take back is a message: the table is open all the while.
#[test]
fn a_rank_that_takes_a_message_back_calls_no_collective() {
    in_time(|| {
        let faults = Faults::none().at(0, "world", 0, Fault::LateError("broken".into()));
        let comms = World::of(2).with_faults(faults).communicators();
        let mut x: Vec<_> = comms.iter().map(|comm| comm.buffer::<i32>(1).expect("room")).collect();
        let mut y = comms[0].buffer::<i32>(1).expect("room");
        let other = comms[0].new_stream().expect("a stream");
        let [zero, one] = [0, 1].map(|rank| comms[0].ranks().rank(rank).expect("in the group"));
        comms[0].send(one, &x[0]).expect("enqueued");
        comms[0].send(one, &x[0]).expect("enqueued");
        comms[1].recv(zero, &mut x[1]).expect("enqueued");
        let told = comms[0].on(&other).all_reduce_in_place(Reduction::Sum, &mut y);
        let told = told.and_then(|()| other.fence()?.wait());
        assert!(told.as_ref().is_err_and(|told| told.kind() == ErrorKind::Device), "{told:?}");
    });
}

/// A table that is closed and opened again at odd moments, in the middle of calls: no call
/// has the number of one before it.
#[test]
fn a_table_may_open_at_any_moment() {
    in_time(|| {
        let comms = World::of(3).many_drivers().communicators();
        let over = &AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let _ = comms[0].world_status(); // closes it
                    thread::sleep(Duration::from_micros(300));
                }
            });
            for comm in &comms {
                scope.spawn(move || {
                    while !over.load(Ordering::Relaxed) {
                        let fence = comm.stream().fence().expect("a fence");
                        let _ = fence.wait_within(Duration::from_micros(50));
                        thread::yield_now();
                    }
                });
            }
            let workers = comms.iter().map(|comm| scope.spawn(|| steps(comm)));
            let workers: Vec<_> = workers.collect();
            let ended: Vec<_> = workers.into_iter().map(thread::ScopedJoinHandle::join).collect();
            over.store(true, Ordering::Relaxed);
            assert!(ended.iter().all(|ended| matches!(ended, Ok(Ok(())))), "{ended:?}");
        });
    });
}

fn steps(comm: &Comm) -> Result<(), Error> {
    let mut x = comm.buffer::<f32>(4)?;
    for step in 0..3000_u32 {
        if step % 7 == comm.rank().index() {
            thread::sleep(Duration::from_micros(u64::from(step % 5) * 60));
        }
        comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
        match step % 4 {
            0 => comm.stream().fence()?.wait()?,
            1 => assert_eq!(comm.stream().read(&x)?.len(), 4),
            2 => comm.stream().write(&mut x, &[1.0; 4])?,
            _ => {}
        }
    }
    comm.stream().fence()?.wait()
}

/// A message contradicts another while a collective is at its table: that fails too.
#[test]
fn a_call_at_a_table_fails_with_its_communicator() {
    in_time(|| {
        let comms = World::of(3).communicators();
        let [zero, one] = [0, 1].map(|rank| comms[0].ranks().rank(rank).expect("in the group"));
        let (sent, mut x) =
            (comms[0].buffer::<i32>(1).expect("room"), comms[2].buffer::<i32>(1).expect("room"));
        let mut received = comms[1].buffer::<i32>(2).expect("room");
        comms[2].all_reduce_in_place(Reduction::Sum, &mut x).expect("enqueued");
        comms[0].send(one, &sent).expect("enqueued");
        comms[1].recv(zero, &mut received).expect("enqueued");
        let told =
            [0, 1, 2].map(|rank| comms[rank].stream().fence().and_then(|fence| fence.wait()));
        assert!(told[0].as_ref().is_err_and(|told| told.report().is_some()), "{told:?}");
        assert!(told.iter().all(|other| *other == told[0]), "{told:?}");
    });
}

/// A stream that follows one that has failed takes back what stands behind: its peers learn
/// of it, although nobody does anything after that.
#[test]
fn what_a_follower_takes_back_is_told_to_those_who_sleep() {
    in_time(|| {
        let faults = Faults::none().at(0, "world", 0, Fault::LateError("broken".into()));
        let comms = World::of(3).with_faults(faults).communicators();
        let [zero, two] = [0, 2].map(|rank| comms[0].ranks().rank(rank).expect("in the group"));
        let mut x: Vec<_> = comms.iter().map(|comm| comm.buffer::<i32>(1).expect("room")).collect();
        let mut y: Vec<_> = comms.iter().map(|comm| comm.buffer::<i32>(1).expect("room")).collect();
        let (beside, failing) = (comms[0].new_stream().expect("a stream"), comms[0].stream());
        comms[0].all_reduce_in_place(Reduction::Sum, &mut x[0]).expect("enqueued");
        comms[0].on(&beside).recv(two, &mut y[0]).expect("enqueued");
        beside.wait_for(&failing.fence().expect("a fence")).expect("enqueued");
        comms[0].on(&beside).all_reduce_in_place(Reduction::Sum, &mut y[0]).expect("enqueued");
        for rank in [1, 2] {
            comms[rank].all_reduce_in_place(Reduction::Sum, &mut x[rank]).expect("enqueued");
            comms[rank].all_reduce_in_place(Reduction::Sum, &mut x[rank]).expect("enqueued");
        }
        thread::scope(|scope| {
            let told = scope.spawn(|| comms[1].stream().fence()?.wait());
            thread::sleep(Duration::from_millis(20));
            let other = comms[2].new_stream().expect("a stream");
            comms[2].on(&other).send(zero, &y[2]).expect("enqueued");
            let told = told.join().expect("no panic");
            assert!(told.as_ref().is_err_and(|told| told.report().is_some()), "{told:?}");
        });
    });
}

/// The same of a rank whose program is over when its work is taken back.
#[test]
fn what_is_taken_back_of_an_ended_rank_is_told_to_those_who_sleep() {
    let ended = in_time(|| {
        let faults = Faults::none().at(0, "world", 0, Fault::LateError("broken".into()));
        World::of(3).with_faults(faults).run(|comm| {
            let rank = |index| comm.ranks().rank(index).expect("in the group");
            let (mut x, mut y) = (comm.buffer::<i32>(1)?, comm.buffer::<i32>(1)?);
            let beside = comm.new_stream()?;
            comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
            if comm.rank() == rank(0) {
                comm.on(&beside).recv(rank(2), &mut y)?;
                beside.wait_for(&comm.stream().fence()?)?;
                return comm.on(&beside).all_reduce_in_place(Reduction::Sum, &mut y);
            }
            comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
            if comm.rank() == rank(1) {
                return comm.stream().fence()?.wait();
            }
            thread::sleep(Duration::from_millis(20));
            comm.on(&beside).send(rank(0), &y)
        })
    });
    assert!(ended[1].as_ref().is_err_and(|told| told.report().is_some()), "{ended:?}");
}
