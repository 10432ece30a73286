//! A plan, read and validated: the group, its inputs, the proposals, the needs.
//!
//! Everything here is meaning; how it was written down is [`file`](crate::file).
//! Each part keeps the [`Span`] it was read from, so that a contradiction found
//! much later can still point at its line.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use rankwise_model::{Dtype, GroupSize, OperationKind, Rank, Reduction, Scalar};
use rankwise_topology::{Partition, RankMap, WorldRank};

pub use rankwise_program::program::Host;

use crate::error::Span;
use crate::values::Values;

/// One plan file, validated.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How many ranks take part.
    pub world: GroupSize,
    /// Which device each rank is on, where the plan says.
    pub map: Option<RankMap>,
    /// The named partitions of the ranks.
    pub partitions: BTreeMap<String, Partition>,
    /// What the ranks hold before the first step, by name.
    pub inputs: BTreeMap<String, Input>,
    /// The proposals, in the order of the file.
    pub proposals: Vec<Proposal>,
    /// What the consumers need, in the order of the file.
    pub needs: Vec<Need>,
}

/// One buffer of the same shape on every rank, before the first step.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its name, which is also the name of the buffer that holds it.
    pub name: String,
    /// The element type.
    pub dtype: Dtype,
    /// Elements on each rank.
    pub count: u64,
    /// What the values are, in words; part of their identity.
    pub meaning: Option<String>,
    /// What each contribution belongs to: relabel the ranks and it stays there.
    pub attached: Attachment,
    /// The values, one entry per contribution in rank order; `None` for a purely
    /// symbolic input.
    pub values: Option<Vec<Values>>,
    /// How many literals had to be rounded to the element type.
    pub rounded: u64,
    /// Where it stands.
    pub span: Span,
}

/// What a contribution belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Attachment {
    /// The device: whichever rank the device becomes contributes it.
    Device,
    /// The rank: whichever device the rank is put on contributes it.
    Rank,
}

/// One way to do the job.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// Its name in the file.
    pub name: String,
    /// What it does, in order; of programs, the steps of one after those of another.
    pub steps: Vec<Step>,
    /// Where each rank has an order of its own: who does which of the steps, and when.
    /// Empty where all ranks do the steps in their order.
    pub programs: Vec<RankProgram>,
    /// The buffers that are its result, where it says so.
    pub outputs: Option<Vec<String>>,
    /// What its buffers are called in comparisons and needs, where another name
    /// than their own: own name to other name.
    pub renames: BTreeMap<String, String>,
    /// Where it stands.
    pub span: Span,
}

/// What the ranks of one place do, each by itself.
#[derive(Clone, Debug)]
pub struct RankProgram {
    /// Whose it is.
    pub on: On,
    /// What it does, in the order in which it is enqueued.
    pub acts: Vec<Enqueued>,
    /// Where it stands.
    pub span: Span,
}

/// What a rank does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// A step goes onto a stream.
    Step {
        /// Which of the proposal's.
        step: usize,
        /// The stream's name.
        stream: Arc<str>,
        /// Whether the host then waits for it.
        host: Host,
    },
    /// The host waits for all that is on a stream.
    Wait {
        /// The stream's name.
        stream: Arc<str>,
    },
    /// A stream waits, from here on, for all that is on another.
    Fence {
        /// The stream that waits.
        stream: Arc<str>,
        /// The stream that is waited for.
        after: Arc<str>,
    },
}

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
    /// The buffer that is read.
    pub send: String,
    /// The buffer that is written; the same as `send` means in place.
    pub recv: String,
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
    /// The buffer sent from or received into.
    pub buffer: String,
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

/// A local act, by each rank of `on`.
#[derive(Clone, Debug)]
pub struct LocalStep {
    /// Who does it.
    pub on: On,
    /// What is done.
    pub act: LocalAct,
    /// The buffer that is written.
    pub recv: String,
}

impl Act {
    /// The buffer that it writes; a send writes none.
    pub(crate) fn writes(&self) -> Option<&str> {
        match self {
            Self::Collective(call) => Some(&call.recv),
            Self::Message(message) => {
                (message.direction == Direction::Recv).then_some(message.buffer.as_str())
            }
            Self::Local(local) => Some(&local.recv),
        }
    }
}

impl LocalAct {
    /// The buffers that it reads.
    pub(crate) fn reads(&self) -> impl Iterator<Item = &str> {
        let (one, several) = match self {
            Self::Copy { from }
            | Self::Slice { from, .. }
            | Self::Scale { from, .. }
            | Self::Cast { from, .. } => (Some(from), &[][..]),
            Self::Concat { from } | Self::Fold { from, .. } => (None, from.as_slice()),
        };
        one.into_iter().chain(several).map(String::as_str)
    }
}

/// An act without communication.
#[derive(Clone, Debug)]
pub enum LocalAct {
    /// The same values under another name.
    Copy {
        /// The buffer read.
        from: String,
    },
    /// Some positions of a buffer.
    Slice {
        /// The buffer read.
        from: String,
        /// The positions.
        positions: Range<u64>,
    },
    /// Buffers one after the other.
    Concat {
        /// The buffers read, in order.
        from: Vec<String>,
    },
    /// Buffers of equal length combined position by position, in the order given.
    Fold {
        /// The buffers read, in order.
        from: Vec<String>,
        /// How; `None` if the plan does not say.
        reduction: Option<Reduction>,
    },
    /// A buffer times a constant (written as in the plan: `0.5`, `1/8`).
    Scale {
        /// The buffer read.
        from: String,
        /// The constant: numerator and denominator as written, `1` if absent.
        by: (String, String),
    },
    /// A buffer converted to another element type.
    Cast {
        /// The buffer read.
        from: String,
        /// The new type.
        to: Dtype,
    },
}

/// Which ranks a need or a step is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum On {
    /// All of them.
    EveryRank,
    /// One, by its rank in the world.
    Rank(WorldRank),
    /// Those on one device, by its name in the map.
    Device(String),
    /// The members of a named partition.
    Group(String),
}

/// What some consumer needs to find.
#[derive(Clone, Debug)]
pub struct Need {
    /// Who needs it.
    pub on: On,
    /// In which buffer.
    pub buffer: String,
    /// At which positions; all of the buffer if not said.
    pub positions: Option<Range<u64>>,
    /// What.
    pub holds: Expr,
    /// The text of `holds`.
    pub holds_text: String,
    /// Where it stands.
    pub span: Span,
}

/// A value on every rank, written in the `holds` language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// The partition it is taken over; the whole world if not said.
    pub over: Option<String>,
    /// Where in the plan it stands.
    pub span: Span,
}

/// The forms of an [`Expr`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExprKind {
    /// `x`, `x@A`, `x@rank1`: an input, the reader's own or that of one origin.
    Input {
        /// Its name.
        name: String,
        /// Whose, if not the reader's own.
        at: Option<At>,
    },
    /// `gather(E)`: the values of E on each rank, one after the other.
    Gather(Box<Expr>),
    /// `shard(E)`, `shard(E, k)`: the reader's block of E, or that of rank `k`.
    Shard(Box<Expr>, Option<u32>),
    /// `sum(E)`, `prod(E)`, `max(E)`, `min(E)`, `avg(E)`: folded over the ranks.
    Reduce(Reduction, Box<Expr>),
    /// `premul(E, k0, k1, …)`: the sum, each rank's value times its own scalar.
    PreMul(Box<Expr>, Vec<String>),
    /// `cast(E, type)`.
    Cast(Box<Expr>, Dtype),
    /// `concat(E, …)`.
    Concat(Vec<Expr>),
    /// `E[a..b]`.
    Slice(Box<Expr>, Range<u64>),
}

/// Whose input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// `x@A`: the one on this device.
    Device(String),
    /// `x@rank1`: the one of this rank in the world.
    Rank(WorldRank),
}

impl Expr {
    /// Visits this expression and all that it is made of.
    pub fn each(&self, visit: &mut impl FnMut(&Self)) {
        visit(self);
        match &self.kind {
            ExprKind::Input { .. } => {}
            ExprKind::Gather(inner)
            | ExprKind::Shard(inner, _)
            | ExprKind::Reduce(_, inner)
            | ExprKind::PreMul(inner, _)
            | ExprKind::Cast(inner, _)
            | ExprKind::Slice(inner, _) => inner.each(visit),
            ExprKind::Concat(parts) => parts.iter().for_each(|part| part.each(visit)),
        }
    }

    /// Visits this expression and all that it is made of, to change them.
    pub(crate) fn each_mut(&mut self, visit: &mut impl FnMut(&mut Self)) {
        visit(self);
        match &mut self.kind {
            ExprKind::Input { .. } => {}
            ExprKind::Gather(inner)
            | ExprKind::Shard(inner, _)
            | ExprKind::Reduce(_, inner)
            | ExprKind::PreMul(inner, _)
            | ExprKind::Cast(inner, _)
            | ExprKind::Slice(inner, _) => inner.each_mut(visit),
            ExprKind::Concat(parts) => parts.iter_mut().for_each(|part| part.each_mut(visit)),
        }
    }
}

impl Proposal {
    /// Where a step stands in the file, as a path: `proposal.whole.step[2]`.
    pub(crate) fn path_of(&self, step: usize) -> String {
        let of_program = self.programs.iter().enumerate().find_map(|(program, of)| {
            let is_it =
                |act: &Enqueued| matches!(act, Enqueued::Step { step: own, .. } if *own == step);
            Some((program, of.acts.iter().position(is_it)?))
        });
        match of_program {
            Some((program, act)) => {
                format!("proposal.{}.program[{program}].step[{act}]", self.name)
            }
            None => format!("proposal.{}.step[{step}]", self.name),
        }
    }
}

impl Plan {
    /// The proposal of that name.
    pub fn proposal(&self, name: &str) -> Option<&Proposal> {
        self.proposals.iter().find(|proposal| proposal.name == name)
    }

    /// Whether `rank` is among those that `on` names.
    pub fn is_on(&self, on: &On, rank: WorldRank) -> bool {
        match on {
            On::EveryRank => true,
            On::Rank(named) => *named == rank,
            On::Device(name) => self.device_of(rank).is_some_and(|device| device == *name),
            On::Group(name) => {
                self.partitions.get(name).is_some_and(|groups| groups.locate(rank).is_some())
            }
        }
    }

    /// The name of the device that `rank` is on, where a map is given.
    pub fn device_of(&self, rank: WorldRank) -> Option<String> {
        self.map.as_ref()?.device(rank).map(ToString::to_string)
    }

    /// The program of a rank, where each has its own.
    pub fn program_of<'p>(
        &self,
        proposal: &'p Proposal,
        rank: WorldRank,
    ) -> Option<&'p RankProgram> {
        proposal.programs.iter().find(|program| self.is_on(&program.on, rank))
    }

    /// The value of one element of an input, where it is given.
    pub fn value(&self, input: &str, rank: WorldRank, position: u64) -> Option<Scalar> {
        let values = self.inputs.get(input)?.values.as_ref()?;
        values.get(usize::try_from(rank.index()).ok()?)?.get(position)
    }
}
