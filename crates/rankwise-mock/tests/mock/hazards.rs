//! Two uses of the same bytes that nothing orders.

use rankwise_comm::Fault;
use rankwise_comm::prelude::*;
use rankwise_mock::World;

use crate::watchdog::in_time;

fn hazard<T>(result: Result<T, Error>) -> bool {
    result.is_err_and(|error| matches!(error.fault(), Fault::Hazard { .. }))
}

#[test]
fn unordered_streams_are_refused_every_time() {
    in_time(|| {
        let comm = World::of(1).communicators().remove(0);
        let other = comm.new_stream().expect("a stream");
        for _ in 0..100 {
            let mut x = comm.buffer::<i32>(8).expect("room");
            other.write(&mut x, &[1; 8]).expect("the first use");
            // Done by now, but nothing says so: the answer must not depend on it.
            assert!(hazard(comm.all_reduce_in_place(Reduction::Sum, &mut x)));
            assert!(hazard(comm.stream().write(x.slice_mut(7..8).expect("in range"), &[1])));
        }
    });
}

#[test]
fn the_error_names_both_uses_and_the_bytes() {
    let text = in_time(|| {
        let comm = World::of(1).communicators().remove(0);
        let other = comm.new_stream().expect("a stream");
        let mut x = comm.buffer::<i32>(8).expect("room");
        other.write(x.slice_mut(2..6).expect("in range"), &[1; 4]).expect("the first use");
        comm.all_reduce_in_place(Reduction::Sum, x.slice_mut(0..4).expect("in range"))
            .expect_err("a hazard")
            .to_string()
    });
    assert!(text.contains("all_reduce") && text.contains("hazards.rs"), "{text}");
    assert!(text.contains("a write from the host on stream world#1"), "{text}");
    assert!(text.contains("8..16"), "elements 2 and 3 of i32 are bytes 8..16: {text}");
}

#[test]
fn disjoint_ranges_reads_and_ordered_uses_are_fine() {
    let result = in_time(|| {
        let comm = World::of(1).communicators().remove(0);
        let other = comm.new_stream()?;
        let mut x = comm.buffer::<i32>(8)?;
        let mut y = comm.buffer::<i32>(8)?;
        // Disjoint halves.
        other.write(x.slice_mut(0..4)?, &[1; 4])?;
        comm.stream().write(x.slice_mut(4..8)?, &[2; 4])?;
        // By a fence on the stream.
        comm.stream().wait_for(&other.fence()?)?;
        comm.all_reduce(Reduction::Sum, &x, &mut y)?;
        // Two reads, on two streams; the other one after the writes.
        other.wait_for(&comm.stream().fence()?)?;
        let seen = other.fetch(&x)?;
        let again = comm.stream().fetch(&x)?;
        // By the host.
        seen.wait()?;
        again.wait()?;
        other.fence()?.wait()?;
        comm.stream().write(&mut x, &[0; 8])?;
        comm.stream().read(&y)
    });
    assert_eq!(result, Ok(vec![1, 1, 1, 1, 2, 2, 2, 2]));
}

#[test]
fn a_read_by_the_host_waits_for_the_last_writer_on_any_stream() {
    let result = in_time(|| {
        World::of(2).run(|comm| {
            let other = comm.new_stream()?;
            let mut x = comm.buffer::<i32>(1)?;
            other.write(&mut x, &[21])?;
            comm.on(&other).all_reduce_in_place(Reduction::Sum, &mut x)?;
            comm.stream().read(&x) // not the stream that writes
        })
    });
    assert_eq!(result, [Ok(vec![42]), Ok(vec![42])]);
}

#[test]
fn what_is_foreign_is_refused() {
    in_time(|| {
        let one = World::of(2).communicators();
        let other = World::of(2).communicators();
        let mut x = other[0].buffer::<i32>(1).expect("room");
        let foreign = one[0].all_reduce_in_place(Reduction::Sum, &mut x).expect_err("foreign");
        assert!(matches!(foreign.fault(), Fault::Foreign { .. }), "{foreign}");
        let mut x = one[1].buffer::<i32>(1).expect("room");
        let device = one[0].all_reduce_in_place(Reduction::Sum, &mut x).expect_err("device");
        assert!(matches!(device.fault(), Fault::ForeignMemory { .. }), "{device}");
        let mut x = one[0].buffer::<i32>(1).expect("room");
        let stream = one[0].on(one[1].stream()).all_reduce_in_place(Reduction::Sum, &mut x);
        let stream = stream.expect_err("stream");
        assert!(matches!(stream.fault(), Fault::Foreign { .. }), "{stream}");
    });
}
