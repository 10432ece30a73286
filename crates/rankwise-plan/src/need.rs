//! Needs: what a consumer must find, in terms, and whether it does.

mod expression;
mod find;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use rankwise_topology::WorldRank;

use crate::error::PlanError;
use crate::evaluate::Evaluation;
use crate::memory::ranks;
use crate::plan::{Need, Plan, Proposal};
use crate::sense::{Grounds, Sense};
use crate::term::Terms;
use crate::vector::{Run, Vector};
use crate::wrong::{Claim, Difference, Naming, Wrong};
pub(crate) use expression::Expressions;
use find::{Finding, Support, differences, find};

/// An answer that may be missing for lack of something stated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Answer {
    /// Yes.
    Yes,
    /// No, with evidence.
    No,
    /// Something that it depends on is not stated.
    Unknown,
}

/// Whether one need is met.
#[derive(Clone, Debug)]
pub struct NeedReport {
    /// The need, by its index in the plan.
    pub need: usize,
    /// Whether every rank it names finds what it needs.
    pub answer: Answer,
    /// The weakest sense in which what was found equals what was needed; `None`
    /// unless the answer is yes.
    pub sense: Option<Sense>,
    /// What that equality rests on; empty unless the answer is yes.
    pub grounds: Grounds,
    /// How many ranks the need names.
    pub ranks: u64,
    /// How many of them do not find what they need.
    pub failing: u64,
    /// The first place where it is not met, or not known to be.
    pub evidence: Option<Evidence>,
}

/// The first place at which found and needed differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The rank.
    pub rank: WorldRank,
    /// Its device, where a map is given.
    pub device: Option<String>,
    /// The buffer.
    pub buffer: String,
    /// The positions.
    pub positions: Range<u64>,
    /// What is held there, as a term.
    pub found: String,
    /// What is needed there, as a term.
    pub needed: String,
    /// What is wrong with it, by name.
    pub wrongs: Vec<Wrong>,
}

/// Whether a proposal meets every need of its plan.
#[derive(Clone, Debug)]
pub struct NeedsReport {
    /// One report per need, in the order of the plan.
    pub needs: Vec<NeedReport>,
}

/// Whether all needs are met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NeedsAnswer {
    /// Every need is met.
    Satisfied,
    /// A need is known not to be met.
    NotSatisfied,
    /// None is known not to be met, but one is not known to be met.
    Unknown,
    /// The plan states no need.
    NoneStated,
}

impl NeedsAnswer {
    /// The name used in machine output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Satisfied => "satisfied",
            Self::NotSatisfied => "not_satisfied",
            Self::Unknown => "unknown",
            Self::NoneStated => "none_stated",
        }
    }
}

impl NeedsReport {
    /// The answer for all needs together.
    pub fn answer(&self) -> NeedsAnswer {
        let any = |answer| self.needs.iter().any(|need| need.answer == answer);
        if self.needs.is_empty() {
            NeedsAnswer::NoneStated
        } else if any(Answer::No) {
            NeedsAnswer::NotSatisfied
        } else if any(Answer::Unknown) {
            NeedsAnswer::Unknown
        } else {
            NeedsAnswer::Satisfied
        }
    }

    /// Whether the proposal that was evaluated so does what is needed. One whose calls do
    /// not meet, or are in no order, does not, whatever its buffers are said to hold; of
    /// one whose order depends on a device's resources it is not known.
    pub fn answer_of(&self, evaluation: &Evaluation) -> NeedsAnswer {
        match self.answer() {
            _ if !evaluation.reports().is_empty() => NeedsAnswer::NotSatisfied,
            NeedsAnswer::NotSatisfied => NeedsAnswer::NotSatisfied,
            _ if evaluation.depends_on_resources() => NeedsAnswer::Unknown,
            answer => answer,
        }
    }

    /// The weakest sense among the needs that are met.
    pub fn sense(&self) -> Option<Sense> {
        self.needs.iter().filter_map(|need| need.sense).max()
    }

    /// What the needs that are met rest on.
    pub fn grounds(&self) -> Grounds {
        let mut grounds = Grounds::default();
        self.needs.iter().for_each(|need| grounds.extend(&need.grounds));
        grounds
    }
}

/// Judges a proposal by the needs of its plan.
///
/// Fails only where a need itself is contradictory: a shard of a length that does
/// not divide, positions that `holds` does not fill.
pub fn judge_needs(
    plan: &Plan,
    proposal: &Proposal,
    evaluation: &Evaluation,
    terms: &mut Terms,
) -> Result<NeedsReport, PlanError> {
    let mut judging = Judging { plan, proposal, evaluation, expressions: Expressions::new(plan) };
    let needs = plan.needs.iter().enumerate();
    let needs: Result<_, _> =
        needs.map(|(index, need)| judging.judge(terms, index, need)).collect();
    Ok(NeedsReport { needs: needs? })
}

/// Every place where a need is not met, rank by rank and run by run, the first included:
/// what [`judge_needs`] says of one place, of all. What the other ranks and the steps say
/// is left to the first.
///
/// Empty for a need that is met, or not known not to be. Fails where [`judge_needs`] does.
pub fn places(
    plan: &Plan,
    proposal: &Proposal,
    evaluation: &Evaluation,
    terms: &mut Terms,
    index: usize,
) -> Result<Vec<Evidence>, PlanError> {
    let mut judging = Judging { plan, proposal, evaluation, expressions: Expressions::new(plan) };
    let Some(need) = plan.needs.get(index) else { return Ok(Vec::new()) };
    let mut places = Vec::new();
    for rank in ranks(plan.world).filter(|rank| plan.is_on(&need.on, *rank)) {
        let needed = judging.expressions.vector(terms, index, &need.holds, rank)?;
        let held = proposal.held(&evaluation.after, rank, &need.buffer);
        let found = differences(terms, index, need, (held.map(AsRef::as_ref), &needed))?;
        let naming = judging.naming(terms, need, &[]);
        let told = |difference| {
            let wrongs = naming.of_value(difference);
            judging.evidence(terms, need, rank, difference, wrongs)
        };
        places.extend(found.iter().map(told));
    }
    Ok(places)
}

struct Judging<'a> {
    plan: &'a Plan,
    proposal: &'a Proposal,
    evaluation: &'a Evaluation,
    expressions: Expressions<'a>,
}

impl Judging<'_> {
    fn judge(
        &mut self,
        terms: &mut Terms,
        index: usize,
        need: &Need,
    ) -> Result<NeedReport, PlanError> {
        let mut report = NeedReport {
            need: index,
            answer: Answer::Yes,
            sense: None,
            grounds: Grounds::default(),
            ranks: 0,
            failing: 0,
            evidence: None,
        };
        let mut claims: Vec<Claim> = Vec::new();
        // Ranks that share both vectors share the verdict. (The claims keep the vectors,
        // so that no address is used again meanwhile.)
        let mut known: BTreeMap<(usize, usize), Finding> = BTreeMap::new();
        let mut worst: Option<(WorldRank, Difference)> = None;
        let mut support = Support::default();
        let column = self.proposal.held_by_all(&self.evaluation.after, &need.buffer);
        for rank in ranks(self.plan.world).filter(|rank| self.plan.is_on(&need.on, *rank)) {
            report.ranks = report.ranks.saturating_add(1);
            let needed = self.expressions.vector(terms, index, &need.holds, rank)?;
            let held = column.and_then(|column| column.get(rank)).cloned();
            let key = (held.as_ref().map_or(0, address), address(&needed));
            let finding = match known.get(&key) {
                Some(finding) => finding.clone(),
                None => {
                    let finding =
                        find(terms, index, need, (held.as_deref(), &needed), &mut support)?;
                    known.insert(key, finding.clone());
                    finding
                }
            };
            claims.push(Claim { rank, held, needed });
            let (answer, difference) = match finding {
                Finding::Met(found) => {
                    report.sense = report.sense.max(found);
                    continue;
                }
                Finding::Differs(difference) => {
                    report.failing = report.failing.saturating_add(1);
                    (Answer::No, difference)
                }
                Finding::Open(difference) => (Answer::Unknown, difference),
            };
            // A known No outweighs an Unknown; the first place of the weightiest is kept.
            let outweighs =
                matches!((report.answer, answer), (Answer::Yes, _) | (Answer::Unknown, Answer::No));
            if outweighs {
                report.answer = answer;
                worst = Some((rank, difference));
            }
        }
        if let Some((rank, difference)) = worst {
            report.sense = None;
            let claims = if report.answer == Answer::No { claims } else { Vec::new() };
            let wrongs = self.naming(terms, need, &claims).wrongs(rank, &difference);
            report.evidence = Some(self.evidence(terms, need, rank, &difference, wrongs));
        } else {
            report.grounds = support.grounds.into_grounds();
        }
        Ok(report)
    }

    fn naming<'s>(&'s self, terms: &'s Terms, need: &'s Need, claims: &'s [Claim]) -> Naming<'s> {
        Naming {
            terms,
            plan: self.plan,
            proposal: self.proposal,
            evaluation: self.evaluation,
            buffer: &need.buffer,
            positions: need.positions.as_ref(),
            claims,
        }
    }

    /// The difference on `rank` in words.
    fn evidence(
        &self,
        terms: &Terms,
        need: &Need,
        rank: WorldRank,
        difference: &Difference,
        wrongs: Vec<Wrong>,
    ) -> Evidence {
        let Difference { at, held, needed, length, .. } = difference;
        let count = at.end.saturating_sub(at.start);
        let show = |content: &Option<_>| {
            content.map(|content| terms.show_run(&Run { positions: 0..count, content }))
        };
        Evidence {
            rank,
            device: self.plan.device_of(rank),
            buffer: need.buffer.clone(),
            positions: at.clone(),
            found: show(held).unwrap_or_else(|| match length {
                Some((found, _)) => format!("nothing: the buffer has {found} positions"),
                None => "nothing: no step wrote this buffer".to_string(),
            }),
            needed: show(needed).unwrap_or_default(),
            wrongs,
        }
    }
}

fn address(vector: &Arc<Vector>) -> usize {
    Arc::as_ptr(vector).addr()
}
