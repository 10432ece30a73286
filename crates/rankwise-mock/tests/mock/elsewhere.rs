//! A thread that waits for the work of another rank than its own.

use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use rankwise_comm::prelude::*;
use rankwise_mock::{Comm, World};
use rankwise_program::Kind;

use crate::watchdog::in_time;

fn at(comm: &Comm, rank: u32) -> Rank {
    comm.ranks().rank(rank).expect("in the group")
}

/// Rank 2 waits for what rank 0 receives from rank 1, rank 1 for what it receives from rank
/// 0; rank 0 itself waits for nobody, and sends late. Nobody is stuck.
#[test]
fn a_rank_is_not_blocked_by_a_thread_of_another() {
    let sum = in_time(|| {
        let (give, take) = channel::<Fence>();
        let (give, take) = (Mutex::new(Some(give)), Mutex::new(take));
        World::of(3).run(|comm| {
            let mut x = comm.buffer::<i32>(1)?;
            comm.stream().write(&mut x, &[1])?;
            match comm.rank().index() {
                0 => {
                    let (stream, mut y) = (comm.new_stream()?, comm.buffer::<i32>(1)?);
                    comm.on(&stream).recv(at(comm, 1), &mut y)?;
                    let give = give.lock().expect("no panic").take().expect("one rank 0");
                    give.send(stream.fence()?).expect("rank 2 takes it");
                    std::thread::sleep(Duration::from_millis(30));
                    comm.send(at(comm, 1), &x)?;
                    stream.read(&y)
                }
                1 => {
                    comm.recv(at(comm, 0), &mut x)?;
                    comm.stream().fence()?.wait()?;
                    comm.send(at(comm, 0), &x)?;
                    comm.stream().read(&x)
                }
                _ => {
                    let fence = take.lock().expect("no panic").recv().expect("rank 0 gives it");
                    fence.wait()?;
                    comm.stream().read(&x)
                }
            }
        })
    });
    assert_eq!(sum, vec![Ok::<_, Error>(vec![1]); 3]);
}

/// Rank 0 waits for an all-reduce of rank 1 that lacks rank 0: this never ends, and is said.
#[test]
fn a_thread_that_waits_for_a_call_that_lacks_its_own_rank_is_told() {
    let ended = in_time(|| {
        let (give, take) = channel::<Fence>();
        let (give, take) = (Mutex::new(Some(give)), Mutex::new(take));
        World::of(2).run(|comm| {
            let mut x = comm.buffer::<i32>(1)?;
            if comm.rank().index() == 0 {
                let fence = take.lock().expect("no panic").recv().expect("rank 1 gives it");
                fence.wait()?;
                return comm.all_reduce_in_place(Reduction::Sum, &mut x);
            }
            comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
            let give = give.lock().expect("no panic").take().expect("one rank 1");
            give.send(comm.stream().fence()?).expect("rank 0 takes it");
            comm.stream().fence()?.wait()
        })
    });
    let error = ended[0].clone().expect_err("it waits for itself");
    assert_eq!(ended[1], Err(error.clone()));
    let report = error.report().expect("a report");
    assert_eq!(report.kind, Kind::Deadlock, "{report}");
    let [edge] = &report.waits[..] else { panic!("{report}") };
    let waits_for: Vec<u32> = edge.waits_for.iter().map(|rank| rank.index()).collect();
    assert_eq!((edge.rank.index(), waits_for), (1, vec![0]), "{report}");
}
