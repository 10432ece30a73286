//! What a proposal leaves on every rank, in terms.
//!
//! Every rank carries out its steps in the order of the plan. A collective happens
//! when all members of its group have come to it; a recv happens when its message
//! has been sent; a rank that waits for one holds back its later steps and nobody
//! else's. Messages match first-in-first-out per ordered pair of ranks.

mod calls;
mod collective;
mod concurrent;
mod local;
mod message;
mod program;
mod sizes;
mod tensor;
mod view;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_model::{Dtype, Layout, Rank};
use rankwise_program::{Findings, Report};
use rankwise_topology::{Group, Partition, WorldRank};

use crate::error::{Fault, PlanError, Span};
use crate::limits::{PIECES, RANK_STEPS};
use crate::memory::{Memory, ranks};
use crate::plan::{Act, On, Plan, Proposal, Step};
use crate::term::Terms;
use crate::vector::Vector;
use calls::Calls;
use concurrent::Touched;
use message::Mailbox;
use view::Shared;

pub(crate) use calls::scalars_of;
pub(crate) use collective::{Folds, operation, parse_scalars};
pub(crate) use local::factor;
pub(crate) use tensor::{Cut, Piece, Tensor};

/// What a step without `over` is over, in words.
const THE_WORLD: &str = "the world";

/// What a proposal does, step by step, and what it leaves.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// What the ranks hold before the first step.
    pub before: Memory,
    /// What each step did.
    pub steps: Vec<StepRecord>,
    /// Everything that was done, in the order in which it was.
    pub turns: Vec<Turn>,
    /// What the ranks hold after the last step.
    pub after: Memory,
    /// Of a proposal whose ranks have programs of their own: which calls meet, and what
    /// is wrong with the others. `None` where all ranks do the steps in their order.
    pub findings: Option<Arc<Findings>>,
}

impl Evaluation {
    /// What goes wrong when the ranks do it: calls that do not meet, hazards, overlaps.
    /// Then the proposal does no job, whatever its buffers are said to hold.
    pub fn reports(&self) -> &[Arc<Report>] {
        self.findings.as_ref().map_or(&[], |findings| &findings.reports)
    }

    /// Whether the calls of its programs are made in orders that contradict each other,
    /// and end only with these streams.
    pub fn depends_on_resources(&self) -> bool {
        self.findings.as_ref().is_some_and(|findings| !findings.order.is_empty())
    }
}

/// Something that was done, once.
#[derive(Clone, Debug)]
pub enum Turn {
    /// A collective in one group.
    Collective {
        /// What all members were at, or each of them, in rank order.
        done: Vec<Done>,
        /// Who did what, at which size.
        call: Call,
    },
    /// One side of a message.
    Message {
        /// Whose.
        rank: WorldRank,
        /// Which.
        done: Done,
    },
    /// A local act.
    Local {
        /// Whose.
        rank: WorldRank,
        /// Which.
        done: Done,
        /// The element type of what it made.
        dtype: Dtype,
        /// How many elements it read first: of its only buffer, or of the first.
        read: u64,
    },
}

/// An act of a proposal: a step, or one of those that a group is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Done {
    /// Which step.
    pub step: usize,
    /// Which of its acts, as [`Act::each`] counts them; 0 where it is no group.
    pub act: usize,
}

impl Proposal {
    /// The act that was done.
    pub fn act(&self, done: Done) -> Option<&Act> {
        self.steps.get(done.step)?.act.each().nth(done.act)
    }
}

/// What one step did.
#[derive(Clone, Debug, Default)]
pub struct StepRecord {
    /// The communications: one per group of a collective, one per message (recorded
    /// with the recv). Empty for local acts.
    pub calls: Vec<Call>,
    /// The buffers written, in the order in which they were.
    pub writes: Vec<Write>,
}

/// One communication that took place.
#[derive(Clone, Debug)]
pub struct Call {
    /// Who took part.
    pub group: Group,
    /// What was done, at which size.
    pub layout: Layout,
    /// The element type.
    pub dtype: Dtype,
}

/// One buffer that a step wrote.
#[derive(Clone, Debug)]
pub struct Write {
    /// Whose.
    pub rank: WorldRank,
    /// Its name.
    pub buffer: Arc<str>,
    /// What it holds now.
    pub vector: Arc<Vector>,
}

/// Carries out `proposal` in terms.
///
/// Fails where the steps contradict one another: lengths that do not fit, a buffer
/// that nobody wrote, a message without its other side.
pub fn evaluate(
    plan: &Plan,
    proposal: &Proposal,
    terms: &mut Terms,
) -> Result<Evaluation, PlanError> {
    let turns = proposal.steps.iter().map(|step| step.act.turns(plan.world));
    let turns = turns.fold(0, u64::saturating_add);
    if turns > RANK_STEPS {
        return Err(PlanError {
            kind: Fault::Limit,
            span: proposal.span,
            path: format!("proposal.{}", proposal.name),
            found: format!("{} steps on {} ranks", proposal.steps.len(), plan.world),
            expected: format!("at most {RANK_STEPS} as their product"),
        });
    }
    let before = Memory::of_inputs(plan, terms);
    let mut machine = Machine::new(plan, proposal, terms, before.clone());
    let findings = if proposal.programs.is_empty() {
        machine.run()?;
        None
    } else {
        Some(Arc::new(machine.run_programs()?))
    };
    let Machine { records: steps, turns, memory: after, .. } = machine;
    Ok(Evaluation { before, steps, turns, after, findings })
}

/// A step as one group, or one rank, takes part in it.
#[derive(Clone, Debug)]
struct Instance<'a> {
    at: At<'a>,
    who: Who,
}

/// A step and its place in the plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'a> {
    index: usize,
    /// Which act of the step.
    act: usize,
    /// Which part of a group.
    part: Option<usize>,
    pub(crate) step: &'a Step,
    proposal: &'a Proposal,
}

#[derive(Clone, Debug)]
enum Who {
    Group(Group),
    Rank(WorldRank),
}

impl Who {
    fn members(&self) -> impl Iterator<Item = WorldRank> + '_ {
        let (group, rank) = match self {
            Self::Group(group) => (Some(group), None),
            Self::Rank(rank) => (None, Some(*rank)),
        };
        group.into_iter().flat_map(|group| group.members().iter().copied()).chain(rank)
    }
}

impl<'a> At<'a> {
    /// A step of a proposal; `None` if it has fewer.
    pub(crate) fn of(proposal: &'a Proposal, index: usize) -> Option<Self> {
        Some(Self { index, act: 0, part: None, step: proposal.steps.get(index)?, proposal })
    }

    /// A part of the group that this step is; `None` if it has fewer, or is none.
    pub(crate) fn part(&self, part: usize) -> Option<Self> {
        let Act::Group(group) = &self.step.act else { return None };
        Some(Self { part: Some(part), step: group.steps.get(part)?, ..*self })
    }

    /// The group of a partition that a rank is in, and as which rank of it.
    fn group_of<'p>(
        &self,
        over: &'p Partition,
        over_name: Option<&str>,
        rank: WorldRank,
    ) -> Result<(&'p Group, Rank), PlanError> {
        over.locate(rank).ok_or_else(|| {
            let group = over_name.unwrap_or(THE_WORLD);
            let found = format!("rank {rank}, which is in no group of {group}");
            self.error(Fault::UnknownName, None, found, "a member of the step's group")
        })
    }
}

impl At<'_> {
    const fn done(&self) -> Done {
        Done { step: self.index, act: self.act }
    }

    fn too_much_work(&self) -> PlanError {
        self.error(
            Fault::Limit,
            None,
            format!("more than {PIECES} runs and parts of folds up to this step"),
            format!("at most {PIECES}: fewer ranks, or fewer distinct pieces"),
        )
    }

    /// Whether the parts of the group stand in the plan, and not what they stand for.
    fn parts_are_written(&self) -> bool {
        let step = self.proposal.steps.get(self.index).map(|step| &step.act);
        matches!(step, Some(Act::Group(group)) if group.stands_for.is_none())
    }

    /// An error that stands at this step, or at a more exact place within it.
    fn error(
        &self,
        kind: Fault,
        span: Option<Span>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> PlanError {
        PlanError {
            kind,
            span: span.unwrap_or(self.step.span),
            path: match self.part.filter(|_| self.parts_are_written()) {
                None => self.proposal.path_of(self.index),
                Some(part) => format!("{}.step[{part}]", self.proposal.path_of(self.index)),
            },
            found: found.into(),
            expected: expected.into(),
        }
    }
}

struct Machine<'a> {
    plan: &'a Plan,
    proposal: &'a Proposal,
    terms: &'a mut Terms,
    memory: Memory,
    mail: Mailbox,
    records: Vec<StepRecord>,
    turns: Vec<Turn>,
    last_written: Option<Arc<Vector>>,
    shared: Shared,
    touched: Touched<'a>,
}

impl<'a> Machine<'a> {
    fn new(plan: &'a Plan, proposal: &'a Proposal, terms: &'a mut Terms, memory: Memory) -> Self {
        Self {
            plan,
            proposal,
            terms,
            memory,
            mail: Mailbox::default(),
            records: proposal.steps.iter().map(|_| StepRecord::default()).collect(),
            turns: Vec::new(),
            last_written: None,
            shared: Shared::default(),
            touched: Touched::default(),
        }
    }

    fn run(&mut self) -> Result<(), PlanError> {
        let mut waiting: Vec<Instance<'a>> = Vec::new();
        for (index, step) in self.proposal.steps.iter().enumerate() {
            let proposal = self.proposal;
            match &step.act {
                Act::Group(group) => {
                    for (act, step) in group.opens.iter().enumerate() {
                        self.begin(At { index, act, part: None, step, proposal }, &mut waiting)?;
                    }
                    for (part, step) in group.steps.iter().enumerate() {
                        let act = group.opens.len().saturating_add(part);
                        let at = At { index, act, part: Some(part), step, proposal };
                        self.begin(at, &mut waiting)?;
                    }
                }
                _ => self.begin(At { index, act: 0, part: None, step, proposal }, &mut waiting)?,
            }
        }
        match waiting.first() {
            Some(stuck) => Err(Self::stuck(stuck)),
            None => self.mail.all_received(),
        }?;
        self.touched.are_apart()
    }

    fn begin(&mut self, at: At<'a>, waiting: &mut Vec<Instance<'a>>) -> Result<(), PlanError> {
        for who in self.participants(at.step) {
            waiting.push(Instance { at, who });
            self.advance(waiting)?;
        }
        Ok(())
    }

    /// Carries out whatever can be, until nothing more can.
    fn advance(&mut self, waiting: &mut Vec<Instance<'a>>) -> Result<(), PlanError> {
        loop {
            // By the step that does: the parts of one group do not wait for each other.
            let mut held_back: BTreeMap<WorldRank, usize> = BTreeMap::new();
            let ready = waiting.iter().position(|instance| {
                let index = instance.at.index;
                let mut members = instance.who.members();
                let free = members.all(|rank| held_back.get(&rank).is_none_or(|by| *by == index));
                if free && self.is_ready(instance) {
                    return true;
                }
                for rank in instance.who.members() {
                    held_back.entry(rank).or_insert(index);
                }
                false
            });
            let Some(index) = ready else { return Ok(()) };
            let instance = waiting.remove(index);
            self.carry_out(&instance)?;
            if waiting.is_empty() {
                return Ok(());
            }
        }
    }

    fn participants(&self, step: &'a Step) -> Vec<Who> {
        match &step.act {
            Act::Collective(call) => call.over.groups().iter().cloned().map(Who::Group).collect(),
            Act::Message(message) => self.ranks_on(&message.on).map(Who::Rank).collect(),
            Act::Local(local) => self.ranks_on(&local.on).map(Who::Rank).collect(),
            // Taken part by part.
            Act::Group(_) => Vec::new(),
        }
    }

    fn ranks_on<'s>(&'s self, on: &'s On) -> impl Iterator<Item = WorldRank> + 's {
        let (one, all) = match on {
            On::Rank(rank) => (Some(*rank), None),
            _ => (None, Some(ranks(self.plan.world))),
        };
        one.into_iter().chain(all.into_iter().flatten().filter(|rank| self.plan.is_on(on, *rank)))
    }

    fn carry_out(&mut self, instance: &Instance<'a>) -> Result<(), PlanError> {
        match (&instance.at.step.act, &instance.who) {
            (Act::Collective(call), Who::Group(group)) => {
                self.collective(&Calls::of_step(instance.at, call), group)
            }
            (Act::Message(message), Who::Rank(rank)) => self.message(&instance.at, message, *rank),
            (Act::Local(local), Who::Rank(rank)) => self.local(&instance.at, local, *rank),
            // `participants` pairs them as above.
            _ => Ok(()),
        }
    }

    fn record(&mut self, at: &At<'_>, call: Call) {
        if let Some(record) = self.records.get_mut(at.index) {
            record.calls.push(call);
        }
    }
}
