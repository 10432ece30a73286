//! Whose turn it is: of the threads of the ranks exactly one runs at a time.
//!
//! A thread that comes to a [`Step`] says so and chooses, for all, who goes on; if that is
//! itself, nobody is woken. Nothing here asks for the lock of the hub.

use core::cell::RefCell;
use core::time::Duration;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

use rankwise_comm::{Error, Fault};

use super::outcome::Trouble;
use super::path::{Offer, Path};
use super::step::Step;
use super::touched::Touched;
use super::{Deadlines, Limits};
use crate::table::place;

thread_local! {
    /// Which rank of which run this thread is.
    static SELF: RefCell<Option<(Arc<Baton>, usize)>> = const { RefCell::new(None) };
}

/// What the threads of the ranks share in one run.
pub(crate) struct Baton {
    turns: Mutex<Turns>,
    /// A rank waits here for its turn.
    seats: Vec<Condvar>,
    /// All ranks are over.
    over: Condvar,
}

struct Turns {
    ranks: Vec<Rank>,
    /// Whose turn it is.
    turn: Option<usize>,
    path: Path,
    /// What the step under way has touched.
    touched: Touched,
    limits: Limits,
    /// The order is not followed any further.
    trouble: Option<Trouble>,
}

struct Rank {
    at: At,
    /// What it waits for may be over.
    awake: Arc<Awake>,
    /// How often it has polled in vain since anything has happened.
    vain: u32,
}

/// Where a rank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// It has its turn.
    Running,
    /// It is held before a step.
    Before(Step),
    /// It waits for a peer, perhaps until a deadline.
    Asleep {
        limited: bool,
    },
    /// Its program is over; what it holds is given back in the same turn.
    Ending,
    Over,
}

/// Why a rank that waits has its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Roused {
    /// What it waits for may be over.
    Woken,
    /// Its deadline has passed.
    Passed,
}

/// Wakes a rank that waits: it may be given its turn.
#[derive(Default)]
struct Awake(AtomicBool);

impl Wake for Awake {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

impl Baton {
    /// All ranks are held before they begin.
    pub(super) fn new(ranks: u32, limits: Limits, path: Path) -> Arc<Self> {
        let rank = |_| Rank { at: At::Before(Step::Begin), awake: Arc::default(), vain: 0 };
        let ranks: Vec<_> = (0..ranks).map(rank).collect();
        let seats = ranks.iter().map(|_| Condvar::new()).collect();
        let (touched, trouble) = (Touched::default(), None);
        let turns = Turns { ranks, turn: None, path, touched, limits, trouble };
        Arc::new(Self { turns: Mutex::new(turns), seats, over: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, Turns> {
        // Nothing panics under it.
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// That of the run of which this thread is a rank.
    pub(super) fn current() -> Option<Arc<Self>> {
        let own = SELF.try_with(|own| own.borrow().as_ref().map(|(baton, _)| Arc::clone(baton)));
        own.ok().flatten()
    }

    /// The rank that this thread runs.
    fn own(self: &Arc<Self>) -> Option<usize> {
        let own = SELF.try_with(|own| {
            own.borrow().as_ref().filter(|(baton, _)| Arc::ptr_eq(baton, self)).map(|(_, at)| *at)
        });
        own.ok().flatten()
    }

    /// This thread runs that rank from now on, once it is its turn.
    pub(super) fn begin(self: &Arc<Self>, rank: usize) {
        SELF.with(|own| *own.borrow_mut() = Some((Arc::clone(self), rank)));
        drop(self.await_turn(self.lock(), rank));
    }

    /// Gives somebody the first turn.
    pub(super) fn start(&self) {
        drop(self.pass_on(self.lock()));
    }

    /// Comes to a step: returns when it may be taken. An error if no order is followed any
    /// more.
    pub(crate) fn turn(self: &Arc<Self>, step: Step) -> Result<(), Error> {
        let mut turns = self.lock();
        if turns.is_over() {
            return Ok(()); // what the ranks have returned is being dropped
        }
        let Some(own) = self.own() else {
            drop(self.give_up(turns, Trouble::Stranger));
            return Err(given_up());
        };
        let Some(rank) = turns.ranks.get_mut(own).filter(|rank| rank.at == At::Running) else {
            return Ok(());
        };
        rank.at = At::Before(step);
        let turns = self.pass_on(turns);
        self.await_turn(turns, own).map(drop)
    }

    /// The rank of this thread has polled.
    pub(crate) fn polled(self: &Arc<Self>, over: bool) {
        let (own, mut turns) = (self.own(), self.lock());
        if let Some(rank) = own.and_then(|own| turns.ranks.get_mut(own)) {
            rank.vain = if over { 0 } else { rank.vain.saturating_add(1) };
        }
    }

    /// What wakes the rank of this thread, which is about to sleep.
    pub(crate) fn waker(self: &Arc<Self>) -> Option<Waker> {
        let own = self.own()?;
        let awake = Arc::clone(&self.lock().ranks.get(own)?.awake);
        awake.0.store(false, Ordering::Release);
        Some(awake.into())
    }

    /// The rank of this thread sleeps until it is woken, or its deadline passes.
    pub(crate) fn sleep(self: &Arc<Self>, limited: bool) -> Result<Roused, Error> {
        let mut turns = self.lock();
        let Some(own) = self.own() else {
            drop(self.give_up(turns, Trouble::Stranger));
            return Err(given_up());
        };
        if let Some(rank) = turns.ranks.get_mut(own) {
            rank.at = At::Asleep { limited };
        }
        turns = self.pass_on(turns);
        let turns = self.await_turn(turns, own)?;
        let woken = |rank: &Rank| rank.awake.0.swap(false, Ordering::AcqRel);
        let woken = turns.ranks.get(own).is_some_and(woken);
        Ok(if woken { Roused::Woken } else { Roused::Passed })
    }

    /// The program of the rank of this thread is over, and its turn goes on until it has
    /// [finished](Self::finish).
    pub(super) fn end(self: &Arc<Self>) {
        // Given up or not, it is over.
        let _ = self.turn(Step::End);
        if let Some(own) = self.own()
            && let Some(rank) = self.lock().ranks.get_mut(own)
        {
            rank.at = At::Ending;
        }
    }

    /// The rank of this thread does nothing more.
    pub(super) fn finish(self: &Arc<Self>) {
        let (own, mut turns) = (self.own(), self.lock());
        if let Some(rank) = own.and_then(|own| turns.ranks.get_mut(own)) {
            rank.at = At::Over;
        }
        if turns.is_over() {
            let touched = core::mem::take(&mut turns.touched);
            turns.path.note(touched);
            self.over.notify_all();
            drop(turns);
        } else {
            drop(self.pass_on(turns));
        }
        // Else the thread would keep what keeps it.
        drop(SELF.try_with(|own| own.borrow_mut().take()));
    }

    /// Waits until all ranks are over, or one has not come back for too long. Whether all
    /// are.
    pub(super) fn attend(&self, patience: Duration) -> bool {
        let mut turns = self.lock();
        loop {
            let seen = (turns.path.depth(), turns.trouble.is_some());
            let waited = self.over.wait_timeout_while(turns, patience, |turns| !turns.is_over());
            let late;
            (turns, late) = waited.unwrap_or_else(PoisonError::into_inner);
            if !late.timed_out() {
                return true;
            }
            if (turns.path.depth(), turns.trouble.is_some()) != seen {
                continue;
            }
            if turns.trouble.is_some() {
                return false;
            }
            let rank = turns.turn.and_then(|own| u32::try_from(own).ok()).unwrap_or(u32::MAX);
            turns = self.give_up(turns, Trouble::Outside { rank, patience });
        }
    }

    /// What is left of the run.
    pub(super) fn into_path(self: &Arc<Self>) -> (Path, Option<Trouble>) {
        let mut turns = self.lock();
        (core::mem::take(&mut turns.path), turns.trouble.clone())
    }

    /// Notes what the step under way touches.
    pub(crate) fn touch(&self, note: impl FnOnce(&mut Touched)) {
        note(&mut self.lock().touched);
    }

    fn give_up<'t>(
        &'t self,
        mut turns: MutexGuard<'t, Turns>,
        trouble: Trouble,
    ) -> MutexGuard<'t, Turns> {
        turns.trouble.get_or_insert(trouble);
        turns.turn = None;
        self.seats.iter().for_each(Condvar::notify_all);
        turns
    }

    /// Chooses whose turn it is.
    fn pass_on<'t>(&'t self, mut turns: MutexGuard<'t, Turns>) -> MutexGuard<'t, Turns> {
        if turns.trouble.is_some() {
            return turns;
        }
        match turns.choose() {
            Ok(rank) if turns.turn == Some(rank) => turns,
            Ok(rank) => {
                turns.turn = Some(rank);
                // Without the lock, which whoever is woken asks for.
                drop(turns);
                self.seats.get(rank).into_iter().for_each(Condvar::notify_all);
                self.lock()
            }
            Err(trouble) => self.give_up(turns, trouble),
        }
    }

    fn await_turn<'t>(
        &'t self,
        mut turns: MutexGuard<'t, Turns>,
        own: usize,
    ) -> Result<MutexGuard<'t, Turns>, Error> {
        while turns.trouble.is_none() && turns.turn != Some(own) {
            let Some(seat) = self.seats.get(own) else { break };
            turns = seat.wait(turns).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(rank) = turns.ranks.get_mut(own) {
            rank.at = At::Running;
        }
        if turns.trouble.is_some() { Err(given_up()) } else { Ok(turns) }
    }
}

impl Turns {
    fn is_over(&self) -> bool {
        self.ranks.iter().all(|rank| rank.at == At::Over)
    }

    /// Whose turn it is.
    fn choose(&mut self) -> Result<usize, Trouble> {
        let passes = self.limits.deadlines == Deadlines::Any;
        let mut offers = self.offers(passes);
        if offers.is_empty() {
            offers = self.offers(true);
        }
        if offers.is_empty() {
            return Err(Trouble::Stuck);
        }
        if offers.iter().all(|offer| offer.held) {
            for offer in &mut offers {
                offer.held = false;
            }
        }
        if u64::try_from(self.path.depth()).unwrap_or(u64::MAX) >= self.limits.steps {
            return Err(Trouble::Endless { max_steps: self.limits.steps });
        }
        let touched = core::mem::take(&mut self.touched);
        let step = |offers: &[Offer], rank| {
            offers.iter().find(|offer| offer.rank == rank).map(|offer| offer.step)
        };
        let known = offers.clone();
        let rank = self.path.choose(offers, touched)?;
        let step = step(&known, rank).ok_or(Trouble::Stuck)?;
        match step {
            Step::Host => self.touched.host(),
            Step::Begin | Step::Stream | Step::Poll => {}
            // Whether it passes, and what is said then, depends on all others.
            Step::Pass | Step::Status => self.touched.everything(),
            _ => self.touched.told(),
        }
        if step.stirs() {
            self.ranks.iter_mut().for_each(|rank| rank.vain = 0);
        }
        Ok(place(rank))
    }

    /// What can be done next, by rank.
    fn offers(&self, passes: bool) -> Vec<Offer> {
        let offer = |(rank, number): (&Rank, u32)| {
            let step = match rank.at {
                At::Before(step) => step,
                At::Asleep { .. } if rank.awake.0.load(Ordering::Acquire) => Step::GoOn,
                At::Asleep { limited: true } if passes => Step::Pass,
                _ => return None,
            };
            let held = step == Step::Poll && rank.vain >= self.limits.vain_polls;
            Some(Offer { rank: number, step, held })
        };
        self.ranks.iter().zip(0..).filter_map(offer).collect()
    }
}

/// What a rank is told when no order is followed any more.
fn given_up() -> Error {
    let what = "given up: the exploration has ended in the middle of this order".to_owned();
    Fault::TimedOut { waited: Duration::ZERO, what }.into()
}

/// A scheduling point of the program's own: to be put before whatever ranks share outside of
/// their communicators, such as a counter, a cell or a file.
///
/// In an [`Exploration`](super::Exploration) any other rank may go first here; elsewhere this
/// does nothing.
pub fn host_step() {
    if let Some(baton) = Baton::current() {
        // Given up, the rank learns it from its next call.
        let _ = baton.turn(Step::Host);
    }
}
