//! The built command, from outside: what it prints, and with which status it ends.

mod docs;
mod label;
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
    let output = Command::new(env!("CARGO_BIN_EXE_rankwise"))
        .args(words)
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
}
