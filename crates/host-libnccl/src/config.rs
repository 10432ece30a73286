//! Configurations of communicators and of single calls, and what is refused in them.

use std::ffi::{CStr, c_int};
use std::ptr;

use nccl_sys::{
    NCCL_API_MAGIC, NCCL_COLLCONFIG_INITIALIZER, NCCL_CONFIG_INITIALIZER, NCCL_CONFIG_UNDEF_INT,
    cudaEvent_t, ncclCollConfig_t, ncclConfig_t, ncclResult_t,
};

use crate::error::{Answer, refuse};

/// What of a communicator's configuration means something here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) is_blocking: bool,
    /// How many contexts and signals per peer there are for signalling.
    pub(crate) contexts: c_int,
    pub(crate) signals: c_int,
    /// Signals may be used before a symmetric window is registered.
    pub(crate) is_eager: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { is_blocking: true, contexts: 1, signals: 1, is_eager: false }
    }
}

/// A field: its name in NCCL's message, the version from which on it is looked at, its
/// value, and the values that it may have.
type Field = (&'static str, u32, c_int, fn(c_int) -> bool);

const fn is_flag(value: c_int) -> bool {
    matches!(value, 0 | 1)
}

const fn is_positive(value: c_int) -> bool {
    value > 0
}

const fn is_count(value: c_int) -> bool {
    value >= 0
}

const fn fields(config: &ncclConfig_t) -> [Field; 18] {
    [
        ("blocking", 21400, config.blocking, is_flag),
        ("cgaClusterSize", 21700, config.cgaClusterSize, is_count),
        ("splitShare", 0, config.splitShare, is_flag),
        ("collnetEnable", 22700, config.collnetEnable, is_flag),
        ("policy", 22700, config.CTAPolicy, |value| matches!(value, 0..=3)),
        ("shrinkShare", 22700, config.shrinkShare, is_flag),
        ("nvlsCTAs", 22700, config.nvlsCTAs, is_positive),
        ("nChannelsPerNetPeer", 22800, config.nChannelsPerNetPeer, |value| matches!(value, 1..=64)),
        ("nvlinkCentricSched", 22800, config.nvlinkCentricSched, is_flag),
        ("graphUsageMode", 22900, config.graphUsageMode, |value| matches!(value, 0..=2)),
        ("numRmaCtx", 22900, config.numRmaCtx, is_count),
        ("maxP2pPeers", 23000, config.maxP2pPeers, is_positive),
        ("graphStreamOrdering", 23005, config.graphStreamOrdering, is_flag),
        ("launchOrderImplicit", 23100, config.launchOrderImplicit, is_flag),
        ("numRmaSig", 23100, config.numRmaSig, is_count),
        ("rmaEagerInit", 23100, config.rmaEagerInit, is_flag),
        ("hostCftMode", 23100, config.hostCftMode, |value| matches!(value, 1..=3)),
        ("nvlsHostMode", 23100, config.nvlsHostMode, |value| matches!(value, 0..=3 | c_int::MAX)),
    ]
}

/// Reads a configuration. Null leaves everything to NCCL: clients in the wild give that.
///
/// # Safety
///
/// It is null, or points to as many bytes as its first field says, and to that field.
pub(crate) unsafe fn read(config: *const ncclConfig_t) -> Answer<Settings> {
    if config.is_null() {
        return Ok(Settings::default());
    }
    // SAFETY: by this function's contract; the size comes first in every version.
    let size = unsafe { config.cast::<usize>().read_unaligned() };
    let mut known = NCCL_CONFIG_INITIALIZER;
    let wrong = "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER";
    if size < 12 {
        return refuse(ncclResult_t::ncclInvalidArgument, wrong);
    }
    // SAFETY: so many bytes are there by this function's contract, and no more than the
    // structure has are taken; any bits are values of its numbers and pointers.
    unsafe {
        let bytes = size.min(size_of::<ncclConfig_t>());
        (&raw mut known).cast::<u8>().copy_from_nonoverlapping(config.cast(), bytes);
    }
    if known.magic != NCCL_API_MAGIC {
        return refuse(ncclResult_t::ncclInvalidArgument, wrong);
    }
    check(&known)
}

fn check(config: &ncclConfig_t) -> Answer<Settings> {
    let invalid = ncclResult_t::ncclInvalidArgument;
    let given = |value: c_int, since: u32| {
        let is_given = value != NCCL_CONFIG_UNDEF_INT && config.version >= since;
        is_given.then_some(value)
    };
    for (name, since, value, may_be) in fields(config) {
        if given(value, since).is_some_and(|value| !may_be(value)) {
            return refuse(invalid, format_args!("Invalid config {name} attribute value {value}"));
        }
    }
    let (least, most) = (given(config.minCTAs, 21700), given(config.maxCTAs, 21700));
    let is_range = least.is_none_or(is_positive)
        && most.is_none_or(is_positive)
        && least.zip(most).is_none_or(|(least, most)| least <= most);
    if !is_range {
        let (least, most) = (config.minCTAs, config.maxCTAs);
        let why = format!("Invalid config min/max channels attribute value {least}/{most}");
        return refuse(invalid, why);
    }
    let usual = Settings::default();
    Ok(Settings {
        is_blocking: given(config.blocking, 21400) != Some(0),
        contexts: given(config.numRmaCtx, 22900).unwrap_or(usual.contexts),
        signals: given(config.numRmaSig, 23100).unwrap_or(usual.signals),
        is_eager: given(config.rmaEagerInit, 23100) == Some(1),
    })
}

/// What of one call's configuration means something here.
#[derive(Clone, Debug)]
pub(crate) struct PerCall {
    /// The algorithm that is insisted on, if one is.
    pub(crate) insists_on: Option<String>,
    /// Recorded when the call has been enqueued, or null.
    pub(crate) event: cudaEvent_t,
}

impl Default for PerCall {
    fn default() -> Self {
        Self { insists_on: None, event: ptr::null_mut() }
    }
}

/// Reads a call's configuration; null is none.
///
/// # Safety
///
/// It is null, or points to as many bytes as its first field says, and to that field; a
/// selection in it is a C string.
pub(crate) unsafe fn read_call(what: &str, config: *const ncclCollConfig_t) -> Answer<PerCall> {
    let invalid = ncclResult_t::ncclInvalidArgument;
    if config.is_null() {
        return Ok(PerCall::default());
    }
    // SAFETY: by this function's contract; the size comes first in every version.
    let size = unsafe { config.cast::<usize>().read_unaligned() };
    if size == 0 {
        return refuse(invalid, format_args!("{what}: ncclCollConfig_t of size 0"));
    }
    let mut known = NCCL_COLLCONFIG_INITIALIZER;
    known.magic = 0;
    // SAFETY: as in `read`.
    unsafe {
        let bytes = size.min(size_of::<ncclCollConfig_t>());
        (&raw mut known).cast::<u8>().copy_from_nonoverlapping(config.cast(), bytes);
    }
    if known.magic != NCCL_API_MAGIC {
        let found = known.magic;
        let why = format!("{what}: magic mismatch (got {found:#x}, expected {NCCL_API_MAGIC:#x})");
        return refuse(invalid, why);
    }
    if !is_flag(known.forceAlgSelection) {
        let found = known.forceAlgSelection;
        return refuse(invalid, format_args!("{what}: invalid forceAlgSelection {found}"));
    }
    if known.CTAPolicy != NCCL_CONFIG_UNDEF_INT && !matches!(known.CTAPolicy, 0..=3) {
        let found = known.CTAPolicy;
        return refuse(invalid, format_args!("{what}: invalid CTAPolicy {found}"));
    }
    let insists_on = (!known.algSelection.is_null() && known.forceAlgSelection == 1).then(|| {
        // SAFETY: not null, and then a C string by this function's contract.
        unsafe { CStr::from_ptr(known.algSelection) }.to_string_lossy().into_owned()
    });
    Ok(PerCall { insists_on, event: known.launchCompletionEvent })
}

/// What each call's algorithm may start with.
const ALGORITHMS: &[(&str, &[&str])] = &[
    ("AllReduce", &["TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLSTREE", "SYMK"]),
    ("AllGather", &["RING", "COLLNET_DIRECT", "NVLS", "PAT", "SYMK"]),
    ("ReduceScatter", &["RING", "COLLNET_DIRECT", "NVLS", "PAT", "SYMK"]),
    ("Broadcast", &["RING"]),
    ("Reduce", &["RING"]),
];

/// Whether a selection of algorithms leaves one for the call: words between commas, which
/// stand for all that start so, in either case; `^` takes those away instead.
pub(crate) fn check_selection(what: &str, selection: &str) -> Answer {
    let known = ALGORITHMS.iter().find(|(call, _)| *call == what).map_or(&[][..], |row| row.1);
    let text = selection.trim();
    let (is_inverted, list) = match text.strip_prefix('^') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let words: Vec<String> = list.split(',').map(|word| word.trim().to_ascii_uppercase()).collect();
    let names = |word: &String, algorithm: &str| {
        let is_longer = word.strip_prefix(algorithm).is_some_and(|rest| rest.starts_with('_'));
        is_longer || (!word.is_empty() && algorithm.starts_with(word.as_str()))
    };
    let is_selected =
        |algorithm: &&&str| words.iter().any(|word| names(word, algorithm)) != is_inverted;
    if known.iter().any(|algorithm| is_selected(&algorithm)) {
        return Ok(());
    }
    let why = format!("{what}: no algorithm is left by algSelection \"{selection}\"");
    refuse(ncclResult_t::ncclInvalidArgument, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(config: ncclConfig_t) -> bool {
        check(&config).is_err()
    }

    #[test]
    fn fields_newer_than_the_declared_version_are_not_looked_at() {
        let good = NCCL_CONFIG_INITIALIZER;
        assert_eq!(check(&good), Ok(Settings::default()));
        assert!(refused(ncclConfig_t { rmaEagerInit: 7, ..good }));
        assert!(!refused(ncclConfig_t { rmaEagerInit: 7, version: 23_007, ..good }));
        assert!(refused(ncclConfig_t { blocking: 2, ..good }));
        assert!(!refused(ncclConfig_t { cgaClusterSize: 16, ..good }));
        assert!(refused(ncclConfig_t { minCTAs: 4, maxCTAs: 2, ..good }));
        assert!(!refused(ncclConfig_t { minCTAs: 4, ..good }));
        assert!(!refused(ncclConfig_t { nvlsHostMode: i32::MAX, ..good }));
        let eager = ncclConfig_t { rmaEagerInit: 1, numRmaSig: 4, blocking: 0, ..good };
        let wanted = Settings { is_blocking: false, contexts: 1, signals: 4, is_eager: true };
        assert_eq!(check(&eager), Ok(wanted));
    }

    #[test]
    fn a_selection_has_to_leave_an_algorithm() {
        for (what, selection, is_right) in [
            ("AllReduce", "ring_simple", true),
            ("AllReduce", "^TREE", true),
            ("AllReduce", " tree_ll , pat_simple", true),
            ("AllReduce", "PAT_SIMPLE", false),
            ("Broadcast", "tree", false),
            ("Broadcast", "^RING", false),
            ("AlltoAll", "RING", false),
        ] {
            assert_eq!(check_selection(what, selection).is_ok(), is_right, "{what} {selection}");
        }
    }
}
