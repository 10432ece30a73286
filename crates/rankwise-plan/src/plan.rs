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
use core::fmt;
use core::ops::Range;

pub use rankwise_account::Uneven;
use rankwise_model::{Dtype, GroupSize, OperationKind, Rank, Reduction, Scalar};
use rankwise_topology::{Partition, RankMap, WorldRank};

pub use rankwise_program::program::Host;

use crate::error::{Fault, Span};
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

/// One buffer of one element type on every rank, before the first step.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its name, which is also the name of the buffer that holds it.
    pub name: String,
    /// The element type.
    pub dtype: Dtype,
    /// Elements on each rank.
    pub counts: Counts,
    /// The shape of the tensor that it is, row-major, where the plan says.
    pub shape: Option<Vec<u64>>,
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

/// How many elements an input has on each rank.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counts {
    /// As many on every rank.
    Each(u64),
    /// By rank: the input is ragged.
    ByRank(Vec<u64>),
}

impl Counts {
    /// How many there are on `rank`; none on a rank that the world does not have.
    pub fn on(&self, rank: WorldRank) -> u64 {
        match self {
            Self::Each(count) => *count,
            Self::ByRank(counts) => {
                let index = usize::try_from(rank.index()).ok();
                index.and_then(|index| counts.get(index)).copied().unwrap_or(0)
            }
        }
    }

    /// As many as on every rank, if that is one number.
    pub const fn each(&self) -> Option<u64> {
        match self {
            Self::Each(count) => Some(*count),
            Self::ByRank(_) => None,
        }
    }

    /// On all ranks of a world together; [`u64::MAX`] if that does not fit.
    pub fn total(&self, world: GroupSize) -> u64 {
        match self {
            Self::Each(count) => count.saturating_mul(u64::from(world.get())),
            Self::ByRank(counts) => counts.iter().copied().fold(0, u64::saturating_add),
        }
    }
}

impl fmt::Display for Counts {
    /// `4`, or by rank `3, 2, 2`; long lists are cut.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        match self {
            Self::Each(count) => count.fmt(f),
            Self::ByRank(counts) => {
                for (index, count) in counts.iter().take(SHOWN).enumerate() {
                    write!(f, "{}{count}", if index == 0 { "" } else { ", " })?;
                }
                if counts.len() > SHOWN { f.write_str(", …") } else { Ok(()) }
            }
        }
    }
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

/// What a step reads or writes: a buffer, or some positions of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Operand {
    /// The buffer.
    pub buffer: String,
    /// The positions, none of them where it is the whole buffer.
    pub positions: Option<Range<u64>>,
}

impl Operand {
    /// The whole buffer of that name.
    pub fn whole(buffer: impl Into<String>) -> Self {
        Self { buffer: buffer.into(), positions: None }
    }

    /// Some positions of the buffer of that name.
    pub fn view(buffer: impl Into<String>, positions: Range<u64>) -> Self {
        Self { buffer: buffer.into(), positions: Some(positions) }
    }
}

impl fmt::Display for Operand {
    /// As a plan writes it: `y`, `y[2..4]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.buffer)?;
        match &self.positions {
            None => Ok(()),
            Some(positions) => write!(f, "[{}..{}]", positions.start, positions.end),
        }
    }
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

/// A local act, by each rank of `on`.
#[derive(Clone, Debug)]
pub struct LocalStep {
    /// Who does it.
    pub on: On,
    /// What is done.
    pub act: LocalAct,
    /// What is written.
    pub recv: Operand,
}

/// An act without communication.
#[derive(Clone, Debug)]
pub enum LocalAct {
    /// The same values under another name.
    Copy {
        /// What is read.
        from: Operand,
    },
    /// Some positions of a buffer.
    Slice {
        /// What is read.
        from: Operand,
        /// The positions.
        positions: Range<u64>,
    },
    /// Buffers one after the other.
    Concat {
        /// What is read, in order.
        from: Vec<Operand>,
    },
    /// Buffers of equal length combined position by position, in the order given.
    Fold {
        /// What is read, in order.
        from: Vec<Operand>,
        /// How; `None` if the plan does not say.
        reduction: Option<Reduction>,
    },
    /// A buffer times a constant (written as in the plan: `0.5`, `1/8`).
    Scale {
        /// What is read.
        from: Operand,
        /// The constant: numerator and denominator as written, `1` if absent.
        by: (String, String),
    },
    /// A buffer converted to another element type.
    Cast {
        /// What is read.
        from: Operand,
        /// The new type.
        to: Dtype,
    },
    /// A buffer of which no position is written yet.
    Alloc {
        /// The element type.
        dtype: ElementType,
        /// Elements.
        count: u64,
    },
    /// A constant at every position.
    Fill {
        /// The constant, as written.
        value: String,
        /// The element type.
        dtype: Dtype,
        /// Elements.
        count: u64,
    },
    /// A buffer and a constant behind it, up to a length.
    Pad {
        /// What is read.
        from: Operand,
        /// Elements of the result.
        count: u64,
        /// The constant, as written.
        value: String,
    },
    /// The rank's own share of a tensor.
    Shard {
        /// What is read: the whole tensor.
        from: Operand,
        /// How it is shared out.
        sharding: Sharding,
        /// Among whom.
        over: Partition,
        /// The name of that partition, if it has one.
        over_name: Option<String>,
    },
    /// The tensor of which every rank's share is read, one after the other.
    Unshard {
        /// What is read: the shares in rank order.
        from: Operand,
        /// How the tensor was shared out.
        sharding: Sharding,
        /// Among whom.
        over: Partition,
        /// The name of that partition, if it has one.
        over_name: Option<String>,
    },
}

/// An element type, named or that of another buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ElementType {
    /// This one.
    Is(Dtype),
    /// That of this buffer, the rank's own or that of another.
    Of(Operand, Option<WorldRank>),
}

impl LocalAct {
    /// What it reads, in order.
    pub fn reads(&self) -> Vec<&Operand> {
        match self {
            Self::Copy { from }
            | Self::Slice { from, .. }
            | Self::Scale { from, .. }
            | Self::Cast { from, .. }
            | Self::Pad { from, .. }
            | Self::Shard { from, .. }
            | Self::Unshard { from, .. } => Vec::from([from]),
            Self::Concat { from } | Self::Fold { from, .. } => from.iter().collect(),
            Self::Alloc { .. } | Self::Fill { .. } => Vec::new(),
        }
    }

    /// Its word in a plan.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Copy { .. } => "copy",
            Self::Slice { .. } => "slice",
            Self::Concat { .. } => "concat",
            Self::Fold { .. } => "fold",
            Self::Scale { .. } => "scale",
            Self::Cast { .. } => "cast",
            Self::Alloc { .. } => "alloc",
            Self::Fill { .. } => "fill",
            Self::Pad { .. } => "pad",
            Self::Shard { .. } => "shard",
            Self::Unshard { .. } => "unshard",
        }
    }

    /// Whether each position of the result is made of the same positions of what is read.
    pub(crate) const fn is_position_wise(&self) -> bool {
        matches!(
            self,
            Self::Copy { .. } | Self::Fold { .. } | Self::Scale { .. } | Self::Cast { .. }
        )
    }
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

/// How a tensor is shared out among the ranks of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sharding {
    /// The shape of the tensor, row-major; one axis with all elements if not said.
    pub shape: Option<Vec<u64>>,
    /// The axis that is divided, from 0.
    pub dim: usize,
    /// What is done where its length does not divide; then it must, if not said.
    pub uneven: Option<Uneven>,
    /// With [`Uneven::Pad`]: what the padding holds, as written.
    pub value: Option<String>,
}

/// What a sharding is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// To cut a rank's share out of the tensor.
    Share,
    /// To put the tensor together of all shares.
    Whole,
}

impl Sharding {
    /// That it is said completely and does not contradict itself.
    pub(crate) fn check(&self, has_dim: bool, wants: Wants) -> Result<(), (Fault, String, String)> {
        let refuse = |kind, found: &str, expected: &str| {
            Err((kind, found.to_string(), expected.to_string()))
        };
        match &self.shape {
            None if has_dim => {
                return refuse(Fault::Missing, "dim without shape", "the shape of the tensor");
            }
            None if wants == Wants::Whole => {
                return refuse(Fault::Missing, "no shape", "the shape of the whole tensor");
            }
            Some(_) if !has_dim => {
                return refuse(Fault::Missing, "shape without dim", "the axis that is divided");
            }
            Some(shape) if self.dim >= shape.len() => {
                let found = alloc::format!("dim {} of {} axes", self.dim, shape.len());
                return refuse(Fault::Contradiction, &found, "an axis of the shape, from 0");
            }
            _ => {}
        }
        match (self.uneven, &self.value, wants) {
            (Some(Uneven::Pad), None, Wants::Share) => {
                refuse(Fault::Missing, "uneven = \"pad\" without value", "what the padding holds")
            }
            (uneven, Some(_), _) if uneven != Some(Uneven::Pad) => {
                refuse(Fault::Contradiction, "a value", "no value without uneven = \"pad\"")
            }
            _ => Ok(()),
        }
    }
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
    /// `exchange(E)`: the reader's block of E on each rank, one after the other.
    Exchange(Box<Expr>),
    /// `shard(E)`, `shard(E, k)`: the reader's share of E, or that of rank `k`.
    Shard(Box<Expr>, Option<u32>, Sharding),
    /// `pad(E, count, value)`: E and a constant behind it, up to a length.
    Pad(Box<Expr>, u64, String),
    /// `fill(value, type, count)`: a constant at every position.
    Fill(String, Dtype, u64),
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
            ExprKind::Input { .. } | ExprKind::Fill(..) => {}
            ExprKind::Gather(inner)
            | ExprKind::Exchange(inner)
            | ExprKind::Pad(inner, ..)
            | ExprKind::Shard(inner, ..)
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
            ExprKind::Input { .. } | ExprKind::Fill(..) => {}
            ExprKind::Gather(inner)
            | ExprKind::Exchange(inner)
            | ExprKind::Pad(inner, ..)
            | ExprKind::Shard(inner, ..)
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
