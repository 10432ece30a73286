//! Making communicators: ranks of one process that find each other by an id.

use std::collections::HashMap;
use std::ffi::c_int;
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use nccl_sys::{NCCL_API_MAGIC, ncclComm_t, ncclConfig_t, ncclResult_t, ncclUniqueId};
use rankwise_mock::{Comm, World};
use rankwise_model::GroupSize;

use crate::abi::{answer, put};
use crate::comm::{HostComm, issue};
use crate::error::{Answer, refuse};
use crate::lock::{lock, wait_until};
use crate::{cuda, group};

/// Ranks that wait for each other, by the bytes of their id.
static MEETINGS: Mutex<Option<HashMap<[u8; 128], Arc<Meeting>>>> = Mutex::new(None);
static IDS: AtomicU64 = AtomicU64::new(1);
static WORLDS: AtomicU64 = AtomicU64::new(1);

/// Where the ranks of one communicator meet.
struct Meeting {
    ranks: GroupSize,
    world: u64,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// The communicators that nobody has taken yet.
    waiting: Vec<Option<Comm>>,
    /// The devices of those who have come.
    devices: Vec<Option<i32>>,
}

impl Meeting {
    fn new(ranks: GroupSize) -> Self {
        let comms = World::new(ranks).many_drivers().communicators();
        let devices = comms.iter().map(|_| None).collect();
        let waiting = comms.into_iter().map(Some).collect();
        let world = WORLDS.fetch_add(1, Ordering::Relaxed);
        let state = Mutex::new(State { waiting, devices });
        Self { ranks, world, state, changed: Condvar::new() }
    }

    /// Takes the place of a rank.
    fn arrive(&self, rank: usize, device: i32) -> Answer<Comm> {
        let mut state = lock(&self.state);
        let Some(comm) = state.waiting.get_mut(rank).and_then(Option::take) else {
            let why = format!("rank {rank} has joined with this id already");
            return refuse(ncclResult_t::ncclInvalidUsage, why);
        };
        if let Some(place) = state.devices.get_mut(rank) {
            *place = Some(device);
        }
        drop(state);
        self.changed.notify_all();
        Ok(comm)
    }

    /// Waits for all the others.
    fn meet(&self) -> Answer {
        let all_here = |state: &mut State| state.devices.iter().all(Option::is_some);
        let state = wait_until(&self.changed, lock(&self.state), all_here);
        check_devices(state.devices.iter().flatten().copied())
    }
}

/// Two ranks on one device are refused unless the environment asks for it.
fn check_devices(devices: impl Iterator<Item = i32>) -> Answer {
    let mut devices: Vec<i32> = devices.collect();
    devices.sort_unstable();
    let all = devices.len();
    devices.dedup();
    let is_enabled =
        std::env::var("NCCL_MULTI_RANK_GPU_ENABLE").is_ok_and(|value| value.trim() == "1");
    if devices.len() == all || is_enabled {
        return Ok(());
    }
    let why = "Multiple Ranks are using the same GPU/Partition. Set \
               NCCL_MULTI_RANK_GPU_ENABLE=1 to enable this configuration.";
    refuse(ncclResult_t::ncclInvalidUsage, why)
}

/// The body of `ncclCommInitRank`.
///
/// # Safety
///
/// `place` is null or stays valid for writing until the thread's group has ended.
unsafe fn join(place: *mut ncclComm_t, ranks: c_int, id: &ncclUniqueId, rank: c_int) -> Answer {
    const WHAT: &str = "CommInitRank";
    let device = cuda::current_device()?;
    // SAFETY: by this function's contract.
    unsafe { put("CommInitRank : newcomm", place, std::ptr::null_mut()) }?;
    let size = u32::try_from(ranks).ok().and_then(GroupSize::new);
    let own = size.zip(u32::try_from(rank).ok()).filter(|(size, own)| *own < size.get());
    let Some((size, own)) = own else {
        let why = format!("Invalid rank requested : {rank}/{ranks}");
        return refuse(ncclResult_t::ncclInvalidArgument, why);
    };
    group::add(|group| {
        let key = id.internal.map(|byte| byte.to_ne_bytes()[0]);
        let mut meetings = lock(&MEETINGS);
        let meetings = meetings.get_or_insert_default();
        let meeting =
            Arc::clone(meetings.entry(key).or_insert_with(|| Arc::new(Meeting::new(size))));
        if meeting.ranks != size {
            let why = format!("{WHAT} : {size} ranks, others with this id say {}", meeting.ranks);
            return refuse(ncclResult_t::ncclInvalidUsage, why);
        }
        let mock = meeting.arrive(usize::try_from(own).unwrap_or(usize::MAX), device)?;
        group.jobs.push(Box::new(move || {
            meeting.meet()?;
            lock(&MEETINGS).get_or_insert_default().remove(&key);
            let made = issue(HostComm::new(mock, meeting.world, device));
            // SAFETY: by the contract of `join`.
            unsafe { put(WHAT, place, made) }
        }));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclGetVersion(version: *mut c_int) -> ncclResult_t {
    // SAFETY: the caller's pointer, by the contract of this call in `nccl.h`.
    answer(|| unsafe { put("GetVersion : version", version, 23_203) })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclGetUniqueId(id: *mut ncclUniqueId) -> ncclResult_t {
    answer(|| {
        // Like no other, and not one that real NCCL would take for an address.
        let number = IDS.fetch_add(1, Ordering::Relaxed);
        let mut bytes = [0; 128];
        let text = format!("rankwise stand-in {} {number}", std::process::id());
        for (to, from) in bytes.iter_mut().zip(text.bytes()) {
            *to = std::ffi::c_char::from_ne_bytes([from]);
        }
        // SAFETY: the caller's pointer, by the contract of this call in `nccl.h`.
        unsafe { put("GetUniqueId : out", id, ncclUniqueId { internal: bytes }) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommInitRank(
    comm: *mut ncclComm_t,
    ranks: c_int,
    id: ncclUniqueId,
    rank: c_int,
) -> ncclResult_t {
    // SAFETY: one contract.
    answer(|| unsafe { join(comm, ranks, &id, rank) })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommInitRankConfig(
    comm: *mut ncclComm_t,
    ranks: c_int,
    id: ncclUniqueId,
    rank: c_int,
    config: *mut ncclConfig_t,
) -> ncclResult_t {
    answer(|| {
        // SAFETY: one contract.
        unsafe { check_config(config) }?;
        // SAFETY: one contract.
        unsafe { join(comm, ranks, &id, rank) }
    })
}

/// Whether a configuration is one, and asks for nothing that is not offered.
///
/// # Safety
///
/// It is null or points to as many bytes as its first field says.
pub(crate) unsafe fn check_config(config: *const ncclConfig_t) -> Answer {
    let invalid = ncclResult_t::ncclInvalidArgument;
    if config.is_null() {
        return refuse(invalid, "config argument is NULL");
    }
    // SAFETY: the first three fields are in every version of the structure.
    let (size, magic) = unsafe { ((*config).size, (*config).magic) };
    if size < 12 || magic != NCCL_API_MAGIC {
        let why = "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER";
        return refuse(invalid, why);
    }
    // SAFETY: so long a structure has the field.
    if size >= 20 && unsafe { (*config).blocking } == 0 {
        let why = "this stand-in has no non-blocking communicators";
        return refuse(ncclResult_t::ncclInvalidUsage, why);
    }
    Ok(())
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommInitAll(
    comms: *mut ncclComm_t,
    count: c_int,
    devices: *const c_int,
) -> ncclResult_t {
    answer(|| {
        let invalid = ncclResult_t::ncclInvalidArgument;
        let there = cuda::devices()?;
        let size = u32::try_from(count).ok().and_then(GroupSize::new);
        let Some(size) = size.filter(|_| !comms.is_null()) else {
            return refuse(invalid, format_args!("Invalid device count requested : {count}"));
        };
        let len = usize::try_from(count).unwrap_or(0);
        let devices: Vec<i32> = if devices.is_null() {
            (0..count).collect()
        } else {
            // SAFETY: the caller's list, by the contract of this call in `nccl.h`.
            unsafe { slice::from_raw_parts(devices, len) }.to_vec()
        };
        if let Some(wild) = devices.iter().find(|device| !(0..there).contains(*device)) {
            return refuse(invalid, format_args!("Invalid device requested : {wild}"));
        }
        check_devices(devices.iter().copied())?;
        let world = WORLDS.fetch_add(1, Ordering::Relaxed);
        let mocks = World::new(size).many_drivers().communicators();
        for (at, (mock, device)) in mocks.into_iter().zip(devices).enumerate() {
            let made = issue(HostComm::new(mock, world, device));
            // SAFETY: the caller's list, as long as `count` says.
            unsafe { comms.add(at).write(made) };
        }
        Ok(())
    })
}
