//! What the ranks of one communicator share, beyond the mock: who has come, who has left,
//! and what each has brought to a call in which all take part.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use nccl_sys::ncclResult_t;
use rankwise_mock::{Comm, World};
use rankwise_model::GroupSize;

use crate::lock::lock;

/// Families that not all of their ranks have joined yet, by name.
static OPEN: Mutex<Option<HashMap<String, Arc<Family>>>> = Mutex::new(None);
static MADE: AtomicU64 = AtomicU64::new(1);

/// Whether to wait for peers or only to look whether they have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    Wait,
    Look,
}

/// What a rank brings to a call in which all take part; each call uses some of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) device: i32,
    pub(crate) color: Option<u32>,
    pub(crate) key: i32,
    pub(crate) list: Vec<usize>,
    pub(crate) start: usize,
    pub(crate) bytes: usize,
}

/// One signal counter of a rank: whose, from whom, which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Counter {
    pub(crate) at: usize,
    pub(crate) from: usize,
    pub(crate) context: i32,
    pub(crate) index: i32,
}

/// Why nothing comes of a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// The rank itself has left or was revoked: nobody is to be told.
    Own,
    /// A peer has left.
    Peer { rank: usize, how: &'static str },
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => f.write_str("this rank has left"),
            Self::Peer { rank, how } => write!(f, "rank {rank} has left ({how})"),
        }
    }
}

/// The ranks of one communicator.
pub(crate) struct Family {
    /// Like no other's: the start of its children's names.
    pub(crate) number: u64,
    size: GroupSize,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    joined: Vec<bool>,
    left: Vec<Option<&'static str>>,
    revoked: Vec<bool>,
    /// The mock's communicators that nobody has taken yet, if they are made here.
    mocks: Vec<Option<Comm>>,
    tables: HashMap<String, Table>,
    signals: HashMap<Counter, u64>,
}

/// What the ranks have brought to one call.
struct Table {
    seats: Vec<Option<Seat>>,
    /// How many have seen all of it.
    seen: usize,
}

/// Where a family's communicators of the mock come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mocks {
    /// A world of their own.
    Made,
    /// They are there already: the mock has split a communicator.
    Given,
}

impl Family {
    fn new(size: GroupSize, mocks: Mocks) -> Self {
        let all = size.ranks().count();
        let mocks = match mocks {
            Mocks::Made => World::new(size).many_drivers().communicators(),
            Mocks::Given => Vec::new(),
        };
        let state = State {
            joined: vec![false; all],
            left: vec![None; all],
            revoked: vec![false; all],
            mocks: mocks.into_iter().map(Some).collect(),
            tables: HashMap::new(),
            signals: HashMap::new(),
        };
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        Self { number, size, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// A family of which one thread makes all the ranks.
    pub(crate) fn whole(size: GroupSize) -> (Arc<Self>, Vec<Comm>) {
        let family = Arc::new(Self::new(size, Mocks::Made));
        let mut state = lock(&family.state);
        state.joined.fill(true);
        let mocks = state.mocks.iter_mut().filter_map(Option::take).collect();
        drop(state);
        (family, mocks)
    }

    /// Takes the place of a rank in the family with this name, which the first to come
    /// makes. With mocks [given](Mocks::Given) there is none to take.
    pub(crate) fn join(
        name: &str,
        size: GroupSize,
        rank: usize,
        mocks: Mocks,
    ) -> Result<(Arc<Self>, Option<Comm>), (ncclResult_t, String)> {
        let refuse = |why: String| Err((ncclResult_t::ncclInvalidUsage, why));
        let mut open = lock(&OPEN);
        let open = open.get_or_insert_default();
        let family =
            open.entry(name.to_owned()).or_insert_with(|| Arc::new(Self::new(size, mocks)));
        let family = Arc::clone(family);
        if family.size != size {
            return refuse(format!("{size} ranks, others with this id say {}", family.size));
        }
        let mut state = lock(&family.state);
        match state.joined.get_mut(rank) {
            Some(joined) if !*joined => *joined = true,
            _ => return refuse(format!("rank {rank} has joined with this id already")),
        }
        if state.joined.iter().all(|joined| *joined) {
            open.remove(name);
        }
        let mock = state.mocks.get_mut(rank).and_then(Option::take);
        drop(state);
        Ok((family, mock))
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Sits down at the table of one call.
    pub(crate) fn sit(&self, table: &str, rank: usize, seat: Seat) {
        let mut state = lock(&self.state);
        let all = state.joined.len();
        let empty = || Table { seats: vec![None; all], seen: 0 };
        let table = state.tables.entry(table.to_owned()).or_insert_with(empty);
        if let Some(place) = table.seats.get_mut(rank) {
            *place = Some(seat);
        }
        self.changed.notify_all();
    }

    /// What these ranks have brought to the table, in their order, once all have;
    /// `None` if that is not yet and one only looks.
    pub(crate) fn meet(
        &self,
        table: &str,
        own: usize,
        awaited: &[usize],
        patience: Patience,
    ) -> Option<Result<Vec<Seat>, Lost>> {
        let mut state = lock(&self.state);
        loop {
            let seats = state.tables.get(table).map(|table| &table.seats);
            let seat = |rank: &usize| seats?.get(*rank)?.clone();
            if let Some(seats) = awaited.iter().map(seat).collect::<Option<Vec<_>>>() {
                if let Some(known) = state.tables.get_mut(table) {
                    known.seen += 1;
                    if known.seen == awaited.len() {
                        state.tables.remove(table);
                    }
                }
                return Some(Ok(seats));
            }
            if state.left.get(own).is_none_or(Option::is_some) {
                return Some(Err(Lost::Own));
            }
            let mut missing = awaited.iter().filter(|rank| seat(rank).is_none());
            let gone = missing.find_map(|rank| Some((*rank, (*state.left.get(*rank)?)?)));
            if let Some((rank, how)) = gone {
                return Some(Err(Lost::Peer { rank, how }));
            }
            if patience == Patience::Look {
                return None;
            }
            state = self.wait(state);
        }
    }

    /// A rank takes part in nothing any more.
    pub(crate) fn leave(&self, rank: usize, how: &'static str) {
        let mut state = lock(&self.state);
        if let Some(left) = state.left.get_mut(rank) {
            left.get_or_insert(how);
        }
        self.changed.notify_all();
    }

    /// A rank waits for no signal any more.
    pub(crate) fn revoke(&self, rank: usize) {
        let mut state = lock(&self.state);
        if let Some(revoked) = state.revoked.get_mut(rank) {
            *revoked = true;
        }
        self.changed.notify_all();
    }

    /// Counts a signal.
    pub(crate) fn signal(&self, counter: Counter) {
        let mut state = lock(&self.state);
        *state.signals.entry(counter).or_default() += 1;
        self.changed.notify_all();
    }

    /// Waits until a counter has come so far, and takes that off it.
    pub(crate) fn await_signals(&self, counter: Counter, count: u64) -> Result<(), Lost> {
        let mut state = lock(&self.state);
        loop {
            let counted = state.signals.entry(counter).or_default();
            if let Some(rest) = counted.checked_sub(count) {
                *counted = rest;
                return Ok(());
            }
            let left = |rank: usize| state.left.get(rank).copied().flatten();
            let revoked = state.revoked.get(counter.at).copied().unwrap_or(true);
            if revoked || left(counter.at).is_some() {
                return Err(Lost::Own);
            }
            if let Some(how) = left(counter.from) {
                return Err(Lost::Peer { rank: counter.from, how });
            }
            state = self.wait(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Arc<Family> {
        Family::whole(GroupSize::new(2).unwrap()).0
    }

    fn seat(device: i32) -> Seat {
        Seat { device, ..Seat::default() }
    }

    #[test]
    fn ranks_meet_when_all_have_come() {
        let family = two();
        family.sit("t", 1, seat(5));
        assert_eq!(family.meet("t", 1, &[0, 1], Patience::Look), None);
        family.sit("t", 0, seat(4));
        let both = Some(Ok(vec![seat(4), seat(5)]));
        assert_eq!(family.meet("t", 1, &[0, 1], Patience::Look), both);
        assert_eq!(family.meet("t", 0, &[0, 1], Patience::Wait), both);
        // All have seen it: the next call of this name starts afresh.
        assert_eq!(family.meet("t", 0, &[0, 1], Patience::Look), None);
    }

    #[test]
    fn whoever_has_left_is_not_waited_for() {
        let family = two();
        family.sit("t", 0, seat(4));
        family.leave(1, "aborted");
        let gone = Lost::Peer { rank: 1, how: "aborted" };
        assert_eq!(family.meet("t", 0, &[0, 1], Patience::Wait), Some(Err(gone.clone())));
        let counter = Counter { at: 0, from: 1, context: 0, index: 0 };
        assert_eq!(family.await_signals(counter, 1), Err(gone));
        // What came before it left is there.
        family.signal(counter);
        assert_eq!(family.await_signals(counter, 1), Ok(()));
        family.revoke(0);
        assert_eq!(family.await_signals(counter, 1), Err(Lost::Own));
    }

    #[test]
    fn a_name_can_be_used_again_when_all_have_joined() {
        let size = GroupSize::new(2).unwrap();
        let join = |rank| Family::join("of the test", size, rank, Mocks::Given).map(|made| made.0);
        let one = join(1).unwrap();
        assert!(join(1).is_err(), "there is one already");
        assert!(Family::join("of the test", GroupSize::ONE, 0, Mocks::Given).is_err());
        assert_eq!(join(0).unwrap().number, one.number);
        assert_ne!(join(0).unwrap().number, one.number);
        join(1).unwrap();
    }
}
