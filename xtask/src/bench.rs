//! `cargo xtask bench`: times, with what they mean. No verdict hangs on one.

use crate::cargo;
use crate::outcome::{Done, Failure, Outcome};
use crate::workspace::Workspace;

/// Where the cost of plans is measured as clusters grow: a crate and its example.
const SCALES: [(&str, &str); 1] = [("rankwise-plan", "scale")];

/// Runs the benches of one kind.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Outcome {
    match arguments {
        [what, rest @ ..] if what == "mock" => mock(workspace, rest),
        [what, rest @ ..] if what == "plan" => plan(workspace, rest),
        _ => Err(usage()),
    }
}

/// Starts the programs that measure plans; each prints its own tables.
fn plan(workspace: &Workspace, arguments: &[String]) -> Outcome {
    if arguments.iter().any(|word| word != "--smoke") {
        return Err(usage());
    }
    for (package, example) in SCALES {
        let mut command = cargo::at_root(workspace);
        command.args(["run", "-q", "--release", "-p", package, "--example", example, "--"]);
        cargo::run(command.args(arguments))?;
    }
    Ok(Done::Ran(format!("{} programs", SCALES.len())))
}

/// Starts the bench of the mock, which reads its own options and prints its own tables.
fn mock(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let mut command = cargo::at_root(workspace);
    command.args(["bench", "-q", "-p", "rankwise-mock", "--bench", "mock", "--"]);
    cargo::run(command.args(arguments))?;
    Ok(Done::Ran("the mock".to_owned()))
}

fn usage() -> Failure {
    Failure::Said(
        "bench takes `mock`, then its options (`--help` lists them); or `plan`, then `--smoke`"
            .to_owned(),
    )
}
