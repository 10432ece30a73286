//! Splitting a communicator.

use core::task::{Context, Poll, Waker};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rankwise_comm::{Completion, Error, Fault};
use rankwise_model::Rank;
use rankwise_program::{CommId, Ending, InstanceId, Wait};
use rankwise_topology::{Group, Partition, World, WorldRank};

use crate::explore::{Step, Touched};
use crate::express::Table;
use crate::hub::{Changes, Hub, State};
use crate::instance::Splitting;
use crate::table::place;
use crate::waits::{Awaited, Key};

/// What a rank is given: its new communicator, or none.
#[derive(Clone)]
pub(crate) struct Joined {
    pub(crate) comm: CommId,
    pub(crate) name: Arc<str>,
    pub(crate) group: Group,
    pub(crate) rank: Rank,
    pub(crate) table: Option<Arc<Table>>,
}

/// One rank's part of a split.
pub(crate) struct SplitSeat {
    pub(crate) rank: WorldRank,
    pub(crate) color: Option<i32>,
    pub(crate) key: i32,
    pub(crate) slot: Arc<Slot>,
}

/// Where a rank finds its new communicator.
pub(crate) struct Slot {
    over: AtomicBool,
    /// Nobody will ask for it any more.
    abandoned: AtomicBool,
    given: Mutex<Given>,
}

#[derive(Default)]
struct Given {
    outcome: Option<Result<Option<Joined>, Error>>,
    wakers: Vec<Waker>,
}

impl Slot {
    pub(crate) fn new() -> Self {
        let (over, abandoned) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { over, abandoned, given: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Given> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give(&self, outcome: Result<Option<Joined>, Error>, wakers: &mut Vec<Waker>) {
        let mut given = self.lock();
        if given.outcome.is_none() {
            given.outcome = Some(outcome);
        }
        wakers.append(&mut given.wakers);
        self.over.store(true, Ordering::Release);
    }

    /// What was given; `None` before.
    pub(crate) fn outcome(&self) -> Option<Result<Option<Joined>, Error>> {
        self.lock().outcome.clone()
    }
}

impl SplitSeat {
    pub(crate) fn fail(self, error: &Error, wakers: &mut Vec<Waker>) {
        self.slot.give(Err(error.clone()), wakers);
    }
}

impl State {
    /// Every rank has called: makes the new communicators. The order of colours, keys and
    /// ranks is that of [`Partition::split`].
    pub(crate) fn finish_split(
        &mut self,
        id: InstanceId,
        parent: &Group,
        parent_name: &str,
        changes: &mut Changes,
    ) {
        let Some(Splitting { comm, seats }) = self.splits.remove(&id) else { return };
        if let Some(baton) = &self.baton {
            baton.touch(Touched::everything);
        }
        self.matcher.completed(id);
        self.reopen(comm);
        let seats: Vec<_> = seats.into_iter().flatten().collect();
        let by: Vec<_> = seats.iter().map(|seat| (seat.color, seat.key)).collect();
        let within = World::new(parent.size());
        let partition = match Partition::split(within, &by) {
            Ok(partition) => partition,
            Err(error) => {
                let error = Error::from(Fault::Internal { what: error.to_string() });
                for seat in seats {
                    seat.fail(&error, &mut changes.wakers);
                }
                return;
            }
        };
        let mut joined: Vec<Option<Joined>> = seats.iter().map(|_| None).collect();
        for children in partition.groups() {
            let world_ranks: Option<Vec<_>> = children
                .members()
                .iter()
                .map(|child| parent.members().get(place(child.index())).map(|rank| rank.index()))
                .collect();
            let group = world_ranks.and_then(|ranks| Group::new(parent.world(), ranks).ok());
            let Some(group) = group else { continue };
            let first = children.members().first().map_or(0, |child| place(child.index()));
            let color = by.get(first).and_then(|(color, _)| *color).unwrap_or_default();
            let name: Arc<str> = format!("{parent_name}/color {color}").into();
            let (comm, table) = self.add_communicator(&name, &group);
            for (child, rank) in children.members().iter().zip(children.size().ranks()) {
                if let Some(slot) = joined.get_mut(place(child.index())) {
                    let (name, group, table) = (Arc::clone(&name), group.clone(), table.clone());
                    *slot = Some(Joined { comm, name, group, rank, table });
                }
            }
        }
        for (seat, joined) in seats.into_iter().zip(joined) {
            if let Some(joined) = &joined
                && seat.slot.abandoned.load(Ordering::Acquire)
            {
                self.shut(joined.comm, changes);
                self.matcher.leave(joined.comm, seat.rank, Ending::Dropped);
            }
            seat.slot.give(Ok(joined), &mut changes.wakers);
        }
    }
}

/// A rank's right to its new communicator. Dropped unused, the rank leaves it.
pub(crate) struct Claim {
    pub(crate) hub: Arc<Hub>,
    pub(crate) rank: WorldRank,
    pub(crate) slot: Arc<Slot>,
    pub(crate) used: bool,
}

impl Claim {
    /// The new communicator.
    pub(crate) fn take(mut self) -> Result<Option<Joined>, Error> {
        self.used = true;
        let lost = || Err(Fault::Internal { what: "a split ended without outcome".into() }.into());
        self.slot.outcome().unwrap_or_else(lost)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.used {
            return;
        }
        // Given up or not, it is dropped.
        let _ = self.hub.turn(Step::Leave);
        let (mut state, mut changes) = (self.hub.lock(), Changes::default());
        self.slot.abandoned.store(true, Ordering::Release);
        if let Some(Ok(Some(joined))) = self.slot.outcome() {
            state.shut(joined.comm, &mut changes);
            state.matcher.leave(joined.comm, self.rank, Ending::Dropped);
        }
        self.hub.settle(state, changes);
    }
}

/// A rank's wait for its new communicator.
pub(crate) struct SplitWait {
    pub(crate) hub: Arc<Hub>,
    pub(crate) rank: WorldRank,
    pub(crate) instance: InstanceId,
    pub(crate) slot: Arc<Slot>,
}

impl Completion for SplitWait {
    fn is_done(&self, _ticket: u64) -> bool {
        self.hub.ask(self.rank, || self.is_over())
    }

    fn wait(&self, _ticket: u64, deadline: Option<Instant>) -> Result<(), Error> {
        self.hub.wait(self, deadline)
    }

    fn poll(&self, _ticket: u64, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.hub.poll(self, cx)
    }

    fn stop_waiting(&self, _ticket: u64) {
        self.hub.stop_waiting(self);
    }
}

impl Awaited for SplitWait {
    fn rank(&self) -> WorldRank {
        self.rank
    }

    fn is_over(&self) -> bool {
        self.slot.over.load(Ordering::Acquire)
    }

    fn pass(&self) -> bool {
        false
    }

    fn register(&self, _state: &mut State, waker: Waker) -> Option<Waker> {
        let mut given = self.slot.lock();
        if given.wakers.iter().any(|other| other.will_wake(&waker)) {
            return Some(waker);
        }
        given.wakers.push(waker);
        None
    }

    fn key(&self) -> Key {
        Key::Split(self.instance)
    }

    fn wait(&self, state: &State) -> Option<Wait> {
        state.splits.contains_key(&self.instance).then_some(Wait::Instance(self.instance))
    }

    fn outcome(&self, state: &mut State, changes: &mut Changes) -> Result<(), Error> {
        let outcome = self.slot.outcome().map_or(Ok(()), |given| given.map(|_| ()));
        outcome.map_err(|error| {
            state.show(self.rank, changes);
            state.told(self.rank, error)
        })
    }
}
