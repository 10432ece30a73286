//! What the others learn when a rank fails.
//!
//! Three ranks all-reduce. First rank 1 passes five elements instead of four; then rank 2
//! panics before it calls. NCCL would wait for ever, or reduce what does not belong
//! together. Here no data moves, nobody hangs, and every rank that is still there gets
//! one report: the same one, whoever came first. It says what differs and where in the
//! source each side called.
//!
//! Prints both reports. (The panic itself goes to the standard error, as panics do.)

#![allow(clippy::print_stdout)] // an example prints

use rankwise_comm::prelude::*;
use rankwise_mock::World;

/// Adds up `elements` ones per rank. The report names the line that calls this.
#[track_caller]
fn sum<C: Communicator>(comm: &C, elements: usize) -> Result<Vec<f32>, Error> {
    let mut x = comm.buffer::<f32>(elements)?;
    comm.stream().write(&mut x, &vec![1.0; elements])?;
    comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
    comm.stream().read(&x) // here a rank learns what its peers have done
}

/// Prints the errors of the ranks that came: once, if they are equal.
fn show(mut errors: Vec<Error>) {
    let ranks = errors.len();
    errors.dedup();
    println!("{ranks} ranks learn of it, reports that differ: {}", errors.len());
    for error in errors {
        println!("{error}");
    }
}

fn main() {
    println!("another count:");
    let ended = World::of(3).run(|comm| match comm.rank().index() {
        1 => sum(comm, 5),
        _ => sum(comm, 4),
    });
    show(ended.into_iter().filter_map(Result::err).collect());

    println!("\na panic:");
    let ended = World::of(3).try_run(|comm| {
        assert!(comm.rank().index() != 2, "out of batches");
        sum(comm, 4)
    });
    for panicked in ended.iter().filter_map(|ended| ended.as_ref().err()) {
        println!("{panicked}");
    }
    show(ended.into_iter().flatten().filter_map(Result::err).collect());
}
