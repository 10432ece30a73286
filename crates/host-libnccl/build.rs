//! Gives the shared library the name that programs ask the loader for.
//!
//! The file itself is `libhost_libnccl.so`, so that no search path makes anybody use
//! the stand-in who did not ask for it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libnccl.so.2");
    }
}
