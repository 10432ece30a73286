//! Making communicators: ranks of one process that find each other by an id.

use std::ffi::c_int;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nccl_sys::{ncclComm_t, ncclConfig_t, ncclResult_t, ncclUniqueId};
use rankwise_mock::Comm;
use rankwise_model::GroupSize;

use crate::abi::{Place, answer, put};
use crate::comm::{HostComm, issue};
use crate::config::{self, Settings};
use crate::error::{Answer, refuse};
use crate::family::{Family, Lost, Mocks, Patience, Seat};
use crate::group::{Job, Ran};
use crate::{cuda, group, report};

static IDS: AtomicU64 = AtomicU64::new(1);

/// The release that is stood for, unless the environment names another.
const VERSION: c_int = 23_203;
/// Names an older release: `ncclGetVersion` answers with its code.
const VERSION_VARIABLE: &str = "RANKWISE_HOST_NCCL_VERSION";

/// Two ranks on one device are refused unless the environment asks for it.
fn check_devices(mut devices: Vec<i32>) -> Ran {
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
    Err((ncclResult_t::ncclInvalidUsage, why.to_owned()))
}

/// Whoever is lost, in a code and words.
pub(crate) fn lost(what: &str, lost: &Lost) -> (ncclResult_t, String) {
    (ncclResult_t::ncclRemoteError, format!("{what}: {lost}"))
}

/// What a new rank of a new family is told.
pub(crate) struct Newcomer {
    /// The name by which the ranks find each other.
    pub(crate) name: String,
    pub(crate) size: GroupSize,
    pub(crate) rank: u32,
    pub(crate) device: i32,
    pub(crate) settings: Settings,
}

impl Newcomer {
    /// Joins the family and gives the rank's communicator, which is not there for calls
    /// before [`meet`] has seen all the others.
    pub(crate) fn join(self) -> Result<Arc<HostComm>, (ncclResult_t, String)> {
        let rank = usize::try_from(self.rank).unwrap_or(usize::MAX);
        let (family, mock) = Family::join(&self.name, self.size, rank, Mocks::Made)?;
        let Some(mock) = mock else {
            return Err((ncclResult_t::ncclInternalError, "a place that was taken".to_owned()));
        };
        let seat = Seat { device: self.device, ..Seat::default() };
        family.sit("devices", rank, seat);
        Ok(of_a_new_world(mock, family, self.device, self.settings))
    }
}

/// A communicator of a family with mocks of its own: a world for itself.
fn of_a_new_world(
    mock: Comm,
    family: Arc<Family>,
    device: i32,
    settings: Settings,
) -> Arc<HostComm> {
    let world = family.number;
    Arc::new(HostComm::new(mock, family, world, device, settings))
}

/// Looks or waits for all the others of a family that is being made.
pub(crate) fn meet(what: &str, comm: &HostComm, patience: Patience) -> Option<Ran> {
    let all: Vec<usize> = (0..comm.size()).collect();
    let met = comm.family.meet("devices", comm.rank(), &all, patience)?;
    Some(match met {
        Ok(seats) => check_devices(seats.into_iter().map(|seat| seat.device).collect()),
        Err(gone) => Err(lost(what, &gone)),
    })
}

/// The job that hands a new communicator out: at once if it does not block, else when all
/// have come.
pub(crate) fn hand_out(what: &'static str, comm: Arc<HostComm>, place: Place<ncclComm_t>) -> Job {
    let not_blocking = (!comm.settings.is_blocking).then(|| Arc::clone(&comm));
    if not_blocking.is_some() {
        place.put(issue(Arc::clone(&comm)));
    }
    let run = move |patience| {
        let met = meet(what, &comm, patience)?;
        if comm.settings.is_blocking {
            match &met {
                Ok(()) => place.put(issue(Arc::clone(&comm))),
                Err(_) => comm.leave("its communicator could not be made"),
            }
        }
        Some(met)
    };
    Job { not_blocking, run: Box::new(run) }
}

/// The body of `ncclCommInitRank` and its kin.
fn join(
    place: Place<ncclComm_t>,
    (ranks, rank): (c_int, c_int),
    name: String,
    settings: Settings,
) -> Answer {
    const WHAT: &str = "CommInitRank";
    let device = cuda::current_device()?;
    let (size, own) = check_rank(ranks, rank)?;
    group::add(|group| {
        let newcomer = Newcomer { name, size, rank: own, device, settings };
        let made = newcomer.join().or_else(|(code, why)| refuse(code, why))?;
        group.jobs.push(hand_out(WHAT, made, place));
        Ok(())
    })
}

/// A rank of so many.
fn check_rank(ranks: c_int, rank: c_int) -> Answer<(GroupSize, u32)> {
    let size = u32::try_from(ranks).ok().and_then(GroupSize::new);
    let own = size.zip(u32::try_from(rank).ok()).filter(|(size, own)| *own < size.get());
    let wrong = || {
        let why = format!("Invalid rank requested : {rank}/{ranks}");
        refuse(ncclResult_t::ncclInvalidArgument, why)
    };
    own.map_or_else(wrong, Ok)
}

/// What the bytes of an id stand for: the name of a family.
pub(crate) fn name_of(id: &ncclUniqueId) -> String {
    let bytes = id.internal.iter().map(|byte| char::from(byte.to_ne_bytes()[0]));
    bytes.collect::<String>().trim_end_matches('\0').to_owned()
}

/// An id that stands for this name.
pub(crate) fn id_of(name: &str) -> ncclUniqueId {
    let mut internal = [0; 128];
    for (to, from) in internal.iter_mut().zip(name.bytes()) {
        *to = std::ffi::c_char::from_ne_bytes([from]);
    }
    ncclUniqueId { internal }
}

/// Like no other, and not one that real NCCL would take for an address.
fn fresh_name() -> String {
    let number = IDS.fetch_add(1, Ordering::Relaxed);
    format!("rankwise stand-in {} {number}", std::process::id())
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclGetVersion(version: *mut c_int) -> ncclResult_t {
    answer("ncclGetVersion", || {
        let code = match std::env::var(VERSION_VARIABLE) {
            Err(_) => VERSION,
            Ok(text) => match text.trim().parse() {
                Ok(code @ 2_000..=VERSION) => code,
                _ => {
                    let why = format!("{VERSION_VARIABLE} is no code from 2000 to {VERSION}");
                    report::say(&why);
                    return refuse(ncclResult_t::ncclInvalidArgument, why);
                }
            },
        };
        // SAFETY: the caller's pointer, by the contract of this call in `nccl.h`.
        unsafe { put("GetVersion : version", version, code) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclGetUniqueId(id: *mut ncclUniqueId) -> ncclResult_t {
    answer("ncclGetUniqueId", || {
        // SAFETY: the caller's pointer, by the contract of this call in `nccl.h`.
        unsafe { put("GetUniqueId : out", id, id_of(&fresh_name())) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommInitRank(
    comm: *mut ncclComm_t,
    ranks: c_int,
    id: ncclUniqueId,
    rank: c_int,
) -> ncclResult_t {
    answer("ncclCommInitRank", || {
        cuda::current_device()?;
        // SAFETY: the caller's pointer, by the contract of this call in `nccl.h`: it is
        // valid until the thread's group has ended.
        let place = unsafe { Place::new("CommInitRank : newcomm", comm, std::ptr::null_mut()) }?;
        join(place, (ranks, rank), name_of(&id), Settings::default())
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommInitRankConfig(
    comm: *mut ncclComm_t,
    ranks: c_int,
    id: ncclUniqueId,
    rank: c_int,
    config: *mut ncclConfig_t,
) -> ncclResult_t {
    answer("ncclCommInitRankConfig", || {
        cuda::current_device()?;
        // SAFETY: the caller's structure, by the contract of this call in `nccl.h`.
        let settings = unsafe { config::read(config) }?;
        // SAFETY: the caller's pointer, by the same contract: it is valid until the
        // thread's group has ended, or the communicator is no longer in progress.
        let place = unsafe { Place::new("CommInitRank : newcomm", comm, std::ptr::null_mut()) }?;
        join(place, (ranks, rank), name_of(&id), settings)
    })
}

/// Several ids are as good as the first: they are about how far away ranks find each
/// other, and here they are all in one process.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommInitRankScalable(
    comm: *mut ncclComm_t,
    ranks: c_int,
    rank: c_int,
    count: c_int,
    ids: *mut ncclUniqueId,
    config: *mut ncclConfig_t,
) -> ncclResult_t {
    answer("ncclCommInitRankScalable", || {
        const WHAT: &str = "CommInitRankScalable";
        cuda::current_device()?;
        // SAFETY: the caller's structure, by the contract of this call in `nccl.h`.
        let settings = unsafe { config::read(config) }?;
        // SAFETY: the caller's pointer, as for `ncclCommInitRankConfig`.
        let place = unsafe { Place::new("CommInitRank : newcomm", comm, std::ptr::null_mut()) }?;
        check_rank(ranks, rank)?;
        let invalid = ncclResult_t::ncclInvalidArgument;
        if ids.is_null() {
            return refuse(invalid, format_args!("{WHAT} : commIds argument is NULL"));
        }
        let len = usize::try_from(count).ok().filter(|len| *len > 0 && count <= ranks);
        let Some(len) = len else {
            let why = format!("{WHAT} : nId ({count}) must be in [1, {ranks}]");
            return refuse(invalid, why);
        };
        // SAFETY: the caller's list, as long as `count` says, by that contract.
        let ids = unsafe { slice::from_raw_parts(ids, len) };
        let name = ids.iter().map(name_of).collect();
        join(place, (ranks, rank), name, settings)
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommInitAll(
    comms: *mut ncclComm_t,
    count: c_int,
    devices: *const c_int,
) -> ncclResult_t {
    answer("ncclCommInitAll", || {
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
        check_devices(devices.clone()).or_else(|(code, why)| refuse(code, why))?;
        let (family, mocks) = Family::whole(size);
        for (at, (mock, device)) in mocks.into_iter().zip(devices).enumerate() {
            let settings = Settings::default();
            let made = issue(of_a_new_world(mock, Arc::clone(&family), device, settings));
            // SAFETY: the caller's list, as long as `count` says.
            unsafe { comms.add(at).write(made) };
        }
        Ok(())
    })
}
