//! Closing a table, so that the matcher sees what is under way there, and opening it again.

use std::sync::{Arc, MutexGuard};

use rankwise_program::CommId;
use rankwise_topology::WorldRank;

use super::desk::{Desk, Desks, Posted};
use crate::hub::{Changes, Hub, State};
use crate::instance::Seating;
use crate::submit::{Item, Poison};
use crate::table::place;

impl Hub {
    /// Calls of this communicator contradict each other: lets the matcher say how.
    pub(super) fn close_table(self: &Arc<Self>, comm: CommId) {
        let mut state = self.lock();
        let mut changes = Changes::default();
        state.close(comm, &mut changes);
        self.settle(state, changes);
    }
}

impl State {
    /// Hands everything that is under way at the table of a communicator to the matcher.
    /// Until no collective of it is open, its calls go the long way.
    #[allow(unsafe_code)]
    pub(crate) fn close(&mut self, comm: CommId, changes: &mut Changes) {
        let table = self.tables.get(&comm).filter(|table| table.is_open()).map(Arc::clone);
        let Some(table) = table else { return };
        let desks = Arc::clone(&self.desks);
        let members = table.members.iter();
        let mut locked: Vec<_> =
            members.filter_map(|(rank, seat)| Some((*rank, *seat, desks.lock(*rank)?))).collect();
        table.close();
        let over = table.ring.over();
        self.matcher.skip_collectives(comm, over);
        for (rank, seat, desk) in &mut locked {
            self.recall(*rank, desk);
            if desk.under_way().is_none_or(|at| !Arc::ptr_eq(at, &table)) {
                continue;
            }
            for posted in desk.take_all() {
                // SAFETY: the call is not over, so the rank has come to it and it holds its
                // seat. Whoever comes or looks holds a member's desk, and all are locked.
                unsafe { table.ring.take(posted.number, *seat) };
                self.take_in(*rank, *seat, posted, changes);
            }
        }
    }

    /// Closes it for good: it is forgotten, and its seats are memory.
    pub(crate) fn shut(&mut self, comm: CommId, changes: &mut Changes) {
        self.close(comm, changes);
        self.tables.remove(&comm);
    }

    /// Closes for good every table at which the rank has a seat.
    pub(crate) fn shut_all_of(&mut self, rank: WorldRank, changes: &mut Changes) {
        let own = |table: &Arc<super::Table>| table.members.iter().any(|(other, _)| *other == rank);
        let comms: Vec<_> =
            self.tables.values().filter(|table| own(table)).map(|table| table.comm).collect();
        for comm in comms {
            self.shut(comm, changes);
        }
    }

    /// Opens a table again, if no collective of its communicator is open.
    pub(crate) fn reopen(&mut self, comm: CommId) {
        if let Some(table) = self.tables.get(&comm)
            && let Some(next) = self.matcher.collectives_over(comm)
        {
            table.reopen(next);
        }
    }

    /// Tells the matcher all that a rank has called so far.
    pub(crate) fn show(&mut self, rank: WorldRank, changes: &mut Changes) {
        let desks = Arc::clone(&self.desks);
        drop(self.still(&desks, &[rank], changes));
    }

    /// The same for some ranks in ascending order, which call nothing more the short way
    /// while what is returned is held. Meanwhile nothing else may be closed.
    pub(crate) fn still<'d>(
        &mut self,
        desks: &'d Desks,
        ranks: &[WorldRank],
        changes: &mut Changes,
    ) -> Vec<MutexGuard<'d, Desk>> {
        loop {
            let mut held: Vec<_> = ranks.iter().filter_map(|rank| desks.lock(*rank)).collect();
            let under_way = held.iter().find_map(|desk| desk.under_way());
            let Some(comm) = under_way.map(|table| table.comm) else {
                for (rank, desk) in ranks.iter().zip(&mut held) {
                    self.recall(*rank, desk);
                }
                return held;
            };
            drop(held);
            self.close(comm, changes);
        }
    }

    /// Tells the matcher of the rank's calls that are over.
    fn recall(&mut self, rank: WorldRank, desk: &mut Desk) {
        for call in desk.take_over() {
            self.matcher.recall(rank, call.entry(), call.number);
        }
    }

    /// Takes in a call that has a ticket and a seat already.
    fn take_in(&mut self, rank: WorldRank, seat: usize, posted: Posted, changes: &mut Changes) {
        let (entry, ranks) = (posted.entry(), posted.layout.ranks());
        let seating = Seating { layout: posted.layout, needed: place(ranks.get()), seat };
        let Some(taken) = posted.taken else { return };
        let (lane, ticket) = (taken.lane, taken.ticket);
        if let Some(error) = self.failed.get(&entry.comm) {
            // By a message, just now: the matcher takes no more calls, and would say that
            // the rank has been told.
            changes.broken.push((lane, ticket, error.clone()));
            self.matcher.recall(rank, entry, posted.number);
            return;
        }
        let (entries, calls) = (vec![entry], vec![(seating, taken)]);
        // In a strict world nothing goes the short way.
        let item = Item { rank, lane, ticket, entries, calls, poison: Poison::default() };
        if let Err(error) = self.take(item, changes) {
            changes.broken.push((lane, ticket, error));
        }
    }
}

#[cfg(test)]
mod tests {
    use rankwise_comm::Communicator as _;

    use crate::world::World;

    #[test]
    fn a_communicator_that_is_gone_has_no_table() {
        let comms = World::of(2).communicators();
        let tables = || comms[0].hub().lock().tables.len();
        for _ in 0..3 {
            let splits: Vec<_> = comms.iter().map(|comm| comm.split(Some(0), 0).unwrap()).collect();
            let joined: Vec<_> = splits.into_iter().map(|split| split.wait().unwrap()).collect();
            assert_eq!(tables(), 2);
            drop(joined);
            assert_eq!(tables(), 1);
        }
    }
}
