//! Every call by its name: `cuGetProcAddress`.

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::ptr;

use crate::abi::{CUresult, answer_anywhere, put};
use crate::{allocate, context, device, driver, error, event, pointer, stream, transfer};

macro_rules! calls {
    ($($module:ident: $($name:ident)*;)*) => {
        /// Where the call with exactly this name is.
        fn exactly(name: &str) -> Option<*const c_void> {
            match name {
                $($(stringify!($name) => Some($module::$name as *const c_void),)*)*
                "cuGetProcAddress_v2" => Some(cuGetProcAddress_v2 as *const c_void),
                _ => None,
            }
        }

        /// Every call that there is.
        pub(crate) const NAMES: &[&str] = &[$($(stringify!($name),)*)* "cuGetProcAddress_v2"];
    };
}

calls! {
    driver: cuInit cuDriverGetVersion;
    error: cuGetErrorName cuGetErrorString;
    device: cuDeviceGetCount cuDeviceGet cuDeviceGetName cuDeviceGetAttribute cuDeviceTotalMem_v2
        cuDeviceGetUuid cuDeviceGetUuid_v2 cuMemGetInfo_v2 cuModuleUnload;
    context: cuDevicePrimaryCtxRetain cuDevicePrimaryCtxRelease_v2 cuCtxGetCurrent cuCtxSetCurrent
        cuCtxPushCurrent_v2 cuCtxPopCurrent_v2 cuCtxGetDevice cuCtxSynchronize cuCtxSetFlags;
    stream: cuStreamCreate cuStreamCreateWithPriority cuStreamDestroy_v2 cuStreamSynchronize
        cuStreamQuery cuStreamWaitEvent cuStreamGetCtx cuStreamGetPriority
        cuCtxGetStreamPriorityRange cuLaunchHostFunc;
    event: cuEventCreate cuEventDestroy_v2 cuEventRecord cuEventQuery cuEventSynchronize
        cuEventElapsedTime cuEventElapsedTime_v2;
    allocate: cuMemAlloc_v2 cuMemFree_v2 cuMemAllocAsync cuMemFreeAsync cuMemHostAlloc
        cuMemFreeHost;
    transfer: cuMemcpyHtoDAsync_v2 cuMemcpyDtoHAsync_v2 cuMemcpyDtoDAsync_v2 cuMemcpyHtoD_v2
        cuMemcpyDtoH_v2 cuMemcpyDtoD_v2 cuMemcpyAsync cuMemcpyPeerAsync cuMemsetD8Async
        cuMemsetD8_v2;
    pointer: cuPointerGetAttribute;
}

/// The newest version of a call, which is what a program without a suffix means.
fn newest(name: &str) -> Option<*const c_void> {
    exactly(&format!("{name}_v2")).or_else(|| exactly(name))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuGetProcAddress_v2(
    name: *const c_char,
    found: *mut *mut c_void,
    _version: c_int,
    _flags: c_ulonglong,
    status: *mut c_uint,
) -> CUresult {
    answer_anywhere("cuGetProcAddress_v2", || {
        if name.is_null() {
            return Err(CUresult::INVALID_VALUE);
        }
        // SAFETY: not null, and then a C string by the contract of this call.
        let name = unsafe { CStr::from_ptr(name) };
        let call = name.to_str().ok().and_then(newest);
        // SAFETY: the caller's pointers, by that contract; the status may be null.
        unsafe {
            put(found, call.unwrap_or(ptr::null()).cast_mut())?;
            if !status.is_null() {
                put(status, c_uint::from(call.is_none()))?;
            }
        }
        call.map(drop).ok_or(CUresult::NOT_FOUND)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_means_the_newest_version() {
        for name in NAMES {
            assert!(exactly(name).is_some(), "{name}");
            let bare = name.trim_end_matches("_v2");
            assert_eq!(newest(bare), exactly(&format!("{bare}_v2")).or(exactly(bare)), "{bare}");
        }
        assert_eq!(newest("cuMemAlloc"), exactly("cuMemAlloc_v2"));
        assert_eq!(newest("cuGraphLaunch"), None);
    }
}
