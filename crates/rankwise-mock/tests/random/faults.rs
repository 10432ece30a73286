//! Random programs that random faults strike: no hang, no panic, no error of our own.
//!
//! `RANKWISE_SOAK_SECONDS` says for how long (`cargo xtask soak` does ten minutes).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rankwise_comm::prelude::*;
use rankwise_mock::Faults;

use crate::drive::{Compared, play};
use crate::number;
use crate::script::Script;

/// How long if nobody says otherwise.
const SECONDS: u64 = 30;
/// A program of a few dozen steps that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn random_faults_end_every_program() {
    let seconds = number("RANKWISE_SOAK_SECONDS", SECONDS);
    let seed = number("RANKWISE_RANDOM_SEED", 0);
    let end = Instant::now() + Duration::from_secs(seconds);
    let next = AtomicU64::new(0);
    let before = resident_kib();
    let tallies: Vec<BTreeMap<String, u64>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut tally = BTreeMap::new();
                    while Instant::now() < end {
                        let seed = seed + next.fetch_add(1, Ordering::Relaxed);
                        for how in attempt(seed) {
                            *tally.entry(how).or_default() += 1;
                        }
                    }
                    tally
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().expect("a program failed")).collect()
    });
    let mut sum = BTreeMap::<String, u64>::new();
    for (how, times) in tallies.into_iter().flatten() {
        *sum.entry(how).or_default() += times;
    }
    println!("{} programs in {seconds} s, from seed {seed}; ranks that", next.into_inner());
    for (how, times) in &sum {
        println!("{times:>9} {how}");
    }
    if let (Some(before), Some(after)) = (before, resident_kib()) {
        println!("resident: {before} KiB before, {after} KiB after");
    }
}

/// How the ranks of one program ended, in words.
fn attempt(seed: u64) -> Vec<String> {
    let script = Script::random(seed);
    let ranks = u32::try_from(script.ranks).expect("small");
    let faults = Faults::random(seed, ranks, 12);
    let text = faults.to_string();
    let (done, ended) = mpsc::channel();
    thread::spawn(move || {
        // Nobody listens any more if it took too long.
        let _ = done.send(play(&script, faults, Compared::Nothing));
    });
    let ended = ended
        .recv_timeout(PATIENCE)
        .unwrap_or_else(|_| panic!("seed {seed} hangs or panics: {text}"));
    let describe = |ended: Result<(), Error>| match ended {
        Ok(()) => "returned".to_owned(),
        Err(error) => {
            assert_ne!(error.kind(), ErrorKind::Internal, "seed {seed}: {text}\n{error}");
            format!("were stopped, by the {:?}", error.kind()).to_lowercase()
        }
    };
    ended.into_iter().map(describe).collect()
}

fn resident_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
