//! Every example prints exactly what stands beside it in `printed/`, worked out by hand.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{fs, io};

/// The examples with their programs.
const EXAMPLES: &[(&str, &str)] = &[
    ("01-two-ranks", env!("CARGO_BIN_EXE_01-two-ranks")),
    ("02-same-gpus-three-results", env!("CARGO_BIN_EXE_02-same-gpus-three-results")),
    ("03-counts-are-not-bytes", env!("CARGO_BIN_EXE_03-counts-are-not-bytes")),
    ("04-relabel", env!("CARGO_BIN_EXE_04-relabel")),
    ("05-reduce-scatter-then-all-gather", env!("CARGO_BIN_EXE_05-reduce-scatter-then-all-gather")),
    ("06-a-rank-fails", env!("CARGO_BIN_EXE_06-a-rank-fails")),
    ("07-the-same-step-on-two-backends", env!("CARGO_BIN_EXE_07-the-same-step-on-two-backends")),
];

/// A lesson fits on a page or two.
const MOST_LINES: usize = 80;

fn folder(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The names of the files of a folder, without their extension.
fn names(path: &str, extension: &str) -> BTreeSet<String> {
    let files = fs::read_dir(folder(path)).unwrap();
    let name = |file: io::Result<fs::DirEntry>| {
        let name = file.unwrap().file_name().into_string().unwrap();
        let stem = name.strip_suffix(extension);
        stem.unwrap_or_else(|| panic!("{path}/{name} is not a {extension}")).to_owned()
    };
    files.map(name).collect()
}

/// What a program prints, if it ends well within half a minute.
fn printed(name: &str, program: &str) -> String {
    let mut child = Command::new(program)
        // For the one that loads NCCL: stand-ins, whatever this machine has.
        .env("RANKWISE_LIBCUDA", host_libcuda::library_file().unwrap())
        .env("NCCL_LIBRARY", host_libnccl::library_file().unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    // Both outputs are shorter than a pipe holds, so the program never waits for us.
    let deadline = Instant::now() + Duration::from_secs(30);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("{name} still runs after half a minute");
        }
        sleep(Duration::from_millis(5));
    }
    let ended = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{name}: {}\n{stderr}", ended.status);
    String::from_utf8(ended.stdout).unwrap()
}

#[test]
fn every_example_prints_what_it_should() {
    let mut wrong = Vec::new();
    for (name, program) in EXAMPLES {
        let expected = fs::read_to_string(folder("printed").join(format!("{name}.txt"))).unwrap();
        let found = printed(name, program);
        if found != expected {
            wrong.push(format!("== {name} should print\n{expected}-- and prints\n{found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_example_has_its_text_and_its_line_in_the_table() {
    let examples: BTreeSet<_> = EXAMPLES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names("src/bin", ".rs"), examples);
    assert_eq!(names("printed", ".txt"), examples);
    let table = fs::read_to_string(folder("README.md")).unwrap();
    let listed = table.lines().filter_map(|line| {
        let (name, _) = line.strip_prefix("| [`")?.split_once("`]")?;
        Some(name.to_owned())
    });
    assert_eq!(listed.collect::<BTreeSet<_>>(), examples);
}

#[test]
fn every_example_is_short() {
    for (name, _) in EXAMPLES {
        let text = fs::read_to_string(folder("src/bin").join(format!("{name}.rs"))).unwrap();
        let lines = text.lines().count();
        assert!(lines <= MOST_LINES, "{name} has {lines} lines");
    }
}
