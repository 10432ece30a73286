//! The macros of `nccl.h` that are not plain numbers, which bindgen cannot see.

use core::ffi::{c_char, c_uint, c_void};
use core::ptr;

use crate::{
    NCCL_API_MAGIC, NCCL_CONFIG_UNDEF_INT, NCCL_VERSION_CODE, ncclCollConfig_t, ncclConfig_t,
    ncclEncryptionConfig_t, ncclEncryptionMode_t, ncclSimInfo_t,
};

/// The code of a release, comparable with [`NCCL_VERSION_CODE`] and with what
/// `ncclGetVersion` stores: a thousand per major number up to 2.8, ten thousand after.
///
/// ```
/// assert_eq!(nccl_sys::NCCL_VERSION(2, 32, 3), nccl_sys::NCCL_VERSION_CODE);
/// assert_eq!(nccl_sys::NCCL_VERSION(2, 8, 4), 2804);
/// ```
///
/// Wraps around where C would.
#[allow(non_snake_case, reason = "the header's name")]
pub const fn NCCL_VERSION(major: c_uint, minor: c_uint, patch: c_uint) -> c_uint {
    let per_major = if major <= 2 && minor <= 8 { 1_000 } else { 10_000 };
    let code = major.wrapping_mul(per_major).wrapping_add(minor.wrapping_mul(100));
    code.wrapping_add(patch)
}

/// No pointer: what an unset pointer of a configuration holds.
pub const NCCL_CONFIG_UNDEF_PTR: *mut c_void = ptr::null_mut();

const UNDEF_TEXT: *const c_char = ptr::null();

/// What the magic number of an `ncclSimInfo_t` has to be; the header writes it out.
const SIM_INFO_MAGIC: c_uint = 0x7468_5283;

/// A communicator's configuration with everything left to NCCL.
///
/// `version` is the header's: it says which fields are present, and an older library
/// reads those it knows. It is a value to copy and change:
///
/// ```
/// let mut config = nccl_sys::NCCL_CONFIG_INITIALIZER;
/// config.blocking = 0;
/// ```
pub const NCCL_CONFIG_INITIALIZER: ncclConfig_t = ncclConfig_t {
    size: size_of::<ncclConfig_t>(),
    magic: NCCL_API_MAGIC,
    version: NCCL_VERSION_CODE,
    blocking: NCCL_CONFIG_UNDEF_INT,
    cgaClusterSize: NCCL_CONFIG_UNDEF_INT,
    minCTAs: NCCL_CONFIG_UNDEF_INT,
    maxCTAs: NCCL_CONFIG_UNDEF_INT,
    netName: UNDEF_TEXT,
    splitShare: NCCL_CONFIG_UNDEF_INT,
    trafficClass: NCCL_CONFIG_UNDEF_INT,
    commName: UNDEF_TEXT,
    collnetEnable: NCCL_CONFIG_UNDEF_INT,
    CTAPolicy: NCCL_CONFIG_UNDEF_INT,
    shrinkShare: NCCL_CONFIG_UNDEF_INT,
    nvlsCTAs: NCCL_CONFIG_UNDEF_INT,
    nChannelsPerNetPeer: NCCL_CONFIG_UNDEF_INT,
    nvlinkCentricSched: NCCL_CONFIG_UNDEF_INT,
    graphUsageMode: NCCL_CONFIG_UNDEF_INT,
    numRmaCtx: NCCL_CONFIG_UNDEF_INT,
    maxP2pPeers: NCCL_CONFIG_UNDEF_INT,
    graphStreamOrdering: NCCL_CONFIG_UNDEF_INT,
    launchOrderImplicit: NCCL_CONFIG_UNDEF_INT,
    numRmaSig: NCCL_CONFIG_UNDEF_INT,
    rmaEagerInit: NCCL_CONFIG_UNDEF_INT,
    hostCftMode: NCCL_CONFIG_UNDEF_INT,
    nvlsHostMode: NCCL_CONFIG_UNDEF_INT,
};

/// One call's configuration with everything left to NCCL, except that an algorithm
/// asked for is insisted on (`forceAlgSelection` is 1).
pub const NCCL_COLLCONFIG_INITIALIZER: ncclCollConfig_t = ncclCollConfig_t {
    size: size_of::<ncclCollConfig_t>(),
    magic: NCCL_API_MAGIC,
    version: NCCL_VERSION_CODE,
    ext: ptr::null_mut(),
    minCTAs: NCCL_CONFIG_UNDEF_INT,
    maxCTAs: NCCL_CONFIG_UNDEF_INT,
    nvlsCTAs: NCCL_CONFIG_UNDEF_INT,
    cgaClusterSize: NCCL_CONFIG_UNDEF_INT,
    algSelection: UNDEF_TEXT,
    forceAlgSelection: 1,
    CTAPolicy: NCCL_CONFIG_UNDEF_INT,
    userProfilerTag: 0,
    launchCompletionEvent: ptr::null_mut(),
};

/// What `ncclGroupSimulateEnd` fills in, before it does: no time yet.
pub const NCCL_SIM_INFO_INITIALIZER: ncclSimInfo_t = ncclSimInfo_t {
    size: size_of::<ncclSimInfo_t>(),
    magic: SIM_INFO_MAGIC,
    version: NCCL_VERSION_CODE,
    estimatedTime: -1.0,
};

/// No encryption of sockets.
pub const NCCL_ENCRYPTION_CONFIG_INITIALIZER: ncclEncryptionConfig_t = ncclEncryptionConfig_t {
    size: size_of::<ncclEncryptionConfig_t>(),
    magic: NCCL_API_MAGIC,
    version: NCCL_VERSION_CODE,
    mode: ncclEncryptionMode_t::NCCL_ENCRYPTION_MODE_NONE.0.cast_signed(),
    psk: UNDEF_TEXT,
};
