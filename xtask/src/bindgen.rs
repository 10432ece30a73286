//! `cargo xtask bindgen`: the declarations of `nccl-sys`, from NCCL's header.
//!
//! They are committed, so that nobody else needs what this needs: `pip`, `rustfmt`,
//! the network once (330 MB; the header comes with its library), and an x86-64 Linux
//! whose packages `tools/bindgen/requirements.txt` pins by their hashes.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo;
use crate::outcome::{Done, Failure, Outcome, judge, plural};
use crate::workspace::Workspace;

/// What the generator writes, in the folder that it is committed to.
const FILES: [&str; 3] = ["types.rs", "linked.rs", "dynamic.rs"];
const HOME: &str = "crates/nccl-sys/src";

const REQUIREMENTS: &str = "tools/bindgen/requirements.txt";

/// Names the folder for what is fetched; it is `bindgen` among what is built otherwise.
const CACHE: &str = "RANKWISE_BINDGEN_CACHE";

/// Writes the files again, or with `--check` says where they differ.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let check = match arguments {
        [] => false,
        [flag] if flag == "--check" => true,
        other => {
            return Err(Failure::Said(format!("bindgen takes --check or nothing, not {other:?}")));
        }
    };
    let formatter = formatter(workspace)?;
    let packages = packages(workspace)?;
    let generated = generate(workspace, &packages)?;
    cargo::run(
        rustfmt(workspace)
            .args(["--edition", "2024", "--config-path", "rustfmt.toml"])
            .args(FILES.map(|file| generated.join(file))),
    )?;

    let mut faults = Vec::new();
    let mut written = 0;
    for file in FILES {
        let path = format!("{HOME}/{file}");
        let expected = read(&generated.join(file))?;
        // A file that is not there yet differs from its first line on.
        let committed = workspace.root.join(&path);
        let found = if committed.exists() { read(&committed)? } else { String::new() };
        let Some(difference) = first_difference(&found, &expected) else { continue };
        if check {
            faults.push(format!("{path}:{difference}"));
        } else {
            fs::write(&committed, &expected).map_err(Failure::io(format!("writing {path}")))?;
            written += 1;
        }
    }
    if check {
        return judge(faults, || {
            format!("{} as {formatter} leaves them", plural(FILES.len(), "file"))
        });
    }
    let unchanged = FILES.len() - written;
    Ok(Done::Ran(format!("{} written, {unchanged} unchanged", plural(written, "file"))))
}

fn rustfmt(workspace: &Workspace) -> Command {
    let mut command = Command::new(env::var_os("RUSTFMT").unwrap_or_else(|| "rustfmt".into()));
    command.current_dir(&workspace.root).stdin(Stdio::null());
    command
}

/// What the formatter calls itself. Asked first: it is part of what is compared, and
/// it is a pity to fetch everything and then lack it.
fn formatter(workspace: &Workspace) -> Result<String, Failure> {
    match cargo::captured(rustfmt(workspace).arg("--version")) {
        Ok(said) if said.success => Ok(said.stdout.trim().to_owned()),
        Ok(said) => Err(Failure::Said(format!("rustfmt does not run: {}", said.stderr.trim()))),
        Err(failure) => Err(Failure::Said(format!(
            "{failure}; without rustfmt the files would differ in every line: install it, or \
             name it in RUSTFMT"
        ))),
    }
}

/// The folder that holds the Python packages, fetched if they are not there yet.
pub(crate) fn packages(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let cache = match env::var_os(CACHE) {
        Some(folder) => workspace.root.join(folder),
        None => workspace.target.join("bindgen"),
    };
    let (folder, stamp) = (cache.join("packages"), cache.join("requirements.txt"));
    let required = read(&workspace.root.join(REQUIREMENTS))?;
    // Written last, so half a download does not pass for one.
    if fs::read_to_string(&stamp).is_ok_and(|fetched| fetched == required) {
        return Ok(folder);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .map_err(Failure::io(format!("clearing {}", folder.display())))?;
    }
    let mut pip = Command::new(env::var_os("PYTHON").unwrap_or_else(|| "python3".into()));
    pip.current_dir(&workspace.root).stdin(Stdio::null());
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]);
    pip.args(["--only-binary", ":all:", "--require-hashes", "--requirement", REQUIREMENTS]);
    pip.arg("--target").arg(&folder);
    println!("$ {}", cargo::shown(&pip));
    let said = cargo::captured(&mut pip)?;
    if !said.success {
        let last = said.stderr.lines().last().unwrap_or("it said nothing");
        return Err(Failure::Said(format!("pip: {last}")));
    }
    fs::write(&stamp, required).map_err(Failure::io(format!("writing {}", stamp.display())))?;
    Ok(folder)
}

/// Builds the generator and runs it; returns the folder it wrote to.
fn generate(workspace: &Workspace, packages: &Path) -> Result<PathBuf, Failure> {
    let folder = workspace.target.join("bindgen").join("generated");
    fs::create_dir_all(&folder).map_err(Failure::io(format!("making {}", folder.display())))?;
    let mut command = cargo::at_root(workspace);
    command.env("LIBCLANG_PATH", packages.join("clang/native"));
    // bindgen takes more options from it.
    command.env_remove("BINDGEN_EXTRA_CLANG_ARGS");
    command.args(["run", "--quiet", "--locked", "--manifest-path", "tools/bindgen/Cargo.toml"]);
    command.arg("--target-dir").arg(&workspace.target).arg("--");
    command.arg(packages.join("nvidia/nccl/include")).arg("tools/bindgen/headers").arg(&folder);
    cargo::run(&mut command)?;
    Ok(folder)
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(Failure::io(format!("reading {}", path.display())))
}

/// The first line that is not the same, with both versions of it.
fn first_difference(found: &str, expected: &str) -> Option<String> {
    if found == expected {
        return None;
    }
    // With their ends, so that the last one may differ in its end alone.
    let (mut have, mut want) = (found.split_inclusive('\n'), expected.split_inclusive('\n'));
    let mut number = 1;
    loop {
        let (have, want) = (have.next(), want.next());
        if have != want {
            let shown = |line: Option<&str>| match line {
                Some(line) => format!("{line:?}"),
                None => "the end of the file".to_owned(),
            };
            return Some(format!("{number}: expected {}, found {}", shown(want), shown(have)));
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named_with_both_sides() {
        let differs = |found, expected| first_difference(found, expected).unwrap();
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(differs("a\nc\nd\n", "a\nb\ne\n"), r#"2: expected "b\n", found "c\n""#);
        assert_eq!(differs("a\n", "a\nb\n"), r#"2: expected "b\n", found the end of the file"#);
        assert_eq!(differs("a\nb\n", "a\n"), r#"2: expected the end of the file, found "b\n""#);
        assert_eq!(differs("a", "a\n"), r#"1: expected "a\n", found "a""#);
        assert_eq!(differs("a\r\n", "a\n"), r#"1: expected "a\n", found "a\r\n""#);
    }

    #[test]
    fn every_generated_file_says_so_in_its_first_line() {
        let root = Workspace::read().unwrap().root;
        for file in FILES {
            let text = read(&root.join(HOME).join(file)).unwrap();
            let first = text.lines().next().unwrap();
            assert!(first.ends_with("ritten by `cargo xtask bindgen`."), "{file}: {first}");
        }
    }
}
