//! `rankwise explain PLAN[#NAME]`: what is held after each step, what each count
//! counts, and what each rank hands in and gets.

use std::collections::BTreeMap;

use rankwise_account::NOT_SAID;
use rankwise_plan::evaluate::{Evaluation, StepRecord, evaluate};
use rankwise_plan::numbers::Numbers;
use rankwise_plan::plan::{Attachment, Counts, Plan, Proposal};
use rankwise_plan::term::Terms;
use rankwise_topology::{World, WorldRank};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::PlanRef;
use crate::command::{Answer, Asked, Failure};
use crate::envelope::Wide;
use crate::exit::Exit;
use crate::findings;
use crate::held::{Class, Detail, HeldData, View, classes};
use crate::load::Loaded;
use crate::page::Page;
use crate::payloads;
use crate::steps;
use crate::table::Table;

/// A proposal, evaluated on its own.
struct Explained<'a> {
    proposal: &'a Proposal,
    evaluation: Evaluation,
    terms: Terms,
    numbers: Numbers<'a>,
}

/// Explains one proposal, or all.
pub(crate) fn run(asked: Asked, reference: &PlanRef, detail: Detail) -> Result<Answer, Failure> {
    let loaded = Loaded::read(&reference.file, asked)?;
    let plan = &loaded.plan;
    let progress = asked.progress("carrying the steps out");
    let mut explained = Vec::new();
    for proposal in loaded.proposals(reference.proposal.as_deref())? {
        let mut terms = Terms::new();
        let evaluation =
            evaluate(plan, proposal, &mut terms).map_err(|error| loaded.unusable(&error))?;
        let numbers = Numbers::of(plan, &mut terms);
        explained.push(Explained { proposal, evaluation, terms, numbers });
    }
    drop(progress);

    let data = Data::of(&loaded, &explained, detail);
    asked.answer("explained", Exit::Yes, &data, |page| {
        group(page, plan);
        inputs(page, plan);
        for one in &explained {
            one.compose(page, plan, detail);
        }
        page.gap();
        page.item("not said: ", NOT_SAID);
        page.notes(&loaded.notes);
    })
}

fn group(page: &mut Page, plan: &Plan) {
    const SHOWN: usize = 16;
    let world = plan.world;
    let ranks = if world.get() == 1 { "1 rank".to_owned() } else { format!("{world} ranks") };
    let mut devices: Vec<String> = World::new(world)
        .ranks()
        .take(SHOWN)
        .filter_map(|rank| Some(format!("rank {rank} on {}", plan.device_of(rank)?)))
        .collect();
    if devices.is_empty() {
        page.say(&format!("{ranks}; the plan does not say which device each is on"));
        return;
    }
    let shown = u32::try_from(devices.len()).unwrap_or(u32::MAX);
    if shown < world.get() {
        devices.push(format!("and {} more", world.get().saturating_sub(shown)));
    }
    page.say(&format!("{ranks}: {}", devices.join(", ")));
}

fn inputs(page: &mut Page, plan: &Plan) {
    let mut table = Table::new(&["input", "type", ">count", "meaning", "belongs to", "values"]);
    for input in plan.inputs.values() {
        table.row([
            input.name.clone(),
            input.dtype.to_string(),
            input.counts.to_string(),
            input.meaning.clone().unwrap_or_else(|| "not stated".into()),
            attached(input.attached).to_owned(),
            if input.values.is_some() { "given" } else { "symbolic" }.to_owned(),
        ]);
    }
    page.gap();
    page.table(&table);
}

const fn attached(attachment: Attachment) -> &'static str {
    match attachment {
        Attachment::Device => "its device",
        Attachment::Rank => "its rank",
    }
}

/// What a step leaves, buffer by buffer in order of the first write of each: of what a
/// group writes several times on one rank, the last.
fn written(record: &StepRecord) -> Vec<(String, Vec<Class>)> {
    let mut order: Vec<&str> = Vec::new();
    let mut by_buffer: BTreeMap<&str, BTreeMap<WorldRank, _>> = BTreeMap::new();
    for write in &record.writes {
        let held = by_buffer.entry(&write.buffer).or_insert_with(|| {
            order.push(&write.buffer);
            BTreeMap::new()
        });
        held.insert(write.rank, &write.vector);
    }
    order
        .into_iter()
        .map(|buffer| {
            let held = by_buffer.remove(buffer).unwrap_or_default();
            (buffer.to_owned(), classes(held))
        })
        .collect()
}

impl Explained<'_> {
    fn view<'v>(&'v self, plan: &'v Plan, detail: Detail) -> View<'v> {
        View { plan, terms: &self.terms, numbers: &self.numbers, detail }
    }

    fn compose(&self, page: &mut Page, plan: &Plan, detail: Detail) {
        page.heading(&format!("proposal {}", self.proposal.name));
        let view = self.view(plan, detail);
        if let Some(findings) = &self.evaluation.findings {
            page.item("programs: ", &findings::words(findings));
            findings::compose(page, findings, detail);
        }
        let [first, last] = detail.steps();
        let all = self.proposal.steps.len();
        let skipped = first..all.saturating_sub(last).max(first);
        for (index, (step, record)) in self.steps().enumerate() {
            if skipped.contains(&index) {
                if index == skipped.start {
                    page.gap();
                    page.more(skipped.len(), "steps");
                }
                continue;
            }
            page.gap();
            page.say(&format!("step {index}: {}", steps::title(&step.act)));
            for part in steps::parts(&step.act) {
                page.say(&format!("  {part}"));
            }
            payloads::compose(page, record);
            page.table(&view.table(&written(record)));
        }
    }

    fn steps(&self) -> impl Iterator<Item = (&rankwise_plan::plan::Step, &StepRecord)> {
        self.proposal.steps.iter().zip(&self.evaluation.steps)
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Data {
    plan: String,
    ranks: u32,
    devices: Option<Vec<String>>,
    inputs: Vec<InputData>,
    proposals: Vec<ProposalData>,
    not_said: &'static str,
    notes: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct InputData {
    name: String,
    dtype: &'static str,
    /// On each rank; none where they are by rank.
    count: Option<Wide>,
    counts: Option<Vec<Wide>>,
    shape: Option<Vec<Wide>>,
    meaning: Option<String>,
    belongs_to: &'static str,
    values_given: bool,
}

#[derive(Serialize, JsonSchema)]
struct ProposalData {
    name: String,
    steps: Vec<StepData>,
}

#[derive(Serialize, JsonSchema)]
struct StepData {
    step: usize,
    title: String,
    /// Of a group: what it is made of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<String>,
    call: String,
    calls: Vec<payloads::CallData>,
    holds: Vec<HeldData>,
}

impl Data {
    fn of(loaded: &Loaded, explained: &[Explained<'_>], detail: Detail) -> Self {
        let plan = &loaded.plan;
        let devices: Option<Vec<String>> =
            World::new(plan.world).ranks().map(|rank| plan.device_of(rank)).collect();
        let input = |input: &rankwise_plan::plan::Input| InputData {
            name: input.name.clone(),
            dtype: input.dtype.name(),
            count: input.counts.each().map(Wide),
            counts: match &input.counts {
                Counts::Each(_) => None,
                Counts::ByRank(counts) => Some(counts.iter().copied().map(Wide).collect()),
            },
            shape: input.shape.as_ref().map(|shape| shape.iter().copied().map(Wide).collect()),
            meaning: input.meaning.clone(),
            belongs_to: match input.attached {
                Attachment::Device => "device",
                Attachment::Rank => "rank",
            },
            values_given: input.values.is_some(),
        };
        Self {
            plan: loaded.file.display().to_string(),
            ranks: plan.world.get(),
            devices,
            inputs: plan.inputs.values().map(input).collect(),
            proposals: explained.iter().map(|one| one.data(plan, detail)).collect(),
            not_said: NOT_SAID,
            notes: loaded.notes.clone(),
        }
    }
}

impl Explained<'_> {
    fn data(&self, plan: &Plan, detail: Detail) -> ProposalData {
        let view = self.view(plan, detail);
        let step = |(index, (step, record)): (usize, (&rankwise_plan::plan::Step, &StepRecord))| {
            let held = written(record);
            let rows = held
                .iter()
                .flat_map(|(buffer, classes)| classes.iter().map(|class| view.data(buffer, class)));
            StepData {
                step: index,
                title: steps::title(&step.act),
                parts: steps::parts(&step.act),
                call: steps::call(&step.act),
                calls: payloads::data(record),
                holds: rows.collect(),
            }
        };
        ProposalData {
            name: self.proposal.name.clone(),
            steps: self.steps().enumerate().map(step).collect(),
        }
    }
}
