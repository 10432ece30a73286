//! What tells a stand-in from the real library, and its faults on request.

use std::ffi::{CStr, c_char, c_int};

use host_faults::Station;

use crate::procedure::NAMES;
use crate::report;

/// What this is, for whoever wants to know and to say so.
const WORDS: &CStr = c"rankwise host-libcuda: the CUDA driver on host memory";

/// A symbol that no real driver has, and not the name that the stand-in for NCCL has: a
/// test links both.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn rankwise_stand_in_cuda() -> *const c_char {
    WORDS.as_ptr()
}

/// Where every call asks what happens to it.
pub(crate) static STATION: Station = Station::new(NAMES, |refused| report::say(refused));

/// Replaces the faults by those of the text, as `RANKWISE_HOST_FAULTS` has them; null or
/// nothing takes them back. Zero, or 1 if a clause is none, which the standard error names.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn rankwise_stand_in_cuda_faults(text: *const c_char) -> c_int {
    let text = if text.is_null() {
        c""
    } else {
        // SAFETY: a C string, which the caller promises.
        unsafe { CStr::from_ptr(text) }
    };
    match STATION.replace(&text.to_string_lossy()) {
        Ok(()) => 0,
        Err(error) => {
            report::say(error);
            1
        }
    }
}
