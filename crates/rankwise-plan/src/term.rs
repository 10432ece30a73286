//! Terms: what a position holds, as a function of who contributed what.
//!
//! A term is written down once however many positions and ranks hold it. It says
//! nothing of where in its inputs it reads: that is the `at` of a [`Placed`] term,
//! so that a run of positions shares one term, position `k` of the run reading at
//! `at + k`. Cost follows distinct terms, never ranks × elements.
//!
//! A term keeps its *structure* (who was folded with whom, in which order): two
//! float sums of the same contributions may differ in bits. Its [`Form`] is what
//! is left when every law of the element type has been applied; equal forms hold
//! equal values, in the sense that [`sense`](crate::sense) names.
//!
//! [`Form`]: crate::form::Form

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use num_rational::BigRational;
use num_traits::Signed as _;
use rankwise_model::{Combine, Dtype, GroupSize, Scalar};
use rankwise_topology::WorldRank;

use crate::form::Forms;
use crate::limits::PIECES;
use crate::plan::Counts;
use crate::sense::Traits;

/// A term of one [`Terms`]; of another it means some other term, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TermId(u32);

/// An input of one [`Terms`]; of another it means some other input, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InputId(u32);

/// What makes two inputs the same: name, element type, length and meaning.
///
/// Equal shape with another meaning is another value: a gathered parameter is not
/// the gathered gradient.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InputIdentity {
    /// The name.
    pub name: String,
    /// The element type.
    pub dtype: Dtype,
    /// Elements of each contribution.
    pub counts: Counts,
    /// What the values are, in words.
    pub meaning: Option<String>,
}

/// What a contribution is attached to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// A device, by name: it keeps the contribution whatever its rank.
    Device(Arc<str>),
    /// A rank of the world: it keeps the contribution whatever its device.
    Rank(WorldRank),
}

/// A term read from some position on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Placed {
    /// The term.
    pub term: TermId,
    /// The position of its earliest input that it reads; [`NOWHERE`] for a constant.
    pub at: u64,
}

/// Where a constant reads: past every position, so that moving it on changes nothing.
pub const NOWHERE: u64 = u64::MAX;

/// Why a constant is there. It is one value whatever the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Constant {
    /// A step filled a buffer with it.
    Filled,
    /// It fills up what is too short.
    Padding,
}

impl Placed {
    /// The same term `by` positions further on.
    #[must_use]
    pub const fn shifted(self, by: u64) -> Self {
        Self { term: self.term, at: self.at.saturating_add(by) }
    }
}

/// What a value was multiplied by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Factor {
    /// 1/n, rounded to the element type, by an average.
    Reciprocal(GroupSize),
    /// A scalar of the element type, by a pre-multiplied sum.
    Scalar(Scalar),
    /// A constant of the plan.
    Constant(BigRational),
}

/// One term. Parts read relative to the earliest of them, which is at 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Term {
    /// A contribution.
    Atom {
        /// To which input.
        input: InputId,
        /// Whose.
        origin: Origin,
    },
    /// A constant of the plan.
    Constant {
        /// Its value.
        value: Scalar,
        /// Why it is there.
        purpose: Constant,
    },
    /// Parts combined in the order given.
    Combined {
        /// How.
        how: Combine,
        /// The parts, in fold order.
        parts: Vec<Placed>,
    },
    /// A term times a factor.
    Scaled {
        /// The term.
        term: TermId,
        /// The factor.
        by: Factor,
    },
    /// A term divided by an integer, truncating: opaque, it merges with nothing.
    Divided {
        /// The term.
        term: TermId,
        /// The divisor.
        by: GroupSize,
    },
    /// A term converted to another element type.
    Cast {
        /// The term.
        term: TermId,
        /// The new type.
        to: Dtype,
    },
    /// Parts combined by a reduction that the plan does not name: nothing is known.
    Unnamed {
        /// Which step of which proposal, so that no two are taken for equal.
        place: u64,
        /// The parts, in fold order.
        parts: Vec<Placed>,
    },
}

/// A term with what is known of it from its parts.
#[derive(Clone, Debug)]
struct Entry {
    term: Term,
    dtype: Dtype,
    /// Operations on the longest way down to a contribution.
    depth: u32,
    traits: Traits,
    /// The first multiple made of it. Most have one at most, which an average makes: that
    /// is kept here rather than searched for.
    scaled: Option<TermId>,
}

/// All terms of one evaluation or comparison, each stored once.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    inputs: Vec<InputIdentity>,
    input_ids: BTreeMap<InputIdentity, InputId>,
    terms: Vec<Entry>,
    /// All terms but the contributions of ranks and the first multiple of each term.
    ids: BTreeMap<Term, TermId>,
    /// By input and rank: its contribution.
    of_ranks: Vec<Vec<Option<TermId>>>,
    forms: Forms,
    /// Runs and parts of folds made so far, against [`limits::PIECES`](crate::limits::PIECES).
    pieces: u64,
}

impl Terms {
    /// No terms yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The input with this identity, declared now if it is new.
    pub fn input(&mut self, identity: &InputIdentity) -> InputId {
        if let Some(known) = self.input_ids.get(identity) {
            return *known;
        }
        let input = InputId(u32::try_from(self.inputs.len()).unwrap_or(u32::MAX));
        self.inputs.push(identity.clone());
        self.input_ids.insert(identity.clone(), input);
        input
    }

    /// What makes an input what it is.
    pub fn identity(&self, input: InputId) -> Option<&InputIdentity> {
        self.inputs.get(usize::try_from(input.0).ok()?)
    }

    /// The term behind an id that this `Terms` gave out.
    pub fn get(&self, id: TermId) -> Option<&Term> {
        self.entry(id).map(|entry| &entry.term)
    }

    /// The element type of a term.
    pub fn dtype(&self, id: TermId) -> Option<Dtype> {
        self.entry(id).map(|entry| entry.dtype)
    }

    /// How many operations deep a term is; a contribution is 0 deep.
    pub fn depth(&self, id: TermId) -> u32 {
        self.entry(id).map_or(0, |entry| entry.depth)
    }

    /// How a term rounds; `None` for an id of another `Terms`.
    pub(crate) fn traits(&self, id: TermId) -> Option<Traits> {
        self.entry(id).map(|entry| entry.traits)
    }

    /// The normal forms of these terms.
    pub const fn forms(&self) -> &Forms {
        &self.forms
    }

    /// A contribution, from its first position on.
    pub fn atom(&mut self, input: InputId, origin: Origin) -> Placed {
        let known = self.slot(input, &origin).copied().flatten();
        if let Some(term) = known {
            return Placed { term, at: 0 };
        }
        let dtype = self.identity(input).map_or(Dtype::U8, |identity| identity.dtype);
        let Origin::Rank(_) = origin else {
            return self.store(Term::Atom { input, origin }, dtype, 0);
        };
        let made = self.push(Term::Atom { input, origin: origin.clone() }, dtype);
        if let Some(slot) = self.slot(input, &origin) {
            *slot = Some(made);
        }
        Placed { term: made, at: 0 }
    }

    /// Where the contribution of a rank is kept.
    fn slot(&mut self, input: InputId, origin: &Origin) -> Option<&mut Option<TermId>> {
        let Origin::Rank(rank) = origin else { return None };
        let (input, rank) = (usize::try_from(input.0).ok()?, usize::try_from(rank.index()).ok()?);
        // An input of another `Terms` is none of these.
        if self.of_ranks.len() < self.inputs.len() {
            self.of_ranks.resize(self.inputs.len(), Vec::new());
        }
        let ranks = self.of_ranks.get_mut(input)?;
        if ranks.len() <= rank {
            ranks.resize(rank.checked_add(1)?, None);
        }
        ranks.get_mut(rank)
    }

    /// A constant.
    pub fn constant(&mut self, value: Scalar, purpose: Constant) -> Placed {
        self.store(Term::Constant { value, purpose }, value.dtype(), NOWHERE)
    }

    /// The constant that a term is, if it is one.
    pub fn constant_of(&self, term: TermId) -> Option<(Scalar, Constant)> {
        match self.get(term)? {
            Term::Constant { value, purpose } => Some((*value, *purpose)),
            _ => None,
        }
    }

    /// The constant that constants combine to, where no order of them changes a bit: all
    /// are one, and it combined with itself is itself.
    fn constant_together(&self, how: Combine, parts: &[Placed]) -> Option<(Scalar, Constant)> {
        let constant = self.constant_of(parts.first()?.term)?;
        let (value, _) = constant;
        let all_one = parts.iter().all(|part| self.constant_of(part.term) == Some(constant));
        (all_one && Scalar::combine(value, how, value) == Some(value)).then_some(constant)
    }

    /// Parts combined in the order given. One part alone is itself.
    pub fn combined(&mut self, how: Combine, parts: &[Placed]) -> Option<Placed> {
        if let Some((value, purpose)) = self.constant_together(how, parts) {
            return Some(self.constant(value, purpose));
        }
        match parts {
            [] => None,
            [one] => Some(*one),
            [first, ..] => {
                let dtype = self.dtype(first.term)?;
                let (parts, base) = rebased(parts);
                Some(self.store(Term::Combined { how, parts }, dtype, base))
            }
        }
    }

    /// Parts combined by a reduction that was not named.
    pub fn unnamed(&mut self, place: u64, parts: &[Placed]) -> Option<Placed> {
        let dtype = self.dtype(parts.first()?.term)?;
        let (parts, base) = rebased(parts);
        Some(self.store(Term::Unnamed { place, parts }, dtype, base))
    }

    /// A term times a factor.
    pub fn scaled(&mut self, placed: Placed, by: Factor) -> Placed {
        // Zero stays zero to the bit, unless the factor is negative or no number.
        let keeps_zero = match &by {
            Factor::Reciprocal(_) => true,
            Factor::Scalar(scalar) => {
                scalar.to_f64().is_finite() && scalar.to_f64().is_sign_positive()
            }
            Factor::Constant(ratio) => !ratio.is_negative(),
        };
        if keeps_zero && self.constant_of(placed.term).is_some_and(|(value, _)| value.bits() == 0) {
            return placed;
        }
        self.wrapped(placed, None, |term| Term::Scaled { term, by })
    }

    /// A term divided, truncating.
    pub fn divided(&mut self, placed: Placed, by: GroupSize) -> Placed {
        if let Some((value, purpose)) = self.constant_of(placed.term) {
            return self.constant(value.average_after(by), purpose);
        }
        self.wrapped(placed, None, |term| Term::Divided { term, by })
    }

    /// A term converted. To its own type it is itself.
    pub fn cast(&mut self, placed: Placed, to: Dtype) -> Placed {
        if self.dtype(placed.term) == Some(to) {
            return placed;
        }
        if let Some((value, purpose)) = self.constant_of(placed.term) {
            return self.constant(value.convert(to), purpose);
        }
        self.wrapped(placed, Some(to), |term| Term::Cast { term, to })
    }

    /// Counts `pieces` more runs or parts; false when there are too many of them.
    #[must_use]
    pub(crate) fn spend(&mut self, pieces: usize) -> bool {
        let pieces = u64::try_from(pieces).unwrap_or(u64::MAX);
        self.pieces = self.pieces.saturating_add(pieces);
        let listed = u64::try_from(self.forms.listed()).unwrap_or(u64::MAX);
        self.pieces <= PIECES && listed <= PIECES
    }

    fn wrapped(
        &mut self,
        placed: Placed,
        dtype: Option<Dtype>,
        wrap: impl FnOnce(TermId) -> Term,
    ) -> Placed {
        match dtype.or_else(|| self.dtype(placed.term)) {
            Some(dtype) => self.store(wrap(placed.term), dtype, placed.at),
            None => placed,
        }
    }

    fn store(&mut self, term: Term, dtype: Dtype, at: u64) -> Placed {
        if let Term::Scaled { term: of, .. } = term {
            match self.entry(of).and_then(|entry| entry.scaled) {
                None => {
                    let id = self.push(term, dtype);
                    if let Some(entry) = self.terms.get_mut(of.index()) {
                        entry.scaled = Some(id);
                    }
                    return Placed { term: id, at };
                }
                Some(first) if self.get(first) == Some(&term) => return Placed { term: first, at },
                Some(_) => {}
            }
        }
        if let Some(term) = self.ids.get(&term) {
            return Placed { term: *term, at };
        }
        let id = self.push(term.clone(), dtype);
        self.ids.insert(term, id);
        Placed { term: id, at }
    }

    fn push(&mut self, term: Term, dtype: Dtype) -> TermId {
        // The format's limits keep the number of distinct terms far below 2^32.
        let id = TermId(u32::try_from(self.terms.len()).unwrap_or(u32::MAX));
        let below = term.parts().map(|part| self.depth(part)).max();
        let depth = below.map_or(0, |below| below.saturating_add(1));
        let traits = Traits::of(self, &term, dtype);
        self.forms.add(&term, dtype);
        self.terms.push(Entry { term, dtype, depth, traits, scaled: None });
        id
    }

    fn entry(&self, id: TermId) -> Option<&Entry> {
        self.terms.get(id.index())
    }
}

impl Term {
    /// The terms that it is made of.
    pub(crate) fn parts(&self) -> impl Iterator<Item = TermId> + '_ {
        let (one, many) = match self {
            Self::Atom { .. } | Self::Constant { .. } => (None, None),
            Self::Scaled { term, .. } | Self::Divided { term, .. } | Self::Cast { term, .. } => {
                (Some(*term), None)
            }
            Self::Combined { parts, .. } | Self::Unnamed { parts, .. } => (None, Some(parts)),
        };
        one.into_iter().chain(many.into_iter().flatten().map(|part| part.term))
    }
}

impl TermId {
    pub(crate) fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// The parts relative to the earliest, and where that one is; constants stay nowhere.
fn rebased(parts: &[Placed]) -> (Vec<Placed>, u64) {
    let base = parts.iter().map(|part| part.at).min().unwrap_or(0);
    let relative = parts.iter().map(|part| match part.at {
        NOWHERE => *part,
        at => Placed { term: part.term, at: at.saturating_sub(base) },
    });
    (relative.collect(), base)
}
