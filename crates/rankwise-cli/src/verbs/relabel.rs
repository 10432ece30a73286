//! `rankwise relabel PLAN[#NAME] --devices …` (or `--visible`, `--split`, `--axes`): the same devices under other ranks.

use rankwise_plan::error::PlanError;
use rankwise_plan::evaluate::{Evaluation, evaluate};
use rankwise_plan::need::{NeedsReport, judge_needs};
use rankwise_plan::numbers::Numbers;
use rankwise_plan::plan::{Need, Plan, Proposal};
use rankwise_plan::relabel::{Effect, Names, holds_the_same, permute};
use rankwise_plan::term::Terms;
use rankwise_plan::vector::Vector;
use rankwise_topology::{DeviceOrder, World, WorldRank};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::PlanRef;
use crate::command::{Answer, Asked, Failure};
use crate::exit::Exit;
use crate::held::{Class, Detail, HeldData, View};
use crate::load::Loaded;
use crate::needs::{self, Places};
use crate::order::{NoOrder, Order, cycles};
use crate::page::Page;
use crate::steps;
use crate::table::Table;
use crate::unusable::Unusable;

/// A proposal before and after, in common terms.
struct Relabelled<'a> {
    proposal: &'a Proposal,
    terms: Terms,
    before: Told<'a>,
    after: Told<'a>,
}

/// A plan's proposal, evaluated and judged.
struct Told<'a> {
    plan: &'a Plan,
    numbers: Numbers<'a>,
    evaluation: Evaluation,
    needs: NeedsReport,
}

/// Relabels the plan and tells one proposal, or all, before and after.
pub(crate) fn run(
    asked: Asked,
    reference: &PlanRef,
    order: &Order,
    numbers: DeviceOrder,
) -> Result<Answer, Failure> {
    let loaded = Loaded::read(&reference.file, asked)?;
    let permutation = match order.permutation(&loaded.plan, numbers) {
        Ok(permutation) => permutation,
        Err(NoOrder::Unusable(unusable)) => return Err(unusable.into()),
        Err(NoOrder::Unknown(reason)) => return unknown(asked, &loaded, &reason),
    };
    let Some(permutation) = permutation else {
        let expected = "--devices, --visible, --split or --axes, and a plan with devices";
        return Err(Unusable::usage("no new order", expected).into());
    };
    let other = permute(&loaded.plan, &permutation)
        .map_err(|error| Unusable::usage(format!("the order {permutation}"), error.to_string()))?;
    let progress = asked.progress("relabelling");
    let mut all = Vec::new();
    for proposal in loaded.proposals(reference.proposal.as_deref())? {
        let mut terms = Terms::new();
        let mut tell =
            |plan| Told::of(plan, proposal, &mut terms).map_err(|error| loaded.unusable(&error));
        let (before, after) = (tell(&loaded.plan)?, tell(&other)?);
        all.push(Relabelled { proposal, terms, before, after });
    }
    drop(progress);

    let effects = all.iter().flat_map(Relabelled::effects);
    let exit = needs::worst(effects.map(|effect| match effect {
        Effect::Breaks => Exit::No,
        Effect::Unknown => Exit::Unknown,
        Effect::Survives | Effect::Mends | Effect::StaysBroken => Exit::Yes,
    }));
    let verdict = match exit {
        Exit::No => "breaks",
        Exit::Yes => "nothing_breaks",
        _ => "unknown",
    };
    let data = Data {
        plan: loaded.file.display().to_string(),
        map: map(&loaded.plan, &other),
        permutation: cycles(&loaded.plan, &permutation),
        proposals: all.iter().map(Relabelled::data).collect(),
        notes: loaded.notes.clone(),
    };
    asked.answer(verdict, exit, &data, |page| {
        let mut table = Table::new(&["device", ">rank before", ">rank after"]);
        for place in &data.map {
            table.row([
                place.device.clone(),
                place.rank_before.to_string(),
                place.rank_after.to_string(),
            ]);
        }
        page.table(&table);
        page.say(&format!("  as a permutation of the devices: {}", data.permutation));
        for one in &all {
            one.compose(page);
        }
        page.notes(&loaded.notes);
    })
}

/// The new order cannot be told.
fn unknown(asked: Asked, loaded: &Loaded, reason: &str) -> Result<Answer, Failure> {
    let plan = loaded.file.display().to_string();
    let data = UnknownData { plan, reason: reason.to_owned() };
    asked.answer("unknown", Exit::Unknown, &data, |page| {
        page.verdict(Exit::Unknown, "unknown: the new order cannot be told");
        page.say(reason);
    })
}

/// A device and the rank it is before and after.
#[derive(Clone, Serialize, JsonSchema)]
struct PlaceData {
    device: String,
    rank_before: u32,
    rank_after: u32,
}

/// Every device with its ranks; a shared device once per rank, in rank order.
fn map(before: &Plan, after: &Plan) -> Vec<PlaceData> {
    let mut left: std::collections::HashMap<String, std::collections::VecDeque<u32>> =
        std::collections::HashMap::new();
    for rank in World::new(after.world).ranks() {
        if let Some(device) = after.device_of(rank) {
            left.entry(device).or_default().push_back(rank.index());
        }
    }
    World::new(before.world)
        .ranks()
        .filter_map(|rank| {
            let device = before.device_of(rank)?;
            let rank_after = left.get_mut(&device)?.pop_front()?;
            Some(PlaceData { device, rank_before: rank.index(), rank_after })
        })
        .collect()
}

impl<'a> Told<'a> {
    fn of(plan: &'a Plan, proposal: &Proposal, terms: &mut Terms) -> Result<Self, PlanError> {
        let evaluation = evaluate(plan, proposal, terms)?;
        let needs = judge_needs(plan, proposal, &evaluation, terms)?;
        let numbers = Numbers::of(plan, terms);
        Ok(Self { plan, numbers, evaluation, needs })
    }

    fn view<'v>(&'v self, terms: &'v Terms) -> View<'v> {
        View { plan: self.plan, terms, numbers: &self.numbers, detail: Detail::Few }
    }

    fn held(&self, rank: u32, buffer: &str) -> Option<&std::sync::Arc<Vector>> {
        let rank = World::new(self.plan.world).rank(rank)?;
        self.evaluation.after.get(rank, buffer)
    }

    /// What a rank holds in one line.
    fn line(&self, terms: &Terms, rank: u32, buffer: &str) -> String {
        match self.held(rank, buffer) {
            Some(vector) => self.view(terms).line(vector),
            None => "nothing".into(),
        }
    }

    fn data(&self, terms: &Terms, rank: u32, buffer: &str) -> Option<HeldData> {
        let vector = self.held(rank, buffer)?;
        let ranks: Vec<WorldRank> = World::new(self.plan.world).rank(rank).into_iter().collect();
        Some(self.view(terms).data(buffer, &Class { ranks, vector: vector.clone() }))
    }
}

impl Relabelled<'_> {
    fn effects(&self) -> impl Iterator<Item = Effect> + '_ {
        let pairs = self.before.needs.needs.iter().zip(&self.after.needs.needs);
        pairs.map(|(before, after)| Effect::between(before, after))
    }

    /// The buffers that the steps write, in order of their first write.
    fn buffers(&self) -> Vec<&str> {
        let mut buffers: Vec<&str> = Vec::new();
        for write in self.before.evaluation.steps.iter().flat_map(|step| &step.writes) {
            if !buffers.contains(&&*write.buffer) {
                buffers.push(&write.buffer);
            }
        }
        buffers
    }

    /// Whether a device holds the same in a buffer before and after.
    fn is_same(&self, place: &PlaceData, buffer: &str) -> bool {
        let before = self.before.held(place.rank_before, buffer);
        let after = self.after.held(place.rank_after, buffer);
        match (before, after) {
            (Some(before), Some(after)) => holds_the_same(&self.terms, before, after),
            (before, after) => before.is_none() && after.is_none(),
        }
    }

    fn compose(&self, page: &mut Page) {
        const SHOWN: usize = 16;
        page.heading(&format!("proposal {}", self.proposal.name));
        let places = map(self.before.plan, self.after.plan);
        let mut contents =
            Table::new(&["device", "rank", "buffer", "holds before", "holds after", "change"]);
        for place in places.iter().take(SHOWN) {
            for buffer in self.buffers() {
                let change = if self.is_same(place, buffer) { "none" } else { "other" };
                contents.row([
                    place.device.clone(),
                    format!("{} -> {}", place.rank_before, place.rank_after),
                    buffer.to_owned(),
                    self.before.line(&self.terms, place.rank_before, buffer),
                    self.after.line(&self.terms, place.rank_after, buffer),
                    change.to_owned(),
                ]);
            }
        }
        page.table(&contents);
        let more = places.len().saturating_sub(SHOWN);
        if more > 0 {
            page.say(&format!("  … and {more} more devices"));
        }
        if self.before.plan.needs.is_empty() {
            page.item("  ", "no need is stated: nothing says whether this matters");
            return;
        }
        page.gap();
        let mut table =
            Table::new(&[">need", "on", "buffer", "holds", "before", "after", "effect", "because"]);
        for (index, (effect, need)) in self.effects().zip(&self.before.plan.needs).enumerate() {
            let answer = |told: &Told<'_>| {
                let report = told.needs.needs.get(index);
                report.map_or("-", |report| needs::answer_word(report.answer))
            };
            table.row([
                &index.to_string(),
                &steps::on(&need.on),
                &need.buffer,
                &need.holds_text,
                answer(&self.before),
                answer(&self.after),
                effect.name(),
                names(need),
            ]);
        }
        page.table(&table);
        for need in &self.after.needs.needs {
            needs::evidence(page, self.after.plan, need);
        }
    }

    fn data(&self) -> ProposalData {
        let places = map(self.before.plan, self.after.plan);
        let contents = places.iter().flat_map(|place| {
            self.buffers().into_iter().map(|buffer| ContentData {
                device: place.device.clone(),
                buffer: buffer.to_owned(),
                same: self.is_same(place, buffer),
                before: self.before.data(&self.terms, place.rank_before, buffer),
                after: self.after.data(&self.terms, place.rank_after, buffer),
            })
        });
        let needs = self.effects().zip(&self.before.plan.needs).enumerate();
        ProposalData {
            name: self.proposal.name.clone(),
            contents: contents.collect(),
            needs: needs
                .map(|(index, (effect, need))| {
                    let Names { devices, ranks, order } = Names::of(need);
                    EffectData {
                        need: index,
                        effect: effect.name(),
                        names_devices: devices,
                        names_ranks: ranks,
                        depends_on_rank_order: order,
                    }
                })
                .collect(),
            before: needs::data(self.before.plan, &self.before.needs, &Places::default()),
            after: needs::data(self.after.plan, &self.after.needs, &Places::default()),
        }
    }
}

/// What a need says about where data is.
fn names(need: &Need) -> &'static str {
    match Names::of(need) {
        Names { devices: true, ranks: true, .. } => "it names devices and ranks",
        Names { devices: true, .. } => "it names devices",
        Names { ranks: true, .. } => "it names ranks",
        Names { order: true, .. } => "it follows rank order",
        Names { .. } => "it names neither devices nor ranks",
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct UnknownData {
    plan: String,
    reason: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Data {
    plan: String,
    map: Vec<PlaceData>,
    permutation: String,
    proposals: Vec<ProposalData>,
    notes: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct ProposalData {
    name: String,
    contents: Vec<ContentData>,
    needs: Vec<EffectData>,
    before: needs::NeedsData,
    after: needs::NeedsData,
}

#[derive(Serialize, JsonSchema)]
struct ContentData {
    device: String,
    buffer: String,
    same: bool,
    before: Option<HeldData>,
    after: Option<HeldData>,
}

#[derive(Serialize, JsonSchema)]
struct EffectData {
    need: usize,
    effect: &'static str,
    names_devices: bool,
    names_ranks: bool,
    depends_on_rank_order: bool,
}
