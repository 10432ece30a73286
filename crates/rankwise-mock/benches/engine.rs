//! Times of the engine alone: no streams, no matching, two threads that share a job.
//!
//! `cargo bench -p rankwise-mock --bench engine [-- all_reduce 2]`: the operations whose
//! name contains the first word, the group sizes that follow; everything without.
//!
//! A line is `op,dtype,n,bytes,us_median,us_min,us_max`. `bytes` are per rank: the input
//! of `all_reduce` and `reduce_scatter`, the output of `all_gather`. The time is that of
//! one collective of all ranks together, from a job already made to its last share done;
//! the line `job` is the making of one. Every sample follows a warm-up and is a mean over
//! enough collectives to last a few milliseconds; outputs and inputs are out of place
//! but in `all_reduce_in_place`.
#![allow(unsafe_code, reason = "the engine's one door is unsafe")]
#![allow(clippy::print_stdout, reason = "the measurements are what it is for")]

use std::hint;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use rankwise_mock::engine::{Job, Seat, Span, Worked};
use rankwise_model::{Dtype, GroupSize, Layout, Operation, Reduction};

/// As many as the machine of the published figures has cores.
const THREADS: usize = 2;
const SAMPLES: usize = 9;
const SAMPLE: Duration = Duration::from_millis(15);
const SIZES: [u64; 6] = [8, 1 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20];

/// One line of the table.
#[derive(Clone, Copy)]
struct Cell {
    name: &'static str,
    operation: Operation,
    dtype: Dtype,
    ranks: u32,
    bytes: u64,
}

/// Memory of every rank, and the seats on it.
struct Group {
    layout: Layout,
    dtype: Dtype,
    seats: Vec<Seat>,
    _memory: Vec<Vec<u64>>,
}

impl Group {
    fn new(cell: Cell) -> Self {
        let ranks = GroupSize::new(cell.ranks).expect("at least one rank");
        let elements = cell.bytes / cell.dtype.bytes();
        let count = match cell.operation {
            Operation::AllReduce { .. } => elements,
            _ => elements / u64::from(cell.ranks),
        };
        let layout = Layout::new(cell.operation, ranks, count).expect("the root is rank 0");
        let mut memory = Vec::new();
        let mut side = |elements: u64| {
            let bytes = usize::try_from(elements * cell.dtype.bytes()).expect("fits in memory");
            // From a cache line on, at another offset for every buffer: equal ones would
            // fall on the same cache sets. A finite number in every type.
            let skew = (memory.len() % 64) * 552;
            let mut words = vec![0x3f80_3f80_3f80_3f80_u64; skew + bytes / 8 + 8];
            let line = words.as_ptr().align_offset(64).min(7);
            let start = Span::of(&mut words[line + skew..]).start();
            memory.push(words);
            Span::new(start, bytes)
        };
        let seats = layout
            .each()
            .map(|at| {
                let input = side(at.input_len());
                let in_place = cell.name.ends_with("in_place");
                let output = if in_place { input } else { side(at.output_len()) };
                Seat { input: Some(input), output: Some(output), scalar: None }
            })
            .collect();
        Self { layout, dtype: cell.dtype, seats, _memory: memory }
    }

    fn job(&self) -> Job {
        // SAFETY: the memory lives as long as the group, which nobody looks into, and
        // the jobs of a batch are carried out one after the other.
        unsafe { Job::new(self.layout, self.dtype, &self.seats) }.expect("well laid out")
    }

    /// The time that a batch of jobs takes, all threads at each in turn.
    fn time(&self, jobs: usize) -> Duration {
        let jobs: Vec<Job> = (0..jobs).map(|_| self.job()).collect();
        let start = Barrier::new(THREADS);
        let times = thread::scope(|scope| {
            let work = || {
                start.wait();
                let begun = Instant::now();
                for job in &jobs {
                    while job.work() != Worked::Nothing {}
                    while !job.is_done() {
                        hint::spin_loop();
                    }
                }
                begun.elapsed()
            };
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).max()
        });
        times.expect("a thread was started")
    }
}

/// Microseconds per collective: median, least, greatest of the samples.
fn measure(once: impl Fn(usize) -> Duration) -> [f64; 3] {
    let mut batch = 1;
    while once(batch) < SAMPLE && batch < 1 << 20 {
        batch *= 2;
    }
    #[allow(clippy::cast_precision_loss)] // at most 2^20
    let mut samples: Vec<f64> =
        (0..SAMPLES).map(|_| once(batch).as_secs_f64() * 1e6 / batch as f64).collect();
    samples.sort_by(f64::total_cmp);
    [samples[SAMPLES / 2], samples[0], samples[SAMPLES - 1]]
}

fn main() {
    let sum = Reduction::Sum;
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let wanted = words.next().unwrap_or_default();
    let groups: Vec<u32> = words.filter_map(|word| word.parse().ok()).collect();
    let operations = [
        ("all_reduce", Operation::AllReduce { reduction: sum }, Dtype::F32),
        ("all_reduce_in_place", Operation::AllReduce { reduction: sum }, Dtype::F32),
        ("all_reduce_avg", Operation::AllReduce { reduction: Reduction::Avg }, Dtype::F32),
        ("all_reduce_max", Operation::AllReduce { reduction: Reduction::Max }, Dtype::F32),
        ("all_reduce", Operation::AllReduce { reduction: sum }, Dtype::I32),
        ("all_reduce", Operation::AllReduce { reduction: sum }, Dtype::Bf16),
        ("all_gather", Operation::AllGather, Dtype::F32),
        ("reduce_scatter", Operation::ReduceScatter { reduction: sum }, Dtype::F32),
    ];
    println!("op,dtype,n,bytes,us_median,us_min,us_max");
    for (name, operation, dtype) in operations {
        for ranks in [2, 4, 8] {
            let skipped = !groups.is_empty() && !groups.contains(&ranks);
            if skipped || !name.contains(&wanted) {
                continue;
            }
            for bytes in SIZES {
                if bytes < u64::from(ranks) * dtype.bytes() {
                    continue;
                }
                let cell = Cell { name, operation, dtype, ranks, bytes };
                let group = Group::new(cell);
                line(cell, name, measure(|batch| group.time(batch)));
                if bytes == SIZES[0] {
                    line(cell, "job", measure(|batch| making(&group, batch)));
                }
            }
        }
    }
}

/// The time that making (and dropping) so many jobs takes.
fn making(group: &Group, jobs: usize) -> Duration {
    let begun = Instant::now();
    for _ in 0..jobs {
        hint::black_box(group.job());
    }
    begun.elapsed()
}

fn line(cell: Cell, name: &str, [median, least, greatest]: [f64; 3]) {
    let Cell { dtype, ranks, bytes, .. } = cell;
    println!("{name},{dtype},{ranks},{bytes},{median:.2},{least:.2},{greatest:.2}");
}
