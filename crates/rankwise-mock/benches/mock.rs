//! Times of the mock through its trait: threads as ranks, matching, streams and all.
//!
//! `cargo bench -p rankwise-mock --bench mock [-- RANKS…]`; `cargo xtask bench mock`
//! prints the engine's own times beside them.
//!
//! A line is `op,dtype,n,bytes,us_median,us_min,us_max`, as of the bench `engine`: bytes
//! are per rank (input of `all_reduce` and `reduce_scatter`, output of `all_gather`), the
//! time that of one call and one wait of its fence, as rank 0 sees it. Ranks start each
//! sample together. Outputs are buffers of their own.
#![allow(clippy::print_stdout, reason = "the measurements are what it is for")]

use std::sync::Barrier;
use std::time::{Duration, Instant};

use rankwise_comm::prelude::*;
use rankwise_mock::{Comm, HostMemory, World};

const SAMPLES: usize = 9;
/// How long a sample should last.
const SAMPLE: Duration = Duration::from_millis(15);
const SIZES: [usize; 6] = [8, 1 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20];

#[derive(Clone, Copy)]
enum Op {
    AllReduce,
    AllGather,
    ReduceScatter,
}

impl Op {
    const ALL: [Self; 3] = [Self::AllReduce, Self::AllGather, Self::ReduceScatter];

    const fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::AllGather => "all_gather",
            Self::ReduceScatter => "reduce_scatter",
        }
    }

    /// Elements in and out, for that many elements of the longer side.
    const fn lengths(self, elements: usize, ranks: usize) -> (usize, usize) {
        match self {
            Self::AllReduce => (elements, elements),
            Self::AllGather => (elements / ranks, elements / ranks * ranks),
            Self::ReduceScatter => (elements / ranks * ranks, elements / ranks),
        }
    }

    fn call(
        self,
        comm: &Comm,
        x: &Buffer<f32, HostMemory>,
        y: &mut Buffer<f32, HostMemory>,
    ) -> Result<(), Error> {
        match self {
            Self::AllReduce => comm.all_reduce(Reduction::Sum, x, y)?,
            Self::AllGather => comm.all_gather(x, y)?,
            Self::ReduceScatter => comm.reduce_scatter(Reduction::Sum, x, y)?,
        }
        comm.stream().fence()?.wait()
    }
}

/// The time of one call on rank 0, in each sample.
fn measure(op: Op, ranks: u32, bytes: usize) -> Result<Vec<f64>, Error> {
    let start = Barrier::new(usize::try_from(ranks).expect("small"));
    let rounds = std::sync::OnceLock::new();
    let samples = World::of(ranks).run(|comm| {
        let (input, output) = op.lengths(bytes / 4, usize::try_from(ranks).expect("small"));
        let (mut x, mut y) = (comm.buffer::<f32>(input)?, comm.buffer::<f32>(output)?);
        comm.stream().write(&mut x, &vec![1.0; input])?;
        comm.stream().write(&mut y, &vec![0.0; output])?;
        // A warm-up, which also says how many calls fill a sample.
        let mut calls = 0_u32;
        let begin = Instant::now();
        for _ in 0..4 {
            op.call(comm, &x, &mut y)?;
            calls += 1;
        }
        let each = begin.elapsed() / calls;
        start.wait();
        let rounds = *rounds.get_or_init(|| {
            u32::try_from(SAMPLE.as_nanos() / each.as_nanos().max(1))
                .unwrap_or(u32::MAX)
                .clamp(3, 50_000)
        });
        let mut samples = Vec::new();
        for _ in 0..SAMPLES {
            start.wait();
            let begin = Instant::now();
            for _ in 0..rounds {
                op.call(comm, &x, &mut y)?;
            }
            samples.push(begin.elapsed().as_secs_f64() * 1e6 / f64::from(rounds));
        }
        Ok(samples)
    });
    samples.into_iter().next().unwrap_or_else(|| Ok(Vec::new()))
}

fn main() -> Result<(), Error> {
    let ranks: Vec<u32> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    let ranks = if ranks.is_empty() { vec![2, 4, 8] } else { ranks };
    println!("op,dtype,n,bytes,us_median,us_min,us_max");
    for op in Op::ALL {
        for &n in &ranks {
            for bytes in SIZES {
                let mut samples = measure(op, n, bytes)?;
                samples.sort_by(f64::total_cmp);
                let (median, min, max) =
                    (samples[samples.len() / 2], samples[0], samples[samples.len() - 1]);
                println!("{},f32,{n},{bytes},{median:.2},{min:.2},{max:.2}", op.name());
            }
        }
    }
    Ok(())
}
