//! A communicator, as the short way sees it.

use core::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rankwise_model::Layout;
use rankwise_program::{CommId, Entry, Signature, Site, Tag};
use rankwise_topology::{Group, WorldRank};

use super::ring::Ring;
use crate::engine::{Job, Seat};
use crate::instance::Taken;
use crate::lane::Progress;

/// Where the ranks of one communicator meet, while they need nothing but each other.
pub(crate) struct Table {
    pub(crate) comm: CommId,
    /// Its members in the order in which their desks are locked, and their seats.
    pub(super) members: Box<[(WorldRank, usize)]>,
    pub(super) ring: Ring<Posted>,
    /// By seat: the number of its next call. Guarded by the desk of its rank while the
    /// table is open, by the hub's lock while it is not.
    next: Box<[Number]>,
    open: AtomicBool,
    /// Never to be opened again.
    shut: AtomicBool,
    /// For whoever carries a call out: what it needs room for.
    bench: Mutex<Bench>,
}

/// One rank's call.
pub(super) struct Posted {
    pub(super) signature: Signature,
    pub(super) tag: Option<Tag>,
    pub(super) site: &'static Location<'static>,
    pub(super) layout: Layout,
    pub(super) taken: Taken,
    pub(super) progress: Arc<Progress>,
}

/// Room for the parts of one call, kept from one to the next.
#[derive(Default)]
pub(super) struct Bench {
    pub(super) seats: Vec<Seat>,
    /// The last job, to be the next one if that is of the same kind.
    pub(super) job: Option<Arc<Job>>,
    pub(super) over: Vec<(Arc<Progress>, u64)>,
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
            shut: AtomicBool::new(false),
            bench: Mutex::default(),
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

    /// No calls are made here for now. With the desks of all members locked.
    pub(super) fn close(&self) {
        self.open.store(false, Ordering::Relaxed);
    }

    /// No calls are made here ever again.
    pub(super) fn shut(&self) {
        self.shut.store(true, Ordering::Relaxed);
    }

    /// Calls are made here again, from that number on. Under the hub's lock, when no call
    /// is under way.
    pub(super) fn reopen(&self, number: u64) {
        if self.is_open() || self.shut.load(Ordering::Relaxed) {
            return;
        }
        self.ring.restart(number);
        (0..self.next.len()).for_each(|seat| self.set_next(seat, number));
        self.open.store(true, Ordering::Release);
    }

    pub(super) fn bench(&self) -> MutexGuard<'_, Bench> {
        self.bench.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Posted {
    pub(super) fn entry(&self) -> Entry {
        let (signature, site) = (self.signature, Site::Code(self.site));
        Entry { comm: self.taken.comm, signature, site, tag: self.tag.clone() }
    }
}
