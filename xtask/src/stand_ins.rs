//! `cargo xtask stand-ins`: the stand-ins for libcuda and libnccl, laid out for programs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cargo;
use crate::outcome::{Done, Failure, Outcome};
use crate::workspace::Workspace;

/// What cargo builds, and the names that programs ask the loader for.
const FILES: [(&str, [&str; 2]); 2] = [
    ("libhost_libcuda.so", ["libcuda.so.1", "libcuda.so"]),
    ("libhost_libnccl.so", ["libnccl.so.2", "libnccl.so"]),
];

/// Builds them and says how they are used.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let profile = match arguments {
        [] => "debug",
        [flag] if flag == "--release" => "release",
        other => {
            let why = format!("stand-ins takes --release or nothing, not {other:?}");
            return Err(Failure::Said(why));
        }
    };
    let folder = lay_out(workspace, profile)?;
    let shown = folder.display();
    println!(
        "\nPrograms that load NCCL by its name, in one process:\n\
         \n    LD_LIBRARY_PATH={shown} PROGRAM\n\
         \nOurs, or whatever loads NCCL through nccl-sys:\n\
         \n    RANKWISE_LIBCUDA={shown}/libcuda.so.1 NCCL_LIBRARY={shown}/libnccl.so.2 PROGRAM\n\
         \nNothing of it says anything of a GPU. More: docs/stand-ins.md\n"
    );
    Ok(Done::Ran(format!("{shown}")))
}

/// Builds both and copies them into a folder of their own, which is returned.
pub(crate) fn lay_out(workspace: &Workspace, profile: &str) -> Result<PathBuf, Failure> {
    if !cfg!(target_os = "linux") {
        return Err(Failure::Said("the stand-ins are laid out for Linux only".to_owned()));
    }
    let mut build = cargo::at_root(workspace);
    build.args(["build", "--locked", "-p", "host-libcuda", "-p", "host-libnccl"]);
    if profile == "release" {
        build.arg("--release");
    }
    cargo::run(&mut build)?;
    let folder = workspace.target.join("stand-ins");
    fs::create_dir_all(&folder).map_err(Failure::io(format!("making {}", folder.display())))?;
    for (built, [name, link]) in FILES {
        put(&workspace.target.join(profile).join(built), &folder.join(name))?;
        put(&folder.join(name), &folder.join(link))?;
    }
    Ok(folder)
}

/// Puts a copy in a place. A program that has the old one open keeps it.
fn put(from: &Path, to: &Path) -> Result<(), Failure> {
    let doing = || format!("copying {} to {}", from.display(), to.display());
    if to.exists() {
        fs::remove_file(to).map_err(Failure::io(doing()))?;
    }
    fs::copy(from, to).map(drop).map_err(Failure::io(doing()))
}
