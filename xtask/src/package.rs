//! `cargo xtask package`: what a registry would get, built from that.

use crate::cargo;
use crate::outcome::{Done, Outcome, plural};
use crate::workspace::Workspace;

/// Packs every published crate and builds each from its package alone.
///
/// They are packed together, since none of them needs to be on a registry yet
/// for the others to find it then.
pub(crate) fn run(workspace: &Workspace) -> Outcome {
    let mut command = cargo::at_root(workspace);
    // `--allow-dirty`: the working tree is what is checked, committed or not.
    command.args(["package", "--workspace", "--locked", "--allow-dirty"]);
    for package in workspace.packages.iter().filter(|package| !package.published) {
        command.args(["--exclude", &package.name]);
    }
    cargo::run(cargo::built_like_tests(&mut command))?;
    Ok(Done::Ran(plural(workspace.published().count(), "crate")))
}
