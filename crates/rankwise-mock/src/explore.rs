//! Every order in which ranks can reach their calls, one after another.
//!
//! A program is run again and again, a thread for each rank, of which exactly one runs at a
//! time: the [`Baton`] is passed on before whatever a peer could notice. The orders are the
//! paths of a tree, which [`path`] walks depth first; what a step has
//! [touched](touched::Touched) says which orders need not be told apart.

mod baton;
mod crew;
mod outcome;
mod path;
mod schedule;
mod step;
mod task;
mod touched;

use core::time::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use rankwise_comm::Error;
use rankwise_model::GroupSize;
use rankwise_program::Ending;

pub use self::baton::host_step;
pub(crate) use self::baton::{Baton, Roused};
use self::crew::Crew;
pub use self::outcome::{Explored, Failure, Outcome, RankEnd, Trouble};
use self::path::Path;
pub use self::schedule::{ParseScheduleError, Schedule};
pub(crate) use self::step::Step;
pub use self::task::block_on;
pub(crate) use self::touched::Touched;
use crate::comm::Comm;
use crate::inject::Faults;
use crate::table::place;
use crate::world::{World, message};

/// Which orders are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Orders {
    /// Each of them.
    #[default]
    All,
    /// Of those that differ only in the order of steps that do not touch each other, one.
    ///
    /// Only for programs whose ranks share nothing but their communicators, or come to a
    /// [`host_step`] before whatever else they share.
    Reduced,
}

/// When the deadline of a wait passes, such as that of `Fence::wait_within`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deadlines {
    /// When no rank can do anything else.
    #[default]
    Last,
    /// At any time: every order has its own.
    Any,
}

/// What bounds a run.
#[derive(Clone, Copy, Debug)]
struct Limits {
    steps: u64,
    vain_polls: u32,
    deadlines: Deadlines,
}

/// Runs a rank program in every order in which its ranks can reach their calls.
///
/// ```
/// use rankwise_comm::prelude::*;
/// use rankwise_mock::Exploration;
///
/// let explored = Exploration::of(2).run(|comm| {
///     let mut x = comm.buffer::<i32>(1)?;
///     comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
///     comm.stream().read(&x)
/// });
/// assert!(explored.failure().is_none(), "{}", explored.failure().unwrap());
/// assert!(explored.is_complete());
/// assert_eq!(explored.outcomes().len(), 1);
/// ```
///
/// A run has a thread for each rank, of which one runs at a time. Before whatever a peer could
/// notice, or whatever lets it notice a peer, any rank that can go on may: a call, a split, a
/// use of a stream, a wait (and going on after it, if it was not over), a poll, the drop of a
/// communicator, an abort, the begin and the end of the program, and [`host_step`]. The host's
/// code between two such steps is not interrupted.
///
/// What a rank does may depend on nothing but the order: not on time, chance, or what an
/// earlier run has left. State that ranks share is made anew for each run, by
/// [`run_with`](Self::run_with). Ranks may not wait for each other but by their communicators,
/// and only their own threads may use these. What breaks this is a [`Trouble`] of its own.
#[derive(Clone, Debug)]
#[must_use]
pub struct Exploration {
    world: World,
    orders: Orders,
    limits: Limits,
    max_schedules: u64,
    patience: Duration,
}

impl Exploration {
    /// Of a world of `ranks` ranks, in all orders.
    pub const fn new(ranks: GroupSize) -> Self {
        let limits = Limits { steps: 10_000, vain_polls: 1, deadlines: Deadlines::Last };
        let patience = Duration::from_secs(10);
        let world = World::new(ranks);
        Self { world, orders: Orders::All, limits, max_schedules: 100_000, patience }
    }

    /// The same for a number that is not zero; zero is taken for one.
    pub const fn of(ranks: u32) -> Self {
        match GroupSize::new(ranks) {
            Some(ranks) => Self::new(ranks),
            None => Self::new(GroupSize::ONE),
        }
    }

    /// Which orders are followed; all, if nothing is said.
    pub const fn orders(mut self, orders: Orders) -> Self {
        self.orders = orders;
        self
    }

    /// When deadlines pass; last, if nothing is said.
    pub const fn deadlines(mut self, deadlines: Deadlines) -> Self {
        self.limits.deadlines = deadlines;
        self
    }

    /// At most so many runs; 100,000, if nothing is said.
    pub const fn max_schedules(mut self, schedules: u64) -> Self {
        self.max_schedules = schedules;
        self
    }

    /// At most so many steps in a run; 10,000, if nothing is said.
    pub const fn max_steps(mut self, steps: u64) -> Self {
        self.limits.steps = steps;
        self
    }

    /// A rank that has polled so often in vain polls again only when something has happened
    /// meanwhile, or nothing else can; once, if nothing is said.
    pub const fn vain_polls(mut self, polls: u32) -> Self {
        self.limits.vain_polls = polls;
        self
    }

    /// How long a rank may compute between two steps; ten seconds, if nothing is said. One
    /// that takes longer is taken for one that waits outside of its communicators.
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// In a [strict world](World::strict).
    pub fn strict(mut self) -> Self {
        self.world = self.world.strict();
        self
    }

    /// These faults strike. Time stands still: those that only take time do nothing.
    pub fn with_faults(mut self, faults: Faults) -> Self {
        self.world = self.world.with_faults(faults);
        self
    }

    /// Runs `program` on every rank, in every order.
    pub fn run<T, P>(&self, program: P) -> Explored<T>
    where
        T: PartialEq + Send + 'static,
        P: Fn(&Comm) -> Result<T, Error> + Send + Sync + 'static,
    {
        self.run_with(|| (), move |comm, ()| program(comm))
    }

    /// The same with state that the ranks share, which is made anew for each order.
    pub fn run_with<S, T, P>(&self, shared: impl Fn() -> S, program: P) -> Explored<T>
    where
        S: Send + Sync + 'static,
        T: PartialEq + Send + 'static,
        P: Fn(&Comm, &S) -> Result<T, Error> + Send + Sync + 'static,
    {
        self.explore(Path::new(self.orders), self.max_schedules, &shared, &Arc::new(program))
    }

    /// Runs `program` once, in that order; what comes after its end in the order of the ranks.
    pub fn replay<T, P>(&self, schedule: &Schedule, program: P) -> Explored<T>
    where
        T: PartialEq + Send + 'static,
        P: Fn(&Comm) -> Result<T, Error> + Send + Sync + 'static,
    {
        self.replay_with(schedule, || (), move |comm, ()| program(comm))
    }

    /// The same with state that the ranks share.
    pub fn replay_with<S, T, P>(
        &self,
        schedule: &Schedule,
        shared: impl Fn() -> S,
        program: P,
    ) -> Explored<T>
    where
        S: Send + Sync + 'static,
        T: PartialEq + Send + 'static,
        P: Fn(&Comm, &S) -> Result<T, Error> + Send + Sync + 'static,
    {
        let path = Path::along(schedule, self.limits.steps);
        self.explore(path, 1, &shared, &Arc::new(program))
    }

    fn explore<S, T, P>(
        &self,
        mut path: Path,
        max_runs: u64,
        shared: &impl Fn() -> S,
        program: &Arc<P>,
    ) -> Explored<T>
    where
        S: Send + Sync + 'static,
        T: PartialEq + Send + 'static,
        P: Fn(&Comm, &S) -> Result<T, Error> + Send + Sync + 'static,
    {
        let mut explored = Explored::default();
        let crew = Crew::new(self.world.ranks().get());
        for _ in 0..max_runs {
            let baton = Baton::new(self.world.ranks().get(), self.limits, path);
            let ends = self.run_once(&crew, &baton, shared(), program);
            let (followed, mut trouble) = baton.into_path();
            path = followed;
            let (schedule, depth) = (path.schedule(), path.depth());
            if let (None, Some(rank)) = (&trouble, path.left_over()) {
                let found = "all ranks are over".to_owned();
                trouble = Some(Trouble::Unfit { step: depth, rank, found });
            }
            let steps = u64::try_from(depth).unwrap_or(u64::MAX);
            explored.steps = explored.steps.saturating_add(steps);
            explored.deepest = explored.deepest.max(steps);
            explored.held_back = path.held;
            if let Some(trouble) = trouble {
                explored.given_up = Some(Failure { schedule, trouble });
                return explored;
            }
            if path.is_begun_again() {
                explored = Explored::default();
                continue;
            }
            match ends {
                _ if path.repeats => explored.repeated = explored.repeated.saturating_add(1),
                Some(ends) => explored.add(ends, schedule),
                None => return explored,
            }
            if !path.advance() {
                explored.is_complete = true;
                return explored;
            }
        }
        explored
    }

    /// How each rank ends; `None` if one never came back.
    fn run_once<S, T, P>(
        &self,
        crew: &Crew,
        baton: &Arc<Baton>,
        shared: S,
        program: &Arc<P>,
    ) -> Option<Vec<RankEnd<T>>>
    where
        S: Send + Sync + 'static,
        T: Send + 'static,
        P: Fn(&Comm, &S) -> Result<T, Error> + Send + Sync + 'static,
    {
        let shared = Arc::new(shared);
        let (hub, comms) = self.world.clone().explored_by(baton);
        let ends: Vec<Option<RankEnd<T>>> = comms.iter().map(|_| None).collect();
        let ends = Arc::new(Mutex::new(ends));
        for comm in comms {
            let (hub, baton, ends) = (Arc::clone(&hub), Arc::clone(baton), Arc::clone(&ends));
            let (shared, program) = (Arc::clone(&shared), Arc::clone(program));
            let rank = comm.world_rank();
            let own = place(rank.index());
            crew.hand(own, move || {
                baton.begin(own);
                // The handle is shared with nobody once the program has unwound.
                let ended = catch_unwind(AssertUnwindSafe(|| program(&comm, &shared)));
                drop((shared, program));
                baton.end();
                let end = match ended {
                    Ok(returned) => {
                        hub.end(rank, Ending::Returned, None);
                        RankEnd::Returned(returned)
                    }
                    Err(panic) => {
                        let words = message(panic.as_ref());
                        hub.end(rank, Ending::Panicked, Some(words.clone()));
                        RankEnd::Panicked(words)
                    }
                };
                drop(comm);
                let mut ends = ends.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(slot) = ends.get_mut(own) {
                    *slot = Some(end);
                }
                drop(ends);
                baton.finish();
            });
        }
        baton.start();
        if !baton.attend(self.patience) {
            return None; // its thread is left behind, and holds what it holds
        }
        let mut ends = ends.lock().unwrap_or_else(PoisonError::into_inner);
        ends.drain(..).collect()
    }
}
