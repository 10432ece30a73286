//! The types and constants of `nccl.h`, written by `cargo xtask bindgen`.

pub type cudaStream_t = *mut CUstream_st;
pub type cudaEvent_t = *mut CUevent_st;
pub type ncclComm_t = *mut ncclComm;
pub type ncclWindow_t = *mut ncclWindow_vidmem;
pub type ncclConfig_t = ncclConfig_v23100;
pub type ncclConfigExt_t = ncclConfigExt;
pub type ncclCollConfig_t = ncclCollConfig_v23200;
pub type ncclSimInfo_t = ncclSimInfo_v22200;
pub type ncclEncryptionConfig_t = ncclEncryptionConfig_v23200;
pub type ncclParamHandle_t = *mut ncclParamHandle;
#[repr(C)]
#[derive(Debug)]
pub struct CUstream_st {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct CUevent_st {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct ncclComm {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct ncclWindow_vidmem {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ncclUniqueId {
    pub internal: [::core::ffi::c_char; 128usize],
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct ncclResult_t(pub ::core::ffi::c_uint);
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct ncclHostCftMode_t(pub ::core::ffi::c_int);
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct ncclNvlsHostMode_t(pub ::core::ffi::c_int);
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ncclConfig_v23100 {
    pub size: usize,
    pub magic: ::core::ffi::c_uint,
    pub version: ::core::ffi::c_uint,
    pub blocking: ::core::ffi::c_int,
    pub cgaClusterSize: ::core::ffi::c_int,
    pub minCTAs: ::core::ffi::c_int,
    pub maxCTAs: ::core::ffi::c_int,
    pub netName: *const ::core::ffi::c_char,
    pub splitShare: ::core::ffi::c_int,
    pub trafficClass: ::core::ffi::c_int,
    pub commName: *const ::core::ffi::c_char,
    pub collnetEnable: ::core::ffi::c_int,
    pub CTAPolicy: ::core::ffi::c_int,
    pub shrinkShare: ::core::ffi::c_int,
    pub nvlsCTAs: ::core::ffi::c_int,
    pub nChannelsPerNetPeer: ::core::ffi::c_int,
    pub nvlinkCentricSched: ::core::ffi::c_int,
    pub graphUsageMode: ::core::ffi::c_int,
    pub numRmaCtx: ::core::ffi::c_int,
    pub maxP2pPeers: ::core::ffi::c_int,
    pub graphStreamOrdering: ::core::ffi::c_int,
    pub launchOrderImplicit: ::core::ffi::c_int,
    pub numRmaSig: ::core::ffi::c_int,
    pub rmaEagerInit: ::core::ffi::c_int,
    pub hostCftMode: ::core::ffi::c_int,
    pub nvlsHostMode: ::core::ffi::c_int,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct ncclConfigExt {
    pub next: *mut ncclConfigExt,
    pub key: ncclConfigExt__bindgen_ty_1,
    pub val: ncclConfigExt__bindgen_ty_2,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ncclConfigExt__bindgen_ty_1 {
    pub vendorId: ::core::ffi::c_int,
    pub optionId: ::core::ffi::c_int,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ncclCollConfig_v23200 {
    pub size: usize,
    pub magic: ::core::ffi::c_uint,
    pub version: ::core::ffi::c_uint,
    pub ext: *mut ncclConfigExt_t,
    pub minCTAs: ::core::ffi::c_int,
    pub maxCTAs: ::core::ffi::c_int,
    pub nvlsCTAs: ::core::ffi::c_int,
    pub cgaClusterSize: ::core::ffi::c_int,
    pub algSelection: *const ::core::ffi::c_char,
    pub forceAlgSelection: ::core::ffi::c_int,
    pub CTAPolicy: ::core::ffi::c_int,
    pub userProfilerTag: u64,
    pub launchCompletionEvent: cudaEvent_t,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ncclSimInfo_v22200 {
    pub size: usize,
    pub magic: ::core::ffi::c_uint,
    pub version: ::core::ffi::c_uint,
    pub estimatedTime: f32,
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct ncclCommMemStat_t(pub ::core::ffi::c_uint);
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct ncclRedOp_dummy_t(pub ::core::ffi::c_uint);
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct ncclRedOp_t(pub ::core::ffi::c_uint);
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct ncclDataType_t(pub ::core::ffi::c_uint);
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct ncclScalarResidence_t(pub ::core::ffi::c_uint);
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ncclWaitSignalDesc_t {
    pub opCnt: ::core::ffi::c_int,
    pub peer: ::core::ffi::c_int,
    pub sigIdx: ::core::ffi::c_int,
    pub ctx: ::core::ffi::c_int,
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct ncclEncryptionMode_t(pub ::core::ffi::c_uint);
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ncclEncryptionConfig_v23200 {
    pub size: usize,
    pub magic: ::core::ffi::c_uint,
    pub version: ::core::ffi::c_uint,
    pub mode: ::core::ffi::c_int,
    pub psk: *const ::core::ffi::c_char,
}
#[repr(C)]
#[derive(Debug)]
pub struct ncclParamHandle {
    _unused: [u8; 0],
}
pub const NCCL_MAJOR: u32 = 2;
pub const NCCL_MINOR: u32 = 32;
pub const NCCL_PATCH: u32 = 3;
pub const NCCL_SUFFIX: &[u8; 1] = b"\0";
pub const NCCL_VERSION_CODE: u32 = 23203;
pub const NCCL_UNIQUE_ID_BYTES: u32 = 128;
pub const NCCL_CONFIG_UNDEF_INT: i32 = -2147483648;
pub const NCCL_SPLIT_NOCOLOR: i32 = -1;
pub const NCCL_UNDEF_FLOAT: f64 = -1.0;
pub const NCCL_API_MAGIC: u32 = 3405692655;
pub const NCCL_WIN_DEFAULT: u32 = 0;
pub const NCCL_WIN_COLL_SYMMETRIC: u32 = 1;
pub const NCCL_WIN_STRICT_ORDERING: u32 = 2;
pub const NCCL_WIN_GIN_ONLY: u32 = 4;
pub const NCCL_WIN_CFT_COUNTED: u32 = 8;
pub const NCCL_WIN_REQUIRED_ALIGNMENT: u32 = 4096;
pub const NCCL_CTA_POLICY_DEFAULT: u32 = 0;
pub const NCCL_CTA_POLICY_EFFICIENCY: u32 = 1;
pub const NCCL_CTA_POLICY_ZERO: u32 = 2;
pub const NCCL_SHRINK_DEFAULT: u32 = 0;
pub const NCCL_SHRINK_ABORT: u32 = 1;
pub const NCCL_REVOKE_DEFAULT: u32 = 0;
pub const NCCL_SUSPEND_MEM: u32 = 1;
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ncclUniqueId"][::core::mem::size_of::<ncclUniqueId>() - 128usize];
    ["Alignment of ncclUniqueId"][::core::mem::align_of::<ncclUniqueId>() - 1usize];
    ["Offset of field: ncclUniqueId::internal"]
        [::core::mem::offset_of!(ncclUniqueId, internal) - 0usize];
};
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ncclConfig_v23100"][::core::mem::size_of::<ncclConfig_v23100>() - 120usize];
    ["Alignment of ncclConfig_v23100"][::core::mem::align_of::<ncclConfig_v23100>() - 8usize];
    ["Offset of field: ncclConfig_v23100::size"]
        [::core::mem::offset_of!(ncclConfig_v23100, size) - 0usize];
    ["Offset of field: ncclConfig_v23100::magic"]
        [::core::mem::offset_of!(ncclConfig_v23100, magic) - 8usize];
    ["Offset of field: ncclConfig_v23100::version"]
        [::core::mem::offset_of!(ncclConfig_v23100, version) - 12usize];
    ["Offset of field: ncclConfig_v23100::blocking"]
        [::core::mem::offset_of!(ncclConfig_v23100, blocking) - 16usize];
    ["Offset of field: ncclConfig_v23100::cgaClusterSize"]
        [::core::mem::offset_of!(ncclConfig_v23100, cgaClusterSize) - 20usize];
    ["Offset of field: ncclConfig_v23100::minCTAs"]
        [::core::mem::offset_of!(ncclConfig_v23100, minCTAs) - 24usize];
    ["Offset of field: ncclConfig_v23100::maxCTAs"]
        [::core::mem::offset_of!(ncclConfig_v23100, maxCTAs) - 28usize];
    ["Offset of field: ncclConfig_v23100::netName"]
        [::core::mem::offset_of!(ncclConfig_v23100, netName) - 32usize];
    ["Offset of field: ncclConfig_v23100::splitShare"]
        [::core::mem::offset_of!(ncclConfig_v23100, splitShare) - 40usize];
    ["Offset of field: ncclConfig_v23100::trafficClass"]
        [::core::mem::offset_of!(ncclConfig_v23100, trafficClass) - 44usize];
    ["Offset of field: ncclConfig_v23100::commName"]
        [::core::mem::offset_of!(ncclConfig_v23100, commName) - 48usize];
    ["Offset of field: ncclConfig_v23100::collnetEnable"]
        [::core::mem::offset_of!(ncclConfig_v23100, collnetEnable) - 56usize];
    ["Offset of field: ncclConfig_v23100::CTAPolicy"]
        [::core::mem::offset_of!(ncclConfig_v23100, CTAPolicy) - 60usize];
    ["Offset of field: ncclConfig_v23100::shrinkShare"]
        [::core::mem::offset_of!(ncclConfig_v23100, shrinkShare) - 64usize];
    ["Offset of field: ncclConfig_v23100::nvlsCTAs"]
        [::core::mem::offset_of!(ncclConfig_v23100, nvlsCTAs) - 68usize];
    ["Offset of field: ncclConfig_v23100::nChannelsPerNetPeer"]
        [::core::mem::offset_of!(ncclConfig_v23100, nChannelsPerNetPeer) - 72usize];
    ["Offset of field: ncclConfig_v23100::nvlinkCentricSched"]
        [::core::mem::offset_of!(ncclConfig_v23100, nvlinkCentricSched) - 76usize];
    ["Offset of field: ncclConfig_v23100::graphUsageMode"]
        [::core::mem::offset_of!(ncclConfig_v23100, graphUsageMode) - 80usize];
    ["Offset of field: ncclConfig_v23100::numRmaCtx"]
        [::core::mem::offset_of!(ncclConfig_v23100, numRmaCtx) - 84usize];
    ["Offset of field: ncclConfig_v23100::maxP2pPeers"]
        [::core::mem::offset_of!(ncclConfig_v23100, maxP2pPeers) - 88usize];
    ["Offset of field: ncclConfig_v23100::graphStreamOrdering"]
        [::core::mem::offset_of!(ncclConfig_v23100, graphStreamOrdering) - 92usize];
    ["Offset of field: ncclConfig_v23100::launchOrderImplicit"]
        [::core::mem::offset_of!(ncclConfig_v23100, launchOrderImplicit) - 96usize];
    ["Offset of field: ncclConfig_v23100::numRmaSig"]
        [::core::mem::offset_of!(ncclConfig_v23100, numRmaSig) - 100usize];
    ["Offset of field: ncclConfig_v23100::rmaEagerInit"]
        [::core::mem::offset_of!(ncclConfig_v23100, rmaEagerInit) - 104usize];
    ["Offset of field: ncclConfig_v23100::hostCftMode"]
        [::core::mem::offset_of!(ncclConfig_v23100, hostCftMode) - 108usize];
    ["Offset of field: ncclConfig_v23100::nvlsHostMode"]
        [::core::mem::offset_of!(ncclConfig_v23100, nvlsHostMode) - 112usize];
};
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ncclConfigExt__bindgen_ty_1"]
        [::core::mem::size_of::<ncclConfigExt__bindgen_ty_1>() - 8usize];
    ["Alignment of ncclConfigExt__bindgen_ty_1"]
        [::core::mem::align_of::<ncclConfigExt__bindgen_ty_1>() - 4usize];
    ["Offset of field: ncclConfigExt__bindgen_ty_1::vendorId"]
        [::core::mem::offset_of!(ncclConfigExt__bindgen_ty_1, vendorId) - 0usize];
    ["Offset of field: ncclConfigExt__bindgen_ty_1::optionId"]
        [::core::mem::offset_of!(ncclConfigExt__bindgen_ty_1, optionId) - 4usize];
};
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ncclConfigExt__bindgen_ty_2"]
        [::core::mem::size_of::<ncclConfigExt__bindgen_ty_2>() - 8usize];
    ["Alignment of ncclConfigExt__bindgen_ty_2"]
        [::core::mem::align_of::<ncclConfigExt__bindgen_ty_2>() - 8usize];
    ["Offset of field: ncclConfigExt__bindgen_ty_2::i"]
        [::core::mem::offset_of!(ncclConfigExt__bindgen_ty_2, i) - 0usize];
    ["Offset of field: ncclConfigExt__bindgen_ty_2::s"]
        [::core::mem::offset_of!(ncclConfigExt__bindgen_ty_2, s) - 0usize];
    ["Offset of field: ncclConfigExt__bindgen_ty_2::raw"]
        [::core::mem::offset_of!(ncclConfigExt__bindgen_ty_2, raw) - 0usize];
};
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ncclConfigExt"][::core::mem::size_of::<ncclConfigExt>() - 24usize];
    ["Alignment of ncclConfigExt"][::core::mem::align_of::<ncclConfigExt>() - 8usize];
    ["Offset of field: ncclConfigExt::next"][::core::mem::offset_of!(ncclConfigExt, next) - 0usize];
    ["Offset of field: ncclConfigExt::key"][::core::mem::offset_of!(ncclConfigExt, key) - 8usize];
    ["Offset of field: ncclConfigExt::val"][::core::mem::offset_of!(ncclConfigExt, val) - 16usize];
};
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ncclCollConfig_v23200"][::core::mem::size_of::<ncclCollConfig_v23200>() - 72usize];
    ["Alignment of ncclCollConfig_v23200"]
        [::core::mem::align_of::<ncclCollConfig_v23200>() - 8usize];
    ["Offset of field: ncclCollConfig_v23200::size"]
        [::core::mem::offset_of!(ncclCollConfig_v23200, size) - 0usize];
    ["Offset of field: ncclCollConfig_v23200::magic"]
        [::core::mem::offset_of!(ncclCollConfig_v23200, magic) - 8usize];
    ["Offset of field: ncclCollConfig_v23200::version"]
        [::core::mem::offset_of!(ncclCollConfig_v23200, version) - 12usize];
    ["Offset of field: ncclCollConfig_v23200::ext"]
        [::core::mem::offset_of!(ncclCollConfig_v23200, ext) - 16usize];
    ["Offset of field: ncclCollConfig_v23200::minCTAs"]
        [::core::mem::offset_of!(ncclCollConfig_v23200, minCTAs) - 24usize];
    ["Offset of field: ncclCollConfig_v23200::maxCTAs"]
        [::core::mem::offset_of!(ncclCollConfig_v23200, maxCTAs) - 28usize];
    ["Offset of field: ncclCollConfig_v23200::nvlsCTAs"]
        [::core::mem::offset_of!(ncclCollConfig_v23200, nvlsCTAs) - 32usize];
    ["Offset of field: ncclCollConfig_v23200::cgaClusterSize"]
        [::core::mem::offset_of!(ncclCollConfig_v23200, cgaClusterSize) - 36usize];
    ["Offset of field: ncclCollConfig_v23200::algSelection"]
        [::core::mem::offset_of!(ncclCollConfig_v23200, algSelection) - 40usize];
    ["Offset of field: ncclCollConfig_v23200::forceAlgSelection"]
        [::core::mem::offset_of!(ncclCollConfig_v23200, forceAlgSelection) - 48usize];
    ["Offset of field: ncclCollConfig_v23200::CTAPolicy"]
        [::core::mem::offset_of!(ncclCollConfig_v23200, CTAPolicy) - 52usize];
    ["Offset of field: ncclCollConfig_v23200::userProfilerTag"]
        [::core::mem::offset_of!(ncclCollConfig_v23200, userProfilerTag) - 56usize];
    ["Offset of field: ncclCollConfig_v23200::launchCompletionEvent"]
        [::core::mem::offset_of!(ncclCollConfig_v23200, launchCompletionEvent) - 64usize];
};
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ncclSimInfo_v22200"][::core::mem::size_of::<ncclSimInfo_v22200>() - 24usize];
    ["Alignment of ncclSimInfo_v22200"][::core::mem::align_of::<ncclSimInfo_v22200>() - 8usize];
    ["Offset of field: ncclSimInfo_v22200::size"]
        [::core::mem::offset_of!(ncclSimInfo_v22200, size) - 0usize];
    ["Offset of field: ncclSimInfo_v22200::magic"]
        [::core::mem::offset_of!(ncclSimInfo_v22200, magic) - 8usize];
    ["Offset of field: ncclSimInfo_v22200::version"]
        [::core::mem::offset_of!(ncclSimInfo_v22200, version) - 12usize];
    ["Offset of field: ncclSimInfo_v22200::estimatedTime"]
        [::core::mem::offset_of!(ncclSimInfo_v22200, estimatedTime) - 16usize];
};
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ncclWaitSignalDesc_t"][::core::mem::size_of::<ncclWaitSignalDesc_t>() - 16usize];
    ["Alignment of ncclWaitSignalDesc_t"][::core::mem::align_of::<ncclWaitSignalDesc_t>() - 4usize];
    ["Offset of field: ncclWaitSignalDesc_t::opCnt"]
        [::core::mem::offset_of!(ncclWaitSignalDesc_t, opCnt) - 0usize];
    ["Offset of field: ncclWaitSignalDesc_t::peer"]
        [::core::mem::offset_of!(ncclWaitSignalDesc_t, peer) - 4usize];
    ["Offset of field: ncclWaitSignalDesc_t::sigIdx"]
        [::core::mem::offset_of!(ncclWaitSignalDesc_t, sigIdx) - 8usize];
    ["Offset of field: ncclWaitSignalDesc_t::ctx"]
        [::core::mem::offset_of!(ncclWaitSignalDesc_t, ctx) - 12usize];
};
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ncclEncryptionConfig_v23200"]
        [::core::mem::size_of::<ncclEncryptionConfig_v23200>() - 32usize];
    ["Alignment of ncclEncryptionConfig_v23200"]
        [::core::mem::align_of::<ncclEncryptionConfig_v23200>() - 8usize];
    ["Offset of field: ncclEncryptionConfig_v23200::size"]
        [::core::mem::offset_of!(ncclEncryptionConfig_v23200, size) - 0usize];
    ["Offset of field: ncclEncryptionConfig_v23200::magic"]
        [::core::mem::offset_of!(ncclEncryptionConfig_v23200, magic) - 8usize];
    ["Offset of field: ncclEncryptionConfig_v23200::version"]
        [::core::mem::offset_of!(ncclEncryptionConfig_v23200, version) - 12usize];
    ["Offset of field: ncclEncryptionConfig_v23200::mode"]
        [::core::mem::offset_of!(ncclEncryptionConfig_v23200, mode) - 16usize];
    ["Offset of field: ncclEncryptionConfig_v23200::psk"]
        [::core::mem::offset_of!(ncclEncryptionConfig_v23200, psk) - 24usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub union ncclConfigExt__bindgen_ty_2 {
    pub i: ::core::ffi::c_int,
    pub s: *const ::core::ffi::c_char,
    pub raw: *mut ::core::ffi::c_void,
}
impl ncclResult_t {
    pub const ncclSuccess: ncclResult_t = ncclResult_t(0);
    pub const ncclUnhandledCudaError: ncclResult_t = ncclResult_t(1);
    pub const ncclSystemError: ncclResult_t = ncclResult_t(2);
    pub const ncclInternalError: ncclResult_t = ncclResult_t(3);
    pub const ncclInvalidArgument: ncclResult_t = ncclResult_t(4);
    pub const ncclInvalidUsage: ncclResult_t = ncclResult_t(5);
    pub const ncclRemoteError: ncclResult_t = ncclResult_t(6);
    pub const ncclInProgress: ncclResult_t = ncclResult_t(7);
    pub const ncclTimeout: ncclResult_t = ncclResult_t(8);
    pub const ncclNumResults: ncclResult_t = ncclResult_t(9);
}
impl ncclHostCftMode_t {
    pub const ncclHostCftDefault: ncclHostCftMode_t = ncclHostCftMode_t(-2147483648);
    pub const ncclHostCftEnable: ncclHostCftMode_t = ncclHostCftMode_t(1);
    pub const ncclHostCftDisable: ncclHostCftMode_t = ncclHostCftMode_t(2);
    pub const ncclHostCftFallback: ncclHostCftMode_t = ncclHostCftMode_t(3);
}
impl ncclNvlsHostMode_t {
    pub const ncclNvlsHostModeDefault: ncclNvlsHostMode_t = ncclNvlsHostMode_t(-2147483648);
    pub const ncclNvlsHostModeEnable: ncclNvlsHostMode_t = ncclNvlsHostMode_t(0);
    pub const ncclNvlsHostModeDisableTransport: ncclNvlsHostMode_t = ncclNvlsHostMode_t(1);
    pub const ncclNvlsHostModeDisableSymmetricMultimem: ncclNvlsHostMode_t = ncclNvlsHostMode_t(2);
    pub const ncclNvlsHostModeDisable: ncclNvlsHostMode_t = ncclNvlsHostMode_t(2147483647);
}
impl ncclCommMemStat_t {
    pub const ncclStatGpuMemSuspend: ncclCommMemStat_t = ncclCommMemStat_t(0);
    pub const ncclStatGpuMemSuspended: ncclCommMemStat_t = ncclCommMemStat_t(1);
    pub const ncclStatGpuMemPersist: ncclCommMemStat_t = ncclCommMemStat_t(2);
    pub const ncclStatGpuMemTotal: ncclCommMemStat_t = ncclCommMemStat_t(3);
}
impl ncclRedOp_dummy_t {
    pub const ncclNumOps_dummy: ncclRedOp_dummy_t = ncclRedOp_dummy_t(5);
}
impl ncclRedOp_t {
    pub const ncclSum: ncclRedOp_t = ncclRedOp_t(0);
    pub const ncclProd: ncclRedOp_t = ncclRedOp_t(1);
    pub const ncclMax: ncclRedOp_t = ncclRedOp_t(2);
    pub const ncclMin: ncclRedOp_t = ncclRedOp_t(3);
    pub const ncclAvg: ncclRedOp_t = ncclRedOp_t(4);
    pub const ncclNumOps: ncclRedOp_t = ncclRedOp_t(5);
    pub const ncclMaxRedOp: ncclRedOp_t = ncclRedOp_t(2147483647);
}
impl ncclDataType_t {
    pub const ncclInt8: ncclDataType_t = ncclDataType_t(0);
    pub const ncclChar: ncclDataType_t = ncclDataType_t(0);
    pub const ncclUint8: ncclDataType_t = ncclDataType_t(1);
    pub const ncclInt32: ncclDataType_t = ncclDataType_t(2);
    pub const ncclInt: ncclDataType_t = ncclDataType_t(2);
    pub const ncclUint32: ncclDataType_t = ncclDataType_t(3);
    pub const ncclInt64: ncclDataType_t = ncclDataType_t(4);
    pub const ncclUint64: ncclDataType_t = ncclDataType_t(5);
    pub const ncclFloat16: ncclDataType_t = ncclDataType_t(6);
    pub const ncclHalf: ncclDataType_t = ncclDataType_t(6);
    pub const ncclFloat32: ncclDataType_t = ncclDataType_t(7);
    pub const ncclFloat: ncclDataType_t = ncclDataType_t(7);
    pub const ncclFloat64: ncclDataType_t = ncclDataType_t(8);
    pub const ncclDouble: ncclDataType_t = ncclDataType_t(8);
    pub const ncclBfloat16: ncclDataType_t = ncclDataType_t(9);
    pub const ncclFloat8e4m3: ncclDataType_t = ncclDataType_t(10);
    pub const ncclFloat8e5m2: ncclDataType_t = ncclDataType_t(11);
    pub const ncclNumTypes: ncclDataType_t = ncclDataType_t(12);
}
impl ncclScalarResidence_t {
    pub const ncclScalarDevice: ncclScalarResidence_t = ncclScalarResidence_t(0);
    pub const ncclScalarHostImmediate: ncclScalarResidence_t = ncclScalarResidence_t(1);
}
impl ncclEncryptionMode_t {
    pub const NCCL_ENCRYPTION_MODE_NONE: ncclEncryptionMode_t = ncclEncryptionMode_t(0);
    pub const NCCL_ENCRYPTION_MODE_PSK: ncclEncryptionMode_t = ncclEncryptionMode_t(1);
}
