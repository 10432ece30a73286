//! `cargo xtask clients`: other people's clients of NCCL, unmodified, on the stand-ins.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::outcome::{Done, Failure, Outcome, judge};
use crate::workspace::Workspace;
use crate::{cargo, stand_ins};

/// A client, and what it is made of: a list of pinned Python packages.
const CLIENTS: [(&str, &str); 2] =
    [("nccl4py", "tools/clients/nccl4py.txt"), ("cupy", "tools/clients/cupy.txt")];
const PROGRAM: &str = "tools/clients/client.py";
const RANKS: [&str; 2] = ["2", "4"];

/// Names the folder for what is fetched; it is `clients` among what is built otherwise.
const CACHE: &str = "RANKWISE_CLIENTS_CACHE";

/// Fetches the clients that can be had, and runs each on two and four ranks.
///
/// A client that cannot be had is skipped, said and counted, and is no failure: the exit
/// code is zero unless a client that ran went wrong.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Outcome {
    if !arguments.is_empty() {
        return Err(Failure::Said("clients takes no arguments".to_owned()));
    }
    let folder = stand_ins::lay_out(workspace, "debug")?;
    let (mut ran, mut skipped) = (0, 0);
    let mut faults = Vec::new();
    for (client, packages) in CLIENTS {
        let python = match environment(workspace, client, packages)? {
            Ok(python) => python,
            Err(why) => {
                println!("SKIPPED {client}: {why}");
                skipped += 1;
                continue;
            }
        };
        for ranks in RANKS {
            let mut command = Command::new(&python);
            command.current_dir(&workspace.root).stdin(Stdio::null());
            command.args([PROGRAM, client, ranks]).env("LD_LIBRARY_PATH", &folder);
            match cargo::run(&mut command) {
                Ok(()) => ran += 1,
                Err(failure) => faults.push(format!("{client} on {ranks} ranks: {failure}")),
            }
        }
    }
    let summary = format!("{ran} runs right, {skipped} clients skipped; exit code 0");
    if ran == 0 && faults.is_empty() {
        return Ok(Done::Skipped(summary));
    }
    judge(faults, || summary)
}

/// The Python of an environment that has these packages, made if it is not there yet; or
/// why it cannot be had.
fn environment(
    workspace: &Workspace,
    client: &str,
    packages: &str,
) -> Result<Result<PathBuf, String>, Failure> {
    let cache = match env::var_os(CACHE) {
        Some(folder) => workspace.root.join(folder),
        None => workspace.target.join("clients"),
    };
    let (folder, stamp) = (cache.join(client), cache.join(format!("{client}.txt")));
    let path = workspace.root.join(packages);
    let required = fs::read_to_string(&path).map_err(Failure::io(format!("reading {packages}")))?;
    let python = folder.join("bin/python");
    // Written last, so half a download does not pass for one.
    if fs::read_to_string(&stamp).is_ok_and(|fetched| fetched == required) {
        return Ok(Ok(python));
    }
    let made = Command::new(env::var_os("PYTHON").unwrap_or_else(|| "python3".into()));
    let (mut made, mut pip) = (made, Command::new(&python));
    made.args(["-m", "venv", "--clear"]).arg(&folder);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    pip.args(["--only-binary", ":all:", "--requirement"]).arg(&path);
    for command in [&mut made, &mut pip] {
        command.stdin(Stdio::null());
        println!("$ {}", cargo::shown(command));
        match cargo::captured(command) {
            Ok(said) if said.success => {}
            Ok(said) => {
                let last = said.stderr.lines().last().unwrap_or("it said nothing");
                return Ok(Err(last.to_owned()));
            }
            Err(failure) => return Ok(Err(failure.to_string())),
        }
    }
    fs::write(&stamp, required).map_err(Failure::io(format!("writing {}", stamp.display())))?;
    Ok(Ok(python))
}
