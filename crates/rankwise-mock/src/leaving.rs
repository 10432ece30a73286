//! How a rank's part ends before its work does.

use std::sync::Arc;

use rankwise_comm::{Completion, Error, Fence};
use rankwise_program::{CommId, Ending, InstanceId};
use rankwise_topology::WorldRank;

use crate::clock::Clock;
use crate::explore::Step;
use crate::hub::{Changes, Hub, State};
use crate::lane::Act;
use crate::point::Place;

impl Hub {
    /// The ends of what the rank has enqueued by way of a communicator: everything on the
    /// streams that it has made, and its calls on those of others.
    pub(crate) fn fences_of(self: &Arc<Self>, comm: CommId, rank: WorldRank) -> Vec<Fence> {
        let (mut state, mut changes) = (self.lock(), Changes::default());
        state.show(rank, &mut changes);
        let mut fences = Vec::new();
        for (at, lane) in state.lanes.iter().enumerate().filter(|(_, lane)| lane.rank == rank) {
            let calls = lane.queue.iter().rev().find(|item| match &item.act {
                Act::Calls { instances, .. } => {
                    instances.iter().any(|id| state.has_seat(*id, comm, at, item.ticket))
                }
                _ => false,
            });
            let last = calls.map(|item| item.ticket);
            let last = if lane.comm == comm { Some(lane.progress.enqueued()) } else { last };
            let Some(last) = last else { continue };
            let (hub, progress) = (Arc::clone(self), Arc::clone(&lane.progress));
            let place: Arc<dyn Completion> =
                Arc::new(Place { hub, rank, lane: at, progress, clock: Clock::default(), from: 0 });
            fences.push(Fence::new(place, last));
        }
        self.settle(state, changes);
        fences
    }

    /// What every rank is doing, a line each.
    pub(crate) fn status(self: &Arc<Self>) -> String {
        // Given up or not, it is a status.
        let _ = self.turn(Step::Status);
        let (mut state, mut changes) = (self.lock(), Changes::default());
        let status = state.status(&mut changes);
        self.settle(state, changes);
        status
    }
}

impl State {
    /// A rank gives up its part of a communicator at once: what it has enqueued there and
    /// is not being done yet is withdrawn, and so is whatever stands behind it.
    pub(crate) fn abort(
        &mut self,
        comm: CommId,
        rank: WorldRank,
        error: &Error,
        changes: &mut Changes,
    ) {
        self.shut(comm, changes);
        self.take_back(rank, Some(comm), Ending::Aborted, error, changes);
        self.matcher.leave(comm, rank, Ending::Aborted);
    }

    /// A rank is gone at once, from everywhere.
    pub(crate) fn kill(
        &mut self,
        rank: WorldRank,
        how: &str,
        error: &Error,
        changes: &mut Changes,
    ) {
        self.notes_trouble();
        self.shut_all_of(rank, changes);
        self.matcher.last_words(rank, how);
        self.take_back(rank, None, Ending::Killed, error, changes);
        self.end(rank, Ending::Killed, how);
    }

    /// Nothing more will come from a rank, whose tables are shut: if it calls all the same,
    /// it is told why not.
    pub(crate) fn end(&mut self, rank: WorldRank, how: Ending, told: &str) {
        self.matcher.end(rank, how);
        self.ended.insert(rank, told.to_owned());
    }

    /// Takes back what a rank has enqueued on a communicator, or on all, and whatever stands
    /// behind it; its part in splits, too. What is being done is left to be done.
    fn take_back(
        &mut self,
        rank: WorldRank,
        from: Option<CommId>,
        how: Ending,
        error: &Error,
        changes: &mut Changes,
    ) {
        let splits = self.splits.iter_mut();
        for (id, splitting) in splits.filter(|(_, one)| from.is_none_or(|comm| one.comm == comm)) {
            let own = splitting
                .seats
                .iter_mut()
                .find(|seat| seat.as_ref().is_some_and(|seat| seat.rank == rank));
            if let Some(seat) = own.and_then(Option::take) {
                seat.fail(error, &mut changes.wakers);
                self.matcher.withdraw(*id, rank);
            }
        }
        for at in 0..self.lanes.len() {
            let Some(lane) = self.lanes.get(at).filter(|lane| lane.rank == rank) else { continue };
            let first = lane.queue.iter().find(|item| match &item.act {
                Act::Calls { instances, .. } => {
                    let concerns = |id: &InstanceId| {
                        from.is_none_or(|comm| self.has_seat(*id, comm, at, item.ticket))
                    };
                    !instances.iter().any(|id| self.is_running(*id))
                        && instances.iter().any(concerns)
                }
                _ => false,
            });
            if let Some(ticket) = first.map(|item| item.ticket) {
                self.withdraw(at, ticket, how, error, changes);
            }
        }
    }

    fn is_running(&self, id: InstanceId) -> bool {
        self.instances.get(&id).is_some_and(|instance| instance.running)
    }

    /// Whether that item holds a seat of that communicator.
    fn has_seat(&self, id: InstanceId, comm: CommId, lane: usize, ticket: u64) -> bool {
        self.instances.get(&id).is_some_and(|instance| {
            let mut seats = instance.seats.iter().flatten();
            seats.any(|seat| (seat.comm, seat.lane, seat.ticket) == (comm, lane, ticket))
        })
    }

    /// From `ticket` on the lane does nothing any more, and its seats are empty again: the
    /// peers will learn of it as of a rank that never came.
    pub(crate) fn withdraw(
        &mut self,
        at: usize,
        ticket: u64,
        how: Ending,
        error: &Error,
        changes: &mut Changes,
    ) {
        self.notes_trouble();
        let mut withdrawn = vec![(at, ticket)];
        while let Some((at, ticket)) = withdrawn.pop() {
            let Some(lane) = self.lanes.get(at) else { continue };
            let (rank, is_first) = (lane.rank, lane.failure.is_none());
            let (dropped, followers) = self.fail_from(at, ticket, error, changes);
            if let Some(lane) = self.lanes.get_mut(at).filter(|_| is_first) {
                lane.withdrawn = Some(how);
            }
            for item in dropped {
                if let Act::Calls { instances, reached, .. } = &item.act {
                    for id in instances {
                        let comm = self.free_seat(*id, rank, (at, item.ticket), *reached);
                        if let Some(comm) = comm {
                            // Before it leaves: what it has called there, it has called.
                            self.shut(comm, changes);
                            self.matcher.leave(comm, rank, how);
                            self.lost.entry((comm, rank)).or_insert_with(|| error.clone());
                        }
                    }
                }
                changes.garbage.push(item);
            }
            for (_, follower) in followers {
                withdrawn.extend(self.first_item(follower).map(|ticket| (follower, ticket)));
            }
        }
    }

    /// Takes a call back out of an instance that is not being done. The communicator, if
    /// there was one to take.
    fn free_seat(
        &mut self,
        id: InstanceId,
        rank: WorldRank,
        (at, ticket): (usize, u64),
        reached: bool,
    ) -> Option<CommId> {
        let instance = self.instances.get_mut(&id).filter(|found| !found.running)?;
        let own = instance.seats.iter_mut().find(|seat| {
            seat.as_ref().is_some_and(|seat| (seat.lane, seat.ticket) == (at, ticket))
        });
        let seat = own.and_then(Option::take)?;
        instance.agreed = false;
        if reached {
            instance.reached = instance.reached.saturating_sub(1);
        }
        self.matcher.withdraw(id, rank);
        Some(seat.comm)
    }

    /// What every rank is doing, a line each.
    fn status(&mut self, changes: &mut Changes) -> String {
        let comms: Vec<_> = self.tables.keys().copied().collect();
        for comm in comms {
            self.close(comm, changes);
        }
        let lines = self.matcher.status().into_iter().map(|status| status.to_string());
        lines.collect::<Vec<_>>().join("\n")
    }
}
