//! A reduce-scatter and an all-gather of its shards leave what an all-reduce leaves.
//!
//! Both run in place, in one buffer: the reduce-scatter leaves rank `r`'s shard at block
//! `r`, which is where the all-gather takes it from. No offset is passed: it follows from
//! rank and count. Gathering the original *contributions* is the same call with another
//! input, and leaves something else.
//!
//! Prints shards and their places, and what each way leaves. Equal values say nothing
//! about equal time, nor about how an all-reduce is made.

#![allow(clippy::print_stdout)] // an example prints

use std::error::Error as AnyError;

use rankwise_comm::prelude::*;
use rankwise_mock::World;
use rankwise_model::{Layout, Operation};

const CONTRIBUTIONS: [[i32; 4]; 2] = [[1, 2, 3, 4], [10, 20, 30, 40]];

/// What one rank saw.
struct Seen {
    shard: Vec<i32>,
    two_steps: Vec<i32>,
    one_step: Vec<i32>,
    originals: Vec<i32>,
}

fn run<C: Communicator>(comm: &C) -> Result<Seen, Error> {
    let (rank, stream) = (comm.rank().index() as usize, comm.stream());
    let mut x = comm.buffer::<i32>(4)?;

    stream.write(&mut x, &CONTRIBUTIONS[rank])?;
    comm.reduce_scatter_in_place(Reduction::Sum, &mut x)?;
    let shard = stream.fetch(x.slice(2 * rank..2 * rank + 2)?)?; // as it is at this point
    comm.all_gather_in_place(&mut x)?;
    let two_steps = stream.read(&x)?;

    stream.write(&mut x, &CONTRIBUTIONS[rank])?;
    let mut originals = comm.buffer::<i32>(8)?;
    comm.all_gather(&x, &mut originals)?;
    comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
    let (one_step, originals) = (stream.read(&x)?, stream.read(&originals)?);
    Ok(Seen { shard: shard.wait()?, two_steps, one_step, originals })
}

fn main() -> Result<(), Box<dyn AnyError>> {
    let ranks = GroupSize::new(2).ok_or("no ranks")?;
    let scatter = Layout::new(Operation::ReduceScatter { reduction: Reduction::Sum }, ranks, 2)?;
    let gather = Layout::new(Operation::AllGather, ranks, 2)?;
    for (rank, seen) in ranks.ranks().zip(World::new(ranks).run(run)) {
        let seen = seen?;
        let left = scatter.at(rank)?.in_place().ok_or("not in place")?.output;
        let taken = gather.at(rank)?.in_place().ok_or("not in place")?.input;
        println!("rank {rank}");
        println!("  reduce_scatter leaves {:?} at {left:?}", seen.shard);
        println!("  all_gather takes it at {taken:?} and leaves {:?}", seen.two_steps);
        println!("  all_reduce leaves {:?}", seen.one_step);
        println!("  all_gather of the contributions leaves {:?}", seen.originals);
    }
    Ok(())
}
