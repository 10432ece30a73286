//! The CUDA driver, loaded at run time, and what its codes mean here.

use std::ffi::{CStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cudarc::driver::result::DriverError;
use cudarc::driver::{result, sys};
use rankwise_comm::{DeviceOrdinal, Error, ErrorKind, Fault};

/// Names the driver's library when it is not the system's own.
pub(crate) const VARIABLE: &str = "RANKWISE_LIBCUDA";

/// What is called of the driver. All of it is in every driver that can run NCCL 2.
const NEEDED: [&CStr; 24] = [
    c"cuCtxGetCurrent",
    c"cuCtxSetCurrent",
    c"cuDeviceGet",
    c"cuDeviceGetAttribute",
    c"cuDeviceGetCount",
    c"cuDeviceGetName",
    c"cuDevicePrimaryCtxRetain",
    c"cuDeviceTotalMem_v2",
    c"cuEventCreate",
    c"cuEventDestroy_v2",
    c"cuEventQuery",
    c"cuEventRecord",
    c"cuGetErrorName",
    c"cuGetErrorString",
    c"cuInit",
    c"cuMemAlloc_v2",
    c"cuMemFreeHost",
    c"cuMemFree_v2",
    c"cuMemHostAlloc",
    c"cuMemcpyDtoHAsync_v2",
    c"cuMemcpyHtoDAsync_v2",
    c"cuStreamCreate",
    c"cuStreamDestroy_v2",
    c"cuStreamWaitEvent",
];

/// Loads the driver that the environment names, or the system's, and initialises it.
///
/// The answer is the same for the rest of the process.
pub(crate) fn load() -> Result<(), Error> {
    static LOADED: OnceLock<Result<(), Error>> = OnceLock::new();
    LOADED.get_or_init(|| start(std::env::var_os(VARIABLE))).clone()
}

fn start(named: Option<OsString>) -> Result<(), Error> {
    let named = named.filter(|path| !path.is_empty()).map(PathBuf::from);
    if let Some(path) = &named {
        // SAFETY: whoever sets the variable says that a CUDA driver is there, as whoever
        // sets the loader's own search path does.
        unsafe { open(path) }?;
    }
    // `cudarc` panics where it finds no driver, or not this part of it: asked here first.
    // SAFETY: runs the initialisers of the system's CUDA driver, if there is one.
    if !unsafe { sys::is_culib_present() } {
        let text = format!(
            "no CUDA driver: tried libcuda.so and its numbered names (nvcuda.dll on Windows); \
             install one, or set {VARIABLE} to the path of its library"
        );
        return Err(Fault::NotLoaded { text }.into());
    }
    // SAFETY: the same library again, which was just seen to load.
    let library = unsafe { sys::culib() };
    for name in NEEDED {
        // SAFETY: only whether there is such a symbol is looked at.
        let found = unsafe { library.get::<*const ()>(name.to_bytes_with_nul()) };
        if let Err(refusal) = found {
            let name = name.to_string_lossy();
            let text = format!("the CUDA driver has no function {name} ({refusal}); it is too old");
            return Err(Fault::NotLoaded { text }.into());
        }
    }
    check("cuInit", result::init())
}

/// Puts the library at `path` in the driver's place, for the rest of the process.
///
/// # Safety
///
/// It is a CUDA driver, and its initialisers may run.
#[cfg(unix)]
pub(crate) unsafe fn open(path: &Path) -> Result<(), Error> {
    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

    // SAFETY: by this function's contract.
    match unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) } {
        Ok(library) => {
            // For good: the loader now finds it under the name it gives itself.
            core::mem::forget(library);
            Ok(())
        }
        Err(refusal) => {
            let text = format!("no CUDA driver at `{}`: {refusal}", path.display());
            Err(Fault::NotLoaded { text }.into())
        }
    }
}

/// Puts the library at `path` in the driver's place, for the rest of the process.
///
/// # Safety
///
/// It is a CUDA driver, and its initialisers may run.
#[cfg(not(unix))]
pub(crate) unsafe fn open(path: &Path) -> Result<(), Error> {
    let text = format!("`{}`: a driver can be named on Unix only", path.display());
    Err(Fault::NotLoaded { text }.into())
}

/// The error that a driver's code means.
pub(crate) fn check<T>(function: &'static str, found: Result<T, DriverError>) -> Result<T, Error> {
    found.map_err(|error| {
        let words = |found: Result<&CStr, DriverError>| {
            found.map_or_else(|_| String::from("?"), |text| text.to_string_lossy().into_owned())
        };
        let text = format!("{}, {}", words(error.error_name()), words(error.error_string()));
        let code = i64::from(error.0 as u32);
        Fault::Library { function, code, text, blames: ErrorKind::Device }.into()
    })
}

/// The same where the driver may be out of memory.
pub(crate) fn check_room<T>(
    function: &'static str,
    (bytes, device): (usize, DeviceOrdinal),
    found: Result<T, DriverError>,
) -> Result<T, Error> {
    match found {
        Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
            Err(Fault::OutOfMemory { bytes, device }.into())
        }
        found => check(function, found),
    }
}
