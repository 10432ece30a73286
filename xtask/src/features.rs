//! `cargo xtask features`: each crate alone, with each of its features.
//!
//! A build of the whole workspace unifies features, and so hides a crate that
//! only builds because its neighbour switched something on.

use crate::cargo;
use crate::outcome::{Outcome, judge, plural};
use crate::workspace::{Package, Workspace};

/// Checks every combination of [`selections`], and reports all that fail.
pub(crate) fn run(workspace: &Workspace) -> Outcome {
    let mut faults = Vec::new();
    let mut builds = 0;
    for package in workspace.published() {
        for selection in selections(package) {
            let mut command = cargo::at_root(workspace);
            command.args(["check", "--quiet", "--locked", "--package", &package.name]);
            command.args(&selection);
            builds += 1;
            if let Err(failure) = cargo::run(&mut command) {
                faults.push(failure.to_string());
            }
        }
    }
    judge(faults, || plural(builds, "build"))
}

/// No features, each one alone, and the default set.
fn selections(package: &Package) -> Vec<Vec<String>> {
    let none = || vec!["--no-default-features".to_owned()];
    let alone = package.features.iter().filter(|feature| *feature != "default").map(|feature| {
        let mut arguments = none();
        arguments.extend(["--features".to_owned(), feature.clone()]);
        arguments
    });
    let default = package.features.iter().any(|feature| feature == "default").then(Vec::new);
    std::iter::once(none()).chain(alone).chain(default).collect()
}
