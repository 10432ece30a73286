//! One report, equal on every rank, whatever the timing.

use std::time::Duration;

use rankwise_comm::Fault;
use rankwise_comm::prelude::*;
use rankwise_mock::{Comm, World};
use rankwise_program::Kind;

use crate::watchdog::in_time;

/// What every rank's program returns, with ranks that start late in turn.
fn ended(ranks: u32, late: u32, program: fn(&Comm) -> Result<(), Error>) -> Vec<Result<(), Error>> {
    in_time(move || {
        World::of(ranks).run(|comm| {
            if comm.rank().index() == late {
                std::thread::sleep(Duration::from_millis(3));
            }
            program(comm)
        })
    })
}

fn sum(comm: &Comm, len: usize) -> Result<(), Error> {
    let mut x = comm.buffer::<f32>(len)?;
    comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
    comm.stream().fence()?.wait()
}

#[test]
fn a_count_of_one_rank_differs() {
    let mut reports = Vec::new();
    for late in 0..4 {
        let ended = ended(4, late, |comm| sum(comm, if comm.rank().index() == 2 { 5 } else { 4 }));
        let errors: Vec<Error> =
            ended.into_iter().map(|ended| ended.expect_err("refused")).collect();
        assert!(errors.iter().all(|error| *error == errors[0]), "{errors:#?}");
        reports.push(errors[0].report().expect("a report").clone());
    }
    assert!(reports.iter().all(|report| *report == reports[0]));
    let report = &reports[0];
    assert_eq!(report.kind, Kind::Mismatch);
    assert_eq!(report.outliers.iter().map(|rank| rank.index()).collect::<Vec<_>>(), [2]);
    let text = report.to_string();
    assert!(text.contains("blame.rs") && text.contains('5') && text.contains('4'), "{text}");
}

#[test]
fn data_does_not_move_when_calls_contradict() {
    let held = in_time(|| {
        let comms = World::of(2).communicators();
        let mut x = comms[0].buffer::<i32>(2)?;
        let mut y = comms[1].buffer::<i32>(3)?;
        comms[0].stream().write(&mut x, &[1, 2])?;
        comms[1].stream().write(&mut y, &[10, 20, 30])?;
        comms[0].all_reduce_in_place(Reduction::Sum, &mut x)?;
        // The second post contradicts the first: the report is there at once.
        comms[1].all_reduce_in_place(Reduction::Sum, &mut y)?;
        assert!(comms[0].stream().fence()?.wait().is_err());
        Ok::<_, Error>(comms[0].stream().read(&x).is_err())
    });
    assert_eq!(held, Ok(true), "the stream has failed; it does not pretend");
}

/// How a rank may fail to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Absence {
    Returns,
    Panics,
    Drops,
    Aborts,
}

/// What the peers of an absent rank are told.
fn peers(ranks: u32, absent: u32, how: Absence) -> Vec<Result<(), Error>> {
    let others = move |all: Vec<Result<(), Error>>| {
        let rank = usize::try_from(absent).expect("small");
        all.into_iter().enumerate().filter(|(at, _)| *at != rank).map(|(_, ended)| ended).collect()
    };
    let is_absent = move |comm: &Comm| comm.rank().index() == absent;
    in_time(move || match how {
        Absence::Returns => {
            others(World::of(ranks).run(|comm| if is_absent(comm) { Ok(()) } else { sum(comm, 4) }))
        }
        Absence::Panics => {
            let ended = World::of(ranks).try_run(|comm| {
                assert!(!is_absent(comm), "this rank gives up");
                sum(comm, 4)
            });
            let panicked = ended.iter().filter_map(|ended| ended.as_ref().err());
            assert_eq!(panicked.map(|panic| panic.rank).collect::<Vec<_>>(), [absent]);
            ended.into_iter().filter_map(Result::ok).collect()
        }
        Absence::Drops | Absence::Aborts => {
            let mut comms = World::of(ranks).communicators();
            let gone = comms.remove(usize::try_from(absent).expect("small"));
            let gone = (how == Absence::Aborts).then_some(gone);
            if let Some(gone) = &gone {
                // Its call is there, and is taken back.
                let mut x = gone.buffer::<f32>(4).expect("room");
                gone.all_reduce_in_place(Reduction::Sum, &mut x).expect("enqueued");
                gone.abort_handle().abort("no reason");
            }
            let threads: Vec<_> =
                comms.into_iter().map(|comm| std::thread::spawn(move || sum(&comm, 4))).collect();
            let ended =
                threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
            drop(gone);
            ended
        }
    })
}

#[test]
fn a_rank_that_does_not_come_releases_its_peers_with_its_name() {
    for how in [Absence::Returns, Absence::Panics, Absence::Drops, Absence::Aborts] {
        for (ranks, absent) in (2..=4).flat_map(|ranks| (0..ranks).map(move |rank| (ranks, rank))) {
            // A handle is dropped before its peers start, so that it is gone for good.
            let ended = peers(ranks, absent, how);
            assert_eq!(ended.len(), usize::try_from(ranks).expect("small") - 1);
            let error = ended[0].clone().expect_err("a rank never came");
            assert!(ended.iter().all(|ended| ended.as_ref() == Err(&error)), "{ended:#?}");
            let report = error.report().expect("a report");
            assert_eq!(report.kind, Kind::MissingRank, "{how:?}: {report}");
            let gone: Vec<u32> =
                report.absent.iter().map(|absent| absent.member.rank.index()).collect();
            assert_eq!(gone, [absent], "{how:?}: {report}");
            let word = match how {
                Absence::Returns => "returned",
                Absence::Panics => "panicked",
                Absence::Drops => "dropped",
                Absence::Aborts => "aborted",
            };
            let text = report.to_string();
            assert!(text.contains(&format!("rank {absent} {word}")), "{how:?}: {text}");
            assert_eq!(text.contains("this rank gives up"), how == Absence::Panics, "{text}");
        }
    }
}

#[test]
fn the_end_of_a_program_does_not_undo_what_it_has_enqueued() {
    let left = in_time(|| {
        let mut comms = World::of(2).communicators();
        let mut x = comms[0].buffer::<i32>(1)?;
        comms[0].stream().write(&mut x, &[1])?;
        comms[0].all_reduce_in_place(Reduction::Sum, &mut x)?;
        drop((comms.remove(0), x));
        let mut y = comms[0].buffer::<i32>(1)?;
        comms[0].stream().write(&mut y, &[2])?;
        comms[0].all_reduce_in_place(Reduction::Sum, &mut y)?;
        comms[0].stream().read(&y)
    });
    assert_eq!(left, Ok::<_, Error>(vec![3]));
}

#[test]
fn what_comes_after_a_report_fails_with_the_same_report() {
    let ended = ended(2, 0, |comm| {
        let first = sum(comm, 1 + usize::try_from(comm.rank().index()).expect("small"));
        let again = sum(comm, 1);
        assert_eq!(first, again);
        again
    });
    assert_eq!(ended[0], ended[1]);
    assert!(ended[0].is_err());
}

#[test]
fn an_abort_ends_a_wait_and_is_said_to_the_peers() {
    let (own, peer) = in_time(|| {
        let mut comms = World::of(2).communicators();
        let (second, first) = (comms.remove(1), comms.remove(0));
        let abort = first.abort_handle();
        let waiting = std::thread::spawn(move || sum(&first, 4));
        std::thread::sleep(Duration::from_millis(5));
        abort.abort("the operator said so");
        let own = waiting.join().expect("no panic").expect_err("aborted");
        (own, sum(&second, 4).expect_err("the peer is gone"))
    });
    assert!(matches!(own.fault(), Fault::Closed { .. }), "{own}");
    assert!(own.to_string().contains("the operator said so"), "{own}");
    assert_eq!(peer.report().map(|report| report.kind), Some(Kind::MissingRank), "{peer}");
    assert!(peer.to_string().contains("rank 0"), "{peer}");
}

#[test]
fn a_deadline_ends_a_wait_for_a_rank_that_computes() {
    let text = in_time(|| {
        let comms = World::of(2).communicators();
        let mut x = comms[0].buffer::<f32>(1).expect("room");
        comms[0].all_reduce_in_place(Reduction::Sum, &mut x).expect("enqueued");
        let fence = comms[0].stream().fence().expect("a fence");
        let error = fence.wait_within(Duration::from_millis(20)).expect_err("nobody came");
        assert_eq!(error.kind(), ErrorKind::Peer);
        // The peer may still come.
        let mut y = comms[1].buffer::<f32>(1).expect("room");
        comms[1].all_reduce_in_place(Reduction::Sum, &mut y).expect("enqueued");
        fence.wait().expect("now it came");
        error.to_string()
    });
    assert!(text.contains("rank 1"), "{text}");
}

#[test]
fn two_ranks_that_each_receive_first_wait_in_a_circle() {
    let ended = ended(2, 1, |comm| {
        let peer = comm.ranks().rank(1 - comm.rank().index()).expect("in the group");
        let mut x = comm.buffer::<f32>(4)?;
        comm.recv(peer, &mut x)?;
        comm.stream().fence()?.wait()?;
        comm.send(peer, &x)
    });
    let error = ended[0].clone().expect_err("a circle");
    assert_eq!(ended[1], Err(error.clone()));
    assert_eq!(error.report().expect("a report").kind, Kind::Deadlock, "{error}");
}

#[test]
fn closing_waits_for_what_has_been_enqueued() {
    let ended = ended(2, 1, |comm| {
        let part = comm.split(Some(0), 0)?.wait()?.expect("a colour");
        let mut x = part.buffer::<f32>(1000)?;
        part.all_reduce_in_place(Reduction::Sum, &mut x)?;
        part.close(Duration::from_secs(10))
    });
    assert_eq!(ended, [Ok(()), Ok(())]);
}

/// What stands in a group with a call that will never be made is lost with it, also for a
/// peer that comes later.
#[test]
fn a_call_beside_a_failed_one_fails_for_whoever_comes_later() {
    let ended = in_time(|| {
        let comms = World::of(3).communicators();
        let splits: Vec<_> = comms
            .iter()
            .map(|comm| comm.split((comm.rank().index() > 0).then_some(0), 0))
            .collect::<Result<_, _>>()?;
        let mut pairs = splits.into_iter().map(Pending::wait).collect::<Result<Vec<_>, _>>()?;
        let [zero, one, _] = &comms[..] else { panic!("there are three") };
        let at = |rank| zero.ranks().rank(rank).expect("below three");
        let pair = pairs[1].take().expect("a colour");
        let (mut x, mut y) = (one.buffer::<i32>(1)?, zero.buffer::<i32>(1)?);
        // Of the pair nobody sends; beside it, in the same group, rank 0 is sent something.
        let z = one.buffer::<i32>(1)?;
        one.group(|group| {
            group.on(&pair, one.stream()).recv(at(1), &mut x)?;
            group.send(at(0), &z)
        })?;
        drop(pairs.pop());
        let first = one.stream().fence()?.wait().expect_err("the pair's other rank is gone");
        drop(pair);
        zero.recv(at(1), &mut y)?;
        let second = zero.stream().fence()?.wait().expect_err("rank 1 has lost its call");
        Ok::<_, Error>((first, second))
    });
    let (first, second) = ended.expect("nothing else fails");
    assert_eq!(first, second);
}

/// The same when the rank has ended meanwhile.
#[test]
fn a_call_that_was_lost_with_its_rank_fails_for_whoever_comes_later() {
    let ended = in_time(|| {
        World::of(3).run(|comm| {
            let own = comm.rank().index();
            let at = |rank| comm.ranks().rank(rank).expect("below three");
            let pair = comm.split((own > 0).then_some(0), 0)?.wait()?;
            let mut x = comm.buffer::<i32>(1)?;
            match own {
                2 => Ok(()),
                1 => {
                    let pair = pair.expect("a colour");
                    pair.on(comm.stream()).recv(at(1), &mut x)?;
                    comm.send(at(0), &x)?;
                    comm.stream().fence()?.wait()
                }
                _ => {
                    std::thread::sleep(Duration::from_millis(20));
                    comm.recv(at(1), &mut x)?;
                    comm.stream().fence()?.wait()
                }
            }
        })
    });
    assert!(ended[0].is_err() && ended[0] == ended[1], "{ended:#?}");
}
