//! Threads that start together, and how long the slowest takes.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// Runs every worker in a thread of its own. The time is that of the slowest, from when
/// all were ready.
pub(crate) fn race(workers: Vec<impl FnOnce() + Send>) -> Duration {
    let start = Barrier::new(workers.len());
    let start = &start;
    thread::scope(|scope| {
        let run = |worker: Box<dyn FnOnce() + Send + '_>| {
            start.wait();
            let begun = Instant::now();
            worker();
            begun.elapsed()
        };
        let threads: Vec<_> =
            workers.into_iter().map(|worker| scope.spawn(move || run(Box::new(worker)))).collect();
        let times = threads.into_iter().map(|thread| thread.join().expect("a worker panicked"));
        times.max().unwrap_or_default()
    })
}

/// How many times `once` fits into a sample.
pub(crate) fn repetitions(sample: Duration, once: &mut impl FnMut(u32) -> Duration) -> u32 {
    let mut repetitions = 1;
    loop {
        let took = once(repetitions);
        if took * 4 >= sample || repetitions >= 1 << 16 {
            let fit = f64::from(repetitions) * sample.as_secs_f64() / took.as_secs_f64().max(1e-9);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // within u32
            return fit.clamp(1.0, f64::from(1 << 18)) as u32;
        }
        repetitions *= 4;
    }
}

/// Microseconds for one of so many.
pub(crate) fn each(took: Duration, repetitions: u32) -> f64 {
    took.as_secs_f64() * 1e6 / f64::from(repetitions)
}
