//! What a position holds, as it was computed: each distinct term once.
//!
//! A term says nothing of where it reads; that is the `at` of a [`Placed`] one, so that
//! a run of positions shares one term. Parts read relative to the earliest of them.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use num_traits::{Signed, Zero};

use crate::definition::Op;
use crate::distinct::Distinct;
use crate::format::{Attached, How, Origin};
use crate::limits::{DEPTH, WORK};
use crate::normal::{Normals, Value, Why};
use crate::number::{self, Dtype, Number};
use crate::rejected::Rejected;
use crate::sense::{Rounding, Sense};
use crate::vector::Content;

/// A term, read from a position of its inputs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Placed {
    pub(crate) term: usize,
    pub(crate) at: u64,
}

impl Placed {
    pub(crate) const fn later(self, by: u64) -> Self {
        Self { term: self.term, at: self.at.saturating_add(by) }
    }
}

/// What makes an input what it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity {
    pub(crate) name: String,
    pub(crate) dtype: Dtype,
    pub(crate) counts: Vec<u64>,
    pub(crate) meaning: Option<String>,
    pub(crate) attached: Attached,
    /// The side whose own it is, where nothing says that the other's is the same.
    pub(crate) only: Option<usize>,
}

/// One term.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Term {
    Input { input: usize, of: Origin },
    Constant { dtype: Dtype, value: Number },
    Fold { how: How, parts: Vec<Placed> },
    Mean { of: usize, ranks: u32 },
    Scalar { of: usize, by: Number },
    Times { of: usize, by: Number },
    Divide { of: usize, by: u32 },
    Cast { of: usize, to: Dtype },
}

/// What is known of a term.
#[derive(Clone, Copy, Debug)]
struct Entry {
    dtype: Dtype,
    depth: u32,
    /// Whether a float is in it.
    float: bool,
    /// Whether it reads no input.
    fixed: bool,
    rounding: Rounding,
    normal: Value,
}

/// All terms of one check.
#[derive(Debug, Default)]
pub(crate) struct Terms {
    inputs: Distinct<Identity, ()>,
    all: Distinct<Term, Entry>,
    /// Of contributions that somebody has: how long they are.
    lengths: BTreeMap<usize, u64>,
    normals: Normals,
    work: u64,
}

/// Why a term cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoTerm {
    Limit(Rejected),
    Why(&'static str),
}

impl From<Rejected> for NoTerm {
    fn from(rejected: Rejected) -> Self {
        Self::Limit(rejected)
    }
}

impl From<Why> for NoTerm {
    fn from(why: Why) -> Self {
        Self::Why(why)
    }
}

impl Terms {
    pub(crate) fn identity(&self, input: usize) -> Option<&Identity> {
        self.inputs.get(input).map(|(identity, ())| identity)
    }

    /// Declares an input, or finds it.
    pub(crate) fn input(&mut self, identity: Identity) -> usize {
        self.inputs.keep(identity, ())
    }

    /// Counts units of work.
    pub(crate) fn spend(&mut self, units: u64) -> Result<(), Rejected> {
        self.work = self.work.saturating_add(units);
        if self.work > WORK {
            return Err(Rejected::Limit { what: "units of work", limit: WORK });
        }
        Ok(())
    }

    pub(crate) fn get(&self, term: usize) -> Option<&Term> {
        self.all.get(term).map(|(term, _)| term)
    }

    /// An exact number as it is written.
    pub(crate) fn number(&mut self, text: &str) -> Result<Number, NoTerm> {
        self.spend(u64::try_from(text.len()).unwrap_or(u64::MAX))?;
        number::parse(text).ok_or(NoTerm::Why("what is no exact number in lowest terms"))
    }

    pub(crate) fn dtype(&self, term: usize) -> Option<Dtype> {
        self.entry(term).map(|entry| entry.dtype)
    }

    pub(crate) fn has_float(&self, term: usize) -> bool {
        self.entry(term).is_none_or(|entry| entry.float)
    }

    /// What is left of it when every law has been applied.
    pub(crate) fn normal(&self, placed: Placed) -> Option<Value> {
        self.entry(placed.term).map(|entry| self.normals.later(entry.normal, placed.at))
    }

    /// The sense in which two values of one normal form are equal.
    pub(crate) fn sense(&self, one: Placed, other: Placed) -> Sense {
        match (self.entry(one.term), self.entry(other.term)) {
            (Some(left), Some(_)) if one == other => left.rounding.again,
            (Some(left), Some(right)) => left.rounding.between(right.rounding),
            _ => Sense::OverTheReals,
        }
    }

    /// One value of every rank combined, in rank order.
    pub(crate) fn reduced(
        &mut self,
        op: Option<Op>,
        scalars: &[Number],
        contents: &[Content],
    ) -> Result<Content, NoTerm> {
        let mut parts = Vec::with_capacity(contents.len());
        let mut unnamed = op.is_none();
        for content in contents {
            match content {
                Content::Nothing => return Ok(Content::Nothing),
                Content::Unnamed => unnamed = true,
                Content::Term(placed) => parts.push(*placed),
            }
        }
        let (Some(op), false) = (op, unnamed) else { return Ok(Content::Unnamed) };
        let ranks = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        let float =
            parts.first().and_then(|part| self.dtype(part.term)).is_some_and(Dtype::is_float);
        let placed = match op {
            Op::Sum => self.fold(How::Sum, &parts)?,
            Op::Prod => self.fold(How::Prod, &parts)?,
            Op::Max => self.fold(How::Max, &parts)?,
            Op::Min => self.fold(How::Min, &parts)?,
            // Each input times 1/n, then summed; an integer sum is divided once.
            Op::Avg if float => {
                for part in &mut parts {
                    *part = self.mean(*part, ranks)?;
                }
                self.fold(How::Sum, &parts)?
            }
            Op::Avg => {
                let sum = self.fold(How::Sum, &parts)?;
                self.divide(sum, ranks)?
            }
            Op::Premul => {
                for (part, scalar) in parts.iter_mut().zip(scalars) {
                    *part = self.scalar(*part, scalar.clone())?;
                }
                self.fold(How::Sum, &parts)?
            }
        };
        Ok(Content::Term(placed))
    }

    /// Says that somebody has a contribution, and how long it is.
    pub(crate) fn declare(&mut self, atom: Placed, length: u64) -> Result<(), NoTerm> {
        self.spend(2)?;
        let known = self.lengths.entry(atom.term).or_default();
        *known = length.max(*known);
        Ok(())
    }

    /// How long a contribution is, if anybody has it.
    pub(crate) fn length(&self, atom: Placed) -> Option<u64> {
        self.lengths.get(&atom.term).copied()
    }

    /// How much work is left.
    pub(crate) const fn left(&self) -> u64 {
        WORK.saturating_sub(self.work)
    }

    pub(crate) fn contribution(&self, input: usize, of: Origin) -> Option<Placed> {
        Some(Placed { term: self.all.number(&Term::Input { input, of })?, at: 0 })
    }

    pub(crate) fn atom(&mut self, input: usize, of: Origin) -> Result<Placed, NoTerm> {
        let dtype = self.identity(input).map(|identity| identity.dtype);
        let dtype = dtype.ok_or(NoTerm::Why("an input that is not there"))?;
        if let Origin::Device(name) = &of {
            self.spend(u64::try_from(name.len()).unwrap_or(u64::MAX) / 8)?;
        }
        let normal = self.normals.atom(dtype, input, of.clone())?;
        self.store(Term::Input { input, of }, dtype, 0, normal, Rounding::NONE)
    }

    pub(crate) fn constant(&mut self, dtype: Dtype, value: Number) -> Result<Placed, NoTerm> {
        if !dtype.has(&value) {
            return Err(NoTerm::Why("a constant that its type does not hold"));
        }
        let normal = self.normals.constant(dtype, value.clone())?;
        self.store(Term::Constant { dtype, value }, dtype, 0, normal, Rounding::NONE)
    }

    /// Parts combined in this order. One alone is itself.
    pub(crate) fn fold(&mut self, how: How, parts: &[Placed]) -> Result<Placed, NoTerm> {
        let first = parts.first().ok_or(NoTerm::Why("a fold of nothing"))?;
        let dtype = self.dtype(first.term).ok_or(UNKNOWN)?;
        if parts.len() == 1 {
            return Ok(*first);
        }
        if self.settles(how, parts) {
            return Ok(*first);
        }
        let moving = |part: &&Placed| !self.is_fixed(part.term);
        let base = parts.iter().filter(moving).map(|part| part.at).min().unwrap_or(0);
        let mut relative = Vec::with_capacity(parts.len());
        let mut values = Vec::with_capacity(parts.len());
        let mut rounding = Rounding::NONE;
        for part in parts {
            let entry = self.entry(part.term).ok_or(UNKNOWN)?;
            if entry.dtype != dtype {
                return Err(NoTerm::Why("a fold of several element types"));
            }
            rounding = rounding.and(entry.rounding);
            let at = if self.is_fixed(part.term) { 0 } else { part.at.saturating_sub(base) };
            let part = Placed { term: part.term, at };
            relative.push(part);
            values.push(self.normal(part).ok_or(UNKNOWN)?);
        }
        let costs = values.iter().map(|value| self.normals.cost(*value));
        let cost = costs.fold(0, u64::saturating_add);
        self.spend(cost)?;
        let normal = match how {
            How::Sum => self.normals.sum(dtype, &values)?,
            How::Prod => self.normals.product(dtype, &values)?,
            How::Max | How::Min => self.normals.extreme(dtype, how, &values)?,
        };
        let constant = parts.iter().any(|part| self.is_constant(part.term).is_some());
        let rounding = rounding.folded(how, parts.len(), constant, dtype);
        self.store(Term::Fold { how, parts: relative }, dtype, base, normal, rounding)
    }

    /// Whether it is one constant that, combined with itself, is itself: 0 added up.
    fn settles(&self, how: How, parts: &[Placed]) -> bool {
        let Some((dtype, value)) = parts.first().and_then(|part| self.is_constant(part.term))
        else {
            return false;
        };
        let twice = match how {
            How::Sum => dtype.wrapped(value + value),
            How::Prod => number::product(value, value).and_then(|twice| dtype.wrapped(twice)),
            How::Max | How::Min => Some(value.clone()),
        };
        let first = parts.first().map(|part| part.term);
        twice.as_ref() == Some(value) && parts.iter().all(|part| Some(part.term) == first)
    }

    fn is_constant(&self, term: usize) -> Option<(Dtype, &Number)> {
        match self.get(term)? {
            Term::Constant { dtype, value } => Some((*dtype, value)),
            _ => None,
        }
    }

    /// Times 1/n, as a float average does.
    pub(crate) fn mean(&mut self, of: Placed, ranks: u32) -> Result<Placed, NoTerm> {
        let dtype = self.dtype(of.term).ok_or(UNKNOWN)?;
        if ranks == 0 || !dtype.is_float() {
            return Err(NoTerm::Why("a float mean of no ranks, or of integers"));
        }
        let by = Number::new(1.into(), ranks.into());
        let exact = dtype.holds_one_over(ranks);
        self.multiplied(of, &by, exact, Term::Mean { of: of.term, ranks })
    }

    /// Times a scalar of a pre-multiplied sum, which is an element.
    pub(crate) fn scalar(&mut self, of: Placed, by: Number) -> Result<Placed, NoTerm> {
        if !self.dtype(of.term).ok_or(UNKNOWN)?.has(&by) {
            return Err(NoTerm::Why("a scalar that the element type does not hold"));
        }
        self.multiplied(of, &by.clone(), false, Term::Scalar { of: of.term, by })
    }

    /// Times a constant.
    pub(crate) fn times(&mut self, of: Placed, by: Number) -> Result<Placed, NoTerm> {
        self.multiplied(of, &by.clone(), false, Term::Times { of: of.term, by })
    }

    fn multiplied(
        &mut self,
        of: Placed,
        by: &Number,
        exact: bool,
        term: Term,
    ) -> Result<Placed, NoTerm> {
        let entry = self.entry(of.term).ok_or(UNKNOWN)?;
        let (dtype, value) = (entry.dtype, entry.normal);
        if !dtype.is_float() && !by.is_integer() {
            return Err(NoTerm::Why("a fraction among integers"));
        }
        // Zero stays zero, to the bit.
        if self.is_constant(of.term).is_some_and(|(_, value)| value.is_zero()) && !by.is_negative()
        {
            return Ok(of);
        }
        let rounding = entry.rounding.multiplied(exact, dtype);
        let digits = (number::bits(by) / 64).saturating_add(1);
        self.spend(self.normals.cost(value).saturating_mul(digits))?;
        let normal = self.normals.multiple(dtype, value, by)?;
        self.store(term, dtype, of.at, normal, rounding)
    }

    /// Divided once, truncating: an integer average.
    pub(crate) fn divide(&mut self, of: Placed, by: u32) -> Result<Placed, NoTerm> {
        let entry = self.entry(of.term).ok_or(UNKNOWN)?;
        let (dtype, rounding) = (entry.dtype, entry.rounding);
        if by == 0 || dtype.is_float() {
            return Err(NoTerm::Why("a truncating division by 0, or of floats"));
        }
        if let Some((_, value)) = self.is_constant(of.term) {
            let value = (value / Number::from_integer(by.into())).trunc();
            return self.constant(dtype, value);
        }
        let normal = self.normals.quotient(dtype, entry.normal, by)?;
        self.store(Term::Divide { of: of.term, by }, dtype, of.at, normal, rounding)
    }

    /// Converted; to its own type it is itself.
    pub(crate) fn cast(&mut self, of: Placed, to: Dtype) -> Result<Placed, NoTerm> {
        let entry = self.entry(of.term).ok_or(UNKNOWN)?;
        if entry.dtype == to {
            return Ok(of);
        }
        let rounding = entry.rounding.converted();
        if let Some((from, value)) = self.is_constant(of.term) {
            let converted = match (from.is_float(), to.is_float()) {
                (_, true) => to.nearest(value),
                (false, false) => to.wrapped(value.clone()),
                (true, false) => Some(value.clone()).filter(|value| to.has(value)),
            };
            if let Some(converted) = converted {
                return self.constant(to, converted);
            }
        }
        let normal = self.normals.cast(entry.normal, to)?;
        self.store(Term::Cast { of: of.term, to }, to, of.at, normal, rounding)
    }

    fn store(
        &mut self,
        term: Term,
        dtype: Dtype,
        at: u64,
        normal: Value,
        rounding: Rounding,
    ) -> Result<Placed, NoTerm> {
        if let Some(known) = self.all.number(&term) {
            return Ok(self.placed(known, at));
        }
        let (one, many) = match &term {
            Term::Input { .. } | Term::Constant { .. } => (None, [].as_slice()),
            Term::Fold { parts, .. } => (None, parts.as_slice()),
            Term::Mean { of, .. }
            | Term::Scalar { of, .. }
            | Term::Times { of, .. }
            | Term::Divide { of, .. }
            | Term::Cast { of, .. } => (Some(*of), [].as_slice()),
        };
        let parts = one.into_iter().chain(many.iter().map(|part| part.term));
        let parts = parts.filter_map(|part| self.entry(part));
        let alone = (0, dtype.is_float(), !matches!(term, Term::Input { .. }));
        let (depth, float, fixed) = parts.fold(alone, |(depth, float, fixed), part| {
            let deep = part.depth.saturating_add(1);
            (depth.max(deep), float || part.float, fixed && part.fixed)
        });
        if depth > DEPTH {
            let limit = u64::from(DEPTH);
            return Err(NoTerm::Limit(Rejected::Limit { what: "operations on one value", limit }));
        }
        let parts = u64::try_from(many.len()).unwrap_or(u64::MAX);
        let cost = self.normals.cost(normal).saturating_add(parts);
        self.spend(TERM_COST.saturating_add(cost))?;
        let known = Entry { dtype, depth, float, fixed, rounding, normal };
        let term = self.all.keep(term, known);
        Ok(self.placed(term, at))
    }

    /// A term placed somewhere; one that reads no input is always at 0.
    pub(crate) fn placed(&self, term: usize, at: u64) -> Placed {
        Placed { term, at: if self.is_fixed(term) { 0 } else { at } }
    }

    /// Whether it reads no input, so that it is the same at every position.
    fn is_fixed(&self, term: usize) -> bool {
        self.entry(term).is_some_and(|entry| entry.fixed)
    }

    fn entry(&self, term: usize) -> Option<&Entry> {
        self.all.get(term).map(|(_, entry)| entry)
    }
}

/// What it takes to keep a term that has no parts, in units of work.
const TERM_COST: u64 = 8;

const UNKNOWN: NoTerm = NoTerm::Why("a term that is not there");
