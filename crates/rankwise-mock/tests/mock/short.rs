//! Calls that go the short way leave nothing out that somebody has to be told.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rankwise_comm::prelude::*;
use rankwise_mock::{Comm, World};

use crate::watchdog::in_time;

fn sums(comm: &Comm, calls: u32) -> Result<(), Error> {
    let mut x = comm.buffer::<f32>(4)?;
    for _ in 0..calls {
        comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
        comm.stream().fence()?.wait()?;
    }
    Ok(())
}

/// The text of the report that every rank of three is given.
fn report(program: fn(&Comm) -> Result<(), Error>) -> String {
    let ended = in_time(move || World::of(3).run(program));
    let mut texts: Vec<_> =
        ended.into_iter().map(|ended| ended.expect_err("a report").to_string()).collect();
    texts.dedup();
    assert_eq!(texts.len(), 1, "{texts:#?}");
    texts.remove(0)
}

#[test]
fn a_report_numbers_and_shows_the_calls_before_it() {
    let text = report(|comm| {
        sums(comm, 40)?;
        let (mut x, mut y) = (comm.buffer::<f32>(4)?, comm.buffer::<f32>(12)?);
        comm.all_reduce_in_place(Reduction::Max, &mut x)?;
        if comm.rank().index() == 1 {
            comm.all_gather(&x, &mut y)?;
        } else {
            comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
        }
        comm.stream().fence()?.wait()
    });
    // Forty, one, and then this one; the rank's last four are shown.
    let numbers: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_once("collective ")?.1.split_whitespace().next())
        .collect();
    assert_eq!(numbers, ["41", "38", "39", "40", "41"], "{text}");
}

#[test]
fn a_communicator_goes_on_after_another_has_failed() {
    let ended = in_time(|| {
        World::of(4).run(|comm| {
            let pair = comm.split(Some(comm.rank().index() / 2), 0)?.wait()?.expect("a colour");
            sums(comm, 5)?;
            sums(&pair, 5)?;
            let mut x = comm.buffer::<i32>(1 + usize::from(comm.rank().index() == 3))?;
            pair.all_reduce_in_place(Reduction::Sum, &mut x)?;
            let failed = pair.stream().fence()?.wait().is_err();
            sums(comm, 5)?;
            Ok::<_, Error>(failed)
        })
    });
    assert_eq!(ended, [Ok(false), Ok(false), Ok(true), Ok(true)]);
}

/// The ranks that have come sleep; the last is slow. Then all are quick again.
#[test]
fn a_call_may_change_from_the_short_way_to_the_long_one_and_back() {
    let ended = in_time(|| {
        World::of(3).run(|comm| {
            let mut x = comm.buffer::<u64>(1)?;
            comm.stream().write(&mut x, &[1])?;
            for call in 0..30 {
                if call % 10 == 4 && comm.rank().index() == call / 10 {
                    std::thread::sleep(Duration::from_millis(2));
                }
                comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
                if call % 3 == 0 {
                    comm.stream().fence()?.wait()?;
                }
            }
            comm.stream().read(&x)
        })
    });
    let expected = 3_u64.pow(30);
    assert_eq!(ended, [Ok(vec![expected]), Ok(vec![expected]), Ok(vec![expected])]);
}

/// A rank enqueues far more than there is room for, before its peers have come at all.
#[test]
fn a_rank_may_be_far_ahead() {
    let comms = World::of(2).communicators();
    let mut x: Vec<_> = comms.iter().map(|comm| comm.buffer::<i32>(1).unwrap()).collect();
    for (comm, x) in comms.iter().zip(&mut x) {
        comm.stream().write(x, &[1]).unwrap();
    }
    for (comm, x) in comms.iter().zip(&mut x) {
        for _ in 0..100 {
            comm.all_reduce_in_place(Reduction::Max, &mut *x).unwrap();
        }
    }
    for (comm, x) in comms.iter().zip(&x) {
        assert_eq!(comm.stream().read(x), Ok(vec![1]));
    }
}

/// What a rank has enqueued before it ends is carried out when its peer comes.
#[test]
fn what_a_dropped_handle_has_enqueued_is_done() {
    let mut comms = World::of(2).communicators();
    let (one, zero) = (comms.pop().unwrap(), comms.pop().unwrap());
    let mut x = zero.buffer::<i32>(1).unwrap();
    let mut y = one.buffer::<i32>(1).unwrap();
    zero.stream().write(&mut x, &[3]).unwrap();
    zero.all_reduce_in_place(Reduction::Sum, &mut x).unwrap();
    drop((zero, x));
    one.stream().write(&mut y, &[4]).unwrap();
    one.all_reduce_in_place(Reduction::Sum, &mut y).unwrap();
    assert_eq!(one.stream().read(&y), Ok(vec![7]));
}

/// Threads of one rank share its desk: each call has a number and a place of its own.
#[test]
fn threads_of_one_rank_take_turns() {
    const CALLS: u32 = 500;
    let done = AtomicU32::new(0);
    let worlds = World::of(2).many_drivers().communicators();
    let [zero, one] = &worlds[..] else { panic!("two ranks") };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let (stream, mut x) = (zero.new_stream().unwrap(), zero.buffer::<f32>(4).unwrap());
                for _ in 0..CALLS {
                    zero.on(&stream).all_reduce_in_place(Reduction::Sum, &mut x).unwrap();
                    stream.fence().unwrap().wait().unwrap();
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        scope.spawn(|| {
            let mut x = one.buffer::<f32>(4).unwrap();
            for _ in 0..2 * CALLS {
                one.all_reduce_in_place(Reduction::Sum, &mut x).unwrap();
                one.stream().fence().unwrap().wait().unwrap();
            }
        });
    });
    assert_eq!(done.load(Ordering::Relaxed), 2 * CALLS);
}
