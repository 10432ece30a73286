//! How the stand-in is found, and what the environment changes.

use std::env;
use std::ffi::CStr;
use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use cudarc::driver::sys::{self, CUresult};
use cudarc::driver::{CudaContext, DevicePtr as _, result};
use host_libcuda::LoadError;
use libloading::os::unix::{Library, Symbol};

use crate::bench::{code, device_0, on_stand_in};

const DEADLINE: Duration = Duration::from_mins(3);

/// Runs tests of this program in a process of their own.
#[track_caller]
fn run_again(arguments: &[&str], variable: &str, value: &str) {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(arguments)
        .env(variable, value)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if started.elapsed() > DEADLINE => {
                child.kill().unwrap();
                panic!("not done after {DEADLINE:?} with {variable}={value}");
            }
            None => thread::sleep(Duration::from_millis(10)),
        }
    };
    assert!(status.success(), "{status} with {variable}={value}");
}

#[test]
fn everything_holds_when_streams_dawdle() {
    for seed in ["1", "2", "3"] {
        run_again(&["--skip", "environment::"], "RANKWISE_HOST_DELAY", seed);
    }
}

#[test]
fn dawdling_streams_show_a_missing_wait() {
    const NAME: &str = "environment::dawdling_streams_show_a_missing_wait";
    if env::var_os("RANKWISE_HOST_DELAY").is_none() {
        for seed in ["1", "2", "3"] {
            run_again(&["--exact", NAME], "RANKWISE_HOST_DELAY", seed);
        }
        return;
    }
    on_stand_in(|| {
        let (context, first) = device_0();
        let second = context.new_stream().unwrap();
        let shared = first.alloc_zeros::<u8>(64).unwrap();
        first.synchronize().unwrap();
        let start = shared.device_ptr(&first).0;
        for _ in 0..500 {
            for stream in [&first, &second] {
                // SAFETY: a race, which is what is tested; the stand-in lets none happen.
                let filled = unsafe { result::memset_d8_async(start, 1, 64, stream.cu_stream()) };
                if filled.is_err() {
                    break;
                }
            }
        }
        let found = first.synchronize().and(second.synchronize());
        assert_eq!(code(found), CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    });
}

#[test]
fn a_driver_that_was_loaded_before_is_noticed() {
    const NAME: &str = "environment::a_driver_that_was_loaded_before_is_noticed";
    const VARIABLE: &str = "RANKWISE_TEST_OTHER_DRIVER";
    let stand_in = host_libcuda::library_file().unwrap();
    if let Some(other) = env::var_os(VARIABLE) {
        // SAFETY: a copy of the stand-in.
        let _loaded = unsafe { Library::new(other) }.unwrap();
        assert_eq!(host_libcuda::load(), Err(LoadError::AnotherDriver { file: stand_in }));
        return;
    }
    // Another file with the same soname, like a driver's.
    let other = stand_in.with_file_name(format!("another-driver-{}.so", std::process::id()));
    fs::copy(&stand_in, &other).unwrap();
    run_again(&["--exact", NAME], VARIABLE, other.to_str().unwrap());
    fs::remove_file(&other).unwrap();
}

#[test]
fn there_are_as_many_devices_as_asked_for() {
    const NAME: &str = "environment::there_are_as_many_devices_as_asked_for";
    let asked = env::var("RANKWISE_HOST_DEVICES").ok();
    on_stand_in({
        let asked = asked.clone();
        move || match asked.map_or(8, |text| text.parse().unwrap()) {
            0 => {
                assert_eq!(code(CudaContext::device_count()), CUresult::CUDA_ERROR_NO_DEVICE);
            }
            devices => {
                assert_eq!(CudaContext::device_count(), Ok(devices));
                let last = usize::try_from(devices).unwrap() - 1;
                let context = CudaContext::new(last).unwrap();
                assert_eq!(context.ordinal(), last);
                assert_eq!(context.name().unwrap(), "rankwise host memory");
                assert_eq!(context.compute_capability(), Ok((9, 0)));
                assert!(context.has_async_alloc());
                let uuid = format!("rankwise-host-{last:02}");
                let bytes = context.uuid().unwrap().bytes;
                assert!(bytes.iter().map(|byte| byte.cast_unsigned()).eq(uuid.bytes()));
                let refused = code(CudaContext::new(last + 1));
                assert_eq!(refused, CUresult::CUDA_ERROR_INVALID_DEVICE);
            }
        }
    });
    if asked.is_none() {
        for devices in ["0", "1", "3", "64"] {
            run_again(&["--exact", NAME], "RANKWISE_HOST_DEVICES", devices);
        }
    }
}

/// What cudarc calls, and what a stand-in for libnccl may, written down by hand.
const NEEDED: &str = "
    cuInit cuDeviceGetCount cuDeviceGet cuDeviceGetName cuDeviceGetAttribute
    cuDevicePrimaryCtxRetain cuDevicePrimaryCtxRelease_v2 cuCtxGetCurrent cuCtxSetCurrent
    cuCtxSynchronize cuStreamCreate cuStreamDestroy_v2 cuStreamSynchronize cuStreamWaitEvent
    cuEventCreate cuEventRecord cuEventSynchronize cuEventDestroy_v2 cuEventElapsedTime_v2
    cuMemAllocAsync cuMemFreeAsync cuMemcpyHtoDAsync_v2 cuMemcpyDtoHAsync_v2
    cuMemcpyDtoDAsync_v2 cuMemsetD8Async cuMemGetInfo_v2 cuMemAlloc_v2 cuMemFree_v2
    cuMemHostAlloc cuMemFreeHost cuMemcpyPeerAsync cuEventQuery cuStreamCreateWithPriority
    cuCtxGetStreamPriorityRange cuCtxSetFlags cuDeviceTotalMem_v2 cuDeviceGetUuid_v2
    cuLaunchHostFunc cuGetErrorName cuGetErrorString cuModuleUnload cuGetProcAddress_v2
    cuPointerGetAttribute cuDriverGetVersion cuCtxGetDevice cuCtxPushCurrent_v2
    cuCtxPopCurrent_v2 cuStreamQuery cuStreamGetCtx cuMemcpyDtoD_v2 cuMemcpyAsync
    cuMemcpyHtoD_v2 cuMemcpyDtoH_v2 cuMemsetD8_v2";

#[test]
fn every_symbol_is_found_globally_and_by_the_name_of_the_driver() {
    on_stand_in(|| {
        let global = Library::this();
        // SAFETY: it is loaded already.
        let by_name = unsafe { Library::new("libcuda.so") }.unwrap();
        let mut version = 0;
        // SAFETY: a valid place.
        unsafe { sys::cuDriverGetVersion(&raw mut version) }.result().unwrap();
        assert_eq!(version, 13000);
        for name in NEEDED.split_whitespace() {
            let address = |library: &Library| {
                // SAFETY: only the address is looked at.
                unsafe { library.get::<*mut ()>(name.as_bytes()) }.map(Symbol::into_raw)
            };
            let found = address(&global).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(address(&by_name).unwrap(), found, "{name}");

            let bare = name.trim_end_matches("_v2");
            let asked = std::ffi::CString::new(bare).unwrap();
            let mut got = std::ptr::null_mut();
            let mut status = sys::CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SUCCESS;
            // SAFETY: a C string and valid places.
            let answer = unsafe {
                sys::cuGetProcAddress_v2(asked.as_ptr(), &raw mut got, 13000, 0, &raw mut status)
            };
            answer.result().unwrap_or_else(|error| panic!("{bare}: {error:?}"));
            // `cuEventElapsedTime` has both, and so has `cuDeviceGetUuid`; the newest counts.
            assert_eq!(got, found, "{bare}");
        }
    });
}

#[test]
fn the_file_does_not_have_the_name_of_the_driver() {
    let file = host_libcuda::library_file().unwrap();
    assert_eq!(file.file_stem().unwrap(), "libhost_libcuda");
    assert_eq!(host_libcuda::load(), Ok(file.clone()));
    assert_eq!(host_libcuda::load(), Ok(file));
}

#[test]
fn codes_have_words() {
    on_stand_in(|| {
        result::init().unwrap();
        let words = |code: CUresult| {
            let error = result::DriverError(code);
            (error.error_name().map(CStr::to_owned), error.error_string().map(CStr::to_owned))
        };
        assert_eq!(
            words(CUresult::CUDA_ERROR_INVALID_VALUE),
            (Ok(c"CUDA_ERROR_INVALID_VALUE".to_owned()), Ok(c"invalid argument".to_owned()))
        );
        assert_eq!(
            words(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS).0,
            Ok(c"CUDA_ERROR_ILLEGAL_ADDRESS".to_owned())
        );
        let (unknown, _) = words(CUresult::CUDA_ERROR_TOO_MANY_PEERS);
        assert_eq!(code(unknown), CUresult::CUDA_ERROR_INVALID_VALUE);
    });
}
