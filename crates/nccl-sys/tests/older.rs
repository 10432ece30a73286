//! A library that lacks most functions: a small one, compiled here.
#![cfg(all(feature = "dynamic", target_os = "linux"))]
// Loading is the system's.
#![allow(unsafe_code)]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use nccl_sys::{Library, LoadError, function, ncclResult_t};

/// An NCCL 2.4 with hardly anything in it.
const SOURCE: &str = r#"
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn ncclGetVersion(version: *mut i32) -> u32 {
        unsafe { *version = 2408 };
        0
    }

    #[unsafe(no_mangle)]
    pub extern "C" fn ncclGroupStart() -> u32 {
        99
    }
"#;

fn compile() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, library) = (folder.join("older.rs"), folder.join("libolder.so"));
    fs::write(&source, SOURCE).unwrap();
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let status = Command::new(rustc)
        .args(["--edition", "2024", "--crate-type", "cdylib", "-o"])
        .arg(&library)
        .arg(&source)
        .status()
        .unwrap();
    assert!(status.success());
    library
}

#[test]
fn what_a_library_lacks_is_said_with_the_release_that_has_it() {
    let path = compile();
    // SAFETY: the library above, whose functions have NCCL's types.
    let nccl = unsafe { Library::load(Some(&path)) }.unwrap();
    assert_eq!(nccl.stand_in(), None);
    let start = function!(nccl, ncclGroupStart).unwrap();
    // SAFETY: it takes nothing.
    assert_eq!(unsafe { start() }, ncclResult_t(99), "a code that no header names");
    let missing = function!(nccl, ncclCommInitRankConfig).map(drop).unwrap_err();
    let wanted = LoadError::Missing {
        symbol: "ncclCommInitRankConfig",
        since: Some(21_400),
        library: path.clone(),
    };
    assert_eq!(missing, wanted);
    let words = missing.to_string();
    assert!(words.ends_with(
        "has no function ncclCommInitRankConfig, which NCCL 2.14 brought; name a newer NCCL in \
         NCCL_LIBRARY"
    ));
    assert!(words.contains(&*path.to_string_lossy()));
}
