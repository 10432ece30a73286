//! What a reviewer tried in order to break it.

use core::task::{Context, Poll, Waker};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rankwise_comm::prelude::*;
use rankwise_comm::{Completion, Fault};
use rankwise_mock::{Comm, World};
use rankwise_program::Kind;

use crate::watchdog::in_time;

fn pair() -> (Comm, Comm) {
    let mut comms = World::of(2).communicators();
    let second = comms.remove(1);
    (comms.remove(0), second)
}

fn rank(comm: &Comm, index: u32) -> Rank {
    comm.ranks().rank(index).expect("in the group")
}

fn sum(comm: &Comm, len: usize) -> Result<(), Error> {
    let mut x = comm.buffer::<f32>(len)?;
    comm.all_reduce_in_place(Reduction::Sum, &mut x)
}

fn wait(comm: &Comm) -> Result<(), Error> {
    comm.stream().fence()?.wait()
}

#[test]
fn a_fence_with_another_ticket_opens_nothing() {
    in_time(|| {
        let (a, b) = pair();
        let mut x = a.buffer::<f32>(4).expect("room");
        let other = a.new_stream().expect("a stream");
        a.all_reduce_in_place(Reduction::Sum, &mut x).expect("enqueued");
        let fence = a.stream().fence().expect("a fence");
        for ticket in [fence.ticket() + 1, u64::MAX] {
            let forged = Fence::new(fence.completion().clone(), ticket);
            assert!(!forged.is_done());
            let refused = forged.wait().expect_err("the stream never gave it");
            assert!(matches!(refused.fault(), Fault::Foreign { .. }), "{refused}");
            assert!(other.wait_for(&forged).is_err());
        }
        let early = Fence::new(fence.completion().clone(), 0);
        early.wait().expect("nothing comes before");
        let hazard = other.fetch::<f32>(&x).expect_err("still in flight");
        assert!(matches!(hazard.fault(), Fault::Hazard { .. }), "{hazard}");
        drop(b);
    });
}

#[test]
fn a_fence_that_knows_of_other_streams_keeps_its_own_place() {
    in_time(|| {
        let (a, b) = pair();
        let other = a.new_stream().expect("a stream");
        let mut x = a.buffer::<f32>(4).expect("room");
        a.all_reduce_in_place(Reduction::Sum, &mut x).expect("enqueued");
        other.wait_for(&a.stream().fence().expect("a fence")).expect("own");
        let behind = other.fence().expect("a fence");
        assert!(!Fence::new(behind.completion().clone(), 0).is_done(), "it is behind the call");
        drop(b);
    });
}

/// A chain as long as the world fails without a stack as long as the world.
#[test]
fn a_long_chain_fails_in_a_small_stack() {
    let ranks = 2048_u32;
    let error = in_time(move || {
        let mut comms = World::of(ranks).communicators();
        let mut buffers: Vec<_> =
            comms.iter().map(|comm| comm.buffer::<i8>(1).expect("room")).collect();
        for (own, (comm, x)) in (0..ranks).zip(comms.iter().zip(&mut buffers)).skip(1) {
            comm.recv(rank(comm, own - 1), &mut *x).expect("enqueued");
            if own + 1 < ranks {
                comm.send(rank(comm, own + 1), &*x).expect("enqueued");
            }
        }
        drop(comms.remove(0));
        wait(&comms[0]).expect_err("rank 0 never sends")
    });
    assert_eq!(error.report().map(|report| report.kind), Some(Kind::UnmatchedMessage), "{error}");
}

#[test]
fn a_stream_follows_a_large_call_of_another_world() {
    in_time(|| {
        let (a, b) = pair();
        let (c, _d) = pair();
        sum(&a, 1 << 20).expect("enqueued");
        c.stream().wait_for(&a.stream().fence().expect("a fence")).expect("another world");
        let follower = c.stream().fence().expect("a fence");
        sum(&b, 1 << 20).expect("enqueued");
        follower.wait().expect("it goes on");
    });
}

/// A layer around a fence, as another crate might write it.
struct Layer(Fence);

impl Completion for Layer {
    fn is_done(&self, _: u64) -> bool {
        self.0.is_done()
    }
    fn wait(&self, _: u64, deadline: Option<Instant>) -> Result<(), Error> {
        deadline.map_or_else(|| self.0.wait(), |deadline| self.0.wait_until(deadline))
    }
    fn poll(&self, _: u64, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        core::pin::pin!(self.0.clone()).poll(cx)
    }
}

#[test]
fn a_stream_follows_its_own_world_through_a_layer() {
    in_time(|| {
        let (a, b) = pair();
        sum(&a, 1).expect("enqueued");
        let other = a.new_stream().expect("a stream");
        let fence = a.stream().fence().expect("a fence");
        other.wait_for(&Fence::new(Arc::new(Layer(fence)), 0)).expect("another completion");
        sum(&b, 1).expect("enqueued");
        other.fence().expect("a fence").wait().expect("it goes on");
    });
}

#[test]
fn a_world_may_end_while_another_follows_it() {
    in_time(|| {
        let (own, peer) = pair();
        let other_world = pair();
        let (stream, followed) =
            (own.new_stream().expect("a stream"), own.new_stream().expect("a stream"));
        let mut first = own.buffer::<i32>(1).expect("room");
        let mut second = own.buffer::<i32>(1).expect("room");
        own.on(&stream).recv(rank(&own, 1), &mut first).expect("enqueued");
        own.on(&followed).recv(rank(&own, 1), &mut second).expect("enqueued");
        let theirs = other_world.0.new_stream().expect("a stream");
        stream.wait_for(&theirs.fence().expect("a fence")).expect("another world");
        let fence = followed.fence().expect("a fence");
        other_world.0.stream().wait_for(&fence).expect("another world");
        drop((fence, theirs, other_world));
        let sent = peer.buffer::<i32>(1).expect("room");
        peer.send(rank(&peer, 0), &sent).expect("enqueued");
        peer.send(rank(&peer, 0), &sent).expect("enqueued");
        stream.fence().expect("a fence").wait().expect("it goes on");
        followed.fence().expect("a fence").wait().expect("it goes on");
    });
}

/// Rank 1 receives first; rank 0 sends only after `before`.
fn rank_0_does(before: impl Fn(&Comm) + Send + Sync + 'static) {
    in_time(move || {
        let ended = World::of(2).run(|comm| {
            if comm.rank().index() == 1 {
                let mut x = comm.buffer::<f32>(1)?;
                comm.recv(rank(comm, 0), &mut x)?;
                wait(comm)?;
                sum(comm, 4)?;
                return wait(comm);
            }
            sum(comm, 4)?;
            before(comm);
            let other = comm.new_stream()?;
            let x = comm.buffer::<f32>(1)?;
            comm.on(&other).send(rank(comm, 1), &x)?;
            wait(comm)
        });
        assert_eq!(ended, [Ok(()), Ok(())]);
    });
}

#[test]
fn a_wait_with_a_deadline_keeps_nobody_from_going_on() {
    rank_0_does(|comm| {
        let fence = comm.stream().fence().expect("a fence");
        let error = fence.wait_within(Duration::from_millis(50)).expect_err("not yet");
        assert!(matches!(error.fault(), Fault::TimedOut { .. }), "{error}");
    });
}

#[test]
fn a_rank_that_polls_and_goes_on_is_not_accused() {
    rank_0_does(|comm| {
        let mut fence = comm.stream().fence().expect("a fence");
        thread::sleep(Duration::from_millis(20)); // by now the peer sleeps
        for _ in 0..3 {
            let polled = core::pin::Pin::new(&mut fence);
            assert!(polled.poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        drop(fence);
        thread::sleep(Duration::from_millis(20));
    });
}

#[test]
fn following_another_world_is_no_wait_of_its_host() {
    rank_0_does(|comm| {
        let other_world = pair();
        let fence = comm.stream().fence().expect("a fence");
        other_world.0.stream().wait_for(&fence).expect("another world");
        thread::sleep(Duration::from_millis(20));
        std::mem::forget(other_world);
    });
}

#[test]
fn what_fails_by_another_world_is_told_to_the_peers() {
    let ended = in_time(|| {
        World::of(2).run(|comm| {
            if comm.rank().index() == 0 {
                let (p, q) = pair();
                sum(&p, 4)?;
                comm.stream().wait_for(&p.stream().fence()?)?;
                sum(comm, 4)?;
                drop(q);
            } else {
                thread::sleep(Duration::from_millis(20));
                sum(comm, 4)?;
            }
            wait(comm)
        })
    });
    assert!(ended[0].is_err());
    let error = ended[1].clone().expect_err("rank 0's stream is dead");
    let report = error.report().expect("a report");
    assert_eq!(report.kind, Kind::MissingRank, "{report}");
    assert_eq!(report.absent[0].member.rank.index(), 0, "{report}");
}

#[test]
fn a_split_that_nobody_takes_is_left() {
    let error = in_time(|| {
        let (a, b) = pair();
        drop(a.split(Some(0), 0).expect("enqueued"));
        let child = b.split(Some(0), 0).expect("enqueued").wait().expect("both came");
        let child = child.expect("a colour");
        sum(&child, 4).expect("enqueued");
        let error = wait(&child).expect_err("rank 0 dropped its part");
        drop(a);
        error
    });
    assert_eq!(error.report().map(|report| report.kind), Some(Kind::MissingRank), "{error}");
}

#[test]
fn a_report_that_comes_from_a_call_counts_as_told() {
    for late in [0, 1] {
        let ended = in_time(move || {
            World::of(3).run(|comm| {
                let own = comm.rank().index();
                let [a, b] = [own < 2, own > 0]
                    .map(|joins| comm.split(joins.then_some(0), 0).and_then(Pending::wait));
                let (a, b) = (a?, b?);
                let pause =
                    |of| thread::sleep(Duration::from_millis(if of == late { 60 } else { 0 }));
                match (own, a, b) {
                    (0, Some(a), _) => {
                        sum(&a, 4)?;
                        let ended = wait(&a);
                        pause(0);
                        ended
                    }
                    (1, Some(a), _) => {
                        pause(1);
                        sum(&a, 5)?;
                        sum(&a, 5)?;
                        wait(&a)
                    }
                    (_, _, Some(b)) => {
                        sum(&b, 4)?;
                        wait(&b)
                    }
                    _ => Ok(()),
                }
            })
        });
        let error = ended[2].clone().expect_err("rank 1 never comes");
        let kind = error.report().expect("a report").kind;
        assert_eq!(kind, Kind::Mismatch, "the cause is the mismatch of ranks 0 and 1: {error}");
        assert_eq!(ended[0], Err(error));
    }
}

#[test]
fn a_handle_that_outlives_its_program_is_closed() {
    in_time(|| {
        let parts = World::of(2).run(|comm| comm.split(Some(0), 0).and_then(Pending::wait));
        for part in parts {
            let part = part.expect("both came").expect("a colour");
            let error = sum(&part, 4).expect_err("its rank has ended");
            assert!(matches!(error.fault(), Fault::Closed { .. }), "{error}");
        }
    });
}

#[test]
fn an_abort_says_why_and_a_copy_stays_on_its_device() {
    in_time(|| {
        let (a, b) = pair();
        let mut theirs = b.buffer::<f32>(1).expect("room");
        let error = a.stream().write(&mut theirs, &[1.0]).expect_err("another rank's memory");
        assert!(matches!(error.fault(), Fault::ForeignMemory { .. }), "{error}");
        a.abort_handle().abort("the disk is full");
        sum(&b, 4).expect("enqueued");
        let text = wait(&b).expect_err("rank 0 is gone").to_string();
        assert!(text.contains("the disk is full"), "{text}");
    });
}

#[test]
fn a_waker_that_panics_hurts_nobody() {
    struct Bomb;
    impl std::task::Wake for Bomb {
        fn wake(self: Arc<Self>) {
            std::panic::panic_any("boom");
        }
    }
    in_time(|| {
        let (a, b) = pair();
        sum(&a, 1).expect("enqueued");
        let mut fence = a.stream().fence().expect("a fence");
        let waker = Waker::from(Arc::new(Bomb));
        let mut cx = Context::from_waker(&waker);
        // The first poll wakes at once: that panic is the caller's own.
        let first = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            core::pin::Pin::new(&mut fence).poll(&mut cx).is_pending()
        }));
        assert!(first.is_err());
        sum(&b, 1).expect("the peer does not see it");
        wait(&b).expect("done");
        wait(&a).expect("done");
    });
}
