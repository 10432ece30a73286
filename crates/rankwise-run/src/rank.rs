//! One rank's part of a proposal.

use std::collections::BTreeMap;

use rankwise_comm::{Communicator, DeviceOrdinal, FoldOrder, Stream as _};
use rankwise_plan::plan::{Act, LocalStep, Proposal};
use rankwise_plan::values::Values;
use rankwise_topology::{World, WorldRank};

use crate::buffers::Buffers;
use crate::call::{ActRun, Done};
use crate::communicators::Communicators;
use crate::error::RunError;
use crate::job::Job;
use crate::messages::Message;
use crate::{local, trace};

/// What one rank did and what it holds afterwards.
#[derive(Clone, Debug, PartialEq)]
pub struct RankResult {
    /// The rank.
    pub rank: WorldRank,
    /// What it ran on; `None` if it got no communicator.
    pub ran_on: Option<RanOn>,
    /// What it did, in the order in which it was done.
    pub done: Vec<Done>,
    /// What it holds, by the proposal's own names of the buffers; empty if it failed.
    pub buffers: BTreeMap<String, Values>,
    /// Whether it came to its end.
    pub ended: Result<(), RunError>,
}

/// What a rank ran on, as its communicator says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RanOn {
    /// Where its buffers were, as the backend counts devices.
    pub device: DeviceOrdinal,
    /// The backend's name, with its version where it has one.
    pub backend: String,
    /// In which order the backend says it folds.
    pub fold_order: FoldOrder,
    /// Whether the backend says that it splits communicators.
    pub splits: bool,
}

/// Carries out one rank's part of a job.
///
/// The inputs are written, the steps carried out in the order of the plan, each waited
/// for, and what every buffer then holds is read. Everything goes to the communicator's
/// own stream; partitions get communicators by [`split`](Communicator::split), before
/// the first step. Consecutive messages are one group; so are those with only local acts
/// between them that read nothing of what is received. Local acts are carried out on the
/// host, by the arithmetic of the plan.
///
/// An error ends this rank's part and is in the result. `comm` stays open.
pub fn run_rank<C: Communicator>(comm: &C, job: &Job) -> RankResult {
    let index = comm.rank().index();
    let world = World::new(job.world());
    let declared = comm.capabilities();
    let ran_on = RanOn {
        device: comm.device(),
        backend: declared.backend().to_owned(),
        fold_order: declared.fold_order(),
        splits: declared.splits(),
    };
    // The ranks of a communicator of another size are ranks of another world.
    let (rank, fits) = match world.rank(index) {
        Some(rank) if comm.ranks() == job.world() => (rank, true),
        _ => (first(world), false),
    };
    let mut result = RankResult {
        rank,
        ran_on: Some(ran_on),
        done: Vec::new(),
        buffers: BTreeMap::new(),
        ended: Ok(()),
    };
    if !fits {
        let (found, needed) = (u64::from(comm.ranks().get()), job.world().get());
        result.ended = Err(RunError::World { found, needed });
        return result;
    }
    let span =
        trace::rank(&tracing::Span::current(), &job.proposal().name, index, job.world().get());
    span.in_scope(|| {
        let done = &mut result.done;
        match part(comm, job, result.rank, done) {
            Ok(buffers) => result.buffers = buffers,
            Err(error) => result.ended = Err(error),
        }
    });
    result
}

/// Every world has a rank 0.
fn first(world: World) -> WorldRank {
    match world.ranks().next() {
        Some(rank) => rank,
        None => unreachable!("a group has at least one rank"),
    }
}

fn part<C: Communicator>(
    comm: &C,
    job: &Job,
    rank: WorldRank,
    done: &mut Vec<Done>,
) -> Result<BTreeMap<String, Values>, RunError> {
    let outside = |error| RunError::Backend { step: None, error };
    let mut buffers = Buffers::new(comm);
    for input in job.plan().inputs.values() {
        let index = usize::try_from(rank.index()).ok();
        let given = index.and_then(|index| input.values.as_ref()?.get(index));
        let given = given.ok_or_else(|| RunError::NoValues { input: input.name.clone() })?;
        buffers.write(&input.name, given).map_err(outside)?;
    }
    let comms = Communicators::split(comm, rank, &job.splits).map_err(outside)?;
    let mut part = Part { comm, job, rank, buffers, comms, block: Vec::new(), done };
    part.carry_out(job.proposal())?;
    let Part { buffers, comms, .. } = part;
    let names: Vec<&str> = buffers.names().collect();
    let left = names.into_iter().map(|name| Ok((name.to_owned(), buffers.read(None, name)?)));
    let left: BTreeMap<String, Values> = left.collect::<Result<_, RunError>>()?;
    comms.close().map_err(outside)?;
    Ok(left)
}

/// One rank's part under way.
pub(crate) struct Part<'c, 'd, C: Communicator> {
    pub(crate) comm: &'c C,
    pub(crate) job: &'c Job,
    pub(crate) rank: WorldRank,
    pub(crate) buffers: Buffers<'c, C>,
    pub(crate) comms: Communicators<'c, C>,
    /// Messages that wait for what else belongs to their group.
    pub(crate) block: Vec<Message<C>>,
    pub(crate) done: &'d mut Vec<Done>,
}

impl<C: Communicator> Part<'_, '_, C> {
    fn carry_out(&mut self, proposal: &Proposal) -> Result<(), RunError> {
        let job = self.job;
        for (index, step) in proposal.steps.iter().enumerate() {
            match &step.act {
                Act::Collective(call) => self.collective(index, call)?,
                Act::Message(message) if job.plan().is_on(&message.on, self.rank) => {
                    self.message(index, message)?;
                }
                Act::Local(local) if job.plan().is_on(&local.on, self.rank) => {
                    self.local(index, local)?;
                }
                // No job has groups.
                Act::Message(_) | Act::Local(_) | Act::Group(_) => {}
            }
        }
        self.flush()
    }

    fn local(&mut self, step: usize, local: &LocalStep) -> Result<(), RunError> {
        let reads = local::reads(&local.act);
        if self.block.iter().any(|message| {
            message
                .receives()
                .is_some_and(|name| reads.contains(&name) || *name == local.recv.buffer)
        }) {
            self.flush()?;
        }
        let op = local::word(&local.act);
        trace::local(self.rank.index(), step, op);
        let outcome = self.compute(step, local, &reads);
        self.done.push(Done { step, act: ActRun::Local(op), outcome: outcome.clone() });
        outcome
    }

    fn compute(
        &mut self,
        step: usize,
        local: &LocalStep,
        reads: &[&String],
    ) -> Result<(), RunError> {
        let mut read = BTreeMap::new();
        for name in reads {
            read.insert((*name).clone(), self.buffers.read(Some(step), name)?);
        }
        let made = local::carry_out(local, read)?;
        self.buffers
            .write(&local.recv.buffer, &made)
            .map_err(|error| RunError::Backend { step: Some(step), error })
    }

    /// Blocks until everything enqueued so far is done.
    pub(crate) fn wait(&self) -> Result<(), rankwise_comm::Error> {
        self.comm.stream().fence()?.wait()
    }
}
