//! What is loaded, and what is said when it is not there.

use std::path::Path;
use std::process::Command;

use rankwise_comm::{Communicator, DeviceOrdinal, Fault, FoldOrder};
use rankwise_model::{Dtype, GroupSize, OperationKind, Reduction};
use rankwise_nccl::Nccl;

use crate::machine::{comms, nccl};

#[test]
fn the_stand_in_says_which_release_it_stands_for() {
    assert_eq!((nccl().version().code(), nccl().version().to_string()), (23_203, "2.32.3".into()));
    let devices = nccl().devices().unwrap();
    assert_eq!(devices.len(), 8);
    assert_eq!(devices[3].ordinal, DeviceOrdinal(3));
}

#[test]
fn the_capabilities_are_those_of_library_and_device() {
    let comms = comms(2);
    let capable = comms[0].capabilities();
    assert_eq!((capable.backend(), capable.fold_order()), ("NCCL 2.32.3", FoldOrder::Unspecified));
    assert!(capable.splits());
    for kind in OperationKind::ALL {
        assert!(capable.supports(kind, None, Dtype::F8E4M3), "{kind:?}");
    }
    let reduces =
        |reduction, dtype| capable.supports(OperationKind::AllReduce, Some(reduction), dtype);
    assert!(reduces(Reduction::PreMulSum, Dtype::F16));
    let info = &nccl().devices().unwrap()[0];
    let is_hopper = info.compute_capability >= (9, 0);
    assert_eq!(reduces(Reduction::Sum, Dtype::F8E5M2), is_hopper);
}

#[test]
#[allow(unsafe_code)]
fn a_library_that_is_not_there_is_named() {
    nccl();
    // SAFETY: nothing is at this path, so nothing of it runs.
    let error = unsafe { Nccl::load_at(Path::new("nowhere/libnccl.so.2")) }.unwrap_err();
    assert!(matches!(error.fault(), Fault::NotLoaded { .. }));
    assert!(error.to_string().contains("nowhere/libnccl.so.2"), "{error}");
}

#[test]
fn a_rank_or_a_device_that_is_not_there_is_refused() {
    let two = GroupSize::new(2).unwrap();
    let id = nccl().unique_id().unwrap();
    let outside = GroupSize::new(3).unwrap().rank(2).unwrap();
    let error = nccl().init_rank(&id, outside, two, DeviceOrdinal(0)).map(drop).unwrap_err();
    assert_eq!(error.to_string(), "found rank 2, needs one of 2 ranks");
    let error = nccl().init_all(&[DeviceOrdinal(8)]).map(drop).unwrap_err();
    assert!(error.to_string().starts_with("found device 8, needs one of the 8 devices"), "{error}");
    assert!(nccl().init_all(&[]).is_err());
    let twice = nccl().init_all(&[DeviceOrdinal(1); 2]).map(drop).unwrap_err();
    assert!(twice.to_string().contains("NCCL_MULTI_RANK_GPU_ENABLE"), "{twice}");
}

/// The names of the tests that are run again by the next one.
const AGAIN: &str = "again";

#[test]
fn again_with_streams_that_dawdle() {
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--skip", AGAIN, "--skip", "loading", "--test-threads", "4"])
        .env("RANKWISE_HOST_DELAY", "29")
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{words}");
    assert!(words.contains("test result: ok. 3"), "too few ran: {words}");
}

#[test]
fn again_as_the_environment_says() {
    const MARK: &str = "RANKWISE_NCCL_TEST_CHILD";
    if std::env::var_os(MARK).is_some() {
        let nccl = Nccl::load().unwrap();
        assert_eq!(nccl.version().code(), 23_203);
        assert_eq!(nccl.devices().unwrap().len(), 3);
        return;
    }
    let child = |driver: &Path, library: &Path| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "loading::again_as_the_environment_says"])
            .env(MARK, "1")
            .env("RANKWISE_LIBCUDA", driver)
            .env("NCCL_LIBRARY", library)
            .env("RANKWISE_HOST_DEVICES", "3")
            .output()
            .unwrap()
    };
    let driver = host_libcuda::library_file().unwrap();
    let library = host_libnccl::library_file().unwrap();
    let found = child(&driver, &library);
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stdout));
    let missing = child(Path::new("nowhere/libcuda.so"), &library);
    let words = String::from_utf8_lossy(&missing.stdout);
    assert!(words.contains("no CUDA driver at `nowhere/libcuda.so`"), "{words}");
}

/// Where there is no driver, the crate below panics; asked first, it is an error. Where
/// there is one, there may be an NCCL too.
#[test]
fn again_with_what_the_system_has() {
    const MARK: &str = "RANKWISE_NCCL_TEST_SYSTEM";
    if std::env::var_os(MARK).is_some() {
        if let Err(error) = Nccl::load() {
            let is_said = matches!(error.fault(), Fault::NotLoaded { .. } | Fault::Library { .. });
            assert!(is_said, "{error:?}");
        }
        return;
    }
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "loading::again_with_what_the_system_has", "--nocapture"])
        .env(MARK, "1")
        .env_remove("RANKWISE_LIBCUDA")
        .env_remove("NCCL_LIBRARY")
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{words}");
}
