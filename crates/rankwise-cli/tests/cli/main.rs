//! The built command, from outside: what it prints, and with which status it ends.

mod arrays;
mod certify;
mod docs;
mod explore;
mod judge;
mod label;
mod plans;
mod programs;
mod refusals;
mod run;
mod scale;
mod schemas;
mod template;
mod usage;

use std::path::{Path, PathBuf};
use std::process::Command;

/// What one run of the command left.
#[derive(Debug)]
struct Ran {
    status: i32,
    stdout: String,
    stderr: String,
}

/// Runs `rankwise` in the root of the repository.
fn rankwise<S: AsRef<std::ffi::OsStr>>(words: impl IntoIterator<Item = S>) -> Ran {
    rankwise_with(&[], words)
}

/// The same with variables of the environment set.
fn rankwise_with<S: AsRef<std::ffi::OsStr>>(
    environment: &[(&str, &Path)],
    words: impl IntoIterator<Item = S>,
) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_rankwise"))
        .args(words)
        .envs(environment.iter().copied())
        .current_dir(root())
        .env_remove("NO_COLOR")
        .output()
        .expect("the command was built with this test");
    Ran {
        status: output.status.code().expect("the command is not killed"),
        stdout: String::from_utf8(output.stdout).expect("its text is UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("its text is UTF-8"),
    }
}

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

impl Ran {
    /// The envelope that `--json` printed; checks what all envelopes have in common.
    #[track_caller]
    fn envelope(&self, verb: &str) -> serde_json::Value {
        assert_eq!(self.stderr, "");
        let envelope: serde_json::Value = serde_json::from_str(&self.stdout).expect("JSON");
        let keys: Vec<&String> = envelope.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["data", "exit", "schema", "tool", "verdict"]);
        assert_eq!(envelope["schema"], format!("rankwise.{verb}/1"));
        assert_eq!(envelope["tool"]["name"], "rankwise");
        assert_eq!(envelope["tool"]["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(envelope["exit"], self.status);
        envelope
    }

    /// The lines of standard output, without what is left of tables' blanks.
    fn lines(&self) -> Vec<String> {
        let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        self.stdout.lines().map(squeezed).collect()
    }

    /// Whether a line of standard output says this, blanks aside.
    #[track_caller]
    fn says(&self, line: &str) {
        assert!(
            self.lines().iter().any(|said| said == line),
            "no line {line:?} in\n{}",
            self.stdout
        );
    }
}

/// An `.npy` file, version 1.0, of one axis.
fn npy(descr: &str, count: usize, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({count},), }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).expect("a short header").to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// An `.npy` file of 32-bit integers.
fn npy_i32(values: &[i32]) -> Vec<u8> {
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    npy("<i4", values.len(), &data)
}
