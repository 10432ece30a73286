//! The same for machines.

use rankwise_account::NOT_SAID;
use rankwise_plan::compare::{Comparison, Difference, Named};
use rankwise_plan::sense::Sense;
use rankwise_topology::WorldRank;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Pair, Side};
use crate::envelope::Wide;
use crate::findings::FindingsData;
use crate::grounds::{self, GroundData};
use crate::held::positions;
use crate::needs::{self, WrongData};
use crate::payloads;
use crate::steps;

#[derive(Serialize, JsonSchema)]
pub(crate) struct Data {
    pairs: Vec<PairData>,
    not_said: &'static str,
    pub(super) notes: Vec<String>,
}

impl Data {
    pub(super) fn of(pairs: &[Pair<'_>], notes: Vec<String>) -> Self {
        Self { pairs: pairs.iter().map(Pair::data).collect(), not_said: NOT_SAID, notes }
    }
}

#[derive(Serialize, JsonSchema)]
struct PairData {
    a: SideData,
    b: SideData,
    verdict: &'static str,
    exit: u8,
    state: &'static str,
    state_evidence: Option<DifferenceData>,
    /// With `--all`: the other places where the states differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    state_others: Vec<DifferenceData>,
    state_because: Vec<String>,
    sense: Option<&'static str>,
    grounds: Vec<GroundData>,
    compared: Vec<String>,
    not_compared: Vec<String>,
    unsettled: Vec<String>,
    speed_comparable: bool,
    refusal: Option<&'static str>,
}

#[derive(Serialize, JsonSchema)]
struct SideData {
    plan: String,
    proposal: String,
    needs: Option<needs::NeedsData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    programs: Option<FindingsData>,
    steps: Vec<StepData>,
}

#[derive(Serialize, JsonSchema)]
struct StepData {
    title: String,
    calls: Vec<payloads::CallData>,
}

/// Where two states first differ: `places` differ, or `values` at one place.
#[derive(Serialize, JsonSchema)]
struct DifferenceData {
    kind: &'static str,
    place: Option<String>,
    ranks: Option<[u32; 2]>,
    buffer: Option<String>,
    positions: Option<[Wide; 2]>,
    a: String,
    b: String,
    /// Which side `wrongs` are about: what they would be, were the other side's value the
    /// one that is needed.
    measured: Option<&'static str>,
    wrongs: Vec<WrongData>,
}

impl DifferenceData {
    fn of(difference: &Difference) -> Self {
        match difference {
            Difference::Places { first, second } => Self {
                kind: "places",
                place: None,
                ranks: None,
                buffer: None,
                positions: None,
                a: first.clone(),
                b: second.clone(),
                measured: None,
                wrongs: Vec::new(),
            },
            Difference::Values {
                place,
                ranks,
                buffer,
                positions: at,
                first,
                second,
                named: Named { side, wrongs },
            } => Self {
                kind: "values",
                place: Some(place.clone()),
                ranks: Some(ranks.map(WorldRank::index)),
                buffer: Some(buffer.clone()),
                positions: Some(positions(at)),
                a: first.clone(),
                b: second.clone(),
                measured: (!wrongs.is_empty()).then_some(if *side == 0 { "a" } else { "b" }),
                wrongs: wrongs.iter().map(WrongData::of).collect(),
            },
        }
    }
}

impl Pair<'_> {
    fn data(&self) -> PairData {
        let Comparison {
            surface,
            not_compared,
            state,
            needs,
            evaluations,
            sense,
            grounds,
            unsettled,
        } = &self.comparison;
        let [left, right] = &self.sides;
        let side = |index: usize, side: &Side<'_>| {
            let evaluation = evaluations.get(index);
            let records = evaluation.map_or(&[][..], |evaluation| &evaluation.steps);
            let steps = side.proposal.steps.iter().zip(records);
            SideData {
                plan: side.loaded.file.display().to_string(),
                proposal: side.proposal.name.clone(),
                needs: needs
                    .get(index)
                    .zip(self.places.get(index))
                    .map(|(report, places)| needs::data(self.plan(index), report, places)),
                programs: evaluation
                    .and_then(|evaluation| evaluation.findings.as_deref())
                    .map(FindingsData::of),
                steps: steps
                    .map(|(step, record)| StepData {
                        title: steps::title(&step.act),
                        calls: payloads::data(record),
                    })
                    .collect(),
            }
        };
        PairData {
            a: side(0, left),
            b: side(1, right),
            verdict: self.comparison.summary().name(),
            exit: self.exit().status(),
            state: state.state.name(),
            state_evidence: state.evidence.as_ref().map(DifferenceData::of),
            state_others: self.others.iter().map(DifferenceData::of).collect(),
            state_because: state.because.clone(),
            sense: sense.map(Sense::name),
            grounds: grounds::data(grounds),
            compared: surface.compared.clone(),
            not_compared: not_compared.clone(),
            unsettled: unsettled.iter().map(ToString::to_string).collect(),
            speed_comparable: self.comparison.speed_is_comparable(),
            refusal: self.refusal(),
        }
    }
}
