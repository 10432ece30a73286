//! Pipeline parallelism: stages that hand activations on, and gradients back.

mod programs;

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use rankwise_model::Dtype;

use super::draft::{Draft, Kind, Part, rank_place};
use super::error::{TemplateError, divided, product};
use super::needed;
use super::ranks::Ranks;
use super::training::{Optimizer, Rule, check_floats, layers_in};
use super::update::Local;
use crate::limits;
use crate::plan::Direction;

/// One stage on each rank. Micro-batches go through the stages, and their gradients
/// come back.
///
/// Time is counted in ticks: in each, a stage carries out the forward or the backward
/// of one micro-batch if what it waits for has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// The stages, first to last along the axis.
    pub ranks: Ranks,
    /// The parameters of each stage.
    pub weights: u64,
    /// The elements that a stage hands on for one micro-batch.
    pub activation: u64,
    /// How many micro-batches there are in a step.
    pub micro_batches: u64,
    /// In which order each stage takes them.
    pub order: Order,
    /// How their messages are written down.
    pub messages: Messages,
    /// The element type of parameters and activations.
    pub param: Dtype,
    /// The element type of gradients of parameters.
    pub grad: Dtype,
    /// What updates the parameters.
    pub optimizer: Optimizer,
}

/// The order in which a stage carries out its micro-batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// Every forward, then every backward (`GPipe`): what forward kept of every
    /// micro-batch is held at once.
    ForwardsFirst,
    /// As many forwards as there are stages behind, then one forward and one backward
    /// in turn (1F1B): no more is kept than there are stages from here on.
    OneAndOne,
}

/// How the messages between stages are written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Messages {
    /// One list of steps, in an order in which they can happen.
    Listed,
    /// A program for each rank, which receives what it needs right before it computes
    /// and sends what comes of it right after, all on one stream. With
    /// [`Order::OneAndOne`] neighbours then send to each other, and each waits for the
    /// other to receive: a deadlock.
    InTurn,
    /// The same, but where two neighbours are about to send to each other, the one whose
    /// stage is odd receives first.
    Exchanged,
}

/// What a stage does in a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Work {
    Forward(u64),
    Backward(u64),
}

impl Work {
    /// What it hands over: the sender's buffer, and the receiver's.
    fn handed(self) -> [String; 2] {
        match self {
            Self::Forward(batch) => [format!("act{batch}"), format!("in{batch}")],
            Self::Backward(batch) => [format!("d_in{batch}"), format!("d_act{batch}")],
        }
    }
}

impl Pipeline {
    /// The name of the template.
    pub const NAME: &'static str = "pipeline";

    /// A pipeline in `bf16`, trained with Adam, one forward and one backward in turn.
    pub fn new(ranks: Ranks, weights: u64, activation: u64, micro_batches: u64) -> Self {
        let param = Dtype::Bf16;
        let optimizer = Optimizer::new(Rule::Adam, param);
        Self {
            ranks,
            weights,
            activation,
            micro_batches,
            order: Order::OneAndOne,
            messages: Messages::Listed,
            param,
            grad: param,
            optimizer,
        }
    }

    /// The plan and its schedule.
    pub fn draft(&self) -> Result<Draft, TemplateError> {
        self.check()?;
        let stages = self.ranks.in_group();
        let about = format!(
            "Pipeline parallelism: {stages} stages, {} micro-batches; {}.{}\n{}",
            self.micro_batches,
            match self.order {
                Order::ForwardsFirst => "every forward, then every backward",
                Order::OneAndOne => "one forward and one backward in turn",
            },
            match self.messages {
                Messages::Listed => "",
                Messages::InTurn => " Each rank receives, computes and sends, in turn.",
                Messages::Exchanged => {
                    " Of two stages about to send to each other, the odd one receives first."
                }
            },
            layers_in(self.param, self.grad, self.optimizer)
        );
        let mut draft = Draft::new(Self::NAME, about, &self.ranks);
        let weights = Local {
            name: "stage",
            what: "this rank's stage",
            count: self.weights,
            whole: product("stages times weights", stages, self.weights)?,
            of: 0,
            types: (self.param, self.grad),
            optimizer: self.optimizer,
        };
        draft.passage("before the step");
        weights.before(&mut draft);
        for batch in 0..self.micro_batches {
            let size = (self.param, self.activation);
            let meaning = format!("output of this rank's stage for micro-batch {batch}");
            draft.declared(&format!("act{batch}"), self.part(batch), size, meaning);
            let meaning = format!("gradient of this stage's input for micro-batch {batch}");
            draft.declared(&format!("d_in{batch}"), self.part(batch), size, meaning);
            for received in ["in", "d_act"] {
                draft.is(&format!("{received}{batch}"), self.part(batch));
            }
        }
        let meaning = String::from("gradient, this rank's stage");
        let part = Part { kind: Kind::Gradients, of: 0, whole: weights.whole };
        draft.declared("grad_stage", part, (self.grad, self.weights), meaning);
        let before = draft.steps();
        for (tick, done) in self.ticks().iter().enumerate() {
            draft.passage(format!("tick {tick}: {}", described(done)));
            for (stage, work) in done {
                self.carry_out(&mut draft, *stage, *work);
            }
        }
        let messages = before..draft.steps();
        draft.passage("optimizer: each rank updates its stage");
        draft.locals_updated(&[weights]);
        if self.messages != Messages::Listed {
            let programs = (0..self.ranks.count()).map(|rank| self.program(rank));
            draft.by_rank(&messages, programs.collect());
        }
        Ok(draft)
    }

    fn check(&self) -> Result<(), TemplateError> {
        self.ranks.check()?;
        check_floats(self.param, self.grad, self.optimizer)?;
        let stages = self.ranks.in_group();
        if stages < 2 {
            return Err(TemplateError::TooFew { what: "stages", found: stages, needed: 2 });
        }
        let sizes = [
            ("weights", self.weights),
            ("activation", self.activation),
            ("micro-batches", self.micro_batches),
        ];
        for (what, size) in sizes {
            divided(what, size, 1)?;
        }
        // A send and a recv, forward and backward.
        let steps = self.ranks.count().saturating_mul(self.micro_batches).saturating_mul(4);
        if steps > limits::STEPS {
            return Err(TemplateError::TooManySteps { steps });
        }
        Ok(())
    }

    fn part(&self, batch: u64) -> Part {
        let of = usize::try_from(batch).unwrap_or(usize::MAX);
        Part { kind: Kind::Activations, of, whole: self.activation }
    }

    /// What each stage does, one after the other.
    fn work_of(&self, stage: u64) -> Vec<Work> {
        let batches = self.micro_batches;
        let behind = self.ranks.in_group().saturating_sub(stage).saturating_sub(1);
        let ahead = match self.order {
            Order::ForwardsFirst => batches,
            Order::OneAndOne => behind.min(batches),
        };
        let first = (0..ahead).map(Work::Forward);
        let turns = (ahead..batches)
            .zip(0..)
            .flat_map(|(forward, backward)| [Work::Forward(forward), Work::Backward(backward)]);
        let last = (batches.saturating_sub(ahead)..batches).map(Work::Backward);
        first.chain(turns).chain(last).collect()
    }

    /// Who does what in each tick.
    fn ticks(&self) -> Vec<Vec<(u64, Work)>> {
        let stages = self.ranks.in_group();
        let mut queues: Vec<_> =
            (0..stages).map(|stage| self.work_of(stage).into_iter().peekable()).collect();
        let mut done: BTreeSet<(u64, Work)> = BTreeSet::new();
        let mut ticks = Vec::new();
        loop {
            let mut tick = Vec::new();
            for (stage, queue) in (0..stages).zip(&mut queues) {
                let ready = |work: &Work| match *work {
                    Work::Forward(_) if stage == 0 => true,
                    Work::Forward(_) => done.contains(&(stage.saturating_sub(1), *work)),
                    Work::Backward(batch) if stage.saturating_add(1) == stages => {
                        done.contains(&(stage, Work::Forward(batch)))
                    }
                    Work::Backward(_) => done.contains(&(stage.saturating_add(1), *work)),
                };
                if let Some(work) = queue.next_if(ready) {
                    tick.push((stage, work));
                }
            }
            if tick.is_empty() {
                return ticks;
            }
            done.extend(&tick);
            ticks.push(tick);
        }
    }

    /// The work of a stage, and the message that comes of it.
    fn carry_out(&self, draft: &mut Draft, stage: u64, work: Work) {
        let stages = self.ranks.in_group();
        let on_stage = |rank: &u64| self.ranks.coordinate(*rank) == stage;
        for rank in (0..self.ranks.count()).filter(on_stage) {
            let group = self.ranks.group_of(rank);
            let [sent, received] = work.handed();
            match work {
                Work::Forward(_) => {
                    draft.appears(&sent, rank);
                    let next = stage.saturating_add(1);
                    if next < stages {
                        handed(draft, (rank, stage), (&group, next), (&sent, &received));
                    }
                }
                Work::Backward(batch) => {
                    draft.appears("grad_stage", rank);
                    if let Some(before) = stage.checked_sub(1) {
                        draft.appears(&sent, rank);
                        handed(draft, (rank, stage), (&group, before), (&sent, &received));
                        draft.goes_on(&sent, rank);
                    }
                    for kept in ["act", "in", "d_act"] {
                        draft.goes_on(&format!("{kept}{batch}"), rank);
                    }
                }
            }
        }
    }
}

/// One stage hands a buffer to another, which needs it.
fn handed(
    draft: &mut Draft,
    (from, from_stage): (u64, u64),
    (group, to_stage): (&[u64], u64),
    (sent, received): (&str, &str),
) {
    let index = usize::try_from(to_stage).ok();
    let Some(to) = index.and_then(|index| group.get(index).copied()) else { return };
    draft.message(Direction::Send, from, to_stage, sent);
    draft.message(Direction::Recv, to, from_stage, received);
    if let Some(holds) = needed::of_rank(sent, from) {
        draft.need(rank_place(to), received, &holds);
    }
}

/// `stage 0 forward 1, stage 1 forward 0`.
fn described(done: &[(u64, Work)]) -> String {
    let one = |(stage, work): &(u64, Work)| match work {
        Work::Forward(batch) => format!("stage {stage} forward {batch}"),
        Work::Backward(batch) => format!("stage {stage} backward {batch}"),
    };
    done.iter().map(one).collect::<Vec<_>>().join(", ")
}
