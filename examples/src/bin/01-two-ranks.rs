//! Two ranks add up what they hold.
//!
//! Each contributes four integers and asks for the sum. Afterwards both hold all of it:
//! an all-reduce combines every position, and everybody gets every position.
//!
//! Prints what each rank contributed and what it holds then.

#![allow(clippy::print_stdout)] // an example prints

use rankwise_comm::prelude::*;
use rankwise_mock::World;

const CONTRIBUTIONS: [[i32; 4]; 2] = [[1, 2, 3, 4], [10, 20, 30, 40]];

/// What each rank runs. It names no backend: whoever calls it chooses one.
fn sum<C: Communicator>(comm: &C) -> Result<Vec<i32>, Error> {
    let mine = CONTRIBUTIONS[comm.rank().index() as usize];
    let mut x = comm.buffer::<i32>(mine.len())?;
    comm.stream().write(&mut x, &mine)?;
    // Returns when it is enqueued; the peers need not have come yet.
    comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
    // Waits for it, and so for the peers.
    comm.stream().read(&x)
}

fn main() -> Result<(), Error> {
    // The mock: every rank is a thread of this process, and nothing is installed.
    let held = World::of(2).run(sum);
    for (rank, held) in held.into_iter().enumerate() {
        println!("rank {rank} contributes {:?} and holds {:?}", CONTRIBUTIONS[rank], held?);
    }
    Ok(())
}
