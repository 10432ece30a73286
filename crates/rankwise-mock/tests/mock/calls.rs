//! Every operation once, with integers worked out by hand.

use rankwise_comm::prelude::*;
use rankwise_mock::{Comm, HostMemory, World};

use crate::watchdog::in_time;

type Vector = Buffer<i32, HostMemory>;

fn at(comm: &Comm, rank: u32) -> Rank {
    comm.ranks().rank(rank).expect("in the group")
}

/// Rank 0 holds 1, 2, …; rank 1 ten times that; rank 2 a hundred times.
fn mine(comm: &Comm, len: i32) -> Vec<i32> {
    (1..=len).map(|x| x * 10_i32.pow(comm.rank().index())).collect()
}

/// What `call` leaves in an output of `len` elements on each of three ranks.
fn outputs(
    input: i32,
    len: usize,
    call: fn(&Comm, &Vector, &mut Vector) -> Result<(), Error>,
) -> Vec<Vec<i32>> {
    in_time(move || {
        let ranks = World::of(3).run(|comm| {
            let mut x = comm.buffer::<i32>(usize::try_from(input).expect("positive"))?;
            let mut y = comm.buffer::<i32>(len)?;
            comm.stream().write(&mut x, &mine(comm, input))?;
            comm.stream().write(&mut y, &vec![-1; len])?;
            call(comm, &x, &mut y)?;
            comm.stream().read(&y)
        });
        ranks.into_iter().collect::<Result<_, Error>>().expect("no error")
    })
}

#[test]
fn all_reduce() {
    let left = outputs(2, 2, |comm, x, y| comm.all_reduce(Reduction::Sum, x, y));
    assert_eq!(left, [[111, 222], [111, 222], [111, 222]]);
}

#[test]
fn reduce_leaves_the_result_on_the_root_only() {
    let left = outputs(2, 2, |comm, x, y| comm.reduce(Reduction::Max, at(comm, 1), x, y));
    assert_eq!(left[1], [100, 200]);
    assert_eq!(left[0], [-1, -1], "the mock does not touch what is not promised");
}

#[test]
fn broadcast() {
    let left = outputs(2, 2, |comm, x, y| comm.broadcast(at(comm, 2), x, y));
    assert_eq!(left, [[100, 200], [100, 200], [100, 200]]);
}

#[test]
fn all_gather() {
    let left = outputs(2, 6, |comm, x, y| comm.all_gather(x, y));
    assert_eq!(left[0], [1, 2, 10, 20, 100, 200]);
    assert_eq!(left[1..], [left[0].clone(), left[0].clone()]);
}

#[test]
fn reduce_scatter() {
    let left = outputs(6, 2, |comm, x, y| comm.reduce_scatter(Reduction::Sum, x, y));
    assert_eq!(left, [[111, 222], [333, 444], [555, 666]]);
}

#[test]
fn all_to_all() {
    let left = outputs(3, 3, |comm, x, y| comm.all_to_all(x, y));
    assert_eq!(left, [[1, 10, 100], [2, 20, 200], [3, 30, 300]]);
}

#[test]
fn gather_and_scatter() {
    let gathered = outputs(1, 3, |comm, x, y| comm.gather(at(comm, 1), x, y));
    assert_eq!(gathered[1], [1, 10, 100]);
    let scattered = outputs(3, 1, |comm, x, y| comm.scatter(at(comm, 1), x, y));
    assert_eq!(scattered, [[10], [20], [30]]);
}

#[test]
fn a_ring_of_messages_in_a_group() {
    let left = outputs(1, 1, |comm, x, y| {
        let own = comm.rank().index();
        comm.group(|group| {
            group.send(at(comm, (own + 1) % 3), x)?;
            group.recv(at(comm, (own + 2) % 3), y)
        })
    });
    assert_eq!(left, [[100], [1], [10]]);
}

#[test]
fn a_message_to_oneself_in_a_group() {
    let left = outputs(1, 1, |comm, x, y| {
        comm.group(|group| {
            group.send(comm.rank(), x)?;
            group.recv(comm.rank(), y)
        })
    });
    assert_eq!(left, [[1], [10], [100]]);
}

#[test]
fn each_rank_brings_its_own_scalar() {
    let left = outputs(1, 1, |comm, x, y| {
        let scalar = i32::try_from(comm.rank().index()).expect("small") + 2; // 2, 3, 4
        comm.all_reduce(premul(scalar), x, y)
    });
    assert_eq!(left[0], [2 + 30 + 400]);
}

#[test]
fn in_place_lies_where_the_relation_says() {
    let (gathered, scattered) = in_time(|| {
        let ranks = World::of(2).run(|comm| {
            let own = usize::try_from(comm.rank().index()).expect("small");
            let mut whole = comm.buffer::<i32>(4)?;
            comm.stream().write(whole.slice_mut(2 * own..2 * own + 2)?, &mine(comm, 2))?;
            comm.all_gather_in_place(&mut whole)?;
            let gathered = comm.stream().read(&whole)?;
            comm.reduce_scatter_in_place(Reduction::Sum, &mut whole)?;
            let own_block = comm.stream().read(whole.slice(2 * own..2 * own + 2)?)?;
            Ok((gathered, own_block))
        });
        let ranks: Vec<_> = ranks.into_iter().collect::<Result<_, Error>>().expect("no error");
        ranks.into_iter().unzip::<_, _, Vec<_>, Vec<_>>()
    });
    assert_eq!(gathered, [[1, 2, 10, 20], [1, 2, 10, 20]]);
    assert_eq!(scattered, [[2, 4], [20, 40]]);
}

/// Field case g07: calls in a row of equal and of different shape, one rank slow.
#[test]
fn every_call_has_its_own_identity() {
    let results = in_time(|| {
        World::of(2).run(|comm| {
            let mut results = Vec::new();
            for (call, len) in [(1.0_f32, 4), (2.0, 4), (3.0, 6)] {
                if comm.rank().index() == 1 {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                let scale = if comm.rank().index() == 0 { 1.0 } else { 10.0 };
                let mut x = comm.buffer::<f32>(len)?;
                comm.stream().write(&mut x, &vec![call * scale; len])?;
                comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
                results.push(comm.stream().read(&x)?);
            }
            Ok::<_, Error>(results)
        })
    });
    for result in results {
        assert_eq!(result, Ok(vec![vec![11.0; 4], vec![22.0; 4], vec![33.0; 6]]));
    }
}
