//! The declarations against NVIDIA's own library, which needs no GPU for this.
//!
//! It is 300 MB, so this runs only where `NCCL_LIBRARY_REAL` is the path of one of
//! 2.32.3: `cargo xtask nccl` fetches it and sets that, and is a step of CI.
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

    let words = (0..10).map(|code| error_string(nccl, code));
    assert_eq!(words.collect::<Vec<_>>(), WORDS);

    every_symbol_is_there(Path::new(&path));
    ids_are_given(nccl);
    wrong_arguments_are_refused(nccl);
    no_communicator_without_a_device(nccl);
    call_configurations_are_understood(nccl);
    simulation_is_understood(nccl);
    let _ = writeln!(io::stderr(), "ran against {}: version {code}", path.display());
}

/// What each code means, and one that none does.
const WORDS: [&str; 10] = [
    "no error",
    "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
    "unhandled system error (run with NCCL_DEBUG=INFO for details)",
    "internal error - please report this issue to the NCCL developers",
    "invalid argument (run with NCCL_DEBUG=WARN for details)",
    "invalid usage (run with NCCL_DEBUG=WARN for details)",
    "remote process exited or there was a network error",
    "NCCL operation in progress",
    "timeout",
    "unknown result code",
];

fn every_symbol_is_there(path: &Path) {
    // SAFETY: it has been loaded as an NCCL before.
    let library = unsafe { libloading::Library::new(path) }.unwrap();
    for Function { symbol, .. } in FUNCTIONS {
        // SAFETY: only whether there is such a symbol is looked at.
        let found = unsafe { library.get::<*const ()>(symbol.as_bytes()) };
        assert!(found.is_ok(), "{symbol}");
    }
    // It is no stand-in, and says so by saying nothing.
    // SAFETY: as above.
    assert!(unsafe { library.get::<*const ()>(b"rankwise_stand_in\0") }.is_err());
}

fn ids_are_given(nccl: Library) {
    let get = function!(nccl, ncclGetUniqueId).unwrap();
    let mut ids = [ncclUniqueId { internal: [0; 128] }; 2];
    for id in &mut ids {
        // SAFETY: `id` may be written.
        assert_eq!(unsafe { get(id) }, ncclResult_t::ncclSuccess, "{}", last_error(nccl));
    }
    assert_ne!(ids[0].internal, ids[1].internal);
    // SAFETY: the library refuses a null pointer.
    assert_eq!(unsafe { get(ptr::null_mut()) }, ncclResult_t::ncclInvalidArgument);
    assert_eq!(last_error(nccl), "GetUniqueId : out argument is NULL");
}

fn wrong_arguments_are_refused(nccl: Library) {
    let (invalid, usage) = (ncclResult_t::ncclInvalidArgument, ncclResult_t::ncclInvalidUsage);
    let none = ptr::null_mut();
    let count = function!(nccl, ncclCommCount).unwrap();
    // SAFETY: the library refuses null pointers, here and below.
    assert_eq!(unsafe { count(none, ptr::null_mut()) }, invalid);
    assert_eq!(last_error(nccl), "CommCount : comm argument is NULL");
    let all_reduce = function!(nccl, ncclAllReduce).unwrap();
    let (i32, sum) = (ncclDataType_t::ncclInt32, ncclRedOp_t::ncclSum);
    // SAFETY: without a communicator nothing is read.
    let code =
        unsafe { all_reduce(ptr::null(), ptr::null_mut(), 1, i32, sum, none, ptr::null_mut()) };
    assert_eq!(code, invalid);
    assert_eq!(last_error(nccl), "AllReduce : comm argument is NULL");
    let destroy_op = function!(nccl, ncclRedOpDestroy).unwrap();
    // SAFETY: an operator that was never made, of no communicator.
    assert_eq!(unsafe { destroy_op(sum, none) }, invalid);
    let end = function!(nccl, ncclGroupEnd).unwrap();
    // SAFETY: no group was started.
    assert_eq!(unsafe { end() }, usage);
    assert_eq!(last_error(nccl), "ncclGroupEnd: not in a group call.");
    for ending in [
        function!(nccl, ncclCommDestroy).unwrap(),
        function!(nccl, ncclCommAbort).unwrap(),
        function!(nccl, ncclCommFinalize).unwrap(),
    ] {
        // SAFETY: to end nothing is nothing.
        assert_eq!(unsafe { ending(none) }, ncclResult_t::ncclSuccess);
    }
}

/// Only where no device is shown: `cargo xtask nccl` is run on machines with GPUs too.
fn no_communicator_without_a_device(nccl: Library) {
    if Path::new("/dev/nvidiactl").exists() {
        let _ = writeln!(io::stderr(), "NOT tried: communicators without a GPU, there is one");
        return;
    }
    let init = function!(nccl, ncclCommInitRank).unwrap();
    let id = ncclUniqueId { internal: [0; 128] };
    let mut comm = ptr::null_mut();
    // SAFETY: `comm` may be written.
    let code = unsafe { init(&raw mut comm, 1, id, 0) };
    assert_eq!(code, ncclResult_t::ncclUnhandledCudaError);
    let words = last_error(nccl);
    assert!(words.starts_with("Cuda failure '"), "{words}");
    assert!(comm.is_null());
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
