//! Needs: what a consumer must find, in terms, and whether it does.

mod expression;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use rankwise_topology::WorldRank;

use crate::error::{Fault, PlanError};
use crate::evaluate::Evaluation;
use crate::memory::ranks;
use crate::plan::{Need, Plan, Proposal};
use crate::sense::{Sense, sense};
use crate::term::Terms;
use crate::vector::{Content, Run, Vector, side_by_side};
use crate::witness::known_to_differ;
use crate::wrong::{Wrong, wrongs};
use expression::Expressions;

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

    /// The weakest sense among the needs that are met.
    pub fn sense(&self) -> Option<Sense> {
        self.needs.iter().filter_map(|need| need.sense).max()
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
    let mut expressions = Expressions::new(plan);
    let mut needs = Vec::new();
    for (index, need) in plan.needs.iter().enumerate() {
        needs.push(judge(plan, proposal, evaluation, terms, &mut expressions, index, need)?);
    }
    Ok(NeedsReport { needs })
}

fn judge(
    plan: &Plan,
    proposal: &Proposal,
    evaluation: &Evaluation,
    terms: &mut Terms,
    expressions: &mut Expressions<'_>,
    index: usize,
    need: &Need,
) -> Result<NeedReport, PlanError> {
    let mut report = NeedReport {
        need: index,
        answer: Answer::Yes,
        sense: None,
        ranks: 0,
        failing: 0,
        evidence: None,
    };
    // Ranks that share both vectors share the verdict.
    // (What was needed is kept with it, so that no address is used again meanwhile.)
    let mut known: BTreeMap<(usize, usize), (Arc<Vector>, Finding)> = BTreeMap::new();
    for rank in ranks(plan.world).filter(|rank| plan.is_on(&need.on, *rank)) {
        report.ranks = report.ranks.saturating_add(1);
        let needed = expressions.vector(terms, index, &need.holds, rank)?;
        let held = proposal.held(&evaluation.after, rank, &need.buffer);
        let key = (held.map_or(0, address), address(&needed));
        let finding = match known.get(&key) {
            Some((_, finding)) => finding.clone(),
            None => {
                let finding = compare(terms, index, need, held.map(AsRef::as_ref), &needed)?;
                known.insert(key, (needed, finding.clone()));
                finding
            }
        };
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
            report.evidence = Some(Evidence {
                rank,
                device: plan.device_of(rank),
                buffer: need.buffer.clone(),
                positions: difference.positions,
                found: difference.found,
                needed: difference.needed,
                wrongs: difference.wrongs,
            });
        }
    }
    if report.answer != Answer::Yes {
        report.sense = None;
    }
    Ok(report)
}

fn address(vector: &Arc<Vector>) -> usize {
    Arc::as_ptr(vector).addr()
}

#[derive(Clone)]
enum Finding {
    Met(Option<Sense>),
    Differs(Difference),
    Open(Difference),
}

#[derive(Clone)]
struct Difference {
    positions: Range<u64>,
    found: String,
    needed: String,
    wrongs: Vec<Wrong>,
}

fn compare(
    terms: &Terms,
    index: usize,
    need: &Need,
    held: Option<&Vector>,
    needed: &Vector,
) -> Result<Finding, PlanError> {
    let whole = 0..needed.count();
    let positions = need.positions.clone().unwrap_or(whole);
    let wanted = positions.end.saturating_sub(positions.start);
    if wanted != needed.count() {
        return Err(PlanError {
            kind: Fault::Contradiction,
            span: need.span,
            path: format!("need[{index}]"),
            found: format!("{wanted} positions for `{}`", need.holds_text),
            expected: format!("{}, as many as it has elements", needed.count()),
        });
    }
    let shown = |run: &Run| terms.show_run(run);
    let first_needed = || {
        let first = needed.runs().first();
        (first.map_or(0..0, |run| run.positions.clone()), first.map(shown).unwrap_or_default())
    };
    let Some(held) = held else {
        let (positions, needed) = first_needed();
        let wrongs = alloc::vec![Wrong::NeverWritten];
        let found = "nothing: no step wrote this buffer".to_string();
        return Ok(Finding::Differs(Difference { positions, found, needed, wrongs }));
    };
    let whole_buffer = need.positions.is_none();
    let fits = if whole_buffer { held.count() == wanted } else { held.count() >= positions.end };
    if !fits {
        let length = Wrong::Length { found: held.count(), needed: positions.end };
        // What both have may be wrong too, and says more than the length.
        let common = held.count().min(positions.end).max(positions.start);
        let (start, end) = (positions.start, common.saturating_sub(positions.start));
        let parts = held.slice(start..common).zip(needed.slice(0..end));
        if let Some((held, wanted)) = parts
            && let Finding::Differs(mut difference) = compare_vectors(terms, &held, &wanted, start)
        {
            difference.wrongs.insert(0, length);
            return Ok(Finding::Differs(difference));
        }
        let (at, needed) = first_needed();
        let found = held.runs().first().map(shown).unwrap_or_default();
        let wrongs = alloc::vec![length];
        return Ok(Finding::Differs(Difference { positions: at, found, needed, wrongs }));
    }
    let Some(slice) = held.slice(positions.clone()) else {
        return Ok(Finding::Met(Some(Sense::Exact)));
    };
    Ok(compare_vectors(terms, &slice, needed, positions.start))
}

/// Compares run by run; the first known difference wins over the first unknown one.
fn compare_vectors(terms: &Terms, held: &Vector, needed: &Vector, offset: u64) -> Finding {
    let mut weakest = None;
    let mut open = None;
    if held.dtype() != needed.dtype() {
        let wrong = Wrong::ElementType { found: held.dtype(), needed: needed.dtype() };
        return differs(terms, held, needed, offset, wrong);
    }
    for (positions, contents) in side_by_side(&[held, needed]) {
        let [found, wanted] = contents.as_slice() else { continue };
        let difference = || {
            let count = positions.end.saturating_sub(positions.start);
            let run = |content: &Content| Run { positions: 0..count, content: *content };
            Difference {
                positions: positions.start.saturating_add(offset)
                    ..positions.end.saturating_add(offset),
                found: terms.show_run(&run(found)),
                needed: terms.show_run(&run(wanted)),
                wrongs: wrongs(terms, *found, *wanted, count),
            }
        };
        let (Content::Term(have), Content::Term(want)) = (*found, *wanted) else {
            return Finding::Differs(difference());
        };
        match (terms.forms().of(have), terms.forms().of(want)) {
            (Some(one), Some(other)) => {
                if terms.forms().is_unknown(one.form) || terms.forms().is_unknown(other.form) {
                    open = open.or_else(|| Some(difference()));
                } else if one == other {
                    weakest = weakest.max(Some(sense(terms, have, want)));
                } else if known_to_differ(terms, one, other) {
                    return Finding::Differs(difference());
                } else {
                    open = open.or_else(|| {
                        Some(Difference { wrongs: alloc::vec![Wrong::NotProven], ..difference() })
                    });
                }
            }
            _ => return Finding::Differs(difference()),
        }
    }
    match open {
        Some(difference) => Finding::Open(difference),
        None => Finding::Met(weakest),
    }
}

fn differs(terms: &Terms, held: &Vector, needed: &Vector, offset: u64, wrong: Wrong) -> Finding {
    let first = |vector: &Vector| vector.runs().first().map(|run| terms.show_run(run));
    let count = needed.runs().first().map_or(0, Run::count);
    Finding::Differs(Difference {
        positions: offset..offset.saturating_add(count),
        found: first(held).unwrap_or_default(),
        needed: first(needed).unwrap_or_default(),
        wrongs: alloc::vec![wrong],
    })
}
