//! Codes in words: `cuGetErrorName` and `cuGetErrorString`.

use std::ffi::{CStr, c_char};
use std::ptr;

use crate::abi::{Answer, CUresult, answer_anywhere, put};

/// The codes that can come from here, and those a program is likely to ask about.
const WORDS: &[(u32, &CStr, &CStr)] = &[
    (0, c"CUDA_SUCCESS", c"no error"),
    (1, c"CUDA_ERROR_INVALID_VALUE", c"invalid argument"),
    (2, c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory"),
    (3, c"CUDA_ERROR_NOT_INITIALIZED", c"initialization error"),
    (4, c"CUDA_ERROR_DEINITIALIZED", c"driver shutting down"),
    (100, c"CUDA_ERROR_NO_DEVICE", c"no CUDA-capable device is detected"),
    (101, c"CUDA_ERROR_INVALID_DEVICE", c"invalid device ordinal"),
    (201, c"CUDA_ERROR_INVALID_CONTEXT", c"invalid device context"),
    (
        217,
        c"CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
        c"peer access is not supported between these two devices",
    ),
    (304, c"CUDA_ERROR_OPERATING_SYSTEM", c"OS call failed or operation not supported on this OS"),
    (400, c"CUDA_ERROR_INVALID_HANDLE", c"invalid resource handle"),
    (401, c"CUDA_ERROR_ILLEGAL_STATE", c"the operation cannot be performed in the present state"),
    (500, c"CUDA_ERROR_NOT_FOUND", c"named symbol not found"),
    (600, c"CUDA_ERROR_NOT_READY", c"device not ready"),
    (700, c"CUDA_ERROR_ILLEGAL_ADDRESS", c"an illegal memory access was encountered"),
    (709, c"CUDA_ERROR_CONTEXT_IS_DESTROYED", c"context is destroyed"),
    (719, c"CUDA_ERROR_LAUNCH_FAILED", c"unspecified launch failure"),
    (800, c"CUDA_ERROR_NOT_PERMITTED", c"operation not permitted"),
    (801, c"CUDA_ERROR_NOT_SUPPORTED", c"operation not supported"),
    (999, c"CUDA_ERROR_UNKNOWN", c"unknown error"),
];

/// Hands out the words, or null and an error for a code without any.
///
/// # Safety
///
/// `text` is null or valid for writing.
unsafe fn hand_out(words: Option<&'static CStr>, text: *mut *const c_char) -> Answer {
    // SAFETY: by this function's contract.
    unsafe { put(text, words.map_or(ptr::null(), CStr::as_ptr)) }?;
    words.map(drop).ok_or(CUresult::INVALID_VALUE)
}

fn row(code: CUresult) -> Option<&'static (u32, &'static CStr, &'static CStr)> {
    WORDS.iter().find(|(number, ..)| *number == code.0)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuGetErrorName(
    error: CUresult,
    name: *mut *const c_char,
) -> CUresult {
    // SAFETY: the caller's pointer, by the contract of this call in `cuda.h`.
    answer_anywhere("cuGetErrorName", || unsafe { hand_out(row(error).map(|row| row.1), name) })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuGetErrorString(
    error: CUresult,
    text: *mut *const c_char,
) -> CUresult {
    // SAFETY: the caller's pointer, by the contract of this call in `cuda.h`.
    answer_anywhere("cuGetErrorString", || unsafe { hand_out(row(error).map(|row| row.2), text) })
}
