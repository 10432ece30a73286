//! `cargo xtask programs`: random rank programs on the mock, at length.

use crate::cargo;
use crate::outcome::{Done, Failure, Outcome};
use crate::workspace::Workspace;

/// How many programs are run if nobody says otherwise.
const PROGRAMS: u64 = 100_000;

/// Runs the mock's test of random programs on many of them.
///
/// It says how often each operation came, and the seed of a program that left something
/// else than the model says.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let (mut programs, mut seed) = (PROGRAMS, 0);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let number = words.next().and_then(|number| number.parse::<u64>().ok());
        match (word.as_str(), number) {
            ("--programs", Some(number)) => programs = number,
            ("--seed", Some(number)) => seed = number,
            _ => {
                let usage = "programs takes `--programs N` and `--seed S`".to_owned();
                return Err(Failure::Said(usage));
            }
        }
    }
    let mut command = cargo::at_root(workspace);
    command.args(["test", "--release", "--locked", "-p", "rankwise-mock", "--test", "random"]);
    command.args(["--", "--nocapture"]);
    command.env("RANKWISE_RANDOM_PROGRAMS", programs.to_string());
    command.env("RANKWISE_RANDOM_SEED", seed.to_string());
    cargo::run(&mut command)?;
    Ok(Done::Ran(format!("{programs} random programs")))
}
