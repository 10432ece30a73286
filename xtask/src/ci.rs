//! `cargo xtask ci`: every check, cheap before dear.

use std::time::{Duration, Instant};

use crate::outcome::{Done, Failure, Outcome};
use crate::workspace::{Builds, Workspace};
use crate::{cargo, features, fuzz, layers, nccl, no_std, outside, package, suite, tidy};

/// A check by name.
type Step = (&'static str, fn(&Workspace) -> Outcome);

/// What CI runs, in this order; the first failure ends it.
const STEPS: &[Step] = &[
    ("format", cargo::format),
    ("layers", |workspace| layers::run(workspace, &[])),
    ("tidy", tidy::run),
    ("clippy", cargo::clippy),
    ("docs", cargo::docs),
    ("no-std", no_std::run),
    ("features", features::run),
    // The command that the README gives: `cargo xtask test`.
    ("test", |workspace| suite::run(workspace, &[])),
    // 330 MB once; the cache is that of `bindgen`.
    ("nccl", |workspace| nccl::run(workspace, &[])),
    ("outside", outside::run),
    ("package", package::run),
    ("fuzz", |workspace| fuzz::run(workspace, &[])),
];

/// Runs the steps and prints what each took.
pub(crate) fn run(workspace: &Workspace) -> Outcome {
    let workspace = &Workspace { builds: Builds::Once, ..workspace.clone() };
    let mut report = Vec::new();
    let mut skipped = 0;
    let start = Instant::now();
    for (name, step) in STEPS {
        println!("\n== {name}");
        let step_start = Instant::now();
        let outcome = step(workspace);
        let took = seconds(step_start.elapsed());
        let verdict = match &outcome {
            Ok(Done::Ran(what)) => what.clone(),
            Ok(Done::Skipped(why)) => {
                skipped += 1;
                format!("SKIPPED, {why}")
            }
            Err(failure) => format!("FAILED, {failure}"),
        };
        println!("== {name}: {took}");
        report.push((*name, took, verdict));
        if outcome.is_err() {
            break;
        }
    }
    println!("\n{:<10} {:>8}", "step", "time");
    for (name, took, verdict) in &report {
        println!("{name:<10} {took:>8}  {verdict}");
    }
    println!("{:<10} {:>8}", "all", seconds(start.elapsed()));
    match report.last() {
        Some((name, _, verdict)) if verdict.starts_with("FAILED") => {
            Err(Failure::Said(format!("step {name} failed")))
        }
        _ => Ok(Done::Ran(format!("{} steps ran, {skipped} skipped", report.len() - skipped))),
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
