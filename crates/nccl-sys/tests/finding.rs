//! Which library is asked for, on machines that need not have one.
#![cfg(feature = "dynamic")]
// The environment and the loader are the system's.
#![allow(unsafe_code)]

use std::env;
use std::path::{Path, PathBuf};

use nccl_sys::{Library, LoadError, NamedBy};

const NOWHERE: &str = "nowhere/libnccl.so.2";

fn load(path: Option<&str>) -> Result<Library, LoadError> {
    // SAFETY: every path here leads nowhere, to the C library (which is loaded
    // already and has no function of NCCL's names), or is left to the machine, whose
    // `libnccl` is an NCCL.
    unsafe { Library::load(path.map(Path::new)) }
}

fn tried(result: Result<Library, LoadError>) -> (NamedBy, Vec<PathBuf>) {
    match result.unwrap_err() {
        LoadError::Unloadable { named_by, tried } => {
            for attempt in &tried {
                assert_ne!(attempt.refusal, "", "{attempt:?}");
            }
            (named_by, tried.into_iter().map(|attempt| attempt.name).collect())
        }
        other => panic!("{other}"),
    }
}

/// One test, since it changes the environment, which all tests of a process share.
#[test]
fn a_path_goes_before_the_variable_and_that_before_the_usual_names() {
    let only = |name: &str| vec![PathBuf::from(name)];

    // SAFETY: the only test of this process; no other thread reads
    // the environment meanwhile.
    unsafe { env::set_var("NCCL_LIBRARY", "elsewhere/libnccl.so.2") };
    assert_eq!(tried(load(Some(NOWHERE))), (NamedBy::Argument, only(NOWHERE)));
    assert_eq!(tried(load(None)), (NamedBy::Environment, only("elsewhere/libnccl.so.2")));
    let words = load(None).unwrap_err().to_string();
    assert!(words.contains("`elsewhere/libnccl.so.2` was refused ("), "{words}");
    assert!(words.ends_with("NCCL_LIBRARY names it: correct or unset that"), "{words}");
    let words = load(Some(NOWHERE)).unwrap_err().to_string();
    assert!(words.contains("`nowhere/libnccl.so.2` was refused ("), "{words}");
    assert!(!words.contains("NCCL_LIBRARY"), "{words}");

    for unset in [true, false] {
        if unset {
            // SAFETY: as above.
            unsafe { env::remove_var("NCCL_LIBRARY") };
        } else {
            // SAFETY: as above.
            unsafe { env::set_var("NCCL_LIBRARY", "") };
        }
        match load(None) {
            Ok(found) => {
                let name = found.name().to_string_lossy();
                assert!(["libnccl.so.2", "libnccl.so"].contains(&&*name), "{name}");
            }
            refused => assert_eq!(
                tried(refused),
                (NamedBy::Nobody, vec!["libnccl.so.2".into(), "libnccl.so".into()])
            ),
        }
    }

    if cfg!(target_os = "linux") {
        // A library that loads and is no NCCL.
        // SAFETY: as above.
        unsafe { env::set_var("NCCL_LIBRARY", "libc.so.6") };
        let (symbol, since) = ("ncclGetVersion", Some(2_000));
        let missing = LoadError::Missing { symbol, since, library: "libc.so.6".into() };
        assert_eq!(load(None).unwrap_err(), missing);
    }
}

/// A handle goes to every thread that drives a rank.
const _: fn() = {
    fn goes_anywhere<T: Copy + Send + Sync + 'static>() {}
    goes_anywhere::<Library>
};
