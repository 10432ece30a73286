//! What the threads of one rank share, apart from all other ranks.

use std::collections::VecDeque;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rankwise_model::Layout;
use rankwise_program::{CALLS_SHOWN, CommId, Entry, Signature, Site, Tag};
use rankwise_topology::WorldRank;

use super::table::Table;
use crate::instance::Taken;
use crate::lane::Progress;
use crate::table::place;

/// One rank's calls of the short way that the matcher has not been told of.
///
/// Its lock guards the numbers of the rank's items, too: whoever gives one holds it.
#[derive(Default)]
pub(crate) struct Desk {
    /// Where its last call of the short way was made.
    last: Option<Last>,
    /// Its calls, oldest first: all that are under way, and some before them.
    log: VecDeque<Posted>,
    /// How many of them, from the first, hold no memory any more.
    let_go: usize,
}

/// A rank's last call of the short way.
struct Last {
    table: Arc<Table>,
    progress: Arc<Progress>,
    ticket: u64,
}

/// A call of the short way.
pub(super) struct Posted {
    pub(super) comm: CommId,
    pub(super) number: u64,
    pub(super) signature: Signature,
    pub(super) tag: Option<Tag>,
    pub(super) site: &'static Location<'static>,
    pub(super) layout: Layout,
    /// What it holds until it is over.
    pub(super) taken: Option<Taken>,
}

impl Posted {
    pub(super) fn entry(&self) -> Entry {
        let (signature, site) = (self.signature, Site::Code(self.site));
        Entry { comm: self.comm, signature, site, tag: self.tag.clone() }
    }
}

impl Desk {
    /// The communicator on which calls of the short way may still be under way.
    pub(crate) fn under_way(&self) -> Option<&Arc<Table>> {
        let last = self.last.as_ref()?;
        // On one communicator calls are over in their order.
        (!last.progress.is_over(last.ticket)).then_some(&last.table)
    }

    /// Notes a call of the short way.
    pub(super) fn note(&mut self, table: &Arc<Table>, at: (&Arc<Progress>, u64), call: Posted) {
        self.let_go();
        let (progress, ticket) = at;
        match &mut self.last {
            Some(last)
                if Arc::ptr_eq(&last.table, table) && Arc::ptr_eq(&last.progress, progress) =>
            {
                last.ticket = ticket;
            }
            last => {
                let (table, progress) = (Arc::clone(table), Arc::clone(progress));
                *last = Some(Last { table, progress, ticket });
            }
        }
        // Those that may be under way, and what a report shows before them.
        let shown = usize::try_from(CALLS_SHOWN).unwrap_or_default();
        if self.log.len() >= Table::CALLS.saturating_add(shown) {
            self.log.pop_front();
            self.let_go = self.let_go.saturating_sub(1);
        }
        self.log.push_back(call);
    }

    /// Lets go of the memory of calls that are over.
    pub(crate) fn let_go(&mut self) {
        let over = self.over();
        for call in self.log.range_mut(self.let_go.min(over)..over) {
            call.taken = None;
        }
        self.let_go = over;
    }

    /// Takes out the calls that are over, oldest first.
    pub(super) fn take_over(&mut self) -> impl Iterator<Item = Posted> {
        let over = self.over();
        self.let_go = 0;
        self.log.drain(..over)
    }

    /// Takes out the calls that are under way, once those that are over are out.
    pub(super) fn take_all(&mut self) -> VecDeque<Posted> {
        (self.last, self.let_go) = (None, 0);
        core::mem::take(&mut self.log)
    }

    /// How many calls of the log are over, counted from the first.
    fn over(&self) -> usize {
        let Some(table) = self.under_way() else { return self.log.len() };
        // Those under way are all on one communicator, and the last of the log.
        let over = table.ring.over();
        let open = |call: &&Posted| call.comm == table.comm && call.number >= over;
        let open = self.log.iter().rev().take_while(open).count();
        self.log.len().saturating_sub(open)
    }
}

/// A desk for every rank of a world.
pub(crate) struct Desks(Box<[Place]>);

/// Cache lines of its own: its rank uses it while others use theirs.
#[repr(align(128))]
#[derive(Default)]
struct Place {
    desk: Mutex<Desk>,
    /// The matcher has been told that the rank sleeps: it must learn of any call.
    sleeps: AtomicBool,
}

impl Desks {
    pub(crate) fn new(ranks: usize) -> Self {
        Self((0..ranks).map(|_| Place::default()).collect())
    }

    /// A rank's desk; `None` for a rank that is not in the world.
    pub(crate) fn lock(&self, rank: WorldRank) -> Option<MutexGuard<'_, Desk>> {
        self.at(place(rank.index()))
    }

    /// The desk of the rank with that number.
    pub(crate) fn at(&self, rank: usize) -> Option<MutexGuard<'_, Desk>> {
        // Nothing panics under it; what is in it is whole in any case.
        Some(self.0.get(rank)?.desk.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn sleeps(&self, rank: WorldRank) -> bool {
        self.0.get(place(rank.index())).is_none_or(|place| place.sleeps.load(Ordering::Relaxed))
    }

    pub(crate) fn set_sleeps(&self, rank: WorldRank, sleeps: bool) {
        if let Some(place) = self.0.get(place(rank.index())) {
            place.sleeps.store(sleeps, Ordering::Relaxed);
        }
    }
}
