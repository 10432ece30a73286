//! The laws that explain a wrong array.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use rankwise_model::GroupSize;
use rankwise_topology::WorldRank;

use super::{Expected, Want, tolerance};
use crate::numbers::Numbers;
use crate::term::{Factor, Placed, Term, Terms};
use crate::values::Values;
use crate::vector::{Content, Run};

/// What explains an array.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Law {
    /// It is right.
    Right,
    /// All the right blocks, in another order: block `i` is the one that belongs at
    /// place `blocks[i]`.
    PermutedBlocks {
        /// By place: whose block is there.
        blocks: Vec<u32>,
    },
    /// What another rank should hold.
    OtherOwner {
        /// That rank.
        of: WorldRank,
    },
    /// One contribution instead of the fold of all.
    Unreduced {
        /// The contribution.
        holds: String,
    },
    /// A contribution counted once too often.
    Repeated {
        /// The contribution.
        contribution: String,
    },
    /// The fold without one contribution.
    Missing {
        /// The contribution.
        contribution: String,
    },
    /// The sum, where the average is right.
    NotAveraged,
    /// The average, where the sum is right.
    Averaged,
    /// The right value twice.
    Doubled,
    /// None of these.
    Unexplained,
}

impl Law {
    /// The name used in machine output.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::PermutedBlocks { .. } => "permuted_blocks",
            Self::OtherOwner { .. } => "other_owner",
            Self::Unreduced { .. } => "unreduced",
            Self::Repeated { .. } => "repeated",
            Self::Missing { .. } => "missing",
            Self::NotAveraged => "not_averaged",
            Self::Averaged => "averaged",
            Self::Doubled => "doubled",
            Self::Unexplained => "unexplained",
        }
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Right => f.write_str("right"),
            Self::PermutedBlocks { blocks } => {
                f.write_str("the right blocks in another order: from the first place on, blocks ")?;
                for (place, block) in blocks.iter().enumerate() {
                    let separator = if place == 0 { "" } else { ", " };
                    write!(f, "{separator}{block}")?;
                }
                Ok(())
            }
            Self::OtherOwner { of } => write!(f, "what rank {of} should hold"),
            Self::Unreduced { holds } => write!(f, "unreduced: {holds} alone"),
            Self::Repeated { contribution } => write!(f, "{contribution} counts once too often"),
            Self::Missing { contribution } => write!(f, "{contribution} is missing"),
            Self::NotAveraged => f.write_str("the sum, not divided by the number of ranks"),
            Self::Averaged => f.write_str("divided by the number of ranks, where the sum is right"),
            Self::Doubled => f.write_str("the right value twice"),
            Self::Unexplained => f.write_str("explained by no law that was tried"),
        }
    }
}

/// One array that is not right.
pub(super) struct Case<'a> {
    pub(super) rank: WorldRank,
    pub(super) buffer: &'a str,
    pub(super) values: &'a Values,
    pub(super) want: &'a Want,
    pub(super) expected: &'a Expected,
}

impl Case<'_> {
    pub(super) fn explain(&self, terms: &mut Terms, numbers: &Numbers<'_>) -> Law {
        self.other_owner()
            .or_else(|| self.permuted_blocks())
            .or_else(|| self.misfolded(terms, numbers))
            .unwrap_or(Law::Unexplained)
    }

    /// What another rank should hold in the same buffer.
    fn other_owner(&self) -> Option<Law> {
        let others = self.expected.buffers.iter().filter(|((_, buffer), _)| buffer == self.buffer);
        others
            .filter(|((rank, _), _)| *rank != self.rank)
            .find(|(_, want)| {
                want.values.len() == self.want.values.len()
                    && want.wrong_positions(self.values).is_empty()
            })
            .map(|((rank, _), _)| Law::OtherOwner { of: *rank })
    }

    /// The right blocks in another order. Blocks are the runs, if they are alike.
    fn permuted_blocks(&self) -> Option<Law> {
        let runs = self.want.vector.runs();
        let length = runs.first().map(Run::count)?;
        if runs.len() < 2 || runs.iter().any(|run| run.count() != length) {
            return None;
        }
        let mut unused: Vec<(u32, &Run)> = (0..).zip(runs).collect();
        let mut blocks = Vec::new();
        for place in runs {
            let index = unused.iter().position(|(_, block)| {
                (0..length).all(|offset| {
                    let at = |run: &Run| run.positions.start.saturating_add(offset);
                    self.agrees(at(place), at(block))
                })
            })?;
            let (block, _) = unused.remove(index);
            blocks.push(block);
        }
        Some(Law::PermutedBlocks { blocks })
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

    /// Another fold of the same contributions, the same one in every wrong run.
    fn misfolded(&self, terms: &mut Terms, numbers: &Numbers<'_>) -> Option<Law> {
        let mut law: Option<Law> = None;
        for run in self.want.vector.runs() {
            let right = run.positions.clone().all(|position| self.agrees(position, position));
            if right {
                continue;
            }
            let Content::Term(placed) = run.content else { return None };
            let found = candidates(terms, placed, run.count())
                .into_iter()
                .find(|(candidate, _)| self.holds(terms, numbers, run, *candidate))
                .map(|(_, law)| law)?;
            match &law {
                None => law = Some(found),
                Some(first)
                    if core::mem::discriminant(first) == core::mem::discriminant(&found) => {}
                Some(_) => return None,
            }
        }
        law
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

/// Other folds of the contributions of a term, with the law that each would prove.
fn candidates(terms: &mut Terms, placed: Placed, count: u64) -> Vec<(Placed, Law)> {
    let Some((parts, how, divided)) = parts_of(terms, placed) else { return Vec::new() };
    let mut all = Vec::new();
    let plain: Vec<Placed> = parts.iter().map(|part| unscaled(terms, *part)).collect();
    let n = u32::try_from(parts.len()).ok().and_then(GroupSize::new);
    for part in plain.iter().chain(&parts) {
        all.push((*part, Law::Unreduced { holds: terms.show(*part, count) }));
    }
    let mut fold = |terms: &mut Terms, parts: &[Placed], law: Law| {
        if let Some(folded) = terms.combined(how, parts) {
            let folded = match divided {
                Some(by) => terms.divided(folded, by),
                None => folded,
            };
            all.push((folded, law));
        }
    };
    for (skipped, part) in parts.iter().enumerate() {
        let contribution = terms.show(*part, count);
        let others = parts.iter().enumerate().filter(|(index, _)| *index != skipped);
        let others: Vec<Placed> = others.map(|(_, part)| *part).collect();
        fold(terms, &others, Law::Missing { contribution: contribution.clone() });
        let again: Vec<Placed> = parts.iter().copied().chain([*part]).collect();
        fold(terms, &again, Law::Repeated { contribution });
    }
    let twice: Vec<Placed> = parts.iter().chain(&parts).copied().collect();
    fold(terms, &twice, Law::Doubled);
    let averaged = divided.is_some() || plain != parts;
    if averaged {
        if let Some(sum) = terms.combined(how, &plain) {
            all.push((sum, Law::NotAveraged));
        }
    } else if let Some(n) = n {
        let is_float = terms.dtype(placed.term).is_some_and(rankwise_model::Dtype::is_float);
        if is_float {
            let scaled: Vec<Placed> =
                parts.iter().map(|part| terms.scaled(*part, Factor::Reciprocal(n))).collect();
            all.extend(terms.combined(how, &scaled).map(|average| (average, Law::Averaged)));
        } else {
            let average = terms.divided(placed, n);
            all.push((average, Law::Averaged));
        }
    }
    all
}

type PartsOf = (Vec<Placed>, rankwise_model::Combine, Option<GroupSize>);

/// The contributions of a fold at their absolute positions, and a division after it.
fn parts_of(terms: &Terms, placed: Placed) -> Option<PartsOf> {
    match terms.get(placed.term)? {
        Term::Combined { how, parts } => {
            let parts = parts.iter().map(|part| part.shifted(placed.at)).collect();
            Some((parts, *how, None))
        }
        Term::Divided { term, by } => {
            let (parts, how, _) = parts_of(terms, Placed { term: *term, at: placed.at })?;
            Some((parts, how, Some(*by)))
        }
        _ => None,
    }
}

/// A contribution without the factor of its average.
fn unscaled(terms: &Terms, placed: Placed) -> Placed {
    match terms.get(placed.term) {
        Some(Term::Scaled { term, by: Factor::Reciprocal(_) }) => {
            Placed { term: *term, at: placed.at }
        }
        _ => placed,
    }
}
