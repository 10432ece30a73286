//! Order between streams, without anybody saying so.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread::{self, Thread};
use std::time::Duration;

use rankwise_comm::prelude::*;

use crate::machine::{comms, run};

/// Long enough that a missing wait would show.
const LONG: usize = 1 << 20;

#[test]
fn a_writer_waits_for_every_reader_on_other_streams() {
    // What one read event per buffer gets wrong: the second reader hides the first.
    let comms = comms(2);
    let [zero, one] = &comms[..] else { panic!("two ranks") };
    let [first, second, third] = [(); 3].map(|()| zero.new_stream().unwrap());
    let mut x = zero.buffer::<i32>(3).unwrap();
    zero.stream().write(&mut x, &[1, 2, 3]).unwrap();
    zero.on(&first).send(one.rank(), &x).unwrap();
    let mut copy = zero.buffer::<i32>(3).unwrap();
    zero.on(&second).broadcast(zero.rank(), &x, &mut copy).unwrap();
    third.write(&mut x, &[10, 20, 30]).unwrap();
    let written = third.fence().unwrap();

    // The second reader is done, the first is not: its peer has not come yet.
    let nothing = one.buffer::<i32>(0).unwrap();
    let [mut shared, mut sent] = [(); 2].map(|()| one.buffer::<i32>(3).unwrap());
    one.broadcast(zero.rank(), &nothing, &mut shared).unwrap();
    second.fence().unwrap().wait().unwrap();
    assert!(written.wait_within(Duration::from_millis(20)).is_err());

    one.recv(zero.rank(), &mut sent).unwrap();
    written.wait().unwrap();
    assert_eq!(one.stream().read(&sent).unwrap(), [1, 2, 3]);
    assert_eq!(one.stream().read(&shared).unwrap(), [1, 2, 3]);
    assert_eq!(zero.stream().read(&x).unwrap(), [10, 20, 30]);
}

#[test]
fn a_reader_waits_for_the_writer_on_another_stream() {
    let ends = run(2, |comm| {
        let (one, two) = (comm.new_stream().unwrap(), comm.new_stream().unwrap());
        let mut x = comm.buffer::<u64>(LONG).unwrap();
        one.write(&mut x, &vec![3; LONG]).unwrap();
        comm.on(&two).all_reduce_in_place(Reduction::Prod, &mut x).unwrap();
        one.read(&x).unwrap().iter().all(|value| *value == 9)
    });
    assert_eq!(ends, [true, true]);
}

#[test]
fn disjoint_parts_of_a_buffer_go_their_own_way() {
    let ends = run(2, |comm| {
        let (one, two) = (comm.new_stream().unwrap(), comm.new_stream().unwrap());
        let mut x = comm.buffer::<i32>(4).unwrap();
        comm.stream().write(&mut x, &[1, 2, 3, 4]).unwrap();
        let (left, right) = x.view_mut().split_at(2).unwrap();
        comm.on(&one).all_reduce_in_place(Reduction::Sum, left).unwrap();
        comm.on(&two).all_reduce_in_place(Reduction::Max, right).unwrap();
        comm.stream().read(&x).unwrap()
    });
    assert_eq!(ends, [[2, 4, 3, 4], [2, 4, 3, 4]]);
}

#[test]
fn what_is_fetched_is_what_was_there() {
    let ends = run(2, |comm| {
        let stream = comm.stream();
        let mut x = comm.buffer::<i32>(LONG).unwrap();
        stream.write(&mut x, &vec![1; LONG]).unwrap();
        comm.all_reduce_in_place(Reduction::Sum, &mut x).unwrap();
        let before = stream.fetch(&x).unwrap();
        stream.write(&mut x, &vec![7; LONG]).unwrap();
        let after = stream.fetch(&x).unwrap();
        let [before, after] = [before, after].map(|pending| pending.wait().unwrap());
        before.iter().all(|value| *value == 2) && after.iter().all(|value| *value == 7)
    });
    assert_eq!(ends, [true, true]);
}

#[test]
fn a_stream_waits_for_a_fence_of_another() {
    let ends = run(2, |comm| {
        let other = comm.new_stream().unwrap();
        let mut x = comm.buffer::<i32>(LONG).unwrap();
        comm.stream().write(&mut x, &vec![4; LONG]).unwrap();
        comm.all_reduce_in_place(Reduction::Min, &mut x).unwrap();
        let early = comm.stream().fence().unwrap();
        other.wait_for(&early).unwrap();
        let late = other.fence().unwrap();
        late.wait().unwrap();
        assert!(early.is_done() && late.is_done());
    });
    assert_eq!(ends, [(), ()]);
}

#[test]
fn a_fence_is_where_it_was_taken_and_not_later() {
    let comms = comms(2);
    let [zero, one] = &comms[..] else { panic!("two ranks") };
    let mut x = zero.buffer::<i32>(1).unwrap();
    zero.stream().write(&mut x, &[1]).unwrap();
    let early = zero.stream().fence().unwrap();
    // Nobody answers this yet.
    zero.all_reduce_in_place(Reduction::Sum, &mut x).unwrap();
    let late = zero.stream().fence().unwrap();
    early.wait().unwrap();
    assert!(!late.is_done());
    let mut y = one.buffer::<i32>(1).unwrap();
    one.stream().write(&mut y, &[2]).unwrap();
    one.all_reduce_in_place(Reduction::Sum, &mut y).unwrap();
    late.wait().unwrap();
    assert_eq!(zero.stream().read(&x).unwrap(), [3]);
}

/// Runs a future on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn fences_fetches_and_splits_can_be_awaited() {
    let ends = run(3, |comm| {
        block_on(async {
            let part = comm.split(Some(0), 0)?.await?.unwrap();
            let mut x = part.buffer::<i32>(2)?;
            part.stream().write(&mut x, &[1, 2])?;
            part.all_reduce_in_place(Reduction::Sum, &mut x)?;
            part.stream().fence()?.await?;
            part.stream().fetch(&x)?.await
        })
    });
    assert_eq!(ends, [const { Ok::<_, Error>(()) }; 3].map(|_| Ok(vec![3, 6])));
}
