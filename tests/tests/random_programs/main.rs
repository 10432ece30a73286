//! Random rank programs, carried out by the mock's ranks and by an interpreter that reads
//! the same program as one story. Every buffer of every rank must agree, bit for bit.
//!
//! The interpreter states the collectives again, from the table of DESIGN: that is the
//! point. Only the arithmetic of one combining step is the model's; it has an oracle of
//! its own (`oracle_reference`).

#![allow(clippy::print_stdout)] // how much was compared

mod execute;
mod generate;
mod interpret;

use std::sync::mpsc;
use std::time::Duration;

use generate::{Program, Random};

const PROGRAMS: u64 = 10_000;

#[test]
fn ten_thousand_random_programs_agree_bit_for_bit() {
    let (done, ended) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let (mut steps, mut compared, mut kinds) = (0, 0, std::collections::BTreeMap::new());
        for seed in 0..PROGRAMS {
            let program = Program::random(&mut Random::new(seed));
            let expected = interpret::run(&program);
            let found = execute::run(&program);
            for (rank, (found, expected)) in found.iter().zip(&expected).enumerate() {
                let found = found.as_ref().unwrap_or_else(|error| {
                    panic!("seed {seed}, rank {rank}: {error}\n{program:#?}")
                });
                for (buffer, (found, expected)) in found.iter().zip(expected).enumerate() {
                    for (position, expected) in expected.iter().enumerate() {
                        let Some(expected) = expected else { continue }; // not promised
                        let found = found[position];
                        assert_eq!(
                            found, *expected,
                            "seed {seed}, rank {rank}, buffer {buffer}, position {position}\n{program:#?}"
                        );
                        compared += 1;
                    }
                }
            }
            steps += program.steps.len();
            for step in &program.steps {
                *kinds.entry(step.name()).or_insert(0) += 1;
            }
            if seed % 100 == 0 {
                let _ = done.send(None);
            }
        }
        let _ = done.send(Some((steps, compared, kinds)));
    });
    loop {
        match ended.recv_timeout(Duration::from_mins(2)) {
            Ok(None) => {}
            Ok(Some((steps, compared, kinds))) => {
                println!("{PROGRAMS} programs, {steps} steps, {compared} positions: {kinds:?}");
                assert_eq!(kinds.len(), 9, "every operation and messages: {kinds:?}");
                break;
            }
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("a program hangs"),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}
