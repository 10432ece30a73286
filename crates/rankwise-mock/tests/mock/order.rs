//! Streams, fences, and what comes before what.

use rankwise_comm::prelude::*;
use rankwise_mock::World;

use crate::watchdog::in_time;

#[test]
fn an_enqueue_does_not_wait_for_the_peer() {
    let ranks = in_time(|| {
        let comms = World::of(2).communicators();
        let mut fences = Vec::new();
        let mut buffers = Vec::new();
        // One thread: were a call to wait for its peer, this would never end.
        for comm in &comms {
            let mut x = comm.buffer::<u64>(3)?;
            comm.stream().write(&mut x, &[1, 2, 3])?;
            comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
            fences.push(comm.stream().fence()?);
            buffers.push(x);
        }
        fences.iter().try_for_each(Fence::wait)?;
        comms
            .iter()
            .zip(&buffers)
            .map(|(comm, x)| comm.stream().read(x))
            .collect::<Result<Vec<_>, Error>>()
    });
    assert_eq!(ranks, Ok(vec![vec![2, 4, 6]; 2]));
}

#[test]
fn a_fence_is_passed_only_when_the_peer_has_come() {
    in_time(|| {
        let comms = World::of(2).communicators();
        let mut buffers: Vec<_> =
            comms.iter().map(|comm| comm.buffer::<i8>(1).expect("room")).collect();
        let early = comms[0].stream().fence().expect("a fence");
        comms[0].all_reduce_in_place(Reduction::Sum, &mut buffers[0]).expect("enqueued");
        let fence = comms[0].stream().fence().expect("a fence");
        assert!(early.is_done(), "taken before the call");
        assert!(!fence.is_done());
        comms[1].all_reduce_in_place(Reduction::Sum, &mut buffers[1]).expect("enqueued");
        fence.wait().expect("no error");
        assert!(fence.is_done());
    });
}

#[test]
fn a_fetch_is_a_snapshot_at_its_place_in_the_stream() {
    let fetched = in_time(|| {
        let comm = World::of(1).communicators().remove(0);
        let mut x = comm.buffer::<i32>(2)?;
        comm.stream().write(&mut x, &[1, 2])?;
        let before = comm.stream().fetch(&x)?;
        comm.stream().write(&mut x, &[3, 4])?;
        Ok::<_, Error>((before.wait()?, comm.stream().read(&x)?))
    });
    assert_eq!(fetched, Ok((vec![1, 2], vec![3, 4])));
}

#[test]
fn a_stream_follows_another_without_the_host() {
    let sums = in_time(|| {
        World::of(2).run(|comm| {
            let compute = comm.new_stream()?;
            let mut x = comm.buffer::<i64>(1000)?;
            compute.write(&mut x, &vec![7; 1000])?;
            comm.stream().wait_for(&compute.fence()?)?;
            comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
            compute.wait_for(&comm.stream().fence()?)?;
            let left = compute.fetch(&x)?;
            compute.write(&mut x, &vec![0; 1000])?;
            left.wait()
        })
    });
    assert_eq!(sums, [Ok(vec![14; 1000]), Ok(vec![14; 1000])]);
}

#[test]
fn a_stream_follows_a_fence_of_another_world() {
    let left = in_time(|| {
        let one = World::of(2).communicators();
        let other = World::of(1).communicators().remove(0);
        let mut x = one[0].buffer::<i32>(1)?;
        let mut y = one[1].buffer::<i32>(1)?;
        one[0].stream().write(&mut x, &[20])?;
        one[1].stream().write(&mut y, &[22])?;
        one[0].all_reduce_in_place(Reduction::Sum, &mut x)?;

        other.stream().wait_for(&one[0].stream().fence()?)?;
        let mut z = other.buffer::<i32>(1)?;
        other.stream().write(&mut z, &[5])?;
        let behind = other.stream().fence()?;
        assert!(!behind.is_done(), "the other world's call lacks its peer");
        one[1].all_reduce_in_place(Reduction::Sum, &mut y)?;
        behind.wait()?;
        Ok::<_, Error>((one[0].stream().read(&x)?, other.stream().read(&z)?))
    });
    assert_eq!(left, Ok((vec![42], vec![5])));
}

#[test]
fn large_calls_are_shared_and_still_exact() {
    let len = 1 << 20;
    let sums = in_time(move || {
        World::of(3).run(|comm| {
            let mut x = comm.buffer::<f32>(len)?;
            let own = f32::from(u8::try_from(comm.rank().index()).expect("small") + 1);
            let mine: Vec<f32> =
                (0..60_000_u16).cycle().take(len).map(|p| f32::from(p % 1000) * own).collect();
            for _ in 0..3 {
                comm.stream().write(&mut x, &mine)?;
                comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
            }
            comm.stream().read(&x)
        })
    });
    for sum in sums {
        let sum = sum.expect("no error");
        let wrong = sum
            .iter()
            .zip((0..60_000_u16).cycle())
            .position(|(x, p)| x.to_bits() != (f32::from(p % 1000) * 6.0).to_bits());
        assert_eq!(wrong, None);
    }
}
