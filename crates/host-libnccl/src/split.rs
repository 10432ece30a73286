//! Splitting communicators.

use std::ffi::c_int;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nccl_sys::{NCCL_SPLIT_NOCOLOR, ncclComm_t, ncclConfig_t, ncclResult_t};
use rankwise_comm::{Communicator, Fault};
use rankwise_mock::Comm;
use rankwise_model::GroupSize;

use crate::abi::{Place, answer_of};
use crate::comm::{HostComm, called, check_settled, issue, ready};
use crate::config::{self, Settings};
use crate::error::{Answer, code_of, refuse, refuse_with};
use crate::family::{Family, Mocks, Patience, Seat};
use crate::group::{self, Job, Ran, Run};
use crate::init::lost;

const WHAT: &str = "CommSplit";

/// One rank's part of a split.
struct Splitting {
    comm: Arc<HostComm>,
    /// Which of its splits it is.
    turn: u32,
    color: Option<u32>,
    key: i32,
    settings: Settings,
}

impl Splitting {
    /// What the new ranks find each other by.
    fn name(&self) -> String {
        let color = self.color.unwrap_or_default();
        format!("{} split {} {color}", self.comm.family.number, self.turn)
    }

    /// By the mock, which says who differs from whom.
    fn by_the_mock(self, place: Place<ncclComm_t>) -> Answer<Run> {
        let pending = self.comm.mock.split(self.color, self.key);
        let mut pending = Some(pending.or_else(|error| refuse_with(&error))?);
        Ok(Box::new(move |patience| {
            if patience == Patience::Look && pending.as_ref().is_some_and(|p| !p.fence().is_done())
            {
                return None;
            }
            Some(match pending.take()?.wait() {
                Ok(None) => Ok(()),
                Ok(Some(mock)) => self.adopt(mock, &place),
                Err(error) => {
                    let is_own = matches!(error.fault(), Fault::Closed { .. });
                    if !is_own {
                        self.comm.fail(&error);
                    }
                    Err((code_of(&error), error.to_string()))
                }
            })
        }))
    }

    /// Hands out what the mock has made.
    fn adopt(&self, mock: Comm, place: &Place<ncclComm_t>) -> Ran {
        let rank = usize::try_from(mock.rank().index()).unwrap_or(usize::MAX);
        let (family, _) = Family::join(&self.name(), mock.ranks(), rank, Mocks::Given)?;
        let Self { comm, settings, .. } = self;
        let made = HostComm::new(mock, family, comm.world, comm.device, *settings);
        place.put(issue(Arc::new(made)));
        Ok(())
    }

    /// By what the ranks say here, since the mock's communicator was revoked.
    fn by_the_family(self, place: Place<ncclComm_t>) -> Run {
        let (own, table) = (self.comm.rank(), format!("split {}", self.turn));
        let seat = Seat { color: self.color, key: self.key, ..Seat::default() };
        self.comm.family.sit(&table, own, seat);
        Box::new(move |patience| {
            let all: Vec<usize> = (0..self.comm.size()).collect();
            let seats = match self.comm.family.meet(&table, own, &all, patience)? {
                Ok(seats) => seats,
                Err(gone) => return Some(Err(lost(WHAT, &gone))),
            };
            if self.color.is_none() {
                return Some(Ok(()));
            }
            let mut members: Vec<(i32, usize)> = seats
                .iter()
                .zip(0..)
                .filter(|(seat, _)| seat.color == self.color)
                .map(|(seat, rank)| (seat.key, rank))
                .collect();
            members.sort_unstable();
            let rank = members.iter().position(|(_, rank)| *rank == own).unwrap_or_default();
            let size = u32::try_from(members.len()).ok().and_then(GroupSize::new);
            Some(self.found(size.unwrap_or(GroupSize::ONE), rank, &place))
        })
    }

    /// Founds a family of its own.
    fn found(&self, size: GroupSize, rank: usize, place: &Place<ncclComm_t>) -> Ran {
        let (family, mock) = Family::join(&self.name(), size, rank, Mocks::Made)?;
        let Some(mock) = mock else {
            return Err((ncclResult_t::ncclInternalError, "a place that was taken".to_owned()));
        };
        let world = family.number;
        let made = HostComm::new(mock, family, world, self.comm.device, self.settings);
        place.put(issue(Arc::new(made)));
        Ok(())
    }
}

/// The communicator of which another is made: one may be made of a revoked one.
pub(crate) fn parent(what: &str, raw: ncclComm_t) -> Answer<Arc<HostComm>> {
    let comm = called(what, raw)?;
    if !comm.is_revoked.load(Ordering::Acquire) {
        return ready(what, raw);
    }
    check_settled(&comm)?;
    Ok(comm)
}

/// The settings of a communicator that is made of another: its own, or those of the other.
///
/// # Safety
///
/// As [`config::read`].
pub(crate) unsafe fn inherit(config: *const ncclConfig_t, parent: &HostComm) -> Answer<Settings> {
    if config.is_null() {
        return Ok(parent.settings);
    }
    // SAFETY: by this function's contract.
    unsafe { config::read(config) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommSplit(
    raw: ncclComm_t,
    color: c_int,
    key: c_int,
    place: *mut ncclComm_t,
    config: *mut ncclConfig_t,
) -> ncclResult_t {
    answer_of("ncclCommSplit", raw, || {
        group::add(|group| {
            let comm = parent(WHAT, raw)?;
            // SAFETY: the caller's pointer, by the contract of this call in `nccl.h`: it
            // is valid until the thread's group has ended, or the parent is no longer in
            // progress.
            let place = unsafe { Place::new("CommSplit : newcomm", place, ptr::null_mut()) }?;
            // SAFETY: the caller's structure, by the same contract.
            let settings = unsafe { inherit(config, &comm) }?;
            let color = match u32::try_from(color) {
                Ok(color) => Some(color),
                Err(_) if color == NCCL_SPLIT_NOCOLOR => None,
                Err(_) => {
                    let why = format!("{WHAT} : color must be greater or equal to -1, not {color}");
                    return refuse(ncclResult_t::ncclInvalidArgument, why);
                }
            };
            let turn = comm.turns.splits.fetch_add(1, Ordering::Relaxed);
            let not_blocking = (!comm.settings.is_blocking).then(|| Arc::clone(&comm));
            let is_revoked = comm.is_revoked.load(Ordering::Acquire);
            let splitting = Splitting { comm, turn, color, key, settings };
            let run = if is_revoked {
                splitting.by_the_family(place)
            } else {
                splitting.by_the_mock(place)?
            };
            // The wait is for the end of the group: one thread may drive all the ranks.
            group.jobs.push(Job { not_blocking, run });
            Ok(())
        })
    })
}
