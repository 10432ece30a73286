//! All ranks of a job, each in a thread of its own.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::thread;

use rankwise_comm::Communicator;
use rankwise_plan::judge::Observed;
use rankwise_topology::{World, WorldRank};

use crate::CLOSING;
use crate::check::check;
use crate::error::RunError;
use crate::job::Job;
use crate::rank::{RankResult, run_rank};
use crate::record::RunRecord;

/// What a run left.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was run, on what, and whether it was right.
    pub record: RunRecord,
    /// What every rank that came to its end holds: by rank and buffer (public name).
    pub left: Observed,
}

/// Runs a job on given communicators, one per rank in rank order, and checks it.
///
/// Whatever goes wrong is in the record: this itself does not fail.
pub fn run<C: Communicator>(job: &Job, communicators: Vec<C>) -> Outcome {
    let found = u64::try_from(communicators.len()).unwrap_or(u64::MAX);
    let needed = job.world().get();
    if found != u64::from(needed) {
        drop(communicators);
        return launch(job, |_| Err::<C, _>(RunError::World { found, needed }));
    }
    let slots: Vec<_> = communicators.into_iter().map(|comm| Mutex::new(Some(comm))).collect();
    launch(job, |rank| {
        let slot = usize::try_from(rank.index()).ok().and_then(|index| slots.get(index));
        let comm = slot.and_then(|slot| slot.lock().unwrap_or_else(PoisonError::into_inner).take());
        comm.ok_or(RunError::World { found, needed })
    })
}

/// Runs a job whose ranks make their own communicators, each in its thread.
pub fn launch<C: Communicator>(
    job: &Job,
    start: impl Fn(WorldRank) -> Result<C, RunError> + Sync,
) -> Outcome {
    let results = each_rank(job, &start);
    let (checked, left) = check(job, &results);
    Outcome { record: RunRecord::of(job, &results, checked), left }
}

fn each_rank<C: Communicator>(
    job: &Job,
    start: &(impl Fn(WorldRank) -> Result<C, RunError> + Sync),
) -> Vec<RankResult> {
    // Whoever listens to the caller listens to its ranks.
    let listener = tracing::dispatcher::get_default(Clone::clone);
    let around = tracing::Span::current();
    let (listener, around) = (&listener, &around);
    thread::scope(|scope| {
        let threads: Vec<_> = World::new(job.world())
            .ranks()
            .map(|rank| {
                let part = move || {
                    tracing::dispatcher::with_default(listener, || {
                        around.in_scope(|| one_rank(job, rank, start))
                    })
                };
                let name = format!("rank {rank}");
                let thread = thread::Builder::new().name(name).spawn_scoped(scope, part);
                if thread.is_err() {
                    // Its communicator is made and dropped, so that no peer waits for it.
                    drop(start(rank));
                }
                (rank, thread)
            })
            .collect();
        threads
            .into_iter()
            .map(|(rank, thread)| match thread {
                Ok(thread) => {
                    thread.join().unwrap_or_else(|panic| nothing(rank, panicked(panic.as_ref())))
                }
                Err(error) => nothing(rank, RunError::Launch { text: error.to_string() }),
            })
            .collect()
    })
}

fn one_rank<C: Communicator>(
    job: &Job,
    rank: WorldRank,
    start: &impl Fn(WorldRank) -> Result<C, RunError>,
) -> RankResult {
    // The communicator is gone once this has unwound: the peers learn of it.
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let comm = match start(rank) {
            Ok(comm) => comm,
            Err(error) => return nothing(rank, error),
        };
        let found = comm.rank().index();
        if found != rank.index() {
            return nothing(rank, RunError::Misplaced { found, needed: rank.index() });
        }
        let mut result = run_rank(&comm, job);
        if result.ended.is_ok()
            && let Err(error) = comm.close(CLOSING)
        {
            result.ended = Err(RunError::Backend { step: None, error });
        }
        result
    }));
    ran.unwrap_or_else(|panic| nothing(rank, panicked(panic.as_ref())))
}

/// A rank that did nothing.
fn nothing(rank: WorldRank, error: RunError) -> RankResult {
    RankResult { rank, ran_on: None, done: Vec::new(), buffers: BTreeMap::new(), ended: Err(error) }
}

fn panicked(panic: &(dyn Any + Send)) -> RunError {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    RunError::Panicked { text: text.unwrap_or_default() }
}
