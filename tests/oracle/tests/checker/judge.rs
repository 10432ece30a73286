//! The checker's verdicts against the oracle's.

use std::collections::{BTreeMap, BTreeSet};

use rankwise_oracle::decide::{Answer, Numbers};
use rankwise_oracle::value::{Value, Values};
use rankwise_oracle::world::World;
use rankwise_plan::Plan;
use rankwise_plan::compare::{Comparison, State, compare};
use rankwise_plan::evaluate::evaluate;
use rankwise_plan::file::Format;
use rankwise_plan::need::{self, NeedReport, NeedsReport};
use rankwise_plan::read::NoArrays;
use rankwise_plan::term::Terms;

use crate::case::{Case, Need};
use crate::naming::Naming;

/// What came out of a judgement, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Relation {
    Same,
    Different,
    Met,
    NotMet,
}

impl Relation {
    pub(crate) const ALL: [Self; 4] = [Self::Same, Self::Different, Self::Met, Self::NotMet];

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Different => "different",
            Self::Met => "met",
            Self::NotMet => "not met",
        }
    }
}

/// How often what came out.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) counts: BTreeMap<String, u64>,
    /// By operation, the operation after it, and what came out for the proposal.
    pub(crate) cells: BTreeMap<(&'static str, &'static str, Relation), u64>,
}

impl Tally {
    pub(crate) fn count(&mut self, what: impl Into<String>) {
        *self.counts.entry(what.into()).or_default() += 1;
    }

    pub(crate) fn of(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or(0)
    }

    /// What another part of the work counted.
    pub(crate) fn add(&mut self, other: &Self) {
        for (what, count) in &other.counts {
            *self.counts.entry(what.clone()).or_default() += count;
        }
        for (cell, count) in &other.cells {
            *self.cells.entry(*cell).or_default() += count;
        }
    }

    fn cells(&mut self, case: &Case, side: usize, relation: Relation) {
        for pair in case.proposals[side].steps.windows(2) {
            *self.cells.entry((pair[0].word(), pair[1].word(), relation)).or_default() += 1;
        }
    }
}

/// A case that the checker has read.
pub(crate) struct Trial<'a> {
    case: &'a Case,
    pub(crate) plan: Plan,
    pub(crate) numbers: Numbers,
}

/// What the two disagree about: the plan, and what each says.
pub(crate) type Disagreement = String;

impl<'a> Trial<'a> {
    pub(crate) fn new(case: &'a Case, seed: u64) -> Result<Self, Disagreement> {
        let text = case.text();
        match Plan::read(&text, Format::Toml, &mut NoArrays) {
            Ok(plan) => Ok(Self { case, plan, numbers: Numbers::new(seed) }),
            Err(error) => Err(format!("the checker does not read\n{text}\n{error:?}")),
        }
    }

    /// Whether the checker refuses to carry a proposal out.
    pub(crate) fn refuses(&self, side: usize) -> bool {
        evaluate(&self.plan, &self.plan.proposals[side], &mut Terms::new()).is_err()
    }

    /// Compares two proposals, and the verdicts on them with the oracle's.
    pub(crate) fn pair(
        &mut self,
        sides: [usize; 2],
        tally: &mut Tally,
    ) -> Result<(), Disagreement> {
        let [a, b] = sides.map(|side| (&self.plan, &self.plan.proposals[side]));
        let case = self.case;
        let comparison = compare(a, b, &mut Terms::new())
            .map_err(|error| format!("{sides:?}\n{}\n{error:?}", case.text_of(&sides)))?;
        self.state(sides, &comparison, tally)
            .map_err(|why| format!("{why}\n{}\n{:#?}", case.text_of(&sides), comparison.state))?;
        for (side, reports) in sides.into_iter().zip(&comparison.needs) {
            self.needs(side, reports, tally)?;
        }
        Ok(())
    }

    /// The answers to the needs of a proposal beside the oracle's.
    pub(crate) fn needs(
        &mut self,
        side: usize,
        reports: &NeedsReport,
        tally: &mut Tally,
    ) -> Result<(), Disagreement> {
        let case = self.case;
        for (need, report) in case.needs.iter().zip(&reports.needs) {
            self.need(side, need, report, tally)
                .map_err(|why| format!("{why}\n{}\n{report:#?}", case.text_of(&[side])))?;
        }
        Ok(())
    }

    fn state(
        &mut self,
        sides: [usize; 2],
        comparison: &Comparison,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let expected = self.states(sides, tally);
        let found = comparison.state.state;
        let agrees = match found {
            // Equal numbers may have terms that no law makes equal; then, and only
            // then, the checker may leave it open.
            State::Same | State::Unknown => expected != Answer::Different,
            State::Different => expected != Answer::Same,
        };
        if !agrees {
            return Err(format!("p{} and p{}: {expected:?}", sides[0], sides[1]));
        }
        tally.count(format!("state {}", found.name()));
        let relation = match found {
            State::Same => Relation::Same,
            State::Different => Relation::Different,
            State::Unknown => return Ok(()),
        };
        tally.cells(self.case, sides[0], relation);
        tally.cells(self.case, sides[1], relation);
        Ok(())
    }

    /// Whether two proposals leave the same, by the oracle.
    fn states(&mut self, sides: [usize; 2], tally: &mut Tally) -> Answer {
        let case = self.case;
        let [one, other] = sides.map(|side| &case.proposals[side]);
        let outputs: BTreeSet<&String> =
            one.outputs.iter().chain(&other.outputs).flatten().collect();
        let surface = if outputs.is_empty() {
            case.needs.iter().map(|need| &need.buffer).collect()
        } else {
            outputs
        };
        let mut answer = Answer::Same;
        for rank in 0..case.n {
            for buffer in &surface {
                let held = [&one.left, &other.left].map(|world| positions(world, rank, buffer));
                for p in 0..held[0].len().max(held[1].len()) {
                    let here = match held.map(|held| held.get(p).copied().flatten()) {
                        [None, None] => Answer::Same,
                        [Some(one), Some(other)] => {
                            case.values.compare(one, other, &mut self.numbers)
                        }
                        _ => Answer::Different,
                    };
                    if here == Answer::Undecided {
                        tally.count("undecided");
                    }
                    answer = worse(answer, here);
                }
            }
        }
        answer
    }

    fn need(
        &mut self,
        side: usize,
        need: &Need,
        report: &NeedReport,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let case = self.case;
        let proposal = &case.proposals[side];
        let each: Vec<Answer> = need
            .on
            .iter()
            .zip(&need.wanted)
            .map(|(rank, wanted)| self.found(&proposal.left, *rank, need, wanted))
            .collect();
        let expected = each.iter().copied().fold(Answer::Same, worse);
        let agrees = match report.answer {
            need::Answer::Yes | need::Answer::Unknown => expected != Answer::Different,
            need::Answer::No => expected != Answer::Same,
        };
        if !agrees {
            return Err(format!("need {}: {expected:?}", report.need));
        }
        let (what, relation) = match report.answer {
            need::Answer::Yes => ("need met", Relation::Met),
            need::Answer::No => ("need not met", Relation::NotMet),
            need::Answer::Unknown => {
                tally.count("need unknown");
                return Ok(());
            }
        };
        tally.count(what);
        tally.cells(case, side, relation);
        if report.ranks != need.on.len() as u64 {
            return Err(format!("the need names {} ranks", need.on.len()));
        }
        if report.answer == need::Answer::Yes {
            return Ok(());
        }
        let differing = each.iter().filter(|answer| **answer == Answer::Different).count() as u64;
        let undecided = each.iter().filter(|answer| **answer == Answer::Undecided).count() as u64;
        if !(1..=differing + undecided).contains(&report.failing) {
            return Err(format!("{differing} ranks do not find what they need"));
        }
        let Some(evidence) = &report.evidence else { return Err("no evidence".to_owned()) };
        let is_evident = |rank: &usize| u32::try_from(*rank) == Ok(evidence.rank.index());
        match need.on.iter().position(is_evident) {
            Some(at) if each[at] != Answer::Same => {
                let numbers = &mut self.numbers;
                Naming { case, proposal, need, at, numbers }.check(report, evidence, tally)
            }
            _ => Err(format!("rank {} does not differ", evidence.rank)),
        }
    }

    /// Whether a rank finds what it wants.
    fn found(&mut self, left: &World, rank: usize, need: &Need, wanted: &[Value]) -> Answer {
        let Some(buffer) = left.held(rank, &need.buffer) else { return Answer::Different };
        let held = &buffer.positions;
        let range = need.positions.clone().unwrap_or(0..wanted.len());
        let fits = match need.positions {
            None => held.len() == wanted.len(),
            Some(_) => held.len() >= range.end,
        };
        if !fits || buffer.kind != self.case.values.kind(wanted[0]) {
            return Answer::Different;
        }
        holds(&self.case.values, &held[range], wanted, &mut self.numbers)
    }
}

/// Whether positions hold the values that are wanted there, one for one.
pub(crate) fn holds(
    values: &Values,
    held: &[Option<Value>],
    wanted: &[Value],
    numbers: &mut Numbers,
) -> Answer {
    let mut answer = Answer::Same;
    for (held, wanted) in held.iter().zip(wanted) {
        let here = match held {
            None => Answer::Different,
            Some(held) => values.compare(*held, *wanted, numbers),
        };
        answer = worse(answer, here);
    }
    answer
}

fn positions<'w>(world: &'w World, rank: usize, buffer: &str) -> &'w [Option<Value>] {
    world.held(rank, buffer).map_or(&[], |buffer| &buffer.positions)
}

/// A known difference outweighs an open question, and that one equality.
fn worse(one: Answer, other: Answer) -> Answer {
    match (one, other) {
        (Answer::Different, _) | (_, Answer::Different) => Answer::Different,
        (Answer::Undecided, _) | (_, Answer::Undecided) => Answer::Undecided,
        _ => Answer::Same,
    }
}
