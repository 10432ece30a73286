//! The state of the machine, to read the times by.

use std::fs;

/// Cores and load, as far as they are known.
pub(crate) fn now() -> String {
    let cores = crate::group::cores();
    let load = fs::read_to_string("/proc/loadavg").ok();
    let load = load.as_deref().and_then(|load| load.split_whitespace().next().map(str::to_owned));
    format!("{cores} cores, load {}", load.as_deref().unwrap_or("not known here"))
}

/// A line of this process's `/proc/self/status`, in KiB.
pub(crate) fn memory(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}
