//! Ranks as async tasks, in one thread, on an executor of a few lines.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::{Arc, Condvar, Mutex};
use std::task::Wake;

use rankwise_comm::prelude::*;
use rankwise_comm::{FoldOrder, Placement};
use rankwise_conformance::{Case, Grouping, Pattern, Plan, check};
use rankwise_mock::{Comm, World};
use rankwise_model::Operation;

use crate::watchdog::in_time;

/// Which tasks are to be polled.
#[derive(Default)]
struct Ready {
    queue: Mutex<Vec<usize>>,
    some: Condvar,
}

struct Task {
    number: usize,
    ready: Arc<Ready>,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.ready.queue.lock().expect("not poisoned").push(self.number);
        self.ready.some.notify_one();
    }
}

/// Runs all of them to their end, in this thread.
fn run_all<R>(futures: Vec<impl Future<Output = R>>) -> Vec<R> {
    let ready = Arc::new(Ready::default());
    *ready.queue.lock().expect("not poisoned") = (0..futures.len()).collect();
    let mut futures: Vec<Option<Pin<Box<_>>>> =
        futures.into_iter().map(|future| Some(Box::pin(future))).collect();
    let wakers: Vec<Waker> = (0..futures.len())
        .map(|number| Waker::from(Arc::new(Task { number, ready: Arc::clone(&ready) })))
        .collect();
    let mut results: Vec<Option<R>> = futures.iter().map(|_| None).collect();
    while results.iter().any(Option::is_none) {
        let mut queue = ready.queue.lock().expect("not poisoned");
        while queue.is_empty() {
            queue = ready.some.wait(queue).expect("not poisoned");
        }
        let turn = std::mem::take(&mut *queue);
        drop(queue);
        for number in turn {
            let Some(future) = futures[number].as_mut() else { continue };
            if let Poll::Ready(result) =
                future.as_mut().poll(&mut Context::from_waker(&wakers[number]))
            {
                results[number] = Some(result);
                futures[number] = None;
            }
        }
    }
    results.into_iter().flatten().collect()
}

async fn two_sums(comm: Comm) -> Result<Vec<u64>, Error> {
    let mut x = comm.buffer::<u64>(5)?;
    comm.stream().write(&mut x, &[u64::from(comm.rank().index()); 5])?;
    comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
    comm.all_reduce_in_place(Reduction::Max, &mut x)?; // enqueued before the first is done
    comm.stream().fence()?.await?;
    comm.stream().fetch(&x)?.await
}

#[test]
fn a_thousand_ranks_in_one_thread() {
    let sums =
        in_time(|| run_all(World::of(1000).communicators().into_iter().map(two_sums).collect()));
    assert_eq!(sums, vec![Ok(vec![999 * 1000 / 2; 5]); 1000]);
}

/// The suite's own cases, one future per rank.
#[test]
fn cases_of_the_suite_hold_for_a_thousand_ranks() {
    let sum = Operation::AllReduce { reduction: Reduction::Sum };
    let avg = Operation::ReduceScatter { reduction: Reduction::Avg };
    let thousand = GroupSize::new(1000).expect("not zero");
    let broadcast = Operation::Broadcast { root: thousand.rank(999).expect("in the group") };
    for (pattern, dtype, count, placement) in [
        (Pattern::Operation(sum), Dtype::Bf16, 3, Placement::InPlace),
        (Pattern::Operation(avg), Dtype::I64, 1, Placement::OutOfPlace),
        (Pattern::Operation(broadcast), Dtype::F8E5M2, 5, Placement::InPlace),
        (Pattern::Operation(Operation::AllGather), Dtype::I32, 1, Placement::OutOfPlace),
        (Pattern::Exchange { shift: 999 }, Dtype::F64, 7, Placement::OutOfPlace),
    ] {
        let grouping = Grouping::Alone;
        let case = Case { pattern, dtype, ranks: thousand, count, placement, grouping, rounds: 2 };
        let defects = in_time(move || {
            let plan = Plan::new(case, FoldOrder::Rank).expect("small enough");
            let comms = World::new(thousand).communicators();
            run_all(comms.iter().map(|comm| check(comm, &plan)).collect())
        });
        assert_eq!(defects, vec![Ok(()); 1000], "{case}");
    }
}

#[test]
fn a_split_and_a_ring_can_be_awaited() {
    let received = in_time(|| {
        let tasks = World::of(200).communicators().into_iter().map(|comm| async move {
            let part = comm.split(Some(comm.rank().index() % 2), 0)?.await?.expect("a colour");
            let (own, ranks) = (part.rank().index(), part.ranks().get());
            let mut sent = part.buffer::<u32>(1)?;
            let mut got = part.buffer::<u32>(1)?;
            part.stream().write(&mut sent, &[comm.rank().index()])?;
            let at = |rank: u32| part.ranks().rank(rank % ranks).expect("in the group");
            part.group(|group| {
                group.send(at(own + 1), &sent)?;
                group.recv(at(own + ranks - 1), &mut got)
            })?;
            part.stream().fetch(&got)?.await
        });
        run_all(tasks.collect())
    });
    for (rank, got) in (0..200_u32).zip(received) {
        assert_eq!(got, Ok::<_, Error>(vec![(rank + 198) % 200]), "two ranks back, same parity");
    }
}

#[test]
fn tasks_that_wait_in_a_circle_are_told() {
    let ended = in_time(|| {
        let tasks = World::of(3).communicators().into_iter().map(|comm| async move {
            let mut x = comm.buffer::<i32>(1)?;
            let next = comm.ranks().rank((comm.rank().index() + 1) % 3).expect("in the group");
            comm.recv(next, &mut x)?;
            comm.stream().fence()?.await
        });
        run_all(tasks.collect())
    });
    let first = ended[0].clone().expect_err("a circle");
    assert!(ended.iter().all(|ended| ended.as_ref() == Err(&first)));
    assert!(first.report().is_some(), "{first}");
}

/// Two branches that both wait for what can never come are a circle all the same.
#[test]
fn a_circle_through_several_branches_is_told() {
    let ended = in_time(|| {
        let tasks = World::of(2).communicators().into_iter().map(|comm| async move {
            let peer = comm.ranks().rank(1 - comm.rank().index()).expect("in the group");
            let other = comm.new_stream()?;
            let (mut x, mut y) = (comm.buffer::<i32>(1)?, comm.buffer::<i32>(1)?);
            comm.recv(peer, &mut x)?;
            comm.on(&other).recv(peer, &mut y)?;
            join(comm.stream().fence()?, other.fence()?).await
        });
        run_all(tasks.collect())
    });
    let error = ended[0].clone().expect_err("a circle");
    assert_eq!(ended[1], Err(error.clone()));
    assert!(error.report().is_some(), "{error}");
}

/// Both branches of a task have their turn before it counts as waiting.
#[test]
fn a_task_with_two_branches_is_not_accused_too_early() {
    let ended = in_time(|| {
        let tasks = World::of(2).communicators().into_iter().map(|comm| async move {
            let peer = comm.ranks().rank(1 - comm.rank().index()).expect("in the group");
            let sending = comm.new_stream()?;
            let (mut got, sent) = (comm.buffer::<i32>(1)?, comm.buffer::<i32>(1)?);
            comm.recv(peer, &mut got)?;
            let received = comm.stream().fence()?;
            let late = async {
                comm.on(&sending).send(peer, &sent)?;
                sending.fence()?.await
            };
            join(received, late).await
        });
        run_all(tasks.collect())
    });
    assert_eq!(ended, [Ok(()), Ok(())]);
}

async fn join(
    one: impl Future<Output = Result<(), Error>>,
    other: impl Future<Output = Result<(), Error>>,
) -> Result<(), Error> {
    let (mut one, mut other) = (Box::pin(one), Box::pin(other));
    let (mut first, mut second) = (None, None);
    core::future::poll_fn(move |cx| {
        if first.is_none()
            && let Poll::Ready(result) = one.as_mut().poll(cx)
        {
            first = Some(result);
        }
        if second.is_none()
            && let Poll::Ready(result) = other.as_mut().poll(cx)
        {
            second = Some(result);
        }
        match (&first, &second) {
            (Some(one), Some(other)) => Poll::Ready(one.clone().and(other.clone())),
            _ => Poll::Pending,
        }
    })
    .await
}
