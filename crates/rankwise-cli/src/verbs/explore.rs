//! `rankwise explore PLAN[#NAME]`: which permutations of the devices are harmless.

use rankwise_plan::explore::{
    Counted, Exchange, Exploration, ExploreError, Extent, Harm, Permuted, exchanges, explore,
    permuted,
};
use rankwise_plan::need::{NeedReport, NeedsAnswer};
use rankwise_plan::plan::{Plan, Proposal};
use rankwise_plan::relabel::Effect;
use rankwise_plan::repair::{Repair, repairs, satisfied};
use rankwise_topology::{DeviceOrder, Permutation};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::PlanRef;
use crate::command::{Answer, Asked, Failure};
use crate::exit::Exit;
use crate::held::range;
use crate::load::Loaded;
use crate::needs;
use crate::order::{NoOrder, Order, cycles, place_name};
use crate::page::Page;
use crate::repairs;
use crate::steps;
use crate::table::Table;

/// A proposal, and what permutations of the devices do to it.
struct Explored<'a> {
    plan: &'a Plan,
    proposal: &'a Proposal,
    found: Exploration,
    exchanges: Vec<Exchange>,
    kinds_left: usize,
    /// The permutation that was asked about.
    asked: Option<(Permutation, Permuted)>,
    /// Repairs of the order that was asked about or, without one, of the plan's own map;
    /// `None` where nothing is broken.
    repairs: Option<Vec<Repair>>,
}

/// Explores one proposal, or all; with an `order` of the devices, also what that does.
pub(crate) fn run(
    asked: Asked,
    reference: &PlanRef,
    order: Option<&Order>,
    numbers: DeviceOrder,
) -> Result<Answer, Failure> {
    let loaded = Loaded::read(&reference.file, asked)?;
    let permutation = match order.map(|order| order.permutation(&loaded.plan, numbers)).transpose()
    {
        Ok(permutation) => permutation.flatten(),
        Err(NoOrder::Unusable(unusable)) => return Err(unusable.into()),
        Err(NoOrder::Unknown(reason)) => return unknown(asked, &loaded, &reason),
    };
    let progress = asked.progress("judging permutations of the devices");
    let mut all = Vec::new();
    for proposal in loaded.proposals(reference.proposal.as_deref())? {
        match Explored::of(&loaded.plan, proposal, permutation.as_ref()) {
            Ok(explored) => all.push(explored),
            Err(ExploreError::Plan(error)) => return Err(loaded.unusable(&error).into()),
            Err(error) => return unknown(asked, &loaded, &error.to_string()),
        }
    }
    drop(progress);

    let exit = needs::worst(all.iter().map(Explored::exit));
    let verdict = match (exit, permutation.is_some()) {
        (Exit::Yes, true) => "harmless",
        (Exit::No, true) => "breaks",
        (Exit::Yes, false) => "satisfied",
        (Exit::No, false) => "not_satisfied",
        _ => "unknown",
    };
    let data = Data {
        plan: loaded.file.display().to_string(),
        proposals: all.iter().map(Explored::data).collect(),
        notes: loaded.notes.clone(),
    };
    asked.answer(verdict, exit, &data, |page| {
        for one in &all {
            one.compose(page);
        }
        page.notes(&loaded.notes);
    })
}

/// Nothing is known of the devices, or of their new order.
fn unknown(asked: Asked, loaded: &Loaded, reason: &str) -> Result<Answer, Failure> {
    let plan = loaded.file.display().to_string();
    let data = UnknownData { plan, reason: reason.to_owned() };
    asked.answer("unknown", Exit::Unknown, &data, |page| {
        page.verdict(Exit::Unknown, "harmless: unknown");
        page.say(reason);
    })
}

impl<'a> Explored<'a> {
    fn of(
        plan: &'a Plan,
        proposal: &'a Proposal,
        permutation: Option<&Permutation>,
    ) -> Result<Self, ExploreError> {
        let found = explore(plan, proposal)?;
        let judged = exchanges(plan, proposal, &found)?;
        let asked = match permutation {
            Some(permutation) => {
                Some((permutation.clone(), permuted(plan, proposal, permutation)?))
            }
            None => None,
        };
        let answers = found.needs.needs.iter().map(|need| need.answer);
        let repairs = match &asked {
            Some((_, permuted)) if permuted.harm() == Harm::Breaks && permuted.after.is_ok() => {
                Some(repairs(&permuted.plan, proposal, &satisfied(answers))?)
            }
            None if found.needs.answer() == NeedsAnswer::NotSatisfied => {
                let all: Vec<usize> = (0..plan.needs.len()).collect();
                Some(repairs(plan, proposal, &all)?)
            }
            _ => None,
        };
        let (exchanges, kinds_left) = (judged.judged, judged.kinds_left);
        Ok(Self { plan, proposal, found, exchanges, kinds_left, asked, repairs })
    }

    fn exit(&self) -> Exit {
        let answer = self.asked.as_ref().map_or(self.found.answer, |(_, asked)| asked.answer);
        needs::exit(answer)
    }

    fn name(&self, place: u32) -> String {
        place_name(self.plan, place)
    }

    /// A permutation in cycles of device names.
    fn cycles(&self, permutation: &Permutation) -> String {
        cycles(self.plan, permutation)
    }

    fn compose(&self, page: &mut Page) {
        page.heading(&format!("proposal {}", self.proposal.name));
        let found = &self.found;
        if let Some((permutation, permuted)) = &self.asked {
            let cycles = self.cycles(permutation);
            let said = match permuted.harm() {
                Harm::None if permuted.answer == NeedsAnswer::NotSatisfied => {
                    format!("{cycles} is harmless, but not every need is met after it")
                }
                Harm::None => format!("{cycles} is harmless"),
                Harm::Undecided => format!("{cycles} is not known to be harmless"),
                Harm::Breaks => format!("{cycles} breaks {}", broken(permuted)),
            };
            page.verdict(self.exit(), &said);
            evidence(page, permuted);
        }
        let all = found.all();
        let whole = found.harmless.number == all;
        let text = format!(
            "harmless: {} of {} permutations of the devices",
            count(&found.harmless),
            shown(&all.to_string()),
        );
        let exit = if self.asked.is_some() { Exit::Yes } else { self.exit() };
        page.verdict(exit, &text);
        if self.plan.needs.is_empty() {
            page.say("no need is stated: nothing says whether any of them matters");
            return;
        }
        let own: Vec<String> = found
            .needs
            .needs
            .iter()
            .filter(|need| need.answer != rankwise_plan::need::Answer::Yes)
            .map(|need| format!("need {} {}", need.need, needs::answer_word(need.answer)))
            .collect();
        if !own.is_empty() {
            page.item(
                "- ",
                &format!(
                    "under the plan's own map: {}; what is not satisfied before asks nothing \
                     of a permutation",
                    own.join(", ")
                ),
            );
        }
        if found.undecided.number.bits() > 0 {
            let undecided = count(&found.undecided);
            page.item("- ", &format!("{undecided} more are not known to be harmless or to break"));
        }
        self.group(page, whole);
        if self.asked.is_none() {
            self.table(page);
        }
        if let Some(repairs) = &self.repairs {
            repairs::compose(page, self.broken_plan(), repairs);
        }
    }

    /// The plan that the repairs are of.
    fn broken_plan(&self) -> &Plan {
        self.asked.as_ref().map_or(self.plan, |(_, permuted)| &permuted.plan)
    }

    /// The symmetry group, and how the harmless permutations lie to it.
    fn group(&self, page: &mut Page, whole: bool) {
        let found = &self.found;
        let order = count(&found.symmetry.order);
        let generators = &found.symmetry.generators;
        let made = if generators.is_empty() {
            "only the identity".to_owned()
        } else {
            let shown: Vec<String> = generators
                .iter()
                .take(8)
                .map(|one| self.cycles(one))
                .map(|text| cut(&text))
                .collect();
            let more = generators.len().saturating_sub(shown.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("made by {}{more}", shown.join(", "))
        };
        let text = match found.cosets().map(|cosets| cosets.to_string()) {
            Some(one) if one == "1" && whole => {
                format!("the symmetry group is all of them: {made}")
            }
            Some(one) if one == "1" => format!("they are the symmetry group, {made}"),
            Some(cosets) => format!(
                "they are no group, but {} cosets of the {order} that change nothing about what \
                 is harmless: {made}",
                shown(&cosets)
            ),
            None => format!("of which {order} change nothing about what is harmless: {made}"),
        };
        page.item("- ", &text);
        if !generators.is_empty() {
            page.item(
                "- ",
                "(A B C) puts the rank that is on A on B, that on B on C, that on C on A",
            );
        }
    }

    /// Which exchange breaks what.
    fn table(&self, page: &mut Page) {
        const SHOWN: usize = 16;
        let harms = |exchange: &Exchange| exchange.permuted.harm() != Harm::None;
        if self.kinds_left == 0 && !self.exchanges.iter().any(harms) {
            page.item("- ", "no exchange of two devices breaks anything");
            return;
        }
        page.gap();
        let mut table =
            Table::new(&["exchange", ">pairs alike", "effect", "first", "found", "needed"]);
        // What breaks comes first.
        let mut sorted: Vec<&Exchange> = self.exchanges.iter().collect();
        sorted.sort_by_key(|exchange| core::cmp::Reverse(exchange.permuted.harm()));
        for exchange in sorted.iter().take(SHOWN) {
            let [one, other] = exchange.pair.map(|place| self.name(place));
            let effect = match exchange.permuted.harm() {
                Harm::None => "harmless".to_owned(),
                Harm::Undecided => "not known".to_owned(),
                Harm::Breaks => format!("breaks {}", broken(&exchange.permuted)),
            };
            let first = first_place(&exchange.permuted).and_then(|need| need.evidence.as_ref());
            let place = first.map(|evidence| {
                let device = evidence.device.as_deref().unwrap_or("-");
                format!(
                    "{} on {device}, rank {}, {}",
                    evidence.buffer,
                    evidence.rank,
                    range(&evidence.positions)
                )
            });
            table.row([
                format!("({one} {other})"),
                exchange.alike.to_string(),
                effect,
                place.unwrap_or_default(),
                first.map(|evidence| cut(&evidence.found)).unwrap_or_default(),
                first.map(|evidence| cut(&evidence.needed)).unwrap_or_default(),
            ]);
        }
        page.table(&table);
        let more = sorted.len().saturating_sub(SHOWN).saturating_add(self.kinds_left);
        if more > 0 {
            page.say(&format!("  … and {more} more kinds of pairs"));
        }
        let mut broken: Vec<usize> =
            self.exchanges.iter().flat_map(|exchange| broken_needs(&exchange.permuted)).collect();
        broken.sort_unstable();
        broken.dedup();
        for need in broken.into_iter().take(SHOWN) {
            let Some(stated) = self.plan.needs.get(need) else { continue };
            let text = format!(
                "on {}, buffer {} holds {}",
                steps::on(&stated.on),
                stated.buffer,
                stated.holds_text
            );
            page.item(&format!("  need {need}: "), &text);
        }
    }

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
                needs: permuted.after.as_ref().ok().map(|after| needs::data(&permuted.plan, after)),
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
            needs: needs::data(self.plan, &found.needs),
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

/// The first place of each need that is broken.
fn evidence(page: &mut Page, permuted: &Permuted) {
    match &permuted.after {
        Ok(after) => {
            for need in &after.needs {
                if broken_needs(permuted).contains(&need.need) {
                    needs::evidence(page, &permuted.plan, need);
                }
            }
        }
        Err(error) => page.item("- ", &format!("the plan contradicts itself then: {error}")),
    }
}

/// The needs that a permutation breaks.
fn broken_needs(permuted: &Permuted) -> Vec<usize> {
    let effects = permuted.effects();
    let breaks = |(need, effect): (usize, Effect)| (effect == Effect::Breaks).then_some(need);
    effects.into_iter().enumerate().filter_map(breaks).collect()
}

/// The same in words.
fn broken(permuted: &Permuted) -> String {
    let needs: Vec<String> = broken_needs(permuted).iter().map(ToString::to_string).collect();
    match needs.as_slice() {
        [] => "the plan itself".into(),
        [one] => format!("need {one}"),
        several => format!("needs {}", several.join(", ")),
    }
}

/// The first need that is broken.
fn first_place(permuted: &Permuted) -> Option<&NeedReport> {
    let first = *broken_needs(permuted).first()?;
    permuted.after.as_ref().ok()?.needs.iter().find(|need| need.need == first)
}

fn effect_name(permuted: &Permuted) -> &'static str {
    match permuted.harm() {
        Harm::None => "harmless",
        Harm::Undecided => "unknown",
        Harm::Breaks => "breaks",
    }
}

/// A count as people read it.
fn count(counted: &Counted) -> String {
    let number = shown(&counted.number.to_string());
    match counted.extent {
        Extent::Exact => number,
        Extent::AtLeast => format!("at least {number} (not known to be all)"),
    }
}

/// A number of many digits, shortened: `1.27e89`.
fn shown(digits: &str) -> String {
    const READABLE: usize = 21;
    if digits.len() <= READABLE {
        return digits.to_owned();
    }
    let (first, rest) = digits.split_at(1);
    let rest: String = rest.chars().take(2).collect();
    format!("about {first}.{rest}e{}", digits.len().saturating_sub(1))
}

/// A text that fits a line.
fn cut(text: &str) -> String {
    const FITS: usize = 60;
    if text.chars().count() <= FITS {
        return text.to_owned();
    }
    text.chars().take(FITS).chain(['…']).collect()
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct UnknownData {
    plan: String,
    reason: String,
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
