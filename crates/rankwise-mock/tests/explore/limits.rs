//! What bounds an exploration, and programs that cannot be explored.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use rankwise_comm::Fault;
use rankwise_comm::prelude::*;
use rankwise_mock::{Comm, Deadlines, Exploration, Explored, Orders, Trouble, host_step};

use crate::watchdog::in_time;

fn sum(comm: &Comm) -> Result<(), Error> {
    let mut x = comm.buffer::<i32>(1)?;
    comm.all_reduce_in_place(Reduction::Sum, &mut x)
}

fn given_up<T>(explored: &Explored<T>) -> Trouble {
    assert!(!explored.is_complete());
    explored.given_up().expect("given up").trouble().clone()
}

#[test]
fn a_limit_of_schedules_leaves_it_incomplete() {
    // 6 orders of two ranks that do nothing.
    for (max_schedules, complete) in [(5, false), (6, true), (7, true), (0, false)] {
        let explored =
            in_time(move || Exploration::of(2).max_schedules(max_schedules).run(|_| Ok(())));
        assert_eq!(explored.schedules(), max_schedules.min(6));
        assert_eq!(explored.is_complete(), complete, "{max_schedules}");
        assert!(explored.failure().is_none());
    }
}

#[test]
fn a_run_without_end_is_given_up() {
    let explored = in_time(|| {
        Exploration::of(2).max_steps(100).run(|comm| {
            let mut x = comm.buffer::<i32>(1)?;
            loop {
                comm.stream().write(&mut x, &[1])?;
                if comm.rank().index() == 1 {
                    return Ok(());
                }
            }
        })
    });
    assert_eq!(given_up(&explored), Trouble::Endless { max_steps: 100 });
    assert_eq!((explored.schedules(), explored.deepest()), (0, 100));
}

#[test]
fn whoever_polls_until_it_is_over_lets_others_go_first() {
    for orders in [Orders::All, Orders::Reduced] {
        let explored = in_time(move || {
            Exploration::of(2).orders(orders).run(|comm| {
                sum(comm)?;
                let fence = comm.stream().fence()?;
                while !fence.is_done() {}
                Ok(())
            })
        });
        assert!(explored.is_complete() && explored.failure().is_none(), "{orders:?}");
        assert!(explored.held_back() > 0, "{orders:?}");
    }
}

#[test]
fn a_poller_that_gives_up_is_given_the_chance() {
    // Whether rank 0 has given up.
    let gives_up = |comm: &Comm| {
        sum(comm)?;
        let fence = comm.stream().fence()?;
        Ok(comm.rank().index() == 0 && !(0..3).any(|_| fence.is_done()))
    };
    let explored = |polls| in_time(move || Exploration::of(2).vain_polls(polls).run(gives_up));
    // It polls three times in a row before rank 1 has come, if it may.
    let (three, one) = (explored(3), explored(1));
    assert_eq!((three.held_back(), three.outcomes().len()), (0, 2));
    // Else something happens between two of its polls. Rank 1 begins and calls: the third poll
    // comes after that.
    assert!(one.held_back() > 0);
    assert_eq!(one.outcomes().len(), 1);
}

#[test]
fn ranks_that_wait_for_each_other_outside_are_named() {
    let explored = in_time(|| {
        Exploration::of(2).patience(Duration::from_millis(50)).run_with(
            || Barrier::new(2),
            |comm, barrier| {
                barrier.wait();
                sum(comm)
            },
        )
    });
    let patience = Duration::from_millis(50);
    assert_eq!(given_up(&explored), Trouble::Outside { rank: 0, patience });
    let text = explored.failure().expect("given up").to_string();
    assert!(text.starts_with("in the order `0`: rank 0 came to no call for 50ms"), "{text}");
}

#[test]
fn a_thread_that_never_comes_back_is_left_behind() {
    let explored: Explored<()> = in_time(|| {
        Exploration::of(2).patience(Duration::from_millis(50)).run(|comm| {
            if comm.rank().index() == 1 {
                loop {
                    thread::park();
                }
            }
            sum(comm)?;
            comm.stream().fence()?.wait()
        })
    });
    assert!(matches!(given_up(&explored), Trouble::Outside { rank: 1, .. }));
}

#[test]
fn what_an_earlier_run_has_left_is_noticed() {
    let runs = Arc::new(AtomicU32::new(0));
    let explored = in_time(move || {
        Exploration::of(2).run(move |comm| {
            if comm.rank().index() == 0 && runs.fetch_add(1, Ordering::Relaxed) > 0 {
                host_step();
            }
            Ok(())
        })
    });
    let Trouble::Undetermined { step: 1, expected, found } = given_up(&explored) else {
        panic!("{:?}", explored.failure());
    };
    assert_eq!(expected, "rank 0: end; rank 1: begin");
    assert_eq!(found, "rank 0: host_step; rank 1: begin");
}

#[test]
fn a_thread_of_no_rank_is_noticed() {
    let explored = in_time(|| {
        Exploration::of(2)
            .run(|comm| thread::scope(|it| it.spawn(|| sum(comm)).join().expect("no panic")))
    });
    assert_eq!(given_up(&explored), Trouble::Stranger);
}

#[test]
fn deadlines_pass_when_nothing_else_happens_or_at_any_time() {
    let within = |comm: &Comm| {
        sum(comm)?;
        let waited = comm.stream().fence()?.wait_within(Duration::from_hours(1));
        match waited.as_ref().map_err(Error::fault) {
            Ok(()) => Ok("in time"),
            Err(Fault::TimedOut { .. }) => Ok("too late"),
            Err(_) => Err(waited.unwrap_err()),
        }
    };
    let last = in_time(move || Exploration::of(2).run(within));
    assert!(last.is_complete() && last.failure().is_none());
    let any = in_time(move || Exploration::of(2).deadlines(Deadlines::Any).run(within));
    assert!(any.is_complete());
    // Both in time, or one of them too late: the other's call has come by then.
    let ends = any.outcomes().iter().map(|it| it.ends().iter().filter_map(|end| end.value()));
    let mut ends: Vec<Vec<_>> = ends.map(|it| it.copied().collect()).collect();
    ends.sort_unstable();
    assert_eq!(ends, [["in time", "in time"], ["in time", "too late"], ["too late", "in time"]]);

    // Here rank 1 comes only once rank 0 has given up waiting.
    let late = in_time(|| {
        Exploration::of(2).run(|comm| {
            let peer = comm.ranks().ranks().find(|rank| *rank != comm.rank()).expect("two");
            let mut word = comm.buffer::<i32>(1)?;
            if comm.rank().index() == 1 {
                comm.recv(peer, &mut word)?;
                comm.stream().fence()?.wait()?;
                sum(comm)?;
                return Ok(true);
            }
            sum(comm)?;
            let other = comm.new_stream()?;
            let waited = comm.stream().fence()?.wait_within(Duration::from_hours(1));
            comm.on(&other).send(peer, &word)?;
            Ok(waited.is_err())
        })
    });
    assert!(late.is_complete() && late.failure().is_none(), "{:?}", late.failure());
    assert_eq!(late.outcomes()[0].ends()[0].value(), Some(&true));
}
