//! A plan under construction, with the schedule of its buffers.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;

use rankwise_account::Uneven;
use rankwise_model::{Dtype, OperationKind, Reduction};

use super::cut::Cut;
use super::ranks::{Ranks, list, whole};
use crate::error::PlanError;
use crate::file::{
    self, Buffers, Literal, Over, Place, PlaceTable, PlanFile, RankProgram, Spanned, Step, Table,
};
use crate::plan::{Direction, Expr, Plan};
use crate::read::NoArrays;
use crate::words::{FORMAT, OwnCall, STREAM, WAIT};

/// A plan that a template made, and when each of its buffers is there.
#[derive(Clone, Debug)]
pub struct Draft {
    pub(super) name: &'static str,
    pub(super) about: String,
    pub(super) file: PlanFile,
    /// The steps of the schedule, in an order in which they can happen.
    pub(super) proposal: file::Proposal,
    /// Instead of those steps: what each rank does, in an order of its own.
    pub(super) programs: Vec<RankProgram>,
    pub(super) parts: BTreeMap<String, Part>,
    /// Buffers that are parts of others, and are not held beside them.
    pub(super) views: BTreeSet<String>,
    pub(super) passages: Vec<Passage>,
    ranks: Ranks,
}

/// What a buffer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Parameters that layers compute with, and their shards.
    Parameters,
    /// Gradients, their shards, and copies of them in the type of the reduction.
    Gradients,
    /// What the optimizer keeps: moments, master copies.
    Optimizer,
    /// What layers hand to each other.
    Activations,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 4] =
        [Self::Parameters, Self::Gradients, Self::Optimizer, Self::Activations];

    /// The name used in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Parameters => "parameters",
            Self::Gradients => "gradients",
            Self::Optimizer => "optimizer",
            Self::Activations => "activations",
        }
    }
}

/// What a buffer is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) kind: Kind,
    /// Which layer, or which of several that are counted apart.
    pub(super) of: usize,
    /// The elements of the whole of it.
    pub(super) whole: u64,
}

/// A passage of the schedule, up to a moment at which one can ask who holds what.
#[derive(Clone, Debug)]
pub(super) struct Passage {
    pub(super) title: String,
    pub(super) events: Vec<Event>,
}

/// What happens to buffers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// Local computation yields an input, on these ranks.
    Appears(String, Range<u64>),
    /// A step of the plan writes.
    Step(usize),
    /// A buffer is let go, on these ranks.
    Goes(String, Range<u64>),
}

impl Draft {
    pub(super) fn new(name: &'static str, about: String, ranks: &Ranks) -> Self {
        let file = PlanFile {
            format: Some(whole(FORMAT)),
            group: Some(Spanned::nowhere(ranks.group())),
            mesh: ranks.mesh_table().map(Spanned::nowhere),
            ..PlanFile::default()
        };
        Self {
            name,
            about,
            file,
            proposal: file::Proposal::default(),
            programs: Vec::new(),
            parts: BTreeMap::new(),
            views: BTreeSet::new(),
            passages: Vec::new(),
            ranks: ranks.clone(),
        }
    }

    /// The name of the template, which is the name of its proposal.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// What the scheme is, with its parameters, in lines of text.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// The plan as it is written down.
    pub fn file(&self) -> PlanFile {
        self.file_of(self.proposal_written())
    }

    /// The proposal as it is written down: steps, or programs.
    pub(super) fn proposal_written(&self) -> file::Proposal {
        let mut proposal = self.proposal.clone();
        if !self.programs.is_empty() {
            proposal.step.clear();
            proposal.program = self.programs.iter().cloned().map(Spanned::nowhere).collect();
        }
        proposal
    }

    fn file_of(&self, proposal: file::Proposal) -> PlanFile {
        let mut file = self.file.clone();
        let name = Spanned::nowhere(self.name.to_string());
        file.proposal = Table([(name, Spanned::nowhere(proposal))].into());
        file
    }

    /// The plan, validated.
    ///
    /// # Errors
    ///
    /// Past a [limit](crate::limits) only: a mistake of the template otherwise.
    pub fn plan(&self) -> Result<Plan, PlanError> {
        Plan::from_file(&self.file(), "", &mut NoArrays)
    }

    /// The plan of the schedule: the same, with steps also where there are programs.
    pub(super) fn schedule(&self) -> Result<Plan, PlanError> {
        Plan::from_file(&self.file_of(self.proposal.clone()), "", &mut NoArrays)
    }

    /// Begins the next passage of the schedule.
    pub(super) fn passage(&mut self, title: impl Into<String>) {
        self.passages.push(Passage { title: title.into(), events: Vec::new() });
    }

    /// An input that is there from now on, on every rank.
    pub(super) fn input(
        &mut self,
        name: &str,
        part: Part,
        size: (Dtype, u64),
        meaning: impl Into<String>,
    ) {
        self.declared(name, part, size, meaning);
        self.event(Event::Appears(name.to_string(), 0..self.ranks.count()));
    }

    /// An input that is there from now on, of a length of its own on each rank.
    pub(super) fn ragged(
        &mut self,
        name: &str,
        part: Part,
        (dtype, counts): (Dtype, Vec<u64>),
        meaning: impl Into<String>,
    ) {
        self.input(name, part, (dtype, 0), meaning);
        if let Some((_, input)) = self.file.input.0.last_mut() {
            input.value.count = None;
            input.value.counts = Some(Spanned::nowhere(counts.into_iter().map(whole).collect()));
        }
    }

    /// An input that [appears](Self::appears) later, on one rank after the other.
    pub(super) fn declared(
        &mut self,
        name: &str,
        part: Part,
        (dtype, count): (Dtype, u64),
        meaning: impl Into<String>,
    ) {
        let input = file::Input {
            dtype: Some(word(dtype.name())),
            count: Some(whole(count)),
            meaning: Some(Spanned::nowhere(meaning.into())),
            ..file::Input::default()
        };
        self.file.input.0.push((word(name), Spanned::nowhere(input)));
        self.is(name, part);
    }

    /// Local computation yields a declared input on one rank.
    pub(super) fn appears(&mut self, name: &str, rank: u64) {
        self.event(Event::Appears(name.to_string(), rank..rank.saturating_add(1)));
    }

    /// Says what a buffer is.
    pub(super) fn is(&mut self, name: &str, part: Part) {
        self.parts.insert(name.to_string(), part);
    }

    /// Says what a buffer is that is not held beside the one that it is a part of.
    pub(super) fn is_view(&mut self, name: &str, part: Part) {
        self.is(name, part);
        self.views.insert(name.to_string());
    }

    /// What a buffer was said to be.
    pub(super) fn part_of(&self, name: &str) -> Option<Part> {
        self.parts.get(name).copied()
    }

    /// How many buffers there are so far.
    pub(super) fn buffers(&self) -> usize {
        self.parts.len()
    }

    /// A collective along the axis of the ranks, or along `axis`.
    pub(super) fn collective(
        &mut self,
        kind: OperationKind,
        reduction: Option<Reduction>,
        (send, recv): (&str, &str),
        axis: Option<&str>,
    ) {
        let over = axis.or_else(|| self.ranks.over());
        self.step(Step {
            call: Some(word(kind.name())),
            op: reduction.map(|reduction| word(reduction.name())),
            root: kind.is_rooted().then(|| whole(0)),
            over: over.map(|name| Spanned::nowhere(Over::Name(name.to_string()))),
            send: Some(one(send)),
            recv: Some(word(recv)),
            ..Step::default()
        });
    }

    pub(super) fn cast(&mut self, send: &str, recv: &str, to: Dtype) {
        let step = Step { dtype: Some(word(to.name())), ..local(OwnCall::Cast, send, recv) };
        self.step(step);
    }

    pub(super) fn scale(&mut self, send: &str, recv: &str, by: &str) {
        let by = Some(Spanned::nowhere(Literal(by.into())));
        self.step(Step { by, ..local(OwnCall::Scale, send, recv) });
    }

    pub(super) fn sum(&mut self, send: [&str; 2], recv: &str) {
        let several = send.map(|name| Spanned::nowhere(name.to_string())).into();
        let send = Some(Spanned::nowhere(Buffers::Several(several)));
        let op = Some(word(Reduction::Sum.name()));
        self.step(Step { op, send, ..local(OwnCall::Fold, "", recv) });
    }

    /// Each rank's own shard of what all of them hold.
    pub(super) fn own_shard(&mut self, send: &str, recv: &str, axis: Option<&str>, cut: Cut) {
        let over = axis.map(|name| Spanned::nowhere(Over::Name(name.to_string())));
        let uneven = cut.is_padded().then(|| word(Uneven::Pad.name()));
        let value = cut.is_padded().then(padding);
        self.step(Step { over, value, uneven, ..local(OwnCall::Shard, send, recv) });
    }

    /// Fills a buffer up to so many elements.
    pub(super) fn pad(&mut self, send: &str, recv: &str, count: u64) {
        let (count, value) = (Some(whole(count)), Some(padding()));
        self.step(Step { count, value, ..local(OwnCall::Pad, send, recv) });
    }

    /// The first so many elements of a buffer.
    pub(super) fn first(&mut self, send: &str, recv: &str, count: u64) {
        let positions = Some(word(&alloc::format!("0..{count}")));
        self.step(Step { positions, ..local(OwnCall::Slice, send, recv) });
    }

    pub(super) fn step(&mut self, step: Step) {
        let index = self.proposal.step.len();
        self.proposal.step.push(Spanned::nowhere(step));
        self.event(Event::Step(index));
    }

    /// One side of a message, done by one rank; the peer is a rank of its group.
    pub(super) fn message(&mut self, direction: Direction, rank: u64, peer: u64, buffer: &str) {
        let on = Some(Spanned::nowhere(rank_place(rank)));
        let side = one_side(direction, peer, self.ranks.over(), buffer);
        self.step(Step { on, ..side });
    }

    /// How many steps there are so far.
    pub(super) const fn steps(&self) -> usize {
        self.proposal.step.len()
    }

    /// Gives each rank a program of its own: the steps that all ranks do, and in the
    /// place of `messages` its own in their order.
    pub(super) fn by_rank(&mut self, messages: &Range<usize>, own: Vec<Vec<Step>>) {
        let steps = self.proposal.step.iter().map(|step| step.value.clone());
        let all: Vec<(usize, Step)> = steps.enumerate().collect();
        let (before, rest): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(index, _)| *index < messages.start);
        let after = || rest.iter().filter(|(index, _)| *index >= messages.end);
        let finally =
            Step { call: Some(word(WAIT)), stream: Some(word(STREAM)), ..Step::default() };
        let program = |(rank, own): (u64, Vec<Step>)| RankProgram {
            on: Some(Spanned::nowhere(rank_place(rank))),
            step: before
                .iter()
                .map(|(_, step)| step.clone())
                .chain(own)
                .chain(after().map(|(_, step)| step.clone()))
                .chain([finally.clone()])
                .map(Spanned::nowhere)
                .collect(),
        };
        self.programs = (0..).zip(own).map(program).collect();
    }

    /// The buffer is let go now, wherever it is.
    pub(super) fn goes(&mut self, name: &str) {
        self.event(Event::Goes(name.to_string(), 0..self.ranks.count()));
    }

    /// The buffer is let go now, on one rank.
    pub(super) fn goes_on(&mut self, name: &str, rank: u64) {
        self.event(Event::Goes(name.to_string(), rank..rank.saturating_add(1)));
    }

    /// What consumers need: `holds` in `buffer`.
    pub(super) fn need(&mut self, on: Place, buffer: &str, holds: &Expr) {
        self.file.need.push(Spanned::nowhere(file::Need {
            on: Some(Spanned::nowhere(on)),
            buffer: Some(word(buffer)),
            positions: None,
            holds: Some(word(&holds.to_string())),
        }));
    }

    /// The same of the first so many elements of the buffer.
    pub(super) fn need_first(&mut self, on: Place, buffer: &str, count: u64, holds: &Expr) {
        self.need(on, buffer, holds);
        if let Some(need) = self.file.need.last_mut() {
            need.value.positions = Some(word(&alloc::format!("0..{count}")));
        }
    }

    /// The buffers that are the result.
    pub(super) fn outputs(&mut self, names: &[String]) {
        self.proposal.outputs = Some(list(names));
    }

    fn event(&mut self, event: Event) {
        if let Some(passage) = self.passages.last_mut() {
            passage.events.push(event);
        }
    }
}

fn word(text: &str) -> Spanned<String> {
    Spanned::nowhere(text.to_string())
}

fn one(name: &str) -> Spanned<Buffers> {
    Spanned::nowhere(Buffers::One(name.to_string()))
}

fn local(call: OwnCall, send: &str, recv: &str) -> Step {
    let name = OwnCall::ALL.into_iter().find(|(_, own)| *own == call).map_or("", |(name, _)| name);
    Step {
        call: Some(word(name)),
        send: Some(one(send)),
        recv: Some(word(recv)),
        ..Step::default()
    }
}

fn padding() -> Spanned<Literal> {
    Spanned::nowhere(Literal(Cut::PADDING.into()))
}

/// One side of a message; the peer is a rank of the group.
pub(super) fn one_side(direction: Direction, peer: u64, over: Option<&str>, buffer: &str) -> Step {
    let (call, send, recv) = match direction {
        Direction::Send => (OwnCall::Send, Some(one(buffer)), None),
        Direction::Recv => (OwnCall::Recv, None, Some(word(buffer))),
    };
    let over = over.map(|name| Spanned::nowhere(Over::Name(name.to_string())));
    Step { peer: Some(whole(peer)), over, send, recv, ..local(call, "", "") }
}

/// Every rank.
pub(super) fn everywhere() -> Place {
    Place::Word(Place::EVERY_RANK.to_string())
}

/// One rank.
pub(super) fn rank_place(rank: u64) -> Place {
    Place::Table(PlaceTable { rank: Some(whole(rank)), device: None, group: None })
}
