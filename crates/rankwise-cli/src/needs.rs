//! Needs and whether they are met, as rows and sentences.

use rankwise_plan::need::{Answer, NeedReport, NeedsAnswer, NeedsReport};
use rankwise_plan::plan::Plan;
use rankwise_plan::wrong::Wrong;
use serde::Serialize;

use crate::envelope::Wide;
use crate::exit::Exit;
use crate::grounds::{self, GroundData};
use crate::held::{positions, range};
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

/// One row per need, then what is wrong, need by need.
pub(crate) fn compose(page: &mut Page, plan: &Plan, report: &NeedsReport) {
    let mut table = Table::new(&[">need", "on", "buffer", "positions", "holds", "answer", "sense"]);
    for need in &report.needs {
        let Some(stated) = plan.needs.get(need.need) else { continue };
        let answer = match (need.answer, need.failing) {
            (Answer::No, failing) if failing < need.ranks => {
                format!("not satisfied on {failing} of {} ranks", need.ranks)
            }
            (answer, _) => answer_word(answer).to_owned(),
        };
        table.row([
            need.need.to_string(),
            steps::on(&stated.on),
            stated.buffer.clone(),
            stated.positions.as_ref().map_or_else(|| "all".into(), range),
            stated.holds_text.clone(),
            answer,
            need.sense.map_or("-", rankwise_plan::sense::Sense::name).to_owned(),
        ]);
    }
    page.table(&table);
    for need in &report.needs {
        evidence(page, need);
    }
    if let Some(sense) = report.sense() {
        grounds::compose(page, sense, &report.grounds());
    }
}

/// The first place where a need is not met, if there is one, and what is wrong there.
pub(crate) fn evidence(page: &mut Page, need: &NeedReport) {
    let Some(evidence) = &need.evidence else { return };
    let device = match &evidence.device {
        Some(device) => format!(" (device {device})"),
        None => String::new(),
    };
    page.item(
        &format!("  need {}: ", need.need),
        &format!(
            "first on rank {}{device}, buffer {}, positions {}",
            evidence.rank,
            evidence.buffer,
            range(&evidence.positions),
        ),
    );
    page.item("      found  ", &evidence.found);
    page.item("      needed ", &evidence.needed);
    for wrong in &evidence.wrongs {
        page.item("      - ", &wrong.to_string());
    }
}

/// The needs of a proposal for machines.
#[derive(Serialize)]
pub(crate) struct NeedsData {
    answer: &'static str,
    sense: Option<&'static str>,
    grounds: Vec<GroundData>,
    needs: Vec<NeedData>,
}

#[derive(Serialize)]
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
}

#[derive(Serialize)]
struct EvidenceData {
    rank: u32,
    device: Option<String>,
    buffer: String,
    positions: [Wide; 2],
    found: String,
    needed: String,
    wrongs: Vec<WrongData>,
}

/// What is wrong, by name and in a sentence.
#[derive(Serialize)]
pub(crate) struct WrongData {
    kind: &'static str,
    text: String,
}

impl WrongData {
    pub(crate) fn of(wrong: &Wrong) -> Self {
        Self { kind: wrong.name(), text: wrong.to_string() }
    }
}

pub(crate) fn data(plan: &Plan, report: &NeedsReport) -> NeedsData {
    let needs = report.needs.iter().filter_map(|need| need_data(plan, need));
    NeedsData {
        answer: report.answer().name(),
        sense: report.sense().map(rankwise_plan::sense::Sense::name),
        grounds: grounds::data(&report.grounds()),
        needs: needs.collect(),
    }
}

fn need_data(plan: &Plan, need: &NeedReport) -> Option<NeedData> {
    let stated = plan.needs.get(need.need)?;
    Some(NeedData {
        need: need.need,
        on: steps::on(&stated.on),
        buffer: stated.buffer.clone(),
        positions: stated.positions.as_ref().map(positions),
        holds: stated.holds_text.clone(),
        answer: machine_answer(need.answer),
        sense: need.sense.map(rankwise_plan::sense::Sense::name),
        ranks: Wide(need.ranks),
        failing: Wide(need.failing),
        evidence: need.evidence.as_ref().map(|evidence| EvidenceData {
            rank: evidence.rank.index(),
            device: evidence.device.clone(),
            buffer: evidence.buffer.clone(),
            positions: positions(&evidence.positions),
            found: evidence.found.clone(),
            needed: evidence.needed.clone(),
            wrongs: evidence.wrongs.iter().map(WrongData::of).collect(),
        }),
    })
}

pub(crate) const fn machine_answer(answer: Answer) -> &'static str {
    match answer {
        Answer::Yes => "satisfied",
        Answer::No => "not_satisfied",
        Answer::Unknown => "unknown",
    }
}
