//! Needs: what a consumer must find, in terms, and whether it does.

mod expression;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use rankwise_model::Dtype;
use rankwise_topology::WorldRank;

use crate::equal::{Equality, equality, is_unnamed};
use crate::error::{Fault, PlanError};
use crate::evaluate::Evaluation;
use crate::memory::ranks;
use crate::plan::{Need, Plan, Proposal};
use crate::sense::{Gathering, Grounds, Sense, sense};
use crate::term::{Placed, Terms};
use crate::vector::{Content, Run, Vector, side_by_side};
use crate::wrong::{Claim, Groups, History, Scene, Wrong, owners, reordered};
pub(crate) use expression::Expressions;

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
            report.evidence = Some(self.evidence(terms, need, &claims, rank, &difference));
        } else {
            report.grounds = support.grounds.into_grounds();
        }
        Ok(report)
    }

    /// The difference on `rank` in words, with what the other ranks and the steps say:
    /// `claims` are what every rank needs and holds, or none where nothing is known.
    fn evidence(
        &self,
        terms: &Terms,
        need: &Need,
        claims: &[Claim],
        rank: WorldRank,
        difference: &Difference,
    ) -> Evidence {
        let Difference { at, held, needed, length, why } = difference;
        let count = at.end.saturating_sub(at.start);
        let show = |content: &Option<Content>| {
            content.map(|content| terms.show_run(&Run { positions: 0..count, content }))
        };
        let groups = Groups::of(self.plan, self.proposal);
        let scene = Scene { terms, groups: &groups };
        let mut wrongs: Vec<Wrong> = Vec::new();
        let value = match (why, held, needed) {
            (Why::NeverWritten, ..) => alloc::vec![Wrong::NeverWritten],
            (Why::ElementType(found, needed), ..) => {
                let (found, needed) = (*found, *needed);
                alloc::vec![Wrong::ElementType { found, needed }]
            }
            (Why::Value, Some(held), Some(needed)) => scene.wrongs(*held, *needed, count),
            (Why::NotProven, ..) => alloc::vec![Wrong::NotProven],
            (Why::Value | Why::Length, ..) => Vec::new(),
        };
        if let Some((found, needed)) = *length {
            wrongs.push(Wrong::Length { found, needed });
        } else if matches!(why, Why::Value | Why::NeverWritten) {
            wrongs.extend(self.misplaced(terms, need, claims, rank));
        }
        // Where the order explains it all, single values out of place say nothing more.
        let explained = wrongs
            .iter()
            .any(|wrong| matches!(wrong, Wrong::Permuted { .. } | Wrong::Rotated { .. }));
        let value = value.into_iter().filter(|wrong| {
            !explained || !matches!(wrong, Wrong::OutOfPlace { .. } | Wrong::OtherOrigin { .. })
        });
        let mut wrongs: Vec<Wrong> = wrongs.into_iter().chain(value).collect();
        wrongs.extend(self.past(terms, need, claims, rank, *held));
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

    /// The right pieces in another order, or on another rank.
    fn misplaced(
        &self,
        terms: &Terms,
        need: &Need,
        claims: &[Claim],
        rank: WorldRank,
    ) -> Option<Wrong> {
        // What each rank holds where it needs it.
        let there = |claim: &Claim| {
            let held = match (&claim.held, &need.positions) {
                (Some(held), Some(positions)) => held.slice(positions.clone()).map(Arc::new),
                (held, _) => held.clone(),
            };
            Claim { held, ..claim.clone() }
        };
        let mine = claims.iter().find(|claim| claim.rank == rank).map(there)?;
        let held = mine.held.as_deref();
        held.and_then(|held| reordered(terms, held, &mine.needed)).or_else(|| {
            let claims: Vec<Claim> = claims.iter().map(there).collect();
            owners(terms, self.plan, &claims, rank)
        })
    }

    /// What the steps say: where the value went, or why there is none.
    fn past(
        &self,
        terms: &Terms,
        need: &Need,
        claims: &[Claim],
        rank: WorldRank,
        held: Option<Content>,
    ) -> Vec<Wrong> {
        let (proposal, evaluation) = (self.proposal, self.evaluation);
        let history = History { terms, proposal, evaluation };
        let read = match held {
            Some(Content::Gap(gap)) => history.read_outside(rank, gap),
            _ => None,
        };
        let claim = claims.iter().find(|claim| claim.rank == rank);
        let elsewhere = claim.and_then(|claim| {
            history.elsewhere(rank, &need.buffer, need.positions.as_ref(), &claim.needed)
        });
        read.into_iter().chain(elsewhere).collect()
    }
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

/// Where found and needed first differ.
#[derive(Clone)]
struct Difference {
    at: Range<u64>,
    /// What is held there; `None` if the buffer, or that part of it, is not there.
    held: Option<Content>,
    needed: Option<Content>,
    /// The buffer's length and the one that is needed, where they do not fit.
    length: Option<(u64, u64)>,
    why: Why,
}

/// How they differ.
#[derive(Clone, Copy)]
enum Why {
    NeverWritten,
    Length,
    ElementType(Dtype, Dtype),
    Value,
    NotProven,
}

fn find(
    terms: &Terms,
    index: usize,
    need: &Need,
    (held, needed): (Option<&Vector>, &Vector),
    support: &mut Support,
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
    // The first positions that are needed, or that are needed past the end.
    let at_first = |held: Option<&Vector>, length, why| {
        let end = held.filter(|held| held.count() < positions.end).map_or(0, Vector::count);
        let from = end.saturating_sub(positions.start);
        let first = needed.within(from..needed.count()).next();
        let start = positions.start.saturating_add(from);
        let at = start..start.saturating_add(first.as_ref().map_or(0, Run::count));
        let held = held.and_then(|held| Some(held.within(at.clone()).next()?.content));
        Difference { at, held, needed: first.map(|run| run.content), length, why }
    };
    let Some(held) = held else {
        return Ok(Finding::Differs(at_first(None, None, Why::NeverWritten)));
    };
    let whole_buffer = need.positions.is_none();
    let fits = if whole_buffer { held.count() == wanted } else { held.count() >= positions.end };
    if !fits {
        let length = Some((held.count(), positions.end));
        // What both have may be wrong too, and says more than the length.
        let common = held.count().min(positions.end).max(positions.start);
        let (start, end) = (positions.start, common.saturating_sub(positions.start));
        let parts = held.slice(start..common).zip(needed.slice(0..end));
        if let Some((held, wanted)) = parts
            && let Finding::Differs(difference) =
                compare_vectors(terms, &held, &wanted, start, support)
        {
            return Ok(Finding::Differs(Difference { length, ..difference }));
        }
        return Ok(Finding::Differs(at_first(Some(held), length, Why::Length)));
    }
    let Some(slice) = held.slice(positions.clone()) else {
        return Ok(Finding::Met(Some(Sense::Exact)));
    };
    Ok(compare_vectors(terms, &slice, needed, positions.start, support))
}

/// What the answers to one need rest on.
#[derive(Default)]
struct Support {
    grounds: Gathering,
    /// Lists of terms, which many vectors share, that equal themselves: in which sense.
    lists: BTreeMap<(usize, usize), Sense>,
}

impl Support {
    /// That a vector is equal to one that is kept like it, and in which sense; `None` if
    /// a reduction that is not named is in it.
    fn of_itself(&mut self, terms: &Terms, vector: &Vector) -> Option<Finding> {
        let mut weakest = None;
        for list in vector.term_lists() {
            let key = (list.as_ptr().addr(), list.len());
            // The evaluation keeps what it holds: no address is used again meanwhile.
            let known = self.lists.get(&key).filter(|_| list.len() > 1).copied();
            let of_list = match known {
                Some(known) => known,
                None => {
                    let mut of_list = Sense::Exact;
                    for term in list {
                        let placed = Placed { term: *term, at: 0 };
                        if is_unnamed(terms, Content::Term(placed)) {
                            return None;
                        }
                        of_list = of_list.max(sense(terms, placed, placed));
                        self.grounds.add(terms, placed, placed);
                    }
                    of_list
                }
            };
            if list.len() > 1 {
                self.lists.insert(key, of_list);
            }
            weakest = weakest.max(Some(of_list));
        }
        Some(Finding::Met(weakest))
    }
}

/// Compares run by run; the first known difference wins over the first unknown one.
fn compare_vectors(
    terms: &Terms,
    held: &Vector,
    needed: &Vector,
    offset: u64,
    support: &mut Support,
) -> Finding {
    if held.is_kept_like(needed)
        && held.promises_all()
        && let Some(met) = support.of_itself(terms, held)
    {
        return met;
    }
    let mut weakest = None;
    let mut open = None;
    for (positions, contents) in side_by_side(&[held, needed]) {
        let [found, wanted] = contents.as_slice() else { continue };
        let difference = |why| Difference {
            at: positions.start.saturating_add(offset)..positions.end.saturating_add(offset),
            held: Some(*found),
            needed: Some(*wanted),
            length: None,
            why,
        };
        if held.dtype() != needed.dtype() {
            return Finding::Differs(difference(Why::ElementType(held.dtype(), needed.dtype())));
        }
        let unnamed = is_unnamed(terms, *found) || is_unnamed(terms, *wanted);
        match equality(terms, *found, *wanted) {
            _ if unnamed => open = open.or_else(|| Some(difference(Why::Value))),
            Equality::Equal(sense) => {
                weakest = weakest.max(Some(sense));
                if let (Content::Term(found), Content::Term(wanted)) = (*found, *wanted) {
                    support.grounds.add(terms, found, wanted);
                }
            }
            Equality::NotProven => open = open.or_else(|| Some(difference(Why::NotProven))),
            Equality::Differ | Equality::BothGaps => {
                return Finding::Differs(difference(Why::Value));
            }
        }
    }
    match open {
        Some(difference) => Finding::Open(difference),
        None => Finding::Met(weakest),
    }
}
