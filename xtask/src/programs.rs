//! `cargo xtask programs` and `cargo xtask soak`: random rank programs on the mock, at length.

use crate::cargo;
use crate::outcome::{Done, Failure, Outcome};
use crate::workspace::Workspace;

/// How many programs are run if nobody says otherwise.
const PROGRAMS: u64 = 100_000;
/// How long faults strike if nobody says otherwise.
const SECONDS: u64 = 600;

/// Runs the mock's test of random programs on many of them.
///
/// It says how often each operation came, and the seed of a program that left something
/// else than the model says.
pub(crate) fn programs(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let (programs, seed) = numbers(arguments, "--programs", PROGRAMS)?;
    run(workspace, "random_programs", ("RANKWISE_RANDOM_PROGRAMS", programs), seed)?;
    Ok(Done::Ran(format!("{programs} random programs")))
}

/// Runs the mock's test of random programs with random faults for so long.
///
/// It says how the ranks ended and how much memory was resident, and the seed of a
/// program that hung.
pub(crate) fn soak(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let (seconds, seed) = numbers(arguments, "--seconds", SECONDS)?;
    run(workspace, "random_faults", ("RANKWISE_SOAK_SECONDS", seconds), seed)?;
    Ok(Done::Ran(format!("{seconds} seconds of random programs with random faults")))
}

/// The number after `much`, and the one after `--seed`.
fn numbers(arguments: &[String], much: &str, otherwise: u64) -> Result<(u64, u64), Failure> {
    let (mut number, mut seed) = (otherwise, 0);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let given = words.next().and_then(|number| number.parse::<u64>().ok());
        match given {
            Some(given) if word == much => number = given,
            Some(given) if word == "--seed" => seed = given,
            _ => return Err(Failure::Said(format!("takes `{much} N` and `--seed S`"))),
        }
    }
    Ok((number, seed))
}

fn run(
    workspace: &Workspace,
    test: &str,
    (variable, number): (&str, u64),
    seed: u64,
) -> Result<(), Failure> {
    let mut command = cargo::at_root(workspace);
    command.args(["test", "--release", "--locked", "-p", "rankwise-mock", "--test", "random"]);
    command.args(["--", "--nocapture", test]);
    command.env(variable, number.to_string());
    command.env("RANKWISE_RANDOM_SEED", seed.to_string());
    cargo::run(&mut command)
}
