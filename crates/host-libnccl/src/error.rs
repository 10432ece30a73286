//! What went wrong: a code, and NCCL's last words.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_char};
use std::fmt;
use std::sync::Mutex;

use nccl_sys::{ncclComm_t, ncclResult_t};
use rankwise_comm::{Error, ErrorKind};
use rankwise_program::report::Kind;

use crate::comm;
use crate::lock::lock;

/// The inside of a call: what went wrong is a code, and its text has been noted.
pub(crate) type Answer<T = ()> = Result<T, ncclResult_t>;

/// Every text that was ever handed out: whoever has one may keep it.
static TEXTS: Mutex<BTreeSet<&'static CStr>> = Mutex::new(BTreeSet::new());

thread_local! {
    /// The last words, of this thread: with NCCL they are the process's, and whoever
    /// fails next overwrites them.
    static LAST: Cell<&'static CStr> = const { Cell::new(c"") };
}

/// A text that stays.
pub(crate) fn keep(text: &str) -> &'static CStr {
    let text: String = text.chars().filter(|char| *char != '\0').collect();
    let text = CString::new(text).unwrap_or_default();
    let mut texts = lock(&TEXTS);
    match texts.get(&*text) {
        Some(known) => known,
        None => {
            let kept: &'static CStr = Box::leak(text.into_boxed_c_str());
            texts.insert(kept);
            kept
        }
    }
}

/// Notes the text and answers with the code.
pub(crate) fn refuse<T>(code: ncclResult_t, why: impl fmt::Display) -> Answer<T> {
    LAST.set(keep(&why.to_string()));
    Err(code)
}

/// The last words of this thread.
pub(crate) fn last_words() -> &'static CStr {
    LAST.get()
}

/// The code for what the mock says.
pub(crate) fn code_of(error: &Error) -> ncclResult_t {
    if let Some(report) = error.report() {
        return match report.kind {
            Kind::MissingRank | Kind::UnmatchedMessage => ncclResult_t::ncclRemoteError,
            _ => ncclResult_t::ncclInvalidUsage,
        };
    }
    match error.kind() {
        ErrorKind::Caller => ncclResult_t::ncclInvalidArgument,
        ErrorKind::Peer => ncclResult_t::ncclTimeout,
        ErrorKind::Device => ncclResult_t::ncclUnhandledCudaError,
        _ => ncclResult_t::ncclInternalError,
    }
}

/// Notes what the mock says and answers with its code.
pub(crate) fn refuse_with<T>(error: &Error) -> Answer<T> {
    refuse(code_of(error), error)
}

/// The library's words for each code, in the order of the codes.
const STRINGS: [&CStr; 9] = [
    c"no error",
    c"unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
    c"unhandled system error (run with NCCL_DEBUG=INFO for details)",
    c"internal error - please report this issue to the NCCL developers",
    c"invalid argument (run with NCCL_DEBUG=WARN for details)",
    c"invalid usage (run with NCCL_DEBUG=WARN for details)",
    c"remote process exited or there was a network error",
    c"NCCL operation in progress",
    c"timeout",
];

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclGetErrorString(code: ncclResult_t) -> *const c_char {
    let known = usize::try_from(code.0).ok().and_then(|code| STRINGS.get(code));
    known.copied().unwrap_or(c"unknown result code").as_ptr()
}

/// Of a communicator that has failed, why; else the last words of this thread.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclGetLastError(raw: ncclComm_t) -> *const c_char {
    let own = comm::find(raw).and_then(|comm| comm.failure().map(|(_, text)| text));
    own.unwrap_or_else(|| LAST.get()).as_ptr()
}
