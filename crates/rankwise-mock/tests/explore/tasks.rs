//! Ranks that are tasks.

use rankwise_comm::prelude::*;
use rankwise_mock::{Comm, Exploration, Orders, World, block_on};
use rankwise_program::Kind;

use crate::watchdog::in_time;

async fn sums(comm: &Comm, len: usize) -> Result<Vec<i32>, Error> {
    let mut x = comm.buffer::<i32>(len)?;
    comm.stream().write(&mut x, &vec![1; len])?;
    comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
    comm.stream().fence()?.await?;
    comm.stream().read(&x)
}

#[test]
fn a_task_lets_others_go_on_while_it_awaits() {
    let explored =
        in_time(|| Exploration::of(2).orders(Orders::Reduced).run(|comm| block_on(sums(comm, 2))));
    assert!(explored.is_complete(), "{:?}", explored.failure());
    let [outcome] = explored.outcomes() else { panic!("{:?}", explored.outcomes()) };
    assert!(outcome.ends().iter().all(|end| end.value() == Some(&vec![2, 2])));
}

#[test]
fn tasks_that_wait_for_each_other_are_told_the_same_in_every_order() {
    let explored = in_time(|| {
        Exploration::of(2).run(|comm| {
            let peer = comm.ranks().ranks().find(|rank| *rank != comm.rank()).expect("two");
            let mut x = comm.buffer::<i32>(1)?;
            comm.recv(peer, &mut x)?;
            block_on(comm.stream().fence()?)
        })
    });
    assert!(explored.is_complete(), "{:?}", explored.failure());
    let [outcome] = explored.outcomes() else { panic!("{:?}", explored.outcomes()) };
    let reports = outcome.ends().iter().map(|end| end.error().and_then(Error::report));
    let reports: Vec<_> = reports.map(|report| report.expect("a report")).collect();
    assert_eq!(reports[0], reports[1]);
    assert_eq!(reports[0].kind, Kind::Deadlock);
}

#[test]
fn elsewhere_the_thread_is_parked() {
    let sums = in_time(|| World::of(2).run(|comm| block_on(sums(comm, 1))));
    assert_eq!(sums, [Ok(vec![2]), Ok(vec![2])]);
}
