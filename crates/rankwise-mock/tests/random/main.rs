//! Random rank programs on the mock, against the model, bit for bit.
//!
//! All operations, types, reductions and roots; several streams, communicators made by
//! splits, groups, in place, views, host writes and reads in the middle. Every program is
//! carried out on threads that pause at random, and by the model step by step.
//!
//! `RANKWISE_RANDOM_PROGRAMS` says how many (`cargo xtask programs` does 100,000), and
//! `RANKWISE_RANDOM_SEED` where they start; a failure names its seed.

#![allow(clippy::print_stdout, reason = "the counts are what a long run is for")]

#[path = "../engine/values.rs"]
mod values;

mod dice;
mod drive;
mod faults;
mod script;
mod spec;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::script::Script;

/// How many programs are run if nobody says otherwise.
const PROGRAMS: u64 = 2_000;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
}

#[test]
fn random_programs_leave_what_the_model_says() {
    let (count, seed) =
        (number("RANKWISE_RANDOM_PROGRAMS", PROGRAMS), number("RANKWISE_RANDOM_SEED", 0));
    let next = AtomicU64::new(0);
    // Two at once, so that ranks lose their processor at odd moments.
    let tallies: Vec<BTreeMap<String, u64>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut tally = BTreeMap::new();
                    loop {
                        let program = next.fetch_add(1, Ordering::Relaxed);
                        if program >= count {
                            return tally;
                        }
                        let script = Script::random(seed + program);
                        script.tally(&mut tally);
                        drive::run(&script);
                    }
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().expect("a program failed")).collect()
    });
    let mut sum = BTreeMap::new();
    for (what, times) in tallies.into_iter().flatten() {
        *sum.entry(what).or_insert(0) += times;
    }
    println!("{count} programs from seed {seed}:");
    for (what, times) in &sum {
        println!("{times:>9} {what}");
    }
    // A generator that has lost a row proves nothing of it.
    if count >= PROGRAMS {
        for kind in rankwise_model::OperationKind::ALL {
            assert!(sum.get(kind.name()).is_some_and(|times| *times > 100), "{kind} is too rare");
        }
    }
}
