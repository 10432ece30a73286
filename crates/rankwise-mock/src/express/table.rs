//! A communicator, as the short way sees it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rankwise_program::{CommId, Signature, Tag};
use rankwise_topology::{Group, WorldRank};

use super::ring::Ring;
use crate::engine::{Job, Seat};
use crate::lane::Progress;

/// Where the ranks of one communicator meet, while they need nothing but each other.
pub(crate) struct Table {
    pub(crate) comm: CommId,
    /// Its members in the order in which their desks are locked, and their seats.
    pub(super) members: Box<[(WorldRank, usize)]>,
    pub(super) ring: Ring<Called>,
    /// By seat: the number of its next call. Guarded by the desk of its rank while the
    /// table is open, by the hub's lock while it is not.
    next: Box<[Number]>,
    open: AtomicBool,
    /// A call here contradicts itself: neither it nor any after it is carried out here.
    at_odds: AtomicBool,
    /// By seat, for whoever carries a call out: what it needs room for. Each has its own,
    /// so that it stays in the cache of its core.
    benches: Box<[Mutex<Bench>]>,
}

/// One rank's call, as the last to come sees it. What only its own rank needs to know
/// of it is at the [desk](super::desk).
pub(super) struct Called {
    pub(super) signature: Signature,
    pub(super) tag: Option<Tag>,
    pub(super) seat: Seat,
    pub(super) progress: Arc<Progress>,
    pub(super) ticket: u64,
}

/// Room for the parts of one call, kept from one to the next.
#[derive(Default)]
pub(super) struct Bench {
    pub(super) seats: Vec<Seat>,
    /// The last job, to be the next one if that is of the same kind.
    pub(super) job: Option<Arc<Job>>,
}

#[repr(align(64))]
#[derive(Default)]
struct Number(AtomicU64);

impl Table {
    /// How many calls may be under way at once.
    pub(crate) const CALLS: usize = 32;
    /// Seats are memory: larger groups go the long way, where a call is kept only while it
    /// is under way.
    const MOST_RANKS: usize = 64;

    /// A table for a new communicator, open; `None` if it has too many members.
    pub(crate) fn new(comm: CommId, group: &Group) -> Option<Arc<Self>> {
        let ranks = group.members().len();
        if ranks > Self::MOST_RANKS {
            return None;
        }
        let mut members: Box<[_]> = group.members().iter().copied().zip(0..).collect();
        members.sort_unstable();
        Some(Arc::new(Self {
            comm,
            members,
            ring: Ring::new(Self::CALLS, ranks),
            next: (0..ranks).map(|_| Number::default()).collect(),
            open: AtomicBool::new(true),
            at_odds: AtomicBool::new(false),
            benches: (0..ranks).map(|_| Mutex::default()).collect(),
        }))
    }

    /// Whether calls may be made here. Asked with a member's desk locked: the answer
    /// holds as long.
    pub(crate) fn is_open(&self) -> bool {
        // Acquire: whoever sees it open again sees its new numbers.
        self.open.load(Ordering::Acquire)
    }

    /// The number of a seat's next call.
    pub(super) fn next(&self, seat: usize) -> u64 {
        self.next.get(seat).map_or(0, |next| next.0.load(Ordering::Relaxed))
    }

    pub(super) fn set_next(&self, seat: usize, number: u64) {
        if let Some(next) = self.next.get(seat) {
            next.0.store(number, Ordering::Relaxed);
        }
    }

    /// Whether a call here contradicts itself.
    pub(super) fn is_at_odds(&self) -> bool {
        self.at_odds.load(Ordering::Acquire)
    }

    pub(super) fn set_at_odds(&self) {
        self.at_odds.store(true, Ordering::Release);
    }

    /// No calls are made here for now. With the desks of all members locked.
    pub(super) fn close(&self) {
        self.open.store(false, Ordering::Relaxed);
    }

    /// Calls are made here again, from that number on. Under the hub's lock, when no call
    /// is under way.
    pub(super) fn reopen(&self, number: u64) {
        if self.is_open() {
            return;
        }
        self.ring.restart(number);
        self.at_odds.store(false, Ordering::Relaxed);
        (0..self.next.len()).for_each(|seat| self.set_next(seat, number));
        self.open.store(true, Ordering::Release);
    }

    /// The bench of a seat.
    pub(super) fn bench(&self, seat: usize) -> Option<MutexGuard<'_, Bench>> {
        Some(self.benches.get(seat)?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
