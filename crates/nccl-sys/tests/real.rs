//! The declarations against NVIDIA's own library, which needs no GPU for this.
//!
//! It is 300 MB, so this runs only where `NCCL_LIBRARY_REAL` is the path of one of
//! 2.32.3, as `cargo xtask bindgen` leaves it below its `packages`.
#![cfg(feature = "dynamic")]
// Every call here is one into the library.
#![allow(unsafe_code)]

use std::env;
use std::ffi::{CStr, c_uint};
use std::io::{self, Write as _};
use std::path::Path;
use std::ptr;

use nccl_sys::*;

fn last_error(nccl: Library) -> String {
    let last = function!(nccl, ncclGetLastError).unwrap();
    // SAFETY: a null communicator asks for the process's last message, which is text
    // that ends with a zero.
    unsafe { CStr::from_ptr(last(ptr::null_mut())) }.to_string_lossy().into_owned()
}

fn error_string(nccl: Library, code: c_uint) -> String {
    let describe = function!(nccl, ncclGetErrorString).unwrap();
    // SAFETY: any code may be asked about; the answer is static text.
    unsafe { CStr::from_ptr(describe(ncclResult_t(code))) }.to_string_lossy().into_owned()
}

#[test]
fn the_library_is_as_declared() {
    let Some(path) = env::var_os("NCCL_LIBRARY_REAL") else {
        // Past the test harness, which would keep it to itself.
        let _ = writeln!(
            io::stderr(),
            "the_library_is_as_declared did NOT run: set NCCL_LIBRARY_REAL to the path of a \
             libnccl.so.2 of release 2.32.3"
        );
        return;
    };
    // SAFETY: whoever set the variable says that it is an NCCL.
    let nccl = unsafe { Library::load(Some(Path::new(&path))) }.unwrap();
    assert_eq!(nccl.name(), Path::new(&path));

    let get_version = function!(nccl, ncclGetVersion).unwrap();
    let mut code = 0;
    // SAFETY: `code` is an int to write to.
    assert_eq!(unsafe { get_version(&raw mut code) }, ncclResult_t::ncclSuccess);
    assert_eq!(code.cast_unsigned(), NCCL_VERSION_CODE);
    // SAFETY: the library refuses a null pointer.
    assert_eq!(unsafe { get_version(ptr::null_mut()) }, ncclResult_t::ncclInvalidArgument);

    assert_eq!(error_string(nccl, 0), "no error");
    assert_eq!(error_string(nccl, 7), "NCCL operation in progress");
    assert_eq!(error_string(nccl, 8), "timeout");
    assert_eq!(error_string(nccl, 9), "unknown result code");

    // The newest entry points of the header are there.
    function!(nccl, ncclSetEncryption).unwrap();
    function!(nccl, ncclParamGetAllParameterKeys).unwrap();

    call_configurations_are_understood(nccl);
    simulation_is_understood(nccl);
    let _ = writeln!(io::stderr(), "ran against {}: version {code}", path.display());
}

/// The configuration is read before the communicator, so that a null one shows
/// whether the library took it for a configuration.
fn call_configurations_are_understood(nccl: Library) {
    let all_reduce = function!(nccl, ncclAllReduceConfig).unwrap();
    let refusal = |config: &ncclCollConfig_t| {
        // SAFETY: without a communicator nothing but the configuration is read.
        let code = unsafe {
            all_reduce(
                ptr::null(),
                ptr::null_mut(),
                1,
                ncclDataType_t::ncclInt32,
                ncclRedOp_t::ncclSum,
                ptr::null_mut(),
                ptr::null_mut(),
                config,
            )
        };
        assert_eq!(code, ncclResult_t::ncclInvalidArgument);
        last_error(nccl)
    };
    let good = NCCL_COLLCONFIG_INITIALIZER;
    let words = refusal(&good);
    assert!(words.contains("comm argument is NULL"), "{words}");
    let words = refusal(&ncclCollConfig_t { magic: 0, ..good });
    assert!(words.contains("magic mismatch (got 0x0, expected 0xcafebeef)"), "{words}");
    let words = refusal(&ncclCollConfig_t { forceAlgSelection: 2, ..good });
    assert!(words.contains("orceAlgSelection"), "{words}");
}

fn simulation_is_understood(nccl: Library) {
    let start = function!(nccl, ncclGroupStart).unwrap();
    let simulate = function!(nccl, ncclGroupSimulateEnd).unwrap();
    let end_with = |info: &mut ncclSimInfo_t| {
        // SAFETY: opens a group, which the next call ends.
        assert_eq!(unsafe { start() }, ncclResult_t::ncclSuccess);
        // SAFETY: `info` is the library's to read and write.
        unsafe { simulate(info) }
    };
    assert_eq!(end_with(&mut NCCL_SIM_INFO_INITIALIZER.clone()), ncclResult_t::ncclSuccess);
    let mut wrong = ncclSimInfo_t { magic: 0, ..NCCL_SIM_INFO_INITIALIZER };
    assert_eq!(end_with(&mut wrong), ncclResult_t::ncclInvalidArgument);
}
