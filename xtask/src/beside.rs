//! `cargo xtask beside`: our mock and libraries of others, given the same wrong programs.

use std::process::Command;

use crate::cargo;
use crate::outcome::{Done, Failure, Outcome};
use crate::workspace::Workspace;

const MANIFEST: &str = "tools/beside/Cargo.toml";

/// The libraries, each a feature of that crate.
const OTHERS: [&str; 2] = ["numr", "burn-collective"];

/// Builds `tools/beside` with every library that can be had, and runs it.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Outcome {
    if !arguments.is_empty() {
        return Err(Failure::Said("beside takes no arguments".to_owned()));
    }
    let mut skipped = 0;
    let mut had = OTHERS.to_vec();
    if why_not(workspace, &had)?.is_some() {
        had.clear();
        for other in OTHERS {
            match why_not(workspace, &[other])? {
                None => had.push(other),
                Some(why) => {
                    println!("SKIPPED {other}: {why}");
                    skipped += 1;
                }
            }
        }
    }
    cargo::run(of("run", workspace, &had).arg("-q"))?;
    Ok(Done::Ran(format!("{} libraries beside ours, {skipped} skipped", had.len())))
}

/// Why the crate cannot be built with these libraries, if it cannot: cargo's first error.
fn why_not(workspace: &Workspace, libraries: &[&str]) -> Result<Option<String>, Failure> {
    let mut command = of("build", workspace, libraries);
    println!("$ {}", cargo::shown(&command));
    let built = cargo::captured(&mut command)?;
    let error = built.stderr.lines().find(|line| line.starts_with("error"));
    let why = error.or(built.stderr.lines().last()).unwrap_or("it said nothing");
    Ok((!built.success).then(|| why.to_owned()))
}

fn of(verb: &str, workspace: &Workspace, libraries: &[&str]) -> Command {
    let mut command = cargo::at_root(workspace);
    command.args([verb, "--manifest-path", MANIFEST, "--features", &libraries.join(",")]);
    command.arg("--target-dir").arg(&workspace.target);
    command
}
