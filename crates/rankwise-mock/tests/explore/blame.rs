//! The report of a mistake is one value, in every order.

use rankwise_comm::prelude::*;
use rankwise_mock::{Comm, Exploration, Explored, Orders, RankEnd};
use rankwise_program::{Kind, Report};

use crate::watchdog::in_time;

type Program = fn(&Comm) -> Result<(), Error>;

fn explored(ranks: u32, orders: Orders, program: Program) -> Explored<()> {
    let explored = in_time(move || Exploration::of(ranks).orders(orders).run(program));
    assert!(explored.is_complete(), "{} schedules: {:?}", explored.schedules(), explored.failure());
    explored
}

/// The one report that every rank of `told` ends with in every order; the others end well.
#[track_caller]
fn one_report(ranks: u32, told: &[u32], program: Program) -> Report {
    let mut reports = Vec::new();
    // All orders of three ranks would be too many for a test.
    let kinds = if ranks == 2 { &[Orders::Reduced, Orders::All][..] } else { &[Orders::Reduced] };
    for orders in kinds.iter().copied() {
        let explored = explored(ranks, orders, program);
        for outcome in explored.outcomes() {
            for (end, rank) in outcome.ends().iter().zip(0..) {
                match end {
                    RankEnd::Returned(Ok(())) => assert!(
                        !told.contains(&rank),
                        "rank {rank} ends well in the order {}",
                        outcome.schedule()
                    ),
                    RankEnd::Returned(Err(error)) => {
                        let report = error.report().unwrap_or_else(|| {
                            panic!("rank {rank}, {}: {error}", outcome.schedule())
                        });
                        assert!(
                            told.contains(&rank),
                            "rank {rank}, {}: {error}",
                            outcome.schedule()
                        );
                        reports.push((report.clone(), outcome.schedule().clone()));
                    }
                    RankEnd::Panicked(message) => panic!("{message}"),
                }
            }
        }
    }
    let (first, order) = reports[0].clone();
    for (report, other) in &reports {
        assert_eq!(*report, first, "in the orders `{order}` and `{other}`:\n{first}\n{report}");
    }
    Report::clone(&first)
}

fn call(comm: &Comm, len: usize) -> Result<(), Error> {
    let mut x = comm.buffer::<f32>(len)?;
    comm.all_reduce_in_place(Reduction::Sum, &mut x)
}

fn finish(comm: &Comm) -> Result<(), Error> {
    comm.stream().fence()?.wait()
}

#[test]
fn a_count_that_differs() {
    let report = one_report(2, &[0, 1], |comm| {
        call(comm, if comm.rank().index() == 1 { 5 } else { 4 })?;
        finish(comm)
    });
    assert_eq!((report.kind, report.outliers.len()), (Kind::Mismatch, 0));
}

#[test]
fn of_three_the_one_that_differs() {
    let report = one_report(3, &[0, 1, 2], |comm| {
        call(comm, if comm.rank().index() == 1 { 5 } else { 4 })?;
        finish(comm)
    });
    assert_eq!(report.kind, Kind::Mismatch);
    assert_eq!(report.outliers.iter().map(|rank| rank.index()).collect::<Vec<_>>(), [1]);
}

#[test]
fn a_rank_that_ends_without_the_call() {
    let report = one_report(2, &[0], |comm| {
        if comm.rank().index() == 1 {
            return Ok(());
        }
        call(comm, 4)?;
        finish(comm)
    });
    assert_eq!(report.kind, Kind::MissingRank);
    let report = one_report(3, &[0, 2], |comm| {
        if comm.rank().index() == 1 {
            return Ok(());
        }
        call(comm, 4)?;
        finish(comm)
    });
    assert_eq!(report.kind, Kind::MissingRank);
}

#[test]
fn a_rank_that_skips_a_call() {
    let report = one_report(2, &[0, 1], |comm| {
        for layer in 0..2 {
            if comm.rank().index() == 1 && layer == 0 {
                continue;
            }
            call(comm, 4 + layer)?;
        }
        finish(comm)
    });
    assert_eq!(report.kind, Kind::Mismatch);
}

#[test]
fn messages_in_a_circle() {
    // Each waits for the other's before it sends its own.
    let report = one_report(2, &[0, 1], |comm| {
        let peer = comm.ranks().ranks().find(|rank| *rank != comm.rank()).expect("two");
        let mut x = comm.buffer::<f32>(1)?;
        comm.recv(peer, &mut x)?;
        finish(comm)?;
        comm.send(peer, &x)
    });
    assert_eq!(report.kind, Kind::Deadlock);
}

#[test]
fn messages_of_different_lengths() {
    let report = one_report(2, &[0, 1], |comm| {
        let peer = comm.ranks().ranks().find(|rank| *rank != comm.rank()).expect("two");
        let own = comm.rank().index();
        let mut x = comm.buffer::<f32>(if own == 0 { 2 } else { 3 })?;
        if own == 0 {
            comm.send(peer, &x)?;
        } else {
            comm.recv(peer, &mut x)?;
        }
        finish(comm)
    });
    assert_eq!(report.kind, Kind::Mismatch);
}

#[test]
fn a_message_that_nobody_sends() {
    let report = one_report(2, &[1], |comm| {
        let peer = comm.ranks().ranks().find(|rank| *rank != comm.rank()).expect("two");
        if comm.rank().index() == 0 {
            return Ok(());
        }
        let mut x = comm.buffer::<f32>(3)?;
        comm.recv(peer, &mut x)?;
        finish(comm)
    });
    assert_eq!(report.kind, Kind::UnmatchedMessage);
}

#[test]
fn a_split_that_meets_a_reduction() {
    let report = one_report(2, &[0, 1], |comm| {
        if comm.rank().index() == 0 {
            comm.split(Some(0), 0)?.wait().map(drop)
        } else {
            call(comm, 4)?;
            finish(comm)
        }
    });
    assert_eq!(report.kind, Kind::Mismatch);
}

#[test]
fn a_circle_of_three_messages() {
    let report = one_report(3, &[0, 1, 2], |comm| {
        let before = comm.ranks().rank((comm.rank().index() + 2) % 3).expect("of three");
        let mut x = comm.buffer::<f32>(1)?;
        comm.recv(before, &mut x)?;
        finish(comm)
    });
    assert_eq!(report.kind, Kind::Deadlock);
}

#[test]
fn a_rank_that_drops_its_communicator() {
    let report = one_report(2, &[0], |comm| {
        let joined = comm.split(Some(0), 0)?.wait()?.expect("of colour 0");
        if comm.rank().index() == 1 {
            return Ok(());
        }
        call(&joined, 4)?;
        finish(&joined)
    });
    assert_eq!(
        (report.kind, &*report.communicator),
        (Kind::MissingRank, "world/split collective 0/color 0")
    );
}

#[test]
fn communicators_in_two_orders() {
    let report = one_report(2, &[0, 1], |comm| {
        let joined = comm.split(Some(0), 0)?.wait()?.expect("of colour 0");
        let both = if comm.rank().index() == 0 { [comm, &joined] } else { [&joined, comm] };
        for comm in both {
            call(comm, 4)?;
            finish(comm)?;
        }
        Ok(())
    });
    assert_eq!(report.kind, Kind::Deadlock);
}

#[test]
fn of_two_independent_mistakes_the_first_to_be_complete_is_told() {
    // What the matcher says of itself: which of them is published may depend on the order.
    for orders in [Orders::Reduced, Orders::All] {
        let explored = explored(2, orders, |comm| {
            let peer = comm.ranks().ranks().find(|rank| *rank != comm.rank()).expect("two");
            let other = comm.new_stream()?;
            let (two, mut three) = (comm.buffer::<f32>(2)?, comm.buffer::<f32>(3)?);
            // Each sends two elements and expects three.
            comm.send(peer, &two)?;
            comm.on(&other).recv(peer, &mut three)?;
            finish(comm)?;
            other.fence()?.wait()
        });
        let mut seqs = Vec::new();
        for outcome in explored.outcomes() {
            let reports = outcome.ends().iter().filter_map(|end| end.error()?.report());
            let reports: Vec<_> = reports.collect();
            assert_eq!(reports.len(), 2, "in the order {}", outcome.schedule());
            assert_eq!(reports[0], reports[1], "in the order {}", outcome.schedule());
            assert_eq!(reports[0].kind, Kind::Mismatch);
            seqs.push(reports[0].seq.expect("a message").to_string());
        }
        seqs.sort();
        seqs.dedup();
        assert_eq!(seqs, ["message 0 from 0 to 1", "message 0 from 1 to 0"], "{orders:?}");
    }
}
