//! Gives the shared library the name that programs ask the loader for.
//!
//! The file itself is `libhost_libcuda.so`. Only once it has been loaded by its
//! path does a later `dlopen("libcuda.so")` match this name, so no program finds
//! the stand-in by accident where there is a driver.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so");
    }
}
