//! What NCCL 2.32.3 reads, byte by byte: numbers from its header and from the
//! library itself, not from what bindgen asserts about its own output.

use std::ffi::c_uint;
use std::mem::{align_of, offset_of};

use nccl_sys::*;

const UNDEF: i32 = i32::MIN;

#[test]
fn structures_are_as_long_as_nccl_has_them() {
    assert_eq!(size_of::<ncclConfig_t>(), 120);
    assert_eq!(size_of::<ncclCollConfig_t>(), 72);
    assert_eq!(size_of::<ncclSimInfo_t>(), 24);
    assert_eq!(size_of::<ncclEncryptionConfig_t>(), 32);
    assert_eq!(size_of::<ncclWaitSignalDesc_t>(), 16);
    assert_eq!(size_of::<ncclUniqueId>(), 128);
    assert_eq!(align_of::<ncclUniqueId>(), 1);
}

#[test]
fn fields_of_a_communicators_configuration_lie_where_each_release_put_them() {
    // The first field that each release added, by the release.
    assert_eq!(offset_of!(ncclConfig_t, size), 0);
    assert_eq!(offset_of!(ncclConfig_t, magic), 8);
    assert_eq!(offset_of!(ncclConfig_t, version), 12);
    assert_eq!(offset_of!(ncclConfig_t, blocking), 16, "2.14");
    assert_eq!(offset_of!(ncclConfig_t, cgaClusterSize), 20, "2.17");
    assert_eq!(offset_of!(ncclConfig_t, netName), 32, "2.17");
    assert_eq!(offset_of!(ncclConfig_t, splitShare), 40, "2.18");
    assert_eq!(offset_of!(ncclConfig_t, trafficClass), 44, "2.26");
    assert_eq!(offset_of!(ncclConfig_t, commName), 48, "2.27");
    assert_eq!(offset_of!(ncclConfig_t, nvlsCTAs), 68, "2.27");
    assert_eq!(offset_of!(ncclConfig_t, nChannelsPerNetPeer), 72, "2.28");
    assert_eq!(offset_of!(ncclConfig_t, graphUsageMode), 80, "2.29");
    assert_eq!(offset_of!(ncclConfig_t, maxP2pPeers), 88, "2.30");
    assert_eq!(offset_of!(ncclConfig_t, launchOrderImplicit), 96, "2.31");
    assert_eq!(offset_of!(ncclConfig_t, nvlsHostMode), 112, "2.32");
}

#[test]
fn fields_of_a_calls_configuration_lie_where_the_header_puts_them() {
    assert_eq!(offset_of!(ncclCollConfig_t, ext), 16);
    assert_eq!(offset_of!(ncclCollConfig_t, minCTAs), 24);
    assert_eq!(offset_of!(ncclCollConfig_t, algSelection), 40);
    assert_eq!(offset_of!(ncclCollConfig_t, forceAlgSelection), 48);
    assert_eq!(offset_of!(ncclCollConfig_t, CTAPolicy), 52);
    assert_eq!(offset_of!(ncclCollConfig_t, userProfilerTag), 56);
    assert_eq!(offset_of!(ncclCollConfig_t, launchCompletionEvent), 64);
    assert_eq!(offset_of!(ncclEncryptionConfig_t, mode), 16);
    assert_eq!(offset_of!(ncclEncryptionConfig_t, psk), 24);
}

#[test]
fn an_enumeration_is_an_open_integer() {
    assert_eq!(size_of::<ncclResult_t>(), 4);
    // A code and an operator that no header names are values like others.
    assert_ne!(ncclResult_t(99), ncclResult_t::ncclSuccess);
    assert_ne!(ncclRedOp_t(7), ncclRedOp_t::ncclSum);
    let codes = [
        ncclResult_t::ncclSuccess,
        ncclResult_t::ncclUnhandledCudaError,
        ncclResult_t::ncclSystemError,
        ncclResult_t::ncclInternalError,
        ncclResult_t::ncclInvalidArgument,
        ncclResult_t::ncclInvalidUsage,
        ncclResult_t::ncclRemoteError,
        ncclResult_t::ncclInProgress,
        ncclResult_t::ncclTimeout,
    ];
    assert_eq!(codes.map(|code| code.0), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    let operators = [
        ncclRedOp_t::ncclSum,
        ncclRedOp_t::ncclProd,
        ncclRedOp_t::ncclMax,
        ncclRedOp_t::ncclMin,
        ncclRedOp_t::ncclAvg,
    ];
    assert_eq!(operators.map(|operator| operator.0), [0, 1, 2, 3, 4]);
    let types = [
        ncclDataType_t::ncclInt8,
        ncclDataType_t::ncclUint8,
        ncclDataType_t::ncclInt32,
        ncclDataType_t::ncclUint32,
        ncclDataType_t::ncclInt64,
        ncclDataType_t::ncclUint64,
        ncclDataType_t::ncclFloat16,
        ncclDataType_t::ncclFloat32,
        ncclDataType_t::ncclFloat64,
        ncclDataType_t::ncclBfloat16,
        ncclDataType_t::ncclFloat8e4m3,
        ncclDataType_t::ncclFloat8e5m2,
    ];
    assert_eq!(types.map(|dtype| dtype.0), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
}

#[test]
fn version_codes_change_their_scale_after_2_8() {
    assert_eq!(NCCL_VERSION_CODE, 23_203);
    for ((major, minor, patch), code) in [
        ((1, 3, 5), 1_305),
        ((2, 0, 0), 2_000),
        ((2, 8, 4), 2_804),
        ((2, 9, 6), 20_906),
        ((2, 32, 3), 23_203),
        ((3, 0, 0), 30_000),
    ] {
        assert_eq!(NCCL_VERSION(major, minor, patch), code, "{major}.{minor}.{patch}");
    }
    // No panic on nonsense: 10,000 × (2³² − 1) wraps to −10,000, and so on.
    assert_eq!(NCCL_VERSION(c_uint::MAX, c_uint::MAX, c_uint::MAX), 0_u32.wrapping_sub(10_101));
}

#[test]
fn an_initial_configuration_leaves_everything_to_nccl() {
    let config = NCCL_CONFIG_INITIALIZER;
    assert_eq!((config.size, config.magic, config.version), (120, 0xcafe_beef, 23_203));
    assert!(config.netName.is_null() && config.commName.is_null());
    let numbers = [
        config.blocking,
        config.cgaClusterSize,
        config.minCTAs,
        config.maxCTAs,
        config.splitShare,
        config.trafficClass,
        config.collnetEnable,
        config.CTAPolicy,
        config.shrinkShare,
        config.nvlsCTAs,
        config.nChannelsPerNetPeer,
        config.nvlinkCentricSched,
        config.graphUsageMode,
        config.numRmaCtx,
        config.maxP2pPeers,
        config.graphStreamOrdering,
        config.launchOrderImplicit,
        config.numRmaSig,
        config.rmaEagerInit,
        config.hostCftMode,
        config.nvlsHostMode,
    ];
    assert_eq!(numbers, [UNDEF; 21]);
    assert_eq!(NCCL_CONFIG_UNDEF_INT, UNDEF);
    assert!(NCCL_CONFIG_UNDEF_PTR.is_null());
}

#[test]
fn an_initial_call_configuration_insists_on_nothing_but_its_selection() {
    let config = NCCL_COLLCONFIG_INITIALIZER;
    assert_eq!((config.size, config.magic, config.version), (72, 0xcafe_beef, 23_203));
    assert!(config.ext.is_null() && config.algSelection.is_null());
    assert!(config.launchCompletionEvent.is_null());
    let limits = [config.minCTAs, config.maxCTAs, config.nvlsCTAs, config.cgaClusterSize];
    assert_eq!(limits, [UNDEF; 4]);
    assert_eq!((config.forceAlgSelection, config.CTAPolicy, config.userProfilerTag), (1, UNDEF, 0));
}

#[test]
fn the_other_initial_values_carry_their_own_magic() {
    let simulated = NCCL_SIM_INFO_INITIALIZER;
    assert_eq!((simulated.size, simulated.magic, simulated.version), (24, 0x7468_5283, 23_203));
    assert_eq!(simulated.estimatedTime.to_bits(), (-1.0_f32).to_bits());
    let plain = NCCL_ENCRYPTION_CONFIG_INITIALIZER;
    assert_eq!((plain.size, plain.magic, plain.version), (32, 0xcafe_beef, 23_203));
    assert_eq!(plain.mode, 0);
    assert!(plain.psk.is_null());
}
