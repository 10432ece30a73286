//! Thousands of ranks as tasks of one thread.

use std::pin::Pin;
use std::process::{Command, ExitCode};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use rankwise_comm::prelude::*;
use rankwise_mock::{Comm, World};

use crate::machine;
use crate::options::Options;

/// What this program is told so that it is only this: memory is counted by process.
pub(crate) const WORD: &str = "--crowd";

/// Elements of each rank.
const ELEMENTS: usize = 1 << 10;

pub(crate) fn run(options: &Options) {
    let ranks = options.crowd;
    println!("{ranks} ranks as tasks of one thread, all_reduce of {ELEMENTS} f32 each:");
    for _ in 0..options.rounds.min(3) {
        let own = std::env::current_exe().expect("this program has a path");
        let output = Command::new(own).args([WORD, &ranks.to_string()]).output();
        let output = output.expect("this program starts again");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        print!("{}", String::from_utf8_lossy(&output.stdout));
    }
}

/// One run, in a process of its own.
pub(crate) fn alone(words: &[String]) -> ExitCode {
    let Some(ranks) = words.first().and_then(|word| word.parse::<u32>().ok()) else {
        return ExitCode::from(2);
    };
    let before = machine::memory("VmRSS");
    let begun = Instant::now();
    let ones = vec![1.0; ELEMENTS];
    let buffers = |comm: Comm| {
        let mut x = comm.buffer::<f32>(ELEMENTS)?;
        let y = comm.buffer::<f32>(ELEMENTS)?;
        comm.stream().write(&mut x, &ones)?;
        Ok::<_, Error>((comm, x, y))
    };
    let members = World::of(ranks).communicators().into_iter().map(buffers);
    let mut members = members.collect::<Result<Vec<_>, _>>().expect("there is memory");
    let made = begun.elapsed();

    let begun = Instant::now();
    let task = |(comm, x, y): &mut (Comm, Buffer<f32, _>, Buffer<f32, _>)| {
        comm.all_reduce(Reduction::Sum, &*x, y)?;
        comm.stream().fence()
    };
    let tasks = members.iter_mut().map(|member| async { task(member)?.await }).collect();
    run_all(tasks).into_iter().collect::<Result<(), Error>>().expect("well matched");
    let took = begun.elapsed().as_secs_f64() * 1e3;

    let kib = |bytes: u64| bytes.div_ceil(1 << 10);
    let sides = kib(u64::from(ranks) * 2 * 4 * u64::try_from(ELEMENTS).expect("small"));
    let allowed = sides + sides / 10 + u64::from(ranks);
    let peak = machine::memory("VmHWM").zip(before).map(|(peak, before)| peak - before);
    let memory = peak.map_or("peak memory not known here".to_owned(), |peak| {
        let met = if peak <= allowed { "met" } else { "NOT met" };
        format!("peak {peak} KiB, inputs and outputs {sides} KiB  <= {allowed} KiB: {met}")
    });
    let met = if took < 100.0 { "met" } else { "NOT met" };
    let made = made.as_secs_f64() * 1e3;
    println!("  made in {made:.1} ms; {took:.1} ms  < 100 ms: {met}; {memory}");
    ExitCode::SUCCESS
}

/// Which tasks are to be polled.
struct Task {
    number: usize,
    ready: Arc<Mutex<Vec<usize>>>,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.ready.lock().expect("not poisoned").push(self.number);
    }
}

/// Polls every future whose turn it is, until all have ended. No other thread wakes any:
/// if none is ready and some are left, they never end.
fn run_all<R>(futures: Vec<impl Future<Output = R>>) -> Vec<R> {
    let ready = Arc::new(Mutex::new((0..futures.len()).collect::<Vec<_>>()));
    let mut results: Vec<Option<R>> = futures.iter().map(|_| None).collect();
    let mut futures: Vec<Pin<Box<_>>> = futures.into_iter().map(Box::pin).collect();
    let waker = |number| Waker::from(Arc::new(Task { number, ready: Arc::clone(&ready) }));
    let wakers: Vec<Waker> = (0..futures.len()).map(waker).collect();
    loop {
        let turn = std::mem::take(&mut *ready.lock().expect("not poisoned"));
        if turn.is_empty() {
            return results.into_iter().map(|result| result.expect("a task is stuck")).collect();
        }
        for number in turn {
            if results[number].is_none()
                && let Poll::Ready(result) =
                    futures[number].as_mut().poll(&mut Context::from_waker(&wakers[number]))
            {
                results[number] = Some(result);
            }
        }
    }
}
