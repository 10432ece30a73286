//! What a proposal leaves on every rank, in terms.
//!
//! Every rank carries out its steps in the order of the plan. A collective happens
//! when all members of its group have come to it; a recv happens when its message
//! has been sent; a rank that waits for one holds back its later steps and nobody
//! else's. Messages match first-in-first-out per ordered pair of ranks.

mod calls;
mod collective;
mod local;
mod message;
mod program;
mod sizes;

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_model::{Dtype, Layout, Rank};
use rankwise_program::{Findings, Report};
use rankwise_topology::{Group, Partition, WorldRank};

use crate::error::{Fault, PlanError, Span};
use crate::limits::{PIECES, RANK_STEPS, TERM_DEPTH};
use crate::memory::{Memory, ranks};
use crate::plan::{Act, On, Plan, Proposal, Step};
use crate::term::Terms;
use crate::vector::{Content, Vector};
use calls::Calls;
use message::Mailbox;

pub(crate) use collective::{Folds, operation, parse_scalars};
pub(crate) use local::factor;

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
        /// The step that all members were at, or that of each, in rank order.
        steps: Vec<usize>,
        /// Who did what, at which size.
        call: Call,
    },
    /// One side of a message, or a local act.
    Alone {
        /// Whose.
        rank: WorldRank,
        /// The step.
        step: usize,
    },
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
    pub buffer: String,
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
    let steps = u64::try_from(proposal.steps.len()).unwrap_or(u64::MAX);
    if steps.saturating_mul(u64::from(plan.world.get())) > RANK_STEPS {
        return Err(PlanError {
            kind: Fault::Limit,
            span: proposal.span,
            path: format!("proposal.{}", proposal.name),
            found: format!("{steps} steps on {} ranks", plan.world),
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
        Some(Self { index, step: proposal.steps.get(index)?, proposal })
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
    fn too_much_work(&self) -> PlanError {
        self.error(
            Fault::Limit,
            None,
            format!("more than {PIECES} runs and parts of folds up to this step"),
            format!("at most {PIECES}: fewer ranks, or fewer distinct pieces"),
        )
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
            path: self.proposal.path_of(self.index),
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
        }
    }

    fn run(&mut self) -> Result<(), PlanError> {
        let mut waiting: Vec<Instance<'a>> = Vec::new();
        for (index, step) in self.proposal.steps.iter().enumerate() {
            let at = At { index, step, proposal: self.proposal };
            for who in self.participants(step) {
                waiting.push(Instance { at, who });
                self.advance(&mut waiting)?;
            }
        }
        match waiting.first() {
            Some(stuck) => Err(Self::stuck(stuck)),
            None => self.mail.all_received(),
        }
    }

    /// Carries out whatever can be, until nothing more can.
    fn advance(&mut self, waiting: &mut Vec<Instance<'a>>) -> Result<(), PlanError> {
        loop {
            let mut held_back: BTreeSet<WorldRank> = BTreeSet::new();
            let ready = waiting.iter().position(|instance| {
                let free = instance.who.members().all(|rank| !held_back.contains(&rank));
                if free && self.is_ready(instance) {
                    return true;
                }
                held_back.extend(instance.who.members());
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
        }
    }

    fn ranks_on<'s>(&'s self, on: &'s On) -> impl Iterator<Item = WorldRank> + 's {
        ranks(self.plan.world).filter(move |rank| self.plan.is_on(on, *rank))
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

    /// What `rank` holds in `buffer`, or an error that says what it does hold.
    fn read(&self, at: &At<'_>, rank: WorldRank, buffer: &str) -> Result<Arc<Vector>, PlanError> {
        self.memory.get(rank, buffer).cloned().ok_or_else(|| {
            let has: Vec<_> = self.memory.buffers(rank).into_iter().flatten().collect();
            let names: Vec<_> = has.iter().map(|(name, _)| name.as_str()).collect();
            at.error(
                Fault::UnknownName,
                None,
                format!("buffer `{buffer}`, which rank {rank} does not have at this step"),
                format!("one that it has: {}", names.join(", ")),
            )
        })
    }

    fn write(
        &mut self,
        at: &At<'_>,
        rank: WorldRank,
        buffer: &str,
        vector: Arc<Vector>,
    ) -> Result<(), PlanError> {
        // Readers of one call share a vector: it is looked through once.
        let seen = self.last_written.as_ref().is_some_and(|last| Arc::ptr_eq(last, &vector));
        let runs = if seen { &[] } else { vector.runs() };
        let depth = runs.iter().map(|run| match run.content {
            Content::Term(placed) => self.terms.depth(placed.term),
            Content::Gap(_) => 0,
        });
        let deepest = depth.max().unwrap_or(0);
        if deepest > TERM_DEPTH {
            return Err(at.error(
                Fault::Limit,
                None,
                format!("a value of `{buffer}` that is {deepest} operations deep"),
                format!("at most {TERM_DEPTH} operations on one value"),
            ));
        }
        self.last_written = Some(Arc::clone(&vector));
        self.memory.put(rank, buffer, Arc::clone(&vector));
        if let Some(record) = self.records.get_mut(at.index) {
            record.writes.push(Write { rank, buffer: buffer.into(), vector });
        }
        Ok(())
    }

    fn record(&mut self, at: &At<'_>, call: Call) {
        if let Some(record) = self.records.get_mut(at.index) {
            record.calls.push(call);
        }
    }
}
