//! The ranks of one world, in one process.

use core::fmt;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;

use rankwise_model::GroupSize;
use rankwise_program::{Drivers, Ending};
use rankwise_topology::{Group, World as Ranks, WorldRank};

use crate::comm::Comm;
use crate::explore::Baton;
use crate::hub::{Changes, Extras, Hub, Rigor};
use crate::inject::{Faults, Injection};
use crate::quirks::Quirks;
use crate::recording::Recorder;
use crate::split::Joined;
use crate::waits::Host;

/// A world of so many ranks, each on a device of its own.
///
/// ```
/// use rankwise_comm::prelude::*;
/// use rankwise_mock::World;
///
/// let sums = World::of(2).run(|comm| {
///     let mine = [1, 2, 3, 4].map(|x| if comm.rank().index() == 0 { x } else { 10 * x });
///     let mut x = comm.buffer::<i32>(4)?;
///     comm.stream().write(&mut x, &mine)?;
///     comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
///     comm.stream().read(&x)
/// });
/// assert_eq!(sums, [Ok(vec![11, 22, 33, 44]), Ok(vec![11, 22, 33, 44])]);
/// ```
#[derive(Clone, Debug)]
pub struct World {
    ranks: GroupSize,
    drivers: Drivers,
    rigor: Rigor,
    quirks: Quirks,
    faults: Faults,
    recorder: Option<Recorder>,
}

/// A rank's panic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panicked {
    /// Which rank.
    pub rank: u32,
    /// What it said, if that was text.
    pub message: String,
}

impl World {
    /// A world of `ranks` ranks, each driven by one thread or one task: while that waits
    /// (without a deadline), the rank is taken for one that can do nothing else.
    ///
    /// Whoever waits for a rank's fence is taken for that rank's driver. Only the threads of
    /// [`run`](Self::run) are known: they wait as the rank whose program they run.
    pub const fn new(ranks: GroupSize) -> Self {
        let (drivers, rigor, quirks) = (Drivers::One, Rigor::Usual, Quirks::NONE);
        Self { ranks, drivers, rigor, quirks, faults: Faults::none(), recorder: None }
    }

    /// The same for a number that is not zero; zero is taken for one.
    pub const fn of(ranks: u32) -> Self {
        match GroupSize::new(ranks) {
            Some(ranks) => Self::new(ranks),
            None => Self::new(GroupSize::ONE),
        }
    }

    /// Each rank is driven by several threads or independent tasks.
    ///
    /// A rank that waits is then never taken for one that can do nothing else, so wait
    /// cycles are not reported; ranks that have ended and calls that contradict each
    /// other still are.
    #[must_use]
    pub const fn many_drivers(mut self) -> Self {
        self.drivers = Drivers::Many;
        self
    }

    /// Memory is poisoned until something is written to it: fresh buffers, and outputs from
    /// the moment at which their stream comes to the call until it is done; and of a buffer
    /// of a call in place, once it is done, all that the call does not write. What a program
    /// reads too early, or relies on without a promise, is then a NaN of its type, or for
    /// integers −1 or the greatest value.
    ///
    /// Every call goes the long way then; `docs/mock.md` says what that costs.
    #[must_use]
    pub const fn strict(mut self) -> Self {
        self.rigor = Rigor::Strict;
        self
    }

    /// Where a library differs from the specification, the world does as the library.
    #[must_use]
    pub const fn with_quirks(mut self, quirks: Quirks) -> Self {
        self.quirks = quirks;
        self
    }

    /// These faults strike.
    #[must_use]
    pub fn with_faults(mut self, faults: Faults) -> Self {
        self.faults = faults;
        self
    }

    /// Every call is recorded.
    #[must_use]
    pub fn recorded_by(mut self, recorder: &Recorder) -> Self {
        self.recorder = Some(recorder.clone());
        self
    }

    /// The number of ranks.
    pub const fn ranks(&self) -> GroupSize {
        self.ranks
    }

    /// Every rank's handle on a new communicator of all ranks, in rank order: for threads
    /// and tasks of your own.
    pub fn communicators(self) -> Vec<Comm> {
        self.start().1
    }

    /// Runs `program` on every rank, each in a thread of its own, and returns what they
    /// return, in rank order.
    ///
    /// # Panics
    ///
    /// If a rank panics, with the panic of the first that did, in rank order, once all have
    /// ended. Its peers are not left waiting: their calls return a report that names it.
    pub fn run<R: Send>(self, program: impl Fn(&Comm) -> R + Sync) -> Vec<R> {
        let ended = self.catch(program);
        ended
            .into_iter()
            .map(|result| result.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    }

    /// The same, with a panic of a rank as a value.
    pub fn try_run<R: Send>(self, program: impl Fn(&Comm) -> R + Sync) -> Vec<Result<R, Panicked>> {
        let ended = self.catch(program).into_iter().zip(0..);
        ended
            .map(|(result, rank)| {
                result.map_err(|panic| Panicked { rank, message: message(panic.as_ref()) })
            })
            .collect()
    }

    fn catch<R: Send>(
        self,
        program: impl Fn(&Comm) -> R + Sync,
    ) -> Vec<Result<R, Box<dyn Any + Send>>> {
        let (hub, comms) = self.start();
        let (hub, program) = (&hub, &program);
        thread::scope(|scope| {
            let threads: Vec<_> = comms
                .into_iter()
                .map(|comm| {
                    scope.spawn(move || {
                        let rank = comm.world_rank();
                        Host::runs(hub, rank);
                        // The handle is shared with nobody once the program has unwound.
                        let result = catch_unwind(AssertUnwindSafe(|| program(&comm)));
                        match &result {
                            Ok(_) => hub.end(rank, Ending::Returned, None),
                            Err(panic) => {
                                hub.end(rank, Ending::Panicked, Some(message(panic.as_ref())));
                            }
                        }
                        result
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().and_then(|result| result)).collect()
        })
    }

    /// Its ranks take turns.
    pub(crate) fn explored_by(self, baton: &Arc<Baton>) -> (Arc<Hub>, Vec<Comm>) {
        self.start_with(Some(Arc::clone(baton)))
    }

    fn start(self) -> (Arc<Hub>, Vec<Comm>) {
        self.start_with(None)
    }

    fn start_with(self, baton: Option<Arc<Baton>>) -> (Arc<Hub>, Vec<Comm>) {
        let (rigor, quirks) = (self.rigor, self.quirks);
        let injection = Injection::of(&self.faults);
        if let Some(recorder) = &self.recorder {
            recorder.begin();
        }
        let extras = Extras { rigor, quirks, injection, recorder: self.recorder, baton };
        let hub = Hub::new(self.ranks, self.drivers, extras);
        let group = Group::whole(Ranks::new(self.ranks));
        let name: Arc<str> = "world".into();
        let (comm, table) = hub.lock().add_communicator(&name, &group);
        let ranks = group.members().iter().zip(self.ranks.ranks());
        let comms = ranks
            .map(|(world_rank, rank)| {
                let (name, group, table) = (Arc::clone(&name), group.clone(), table.clone());
                Comm::new(&hub, *world_rank, Joined { comm, name, group, rank, table })
            })
            .collect();
        (hub, comms)
    }
}

impl Hub {
    /// The rank's program is over: nothing more will come from it.
    pub(crate) fn end(self: &Arc<Self>, rank: WorldRank, how: Ending, words: Option<String>) {
        let (mut state, mut changes) = (self.lock(), Changes::default());
        state.shut_all_of(rank, &mut changes);
        if let Some(words) = words {
            state.matcher.last_words(rank, words);
        }
        state.end(rank, how, "given up: its program is over");
        self.settle(state, changes);
    }
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} panicked: {}", self.rank, self.message)
    }
}

impl core::error::Error for Panicked {}

pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
