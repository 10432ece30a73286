//! `cargo xtask no-std`: a proof that the lower crates do without `std`.
//!
//! `#![no_std]` says nothing of a crate's dependencies, and on a hosted target
//! their `std` is silently there. So the check runs against a sysroot that has
//! only `core` (and `alloc`, where a crate may allocate): whatever reaches for
//! more does not compile, and rustc names it. Build scripts and procedural macros
//! run on the host with its whole sysroot; `--target` keeps the two apart.
//!
//! A check that cannot fail proves nothing, so four planted crates must fail it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::cargo;
use crate::outcome::{Failure, Outcome, judge, plural};
use crate::workspace::Workspace;

/// How much of the standard library is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ground {
    /// `core` alone.
    Core,
    /// `core` and `alloc`.
    Alloc,
}

/// The crates that this promises of, and on which ground.
const PROMISES: &[(&str, Ground)] = &[
    ("rankwise-model", Ground::Core),
    ("rankwise-account", Ground::Core),
    ("rankwise-topology", Ground::Alloc),
    ("rankwise-program", Ground::Alloc),
    ("rankwise-plan", Ground::Alloc),
    ("rankwise-certify", Ground::Alloc),
];

/// A crate that must fail: its name, the ground, its source, its dependencies,
/// and the crate that rustc must miss.
struct Planted {
    name: &'static str,
    ground: Ground,
    source: &'static str,
    dependencies: &'static str,
    missing: &'static str,
}

const PLANTED: &[Planted] = &[
    Planted {
        name: "takes-std",
        ground: Ground::Core,
        source: "#![no_std]\nextern crate std;\n",
        dependencies: "",
        missing: "std",
    },
    Planted {
        name: "takes-std-beside-alloc",
        ground: Ground::Alloc,
        source: "#![no_std]\nextern crate alloc;\nextern crate std;\n",
        dependencies: "",
        missing: "std",
    },
    Planted {
        name: "takes-alloc",
        ground: Ground::Core,
        source: "#![no_std]\nextern crate alloc;\n",
        dependencies: "",
        missing: "alloc",
    },
    Planted {
        name: "leans-on-std",
        ground: Ground::Alloc,
        source: "#![no_std]\npub use std_by_default::answer;\n",
        dependencies: "std-by-default = { path = \"../std-by-default\" }\n",
        missing: "std",
    },
];

/// Checks every promise whose crate exists, and that the planted crates fail.
pub(crate) fn run(workspace: &Workspace) -> Outcome {
    let bench = Bench::new(workspace)?;
    let mut checked = 0;
    let mut faults = Vec::new();
    for (name, ground) in PROMISES {
        if workspace.packages.iter().any(|package| package.name == *name) {
            let manifest = workspace.root.join("Cargo.toml");
            let mut command = bench.check(*ground, &manifest, name)?;
            match cargo::run(command.args(["--locked", "--no-default-features"])) {
                Ok(()) => println!("   {name}: nothing beyond {}", ground.libraries().join(", ")),
                Err(failure) => faults.push(format!("{name}: {failure}")),
            }
            checked += 1;
        }
    }
    for planted in PLANTED {
        bench.must_fail(planted)?;
    }
    judge(faults, || {
        format!(
            "{} without std; {} refused as they must be",
            plural(checked, "crate"),
            plural(PLANTED.len(), "planted crate")
        )
    })
}

impl Ground {
    const fn libraries(self) -> &'static [&'static str] {
        match self {
            Self::Core => &["core", "compiler_builtins"],
            Self::Alloc => &["core", "alloc", "compiler_builtins"],
        }
    }
}

/// The sysroots, and what is needed to use them.
struct Bench<'a> {
    workspace: &'a Workspace,
    folder: PathBuf,
    host: String,
    libraries: PathBuf,
}

impl<'a> Bench<'a> {
    fn new(workspace: &'a Workspace) -> Result<Self, Failure> {
        let host = cargo::host(workspace)?;
        let libraries = cargo::rustc(workspace, &["--print", "target-libdir"])?;
        Ok(Self {
            workspace,
            folder: workspace.target.join("no-std"),
            host,
            libraries: PathBuf::from(libraries.trim()),
        })
    }

    /// A sysroot with the libraries of `ground` and no others.
    fn sysroot(&self, ground: Ground) -> Result<PathBuf, Failure> {
        let sysroot = self.folder.join(format!("{ground:?}").to_lowercase());
        let into = sysroot.join("lib/rustlib").join(&self.host).join("lib");
        let doing = || Failure::io(format!("laying out {}", into.display()));
        // Afresh each time, lest another toolchain's libraries linger.
        if into.exists() {
            fs::remove_dir_all(&into).map_err(doing())?;
        }
        fs::create_dir_all(&into).map_err(doing())?;
        for entry in fs::read_dir(&self.libraries).map_err(doing())? {
            let entry = entry.map_err(doing())?;
            let file = entry.file_name().to_string_lossy().into_owned();
            let wanted = ground
                .libraries()
                .iter()
                .any(|library| file.starts_with(&format!("lib{library}-")));
            if wanted {
                link(&entry.path(), &into.join(&file)).map_err(doing())?;
            }
        }
        Ok(sysroot)
    }

    /// `cargo check` of one package on one ground.
    fn check(
        &self,
        ground: Ground,
        manifest: &Path,
        package: &str,
    ) -> Result<std::process::Command, Failure> {
        // Encoded, so that a path with a space in it stays one argument.
        let mut flags = OsString::from("--sysroot=");
        flags.push(self.sysroot(ground)?);
        let mut command = cargo::at_root(self.workspace);
        command
            .env("CARGO_ENCODED_RUSTFLAGS", flags)
            .args(["check", "--quiet", "--package", package, "--target", &self.host])
            .arg("--manifest-path")
            .arg(manifest)
            .arg("--target-dir")
            .arg(&self.workspace.target);
        Ok(command)
    }

    /// Writes the planted crate, and fails unless rustc misses what it should miss.
    fn must_fail(&self, planted: &Planted) -> Result<(), Failure> {
        let folder = self.folder.join("planted");
        write_crate(
            &folder.join("std-by-default"),
            "pub fn answer() -> String { String::new() }\n",
            "",
        )?;
        let here = folder.join(planted.name);
        write_crate(&here, planted.source, planted.dependencies)?;
        let mut command = self.check(planted.ground, &here.join("Cargo.toml"), planted.name)?;
        let output = cargo::captured(&mut command)?;
        let missed = format!("can't find crate for `{}`", planted.missing);
        if output.success {
            Err(Failure::Said(format!(
                "the planted crate {} passed: the check is blind",
                planted.name
            )))
        } else if output.stderr.contains(&missed) {
            println!("   planted {}: refused, {missed}", planted.name);
            Ok(())
        } else {
            Err(Failure::Said(format!(
                "the planted crate {} failed, but not because of {}:\n{}",
                planted.name, planted.missing, output.stderr
            )))
        }
    }
}

fn write_crate(folder: &Path, source: &str, dependencies: &str) -> Result<(), Failure> {
    let doing = || Failure::io(format!("writing {}", folder.display()));
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    fs::create_dir_all(folder.join("src")).map_err(doing())?;
    // Its own workspace: the folder may lie inside ours.
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\n{dependencies}\n[workspace]\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest).map_err(doing())?;
    fs::write(folder.join("src/lib.rs"), source).map_err(doing())
}

/// A hard link where the file system has them, else a copy.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(|_| ()))
}
