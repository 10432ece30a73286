//! The rendezvous of the short way, in every order that two or three ranks can take.
//!
//! The ring is the very file of the crate, on loom's atomics and locks: loom runs each test
//! for every interleaving, weak memory included. What is proved is what the short way asks
//! of it: a call is carried out once, with the seats of its own number, and is seen whole;
//! no seat is read and written at once; a slot is used again only when it is free; and
//! whoever closes a table finds each call either over or in its seat.
#![allow(unsafe_code, reason = "the ring's doors are unsafe, and here they are tried")]

use loom::sync::Arc;
use loom::sync::Mutex;
use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use loom::thread;

#[path = "../src/express/ring.rs"]
mod ring;

mod sync {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
}

use ring::{Came, Ring};

/// Ranks that meet in a ring, as the short way lets them.
struct Meeting {
    ring: Ring<u64>,
    /// By rank: how many of its calls are over.
    over: Vec<AtomicU64>,
    carried_out: AtomicUsize,
}

impl Meeting {
    fn of(ranks: usize, slots: usize) -> Arc<Self> {
        Arc::new(Self {
            ring: Ring::new(slots, ranks),
            over: (0..ranks).map(|_| AtomicU64::new(0)).collect(),
            carried_out: AtomicUsize::new(0),
        })
    }

    /// One rank's call, and the call of all if it is the last.
    fn come(&self, number: u64, rank: usize) {
        // The short way would go the long one; here it waits for its slot.
        while !self.ring.has_room(number) {
            thread::yield_now();
        }
        // SAFETY: each test has one thread for a rank, which makes its calls in order.
        if unsafe { self.ring.come(number, rank, number) } == Came::Before {
            return;
        }
        while self.ring.over() != number {
            thread::yield_now();
        }
        let mut seats = Vec::new();
        // SAFETY: the last to come looks, before the call is finished.
        unsafe { self.ring.look(number, |seat| seats.push(*seat)) };
        assert_eq!(seats, vec![number; self.over.len()], "in call {number}");
        self.carried_out.fetch_add(1, Ordering::Relaxed);
        let mut over = self.over.iter();
        // SAFETY: as above. This is `Progress::finish` of each seat.
        unsafe {
            self.ring.look(number, |seat| {
                over.next().map(|over| over.fetch_max(seat + 1, Ordering::AcqRel));
            });
        }
        self.ring.finish(number);
    }

    fn wait(&self, number: u64, rank: usize) {
        while self.over[rank].load(Ordering::Acquire) <= number {
            thread::yield_now();
        }
    }
}

/// The slot comes round: two calls in a ring of one, each waited for.
#[test]
fn each_call_is_carried_out_once_with_its_own_seats() {
    loom::model(|| {
        let meeting = Meeting::of(2, 1);
        let ranks: Vec<_> = (0..2)
            .map(|rank| {
                let meeting = Arc::clone(&meeting);
                thread::spawn(move || {
                    for number in 0..2 {
                        meeting.come(number, rank);
                        meeting.wait(number, rank);
                    }
                })
            })
            .collect();
        for rank in ranks {
            rank.join().unwrap();
        }
        assert_eq!(meeting.carried_out.load(Ordering::Relaxed), 2);
        assert_eq!(meeting.ring.over(), 2);
    });
}

/// Calls are enqueued before the first of them is waited for.
#[test]
fn a_rank_may_be_ahead_of_the_others() {
    loom::model(|| {
        let meeting = Meeting::of(2, 2);
        let ahead = Arc::clone(&meeting);
        let first = thread::spawn(move || {
            ahead.come(0, 0);
            ahead.come(1, 0);
            ahead.wait(1, 0);
        });
        meeting.come(0, 1);
        meeting.come(1, 1);
        meeting.wait(1, 1);
        first.join().unwrap();
        assert_eq!(meeting.carried_out.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn three_ranks_meet() {
    loom::model(|| {
        let meeting = Meeting::of(3, 1);
        let others: Vec<_> = (1..3)
            .map(|rank| {
                let meeting = Arc::clone(&meeting);
                thread::spawn(move || meeting.come(0, rank))
            })
            .collect();
        meeting.come(0, 0);
        for rank in others {
            rank.join().unwrap();
        }
        assert_eq!(meeting.carried_out.load(Ordering::Relaxed), 1);
    });
}

/// A rank goes to sleep while the other comes: it locks both desks, and then its call is
/// over or still in its seat. If it were neither, nobody would wake it.
#[test]
fn closing_finds_a_call_over_or_in_its_seat() {
    loom::model(|| {
        let meeting = Meeting::of(2, 2);
        let desks = Arc::new([Mutex::new(()), Mutex::new(())]);
        let open = Arc::new(Mutex::new(true));
        let (other, other_desks, other_open) =
            (Arc::clone(&meeting), Arc::clone(&desks), Arc::clone(&open));
        let peer = thread::spawn(move || {
            let _desk = other_desks[1].lock().unwrap();
            let is_open = *other_open.lock().unwrap();
            if is_open {
                other.come(0, 1);
            }
        });
        {
            let _desk = desks[0].lock().unwrap();
            meeting.come(0, 0);
        }
        let first = desks[0].lock().unwrap();
        let second = desks[1].lock().unwrap();
        *open.lock().unwrap() = false;
        let is_over = meeting.over[0].load(Ordering::Acquire) > 0;
        assert_eq!(is_over, meeting.ring.over() == 1, "nobody is in the middle of it");
        if !is_over {
            // SAFETY: rank 0 has come, and all desks are locked.
            assert_eq!(unsafe { meeting.ring.take(0, 0) }, Some(0));
        }
        drop((first, second));
        peer.join().unwrap();
        // The table opens again, and the same slot is as good as new.
        if !is_over {
            meeting.ring.restart(0);
            meeting.come(0, 0);
            meeting.come(0, 1);
        }
        assert_eq!(meeting.carried_out.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn there_is_room_for_as_many_calls_as_slots() {
    loom::model(|| {
        let meeting = Meeting::of(1, 2);
        assert!(meeting.ring.has_room(0) && meeting.ring.has_room(1) && !meeting.ring.has_room(2));
        meeting.come(0, 0);
        assert!(meeting.ring.has_room(2) && !meeting.ring.has_room(3));
    });
}
