//! Faults on request, and standing for an older release. They are the process's, so the
//! tests take turns or start processes of their own.

// Every call here is one into C.
#![allow(unsafe_code)]

#[path = "../abi/machine.rs"]
#[allow(dead_code)] // the other tests use all of it
mod machine;

use std::ffi::{CString, c_char, c_int};
use std::process::Command;
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

use machine::{comms, last_words, library, memory, nccl, read, stream, synchronize, words};
use nccl_sys::{LoadError, ncclComm_t, ncclDataType_t, ncclRedOp_t, ncclResult_t, ncclUniqueId};

const I32: ncclDataType_t = ncclDataType_t::ncclInt32;
const SUM: ncclRedOp_t = ncclRedOp_t::ncclSum;

/// Asks for faults until it is dropped; others wait meanwhile.
struct Faults(#[allow(dead_code)] MutexGuard<'static, ()>); // it is held, not read

impl Faults {
    fn ask(text: &str) -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(Self::put(text), 0);
        Self(turn)
    }

    fn put(text: &str) -> c_int {
        let text = CString::new(text).unwrap();
        // SAFETY: the stand-in, which is loaded already, and the type that it declares.
        unsafe {
            let library = libloading::Library::new(library().name()).unwrap();
            let put = library
                .get::<unsafe extern "C" fn(*const c_char) -> c_int>(b"rankwise_stand_in_faults\0");
            put.unwrap()(text.as_ptr())
        }
    }
}

impl Drop for Faults {
    fn drop(&mut self) {
        Self::put("");
    }
}

fn async_error(comm: ncclComm_t) -> u32 {
    let mut code = ncclResult_t(99);
    assert_eq!(nccl!(ncclCommGetAsyncError(comm, &raw mut code)), 0);
    code.0
}

#[test]
fn the_call_that_is_to_fail_fails_and_does_nothing() {
    let [comm] = comms::<1>();
    let (from, into) = (memory(0, &[7]), memory(0, &[0]));
    let call = || nccl!(ncclAllGather(from, into, 1, I32, comm, stream(0)));
    let faults = Faults::ask("fail ncclAllGather 1 99; fail ncclGetUniqueId every 2");
    assert_eq!(call(), 99);
    assert_eq!(last_words(null_mut()), "ncclAllGather answers 99: a fault that was asked for");
    assert_eq!(words(99), "unknown result code");
    assert_eq!(read(0, into), [0]);
    assert_eq!(call(), 0);
    assert_eq!(read(0, into), [7]);
    let mut id = ncclUniqueId { internal: [0; 128] };
    assert_eq!(nccl!(ncclGetUniqueId(&raw mut id)), 2);
    assert_eq!(nccl!(ncclGetUniqueId(&raw mut id)), 2);
    drop(faults);
    assert_eq!(nccl!(ncclGetUniqueId(&raw mut id)), 0);
}

#[test]
fn a_code_can_come_afterwards() {
    let _faults = Faults::ask("async ncclBcast 1 99");
    let [comm] = comms::<1>();
    let at = memory(0, &[7]);
    assert_eq!(nccl!(ncclBcast(at, 1, I32, 0, comm, stream(0))), 0);
    assert_eq!(async_error(comm), 99);
    assert_eq!(nccl!(ncclBcast(at, 1, I32, 0, comm, stream(0))), 99, "it stays");
    assert_eq!(nccl!(ncclCommAbort(comm)), 0);
}

#[test]
fn peers_of_a_rank_that_dies_learn_of_it() {
    let _faults = Faults::ask("dead 1 2");
    let comms = comms::<2>();
    let memories = [memory(0, &[1]), memory(1, &[2])];
    let call = |rank: usize| {
        let at = memories[rank];
        nccl!(ncclAllReduce(at, at, 1, I32, SUM, comms[rank], stream(rank)))
    };
    assert_eq!([call(0), call(1)], [0, 0]);
    synchronize(0);
    assert_eq!([call(0), call(1)], [0, 2]);
    synchronize(0);
    assert_eq!(comms.map(async_error), [6, 2]);
    assert!(last_words(comms[0]).contains("rank 1"), "{}", last_words(comms[0]));
}

#[test]
fn a_communicator_can_be_in_progress_for_longer() {
    let _faults = Faults::ask("in-progress 3");
    let mut config = nccl_sys::NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    let mut id = ncclUniqueId { internal: [0; 128] };
    assert_eq!(nccl!(ncclGetUniqueId(&raw mut id)), 0);
    let mut comm = null_mut();
    machine::on(0);
    let code = nccl!(ncclCommInitRankConfig(&raw mut comm, 1, id, 0, &raw mut config));
    let polls = [(); 6].map(|()| async_error(comm));
    assert_eq!((code, polls), (7, [7, 7, 7, 7, 0, 0]));
}

#[test]
fn nonsense_changes_nothing() {
    let _faults = Faults::ask("fail ncclGetUniqueId 1 3");
    assert_eq!(Faults::put("fail ncclGetUniqeId 1 4"), 1);
    let mut id = ncclUniqueId { internal: [0; 128] };
    assert_eq!(nccl!(ncclGetUniqueId(&raw mut id)), 3);
}

/// Set in the processes that a test starts: it does its second part there.
const CHILD: &str = "RANKWISE_HOST_TEST_CHILD";

/// Runs a test again, in a process of its own with this variable; what it printed.
fn again(test: &str, variable: &str, value: &str) -> String {
    let ended = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .envs([(variable, value), (CHILD, "1")])
        .output()
        .unwrap();
    let said = [ended.stdout, ended.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    let said = said.concat();
    assert!(ended.status.success() && said.contains("1 passed"), "{said}");
    said
}

#[test]
fn a_variable_that_is_nonsense_is_said_once_and_nothing_works() {
    if std::env::var_os(CHILD).is_none() {
        let test = "a_variable_that_is_nonsense_is_said_once_and_nothing_works";
        let said = again(test, "RANKWISE_HOST_FAULTS", "fail ncclSned 1 2");
        let words = "host-libnccl: RANKWISE_HOST_FAULTS: fault `fail ncclSned 1 2`";
        assert_eq!(said.matches(words).count(), 1, "{said}");
        return;
    }
    let mut id = ncclUniqueId { internal: [0; 128] };
    assert_eq!(nccl!(ncclGetUniqueId(&raw mut id)), 4);
    assert_eq!(nccl!(ncclGroupStart()), 4);
    assert!(last_words(null_mut()).contains("found `ncclSned`"), "{}", last_words(null_mut()));
}

#[test]
fn an_older_release_can_be_stood_for() {
    if std::env::var_os(CHILD).is_none() {
        again("an_older_release_can_be_stood_for", "RANKWISE_HOST_NCCL_VERSION", "21805");
        return;
    }
    let mut version = 0;
    assert_eq!(nccl!(ncclGetVersion(&raw mut version)), 0);
    assert_eq!(version, 21_805);
    nccl_sys::function!(library(), ncclCommSplit).unwrap();
    let missing = nccl_sys::function!(library(), ncclCommShrink).map(drop).unwrap_err();
    let LoadError::Missing { symbol, since, .. } = &missing else { panic!("{missing}") };
    assert_eq!((*symbol, *since), ("ncclCommShrink", Some(22_700)));
    assert!(missing.to_string().contains("which NCCL 2.27 brought"), "{missing}");
    // A shorter structure is read for as long as it is.
    let mut config = nccl_sys::config_for(21_805).unwrap();
    let mut id = ncclUniqueId { internal: [0; 128] };
    assert_eq!(nccl!(ncclGetUniqueId(&raw mut id)), 0);
    let mut comm = null_mut();
    machine::on(0);
    assert_eq!(nccl!(ncclCommInitRankConfig(&raw mut comm, 1, id, 0, &raw mut config)), 0);
}
