//! How many orders there are: numbers worked out by hand.

use rankwise_comm::prelude::*;
use rankwise_mock::{Comm, Exploration, Explored, Orders, host_step};

use crate::watchdog::in_time;

fn sum(comm: &Comm) -> Result<Vec<i32>, Error> {
    let mut x = comm.buffer::<i32>(1)?;
    comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
    comm.stream().read(&x)
}

/// A program of which rank `r` takes `steps[r]` steps besides its begin and its end.
fn steps(orders: Orders, steps: &'static [u32]) -> Explored<()> {
    let ranks = u32::try_from(steps.len()).expect("small");
    in_time(move || {
        Exploration::of(ranks).orders(orders).run(move |comm| {
            let own = usize::try_from(comm.rank().index()).expect("small");
            for _ in 0..steps[own] {
                host_step();
            }
            Ok(())
        })
    })
}

#[test]
fn two_ranks_interleave_in_as_many_ways_as_their_steps_are_chosen() {
    // With k and m steps, begin and end included: (k + m)! / k! m!.
    for (own, schedules) in [
        (&[0, 0][..], 6), // 4! / 2! 2!
        (&[1, 0], 10),    // 5! / 3! 2!
        (&[1, 2], 35),    // 7! / 3! 4!
        (&[3, 3], 252),   // 10! / 5! 5!
        (&[0, 5], 36),    // 9! / 2! 7!
        (&[4], 1),
        (&[0, 0, 0], 90),      // 6! / 2! 2! 2!
        (&[1, 1, 0], 560),     // 8! / 3! 3! 2!
        (&[0, 0, 0, 0], 2520), // 8! / 2!⁴
    ] {
        let explored = steps(Orders::All, own);
        assert_eq!(explored.schedules(), schedules, "{own:?}");
        let length: u64 = own.iter().map(|steps| u64::from(steps + 2)).sum();
        assert_eq!(explored.deepest(), length, "{own:?}");
        // Each of them is as long as any other.
        assert_eq!(explored.steps(), schedules * length, "{own:?}");
        assert!(explored.is_complete() && explored.failure().is_none(), "{own:?}");
        assert_eq!(explored.outcomes()[0].times(), schedules, "{own:?}");
    }
}

#[test]
fn reduced_only_steps_that_touch_the_host_are_told_apart() {
    // Begins and ends touch nothing. Of k and m steps of the host each order counts.
    for (own, schedules) in [
        (&[0, 0][..], 1),
        (&[0, 7], 1),
        (&[1, 1], 2),
        (&[2, 2], 6),
        (&[3, 2], 10),
        (&[1, 1, 1], 6),
        (&[0, 0, 0, 0], 1),
    ] {
        let explored = steps(Orders::Reduced, own);
        assert_eq!(explored.schedules(), schedules, "{own:?}");
        assert!(explored.is_complete() && explored.failure().is_none(), "{own:?}");
    }
}

#[test]
fn calls_and_uses_of_streams_are_steps() {
    // Begin, two writes, end on rank 0; begin, one write, end on rank 1: 7! / 4! 3!.
    let explored = in_time(|| {
        Exploration::of(2).run(|comm| {
            let mut x = comm.buffer::<i32>(1)?;
            for _ in comm.rank().index()..2 {
                comm.stream().write(&mut x, &[1])?;
            }
            Ok(())
        })
    });
    assert_eq!(explored.schedules(), 35);
    assert!(explored.failure().is_none());
}

#[test]
fn a_wait_that_is_not_over_is_two_steps_and_one_that_is_over_is_one() {
    // Alone, nothing is ever waited for: begin, call, read, wait, end.
    let alone = in_time(|| Exploration::of(1).run(sum));
    assert_eq!((alone.schedules(), alone.deepest()), (1, 5));
    // Of two, whoever calls first may come to its wait before the other calls.
    let two = in_time(|| Exploration::of(2).run(sum));
    assert!(two.failure().is_none());
    assert_eq!(two.deepest(), 11, "one of them slept");
    let fenced = in_time(|| {
        Exploration::of(2).run(|comm| {
            let mut x = comm.buffer::<i32>(1)?;
            comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
            comm.stream().fence()?.wait()
        })
    });
    assert_eq!((fenced.schedules(), orders_of_a_sum(2)), (84, 84));
    // How many: as many as orders of begin, call, read, wait, end on both ranks, where a rank
    // whose wait comes before the other's call has one step more, after that call.
    assert_eq!(two.schedules(), orders_of_a_sum(3));
}

/// By brute force over the two programs as they are described, and nothing else. The wait is
/// step `wait` of each; the call is step 1.
fn orders_of_a_sum(wait: u8) -> u64 {
    // Per rank, what it does next: 0 begin, 1 call, 2 read if it does, then wait, go on, end.
    fn count(at: [u8; 2], wait: u8) -> u64 {
        let (asleep, end, over) = (wait + 1, wait + 2, wait + 3);
        if at == [over, over] {
            return 1;
        }
        let met = at.iter().all(|at| *at >= 2);
        let mut orders = 0;
        for rank in 0..2 {
            let mut then = at;
            then[rank] = match at[rank] {
                at if at == over || at == asleep && !met => continue,
                at if at == wait && met => end,
                at => at + 1,
            };
            orders += count(then, wait);
        }
        orders
    }
    count([0, 0], wait)
}

#[test]
fn fewer_orders_when_reduced_and_the_same_outcomes() {
    for ranks in [1, 2] {
        let all = in_time(move || Exploration::of(ranks).run(sum));
        let reduced = in_time(move || Exploration::of(ranks).orders(Orders::Reduced).run(sum));
        assert!(all.is_complete() && reduced.is_complete());
        assert!(reduced.schedules() <= all.schedules());
        assert_eq!(all.outcomes()[0].ends(), reduced.outcomes()[0].ends());
        assert_eq!((all.outcomes().len(), reduced.outcomes().len()), (1, 1));
    }
    // The calls agree, so who makes the last does not matter; what does is who was asleep
    // when it was made: any of the ranks, but not all. Some of these may be met twice.
    for (ranks, different) in [(1, 1), (2, 3), (3, 7), (4, 15)] {
        let explored = in_time(move || Exploration::of(ranks).orders(Orders::Reduced).run(sum));
        assert!(explored.is_complete() && explored.failure().is_none());
        let found = explored.schedules();
        assert!((different..2 * different).contains(&found), "{ranks} ranks: {found}");
    }
}
