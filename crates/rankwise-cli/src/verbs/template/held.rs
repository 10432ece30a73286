//! What every rank holds after each passage of a schedule.

use std::collections::BTreeMap;

use rankwise_model::Dtype;
use rankwise_plan::template::{Amount, Draft, Extent, Held, Holdings, Kind, NOT_PEAKS};
use rankwise_topology::WorldRank;
use schemars::JsonSchema;
use serde::Serialize;

use crate::command::{Answer, Asked, Failure};
use crate::envelope::Wide;
use crate::exit::Exit;
use crate::page::Page;
use crate::table::Table;

/// Says what is held, moment by moment.
pub(super) fn run(asked: Asked, draft: &Draft) -> Result<Answer, Failure> {
    let progress = asked.progress("carrying the steps out");
    let holdings = draft.holdings().map_err(|error| super::unusable(draft, &error))?;
    drop(progress);
    let data = Data::of(draft, &holdings);
    asked.answer("answered", Exit::Yes, &data, |page| compose(page, draft, &holdings))
}

fn compose(page: &mut Page, draft: &Draft, holdings: &Holdings) {
    for line in draft.about().lines() {
        page.say(line);
    }
    let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| holdings.has(*kind)).collect();
    let alike = holdings.moments.iter().all(|moment| moment.held.len() == 1);
    let mut columns = vec!["after"];
    if !alike {
        columns.push("ranks");
    }
    columns.extend(kinds.iter().map(|kind| kind.name()));
    columns.push(">in all");
    let mut table = Table::new(&columns);
    for moment in &holdings.moments {
        for (index, (ranks, held)) in moment.held.iter().enumerate() {
            let mut row = vec![if index == 0 { moment.title.clone() } else { String::new() }];
            if !alike {
                row.push(intervals(ranks));
            }
            row.extend(kinds.iter().map(|kind| cell(held.kinds.get(kind))));
            row.push(format!("{} B", held.bytes()));
            table.row(row);
        }
    }
    page.gap();
    page.say(if alike { "per rank, the same on every rank:" } else { "per rank:" });
    page.table(&table);
    page.gap();
    page.item("not said: ", NOT_PEAKS);
}

/// `shard: 750 f32, 3000 B`.
fn cell(amount: Option<&Amount>) -> String {
    let Some(amount) = amount else { return "none".into() };
    let parts: Vec<String> =
        amount.elements.iter().map(|(dtype, count)| format!("{count} {dtype}")).collect();
    format!("{}: {}, {} B", extent(amount.extent), parts.join(" + "), amount.bytes)
}

fn extent(extent: Extent) -> String {
    match extent {
        Extent::Full => "full".into(),
        Extent::Shard => "shard".into(),
        Extent::Partly { full, shard: 0, layers } => format!("{full} of {layers} full"),
        Extent::Partly { full: 0, shard, layers } => format!("{shard} of {layers} shard"),
        Extent::Partly { full, shard, .. } => format!("{full} full, {shard} shard"),
    }
}

/// `0-3, 6`.
fn intervals(ranks: &[WorldRank]) -> String {
    let mut found: Vec<(u32, u32)> = Vec::new();
    for rank in ranks.iter().map(|rank| rank.index()) {
        match found.last_mut() {
            Some((_, last)) if last.saturating_add(1) == rank => *last = rank,
            _ => found.push((rank, rank)),
        }
    }
    let texts =
        found.iter().map(
            |(first, last)| {
                if first == last { first.to_string() } else { format!("{first}-{last}") }
            },
        );
    texts.collect::<Vec<_>>().join(", ")
}

/// The same for machines.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Data {
    template: &'static str,
    moments: Vec<MomentData>,
    not_said: &'static str,
}

#[derive(Serialize, JsonSchema)]
struct MomentData {
    after: String,
    held: Vec<HeldData>,
}

#[derive(Serialize, JsonSchema)]
struct HeldData {
    ranks: Vec<u32>,
    kinds: BTreeMap<&'static str, AmountData>,
    bytes_per_rank: Wide,
}

#[derive(Serialize, JsonSchema)]
struct AmountData {
    extent: &'static str,
    layers_full: Option<Wide>,
    layers_shard: Option<Wide>,
    elements: BTreeMap<&'static str, Wide>,
    bytes: Wide,
}

impl Data {
    fn of(draft: &Draft, holdings: &Holdings) -> Self {
        let moments = holdings.moments.iter().map(|moment| MomentData {
            after: moment.title.clone(),
            held: moment.held.iter().map(|(ranks, held)| HeldData::of(ranks, held)).collect(),
        });
        Self { template: draft.name(), moments: moments.collect(), not_said: NOT_PEAKS }
    }
}

impl HeldData {
    fn of(ranks: &[WorldRank], held: &Held) -> Self {
        let amount = |amount: &Amount| {
            let (extent, full, shard) = match amount.extent {
                Extent::Full => ("full", None, None),
                Extent::Shard => ("shard", None, None),
                Extent::Partly { full, shard, .. } => ("partly", Some(full), Some(shard)),
            };
            let named = |(dtype, count): (&Dtype, &u64)| (dtype.name(), Wide(*count));
            AmountData {
                extent,
                layers_full: full.map(Wide),
                layers_shard: shard.map(Wide),
                elements: amount.elements.iter().map(named).collect(),
                bytes: Wide(amount.bytes),
            }
        };
        Self {
            ranks: ranks.iter().map(|rank| rank.index()).collect(),
            kinds: held.kinds.iter().map(|(kind, held)| (kind.name(), amount(held))).collect(),
            bytes_per_rank: Wide(held.bytes()),
        }
    }
}
