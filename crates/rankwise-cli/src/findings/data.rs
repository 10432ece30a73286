//! Findings for machines: every report with its parts, and as the text that people get.

use rankwise_program::{
    Absent, Against, Aspect, Call, Caveat, Conflict, Divergence, Edge, Edit, Findings, More,
    Report, Side, Touch, Unit,
};
use rankwise_topology::WorldRank;
use schemars::JsonSchema;
use serde::Serialize;

use crate::envelope::Wide;

/// What a check of rank programs has found.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FindingsData {
    completed: Wide,
    reports: Vec<ReportData>,
    order: Vec<ReportData>,
    caveats: Vec<CaveatData>,
}

#[derive(Serialize, JsonSchema)]
struct ReportData {
    kind: &'static str,
    aspects: Vec<&'static str>,
    communicator: String,
    communicator_ranks: u32,
    seq: Option<String>,
    sides: Vec<SideData>,
    outliers: Vec<u32>,
    absent: Vec<AbsentData>,
    cycle: Vec<u32>,
    waits: Vec<EdgeData>,
    divergences: Vec<DivergenceData>,
    instead: Vec<OfRank>,
    conflict: Option<ConflictData>,
    text: String,
}

#[derive(Serialize, JsonSchema)]
struct SideData {
    signature: String,
    tag: Option<String>,
    members: Option<Vec<u32>>,
    ranks: Vec<u32>,
    sites: Vec<SiteData>,
}

#[derive(Serialize, JsonSchema)]
struct SiteData {
    site: String,
    ranks: Vec<u32>,
}

#[derive(Serialize, JsonSchema)]
struct AbsentData {
    rank: u32,
    text: String,
}

#[derive(Serialize, JsonSchema)]
struct CallData {
    communicator: String,
    signature: String,
    tag: Option<String>,
    seq: String,
    site: String,
}

#[derive(Serialize, JsonSchema)]
struct EdgeData {
    rank: u32,
    call: CallData,
    waits_for: Vec<u32>,
}

#[derive(Serialize, JsonSchema)]
struct OfRank {
    rank: u32,
    call: CallData,
}

#[derive(Serialize, JsonSchema)]
struct DivergenceData {
    ranks: Vec<u32>,
    like: Vec<u32>,
    majority: bool,
    edits: Vec<EditData>,
    /// How many more there are; null where the two could not be aligned.
    more: Option<Wide>,
}

#[derive(Serialize, JsonSchema)]
#[serde(tag = "edit", rename_all = "snake_case")]
enum EditData {
    Skipped { call: CallData, calls: Wide, among: Wide },
    Extra { call: CallData, calls: Wide, among: Wide },
    Swapped { first: CallData, second: CallData },
    Moved { call: CallData, elsewhere: CallData },
    Replaced { expected: CallData, found: CallData },
    Other { text: String },
}

#[derive(Serialize, JsonSchema)]
struct ConflictData {
    ranks: Vec<u32>,
    shared: String,
    unit: &'static str,
    first: TouchData,
    second: TouchData,
    more: Wide,
}

#[derive(Serialize, JsonSchema)]
struct TouchData {
    site: String,
    signature: String,
    communicator: Option<String>,
    stream: String,
    tag: Option<String>,
    access: String,
    view: String,
}

#[derive(Serialize, JsonSchema)]
struct CaveatData {
    caveat: &'static str,
    text: String,
}

impl FindingsData {
    pub(crate) fn of(findings: &Findings) -> Self {
        Self {
            completed: Wide(findings.completed),
            reports: findings.reports.iter().map(|report| ReportData::of(report)).collect(),
            order: findings.order.iter().map(ReportData::of).collect(),
            caveats: findings.caveats.iter().map(CaveatData::of).collect(),
        }
    }
}

fn indices(ranks: &[WorldRank]) -> Vec<u32> {
    ranks.iter().map(|rank| rank.index()).collect()
}

impl ReportData {
    fn of(report: &Report) -> Self {
        let instead = |(rank, call): &(WorldRank, Call)| OfRank {
            rank: rank.index(),
            call: CallData::of(call),
        };
        Self {
            kind: report.kind.name(),
            aspects: report.aspects.iter().map(Aspect::name).collect(),
            communicator: report.communicator.to_string(),
            communicator_ranks: report.ranks.get(),
            seq: report.seq.map(|seq| seq.to_string()),
            sides: report.sides.iter().map(SideData::of).collect(),
            outliers: indices(&report.outliers),
            absent: report.absent.iter().map(AbsentData::of).collect(),
            cycle: indices(&report.cycle()),
            waits: report.waits.iter().map(EdgeData::of).collect(),
            divergences: report.divergences.iter().map(DivergenceData::of).collect(),
            instead: report.instead.iter().map(instead).collect(),
            conflict: report.conflict.as_ref().map(ConflictData::of),
            text: report.to_string(),
        }
    }
}

impl SideData {
    fn of(side: &Side) -> Self {
        let sites = side.sites.iter();
        let members = side.creates.as_ref();
        Self {
            signature: side.signature.to_string(),
            tag: side.tag.as_ref().map(ToString::to_string),
            members: members.map(|members| members.iter().map(|member| member.index()).collect()),
            ranks: side.members.iter().map(|member| member.world.index()).collect(),
            sites: sites
                .map(|(site, ranks)| SiteData { site: site.to_string(), ranks: indices(ranks) })
                .collect(),
        }
    }
}

impl AbsentData {
    fn of(absent: &Absent) -> Self {
        Self { rank: absent.member.world.index(), text: absent.to_string() }
    }
}

impl CallData {
    fn of(call: &Call) -> Self {
        Self {
            communicator: call.communicator.to_string(),
            signature: call.signature.to_string(),
            tag: call.tag.as_ref().map(ToString::to_string),
            seq: call.seq.to_string(),
            site: call.site.to_string(),
        }
    }
}

impl EdgeData {
    fn of(edge: &Edge) -> Self {
        Self {
            rank: edge.rank.index(),
            call: CallData::of(&edge.call),
            waits_for: indices(&edge.waits_for),
        }
    }
}

impl DivergenceData {
    fn of(divergence: &Divergence) -> Self {
        Self {
            ranks: indices(&divergence.ranks),
            like: indices(&divergence.like),
            majority: divergence.against == Against::Majority,
            edits: divergence.edits.iter().map(EditData::of).collect(),
            more: match divergence.more {
                More::Edits(more) => Some(Wide(more)),
                More::NotAligned => None,
            },
        }
    }
}

impl EditData {
    fn of(edit: &Edit) -> Self {
        match edit {
            Edit::Skipped { call, calls, among } => {
                Self::Skipped { call: CallData::of(call), calls: Wide(*calls), among: Wide(*among) }
            }
            Edit::Extra { call, calls, among } => {
                Self::Extra { call: CallData::of(call), calls: Wide(*calls), among: Wide(*among) }
            }
            Edit::Swapped { first, second } => {
                Self::Swapped { first: CallData::of(first), second: CallData::of(second) }
            }
            Edit::Moved { call, elsewhere } => {
                Self::Moved { call: CallData::of(call), elsewhere: CallData::of(elsewhere) }
            }
            Edit::Replaced { expected, found } => {
                Self::Replaced { expected: CallData::of(expected), found: CallData::of(found) }
            }
            other => Self::Other { text: other.to_string() },
        }
    }
}

impl ConflictData {
    fn of(conflict: &Conflict) -> Self {
        Self {
            ranks: indices(&conflict.ranks),
            shared: conflict.shared.to_string(),
            unit: match conflict.unit {
                Unit::Elements => "elements",
                Unit::Bytes => "bytes",
            },
            first: TouchData::of(&conflict.first),
            second: TouchData::of(&conflict.second),
            more: Wide(conflict.more),
        }
    }
}

impl TouchData {
    fn of(touch: &Touch) -> Self {
        Self {
            site: touch.place.to_string(),
            signature: touch.signature.to_string(),
            communicator: touch.group.as_ref().map(ToString::to_string),
            stream: touch.stream.to_string(),
            tag: touch.tag.as_ref().map(ToString::to_string),
            access: touch.access.to_string(),
            view: touch.view.to_string(),
        }
    }
}

impl CaveatData {
    fn of(caveat: &Caveat) -> Self {
        let kind = match caveat {
            Caveat::TensorIdentityNotChecked { .. } => "tensor_identity_not_checked",
            Caveat::UnwaitedAtEnd { .. } => "unwaited_at_end",
            _ => "other",
        };
        Self { caveat: kind, text: caveat.to_string() }
    }
}
