//! What a bare code cannot say goes to the standard error.

use std::fmt;
use std::io::{self, Write as _};

/// Says it in one line, which no other cuts in two.
pub(crate) fn say(what: impl fmt::Display) {
    let line = format!("host-libnccl: {what}\n");
    // Nobody is left to be told if that does not work either.
    let _ = io::stderr().write_all(line.as_bytes());
}
