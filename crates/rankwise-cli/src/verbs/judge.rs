//! `rankwise judge PLAN[#NAME] --observed DIR`: arrays that a real run left.

use std::path::Path;

use rankwise_plan::evaluate::evaluate;
use rankwise_plan::judge::{Finding, JudgeError, Judgement, Law, Observed, judge};
use rankwise_plan::plan::{Plan, Proposal};
use rankwise_plan::term::Terms;
use rankwise_plan::wrong::Wrong;
use rankwise_topology::{World, WorldRank};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::PlanRef;
use crate::arrays;
use crate::command::{Answer, Asked, Failure};
use crate::envelope::{Number, Wide};
use crate::exit::Exit;
use crate::held::Detail;
use crate::load::Loaded;
use crate::needs::{self, WrongData};
use crate::page::Page;
use crate::unusable::Unusable;

/// Judges the arrays of a folder by one proposal.
pub(crate) fn run(
    asked: Asked,
    reference: &PlanRef,
    folder: &Path,
    detail: Detail,
) -> Result<Answer, Failure> {
    let loaded = Loaded::read(&reference.file, asked)?;
    let proposal = loaded.proposal(reference.proposal.as_deref())?;
    let wanted = wanted(&loaded, proposal)?;
    let reading = asked.progress("reading the observed arrays");
    let collected = Collected::read(&loaded.plan, &wanted, folder)?;
    drop(reading);
    let progress = asked.progress("judging");
    let judgement = judge(&loaded.plan, proposal, &collected.arrays)
        .map_err(|error| unusable(&loaded, folder, &error))?;
    drop(progress);

    let right = judgement.findings.iter().all(|finding| finding.law == Law::Right);
    let (verdict, exit) = match (right, collected.missing.is_empty()) {
        (false, _) => ("wrong", Exit::No),
        (true, true) => ("right", Exit::Yes),
        (true, false) => ("incomplete", Exit::Unknown),
    };
    let notes = [loaded.notes.clone(), collected.notes.clone()].concat();
    let data = Data::of(&loaded, proposal, &judgement, &collected.missing, notes);
    asked.answer(verdict, exit, &data, |page| {
        page.verdict(exit, &headline(&loaded.name_of(proposal), &judgement, &collected.missing));
        compose(page, &judgement, &collected.missing, detail);
        page.notes(&data.notes);
    })
}

/// The buffers that are the result of a proposal: its outputs, else those that needs
/// name, else all that it writes.
fn wanted(loaded: &Loaded, proposal: &Proposal) -> Result<Vec<Wanted>, Box<Unusable>> {
    let plan = &loaded.plan;
    let evaluation =
        evaluate(plan, proposal, &mut Terms::new()).map_err(|error| loaded.unusable(&error))?;
    let mut names: Vec<String> = match (&proposal.outputs, plan.needs.as_slice()) {
        (Some(outputs), _) => outputs.clone(),
        (None, []) => {
            let writes = evaluation.steps.iter().flat_map(|step| &step.writes);
            writes.map(|write| proposal.public_name(&write.buffer).to_owned()).collect()
        }
        (None, needs) => needs.iter().map(|need| need.buffer.clone()).collect(),
    };
    names.sort_unstable();
    names.dedup();
    let mut wanted = Vec::new();
    for buffer in names {
        for rank in World::new(plan.world).ranks() {
            let held = proposal.held(&evaluation.after, rank, &buffer);
            if held.is_some_and(|held| held.promises_any()) {
                wanted.push(Wanted { rank, buffer: buffer.clone() });
            }
        }
    }
    Ok(wanted)
}

/// An array to look for.
struct Wanted {
    rank: WorldRank,
    buffer: String,
}

/// What a folder holds of the arrays that were looked for.
struct Collected {
    arrays: Observed,
    missing: Vec<MissingData>,
    notes: Vec<String>,
}

impl Collected {
    fn read(plan: &Plan, wanted: &[Wanted], folder: &Path) -> Result<Self, Box<Unusable>> {
        let observed = arrays::Observed::open(folder)?;
        let mut collected =
            Self { arrays: Observed::new(), missing: Vec::new(), notes: Vec::new() };
        let mut first_missing = None;
        for Wanted { rank, buffer } in wanted {
            let device = plan.device_of(*rank);
            match observed.array(buffer, rank.index(), device.as_deref())? {
                Some(found) => {
                    let notes = found.array.notes.iter();
                    collected.notes.extend(notes.map(|note| format!("{}: {note}", found.name)));
                    collected.arrays.insert((*rank, buffer.clone()), found.array.values);
                }
                None => {
                    first_missing = first_missing.or_else(|| {
                        Some(observed.missing(buffer, rank.index(), device.as_deref()))
                    });
                    let (rank, buffer) = (rank.index(), buffer.clone());
                    collected.missing.push(MissingData { rank, device, buffer });
                }
            }
        }
        match first_missing {
            Some(missing) if collected.arrays.is_empty() => Err(missing),
            _ => Ok(collected),
        }
    }
}

fn unusable(loaded: &Loaded, folder: &Path, error: &JudgeError) -> Box<Unusable> {
    match error {
        JudgeError::Plan(error) => loaded.unusable(error),
        JudgeError::Shape { rank, buffer, found, needed } => Unusable::observed(
            folder,
            format!("{found} for buffer {buffer} of rank {rank}"),
            needed.clone(),
        ),
        JudgeError::NoValues { .. } => Unusable::file(
            &loaded.file,
            error.to_string(),
            "a plan with values for every input that the result is made of",
        ),
        error => Unusable::observed(folder, error.to_string(), "arrays of the proposal's result"),
    }
}

fn headline(name: &str, judgement: &Judgement, missing: &[MissingData]) -> String {
    let all = judgement.findings.len();
    let wrong = judgement.findings.iter().filter(|finding| finding.law != Law::Right).count();
    match (wrong, missing.len()) {
        (0, 0) => format!("{name}: right, all {all} arrays"),
        (0, gone) => {
            format!("{name}: right where observed, but {gone} of {} arrays are missing", all + gone)
        }
        (wrong, _) => format!("{name}: {wrong} of {all} arrays are wrong"),
    }
}

/// Arrays of one buffer of which the same is to be said.
fn alike(judgement: &Judgement) -> Vec<Vec<&Finding>> {
    let mut groups: Vec<Vec<&Finding>> = Vec::new();
    let mut known = std::collections::HashMap::new();
    for finding in judgement.findings.iter().filter(|finding| finding.law != Law::Right) {
        let key = (finding.buffer.as_str(), finding.law.to_string());
        let index = *known.entry(key).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups.get_mut(index).into_iter().for_each(|group| group.push(finding));
    }
    groups
}

/// What is wrong first, and what is alike together.
fn compose(page: &mut Page, judgement: &Judgement, missing: &[MissingData], detail: Detail) {
    let most = detail.at_most(8);
    let groups = alike(judgement);
    for group in groups.iter().take(most) {
        wrong(page, group, detail);
    }
    let more = groups.iter().skip(most).map(Vec::len).sum();
    page.more(more, "wrong arrays");
    if let Some(map) = &judgement.map {
        let ranks = map.iter().enumerate().map(|(rank, device)| format!("rank {rank} on {device}"));
        let ranks: Vec<String> = ranks.collect();
        page.item("  map: ", &format!("everything would be right with {}", ranks.join(", ")));
    }
    for (one, other) in judgement.indistinct.iter().take(most) {
        page.item(
            "  not told apart: ",
            &format!(
                "ranks {one} and {other} contribute equal values; exchanging them would not show"
            ),
        );
    }
    page.more(judgement.indistinct.len().saturating_sub(most), "pairs of ranks not told apart");
    for gone in missing.iter().take(most) {
        let device = gone.device.as_ref().map_or_else(String::new, |name| format!(" ({name})"));
        page.item("  missing: ", &format!("buffer {} of rank {}{device}", gone.buffer, gone.rank));
    }
    page.more(missing.len().saturating_sub(most), "missing arrays");
}

/// Arrays that are wrong in the same way, and the first wrong value of the first.
fn wrong(page: &mut Page, group: &[&Finding], detail: Detail) {
    let Some(first) = group.first() else { return };
    let named = |finding: &&Finding| match &finding.device {
        Some(device) => format!("{} ({device})", finding.rank),
        None => finding.rank.to_string(),
    };
    let most = detail.at_most(8);
    let mut names: Vec<String> = group.iter().take(most).map(named).collect();
    let more = group.len().saturating_sub(most);
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    let ranks = if group.len() == 1 { "rank" } else { "ranks" };
    page.item("  ", &format!("{} on {ranks} {}", first.buffer, names.join(", ")));
    match first.law.wrongs() {
        [] => page.item("    - ", &first.law.to_string()),
        [one] => page.item("    - ", &one.to_string()),
        several => {
            page.say("    - the values do not tell which of these it is:");
            for wrong in several.iter().take(most) {
                page.item("      - ", &wrong.to_string());
            }
            page.more(several.len().saturating_sub(most), "of them");
        }
    }
    if let Some((position, found, expected)) = first.first_wrong {
        page.item(
            "      ",
            &format!(
                "rank {}, position {position} holds {found}, needs {expected}; {} of {} positions \
                 are wrong",
                first.rank, first.wrong, first.count
            ),
        );
    }
    needs::remedies(page, "      ", first.law.wrongs());
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Data {
    plan: String,
    proposal: String,
    findings: Vec<FindingData>,
    map: Option<Vec<String>>,
    indistinct: Vec<[u32; 2]>,
    missing: Vec<MissingData>,
    notes: Vec<String>,
}

#[derive(Clone, Serialize, JsonSchema)]
struct MissingData {
    rank: u32,
    device: Option<String>,
    buffer: String,
}

#[derive(Serialize, JsonSchema)]
struct FindingData {
    buffer: String,
    rank: u32,
    device: Option<String>,
    law: &'static str,
    text: String,
    /// Everything that would leave what was found: one, or several that the values do
    /// not tell apart.
    candidates: Vec<WrongData>,
    /// For permuted blocks: by place, whose block is there.
    blocks: Option<Vec<u32>>,
    /// For a wrong owner: whose array it is.
    owner: Option<u32>,
    wrong: Wide,
    first_wrong: Option<FirstWrong>,
}

#[derive(Serialize, JsonSchema)]
struct FirstWrong {
    position: Wide,
    found: Number,
    expected: Number,
}

impl Data {
    fn of(
        loaded: &Loaded,
        proposal: &Proposal,
        judgement: &Judgement,
        missing: &[MissingData],
        notes: Vec<String>,
    ) -> Self {
        let indices = |(one, other): &(WorldRank, WorldRank)| [one.index(), other.index()];
        Self {
            plan: loaded.file.display().to_string(),
            proposal: proposal.name.clone(),
            findings: judgement.findings.iter().map(FindingData::of).collect(),
            map: judgement.map.clone(),
            indistinct: judgement.indistinct.iter().map(indices).collect(),
            missing: missing.to_vec(),
            notes,
        }
    }
}

impl FindingData {
    fn of(finding: &Finding) -> Self {
        let blocks = finding.law.wrongs().iter().find_map(|wrong| match wrong {
            Wrong::Permuted { order, .. } => Some(order.as_slice().to_vec()),
            _ => None,
        });
        let wrongs = finding.law.wrongs().iter();
        Self {
            buffer: finding.buffer.clone(),
            rank: finding.rank.index(),
            device: finding.device.clone(),
            law: finding.law.name(),
            text: finding.law.to_string(),
            candidates: wrongs.map(WrongData::of).collect(),
            blocks,
            owner: finding.law.owner().map(WorldRank::index),
            wrong: Wide(finding.wrong),
            first_wrong: finding.first_wrong.map(|(position, found, expected)| FirstWrong {
                position: Wide(position),
                found: Number(found),
                expected: Number(expected),
            }),
        }
    }
}
