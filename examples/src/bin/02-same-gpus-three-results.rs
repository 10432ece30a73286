//! The same two ranks, the same contributions, three collectives, three states.
//!
//! An all-reduce leaves the combined value at every position, everywhere; an all-gather
//! leaves everybody's contribution apart, everywhere; a reduce-scatter leaves each rank
//! its share of the combination, and nothing else. None is a better form of another:
//! they answer different needs.
//!
//! Prints what each rank holds after each of the three.

#![allow(clippy::print_stdout)] // an example prints

use rankwise_comm::prelude::*;
use rankwise_mock::{Comm, HostMemory, World};

const CONTRIBUTIONS: [[i32; 4]; 2] = [[1, 2, 3, 4], [10, 20, 30, 40]];

type Vector = Buffer<i32, HostMemory>;

/// Runs one call on both ranks, with `length` elements of room for what it leaves.
fn show(
    what: &str,
    length: usize,
    call: impl Fn(&Comm, &Vector, &mut Vector) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    println!("{what}");
    let held = World::of(2).run(|comm| {
        let mut x = comm.buffer(4)?;
        let mut y = comm.buffer(length)?;
        comm.stream().write(&mut x, &CONTRIBUTIONS[comm.rank().index() as usize])?;
        call(comm, &x, &mut y)?;
        comm.stream().read(&y)
    });
    for (rank, held) in held.into_iter().enumerate() {
        println!("  rank {rank} holds {:?}", held?);
    }
    Ok(())
}

fn main() -> Result<(), Error> {
    show("all_reduce(sum): the combined value at every position", 4, |comm, x, y| {
        comm.all_reduce(Reduction::Sum, x, y)
    })?;
    show("all_gather: every contribution, apart", 8, |comm, x, y| comm.all_gather(x, y))?;
    show("reduce_scatter(sum): one share of the combination", 2, |comm, x, y| {
        comm.reduce_scatter(Reduction::Sum, x, y)
    })
}
