//! One data-parallel training step, unchanged, on every backend.
//!
//! The step is `rankwise_examples::Ddp`: two layers, gradients in buckets, each bucket
//! averaged while the backward pass goes on. It is generic over the communicator, and
//! the backend is chosen in one place, `rankwise_examples::Backend::run`.
//!
//! All weights are 1 and so is the input, so that output and gradients are easy to
//! follow: both layers' gradient is output − target, which the targets make 1, 2, 3, 4
//! on rank 0 and ten times that on rank 1. The average is 5.5, 11, 16.5, 22, and a step
//! of rate 1 leaves 1 minus that.
//!
//! Prints the weights that each backend leaves, equal to the last bit: a sum of two has
//! only one order. NCCL is loaded when the program runs; where there is none, or fewer
//! than two GPUs, it says so, and `README.md` says how to put stand-ins in its place.

#![allow(clippy::print_stdout)] // an example prints

use rankwise_comm::prelude::*;
use rankwise_examples::{Backend, Ddp, RankProgram};
use rankwise_nccl::Nccl;

const SLOPES: [[f32; 4]; 2] = [[1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 30.0, 40.0]];

struct OneStep;

impl RankProgram for OneStep {
    type Output = Vec<Vec<f32>>;

    fn run<C: Communicator>(&self, comm: &C) -> Result<Self::Output, Error> {
        let layers = vec![vec![1.0; 4]; 2];
        let mut replica = Ddp::new(comm, layers, 4)?; // a bucket of its own for each
        let target = SLOPES[comm.rank().index() as usize].map(|slope| 1.0 - slope);
        replica.step(&[1.0; 4], &target, 1.0)?;
        Ok(replica.layers().to_vec())
    }
}

fn show(backend: Backend) -> Result<(), Error> {
    println!("{backend}");
    let ranks = GroupSize::new(2).unwrap_or(GroupSize::ONE);
    for (rank, layers) in backend.run(ranks, &OneStep)?.into_iter().enumerate() {
        println!("  rank {rank}: {layers:?}");
    }
    Ok(())
}

fn main() -> Result<(), Error> {
    show(Backend::Mock)?;
    match Nccl::load() {
        Ok(nccl) => show(Backend::Nccl(nccl))?,
        Err(missing) => println!("no NCCL: {missing}"),
    }
    Ok(())
}
