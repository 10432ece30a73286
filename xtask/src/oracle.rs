//! `cargo xtask oracle`: the checker of plans against the oracle, at length.

use crate::cargo;
use crate::outcome::{Done, Failure, Outcome};
use crate::workspace::Workspace;

/// How many random plans are compared if nobody says otherwise.
const PLANS: u64 = 1_000_000;

/// Runs the oracle's tests on many random plans, and on every plan of two steps.
///
/// They say how far they are, print how often each operation after each other one came
/// out how, and fail on a disagreement or where that table has an empty cell.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let (mut plans, mut seed) = (PLANS, 0);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let number = words.next().and_then(|number| number.parse::<u64>().ok());
        match (word.as_str(), number) {
            ("--plans", Some(number)) => plans = number,
            ("--seed", Some(number)) => seed = number,
            _ => return Err(Failure::Said("oracle takes `--plans N` and `--seed S`".to_owned())),
        }
    }
    let mut command = cargo::at_root(workspace);
    command.args(["test", "--release", "--locked", "-p", "rankwise-oracle", "--test", "checker"]);
    command.args(["--", "--nocapture", "--test-threads=1"]);
    command.env("RANKWISE_ORACLE_PLANS", plans.to_string());
    command.env("RANKWISE_ORACLE_SEED", seed.to_string());
    command.env("RANKWISE_ORACLE_WHOLE", "1");
    cargo::run(&mut command)?;
    Ok(Done::Ran(format!("{plans} random plans, and every plan of two steps")))
}
