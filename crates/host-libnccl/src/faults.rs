//! Faults on request, and the calls that they can strike.

use std::ffi::{CStr, c_char, c_int};

use host_faults::Station;

use crate::report;

/// Every call that answers with a code.
pub(crate) const SYMBOLS: &[&str] = &[
    "ncclAllGather",
    "ncclAllGatherConfig",
    "ncclAllReduce",
    "ncclAllReduceConfig",
    "ncclAlltoAll",
    "ncclAlltoAllConfig",
    "ncclBcast",
    "ncclBroadcast",
    "ncclBroadcastConfig",
    "ncclCommAbort",
    "ncclCommCount",
    "ncclCommCuDevice",
    "ncclCommDeregister",
    "ncclCommDestroy",
    "ncclCommFinalize",
    "ncclCommGetAsyncError",
    "ncclCommGetUniqueId",
    "ncclCommGrow",
    "ncclCommInitAll",
    "ncclCommInitRank",
    "ncclCommInitRankConfig",
    "ncclCommInitRankScalable",
    "ncclCommMemStats",
    "ncclCommRegister",
    "ncclCommResume",
    "ncclCommRevoke",
    "ncclCommShrink",
    "ncclCommSplit",
    "ncclCommSuspend",
    "ncclCommUserRank",
    "ncclCommWindowDeregister",
    "ncclCommWindowRegister",
    "ncclGather",
    "ncclGatherConfig",
    "ncclGetUniqueId",
    "ncclGetVersion",
    "ncclGroupEnd",
    "ncclGroupSimulateEnd",
    "ncclGroupStart",
    "ncclMemAlloc",
    "ncclMemFree",
    "ncclParamBind",
    "ncclParamGet",
    "ncclParamGetAllParameterKeys",
    "ncclParamGetI16",
    "ncclParamGetI32",
    "ncclParamGetI64",
    "ncclParamGetI8",
    "ncclParamGetParameter",
    "ncclParamGetStr",
    "ncclParamGetU16",
    "ncclParamGetU32",
    "ncclParamGetU64",
    "ncclParamGetU8",
    "ncclPutSignal",
    "ncclRecv",
    "ncclRedOpCreatePreMulSum",
    "ncclRedOpDestroy",
    "ncclReduce",
    "ncclReduceConfig",
    "ncclReduceScatter",
    "ncclReduceScatterConfig",
    "ncclScatter",
    "ncclScatterConfig",
    "ncclSend",
    "ncclSetEncryption",
    "ncclSignal",
    "ncclWaitSignal",
    "ncclWinGetUserPtr",
];

/// Where every call asks what happens to it.
pub(crate) static STATION: Station = Station::new(SYMBOLS, |refused| report::say(refused));

/// Whether a rank dies at the collective, message or signal that it is making.
pub(crate) fn dies(rank: u32) -> bool {
    matches!(STATION.faults(), Ok(Some(faults)) if faults.dies(rank))
}

/// How many polls more than they have to communicators are in progress.
pub(crate) fn polls() -> u32 {
    STATION.faults().ok().flatten().map_or(0, |faults| faults.polls())
}

/// Replaces the faults by those of the text, as `RANKWISE_HOST_FAULTS` has them; null or
/// nothing takes them back. Zero, or 1 if a clause is none, which the standard error names.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn rankwise_stand_in_faults(text: *const c_char) -> c_int {
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
