//! The logical payload of each step, with the convention of its count.

use rankwise_account::{Overflow, PerRole, RoleShare};
use rankwise_model::{Dtype, Layout};
use rankwise_plan::evaluate::StepRecord;
use rankwise_plan::plan::Act;
use schemars::JsonSchema;
use serde::Serialize;

use crate::envelope::Wide;
use crate::page::Page;
use crate::steps;
use crate::table::Table;

/// More communications of one step that differ than this are not shown one by one.
const SHOWN: usize = 6;

/// Communications of one step that are alike: one operation at one size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alike {
    layout: Layout,
    dtype: Dtype,
    /// How many groups carry it out.
    groups: u64,
}

/// Puts the communications of a step together that are alike.
pub(crate) fn alike(record: &StepRecord) -> Vec<Alike> {
    let mut found: Vec<Alike> = Vec::new();
    let mut index = std::collections::HashMap::new();
    for call in &record.calls {
        let at = *index.entry((call.layout, call.dtype)).or_insert_with(|| {
            found.push(Alike { layout: call.layout, dtype: call.dtype, groups: 0 });
            found.len() - 1
        });
        if let Some(alike) = found.get_mut(at) {
            alike.groups = alike.groups.saturating_add(1);
        }
    }
    found
}

impl Alike {
    /// `count 2 is one rank's shard (recvcount), over 2 ranks`.
    pub(crate) fn convention(&self) -> String {
        let meaning = self.layout.operation().kind().row().count;
        let (count, ranks) = (self.layout.count(), self.layout.ranks());
        let groups = match self.groups {
            1 => String::new(),
            groups => format!(", in each of {groups} groups"),
        };
        format!("count {count} is {meaning}, over {ranks} ranks{groups}")
    }

    fn shares(&self) -> Result<Vec<RoleShare>, Overflow> {
        PerRole::of(&self.layout, self.dtype).map(|roles| roles.iter().collect())
    }

    fn holders(&self, share: &RoleShare) -> u64 {
        u64::from(share.holders).saturating_mul(self.groups)
    }
}

/// The convention of each count of a step, and below it who hands in and gets what.
pub(crate) fn compose(page: &mut Page, record: &StepRecord) {
    let all = alike(record);
    for alike in all.iter().take(SHOWN) {
        page.item("  ", &alike.convention());
        let mut table = Table::new(&["payload of", ">ranks", "input per rank", "output per rank"]);
        match alike.shares() {
            Err(overflow) => page.item("  ", &overflow.to_string()),
            Ok(shares) => {
                for share in shares {
                    table.row([
                        share.role.to_string(),
                        alike.holders(&share).to_string(),
                        share.payload.input.to_string(),
                        share.payload.output.to_string(),
                    ]);
                }
            }
        }
        page.table(&table);
    }
    let more = all.len().saturating_sub(SHOWN);
    if more > 0 {
        page.say(&format!("  … and {more} more communications"));
    }
}

/// One row per step and role, for setting proposals side by side: the convention of
/// the count stands in every row.
pub(crate) fn rows(table: &mut Table, which: &str, index: usize, act: &Act, record: &StepRecord) {
    let all = alike(record);
    let call = steps::call(act);
    let step = index.to_string();
    if all.is_empty() {
        let who = if matches!(act, Act::Message(_)) { "(see its recv)" } else { "local" };
        table.row([which, &step, &call, "-", who, "-", "-"]);
    }
    for alike in all.iter().take(SHOWN) {
        let count =
            format!("{} = {}", alike.layout.count(), alike.layout.operation().kind().row().count);
        match alike.shares() {
            Err(overflow) => table.row([which, &step, &call, &count, &overflow.to_string()]),
            Ok(shares) => {
                for share in shares {
                    table.row([
                        which,
                        &step,
                        &call,
                        &count,
                        &share.role.to_string(),
                        &share.payload.input.to_string(),
                        &share.payload.output.to_string(),
                    ]);
                }
            }
        }
    }
}

/// The same for machines.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CallData {
    groups: Wide,
    ranks_per_group: u32,
    dtype: &'static str,
    count: Wide,
    count_means: String,
    payload: Vec<RoleData>,
    overflow: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct RoleData {
    role: String,
    ranks: Wide,
    input_elements: Wide,
    input_bytes: Wide,
    output_elements: Wide,
    output_bytes: Wide,
}

/// What the communications of a step count and carry.
pub(crate) fn data(record: &StepRecord) -> Vec<CallData> {
    let call = |alike: &Alike| {
        let (payload, overflow) = match alike.shares() {
            Ok(shares) => (shares, None),
            Err(overflow) => (Vec::new(), Some(overflow.to_string())),
        };
        let role = |share: RoleShare| RoleData {
            role: share.role.to_string(),
            ranks: Wide(alike.holders(&share)),
            input_elements: Wide(share.payload.input.elements().get()),
            input_bytes: Wide(share.payload.input.bytes().get()),
            output_elements: Wide(share.payload.output.elements().get()),
            output_bytes: Wide(share.payload.output.bytes().get()),
        };
        CallData {
            groups: Wide(alike.groups),
            ranks_per_group: alike.layout.ranks().get(),
            dtype: alike.dtype.name(),
            count: Wide(alike.layout.count()),
            count_means: alike.layout.operation().kind().row().count.to_string(),
            payload: payload.into_iter().map(role).collect(),
            overflow,
        }
    };
    alike(record).iter().map(call).collect()
}
