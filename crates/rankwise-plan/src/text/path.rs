//! A key as a path: `proposal.sharded.step[1].op`.

use alloc::string::String;
use core::fmt::{self, Write};

/// A path being built.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Path(String);

impl Path {
    /// One key further in; quoted unless it is a bare TOML key.
    pub(crate) fn key(&self, key: &str) -> Self {
        let mut path = self.0.clone();
        if !path.is_empty() {
            path.push('.');
        }
        let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if !key.is_empty() && key.chars().all(is_bare) {
            path.push_str(key);
        } else {
            let _ = write!(path, "{key:?}"); // writing to a String cannot fail
        }
        Self(path)
    }

    /// One element of an array, from 0.
    pub(crate) fn index(&self, index: usize) -> Self {
        let mut path = self.0.clone();
        let _ = write!(path, "[{index}]"); // writing to a String cannot fail
        Self(path)
    }

    /// `inner`, seen from here: an inner path starts with a key or an index.
    pub(crate) fn join(&self, inner: &Self) -> Self {
        let mut path = self.0.clone();
        if !path.is_empty() && !inner.0.is_empty() && !inner.0.starts_with('[') {
            path.push('.');
        }
        path.push_str(&inner.0);
        Self(path)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Path> for String {
    fn from(path: Path) -> Self {
        path.0
    }
}
