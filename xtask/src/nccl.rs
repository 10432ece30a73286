//! `cargo xtask nccl`: the bindings against the real NCCL, which needs no GPU for that.

use crate::outcome::{Done, Failure, Outcome};
use crate::workspace::Workspace;
use crate::{bindgen, cargo};

/// Runs the test of `nccl-sys` on the library whose header the bindings come from.
///
/// Where the package cannot be had this is skipped, with the reason.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Outcome {
    if !arguments.is_empty() {
        return Err(Failure::Said("nccl takes no arguments".to_owned()));
    }
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok(Done::Skipped("the pinned package is for x86-64 Linux".to_owned()));
    }
    let packages = match bindgen::packages(workspace) {
        Ok(packages) => packages,
        Err(failure) => return Ok(Done::Skipped(format!("NCCL cannot be had: {failure}"))),
    };
    let library = packages.join("nvidia/nccl/lib/libnccl.so.2");
    let mut command = cargo::at_root(workspace);
    command.args(["test", "--locked", "-p", "nccl-sys", "--test", "real"]);
    command.env("NCCL_LIBRARY_REAL", library);
    // An id is an address: that of this machine alone will do, and is there without a net.
    command.env("NCCL_SOCKET_IFNAME", "lo");
    cargo::run(&mut command)?;
    Ok(Done::Ran("NCCL 2.32.3 is as declared".to_owned()))
}
