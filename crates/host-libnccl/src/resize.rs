//! Communicators with fewer ranks, or with more.

use std::collections::BTreeSet;
use std::ffi::c_int;
use std::ptr;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nccl_sys::{
    NCCL_SHRINK_ABORT, NCCL_SHRINK_DEFAULT, ncclComm_t, ncclConfig_t, ncclResult_t, ncclUniqueId,
};
use rankwise_comm::Communicator;
use rankwise_model::GroupSize;

use crate::abi::{Place, answer, answer_of, put};
use crate::comm::{HostComm, called, issue, ready};
use crate::config::{self, Settings};
use crate::cuda;
use crate::error::{Answer, refuse};
use crate::family::{Patience, Seat};
use crate::group::{self, Job, Ran};
use crate::init::{Newcomer, hand_out, id_of, lost, meet, name_of};
use crate::split::{inherit, parent};

const SHRINK: &str = "CommShrink";
const GROW: &str = "CommGrow";

/// One surviving rank's part of a shrink.
struct Shrinking {
    comm: Arc<HostComm>,
    turn: u32,
    /// Who stays, in their order, and who does not.
    survivors: Vec<usize>,
    excluded: Vec<usize>,
    settings: Settings,
    /// The rank's new communicator, once the survivors agree.
    made: Option<Arc<HostComm>>,
}

impl Shrinking {
    fn run(&mut self, place: &Place<ncclComm_t>, patience: Patience) -> Option<Ran> {
        let Some(made) = &self.made else {
            return match self.agree(patience)? {
                Ok(made) => {
                    self.made = Some(made);
                    None
                }
                Err(why) => Some(Err(why)),
            };
        };
        let met = meet(SHRINK, made, patience)?;
        if met.is_ok() {
            place.put(issue(Arc::clone(made)));
        }
        Some(met)
    }

    /// Whether all the survivors exclude the same ranks; then they join.
    fn agree(&self, patience: Patience) -> Option<Result<Arc<HostComm>, (ncclResult_t, String)>> {
        let (comm, own, survivors) = (&self.comm, self.comm.rank(), &self.survivors);
        let table = format!("shrink {}", self.turn);
        let seats = match comm.family.meet(&table, own, survivors, patience)? {
            Ok(seats) => seats,
            Err(gone) => return Some(Err(lost(SHRINK, &gone))),
        };
        let usage = ncclResult_t::ncclInvalidUsage;
        for (seat, rank) in seats.iter().zip(survivors) {
            if seat.list != self.excluded {
                let (own_list, list) = (&self.excluded, &seat.list);
                let why = format!(
                    "{SHRINK}: rank {own} excludes {own_list:?}, rank {rank} excludes {list:?}"
                );
                return Some(Err((usage, why)));
            }
        }
        let size = u32::try_from(survivors.len()).ok().and_then(GroupSize::new);
        let rank = survivors.iter().position(|rank| *rank == own);
        let newcomer = Newcomer {
            name: format!("{} shrink {}", comm.family.number, self.turn),
            size: size.unwrap_or(GroupSize::ONE),
            rank: rank.and_then(|rank| u32::try_from(rank).ok()).unwrap_or_default(),
            device: comm.device,
            settings: self.settings,
        };
        Some(newcomer.join())
    }
}

/// The communicator that is to shrink. Aborting what is in flight is also for one that has
/// failed because of a peer: here, other than with NCCL, a dead peer has been noticed.
fn shrinkable(raw: ncclComm_t, aborts: bool) -> Answer<Arc<HostComm>> {
    if !aborts {
        return parent(SHRINK, raw);
    }
    let comm = called(SHRINK, raw)?;
    let remote = ncclResult_t::ncclRemoteError;
    if comm.failure().is_some_and(|(code, _)| code != remote) {
        return parent(SHRINK, raw);
    }
    comm.is_revoked.store(true, Ordering::Release);
    comm.forget_failure();
    comm.family.revoke(comm.rank());
    comm.mock.abort_handle().abort("ncclCommShrink");
    Ok(comm)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommShrink(
    raw: ncclComm_t,
    list: *mut c_int,
    count: c_int,
    place: *mut ncclComm_t,
    config: *mut ncclConfig_t,
    flags: c_int,
) -> ncclResult_t {
    answer_of("ncclCommShrink", raw, || {
        group::add(|group| {
            let invalid = ncclResult_t::ncclInvalidArgument;
            let flags = flags.cast_unsigned();
            if !matches!(flags, NCCL_SHRINK_DEFAULT | NCCL_SHRINK_ABORT) {
                return refuse(invalid, format_args!("{SHRINK}: flags {flags} are none"));
            }
            let asked = called(SHRINK, raw)?;
            let len = usize::try_from(count).ok().filter(|len| *len > 0 && !list.is_null());
            let Some(len) = len else {
                return refuse(invalid, format_args!("{SHRINK}: no rank to exclude"));
            };
            // SAFETY: the caller's list, as long as `count` says, by the contract of this
            // call in `nccl.h`.
            let list = unsafe { slice::from_raw_parts(list, len) };
            let excluded: BTreeSet<usize> =
                list.iter().filter_map(|rank| usize::try_from(*rank).ok()).collect();
            let is_wild = excluded.iter().any(|rank| *rank >= asked.size());
            if is_wild || excluded.len() != len {
                let why = format!("{SHRINK}: {list:?} are not ranks of {}", asked.size());
                return refuse(invalid, why);
            }
            if excluded.contains(&asked.rank()) {
                return refuse(invalid, format_args!("{SHRINK}: a rank cannot exclude itself"));
            }
            // SAFETY: the caller's pointer, as for `ncclCommSplit`.
            let place = unsafe { Place::new("CommShrink : newcomm", place, ptr::null_mut()) }?;
            // SAFETY: the caller's structure, by the same contract.
            let settings = unsafe { inherit(config, &asked) }?;
            let comm = shrinkable(raw, flags == NCCL_SHRINK_ABORT)?;
            let turn = comm.turns.shrinks.fetch_add(1, Ordering::Relaxed);
            let survivors = (0..comm.size()).filter(|rank| !excluded.contains(rank)).collect();
            let excluded: Vec<usize> = excluded.into_iter().collect();
            let seat = Seat { list: excluded.clone(), ..Seat::default() };
            comm.family.sit(&format!("shrink {turn}"), comm.rank(), seat);
            let not_blocking = (!comm.settings.is_blocking).then(|| Arc::clone(&comm));
            let mut shrinking = Shrinking { comm, turn, survivors, excluded, settings, made: None };
            let run = Box::new(move |patience| shrinking.run(&place, patience));
            group.jobs.push(Job { not_blocking, run });
            Ok(())
        })
    })
}

/// What the ranks of a growing communicator find each other by: the new ones by its id.
fn grown(comm: &HostComm) -> String {
    format!(
        "rankwise stand-in {} grow {} of {}",
        std::process::id(),
        turn(comm),
        comm.family.number
    )
}

fn turn(comm: &HostComm) -> u32 {
    comm.turns.grows.load(Ordering::Relaxed)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommGetUniqueId(
    raw: ncclComm_t,
    id: *mut ncclUniqueId,
) -> ncclResult_t {
    answer_of("ncclCommGetUniqueId", raw, || {
        let comm = ready("ncclCommGetUniqueId", raw)?;
        // SAFETY: the caller's pointer, by the contract of this call in `nccl.h`.
        unsafe { put("ncclCommGetUniqueId : uniqueId", id, id_of(&grown(&comm))) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommGrow(
    raw: ncclComm_t,
    ranks: c_int,
    id: *const ncclUniqueId,
    rank: c_int,
    place: *mut ncclComm_t,
    config: *mut ncclConfig_t,
) -> ncclResult_t {
    answer("ncclCommGrow", || {
        let invalid = ncclResult_t::ncclInvalidArgument;
        let size = u32::try_from(ranks).ok().and_then(GroupSize::new);
        let Some(size) = size else {
            return refuse(invalid, format_args!("ncclCommGrow: invalid nRanks {ranks}"));
        };
        if raw.is_null() && id.is_null() {
            return refuse(invalid, "ncclCommGrow: new ranks must pass non-NULL uniqueId");
        }
        // SAFETY: the caller's pointer, as for `ncclCommSplit`.
        let place = unsafe { Place::new("ncclCommGrow : newcomm", place, ptr::null_mut()) }?;
        group::add(|group| {
            if raw.is_null() {
                let own = u32::try_from(rank).ok().filter(|own| *own < size.get());
                let Some(own) = own else {
                    let why = format!("ncclCommGrow: new rank {rank} of {ranks} is none");
                    return refuse(invalid, why);
                };
                // SAFETY: not null, and then the caller's id, by the contract of this call.
                let name = name_of(unsafe { &*id });
                // SAFETY: the caller's structure, by the same contract.
                let settings = unsafe { config::read(config) }?;
                let device = cuda::current_device()?;
                let newcomer = Newcomer { name, size, rank: own, device, settings };
                let made = newcomer.join().or_else(|(code, why)| refuse(code, why))?;
                group.jobs.push(hand_out(GROW, made, place));
                return Ok(());
            }
            let comm = ready("ncclCommGrow", raw)?;
            if rank != -1 || size.get() <= comm.mock.ranks().get() {
                let why = format!(
                    "ncclCommGrow: a rank of {} passes -1 and more ranks, not {rank} and {ranks}",
                    comm.mock.ranks().get()
                );
                return refuse(invalid, why);
            }
            // SAFETY: the caller's structure, by the same contract.
            let settings = unsafe { inherit(config, &comm) }?;
            let name = grown(&comm);
            comm.turns.grows.fetch_add(1, Ordering::Relaxed);
            let own = u32::try_from(comm.rank()).unwrap_or(u32::MAX);
            let device = comm.device;
            let newcomer = Newcomer { name, size, rank: own, device, settings };
            let made = newcomer.join().or_else(|(code, why)| refuse(code, why))?;
            let not_blocking = (!comm.settings.is_blocking).then(|| Arc::clone(&comm));
            let run = move |patience| {
                let met = meet(GROW, &made, patience)?;
                if met.is_ok() {
                    place.put(issue(Arc::clone(&made)));
                }
                Some(met)
            };
            group.jobs.push(Job { not_blocking, run: Box::new(run) });
            Ok(())
        })
    })
}
