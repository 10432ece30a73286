//! The ranks of one group, each on a thread of its own, and the watch over them.

use core::fmt::Write;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rankwise_comm::{AbortHandle, Capabilities, Communicator};
use rankwise_model::{GroupSize, Rank};

use crate::defect::{Defect, Failure};
use crate::zone::Workspace;

/// One rank's thread: what it owns.
pub(crate) struct Seat<C: Communicator> {
    /// `None` once a case has taken it for good.
    comm: Option<C>,
    pub(crate) work: Workspace<C::Memory>,
    rank: Rank,
}

/// What every rank does in one case.
pub(crate) type Part<C> = Arc<dyn Fn(&mut Seat<C>) -> Result<(), Defect> + Send + Sync>;

/// The threads of one group.
pub(crate) struct Crew<C: Communicator> {
    ranks: GroupSize,
    capabilities: Capabilities,
    orders: Vec<Sender<Part<C>>>,
    answers: Receiver<(usize, Result<(), Defect>)>,
    aborts: Vec<AbortHandle>,
    threads: Vec<JoinHandle<()>>,
}

/// How a case ended.
pub(crate) enum Ended {
    /// All ranks are ready for the next one.
    Well,
    /// The rank that says most about what is wrong, and what it found.
    Badly(Failure),
    /// These ranks did not come back in time; that many not even after an abort.
    Hung { waiting: Vec<Rank>, leaked: usize },
}

/// How long the others have once one rank has failed, and again after an abort.
const GRACE: Duration = Duration::from_secs(1);

impl<C: Communicator> Seat<C> {
    pub(crate) const fn rank(&self) -> Rank {
        self.rank
    }

    pub(crate) fn comm(&self) -> Result<&C, Defect> {
        self.comm.as_ref().ok_or_else(gone)
    }

    pub(crate) fn parts(&mut self) -> Result<(&C, &mut Workspace<C::Memory>), Defect> {
        Ok((self.comm.as_ref().ok_or_else(gone)?, &mut self.work))
    }

    /// The communicator for good: the group is launched anew after this case.
    pub(crate) fn take(&mut self) -> Result<C, Defect> {
        self.work = Workspace::new();
        self.comm.take().ok_or_else(gone)
    }
}

fn gone() -> Defect {
    Defect::new("an earlier case has taken the communicator")
}

impl<C: Communicator> Crew<C> {
    /// Seats the communicators, which must be a group in rank order.
    pub(crate) fn seat(ranks: GroupSize, comms: Vec<C>) -> Result<Self, String> {
        if u32::try_from(comms.len()) != Ok(ranks.get()) {
            return Err(format!("{} communicators were launched for {ranks} ranks", comms.len()));
        }
        for (rank, comm) in ranks.ranks().zip(&comms) {
            if (comm.rank(), comm.ranks()) != (rank, ranks) {
                return Err(format!(
                    "communicator {rank} of {ranks} says that it is rank {} of {}",
                    comm.rank(),
                    comm.ranks()
                ));
            }
        }
        let Some(capabilities) = comms.first().map(|comm| comm.capabilities().clone()) else {
            return Err("no communicator was launched".to_owned());
        };
        let (answer, answers) = channel();
        let mut crew = Self {
            ranks,
            capabilities,
            orders: Vec::new(),
            answers,
            aborts: comms.iter().map(Communicator::abort_handle).collect(),
            threads: Vec::new(),
        };
        for (index, comm) in comms.into_iter().enumerate() {
            let (order, orders) = channel::<Part<C>>();
            let answer = answer.clone();
            let rank = comm.rank();
            let seat = Seat { comm: Some(comm), work: Workspace::new(), rank };
            let thread = thread::Builder::new()
                .name(format!("rank {rank}"))
                .spawn(move || serve(index, seat, &orders, &answer))
                .map_err(|error| format!("no thread for rank {rank}: {error}"))?;
            crew.orders.push(order);
            crew.threads.push(thread);
        }
        Ok(crew)
    }

    pub(crate) const fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// Has every rank do its part, and watches the clock.
    pub(crate) fn run(&mut self, part: &Part<C>, within: Duration) -> Ended {
        for order in &self.orders {
            // A rank that is gone does not answer, and is then named.
            let _ = order.send(Arc::clone(part));
        }
        let mut watch = Watch::new(self.ranks);
        self.collect(&mut watch, Instant::now().checked_add(within));
        let waiting = watch.waiting();
        // Whoever fails first says why; that the others then wait follows from it. What
        // ranks say that were aborted is no news.
        let first = watch.failure.take();
        if !waiting.is_empty() {
            for abort in &self.aborts {
                // What an abort has to say by panicking is no reason to stop the suite.
                let abort = || abort.abort("the conformance suite gives the case up");
                let _ = catch_unwind(AssertUnwindSafe(abort));
            }
            self.collect(&mut watch, Instant::now().checked_add(GRACE));
        }
        let leaked = watch.waiting().len();
        match first {
            None if waiting.is_empty() => Ended::Well,
            None => Ended::Hung { waiting, leaked },
            Some((rank, mut defect)) => {
                if leaked > 0 {
                    let _ = write!(defect.words, "; and {leaked} threads are leaked");
                }
                Ended::Badly(Failure { rank: Some(rank), defect })
            }
        }
    }

    /// Takes answers until all are there or the time is up, which is soon after a failure.
    fn collect(&self, watch: &mut Watch, mut deadline: Option<Instant>) {
        while watch.missing() {
            let left = deadline
                .map_or(GRACE, |deadline| deadline.saturating_duration_since(Instant::now()));
            match self.answers.recv_timeout(left) {
                Ok((index, Ok(()))) => watch.came(index),
                Ok((index, Err(defect))) => {
                    watch.came(index);
                    watch.failed(index, defect);
                    let soon = Instant::now().checked_add(GRACE);
                    deadline = match (deadline, soon) {
                        (Some(deadline), Some(soon)) => Some(deadline.min(soon)),
                        (deadline, soon) => deadline.or(soon),
                    };
                }
                Err(RecvTimeoutError::Timeout) if deadline.is_some() => return,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Ends a crew. Threads that do not come back are left alone.
    pub(crate) fn dismiss(self) {
        drop(self.orders);
        let deadline = Instant::now().checked_add(GRACE);
        for thread in self.threads {
            while !thread.is_finished() && deadline.is_some_and(|by| Instant::now() < by) {
                thread::sleep(Duration::from_micros(20));
            }
            if thread.is_finished() {
                // Parts are run under `catch_unwind`: what panics here is a communicator's
                // drop, whose words the panic hook has printed.
                let _ = thread.join();
            }
        }
    }
}

/// Who has answered, and what they said first.
struct Watch {
    here: Vec<bool>,
    ranks: GroupSize,
    failure: Option<(Rank, Defect)>,
}

impl Watch {
    fn new(ranks: GroupSize) -> Self {
        Self { here: ranks.ranks().map(|_| false).collect(), ranks, failure: None }
    }

    fn came(&mut self, index: usize) {
        if let Some(here) = self.here.get_mut(index) {
            *here = true;
        }
    }

    fn failed(&mut self, index: usize, defect: Defect) {
        let rank = self.ranks.ranks().nth(index).unwrap_or(self.ranks.first());
        // A wrong value says more than the error of whoever waited for its finder.
        let says_more = |known: &Defect| known.error.is_some() && defect.error.is_none();
        if self.failure.as_ref().is_none_or(|(_, known)| says_more(known)) {
            self.failure = Some((rank, defect));
        }
    }

    fn missing(&self) -> bool {
        self.here.iter().any(|here| !here)
    }

    fn waiting(&self) -> Vec<Rank> {
        let all = self.ranks.ranks().zip(&self.here);
        all.filter(|(_, here)| !**here).map(|(rank, _)| rank).collect()
    }
}

/// One rank's thread.
fn serve<C: Communicator>(
    index: usize,
    mut seat: Seat<C>,
    orders: &Receiver<Part<C>>,
    answer: &Sender<(usize, Result<(), Defect>)>,
) {
    while let Ok(part) = orders.recv() {
        let result = catch_unwind(AssertUnwindSafe(|| part(&mut seat)))
            .unwrap_or_else(|panic| Err(Defect::new(format!("panicked: {}", words(&*panic)))));
        drop(part);
        let over = result.is_err();
        if answer.send((index, result)).is_err() || over {
            // The group is given up: dropping the communicator lets the peers go on.
            return;
        }
    }
}

/// What a panic says.
pub(crate) fn words(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("with no words")
}
