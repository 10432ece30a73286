//! Repairs of a plan: what each changes, and its logical payload.

use rankwise_plan::explore::Extent;
use rankwise_plan::plan::Plan;
use rankwise_plan::repair::{Mend, NOT_SAID, Repair, Volume};
use schemars::JsonSchema;
use serde::Serialize;

use crate::envelope::Wide;
use crate::order::cycles;
use crate::page::Page;
use crate::table::Table;

/// More lines of text than this are not shown of one repair.
const LINES: usize = 24;

/// Repairs of `plan`, cheapest first.
pub(crate) fn compose(page: &mut Page, plan: &Plan, repairs: &[Repair]) {
    page.heading("repairs");
    if repairs.is_empty() {
        page.say(
            "none found: no map, no message from a rank that holds what is needed, no all-gather \
             and no other index satisfies the needs",
        );
        return;
    }
    let mut table =
        Table::new(&[">no", "what", "payload in all", "most on one rank", ">steps", "re-checked"]);
    for (index, repair) in repairs.iter().enumerate() {
        table.row([
            index.to_string(),
            what(plan, repair),
            volume(repair.total()),
            volume(most(repair)),
            repair.steps.to_string(),
            rechecked(repair).to_owned(),
        ]);
    }
    page.table(&table);
    for (index, repair) in repairs.iter().enumerate() {
        page.gap();
        page.say(&format!("repair {index}:"));
        let lines: Vec<String> = repair
            .text
            .lines()
            .filter(|line| !line.is_empty())
            .map(|line| format!("    {line}"))
            .collect();
        page.verbatim(lines.get(..LINES.min(lines.len())).unwrap_or_default());
        let more = lines.len().saturating_sub(LINES);
        if more > 0 {
            page.say(&format!("    … and {more} more lines (all of them with --json)"));
        }
    }
    page.gap();
    page.item("not said: ", NOT_SAID);
}

fn what(plan: &Plan, repair: &Repair) -> String {
    match &repair.mend {
        Mend::Map { permutation, fewest } => {
            let moved = permutation.moved().count();
            let fewest = match fewest {
                Extent::Exact => "",
                Extent::AtLeast => " (fewer may do)",
            };
            format!("permute the map: {}, {moved} devices move{fewest}", cycles(plan, permutation))
        }
        Mend::Messages(moves) => {
            const SHOWN: usize = 4;
            let shown: Vec<String> = moves
                .iter()
                .take(SHOWN)
                .map(|one| format!("{} of rank {} to {}", one.buffer, one.from, one.to))
                .collect();
            let more = moves.len().saturating_sub(SHOWN);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("send and receive: {}{more}", shown.join(", "))
        }
        Mend::Gather { buffer, over } => {
            let over = over.as_deref().map_or(String::new(), |name| format!(" over {name}"));
            format!("all-gather {buffer}{over}, and take the part locally")
        }
        Mend::Index(rewritten) => {
            let needs: Vec<String> = rewritten.iter().map(|one| one.need.to_string()).collect();
            format!("change what the consumer reads: need {}", needs.join(", "))
        }
    }
}

const fn kind(repair: &Repair) -> &'static str {
    match repair.mend {
        Mend::Map { .. } => "map",
        Mend::Messages(_) => "messages",
        Mend::Gather { .. } => "gather",
        Mend::Index(_) => "index",
    }
}

const fn rechecked(repair: &Repair) -> &'static str {
    if repair.all_satisfied {
        "every need satisfied"
    } else {
        "every need that was satisfied before"
    }
}

/// The largest output on one rank.
fn most(repair: &Repair) -> Volume {
    repair.payloads.iter().map(|at| at.output).max_by_key(|output| output.bytes).unwrap_or_default()
}

fn volume(volume: Volume) -> String {
    if volume == Volume::default() {
        return "0".into();
    }
    let elements = if volume.elements == 1 { "element" } else { "elements" };
    format!("{} {elements}, {} B", volume.elements, volume.bytes)
}

/// A repair for machines.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RepairData {
    kind: &'static str,
    what: String,
    text: String,
    steps_added: usize,
    output_payload: VolumeData,
    payloads: Vec<RankData>,
    rechecked: &'static str,
}

#[derive(Serialize, JsonSchema)]
struct RankData {
    rank: u32,
    input: VolumeData,
    output: VolumeData,
}

#[derive(Serialize, JsonSchema)]
struct VolumeData {
    elements: Wide,
    bytes: Wide,
}

impl From<Volume> for VolumeData {
    fn from(volume: Volume) -> Self {
        Self { elements: Wide(volume.elements), bytes: Wide(volume.bytes) }
    }
}

pub(crate) fn data(plan: &Plan, repairs: &[Repair]) -> Vec<RepairData> {
    let one = |repair: &Repair| RepairData {
        kind: kind(repair),
        what: what(plan, repair),
        text: repair.text.clone(),
        steps_added: repair.steps,
        output_payload: repair.total().into(),
        payloads: repair
            .payloads
            .iter()
            .map(|at| RankData {
                rank: at.rank.index(),
                input: at.input.into(),
                output: at.output.into(),
            })
            .collect(),
        rechecked: rechecked(repair),
    };
    repairs.iter().map(one).collect()
}
