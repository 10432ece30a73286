//! Which release of NCCL brought which function, and how much of a configuration it reads.

use core::ffi::c_uint;

use crate::{
    NCCL_COLLCONFIG_INITIALIZER, NCCL_CONFIG_INITIALIZER, NCCL_VERSION, NCCL_VERSION_CODE,
    ncclCollConfig_t, ncclConfig_t,
};

/// A function of the host API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub symbol: &'static str,
    /// The first release that has it, as [`NCCL_VERSION`] gives its code.
    pub since: c_uint,
}

/// The one table.
macro_rules! functions {
    ($( ($major:literal, $minor:literal, $patch:literal): $($symbol:ident)*; )*) => {
        /// Every function of the host API of this header, in the order in which releases
        /// brought them.
        pub const FUNCTIONS: &[Function] = &[$($(
            Function {
                symbol: stringify!($symbol),
                since: NCCL_VERSION($major, $minor, $patch),
            },
        )*)*];

        /// Takes away what a release did not have yet.
        #[cfg(feature = "dynamic")]
        pub(crate) fn forget_newer(functions: &mut crate::dynamic::Nccl, version: c_uint) {
            $(if NCCL_VERSION($major, $minor, $patch) > version {
                $(functions.$symbol = Err(libloading::Error::DlSymUnknown);)*
            })*
        }
    };
}

functions! {
    (2, 0, 0): ncclGetVersion ncclGetUniqueId ncclCommInitRank ncclCommInitAll ncclCommDestroy
        ncclGetErrorString ncclCommCount ncclCommCuDevice ncclCommUserRank ncclReduce ncclBcast
        ncclBroadcast ncclAllReduce ncclReduceScatter ncclAllGather ncclGroupStart ncclGroupEnd;
    (2, 4, 0): ncclCommAbort ncclCommGetAsyncError;
    (2, 7, 0): ncclSend ncclRecv;
    (2, 11, 0): ncclRedOpCreatePreMulSum ncclRedOpDestroy;
    (2, 13, 0): ncclGetLastError;
    (2, 14, 0): ncclCommFinalize ncclCommInitRankConfig;
    (2, 18, 0): ncclCommSplit;
    (2, 19, 0): ncclMemAlloc ncclMemFree ncclCommRegister ncclCommDeregister;
    (2, 22, 0): ncclGroupSimulateEnd;
    (2, 23, 0): ncclCommInitRankScalable;
    (2, 27, 0): ncclCommShrink ncclCommWindowRegister ncclCommWindowDeregister;
    (2, 28, 0): ncclAlltoAll ncclGather ncclScatter;
    (2, 28, 7): ncclCommRevoke;
    (2, 29, 0): ncclCommGrow ncclCommGetUniqueId ncclPutSignal ncclSignal ncclWaitSignal
        ncclWinGetUserPtr;
    (2, 29, 7): ncclCommSuspend ncclCommResume ncclCommMemStats;
    (2, 30, 4): ncclParamBind ncclParamGetI8 ncclParamGetI16 ncclParamGetI32 ncclParamGetI64
        ncclParamGetU8 ncclParamGetU16 ncclParamGetU32 ncclParamGetU64 ncclParamGetStr
        ncclParamGet ncclParamGetParameter ncclParamGetAllParameterKeys ncclParamDumpAll;
    (2, 31, 0): ncclAllReduceConfig ncclBroadcastConfig ncclReduceConfig ncclAllGatherConfig
        ncclReduceScatterConfig ncclAlltoAllConfig ncclGatherConfig ncclScatterConfig;
    (2, 32, 0): ncclSetEncryption;
}

/// The first release that has a function, as [`NCCL_VERSION`] gives its code; `None` if no
/// function of this header is called so.
///
/// ```
/// use nccl_sys::{NCCL_VERSION, since};
///
/// assert_eq!(since("ncclCommRevoke"), Some(NCCL_VERSION(2, 28, 7)));
/// assert_eq!(since("ncclFoo"), None);
/// ```
pub fn since(symbol: &str) -> Option<c_uint> {
    FUNCTIONS.iter().find(|function| function.symbol == symbol).map(|function| function.since)
}

/// How many bytes the configuration of a communicator has, from which release on.
const CONFIG_BYTES: [(c_uint, usize); 8] = [
    (NCCL_VERSION(2, 31, 0), 120),
    (NCCL_VERSION(2, 30, 3), 96),
    (NCCL_VERSION(2, 29, 0), 88),
    (NCCL_VERSION(2, 28, 0), 80),
    (NCCL_VERSION(2, 27, 0), 72),
    (NCCL_VERSION(2, 18, 0), 48),
    (NCCL_VERSION(2, 17, 0), 40),
    (NCCL_VERSION(2, 14, 0), 24),
];

/// A communicator's configuration with everything left to NCCL, that declares the size and
/// the version which a library of this release understands. `None` before 2.14, which had
/// no configurations.
///
/// `version` is what `ncclGetVersion` stores. Fields that the release does not have yet
/// may be set, and are not read.
///
/// ```
/// let config = nccl_sys::config_for(nccl_sys::NCCL_VERSION(2, 18, 5)).unwrap();
/// assert_eq!((config.size, config.version), (48, 21_805));
/// assert!(nccl_sys::config_for(nccl_sys::NCCL_VERSION(2, 13, 4)).is_none());
/// ```
pub const fn config_for(version: c_uint) -> Option<ncclConfig_t> {
    let mut at = 0;
    while at < CONFIG_BYTES.len() {
        let (since, size) = CONFIG_BYTES[at];
        if version >= since {
            let version = understood(version);
            return Some(ncclConfig_t { size, version, ..NCCL_CONFIG_INITIALIZER });
        }
        at += 1;
    }
    None
}

/// One call's configuration, in the same way. `None` before 2.31.
pub const fn coll_config_for(version: c_uint) -> Option<ncclCollConfig_t> {
    if version < NCCL_VERSION(2, 31, 0) {
        return None;
    }
    Some(ncclCollConfig_t { version: understood(version), ..NCCL_COLLCONFIG_INITIALIZER })
}

/// A library newer than this header is told what this header knows.
const fn understood(version: c_uint) -> c_uint {
    if version < NCCL_VERSION_CODE { version } else { NCCL_VERSION_CODE }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::collections::BTreeSet;
    use std::vec::Vec;

    use super::*;

    #[test]
    fn every_function_of_the_header_is_in_the_table_once() {
        let declared = include_str!("dynamic.rs").lines().filter_map(|line| {
            let name = line.trim_start().strip_prefix("pub unsafe fn nccl")?;
            name.split('(').next()
        });
        let declared: BTreeSet<&str> = declared.collect();
        let listed: Vec<&str> =
            FUNCTIONS.iter().filter_map(|function| function.symbol.strip_prefix("nccl")).collect();
        assert_eq!(listed.len(), declared.len());
        assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), declared);
        assert!(FUNCTIONS.is_sorted_by_key(|function| function.since));
    }

    #[test]
    fn a_configuration_is_as_long_as_the_release_has_it() {
        for (version, size) in [
            ((2, 14, 3), 24),
            ((2, 16, 5), 24),
            ((2, 17, 1), 40),
            ((2, 18, 1), 48),
            ((2, 26, 2), 48),
            ((2, 27, 3), 72),
            ((2, 28, 9), 80),
            ((2, 29, 7), 88),
            ((2, 30, 7), 96),
            ((2, 31, 2), 120),
            ((2, 32, 3), 120),
        ] {
            let code = NCCL_VERSION(version.0, version.1, version.2);
            let config = config_for(code).unwrap();
            assert_eq!((config.size, config.version), (size, code), "{version:?}");
        }
        let newer = config_for(NCCL_VERSION(2, 40, 0)).unwrap();
        assert_eq!((newer.size, newer.version), (120, 23_203));
        assert!(coll_config_for(NCCL_VERSION(2, 30, 7)).is_none());
        assert_eq!(coll_config_for(NCCL_VERSION(2, 31, 0)).unwrap().version, 23_100);
    }
}
