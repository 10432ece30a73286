//! `cargo xtask package`: what a registry would get, compiled from that.
//!
//! Cargo packs the crates together, so that none has to be on a registry for the
//! next to be packed. Its own verification is not used: it unpacks each crate into
//! cargo's home, once per version, and so would go on to build today's packages
//! against the first ones it ever saw.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::cargo;
use crate::outcome::{Done, Failure, Outcome, plural};
use crate::workspace::{Package, Workspace};

/// Packs every published crate, unpacks them side by side, and checks them there.
pub(crate) fn run(workspace: &Workspace) -> Outcome {
    let mut command = cargo::at_root(workspace);
    // `--allow-dirty`: the working tree is what is checked, committed or not.
    command.args(["package", "--workspace", "--locked", "--allow-dirty", "--no-verify"]);
    for package in workspace.packages.iter().filter(|package| !package.published) {
        command.args(["--exclude", &package.name]);
    }
    command.arg("--target-dir").arg(&workspace.target);
    cargo::run(&mut command)?;

    let folder = workspace.target.join("unpacked");
    unpack(workspace, &folder)?;
    let mut command = cargo::at_root(workspace);
    // What a package can lack (a file, a feature, a dependency) shows in a check.
    command.args(["check", "--workspace", "--manifest-path"]);
    command.arg(folder.join("Cargo.toml")).arg("--target-dir").arg(&workspace.target);
    cargo::run(cargo::beside_workspace(&mut command))?;
    let packed = plural(workspace.published().count(), "crate");
    Ok(Done::Ran(format!("{packed} compile from the packages in target/package")))
}

/// Lays the packages out as a workspace that finds each of them in its place.
fn unpack(workspace: &Workspace, folder: &Path) -> Result<(), Failure> {
    let doing = || Failure::io(format!("laying out {}", folder.display()));
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(doing())?;
    }
    fs::create_dir_all(folder).map_err(doing())?;
    for package in workspace.published() {
        let packed = format!("{}.crate", unpacked(package));
        // -m: packages carry one old date for all their files, by which cargo could
        // not tell that anything changed.
        let mut tar = Command::new("tar");
        tar.stdin(Stdio::null()).arg("-xzmf").arg(workspace.target.join("package").join(packed));
        cargo::run(tar.arg("-C").arg(folder))?;
    }
    fs::write(folder.join("Cargo.toml"), manifest(workspace)).map_err(doing())?;
    // The versions of everything else are those of this repository.
    fs::copy(workspace.root.join("Cargo.lock"), folder.join("Cargo.lock")).map_err(doing())?;
    Ok(())
}

/// The folder that a package unpacks to.
fn unpacked(package: &Package) -> String {
    format!("{}-{}", package.name, package.version)
}

fn manifest(workspace: &Workspace) -> String {
    let mut members = String::new();
    let mut patches = String::new();
    for package in workspace.published() {
        let folder = unpacked(package);
        // Writing to a string cannot fail.
        let _ = write!(members, "\"{folder}\", ");
        let _ = writeln!(patches, "{} = {{ path = \"{folder}\" }}", package.name);
    }
    format!("[workspace]\nresolver = \"3\"\nmembers = [{members}]\n\n[patch.crates-io]\n{patches}")
}
