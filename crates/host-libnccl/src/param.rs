//! Parameters, as `ncclParam*` shows them: those of NCCL 2.32.3, with the values that they
//! have when the environment says nothing.
//!
//! A stand-in prints no log, so nothing can be read from them that it does.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use nccl_sys::{ncclEncryptionConfig_t, ncclParamHandle_t, ncclResult_t};

use crate::abi::{answer, put};
use crate::error::{Answer, refuse};
use crate::report;

/// What a parameter is, beside its text.
#[derive(Clone, Copy)]
enum Value {
    /// Its text.
    Text,
    U32(u32),
    U64(u64),
    /// Something that only `ncclParamGet` hands out.
    Bytes(&'static [u8]),
}

struct Param {
    key: &'static CStr,
    text: &'static CStr,
    value: Value,
}

const PARAMS: [Param; 7] = [
    Param { key: c"NCCL_DEBUG_FILE", text: c"", value: Value::Text },
    Param { key: c"NCCL_DEBUG_TIMESTAMP_FORMAT", text: c"[%F %T] ", value: Value::Text },
    Param { key: c"NCCL_DEBUG_TIMESTAMP_LEVELS", text: c"WARN,ATTN", value: Value::U32(68) },
    Param { key: c"NCCL_SET_THREAD_NAME", text: c"FALSE", value: Value::Bytes(&[0]) },
    Param { key: c"NCCL_DEBUG_SUBSYS", text: c"INIT,ENV,BOOTSTRAP", value: Value::U64(4225) },
    Param { key: c"NCCL_DEBUG_LEVELS", text: c"NONE", value: Value::U32(0) },
    Param { key: c"NCCL_DEBUG", text: c"<unknown>", value: Value::Bytes(&[0; 4]) },
];

/// The keys, as one table that stays.
struct Keys([*const c_char; PARAMS.len()]);

// SAFETY: pointers to constants, which nobody writes.
unsafe impl Sync for Keys {}

static KEYS: Keys = {
    let mut keys = [ptr::null(); PARAMS.len()];
    let mut at = 0;
    while at < keys.len() {
        keys[at] = PARAMS[at].key.as_ptr();
        at += 1;
    }
    Keys(keys)
};

/// The code of whatever is wrong with a parameter; NCCL says no more.
const INVALID: ncclResult_t = ncclResult_t::ncclInvalidArgument;

/// Handles count from one, in steps that no address has.
fn handle_of(at: usize) -> ncclParamHandle_t {
    ptr::without_provenance_mut(at + 1)
}

fn called(handle: ncclParamHandle_t) -> Answer<&'static Param> {
    const TABLE: &[Param] = &PARAMS;
    handle.addr().checked_sub(1).and_then(|at| TABLE.get(at)).ok_or(INVALID)
}

/// # Safety
///
/// `key` is null or a C string.
unsafe fn position(key: *const c_char) -> Answer<usize> {
    if key.is_null() {
        return Err(INVALID);
    }
    // SAFETY: not null, and then by this function's contract.
    let key = unsafe { CStr::from_ptr(key) };
    PARAMS.iter().position(|param| param.key == key).ok_or(INVALID)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclParamBind(
    out: *mut ncclParamHandle_t,
    key: *const c_char,
) -> ncclResult_t {
    answer("ncclParamBind", || {
        // SAFETY: the caller's key, by the contract of this call in `nccl.h`.
        let at = unsafe { position(key) }?;
        // SAFETY: the caller's pointer, by the same contract.
        unsafe { put("ncclParamBind : out", out, handle_of(at)) }
    })
}

/// Exports a number's way out of a parameter.
macro_rules! numbers {
    ($($name:ident: $type:ty, $found:pat => $number:expr;)*) => { $(
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name(
            handle: ncclParamHandle_t,
            out: *mut $type,
        ) -> ncclResult_t {
            answer(stringify!($name), || {
                let number: Option<$type> = match called(handle)?.value {
                    $found => $number,
                    #[allow(unreachable_patterns)]
                    _ => None,
                };
                // SAFETY: the caller's pointer, by the contract of this call in `nccl.h`.
                unsafe { put("ncclParamGet : out", out, number.ok_or(INVALID)?) }
            })
        }
    )* };
}

numbers! {
    ncclParamGetI8: i8, _ => None;
    ncclParamGetI16: i16, _ => None;
    ncclParamGetI32: i32, _ => None;
    ncclParamGetI64: i64, _ => None;
    ncclParamGetU8: u8, _ => None;
    ncclParamGetU16: u16, _ => None;
    ncclParamGetU32: u32, Value::U32(number) => Some(number);
    ncclParamGetU64: u64, Value::U64(number) => Some(number);
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclParamGetStr(
    handle: ncclParamHandle_t,
    out: *mut *const c_char,
) -> ncclResult_t {
    answer("ncclParamGetStr", || {
        let param = called(handle)?;
        let Value::Text = param.value else { return Err(INVALID) };
        // SAFETY: the caller's pointer, by the contract of this call in `nccl.h`.
        unsafe { put("ncclParamGetStr : out", out, param.text.as_ptr()) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclParamGet(
    handle: ncclParamHandle_t,
    out: *mut c_void,
    capacity: c_int,
    len: *mut c_int,
) -> ncclResult_t {
    answer("ncclParamGet", || {
        let param = called(handle)?;
        let (word, long);
        let bytes: &[u8] = match param.value {
            Value::Text => param.text.to_bytes_with_nul(),
            Value::U32(number) => {
                word = number.to_ne_bytes();
                &word
            }
            Value::U64(number) => {
                long = number.to_ne_bytes();
                &long
            }
            Value::Bytes(bytes) => bytes,
        };
        let fits = usize::try_from(capacity).is_ok_and(|capacity| capacity >= bytes.len());
        let needed = c_int::try_from(bytes.len()).unwrap_or(c_int::MAX);
        // SAFETY: the caller's pointer, by the contract of this call in `nccl.h`.
        unsafe { put("ncclParamGet : len", len, if fits { needed } else { 0 }) }?;
        if !fits || out.is_null() {
            return Err(INVALID);
        }
        // SAFETY: the caller has `capacity` bytes there, by that contract, and they are
        // enough.
        unsafe { out.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclParamGetParameter(
    key: *const c_char,
    value: *mut *const c_char,
    len: *mut c_int,
) -> ncclResult_t {
    answer("ncclParamGetParameter", || {
        // SAFETY: the caller's key, by the contract of this call in `nccl.h`.
        let text = unsafe { position(key) }.map(|at| PARAMS[at].text);
        let (start, bytes) = match text {
            Ok(text) => (text.as_ptr(), text.count_bytes()),
            Err(_) => (ptr::null(), 0),
        };
        if !key.is_null() {
            let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
            // SAFETY: the caller's pointers, by the same contract.
            unsafe {
                put("ncclParamGetParameter : value", value, start)?;
                put("ncclParamGetParameter : valueLen", len, bytes)?;
            }
        }
        text.map(drop)
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclParamGetAllParameterKeys(
    table: *mut *mut *const c_char,
    len: *mut c_int,
) -> ncclResult_t {
    answer("ncclParamGetAllParameterKeys", || {
        let all = c_int::try_from(PARAMS.len()).unwrap_or(c_int::MAX);
        // SAFETY: the caller's pointers, by the contract of this call in `nccl.h`; whoever
        // writes into the table breaks it.
        unsafe {
            put("ncclParamGetAllParameterKeys : table", table, KEYS.0.as_ptr().cast_mut())?;
            put("ncclParamGetAllParameterKeys : tableLen", len, all)
        }
    })
}

/// Says them all on the standard error.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclParamDumpAll() {
    for param in &PARAMS {
        let (key, text) = (param.key.to_string_lossy(), param.text.to_string_lossy());
        report::say(format_args!("{key}={text}"));
    }
}

/// There is no log, whose settings could be read again.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclResetDebugInit() {}

/// Checks what is asked for. There are no sockets here, so nothing is encrypted.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclSetEncryption(
    config: *const ncclEncryptionConfig_t,
) -> ncclResult_t {
    const LEAST: usize = 32;
    answer("ncclSetEncryption", || {
        if config.is_null() {
            return Ok(());
        }
        // SAFETY: not null, and then the caller's structure, by the contract of this call.
        let config = unsafe { &*config };
        if config.magic != nccl_sys::NCCL_API_MAGIC {
            let why = "ncclSetEncryption: config not initialized via \
                       NCCL_ENCRYPTION_CONFIG_INITIALIZER";
            return refuse(INVALID, why);
        }
        match config.mode {
            1 if config.psk.is_null() => {
                refuse(INVALID, "ncclSetEncryption: NCCL_ENCRYPTION_MODE_PSK requires config->psk")
            }
            // SAFETY: not null, and then a C string by the contract of this call.
            1 if unsafe { CStr::from_ptr(config.psk) }.count_bytes() < LEAST => {
                let why = "ncclSetEncryption: config->psk must be at least 32 bytes";
                refuse(INVALID, why)
            }
            0 | 1 => Ok(()),
            mode => {
                let why = format!(
                    "ncclSetEncryption: config->mode={mode} is not a supported encryption mode"
                );
                refuse(INVALID, why)
            }
        }
    })
}
