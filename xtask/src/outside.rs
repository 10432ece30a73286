//! `cargo xtask outside`: our crates as a stranger uses them.

use crate::cargo;
use crate::outcome::{Done, Outcome};
use crate::workspace::Workspace;

/// Builds and tests `tests/outside`, which inherits nothing from the workspace.
pub(crate) fn run(workspace: &Workspace) -> Outcome {
    let mut command = cargo::at_root(workspace);
    command.args(["test", "--manifest-path", "tests/outside/Cargo.toml", "--target-dir"]);
    command.arg(&workspace.target);
    cargo::run(cargo::beside_workspace(&mut command))?;
    Ok(Done::Ran("built and tested".to_owned()))
}
