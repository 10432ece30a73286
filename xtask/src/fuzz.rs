//! `cargo xtask fuzz`: the fuzz targets, on a stable toolchain, installing nothing.
//!
//! The folder is laid out for `cargo fuzz`, which also works. What that tool does
//! beyond calling cargo is to pass the flags of [`INSTRUMENTATION`]; passing them
//! here spares every machine its installation.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::cargo;
use crate::outcome::{Done, Failure, Outcome, plural};
use crate::workspace::Workspace;

/// What `cargo fuzz --sanitizer none` tells rustc: count edges and trace compares,
/// so that libFuzzer sees where an input went.
const INSTRUMENTATION: &[&str] = &[
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cllvm-args=-simplifycfg-branch-fold-threshold=0",
    "-Ccodegen-units=1",
    "-Cdebug-assertions",
    "-Coverflow-checks",
];

/// How long each target runs if nobody says otherwise.
const SECONDS: u64 = 10;

/// Builds the targets and runs each, or those that are named, for some seconds.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let all = targets(&workspace.root)?;
    let (seconds, named) = match arguments.split_first() {
        None => (SECONDS, arguments),
        Some((number, named)) => {
            let seconds = number.parse().map_err(|_| {
                Failure::Said(format!("fuzz takes a number of seconds first, not {number}"))
            })?;
            (seconds, named)
        }
    };
    if let Some(unknown) = named.iter().find(|name| !all.contains(name)) {
        let all = all.join(", ");
        return Err(Failure::Said(format!("no fuzz target {unknown}; there are {all}")));
    }
    let targets = if named.is_empty() { all.as_slice() } else { named };
    let compiler = env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    if !answers(&compiler) {
        return Ok(Done::Skipped(format!(
            "libFuzzer is C++ and `{compiler}` is not on this machine; install it or set CXX"
        )));
    }
    let host = cargo::host(workspace)?;
    cargo::run(
        cargo::at_root(workspace)
            .env("CARGO_ENCODED_RUSTFLAGS", INSTRUMENTATION.join("\u{1f}"))
            .args(["build", "--bins", "--manifest-path", "fuzz/Cargo.toml"])
            // So that build scripts and macros are not instrumented, but taken as
            // the other steps have built them.
            .args(["--target", &host, "--target-dir"])
            .arg(&workspace.target),
    )?;
    for target in targets {
        let program = workspace.target.join(&host).join("debug").join(target);
        run_target(workspace, &program, target, seconds)?;
    }
    Ok(Done::Ran(format!("{} of {seconds} s each", plural(targets.len(), "target"))))
}

fn answers(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The targets: one per file in `fuzz/fuzz_targets`.
fn targets(root: &Path) -> Result<Vec<String>, Failure> {
    let folder = root.join("fuzz/fuzz_targets");
    let doing = || Failure::io(format!("reading {}", folder.display()));
    let mut targets = Vec::new();
    for entry in fs::read_dir(&folder).map_err(doing())? {
        let path = entry.map_err(doing())?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            targets.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    targets.sort();
    if targets.is_empty() {
        return Err(Failure::Said(format!("no targets in {}", folder.display())));
    }
    Ok(targets)
}

/// Runs one target from its committed seeds; what it finds goes below `target`.
fn run_target(
    workspace: &Workspace,
    program: &Path,
    target: &str,
    seconds: u64,
) -> Result<(), Failure> {
    let folder = workspace.target.join("fuzz").join(target);
    let (found, crashes) = (folder.join("corpus"), folder.join("crashes"));
    for folder in [&found, &crashes] {
        fs::create_dir_all(folder).map_err(Failure::io(format!("making {}", folder.display())))?;
    }
    let mut command = Command::new(program);
    command
        .current_dir(&workspace.root)
        .stdin(Stdio::null())
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", crashes.display()))
        // Words are compared whole, which leaves no trail of single bytes to follow.
        .arg(format!("-dict=fuzz/dictionaries/{target}.dict"))
        // An input that takes this long is a fault of its own. It is the clock's time, so
        // that a machine that others keep busy needs more of it than the input does.
        .args(["-timeout=60", "-rss_limit_mb=2048", "-max_len=4096", "-print_final_stats=1"])
        .arg(&found)
        .arg(format!("fuzz/corpus/{target}"));
    println!("$ {}", cargo::shown(&command));
    let output = cargo::captured(&mut command)?;
    let log = folder.join("log");
    fs::write(&log, &output.stderr).map_err(Failure::io(format!("writing {}", log.display())))?;
    let statistics = output.stderr.lines().filter(|line| line.starts_with("stat::"));
    println!("{}", statistics.collect::<Vec<_>>().join("\n"));
    if output.success {
        return Ok(());
    }
    let report = output.stderr.lines().skip_while(|line| !line.contains("panicked at"));
    println!("{}", report.collect::<Vec<_>>().join("\n"));
    let crash = output.stderr.split("Test unit written to ").nth(1);
    let crash = crash.and_then(|rest| rest.lines().next());
    Err(Failure::Said(match crash {
        Some(crash) => format!(
            "{target} failed on the input in {crash}; to run it again:\n  {} {crash}",
            program.display()
        ),
        None => format!("{target} failed without an input of its own; see {}", log.display()),
    }))
}
