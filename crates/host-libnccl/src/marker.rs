//! What tells a stand-in from the real library.

use std::ffi::{CStr, c_char};

/// What this is, for whoever wants to know and to say so.
const WORDS: &CStr = c"rankwise host-libnccl: NCCL on host memory, in one process";

/// A symbol that no real NCCL has.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn rankwise_stand_in() -> *const c_char {
    WORDS.as_ptr()
}
