//! Needs and whether they are met, as rows and sentences.

use std::collections::BTreeMap;

use rankwise_plan::PlanError;
use rankwise_plan::evaluate::Evaluation;
use rankwise_plan::need::{self, Answer, Evidence, NeedReport, NeedsAnswer, NeedsReport};
use rankwise_plan::plan::{Plan, Proposal};
use rankwise_plan::sense::Sense;
use rankwise_plan::term::Terms;
use rankwise_plan::wrong::Wrong;
use schemars::JsonSchema;
use serde::Serialize;

use crate::envelope::Wide;
use crate::exit::Exit;
use crate::grounds::{self, GroundData};
use crate::held::{Detail, positions, range};
use crate::page::Page;
use crate::steps;
use crate::table::Table;

/// The exit of an answer about needs. A plan without needs answers nothing.
pub(crate) const fn exit(answer: NeedsAnswer) -> Exit {
    match answer {
        NeedsAnswer::Satisfied => Exit::Yes,
        NeedsAnswer::NotSatisfied => Exit::No,
        NeedsAnswer::Unknown | NeedsAnswer::NoneStated => Exit::Unknown,
    }
}

/// The exit of several answers together: one no is a no, else one unknown an unknown.
pub(crate) fn worst(exits: impl IntoIterator<Item = Exit>) -> Exit {
    exits.into_iter().fold(Exit::Yes, |worst, exit| match (worst, exit) {
        (Exit::No, _) | (_, Exit::No) => Exit::No,
        (Exit::Unknown, _) | (_, Exit::Unknown) => Exit::Unknown,
        _ => Exit::Yes,
    })
}

/// The answer in words: `satisfied`, `not satisfied`, `unknown`, `no need stated`.
pub(crate) const fn words(answer: NeedsAnswer) -> &'static str {
    match answer {
        NeedsAnswer::Satisfied => "every need is satisfied",
        NeedsAnswer::NotSatisfied => "not every need is satisfied",
        NeedsAnswer::Unknown => "unknown whether every need is satisfied",
        NeedsAnswer::NoneStated => "no need is stated",
    }
}

pub(crate) const fn answer_word(answer: Answer) -> &'static str {
    match answer {
        Answer::Yes => "satisfied",
        Answer::No => "not satisfied",
        Answer::Unknown => "unknown",
    }
}

/// By need that is not met: every place where it is not. Empty unless asked for.
#[derive(Debug, Default)]
pub(crate) struct Places(BTreeMap<usize, Vec<Evidence>>);

impl Places {
    /// Looks for them if everything is to be shown.
    pub(crate) fn of(
        plan: &Plan,
        proposal: &Proposal,
        evaluation: &Evaluation,
        terms: &mut Terms,
        report: &NeedsReport,
        detail: Detail,
    ) -> Result<Self, PlanError> {
        let mut places = BTreeMap::new();
        let failing = report.needs.iter().filter(|need| need.answer == Answer::No);
        for need in failing.filter(|_| detail == Detail::All) {
            let all = need::places(plan, proposal, evaluation, terms, need.need)?;
            places.insert(need.need, all);
        }
        Ok(Self(places))
    }

    /// Those of a need that its report does not tell already.
    fn others(&self, need: &NeedReport) -> impl Iterator<Item = &Evidence> {
        let first = need.evidence.as_ref().map(|told| (told.rank, told.positions.clone()));
        let all = self.0.get(&need.need).into_iter().flatten();
        all.filter(move |place| Some((place.rank, place.positions.clone())) != first)
    }
}

/// What is not met first, then one row per need, then the sense of those that are met.
pub(crate) fn compose(
    page: &mut Page,
    plan: &Plan,
    report: &NeedsReport,
    places: &Places,
    detail: Detail,
) {
    failing(page, plan, report, places, detail);
    let mut table = Table::new(&[">need", "on", "buffer", "positions", "holds", "answer", "sense"]);
    let rows = detail.at_most(8);
    for need in report.needs.iter().take(rows) {
        let Some(stated) = plan.needs.get(need.need) else { continue };
        table.row([
            need.need.to_string(),
            steps::on(&stated.on),
            stated.buffer.clone(),
            stated.positions.as_ref().map_or_else(|| "all".into(), range),
            stated.holds_text.clone(),
            answer_word(need.answer).to_owned(),
            need.sense.map_or("-", Sense::name).to_owned(),
        ]);
    }
    page.table(&table);
    page.more(report.needs.len().saturating_sub(rows), "needs");
    if let Some(sense) = report.sense() {
        grounds::compose(page, sense, &report.grounds());
    }
}

/// What is known not to be met, then what is not known to be.
pub(crate) fn failing(
    page: &mut Page,
    plan: &Plan,
    report: &NeedsReport,
    places: &Places,
    detail: Detail,
) {
    let with = |answer| report.needs.iter().filter(move |need| need.answer == answer);
    let open: Vec<&NeedReport> = with(Answer::No).chain(with(Answer::Unknown)).collect();
    let shown = detail.at_most(3);
    for need in open.iter().take(shown) {
        evidence(page, plan, need);
        for other in places.others(need) {
            place(page, "then: ", other);
        }
    }
    page.more(open.len().saturating_sub(shown), "needs that are not satisfied");
}

/// The first place where a need is not met, if there is one: what is there, what should
/// be, what is wrong with it and what to do.
pub(crate) fn evidence(page: &mut Page, plan: &Plan, need: &NeedReport) {
    let (Some(evidence), Some(stated)) = (&need.evidence, plan.needs.get(need.need)) else {
        return;
    };
    let fails = match need.answer {
        Answer::Unknown => "is not known to".to_owned(),
        _ if need.ranks == 1 => "does not".to_owned(),
        _ => format!("does not on {} of {} ranks", need.failing, need.ranks),
    };
    let (buffer, holds) = (&stated.buffer, &stated.holds_text);
    let whose = steps::on(&stated.on);
    page.item(
        &format!("  need {}: ", need.need),
        &format!("{buffer} should hold {holds} on {whose}, and {fails}"),
    );
    place(page, if need.failing > 1 { "first: " } else { "" }, evidence);
    remedies(page, "      ", &evidence.wrongs);
}

/// One place: what is there, what should be, and what is wrong with it.
fn place(page: &mut Page, which: &str, evidence: &Evidence) {
    let device = match &evidence.device {
        Some(device) => format!(" (device {device})"),
        None => String::new(),
    };
    let (rank, buffer) = (evidence.rank, &evidence.buffer);
    let at = range(&evidence.positions);
    page.item("    ", &format!("{which}rank {rank}{device}, positions {at} of {buffer}"));
    page.item("      holds  ", &evidence.found);
    page.item("      needs  ", &evidence.needed);
    for wrong in &evidence.wrongs {
        page.item("      - ", &wrong.to_string());
    }
}

/// What to do, of the names that say so.
pub(crate) fn remedies(page: &mut Page, indent: &str, wrongs: &[Wrong]) {
    let mut told: Vec<String> = Vec::new();
    for remedy in wrongs.iter().filter_map(Wrong::remedy) {
        if !told.contains(&remedy) {
            told.push(remedy);
        }
    }
    if !told.is_empty() {
        page.item(&format!("{indent}do: "), &told.join("; "));
    }
}

/// The needs of a proposal for machines.
#[derive(Serialize, JsonSchema)]
pub(crate) struct NeedsData {
    answer: &'static str,
    sense: Option<&'static str>,
    grounds: Vec<GroundData>,
    needs: Vec<NeedData>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct NeedData {
    need: usize,
    on: String,
    buffer: String,
    positions: Option<[Wide; 2]>,
    holds: String,
    answer: &'static str,
    sense: Option<&'static str>,
    ranks: Wide,
    failing: Wide,
    evidence: Option<EvidenceData>,
    /// With `--all`, of a need that is not met: the other places where it is not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    others: Vec<EvidenceData>,
}

#[derive(Serialize, JsonSchema)]
struct EvidenceData {
    rank: u32,
    device: Option<String>,
    buffer: String,
    positions: [Wide; 2],
    found: String,
    needed: String,
    wrongs: Vec<WrongData>,
}

impl EvidenceData {
    fn of(evidence: &Evidence) -> Self {
        Self {
            rank: evidence.rank.index(),
            device: evidence.device.clone(),
            buffer: evidence.buffer.clone(),
            positions: positions(&evidence.positions),
            found: evidence.found.clone(),
            needed: evidence.needed.clone(),
            wrongs: evidence.wrongs.iter().map(WrongData::of).collect(),
        }
    }
}

/// What is wrong, by name and in a sentence.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WrongData {
    kind: &'static str,
    text: String,
    /// What to do about it.
    remedy: Option<String>,
}

impl WrongData {
    pub(crate) fn of(wrong: &Wrong) -> Self {
        Self { kind: wrong.name(), text: wrong.to_string(), remedy: wrong.remedy() }
    }
}

pub(crate) fn data(plan: &Plan, report: &NeedsReport, places: &Places) -> NeedsData {
    let needs = report.needs.iter().filter_map(|need| need_data(plan, need, places));
    NeedsData {
        answer: report.answer().name(),
        sense: report.sense().map(Sense::name),
        grounds: grounds::data(&report.grounds()),
        needs: needs.collect(),
    }
}

fn need_data(plan: &Plan, need: &NeedReport, places: &Places) -> Option<NeedData> {
    let stated = plan.needs.get(need.need)?;
    Some(NeedData {
        need: need.need,
        on: steps::on(&stated.on),
        buffer: stated.buffer.clone(),
        positions: stated.positions.as_ref().map(positions),
        holds: stated.holds_text.clone(),
        answer: machine_answer(need.answer),
        sense: need.sense.map(Sense::name),
        ranks: Wide(need.ranks),
        failing: Wide(need.failing),
        evidence: need.evidence.as_ref().map(EvidenceData::of),
        others: places.others(need).map(EvidenceData::of).collect(),
    })
}

pub(crate) const fn machine_answer(answer: Answer) -> &'static str {
    match answer {
        Answer::Yes => "satisfied",
        Answer::No => "not_satisfied",
        Answer::Unknown => "unknown",
    }
}
