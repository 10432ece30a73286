//! The same for machines.

use rankwise_plan::explore::{Counted, Extent, Harm, Permuted};
use rankwise_topology::Permutation;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Explored, broken_needs};
use crate::load::Loaded;
use crate::needs::{self, Places};
use crate::repairs;

#[derive(Serialize, JsonSchema)]
pub(crate) struct UnknownData {
    pub(super) plan: String,
    pub(super) reason: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Data {
    plan: String,
    proposals: Vec<ProposalData>,
    notes: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct ProposalData {
    name: String,
    devices: Vec<String>,
    permutations: String,
    harmless: CountData,
    undecided: CountData,
    symmetries: CountData,
    cosets: Option<String>,
    generators: Vec<PermutationData>,
    placements_judged: String,
    asked: Option<AskedData>,
    exchanges: Vec<ExchangeData>,
    kinds_of_pairs_left_out: usize,
    repairs: Option<Vec<repairs::RepairData>>,
    needs: needs::NeedsData,
}

/// A count, as a string since it may have any number of digits.
#[derive(Serialize, JsonSchema)]
struct CountData {
    number: String,
    exact: bool,
}

impl CountData {
    fn of(counted: &Counted) -> Self {
        Self { number: counted.number.to_string(), exact: counted.extent == Extent::Exact }
    }
}

/// A permutation in cycles, and as the devices in rank order that it leads to.
#[derive(Serialize, JsonSchema)]
struct PermutationData {
    cycles: String,
    devices: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct AskedData {
    permutation: PermutationData,
    effect: &'static str,
    breaks: Vec<usize>,
    needs: Option<needs::NeedsData>,
    contradiction: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct ExchangeData {
    devices: [String; 2],
    pairs_alike: String,
    effect: &'static str,
    breaks: Vec<usize>,
}

impl Data {
    pub(super) fn of(loaded: &Loaded, all: &[Explored<'_>]) -> Self {
        Self {
            plan: loaded.file.display().to_string(),
            proposals: all.iter().map(Explored::data).collect(),
            notes: loaded.notes.clone(),
        }
    }
}

impl Explored<'_> {
    fn data(&self) -> ProposalData {
        let found = &self.found;
        ProposalData {
            name: self.proposal.name.clone(),
            devices: found.devices.clone(),
            permutations: found.all().to_string(),
            harmless: CountData::of(&found.harmless),
            undecided: CountData::of(&found.undecided),
            symmetries: CountData::of(&found.symmetry.order),
            cosets: found.cosets().map(|cosets| cosets.to_string()),
            generators: found
                .symmetry
                .generators
                .iter()
                .map(|one| self.permutation_data(one))
                .collect(),
            placements_judged: found.judged.to_string(),
            asked: self.asked.as_ref().map(|(permutation, permuted)| AskedData {
                permutation: self.permutation_data(permutation),
                effect: effect_name(permuted),
                breaks: broken_needs(permuted),
                needs: permuted
                    .after
                    .as_ref()
                    .ok()
                    .map(|after| needs::data(&permuted.plan, after, &Places::default())),
                contradiction: permuted.after.as_ref().err().map(ToString::to_string),
            }),
            exchanges: self
                .exchanges
                .iter()
                .map(|exchange| ExchangeData {
                    devices: exchange.pair.map(|place| self.name(place)),
                    pairs_alike: exchange.alike.to_string(),
                    effect: effect_name(&exchange.permuted),
                    breaks: broken_needs(&exchange.permuted),
                })
                .collect(),
            kinds_of_pairs_left_out: self.kinds_left,
            repairs: self.repairs.as_ref().map(|all| repairs::data(self.broken_plan(), all)),
            needs: needs::data(self.plan, &found.needs, &Places::default()),
        }
    }

    fn permutation_data(&self, permutation: &Permutation) -> PermutationData {
        let device = |place: &u32| self.name(*place);
        PermutationData {
            cycles: self.cycles(permutation),
            devices: permutation.images().iter().map(device).collect(),
        }
    }
}

fn effect_name(permuted: &Permuted) -> &'static str {
    match permuted.harm() {
        Harm::None => "harmless",
        Harm::Undecided => "unknown",
        Harm::Breaks => "breaks",
    }
}
