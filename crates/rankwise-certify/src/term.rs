//! What a position holds, as it was computed: each distinct term once.
//!
//! A term says nothing of where it reads; that is the `at` of a [`Placed`] one, so that
//! a run of positions shares one term. Parts read relative to the earliest of them.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use num_traits::{One, Signed, Zero};

use crate::definition::Op;
use crate::distinct::Distinct;
use crate::format::{How, Origin};
use crate::limits::DEPTH;
use crate::list::{count, nth};
use crate::normal::{Normals, Value};
use crate::number::{self, Dtype, Number};
use crate::rejected::{No, ensure};
use crate::sense::{Rounding, Sense};
use crate::start::{Start, earliest};
use crate::vector::Content;

/// A term, read from a position of its inputs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Placed {
    pub(crate) term: usize,
    pub(crate) at: Start,
}

impl Placed {
    pub(crate) const fn later(self, by: u64) -> Self {
        Self { term: self.term, at: self.at.later(by) }
    }
}

/// What makes an input what it is: its name, and the side whose own it is, where nothing
/// says that the other's of this name is the same.
pub(crate) type Identity = (String, Option<usize>);

/// One term.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Term {
    Input { input: usize, of: Origin },
    Constant { dtype: Dtype, value: Number },
    Fold { how: How, parts: Vec<Placed> },
    Changed { of: usize, how: Change },
}

/// What is done to one value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    /// Times 1/n, as a float average does.
    Mean(u32),
    /// Times a scalar of a pre-multiplied sum, which is an element.
    Scalar(Number),
    /// Times a constant.
    Times(Number),
    /// Divided once, truncating: an integer average.
    Divide(u32),
    Cast(Dtype),
}

/// What is known of a term.
#[derive(Clone, Copy, Debug)]
struct Entry {
    dtype: Dtype,
    depth: u32,
    /// Whether a float is in it.
    float: bool,
    rounding: Rounding,
    normal: Value,
}

/// All terms of one check.
#[derive(Debug, Default)]
pub(crate) struct Terms {
    inputs: Distinct<Identity, Dtype>,
    all: Distinct<Term, Entry>,
    /// Of contributions that somebody has: how long they are.
    lengths: BTreeMap<(usize, Origin), u64>,
    normals: Normals,
}

impl Terms {
    /// Declares an input, or finds it.
    pub(crate) fn input(&mut self, identity: Identity, dtype: Dtype) -> usize {
        self.inputs.keep(identity, dtype)
    }

    pub(crate) fn identity(&self, input: usize) -> Result<(&Identity, Dtype), No> {
        let (identity, dtype) = self.inputs.get(input)?;
        Ok((identity, *dtype))
    }

    /// Counts units of work.
    pub(crate) fn spend(&self, units: u64) -> Result<(), No> {
        self.normals.spend(units)
    }

    pub(crate) fn get(&self, term: usize) -> Result<(&Term, Dtype), No> {
        let (term, entry) = self.all.get(term)?;
        Ok((term, entry.dtype))
    }

    fn entry(&self, term: usize) -> Result<&Entry, No> {
        Ok(self.all.get(term)?.1)
    }

    /// An exact number as it is written.
    pub(crate) fn number(&self, text: &str) -> Result<Number, No> {
        self.spend(count(text.as_bytes()))?;
        Ok(number::parse(text).ok_or("what is no exact number in lowest terms")?)
    }

    pub(crate) fn has_float(&self, term: usize) -> Result<bool, No> {
        Ok(self.entry(term)?.float)
    }

    /// What is left of it when every law has been applied.
    pub(crate) fn normal(&self, placed: Placed) -> Result<Value, No> {
        Ok(self.entry(placed.term)?.normal.of_whole_at(placed.at))
    }

    /// The sense in which two terms are equal, if their normal forms are.
    pub(crate) fn equal(&self, one: Placed, other: Placed) -> Result<Sense, No> {
        ensure!(self.normal(one)? == self.normal(other)?, "another value than is claimed");
        let (left, right) = (self.entry(one.term)?, self.entry(other.term)?);
        let same = one == other;
        Ok(if same { left.rounding.again } else { left.rounding.between(right.rounding) })
    }

    /// Says that somebody has a contribution, and how long it is.
    pub(crate) fn declare(&mut self, input: usize, of: Origin, length: u64) -> Result<Placed, No> {
        self.spend(2)?;
        let known = self.lengths.entry((input, of.clone())).or_default();
        *known = length.max(*known);
        self.atom(input, of)
    }

    /// How long a contribution is, if anybody has it.
    pub(crate) fn length(&self, input: usize, of: &Origin) -> Option<u64> {
        self.lengths.get(&(input, of.clone())).copied()
    }

    pub(crate) fn atom(&mut self, input: usize, of: Origin) -> Result<Placed, No> {
        let (_, dtype) = self.identity(input)?;
        if let Origin::Device(name) = &of {
            self.spend(count(name.as_bytes()) / 8)?;
        }
        let normal = self.normals.atom(dtype, input, of.clone())?;
        self.store(Term::Input { input, of }, dtype, Start::ZERO, normal, Rounding::NONE)
    }

    pub(crate) fn constant(&mut self, dtype: Dtype, value: Number) -> Result<Placed, No> {
        ensure!(dtype.has(&value), "a constant that its type does not hold");
        let normal = self.normals.constant(dtype, value.clone())?;
        let term = Term::Constant { dtype, value };
        self.store(term, dtype, Start::Anywhere, normal, Rounding::NONE)
    }

    /// One value of every rank combined, in rank order.
    pub(crate) fn reduced(
        &mut self,
        op: Option<&Op>,
        scalars: &[Number],
        contents: &[Content],
    ) -> Result<Content, No> {
        let mut parts = Vec::with_capacity(contents.len());
        let mut unnamed = op.is_none();
        for content in contents {
            match content {
                Content::Nothing => return Ok(Content::Nothing),
                Content::Unnamed => unnamed = true,
                Content::Term(placed) => parts.push(*placed),
            }
        }
        let (Some(op), Some(first), false) = (op, parts.first(), unnamed) else {
            return Ok(Content::Unnamed);
        };
        let ranks = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        let float = self.entry(first.term)?.dtype.is_float();
        let placed = match op {
            Op::Sum => self.fold(How::Sum, &parts)?,
            Op::Prod => self.fold(How::Prod, &parts)?,
            Op::Max => self.fold(How::Max, &parts)?,
            Op::Min => self.fold(How::Min, &parts)?,
            // Each input times 1/n, then summed; an integer sum is divided once.
            Op::Avg if float => {
                for part in &mut parts {
                    *part = self.change(*part, Change::Mean(ranks))?;
                }
                self.fold(How::Sum, &parts)?
            }
            Op::Avg => {
                let sum = self.fold(How::Sum, &parts)?;
                self.change(sum, Change::Divide(ranks))?
            }
            Op::Premul(_) => {
                for (index, part) in parts.iter_mut().enumerate() {
                    let scalar = nth(scalars, index).ok_or("a rank without a scalar")?;
                    *part = self.change(*part, Change::Scalar(scalar.clone()))?;
                }
                self.fold(How::Sum, &parts)?
            }
        };
        Ok(Content::Term(placed))
    }

    /// Parts combined in this order. One alone is itself.
    pub(crate) fn fold(&mut self, how: How, parts: &[Placed]) -> Result<Placed, No> {
        let first = parts.first().ok_or("a fold of nothing")?;
        let dtype = self.entry(first.term)?.dtype;
        if parts.len() == 1 || self.settles(how, parts) {
            return Ok(*first);
        }
        let base = earliest(parts.iter().map(|part| part.at));
        let mut relative = Vec::with_capacity(parts.len());
        let mut values = Vec::with_capacity(parts.len());
        let mut rounding = Rounding::NONE;
        let mut constant = false;
        for part in parts {
            let part = Placed { term: part.term, at: part.at.within(base) };
            let (term, entry) = self.all.get(part.term)?;
            ensure!(entry.dtype == dtype, "a fold of several element types");
            rounding = rounding.and(entry.rounding);
            constant |= matches!(term, Term::Constant { .. });
            values.push(self.normal(part)?);
            relative.push(part);
        }
        let normal = match how {
            How::Sum => self.normals.sum(dtype, &values, &Number::one())?,
            How::Prod => self.normals.product(dtype, &values)?,
            How::Max | How::Min => self.normals.extreme(dtype, how, &values)?,
        };
        let rounding = rounding.folded(how, parts.len(), constant, dtype);
        self.store(Term::Fold { how, parts: relative }, dtype, base, normal, rounding)
    }

    /// Whether it is one constant that, combined with itself, is itself: 0 added up.
    fn settles(&self, how: How, parts: &[Placed]) -> bool {
        let Some(first) = parts.first() else { return false };
        let Some(value) = self.value_of(first.term) else { return false };
        let settles = match how {
            How::Sum => value.is_zero(),
            How::Prod => value.is_zero() || value.is_one(),
            How::Max | How::Min => true,
        };
        settles && parts.iter().all(|part| part == first)
    }

    /// The value of a constant.
    fn value_of(&self, term: usize) -> Option<&Number> {
        match self.all.get(term) {
            Ok((Term::Constant { value, .. }, _)) => Some(value),
            _ => None,
        }
    }

    /// One value changed.
    pub(crate) fn change(&mut self, of: Placed, how: Change) -> Result<Placed, No> {
        let Entry { dtype, normal, rounding, .. } = *self.entry(of.term)?;
        let constant = self.value_of(of.term);
        let (to, normal, rounding) = match &how {
            Change::Mean(_) | Change::Scalar(_) | Change::Times(_) => {
                let (by, exact) = factor(&how, dtype)?;
                // Zero stays zero, to the bit.
                if constant.is_some_and(Zero::is_zero) && !by.is_negative() {
                    return Ok(of);
                }
                let rounding = rounding.multiplied(exact, dtype);
                (dtype, self.normals.sum(dtype, &[normal], &by)?, rounding)
            }
            // Of one rank, and to its own type, it is itself.
            Change::Divide(1) if !dtype.is_float() => return Ok(of),
            Change::Divide(by) => {
                let sound = *by > 0 && !dtype.is_float();
                ensure!(sound, "a truncating division by 0, or of floats");
                if let Some(value) = constant {
                    let value = (value / Number::from_integer((*by).into())).trunc();
                    return self.constant(dtype, value);
                }
                (dtype, self.normals.quotient(dtype, normal, *by)?, rounding)
            }
            Change::Cast(to) if *to == dtype => return Ok(of),
            Change::Cast(to) => {
                let converted =
                    constant.and_then(|value| match (dtype.is_float(), to.is_float()) {
                        (_, true) => to.nearest(value),
                        (false, false) => to.wrapped(value.clone()),
                        (true, false) => Some(value.clone()).filter(|value| to.has(value)),
                    });
                if let Some(converted) = converted {
                    return self.constant(*to, converted);
                }
                (*to, self.normals.cast(normal, *to)?, rounding.converted())
            }
        };
        self.store(Term::Changed { of: of.term, how }, to, of.at, normal, rounding)
    }

    /// Keeps a term whose parts are placed relative to `at`.
    fn store(
        &mut self,
        term: Term,
        dtype: Dtype,
        at: Start,
        normal: Value,
        rounding: Rounding,
    ) -> Result<Placed, No> {
        if let Some(term) = self.all.number(&term) {
            return Ok(Placed { term, at });
        }
        let parts: Vec<usize> = match &term {
            Term::Input { .. } | Term::Constant { .. } => Vec::new(),
            Term::Fold { parts, .. } => parts.iter().map(|part| part.term).collect(),
            Term::Changed { of, .. } => Vec::from([*of]),
        };
        let (mut depth, mut float) = (0, dtype.is_float());
        for part in &parts {
            let part = self.entry(*part)?;
            depth = part.depth.saturating_add(1).max(depth);
            float |= part.float;
        }
        if depth > DEPTH {
            return Err(No::Limit { what: "operations on one value", limit: u64::from(DEPTH) });
        }
        self.spend(TERM_WORK.saturating_add(count(&parts)))?;
        let term = self.all.keep(term, Entry { dtype, depth, float, rounding, normal });
        Ok(Placed { term, at })
    }
}

/// What is multiplied by, and whether that rounds nothing.
fn factor(how: &Change, dtype: Dtype) -> Result<(Number, bool), No> {
    match how {
        Change::Mean(ranks) => {
            ensure!(*ranks > 0 && dtype.is_float(), "a float mean of no ranks, or of integers");
            Ok((Number::new(1.into(), (*ranks).into()), dtype.holds_one_over(*ranks)))
        }
        Change::Scalar(by) | Change::Times(by) => {
            let element = matches!(how, Change::Times(_)) || dtype.has(by);
            ensure!(element, "a scalar that the element type does not hold");
            ensure!(dtype.is_float() || by.is_integer(), "a fraction among integers");
            Ok((by.clone(), false))
        }
        Change::Divide(_) | Change::Cast(_) => Err("no product".into()),
    }
}

/// What it takes to keep a term that has no parts, in units of work.
const TERM_WORK: u64 = 8;
