//! Several threads at one job.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rankwise_mock::engine::{Seat, Worked};
use rankwise_model::{GroupSize, Layout, Operation, Reduction};

use crate::memory::{Guard, Guarded, finish, in_place_seat, job};
use crate::values::Values;

const COUNT: u64 = 60_000;

fn buffers(layout: &Layout, seed: u64) -> Vec<Guarded<f32>> {
    let mut values = Values::seeded(seed);
    let lengths = layout.each().map(|at| at.input_len().max(at.output_len()));
    lengths.map(|length| Guarded::holding(&values.many(length), Guard::Elements)).collect()
}

fn seats(layout: &Layout, buffers: &mut [Guarded<f32>]) -> Vec<Seat> {
    let each = layout.each().zip(buffers);
    each.map(|(at, buffer)| in_place_seat::<f32>(&at, buffer.span())).collect()
}

#[test]
fn any_number_of_threads_leaves_the_same_bits_and_one_finishes() {
    let ranks = GroupSize::new(3).unwrap();
    let (reduction, root) = (Reduction::Avg, ranks.rank(2).unwrap());
    let operations = [
        Operation::AllReduce { reduction },
        Operation::ReduceScatter { reduction },
        Operation::Reduce { reduction, root },
        Operation::AllGather,
        Operation::Broadcast { root },
        Operation::Gather { root },
        Operation::Scatter { root },
    ];
    for operation in operations {
        let layout = Layout::new(operation, ranks, COUNT).unwrap();
        let mut alone = buffers(&layout, 7);
        finish(&job::<f32>(layout, &seats(&layout, &mut alone)).unwrap());
        for threads in [2, 4] {
            let mut shared = buffers(&layout, 7);
            let job = job::<f32>(layout, &seats(&layout, &mut shared)).unwrap();
            assert!(job.shares() > threads, "{operation}: {} shares", job.shares());
            let (finishers, worked) = (AtomicUsize::new(0), AtomicUsize::new(0));
            thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| {
                        loop {
                            match job.work() {
                                Worked::Nothing => break,
                                Worked::Some => {}
                                Worked::Finished => {
                                    finishers.fetch_add(1, Ordering::Relaxed);
                                }
                            }
                            worked.fetch_add(1, Ordering::Relaxed);
                        }
                    });
                }
            });
            assert!(job.is_done());
            assert_eq!(finishers.load(Ordering::Relaxed), 1, "{operation}");
            assert_eq!(worked.load(Ordering::Relaxed), job.shares(), "{operation}");
            for (shared, alone) in shared.iter().zip(&alone) {
                assert!(shared.bits() == alone.bits(), "{operation} on {threads} threads");
            }
        }
    }
}

/// Large enough to go past the caches; the outputs are as far off a cache line as can be.
#[test]
fn a_job_beyond_the_caches_is_the_same() {
    let ranks = GroupSize::new(2).unwrap();
    let count = 2_000_003;
    let layout =
        Layout::new(Operation::AllReduce { reduction: Reduction::Sum }, ranks, count).unwrap();
    let mut values = Values::seeded(11);
    let mut side = || Guarded::<f32>::holding(&values.many(count), Guard::Elements);
    let (mut inputs, mut outputs) = ([side(), side()], [side(), side()]);
    let [a, b] = &mut inputs;
    let wanted: Vec<u32> = a
        .values()
        .iter()
        .zip(b.values().iter())
        .map(|(a, b)| if (a + b).is_nan() { 0x7fff_ffff } else { (a + b).to_bits() })
        .collect();
    let seats: Vec<_> = inputs
        .iter_mut()
        .zip(&mut outputs)
        .map(|(input, output)| Seat {
            input: Some(input.span()),
            output: Some(output.span()),
            scalar: None,
        })
        .collect();
    let job = job::<f32>(layout, &seats).unwrap();
    assert_eq!(job.weight(), 4 * 4 * count);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| while job.work() != Worked::Nothing {});
        }
    });
    for output in &outputs {
        let same = output.bits().into_iter().eq(wanted.iter().map(|bits| u64::from(*bits)));
        assert!(same, "an output differs, or its guards do");
    }
}

/// The first share of the second contribution starts where the first stroke ends.
#[test]
fn shares_that_end_where_a_stroke_ends_leave_nothing_out() {
    let count = 1 << 18;
    let layout = Layout::new(Operation::AllGather, GroupSize::new(2).unwrap(), count).unwrap();
    let mut values = Values::seeded(13);
    let mut side = |bytes| Guarded::<u8>::holding(&values.many(bytes), Guard::Elements);
    let mut inputs = [side(count), side(count)];
    let mut outputs = [side(2 * count), side(2 * count)];
    let seat = |(input, output): (&mut Guarded<u8>, &mut Guarded<u8>)| Seat {
        input: Some(input.span()),
        output: Some(output.span()),
        scalar: None,
    };
    let seats: Vec<_> = inputs.iter_mut().zip(&mut outputs).map(seat).collect();
    let job = job::<u8>(layout, &seats).unwrap();
    assert_eq!(job.shares(), 8, "four for each contribution");
    finish(&job);
    let gathered: Vec<u64> = inputs.iter().flat_map(Guarded::bits).collect();
    for output in &outputs {
        assert!(output.bits() == gathered, "a share was left out");
    }
}

/// A job without a byte is done by whoever comes first.
#[test]
fn a_job_of_nothing_is_finished_by_the_first_call() {
    let layout = Layout::new(Operation::AllGather, GroupSize::new(2).unwrap(), 0).unwrap();
    let job = job::<f32>(layout, &[Seat::default(); 2]).unwrap();
    assert_eq!((job.weight(), job.shares(), job.is_done()), (0, 1, false));
    finish(&job);
}
