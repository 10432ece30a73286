//! `cargo xtask test`: every test of the workspace, counted.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::cargo;
use crate::outcome::{Done, Failure, Outcome};
use crate::workspace::Workspace;

/// What libtest counted, over all its binaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Tally {
    /// Adds a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
    fn read(&mut self, line: &str) {
        let Some(counts) = line.strip_prefix("test result: ") else { return };
        for count in counts.split([';', '.']) {
            let mut words = count.split_whitespace();
            let number = words.next().and_then(|word| word.parse::<u64>().ok());
            match (number, words.next()) {
                (Some(number), Some("passed")) => self.passed += number,
                (Some(number), Some("failed")) => self.failed += number,
                (Some(number), Some("ignored")) => self.ignored += number,
                _ => {}
            }
        }
    }
}

/// Runs `cargo test --workspace` with `arguments` after it.
///
/// Everything is run even if something fails. A test that is ignored is a
/// failure: it is green and has shown nothing.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let mut command = cargo::at_root(workspace);
    command.args(["test", "--workspace", "--locked", "--no-fail-fast"]).args(arguments);
    let shown = cargo::shown(&command);
    println!("$ {shown}");
    let doing = format!("running `{shown}`");
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(Failure::io(doing.clone()))?;
    let mut tally = Tally::default();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            let line = line.map_err(Failure::io(doing.clone()))?;
            println!("{line}");
            tally.read(&line);
        }
    }
    let status = child.wait().map_err(Failure::io(doing))?;
    println!("{} passed, {} failed", tally.passed, tally.failed);
    if !status.success() {
        return Err(Failure::Exit { command: shown, status });
    }
    if tally.ignored > 0 {
        return Err(Failure::Said(format!(
            "{} ignored; a test runs or is not there",
            tally.ignored
        )));
    }
    Ok(Done::Ran(format!("{} passed", tally.passed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_added_over_binaries() {
        let mut tally = Tally::default();
        for line in [
            "running 4 tests",
            "test a ... ok",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.10s",
            "test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 7.00s",
            "the test result: ok. 99 passed",
        ] {
            tally.read(line);
        }
        assert_eq!(tally, Tally { passed: 13, failed: 2, ignored: 1 });
    }
}
