//! Both stand-ins, and devices' memory, with no more of CUDA than is needed.

use std::ffi::{CStr, c_int, c_uint, c_ulonglong, c_void};
use std::ptr;
use std::sync::OnceLock;

use nccl_sys::{Library, cudaStream_t, function, ncclComm_t, ncclResult_t};

/// Takes a function of the stand-in and calls it; the answer is the code.
macro_rules! nccl {
    ($function:ident ( $($argument:expr),* $(,)? )) => {{
        let function = nccl_sys::function!($crate::machine::library(), $function).unwrap();
        // SAFETY: the stand-in looks up every handle and address; places that are written
        // are locals of the test.
        unsafe { function($($argument),*) }.0
    }};
}
pub(crate) use nccl;

/// What is used of the driver.
struct Driver {
    set_current: unsafe extern "C" fn(*mut c_void) -> c_uint,
    synchronize: unsafe extern "C" fn() -> c_uint,
    allocate: unsafe extern "C" fn(*mut c_ulonglong, usize) -> c_uint,
    create_stream: unsafe extern "C" fn(*mut cudaStream_t, c_uint) -> c_uint,
    contexts: Vec<usize>,
}

fn driver() -> &'static Driver {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    DRIVER.get_or_init(|| {
        let file = host_libcuda::load().unwrap_or_else(|missing| panic!("{missing}"));
        // SAFETY: the stand-in for the driver, with the types of `cuda.h`.
        unsafe {
            let library = libloading::Library::new(file).unwrap();
            let init = library.get::<unsafe extern "C" fn(c_uint) -> c_uint>(b"cuInit\0");
            assert_eq!(init.unwrap()(0), 0);
            let retain: unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_uint =
                *library.get(b"cuDevicePrimaryCtxRetain\0").unwrap();
            let contexts = (0..4).map(|device| {
                let mut context = ptr::null_mut();
                assert_eq!(retain(&raw mut context, device), 0);
                context.addr()
            });
            let driver = Driver {
                contexts: contexts.collect(),
                set_current: *library.get(b"cuCtxSetCurrent\0").unwrap(),
                synchronize: *library.get(b"cuCtxSynchronize\0").unwrap(),
                allocate: *library.get(b"cuMemAlloc_v2\0").unwrap(),
                create_stream: *library.get(b"cuStreamCreate\0").unwrap(),
            };
            std::mem::forget(library);
            driver
        }
    })
}

/// The stand-in. A missing one fails the test: nothing is skipped.
pub(crate) fn library() -> Library {
    static LOADED: OnceLock<Library> = OnceLock::new();
    *LOADED.get_or_init(|| {
        driver();
        let file = host_libnccl::library_file().unwrap_or_else(|missing| panic!("{missing}"));
        // SAFETY: our own library, whose initialisers are those of the standard library.
        unsafe { Library::load(Some(&file)) }.unwrap()
    })
}

/// Makes a device current on this thread.
pub(crate) fn on(device: usize) {
    let driver = driver();
    let context = ptr::without_provenance_mut(driver.contexts[device]);
    // SAFETY: a context of the stand-in.
    assert_eq!(unsafe { (driver.set_current)(context) }, 0);
}

/// Waits until a device has done everything.
pub(crate) fn synchronize(device: usize) {
    on(device);
    // SAFETY: it takes nothing.
    assert_eq!(unsafe { (driver().synchronize)() }, 0);
}

/// Memory of a device that holds these numbers. It is never freed.
pub(crate) fn memory(device: usize, numbers: &[i32]) -> *mut c_void {
    on(device);
    let mut address = 0;
    // SAFETY: `address` may be written.
    assert_eq!(unsafe { (driver().allocate)(&raw mut address, 4 * numbers.len()) }, 0);
    let memory: *mut i32 = ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap());
    // SAFETY: the stand-in's device memory is memory of this process, just allocated.
    unsafe { memory.copy_from_nonoverlapping(numbers.as_ptr(), numbers.len()) };
    memory.cast()
}

/// What memory of a device holds, when all of its work is done.
pub(crate) fn read<const N: usize>(device: usize, memory: *mut c_void) -> [i32; N] {
    synchronize(device);
    // SAFETY: as above; nobody uses it any more.
    unsafe { memory.cast::<[i32; N]>().read() }
}

/// A stream of its own of a device.
pub(crate) fn stream(device: usize) -> cudaStream_t {
    on(device);
    let mut stream = ptr::null_mut();
    // SAFETY: `stream` may be written. The flag says that it does not wait for others.
    assert_eq!(unsafe { (driver().create_stream)(&raw mut stream, 1) }, 0);
    stream
}

/// A communicator of the first devices.
pub(crate) fn comms<const N: usize>() -> [ncclComm_t; N] {
    let mut comms = [ptr::null_mut(); N];
    let all = c_int::try_from(N).unwrap();
    assert_eq!(nccl!(ncclCommInitAll(comms.as_mut_ptr(), all, ptr::null())), 0);
    comms
}

/// The last words: of a communicator if it has failed, else of this thread.
pub(crate) fn last_words(comm: ncclComm_t) -> String {
    let function = function!(library(), ncclGetLastError).unwrap();
    // SAFETY: texts of the stand-in stay.
    unsafe { CStr::from_ptr(function(comm)) }.to_string_lossy().into_owned()
}

/// The library's words for a code.
pub(crate) fn words(code: u32) -> String {
    let function = function!(library(), ncclGetErrorString).unwrap();
    // SAFETY: as above.
    unsafe { CStr::from_ptr(function(ncclResult_t(code))) }.to_string_lossy().into_owned()
}
