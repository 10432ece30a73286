//! What the ranks share: streams as queues, and calls that wait for their peers.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::Waker;

use rankwise_comm::{Error, Fault, FoldOrder};
use rankwise_model::{Dtype, RankLayout, Scalar};
use rankwise_program::Signature;

use super::Seeded;
use super::{accuse, moves};

pub(crate) struct World {
    pub(crate) state: Mutex<State>,
    pub(crate) changed: Condvar,
    pub(crate) seeded: Option<Seeded>,
    pub(crate) order: FoldOrder,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) lanes: Vec<Lane>,
    pub(crate) comms: Vec<Members>,
    open: HashMap<Key, Instance>,
    pub(crate) splits: HashMap<(usize, u64), Vec<Wish>>,
    /// (split, old rank) → communicator, rank, size.
    pub(crate) children: HashMap<(usize, u64, u32), Option<Child>>,
    /// The inputs of each communicator's last collective, for a stale one.
    pub(crate) stale: HashMap<(usize, usize), Vec<Vec<u8>>>,
    pub(crate) wakers: Vec<Waker>,
}

/// What a rank asks of a split: rank, colour, key, and the lane that waits for it.
pub(crate) type Wish = (u32, Option<u32>, i32, usize);
/// What it gets: communicator, rank, size.
pub(crate) type Child = (usize, u32, u32);

/// The members of a communicator: who has left.
pub(crate) struct Members {
    pub(crate) left: Vec<bool>,
}

/// A stream.
#[derive(Default)]
pub(crate) struct Lane {
    queue: VecDeque<Act>,
    pub(crate) done: u64,
    pub(crate) enqueued: u64,
    pub(crate) error: Option<Error>,
}

pub(crate) type Bytes = Arc<Mutex<Vec<u8>>>;
pub(crate) type Slot = Arc<Mutex<Option<Vec<u8>>>>;

pub(crate) enum Act {
    Write(Bytes, usize, Vec<u8>),
    Fetch(Bytes, Range<usize>, Slot),
    /// Calls of one unit, and how many of them are not done.
    Unit {
        keys: Vec<Key>,
        open: usize,
        arrived: bool,
    },
    Wait {
        lane: usize,
        ticket: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    Collective { comm: usize, number: u64 },
    Message { comm: usize, from: u32, to: u32, number: u64 },
}

/// Calls that are one.
struct Instance {
    needed: usize,
    seats: Vec<Seat>,
}

struct Seat {
    call: Call,
    lane: usize,
    arrived: bool,
}

/// One rank's call.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) comm: usize,
    pub(crate) signature: Signature,
    pub(crate) dtype: Dtype,
    pub(crate) at: RankLayout,
    pub(crate) scalar: Option<Scalar>,
    pub(crate) input: Option<(Bytes, Range<usize>)>,
    pub(crate) output: Option<(Bytes, Range<usize>)>,
    pub(crate) in_place: bool,
}

impl World {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Carries out what is possible from these lanes on, and tells whoever waits.
    pub(crate) fn settle(&self, mut state: MutexGuard<'_, State>, ready: Vec<usize>) {
        state.advance(self.seeded, ready);
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        self.changed.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl State {
    pub(crate) fn new_lane(&mut self) -> usize {
        self.lanes.push(Lane::default());
        self.lanes.len() - 1
    }

    pub(crate) fn push(&mut self, lane: usize, act: Act) -> u64 {
        let lane = &mut self.lanes[lane];
        lane.queue.push_back(act);
        lane.enqueued += 1;
        lane.enqueued
    }

    /// Seats a call; it moves nothing before its unit is at the head of its lane.
    pub(crate) fn seat(&mut self, key: Key, needed: usize, call: Call, lane: usize) {
        let instance =
            self.open.entry(key).or_insert_with(|| Instance { needed, seats: Vec::new() });
        instance.seats.push(Seat { call, lane, arrived: false });
    }

    fn advance(&mut self, seeded: Option<Seeded>, mut ready: Vec<usize>) {
        while let Some(lane) = ready.pop() {
            while self.step(seeded, lane, &mut ready) {
                let waiting = |other: &Lane| match other.queue.front() {
                    Some(Act::Wait { lane: on, .. }) => *on == lane,
                    _ => false,
                };
                let all = self.lanes.iter().enumerate();
                ready.extend(all.filter(|(_, other)| waiting(other)).map(|(at, _)| at));
            }
        }
    }

    /// Whether the first act of the lane is done now.
    fn step(&mut self, seeded: Option<Seeded>, at: usize, ready: &mut Vec<usize>) -> bool {
        match self.lanes[at].queue.front_mut() {
            None => return false,
            Some(Act::Write(memory, start, bytes)) => {
                memory.lock().unwrap()[*start..*start + bytes.len()].copy_from_slice(bytes);
            }
            Some(Act::Fetch(memory, range, slot)) => {
                *slot.lock().unwrap() = Some(memory.lock().unwrap()[range.clone()].to_vec());
            }
            Some(Act::Wait { lane, ticket }) => {
                let (lane, ticket) = (*lane, *ticket);
                if self.lanes[lane].done < ticket {
                    if let Some(error) = self.lanes[lane].error.clone() {
                        self.fail(at, &error);
                    }
                    return false;
                }
            }
            Some(Act::Unit { keys, open, arrived }) => {
                if !std::mem::replace(arrived, true) {
                    let keys = keys.clone();
                    for key in keys {
                        self.arrive(seeded, key, at, ready);
                    }
                    // Carrying out the last of them has brought this lane back.
                    return false;
                }
                if *open > 0 {
                    return false;
                }
            }
        }
        let lane = &mut self.lanes[at];
        lane.queue.pop_front();
        lane.done += 1;
        true
    }

    fn arrive(&mut self, seeded: Option<Seeded>, key: Key, lane: usize, ready: &mut Vec<usize>) {
        let Some(instance) = self.open.get_mut(&key) else { return };
        for seat in instance.seats.iter_mut().filter(|seat| seat.lane == lane) {
            seat.arrived = true;
        }
        let all_here = instance.seats.len() == instance.needed
            && instance.seats.iter().all(|seat| seat.arrived);
        let nothing = instance.seats.iter().all(|seat| seat.call.at.layout().count() == 0);
        let hangs = seeded == Some(Seeded::NothingHangs) && nothing && instance.needed > 1;
        if hangs {
            return;
        }
        if !all_here {
            self.give_up_without_peers(seeded, key);
            return;
        }
        let Some(instance) = self.open.remove(&key) else { return };
        if !agree(&instance.seats) && seeded != Some(Seeded::BlamesNothing) {
            self.accuse(seeded, instance.seats);
            return;
        }
        let mut calls: Vec<Call> = instance.seats.iter().map(|seat| seat.call.clone()).collect();
        calls.sort_by_key(|call| call.at.rank());
        if agree(&instance.seats) {
            moves::carry_out(self, seeded, &calls);
        }
        for seat in &instance.seats {
            if let Some(Act::Unit { open, .. }) = self.lanes[seat.lane].queue.front_mut() {
                *open -= 1;
                ready.push(seat.lane);
            }
        }
    }

    /// Nothing more happens on the lane, nor on those that wait for it.
    pub(crate) fn fail(&mut self, lane: usize, error: &Error) {
        if self.lanes[lane].error.is_some() || self.lanes[lane].queue.is_empty() {
            self.lanes[lane].error.get_or_insert_with(|| error.clone());
            return;
        }
        self.lanes[lane].error = Some(error.clone());
        let keys: Vec<Key> = self.lanes[lane]
            .queue
            .drain(..)
            .flat_map(|act| match act {
                Act::Unit { keys, .. } => keys,
                _ => Vec::new(),
            })
            .collect();
        // Whoever sits with a failed lane fails too.
        for key in keys {
            let seats = self.open.remove(&key).map(|instance| instance.seats);
            for seat in seats.into_iter().flatten() {
                self.fail(seat.lane, error);
            }
        }
        let waiting: Vec<usize> = (0..self.lanes.len())
            .filter(|at| {
                self.lanes[*at]
                    .queue
                    .iter()
                    .any(|act| matches!(act, Act::Wait { lane: on, .. } if *on == lane))
            })
            .collect();
        for at in waiting {
            self.fail(at, error);
        }
    }

    /// A rank has left: what waits for it never ends otherwise.
    pub(crate) fn leave(&mut self, seeded: Option<Seeded>, comm: usize, rank: u32) {
        self.comms[comm].left[rank as usize] = true;
        let open: Vec<Key> = self.open.keys().copied().collect();
        for key in open {
            self.give_up_without_peers(seeded, key);
        }
        let splits = self.splits.iter().filter(|((its, _), _)| *its == comm);
        let lanes: Vec<usize> =
            splits.flat_map(|(_, seats)| seats.iter().map(|(.., lane)| *lane)).collect();
        let what = format!("rank {rank} has left");
        let error: Error = Fault::Internal { what }.into();
        for lane in lanes {
            self.lanes[lane].error = Some(error.clone());
        }
    }

    /// Ends an instance if all who have not come have left, and the others are there.
    fn give_up_without_peers(&mut self, seeded: Option<Seeded>, key: Key) {
        let Some(instance) = self.open.get(&key) else { return };
        let came = |rank: u32| {
            instance.seats.iter().any(|seat| seat.arrived && seat.call.at.rank().index() == rank)
        };
        let (comm, members) = match key {
            Key::Collective { comm, .. } => (comm, (0..).take(instance.needed).collect()),
            Key::Message { comm, from, to, .. } => (comm, vec![from, to]),
        };
        let left = &self.comms[comm].left;
        let settled = members.iter().all(|rank| came(*rank) || left[*rank as usize]);
        let missing = members.iter().any(|rank| !came(*rank));
        if settled
            && missing
            && let Some(instance) = self.open.remove(&key)
        {
            self.accuse(seeded, instance.seats);
        }
    }

    /// Tells the ranks of these seats why their call will never be.
    fn accuse(&mut self, seeded: Option<Seeded>, seats: Vec<Seat>) {
        let (comm, ranks) = (seats[0].call.comm, seats[0].call.at.layout().ranks());
        let calls: Vec<_> =
            seats.iter().map(|seat| (seat.call.at.rank(), seat.call.signature)).collect();
        let gone = self.comms[comm].left.clone();
        for seat in seats {
            let told = seat.call.at.rank();
            let error = accuse::error(seeded, ranks, &calls, &gone, told);
            self.fail(seat.lane, &error);
        }
    }
}

/// Whether all seats are of one call.
fn agree(seats: &[Seat]) -> bool {
    let first = &seats[0].call;
    seats
        .iter()
        .all(|seat| (seat.call.at.layout(), seat.call.dtype) == (first.at.layout(), first.dtype))
}
