//! The law that explains a wrong array: one of the names of [`Wrong`], if what it would
//! leave is what was found, at every position.

use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use rankwise_model::Scalar;
use rankwise_topology::WorldRank;

use super::folds::{Folded, other_reductions};
use super::{Expected, Want, tolerance};
use crate::numbers::Numbers;
use crate::plan::Plan;
use crate::term::{Placed, Terms};
use crate::values::Values;
use crate::vector::{Content, Run, Vector};
use crate::wrong::{LISTED, Owner, Permutation, Wrong};

/// What explains an array.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Law {
    /// It is right.
    Right,
    /// It is wrong in this way, and in no other that was tried.
    Wrong(Wrong),
    /// Several ways would leave exactly this: the values do not tell them apart.
    OneOf(Vec<Wrong>),
    /// It is wrong in no way that was tried.
    Unexplained,
}

impl Law {
    /// The name used in machine output: that of what is wrong, or `right`, `one_of`,
    /// `unexplained`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wrong(wrong) => wrong.name(),
            Self::OneOf(_) => "one_of",
            Self::Unexplained => "unexplained",
        }
    }

    /// Everything that would leave what was found; empty for `right` and `unexplained`.
    pub const fn wrongs(&self) -> &[Wrong] {
        match self {
            Self::Wrong(wrong) => core::slice::from_ref(wrong),
            Self::OneOf(wrongs) => wrongs.as_slice(),
            Self::Right | Self::Unexplained => &[],
        }
    }

    /// The rank whose array it is, where that is what is wrong.
    pub const fn owner(&self) -> Option<WorldRank> {
        match self {
            Self::Wrong(Wrong::WrongOwner { holds: Some(owner), .. }) => Some(owner.rank),
            _ => None,
        }
    }

    fn of(mut wrongs: Vec<Wrong>) -> Option<Self> {
        match wrongs.len() {
            0 => None,
            1 => wrongs.pop().map(Self::Wrong),
            _ => Some(Self::OneOf(wrongs)),
        }
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Right => f.write_str("right"),
            Self::Wrong(wrong) => wrong.fmt(f),
            Self::OneOf(wrongs) => {
                f.write_str("one of: ")?;
                for (index, wrong) in wrongs.iter().take(LISTED).enumerate() {
                    write!(f, "{}{wrong}", if index == 0 { "" } else { " | " })?;
                }
                match wrongs.len().saturating_sub(LISTED) {
                    0 => Ok(()),
                    more => write!(f, " | and {more} more"),
                }
            }
            Self::Unexplained => f.write_str("explained by no law that was tried"),
        }
    }
}

/// One array that is not right.
pub(super) struct Case<'a> {
    pub(super) plan: &'a Plan,
    pub(super) rank: WorldRank,
    pub(super) buffer: &'a str,
    pub(super) values: &'a Values,
    pub(super) want: &'a Want,
    pub(super) expected: &'a Expected<'a>,
}

impl Case<'_> {
    pub(super) fn explain(
        &self,
        terms: &mut Terms,
        numbers: &Numbers<'_>,
        folded: &Folded<'_>,
    ) -> Law {
        let mut wrongs: Vec<Wrong> = Vec::new();
        wrongs.extend(self.other_owner());
        wrongs.extend(self.rotated());
        if wrongs.is_empty() {
            wrongs.extend(self.permuted());
        }
        wrongs.extend(self.earlier(terms, numbers, Of::SameBuffer));
        let folds =
            |terms: &mut Terms, placed, count| folded.candidates(terms, placed, self.rank, count);
        wrongs.extend(self.misfolded(terms, numbers, Where::Runs, folds));
        // What says less is asked only where nothing else explains it.
        if wrongs.is_empty() {
            let others = |terms: &mut Terms, placed, _| other_reductions(terms, placed);
            wrongs.extend(self.misfolded(terms, numbers, Where::Runs, others));
        }
        // What was cleared, or not written, tells of no fold.
        if wrongs.is_empty() && !self.is_cleared() {
            wrongs.extend(self.misfolded(terms, numbers, Where::Wrong, folds));
        }
        if wrongs.is_empty() {
            wrongs.extend(self.earlier(terms, numbers, Of::OtherBuffers));
        }
        if wrongs.is_empty() {
            wrongs.extend(self.constant(terms));
        }
        Law::of(wrongs).unwrap_or(Law::Unexplained)
    }

    /// What another rank should hold in the same buffer.
    fn other_owner(&self) -> Option<Wrong> {
        let others = self.expected.buffers.iter().filter(|((_, buffer), _)| buffer == self.buffer);
        others
            .filter(|((rank, _), _)| *rank != self.rank)
            .find(|(_, want)| {
                want.values.len() == self.want.values.len()
                    && want.wrong_positions(self.values).is_empty()
            })
            .map(|((rank, _), _)| Wrong::WrongOwner {
                holds: Some(Owner::of(self.plan, *rank)),
                needed_at: None,
            })
    }

    /// The right values from another position on, the rest in front.
    fn rotated(&self) -> Option<Wrong> {
        let of = self.values.count();
        let starts = (1..of).filter(|by| self.agrees(0, *by) && by.checked_mul(2) != Some(of));
        starts.take(STARTS_TRIED).find_map(|by| {
            let turned = |position: u64| position.checked_add(by)?.checked_rem(of);
            (0..of)
                .all(|position| turned(position).is_some_and(|from| self.agrees(position, from)))
                .then_some(Wrong::Rotated { by, of })
        })
    }

    /// The right blocks in another order. Blocks are the runs, if they are alike.
    fn permuted(&self) -> Option<Wrong> {
        let runs: Vec<Run> = self.want.vector.runs().collect();
        let length = runs.first().map(Run::count)?;
        if runs.len() < 2 || runs.iter().any(|run| run.count() != length) {
            return None;
        }
        let mut unused: Vec<(u32, &Run)> = (0..).zip(&runs).collect();
        let mut order = Vec::new();
        for place in &runs {
            let index = unused.iter().position(|(_, block)| {
                (0..length).all(|offset| {
                    let at = |run: &Run| run.positions.start.saturating_add(offset);
                    self.agrees(at(place), at(block))
                })
            })?;
            let (block, _) = unused.remove(index);
            order.push(block);
        }
        Some(Wrong::Permuted { block: length, order: Permutation::new(order) })
    }

    /// What this buffer, or another one of the rank, held after an earlier step.
    fn earlier(&self, terms: &Terms, numbers: &Numbers<'_>, of: Of) -> Option<Wrong> {
        let versions = self.expected.history(terms).versions(self.rank);
        let is_here = |buffer: &str| self.expected.proposal.public_name(buffer) == self.buffer;
        let last = versions.iter().rev().find(|version| is_here(version.buffer))?;
        let mut others = versions.iter().rev().filter(|version| {
            is_here(version.buffer) == matches!(of, Of::SameBuffer) && version.since != last.since
        });
        let found = others.find(|version| self.fits(terms, numbers, version.vector))?;
        let since = found.since;
        Some(match (of, last.since) {
            (Of::SameBuffer, Some(made_by)) => {
                Wrong::Stale { found_since: since, buffer: None, made_by }
            }
            _ => {
                let buffer = self.expected.proposal.public_name(found.buffer).to_string();
                Wrong::HoldsBuffer { buffer, since }
            }
        })
    }

    /// Whether what was found is what a vector stands for; it must stand for values.
    fn fits(&self, terms: &Terms, numbers: &Numbers<'_>, vector: &Vector) -> bool {
        (vector.dtype(), vector.count()) == (self.values.dtype(), self.values.count())
            && vector.runs().all(|run| match run.content {
                Content::Term(placed) => self.holds(terms, numbers, &run, placed),
                Content::Gap(_) => false,
            })
    }

    /// One value wherever something is wrong.
    fn constant(&self, terms: &Terms) -> Option<Wrong> {
        let wrong = self.want.wrong_positions(self.values);
        let value = self.values.get(*wrong.first()?)?;
        if let Some(wrong) = self.other_constant(terms, &wrong, value) {
            return Some(wrong);
        }
        let all = wrong.iter().all(|position| self.values.get(*position) == Some(value));
        (all && (self.is_cleared() || wrong.len() > 1))
            .then(|| Wrong::Constant { value: value.to_string() })
    }

    /// Whether there is a zero wherever something is wrong.
    fn is_cleared(&self) -> bool {
        let zero = Scalar::from_bits(self.values.dtype(), 0);
        let mut wrong = self.want.wrong_positions(self.values).into_iter();
        wrong.all(|position| self.values.get(position) == Some(zero))
    }

    /// One value where the plan has a constant, padding or what a step filled in.
    fn other_constant(&self, terms: &Terms, wrong: &[u64], value: Scalar) -> Option<Wrong> {
        let mut needed = None;
        for position in wrong {
            let end = position.checked_add(1)?;
            let placed = match self.want.vector.within(*position..end).next()?.content {
                Content::Term(placed) => placed,
                Content::Gap(_) => return None,
            };
            let constant = terms.constant_of(placed.term)?;
            let is_same = *needed.get_or_insert((placed, constant)) == (placed, constant);
            if !is_same || self.values.get(*position) != Some(value) {
                return None;
            }
        }
        let (placed, (_, purpose)) = needed?;
        let (found, needed) = (value.to_string(), terms.show(placed, 1));
        Some(Wrong::OtherConstant { found, needed, purpose: Some(purpose) })
    }

    /// Whether what was found at `position` is what belongs at `expected`.
    fn agrees(&self, position: u64, expected: u64) -> bool {
        let Ok(index) = usize::try_from(expected) else { return false };
        match (self.values.get(position), self.want.values.get(index)) {
            (Some(_), Some(None)) => true,
            (Some(found), Some(Some(want))) => {
                let tolerance = self.want.tolerance.get(index).copied().flatten();
                tolerance::agrees(found, *want, tolerance)
            }
            _ => false,
        }
    }

    /// Other folds of the contributions: what explains every wrong run.
    fn misfolded(
        &self,
        terms: &mut Terms,
        numbers: &Numbers<'_>,
        at: Where,
        candidates: impl Fn(&mut Terms, Placed, u64) -> Vec<(Placed, Wrong)>,
    ) -> Vec<Wrong> {
        let mut laws: Option<Vec<Wrong>> = None;
        for run in self.want.vector.runs() {
            let right = run.positions.clone().all(|position| self.agrees(position, position));
            if right {
                continue;
            }
            let positions = match at {
                Where::Runs => run.positions.clone(),
                Where::Wrong => self.wrong_part(&run),
            };
            let offset = positions.start.saturating_sub(run.positions.start);
            let content = run.content.shifted(offset);
            let run = Run { positions, content };
            let Content::Term(placed) = content else { return Vec::new() };
            let found: Vec<Wrong> = candidates(terms, placed, run.count())
                .into_iter()
                .filter(|(candidate, _)| self.holds(terms, numbers, &run, *candidate))
                .map(|(_, wrong)| wrong)
                .collect();
            laws = Some(match laws {
                None => found,
                Some(laws) => laws
                    .into_iter()
                    .filter(|law| found.iter().any(|found| found.name() == law.name()))
                    .collect(),
            });
        }
        laws.unwrap_or_default()
    }

    /// The part of a run outside of which all is right.
    fn wrong_part(&self, run: &Run) -> Range<u64> {
        let is_wrong = |position: &u64| !self.agrees(*position, *position);
        let first = run.positions.clone().find(is_wrong).unwrap_or(run.positions.end);
        let last =
            run.positions.clone().rfind(is_wrong).map_or(first, |last| last.saturating_add(1));
        first..last
    }

    fn holds(&self, terms: &Terms, numbers: &Numbers<'_>, run: &Run, candidate: Placed) -> bool {
        (0..run.count()).all(|offset| {
            let position = run.positions.start.saturating_add(offset);
            let found = self.values.get(position);
            let value = numbers.value(terms, candidate.shifted(offset));
            let index = usize::try_from(position).ok();
            let tolerance =
                index.and_then(|index| self.want.tolerance.get(index)).copied().flatten();
            match (found, value) {
                (Some(found), Some(value)) => tolerance::agrees(found, value, tolerance),
                _ => false,
            }
        })
    }
}

/// Rotations that start with the right value are common where values repeat.
const STARTS_TRIED: usize = 64;

/// What a law has to explain of a run in which something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    /// All of it.
    Runs,
    /// What lies between its first wrong position and its last.
    Wrong,
}

/// Whose earlier values are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    SameBuffer,
    OtherBuffers,
}
