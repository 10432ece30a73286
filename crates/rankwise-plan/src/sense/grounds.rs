//! What an equality rests on, and what its bits hinge on.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use rankwise_model::{Combine, Dtype, DtypeClass};

use super::{Ground, Rounds, is_exact_reciprocal};
use crate::term::{Factor, Placed, Term, TermId, Terms};

/// What the equalities of a verdict rest on, each ground once: first why bits are equal,
/// then what they hinge on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grounds(BTreeSet<Ground>);

impl Grounds {
    /// Every ground.
    pub fn iter(&self) -> impl Iterator<Item = &Ground> {
        self.0.iter()
    }

    /// What bits may differ by.
    pub fn hinges(&self) -> impl Iterator<Item = &Ground> {
        self.iter().filter(|ground| ground.is_hinge())
    }

    /// Why bits are equal; movement only where nothing is computed at all.
    pub fn reasons(&self) -> impl Iterator<Item = &Ground> {
        let only_moved = self.0.len() == 1;
        self.iter().filter(move |ground| {
            !ground.is_hinge() && (only_moved || !matches!(ground, Ground::Movement))
        })
    }

    /// Takes in the grounds of another part of the same verdict.
    pub(crate) fn extend(&mut self, other: &Self) {
        self.0.extend(other.iter().cloned());
    }
}

/// More kinds of stages than this are not told apart: plans have few, and what is said
/// of the first ones holds of the rest.
const GROUPINGS: usize = 8;

/// Collects grounds, pair by pair of equal terms, looking at each term once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gathering {
    grounds: Grounds,
    seen: BTreeSet<TermId>,
    pairs: BTreeSet<[TermId; 2]>,
}

impl Gathering {
    pub(crate) fn into_grounds(self) -> Grounds {
        self.grounds
    }

    /// Two terms that are equal.
    pub(crate) fn add(&mut self, terms: &Terms, one: Placed, other: Placed) {
        let pair = [one.term, other.term];
        if !self.pairs.insert(pair) {
            return;
        }
        for term in pair {
            if matches!(terms.get(term), Some(Term::Atom { .. })) {
                self.grounds.0.insert(Ground::Movement);
            }
            self.walk(terms, term);
        }
        if one.term != other.term {
            self.compare(terms, pair);
        }
    }

    fn walk(&mut self, terms: &Terms, term: TermId) {
        let mut next = alloc::vec![term];
        while let Some(id) = next.pop() {
            if !self.seen.insert(id) {
                continue;
            }
            let (Some(term), Some(dtype)) = (terms.get(id), terms.dtype(id)) else { continue };
            // Contributions and constants add nothing.
            next.extend(term.parts().filter(|part| terms.depth(*part) > 0));
            self.grounds.0.extend(of_term(terms, term, dtype));
        }
    }

    /// What of the two differs in structure.
    fn compare(&mut self, terms: &Terms, pair: [TermId; 2]) {
        let [one, other] = pair.map(|term| stages(terms, term));
        if one.folds != other.folds {
            let known =
                self.grounds.iter().filter(|ground| matches!(ground, Ground::Grouping { .. }));
            if known.count() < GROUPINGS {
                // Which is which makes no difference, and the same pair is said once.
                let (one, other) = (one.folds.clone(), other.folds.clone());
                let (one, other) =
                    if one.len() <= other.len() { (one, other) } else { (other, one) };
                self.grounds.0.insert(Ground::Grouping { one, other });
            }
        }
        if (one.rounds || other.rounds) && one.factors != other.factors {
            self.grounds.0.insert(Ground::FactorElsewhere);
        }
    }
}

/// What the outermost operation of a term adds.
fn of_term(terms: &Terms, term: &Term, dtype: Dtype) -> Vec<Ground> {
    let rounded = |id| terms.traits(id).is_some_and(|traits| traits.rounds == Rounds::ByOrder);
    match (term, dtype.class()) {
        (Term::Unnamed { .. }, _) => alloc::vec![Ground::Unnamed],
        (Term::Combined { how: Combine::Max | Combine::Min, .. }, _) => {
            alloc::vec![Ground::Extreme]
        }
        (Term::Combined { .. } | Term::Scaled { .. }, DtypeClass::Integer { bits, .. }) => {
            alloc::vec![Ground::Modulo { bits }]
        }
        (Term::Combined { how, parts }, DtypeClass::Float { precision }) => {
            if let [_, _] = parts.as_slice() {
                return alloc::vec![Ground::OneOrder];
            }
            let parts = u64::try_from(parts.len()).unwrap_or(u64::MAX);
            let mut grounds = alloc::vec![Ground::FoldOrder { how: *how, parts, dtype }];
            // Of products nothing is said of a wider accumulator.
            if *how == Combine::Sum && precision < F32_PRECISION {
                grounds.push(Ground::Accumulation { dtype });
            }
            grounds
        }
        (Term::Scaled { by: Factor::Reciprocal(over), .. }, DtypeClass::Float { .. }) => {
            let (exact, over) =
                (is_exact_reciprocal(&Factor::Reciprocal(*over), dtype), over.get());
            alloc::vec![if exact {
                Ground::ExactMean { over, dtype }
            } else {
                Ground::RoundedMean { over, dtype }
            }]
        }
        (Term::Scaled { .. }, DtypeClass::Float { .. }) => {
            alloc::vec![Ground::RoundedFactor { dtype }]
        }
        (Term::Divided { by, .. }, _) => alloc::vec![Ground::Truncated { by: by.get() }],
        (Term::Cast { term, to }, _) if rounded(*term) && narrows(terms, *term, *to) => {
            alloc::vec![Ground::Narrowing { to: *to }]
        }
        _ => Vec::new(),
    }
}

/// The significant bits of `f32`.
const F32_PRECISION: u32 = 24;

fn narrows(terms: &Terms, term: TermId, to: Dtype) -> bool {
    match (terms.dtype(term).map(Dtype::class), to.class()) {
        (Some(DtypeClass::Float { precision }), DtypeClass::Float { precision: after }) => {
            after < precision
        }
        _ => true,
    }
}

/// How a float is folded and multiplied on the way to its first contribution.
struct Stages {
    /// How many values at once, inner stages first.
    folds: Vec<u64>,
    /// After how many folds each factor comes.
    factors: Vec<usize>,
    /// Whether a factor rounds.
    rounds: bool,
}

fn stages(terms: &Terms, term: TermId) -> Stages {
    let mut found = Stages { folds: Vec::new(), factors: Vec::new(), rounds: false };
    let mut next = Some(term);
    while let Some(id) = next {
        let is_float = terms.dtype(id).is_some_and(Dtype::is_float);
        next = match terms.get(id) {
            Some(Term::Combined { how, parts }) => {
                if is_float && matches!(how, Combine::Sum | Combine::Prod) {
                    found.folds.push(u64::try_from(parts.len()).unwrap_or(u64::MAX));
                }
                parts.first().map(|part| part.term)
            }
            Some(Term::Scaled { term, by }) => {
                if let (true, Some(dtype)) = (is_float, terms.dtype(id)) {
                    found.factors.push(found.folds.len());
                    found.rounds |= !is_exact_reciprocal(by, dtype);
                }
                Some(*term)
            }
            Some(term) => term.parts().next(),
            None => None,
        };
    }
    found.folds.reverse();
    found
}
