//! Programs that are wrong in some orders only: found, written down, and met again.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use rankwise_comm::prelude::*;
use rankwise_comm::{AbortHandle, Fault};
use rankwise_mock::{Comm, Exploration, Explored, Orders, RankEnd, Schedule, Trouble, host_step};
use rankwise_program::Kind;

use crate::watchdog::in_time;

fn broadcast(comm: &Comm, len: usize) -> Result<(), Error> {
    let mut x = comm.buffer::<i32>(len)?;
    comm.broadcast_in_place(comm.ranks().first(), &mut x)?;
    comm.stream().fence()?.wait()
}

/// Every rank reports for work, then takes it that all have: so many elements it sends.
fn counts_who_is_there(comm: &Comm, there: &AtomicU32) -> Result<(), Error> {
    host_step();
    there.fetch_add(1, Ordering::Relaxed);
    host_step();
    let len = usize::try_from(there.load(Ordering::Relaxed)).expect("small");
    broadcast(comm, len)
}

#[test]
fn a_counter_that_is_read_too_early_is_found_and_met_again() {
    let explored = in_time(|| {
        Exploration::of(2).orders(Orders::Reduced).run_with(AtomicU32::default, counts_who_is_there)
    });
    assert!(explored.is_complete());
    let failure = explored.failure().expect("rank 0 may read before rank 1 has come");
    let Trouble::Erred { rank: 0, error } = failure.trouble() else { panic!("{failure}") };
    assert_eq!(error.report().map(|report| report.kind), Some(Kind::Mismatch));
    // All is well, or 1 against 2 elements, of either rank.
    assert_eq!(explored.outcomes().len(), 3);
    assert_eq!(explored.outcomes().iter().filter(|outcome| outcome.is_well()).count(), 1);

    for outcome in explored.outcomes() {
        let schedule: Schedule = outcome.schedule().to_string().parse().expect("as printed");
        assert_eq!(schedule, *outcome.schedule());
        let again = in_time(move || {
            Exploration::of(2).replay_with(&schedule, AtomicU32::default, counts_who_is_there)
        });
        assert_eq!(again.outcomes()[0].ends(), outcome.ends());
        assert_eq!(again.failure().is_none(), outcome.is_well());
    }
}

#[test]
fn of_the_six_orders_of_two_counts_two_are_wrong() {
    // Come and look, on two ranks: 4! / 2! 2! orders, of which "come look come look" is wrong,
    // twice. Nothing else is told apart.
    let explored = in_time(|| {
        Exploration::of(2).orders(Orders::Reduced).run_with(AtomicU32::default, |_, there| {
            host_step();
            there.fetch_add(1, Ordering::Relaxed);
            host_step();
            Ok(there.load(Ordering::Relaxed))
        })
    });
    assert_eq!(explored.schedules(), 6);
    let times: Vec<(Vec<u32>, u64)> = explored
        .outcomes()
        .iter()
        .map(|it| (it.ends().iter().filter_map(RankEnd::value).copied().collect(), it.times()))
        .collect();
    assert_eq!(times, [(vec![1, 2], 1), (vec![2, 2], 4), (vec![2, 1], 1)]);
    let failure = explored.failure().expect("they return something else");
    assert!(matches!(failure.trouble(), Trouble::Differs { rank: 0, .. }), "{failure}");
}

/// Rank 0 goes on with something else, it thinks, as long as nobody has come.
fn asks_before_it_goes_on(comm: &Comm) -> Result<(), Error> {
    let mut x = comm.buffer::<i32>(4)?;
    comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
    let rank_0_is_late = comm.rank().index() == 0 && comm.stream().fence()?.is_done();
    broadcast(comm, if rank_0_is_late { 1 } else { 2 })
}

#[test]
fn a_poll_that_decides_what_comes_next_is_found() {
    for orders in [Orders::All, Orders::Reduced] {
        let explored =
            in_time(move || Exploration::of(2).orders(orders).run(asks_before_it_goes_on));
        assert!(explored.is_complete());
        assert_eq!(explored.outcomes().len(), 2, "{orders:?}");
        assert!(explored.outcomes()[0].is_well(), "rank 0 comes first in the first order");
        let failure = explored.failure().expect("it fails if rank 0 is late").clone();
        let schedule = failure.schedule().clone();
        let again = in_time(move || Exploration::of(2).replay(&schedule, asks_before_it_goes_on));
        assert_eq!(again.failure(), Some(&failure));
    }
}

#[test]
fn a_panic_is_the_end_of_a_rank_and_its_peer_hears_of_it() {
    let explored: Explored<()> = in_time(|| {
        Exploration::of(2).run_with(AtomicU32::default, |comm, there| {
            let before = there.fetch_add(1, Ordering::Relaxed);
            assert!(comm.rank().index() == 0 || before == 1, "first of all");
            broadcast(comm, 1)
        })
    });
    assert!(explored.is_complete());
    // Rank 1 begins first, in some orders.
    let [well, panicked] = explored.outcomes() else { panic!("{:#?}", explored.outcomes()) };
    assert!(well.is_well());
    assert_eq!(panicked.ends()[1], RankEnd::Panicked("first of all".to_owned()));
    let report = panicked.ends()[0].error().and_then(|error| error.report().cloned());
    assert_eq!(report.map(|report| report.kind), Some(Kind::MissingRank));
    let trouble = explored.failure().map(|failure| failure.trouble().clone());
    assert!(matches!(trouble, Some(Trouble::Erred { rank: 0, .. })), "{trouble:?}");
    // Half of the orders begin with rank 1: there are as many in which it goes on to rank 0.
    assert_eq!(well.times() + panicked.times(), explored.schedules());
}

#[test]
fn an_abort_by_another_rank_strikes_anywhere() {
    type Shared = Mutex<Option<AbortHandle>>;
    for orders in [Orders::All, Orders::Reduced] {
        let explored = in_time(move || {
            Exploration::of(2).orders(orders).run_with(Shared::default, |comm, handle| {
                host_step();
                if comm.rank().index() == 0 {
                    *handle.lock().expect("no panic") = Some(comm.abort_handle());
                    return broadcast(comm, 1);
                }
                let found = handle.lock().expect("no panic").take();
                if let Some(handle) = found {
                    handle.abort("enough");
                }
                broadcast(comm, 1)
            })
        });
        assert!(explored.is_complete());
        // Rank 1 comes too early to find the handle; or rank 0 is told that it is closed, and
        // rank 1 that rank 0 is not there, which had called before that or had not.
        let (well, struck): (Vec<_>, Vec<_>) =
            explored.outcomes().iter().partition(|outcome| outcome.is_well());
        assert_eq!((well.len(), struck.len()), (1, 2), "{orders:?}");
        let mut calls = Vec::new();
        for outcome in struck {
            let error = outcome.ends()[0].error().expect("closed");
            assert!(matches!(error.fault(), Fault::Closed { .. }), "{error}");
            let report = outcome.ends()[1].error().and_then(Error::report).expect("a report");
            assert_eq!(report.kind, Kind::MissingRank);
            let of_rank_0 = report.recent.iter().filter(|(rank, _)| rank.index() == 0);
            calls.push(of_rank_0.map(|(_, calls)| calls.len()).sum::<usize>());
        }
        calls.sort_unstable();
        assert_eq!(calls, [0, 1], "{orders:?}");
    }
}
