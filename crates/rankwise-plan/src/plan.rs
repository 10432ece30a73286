//! A plan, read and validated: the group, its inputs, the proposals, the needs.
//!
//! Everything here is meaning; how it was written down is [`file`](crate::file).
//! Each part keeps the [`Span`] it was read from, so that a contradiction found
//! much later can still point at its line.

mod expression;
mod input;
mod local;
mod need;
mod operand;
mod sharding;
mod step;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_model::{GroupSize, Scalar};
use rankwise_topology::{Partition, RankMap, WorldRank};

pub use rankwise_program::program::Host;

pub use self::expression::{At, Expr, ExprKind};
pub use self::input::{Attachment, Counts, Input};
pub use self::local::{ElementType, LocalAct, LocalStep};
pub use self::need::{Need, On};
pub use self::operand::Operand;
pub(crate) use self::sharding::Wants;
pub use self::sharding::{Sharding, Uneven};
pub use self::step::{
    Act, CollectiveStep, Direction, Divided, Elsewhere, GroupStep, MessageStep, Step,
};
use crate::error::Span;

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
