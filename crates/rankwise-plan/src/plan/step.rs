//! The steps of a proposal: calls, alone or several as one, and local acts.

use alloc::string::String;
use alloc::vec::Vec;

use rankwise_model::{GroupSize, OperationKind, Rank, Reduction};
use rankwise_topology::{Partition, WorldRank};

use super::{Counts, LocalStep, On, Operand, Plan};
use crate::error::Span;

/// One step of a proposal.
#[derive(Clone, Debug)]
pub struct Step {
    /// What is done.
    pub act: Act,
    /// Where it stands.
    pub span: Span,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Act {
    /// One collective in each group of a partition.
    Collective(CollectiveStep),
    /// One side of a message.
    Message(MessageStep),
    /// A local act, without communication.
    Local(LocalStep),
    /// Several communications as one.
    Group(GroupStep),
}

/// Communications that are made as one, none of them before another.
#[derive(Clone, Debug)]
pub struct GroupStep {
    /// The call that stands for them, where the plan does not write them out:
    /// `all_gather_v`.
    pub stands_for: Option<&'static str>,
    /// The buffers made anew before them, to be written part by part: local acts.
    pub opens: Vec<Step>,
    /// What they read between them, where that must be all of a buffer.
    pub divides: Option<Divided>,
    /// What is done: collectives and messages.
    pub steps: Vec<Step>,
}

/// A buffer that the parts of a group read part by part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divided {
    /// The buffer.
    pub buffer: String,
    /// Its length in elements, on the ranks that read it.
    pub counts: Counts,
}

/// What becomes of a collective's `recv` on ranks to which it promises no output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// It is handed in there too, and nothing is promised of it afterwards.
    NotPromised,
    /// No buffer is handed in there: NCCL reads the pointer on the root only.
    Untouched,
}

/// A collective, carried out in every group of `over` by the members of that group.
#[derive(Clone, Debug)]
pub struct CollectiveStep {
    /// Which collective; never [`OperationKind::Message`].
    pub kind: OperationKind,
    /// How values combine; `None` if the plan does not say (then nothing that
    /// depends on it is known).
    pub reduction: Option<Reduction>,
    /// One scalar per rank of a group, for a pre-multiplied sum; as written.
    pub scalars: Option<Vec<String>>,
    /// The root, as a rank of each group; given exactly for rooted collectives.
    pub root: Option<Rank>,
    /// The groups.
    pub over: Partition,
    /// The name under which the groups were given, if they have one.
    pub over_name: Option<String>,
    /// What is read.
    pub send: Operand,
    /// What is written; the same as `send` means in place.
    pub recv: Operand,
    /// What becomes of `recv` on ranks to which the call promises no output.
    pub elsewhere: Elsewhere,
    /// The count argument, if stated; checked by the collective's convention.
    pub count: Option<u64>,
    /// Where the count stands.
    pub count_span: Option<Span>,
}

/// A send or a recv, by each rank of `on`.
#[derive(Clone, Debug)]
pub struct MessageStep {
    /// Which side it is.
    pub direction: Direction,
    /// Who does it.
    pub on: On,
    /// The group in which `peer` is a rank; the world if none was named.
    pub over: Partition,
    /// The name of that group, if it has one.
    pub over_name: Option<String>,
    /// The other side, as a rank of the group.
    pub peer: Rank,
    /// What is sent, or received into.
    pub buffer: Operand,
    /// The count argument, if stated.
    pub count: Option<u64>,
}

/// The side of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// The sender's.
    Send,
    /// The receiver's.
    Recv,
}

impl Act {
    /// Who does it, where the act says; a collective is done by the members of its groups.
    pub const fn on(&self) -> Option<&On> {
        match self {
            Self::Message(message) => Some(&message.on),
            Self::Local(local) => Some(&local.on),
            Self::Collective(_) | Self::Group(_) => None,
        }
    }

    /// What it writes; of a group nothing by itself.
    pub const fn writes(&self) -> Option<&Operand> {
        match self {
            Self::Collective(call) => Some(&call.recv),
            Self::Message(MessageStep { direction: Direction::Recv, buffer, .. }) => Some(buffer),
            Self::Local(local) => Some(&local.recv),
            Self::Message(_) | Self::Group(_) => None,
        }
    }

    /// The acts that it is made of: those of a group, else itself.
    pub fn each(&self) -> impl Iterator<Item = &Self> {
        let (own, parts) = match self {
            Self::Group(group) => (None, Some(group.opens.iter().chain(&group.steps))),
            _ => (Some(self), None),
        };
        own.into_iter().chain(parts.into_iter().flatten().map(|step| &step.act))
    }

    /// The steps that it makes `rank` do before anything else, and the numbers of those
    /// of a group that are this rank's.
    pub(crate) fn of_rank(&self, plan: &Plan, rank: WorldRank) -> (Vec<&Step>, Vec<usize>) {
        let Self::Group(group) = self else { return (Vec::new(), Vec::new()) };
        let is_its = |step: &Step| match &step.act {
            // Whoever is in no group of a call that is written so is told.
            Self::Collective(call) => {
                group.stands_for.is_none() || call.over.locate(rank).is_some()
            }
            act => act.on().is_some_and(|on| plan.is_on(on, rank)),
        };
        let opens = group.opens.iter().filter(|step| is_its(step)).collect();
        let parts = group.steps.iter().enumerate();
        (opens, parts.filter(|(_, step)| is_its(step)).map(|(part, _)| part).collect())
    }

    /// How often something is done for it, counted by rank, at most.
    pub(crate) fn turns(&self, world: GroupSize) -> u64 {
        let turns = |act: &Self| match act.on() {
            Some(On::Rank(_)) => 1,
            _ => u64::from(world.get()),
        };
        self.each().map(turns).fold(0, u64::saturating_add)
    }
}
