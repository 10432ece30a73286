//! Orders as text, and the same order again.

use rankwise_comm::prelude::*;
use rankwise_mock::{Exploration, Failure, ParseScheduleError, Schedule, Trouble, host_step};

use crate::watchdog::in_time;

fn two_steps(order: &str) -> rankwise_mock::Explored<u32> {
    let schedule: Schedule = order.parse().expect("a schedule");
    in_time(move || {
        Exploration::of(2).replay(&schedule, |comm| {
            host_step();
            Ok(comm.rank().index())
        })
    })
}

#[test]
fn a_schedule_is_text_and_back() {
    for (text, short) in [
        ("", ""),
        ("0", "0"),
        ("0 0 1", "0*2 1"),
        ("0*2 0 1*1\n1", "0*3 1*2"),
        ("7*18446744073709551615", "7*18446744073709551615"),
    ] {
        let schedule: Schedule = text.parse().unwrap();
        assert_eq!(schedule.to_string(), short);
        assert_eq!(short.parse(), Ok(schedule), "{text}");
    }
    for (text, token, position) in [
        ("0 -1", "-1", 1),
        ("0*", "0*", 0),
        ("0*0", "0*0", 0),
        ("1 1 0*2*3", "0*2*3", 2),
        ("4294967296", "4294967296", 0),
        // Nobody could count these.
        ("0*18446744073709551615 0", "0", 1),
    ] {
        let error = ParseScheduleError { token: token.to_owned(), position };
        assert_eq!(text.parse::<Schedule>(), Err(error));
    }
}

#[test]
fn a_replay_follows_its_order_and_then_that_of_the_ranks() {
    for (order, followed) in
        [("1 0 1 0 1 0", "1 0 1 0 1 0"), ("1*3", "1*3 0*3"), ("", "0*3 1*3"), ("1", "1 0*3 1*2")]
    {
        let explored = two_steps(order);
        assert_eq!(explored.outcomes()[0].schedule().to_string(), followed);
        assert_eq!(explored.schedules(), 1);
        assert!(explored.failure().is_none());
    }
}

#[test]
fn an_order_that_does_not_fit_is_said_to() {
    for (order, at, whose) in [("0 2", 1, 2), ("0*3 1 0", 4, 0), ("0*3 1*3 1", 6, 1)] {
        let explored = two_steps(order);
        let Some(Trouble::Unfit { step, rank, .. }) = explored.failure().map(Failure::trouble)
        else {
            panic!("{order}: {:?}", explored.failure());
        };
        assert_eq!((*step, *rank), (at, whose), "{order}");
        assert!(!explored.is_complete());
    }
}

#[test]
fn a_wait_is_replayed() {
    let program = |comm: &rankwise_mock::Comm| {
        let mut x = comm.buffer::<i32>(1)?;
        comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
        comm.stream().fence()?.wait()
    };
    // Rank 0 begins, calls, waits and sleeps; rank 1 begins, calls; rank 0 goes on and ends.
    let order: Schedule = "0*3 1*2 0*2 1*2".parse().unwrap();
    let explored = in_time(move || Exploration::of(2).replay(&order, program));
    assert!(explored.failure().is_none(), "{}", explored.failure().unwrap());
    // It cannot go on before.
    let order: Schedule = "0*4".parse().unwrap();
    let explored = in_time(move || Exploration::of(2).replay(&order, program));
    assert!(matches!(
        explored.failure().map(Failure::trouble),
        Some(Trouble::Unfit { step: 3, rank: 0, .. })
    ));
}
