//! Starting cargo, and the steps that are one call of it.

use std::env;
use std::process::{Command, Stdio};

use crate::outcome::{Done, Failure, Outcome};
use crate::workspace::{Builds, Workspace};

/// The manifests of crates that live in this repository but outside the workspace.
pub(crate) const ELSEWHERE: [&str; 4] = [
    "fuzz/Cargo.toml",
    "tests/outside/Cargo.toml",
    "tools/beside/Cargo.toml",
    "tools/bindgen/Cargo.toml",
];

/// The cargo that runs us, so that every step uses one toolchain.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.stdin(Stdio::null());
    command
}

/// The same, at the root of the workspace.
pub(crate) fn at_root(workspace: &Workspace) -> Command {
    let mut command = command();
    command.current_dir(&workspace.root);
    if workspace.builds == Builds::Once {
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

/// Gives a build outside our workspace what the root manifest gives to every
/// dependency, so that it takes them as the other steps have compiled them.
pub(crate) fn beside_workspace(command: &mut Command) -> &mut Command {
    command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "0").env("CARGO_PROFILE_DEV_DEBUG", "false")
}

/// Shows the command, runs it, and fails unless it succeeds.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let shown = shown(command);
    println!("$ {shown}");
    let status = command.status().map_err(Failure::io(format!("starting `{shown}`")))?;
    if status.success() { Ok(()) } else { Err(Failure::Exit { command: shown, status }) }
}

/// What a program printed.
pub(crate) struct Captured {
    pub(crate) success: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs the command silently.
pub(crate) fn captured(command: &mut Command) -> Result<Captured, Failure> {
    let doing = format!("starting `{}`", shown(command));
    let output = command.output().map_err(Failure::io(doing))?;
    Ok(Captured {
        success: output.status.success(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// The command as one would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = command.get_program().to_string_lossy();
    let name = program.rsplit(['/', '\\']).next().unwrap_or(&program).to_owned();
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    std::iter::once(name).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// What rustc prints when asked.
pub(crate) fn rustc(workspace: &Workspace, arguments: &[&str]) -> Result<String, Failure> {
    let mut command = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let output = captured(command.current_dir(&workspace.root).args(arguments))?;
    if output.success { Ok(output.stdout) } else { Err(Failure::Said(output.stderr)) }
}

/// The target triple of this machine.
pub(crate) fn host(workspace: &Workspace) -> Result<String, Failure> {
    rustc(workspace, &["-vV"])?
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .ok_or_else(|| Failure::Said("`rustc -vV` names no host".to_owned()))
}

/// `rustfmt`, checking only, in the workspace and beside it.
pub(crate) fn format(workspace: &Workspace) -> Outcome {
    run(at_root(workspace).args(["fmt", "--all", "--check"]))?;
    for manifest in ELSEWHERE {
        run(at_root(workspace).args(["fmt", "--check", "--manifest-path", manifest]))?;
    }
    Ok(Done::Ran("every source is formatted".to_owned()))
}

/// `clippy` on everything, warnings denied.
///
/// A newer clippy than the pinned one warns of things that nobody has seen here
/// yet; on such a toolchain warnings are shown and the outcome says so.
pub(crate) fn clippy(workspace: &Workspace) -> Outcome {
    let mut command = at_root(workspace);
    command.args(["clippy", "--workspace", "--all-targets", "--locked"]);
    let release = rustc(workspace, &["--version"])?;
    if release.split_whitespace().nth(1) == pinned_release() {
        run(command.args(["--", "-D", "warnings"]))?;
        return Ok(Done::Ran("no warnings".to_owned()));
    }
    run(&mut command)?;
    Ok(Done::Ran(format!("warnings not denied: {} is not the pinned release", release.trim())))
}

/// The release that `rust-toolchain.toml` names.
fn pinned_release() -> Option<&'static str> {
    include_str!("../../rust-toolchain.toml").split('"').nth(1)
}

/// `rustdoc` on everything, warnings denied.
pub(crate) fn docs(workspace: &Workspace) -> Outcome {
    run(at_root(workspace).env("RUSTDOCFLAGS", "-D warnings").args([
        "doc",
        "--workspace",
        "--no-deps",
        "--locked",
    ]))?;
    Ok(Done::Ran(format!("see {}", workspace.target.join("doc").display())))
}
