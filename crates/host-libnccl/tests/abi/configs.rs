//! Configurations of calls and communicators, simulated groups, parameters, encryption.

use std::ffi::{CStr, c_char, c_int};
use std::ptr::{null, null_mut};

use nccl_sys::{
    NCCL_COLLCONFIG_INITIALIZER, NCCL_CONFIG_INITIALIZER, NCCL_ENCRYPTION_CONFIG_INITIALIZER,
    NCCL_SIM_INFO_INITIALIZER, ncclCollConfig_t, ncclConfig_t, ncclDataType_t,
    ncclEncryptionConfig_t, ncclParamHandle_t, ncclRedOp_t, ncclSimInfo_t, ncclUniqueId,
};

use crate::machine::{comms, last_words, memory, nccl, on, read, stream};

const I32: ncclDataType_t = ncclDataType_t::ncclInt32;
const SUM: ncclRedOp_t = ncclRedOp_t::ncclSum;

#[test]
fn every_collective_takes_a_configuration() {
    let [comm] = comms::<1>();
    let (s, r, on) = (memory(0, &[7]), memory(0, &[0]), stream(0));
    let config = NCCL_COLLCONFIG_INITIALIZER;
    let c = &raw const config;
    let codes = [
        nccl!(ncclAllReduceConfig(s, r, 1, I32, SUM, comm, on, c)),
        nccl!(ncclReduceConfig(s, r, 1, I32, SUM, 0, comm, on, c)),
        nccl!(ncclReduceScatterConfig(s, r, 1, I32, SUM, comm, on, c)),
        nccl!(ncclBroadcastConfig(s, r, 1, I32, 0, comm, on, c)),
        nccl!(ncclAllGatherConfig(s, r, 1, I32, comm, on, c)),
        nccl!(ncclAlltoAllConfig(s, r, 1, I32, comm, on, c)),
        nccl!(ncclGatherConfig(s, r, 1, I32, 0, comm, on, c)),
        nccl!(ncclScatterConfig(s, r, 1, I32, 0, comm, on, c)),
        nccl!(ncclScatterConfig(s, r, 1, I32, 0, comm, on, null())),
    ];
    assert_eq!(codes, [0; 9]);
    assert_eq!(read(0, r), [7]);
}

#[test]
fn a_calls_configuration_is_read_before_its_communicator() {
    let good = NCCL_COLLCONFIG_INITIALIZER;
    let refusal = |config: ncclCollConfig_t| {
        let config = &raw const config;
        let code = nccl!(ncclAllReduceConfig(
            null(),
            null_mut(),
            1,
            I32,
            SUM,
            null_mut(),
            null_mut(),
            config
        ));
        (code, last_words(null_mut()))
    };
    assert!(refusal(good).1.contains("comm argument is NULL"));
    let (code, words) = refusal(ncclCollConfig_t { magic: 0, ..good });
    assert_eq!(code, 4);
    assert!(words.contains("magic mismatch (got 0x0, expected 0xcafebeef)"), "{words}");
    assert!(refusal(ncclCollConfig_t { forceAlgSelection: 2, ..good }).1.contains("orceAlg"));
    assert!(refusal(ncclCollConfig_t { CTAPolicy: 4, ..good }).1.contains("CTAPolicy"));
    assert_eq!(refusal(ncclCollConfig_t { size: 0, ..good }).0, 4);
    // What is out of bounds there is ignored, as NCCL does.
    let wide = ncclCollConfig_t { minCTAs: -1, maxCTAs: 9999, ..good };
    assert!(refusal(wide).1.contains("comm argument is NULL"));
}

#[test]
fn an_algorithm_that_is_insisted_on_has_to_be_there() {
    let [comm] = comms::<1>();
    let (at, on) = (memory(0, &[7]), stream(0));
    let call = |algorithm: &CStr, force, count| {
        let config = ncclCollConfig_t {
            algSelection: algorithm.as_ptr(),
            forceAlgSelection: force,
            ..NCCL_COLLCONFIG_INITIALIZER
        };
        nccl!(ncclBroadcastConfig(at, at, count, I32, 0, comm, on, &raw const config))
    };
    assert_eq!(call(c"RING_LL", 1, 1), 0);
    assert_eq!(call(c"TREE_LL", 1, 1), 4);
    assert_eq!(call(c"TREE_LL", 1, 0), 0, "nothing to choose for");
    assert_eq!(call(c"TREE_LL", 0, 1), 0, "only wished for");
}

#[test]
fn a_communicators_configuration_is_checked_up_to_its_version() {
    on(0);
    let mut id = ncclUniqueId { internal: [0; 128] };
    assert_eq!(nccl!(ncclGetUniqueId(&raw mut id)), 0);
    let mut comm = null_mut();
    let mut make = |mut config: ncclConfig_t| {
        let code = nccl!(ncclCommInitRankConfig(&raw mut comm, 1, id, 0, &raw mut config));
        (code, last_words(null_mut()))
    };
    let good = NCCL_CONFIG_INITIALIZER;
    let wrong = ncclConfig_t { numRmaSig: -1, ..good };
    let (code, words) = make(wrong);
    assert_eq!((code, &*words), (4, "Invalid config numRmaSig attribute value -1"));
    assert_eq!(make(ncclConfig_t { version: 23_005, ..wrong }).0, 0, "newer than declared");
    assert_eq!(make(ncclConfig_t { size: 96, ..wrong }).0, 0, "not in so short a structure");
    let (code, words) = make(ncclConfig_t { minCTAs: 5, maxCTAs: 4, ..good });
    assert_eq!((code, &*words), (4, "Invalid config min/max channels attribute value 5/4"));
    assert_eq!(make(ncclConfig_t { size: 8, ..good }).0, 4);
}

#[test]
fn nothing_of_a_simulated_group_is_done() {
    let [comm] = comms::<1>();
    let (from, into) = (memory(0, &[7]), memory(0, &[0]));
    let mut info = NCCL_SIM_INFO_INITIALIZER;
    nccl!(ncclGroupStart());
    assert_eq!(nccl!(ncclAllGather(from, into, 1, I32, comm, stream(0))), 0);
    assert_eq!(nccl!(ncclGroupSimulateEnd(&raw mut info)), 0);
    assert_eq!(info.estimatedTime.to_bits(), 0);
    assert_eq!(read(0, into), [0]);
    assert_eq!(nccl!(ncclGroupSimulateEnd(&raw mut info)), 5);
    nccl!(ncclGroupStart());
    let mut wrong = ncclSimInfo_t { magic: 0, ..NCCL_SIM_INFO_INITIALIZER };
    assert_eq!(nccl!(ncclGroupSimulateEnd(&raw mut wrong)), 4);
    nccl!(ncclGroupStart());
    assert_eq!(nccl!(ncclGroupSimulateEnd(null_mut())), 0);
}

/// As NCCL 2.32.3 was seen to answer.
#[test]
fn parameters_have_their_keys_and_defaults() {
    let (mut table, mut len) = (null_mut(), 0);
    assert_eq!(nccl!(ncclParamGetAllParameterKeys(&raw mut table, &raw mut len)), 0);
    assert_eq!(len, 7);
    // SAFETY: a table of seven texts that stay, by the contract of the call.
    let keys: Vec<&CStr> = (0..7).map(|at| unsafe { CStr::from_ptr(*table.add(at)) }).collect();
    assert!(keys.contains(&c"NCCL_DEBUG_SUBSYS") && keys.contains(&c"NCCL_DEBUG"));
    let bind = |key: &CStr| {
        let mut handle: ncclParamHandle_t = null_mut();
        (nccl!(ncclParamBind(&raw mut handle, key.as_ptr())), handle)
    };
    assert_eq!(bind(c"NCCL_NONE").0, 4);
    let (code, handle) = bind(c"NCCL_DEBUG_SUBSYS");
    let (mut number, mut signed) = (0, 0);
    assert_eq!((code, nccl!(ncclParamGetU64(handle, &raw mut number)), number), (0, 0, 4225));
    assert_eq!(nccl!(ncclParamGetI64(handle, &raw mut signed)), 4);
    let mut bytes = [0_u8; 8];
    let place = bytes.as_mut_ptr().cast();
    assert_eq!(nccl!(ncclParamGet(handle, place, 4, &raw mut len)), 4);
    assert_eq!((nccl!(ncclParamGet(handle, place, 8, &raw mut len)), len), (0, 8));
    assert_eq!(u64::from_ne_bytes(bytes), 4225);
    let (mut text, mut size): (*const c_char, c_int) = (null(), -5);
    let key = c"NCCL_DEBUG_TIMESTAMP_LEVELS".as_ptr();
    assert_eq!(nccl!(ncclParamGetParameter(key, &raw mut text, &raw mut size)), 0);
    // SAFETY: a text that stays.
    assert_eq!((unsafe { CStr::from_ptr(text) }, size), (c"WARN,ATTN", 9));
    assert_eq!(nccl!(ncclParamGetParameter(null(), &raw mut text, &raw mut size)), 4);
    assert_eq!(nccl!(ncclParamGetU32(null_mut(), null_mut())), 4);
}

#[test]
fn a_key_for_encryption_has_to_be_long_enough() {
    let set = |mode, psk: *const c_char| {
        let config = ncclEncryptionConfig_t { mode, psk, ..NCCL_ENCRYPTION_CONFIG_INITIALIZER };
        (nccl!(ncclSetEncryption(&raw const config)), last_words(null_mut()))
    };
    assert_eq!(nccl!(ncclSetEncryption(null())), 0);
    assert_eq!(set(0, null()).0, 0);
    assert!(set(1, null()).1.ends_with("requires config->psk"));
    assert!(set(1, c"short".as_ptr()).1.ends_with("must be at least 32 bytes"));
    assert_eq!(set(1, c"0123456789abcdef0123456789abcdef".as_ptr()).0, 0);
    let (code, words) = set(2, null());
    assert_eq!(code, 4);
    assert!(words.ends_with("config->mode=2 is not a supported encryption mode"), "{words}");
}
