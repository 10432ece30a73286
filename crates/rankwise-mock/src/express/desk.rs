//! What the threads of one rank share, apart from all other ranks.

use std::collections::VecDeque;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rankwise_program::{CALLS_SHOWN, CommId, Entry, Signature, Site, Tag};
use rankwise_topology::WorldRank;

use super::table::Table;
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
    log: VecDeque<Logged>,
}

/// A rank's last call of the short way.
struct Last {
    table: Arc<Table>,
    progress: Arc<Progress>,
    ticket: u64,
}

/// A call, for reports.
pub(super) struct Logged {
    pub(super) comm: CommId,
    pub(super) number: u64,
    pub(super) signature: Signature,
    pub(super) tag: Option<Tag>,
    pub(super) site: &'static Location<'static>,
}

impl Logged {
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
    pub(super) fn note(
        &mut self,
        table: &Arc<Table>,
        (progress, ticket): (&Arc<Progress>, u64),
        call: Logged,
    ) {
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
        }
        self.log.push_back(call);
    }

    /// Takes out the calls that are over, oldest first.
    pub(super) fn take_over(&mut self) -> impl Iterator<Item = Logged> {
        let open = self.under_way().map(|table| (table.comm, table.ring.over()));
        let is_open = move |call: &Logged| {
            open.is_some_and(|(comm, over)| call.comm == comm && call.number >= over)
        };
        let upto = self.log.iter().position(is_open).unwrap_or(self.log.len());
        self.log.drain(..upto)
    }

    /// Forgets the calls that are under way: the matcher has been told of them.
    pub(super) fn forget(&mut self) {
        self.last = None;
        self.log.clear();
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
        let place = self.0.get(place(rank.index()))?;
        // Nothing panics under it; what is in it is whole in any case.
        Some(place.desk.lock().unwrap_or_else(PoisonError::into_inner))
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
