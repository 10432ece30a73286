//! Normal forms: two values of one normal form are equal for every input.
//!
//! Every value is a sum `Σ multiplicity · leaf`. A leaf is what no law takes further
//! apart: an element of an input, the number one, a product, a largest or smallest
//! value, a truncated quotient, a conversion. Multiplicities are counted modulo 2^w for
//! integers of w bits, and are exact rationals for floats, which stand for real numbers.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use num_bigint::BigUint;
use num_traits::{One, Zero};

use crate::distinct::Distinct;
use crate::format::{How, Origin};
use crate::limits::NUMBER_BITS;
use crate::number::{self, Dtype, Number};

/// A normal form, read from a position on. Where it depends on no input, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Value {
    sum: usize,
    at: u64,
}

/// A leaf, read from a position on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Spot {
    leaf: usize,
    at: u64,
}

/// Parts in order, none of multiplicity zero, the earliest that reads an input at 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sum {
    dtype: Dtype,
    parts: Vec<(Spot, Number)>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Leaf {
    One,
    Element { input: usize, of: Origin },
    Product(Vec<(Value, BigUint)>),
    Extreme { how: How, of: Vec<Value> },
    Quotient { of: usize, by: u32 },
    Cast { of: usize, to: Dtype },
}

/// What is known of a sum or a leaf.
#[derive(Clone, Copy, Debug)]
struct Facts {
    /// Whether it reads no input, so that it is the same at every position.
    fixed: bool,
    /// What it takes to keep it or to go through it, in units of work.
    cost: u64,
}

/// All normal forms of one check, each once.
#[derive(Debug, Default)]
pub(crate) struct Normals {
    sums: Distinct<Sum, Facts>,
    leaves: Distinct<Leaf, Facts>,
}

/// A part of a sum in memory: where it reads and how often it counts.
const PART_COST: u64 = 5;

/// Why there is no normal form.
pub(crate) type Why = &'static str;

const FRACTION: Why = "a fraction among integers";
const LONG: Why = "a number of more than 2^13 binary digits";
const LOST: Why = "a value that is not there";

impl Normals {
    pub(crate) fn atom(&mut self, dtype: Dtype, input: usize, of: Origin) -> Result<Value, Why> {
        self.alone(dtype, Leaf::Element { input, of }, 0)
    }

    pub(crate) fn constant(&mut self, dtype: Dtype, value: Number) -> Result<Value, Why> {
        let leaf = self.leaf(Leaf::One);
        self.total(dtype, BTreeMap::from([(Spot { leaf, at: 0 }, value)]))
    }

    pub(crate) fn sum(&mut self, dtype: Dtype, values: &[Value]) -> Result<Value, Why> {
        let mut total = BTreeMap::new();
        for value in values {
            self.add(&mut total, *value, &Number::one())?;
        }
        self.total(dtype, total)
    }

    pub(crate) fn multiple(
        &mut self,
        dtype: Dtype,
        value: Value,
        by: &Number,
    ) -> Result<Value, Why> {
        if !dtype.is_float() && !by.is_integer() {
            return Err(FRACTION);
        }
        let mut total = BTreeMap::new();
        self.add(&mut total, value, by)?;
        self.total(dtype, total)
    }

    pub(crate) fn product(&mut self, dtype: Dtype, values: &[Value]) -> Result<Value, Why> {
        let mut constant = Number::one();
        let mut powers: BTreeMap<Value, BigUint> = BTreeMap::new();
        for value in values {
            // A multiple of one leaf is its multiplicity times the leaf; zero is zero.
            let (spot, times) = match self.parts(*value)? {
                [] => {
                    constant = Number::zero();
                    continue;
                }
                [(spot, times)] => (*spot, times),
                _ => {
                    *powers.entry(*value).or_default() += BigUint::one();
                    continue;
                }
            };
            constant = number::product(&constant, times).ok_or(LONG)?;
            constant = dtype.modulo(constant).ok_or(FRACTION)?;
            let later = spot.at.saturating_add(value.at);
            match self.leaves.get(spot.leaf).ok_or(LOST)?.0 {
                Leaf::One => {}
                Leaf::Product(factors) => {
                    for (factor, power) in factors {
                        *powers.entry(self.later(*factor, later)).or_default() += power;
                    }
                }
                leaf => {
                    let factor = self.alone(dtype, leaf.clone(), later)?;
                    *powers.entry(factor).or_default() += BigUint::one();
                }
            }
        }
        let only = powers.first_key_value().filter(|(_, power)| power.is_one());
        let product = match (powers.len(), only) {
            (0, _) => return self.constant(dtype, constant),
            (1, Some((factor, _))) => *factor,
            _ => {
                let base = self.base(powers.keys());
                let powers = powers.into_iter();
                let powers = powers.map(|(factor, power)| (self.earlier(factor, base), power));
                let leaf = Leaf::Product(powers.collect());
                self.alone(dtype, leaf, base)?
            }
        };
        self.multiple(dtype, product, &constant)
    }

    pub(crate) fn extreme(
        &mut self,
        dtype: Dtype,
        how: How,
        values: &[Value],
    ) -> Result<Value, Why> {
        // One value takes no step.
        if let [only] = values {
            return Ok(*only);
        }
        let mut all = BTreeSet::new();
        for value in values {
            match self.single(*value)? {
                Some((Leaf::Extreme { how: inner, of }, at)) if *inner == how => {
                    all.extend(of.iter().map(|part| self.later(*part, at)));
                }
                _ => _ = all.insert(*value),
            }
        }
        // What no value of the type is beyond changes nothing.
        if let Some(neutral) = dtype.bound(how) {
            let neutral = self.constant(dtype, neutral)?;
            if all.len() > 1 {
                all.remove(&neutral);
            }
        }
        if let (1, Some(only)) = (all.len(), all.first())
            && !self.may_be_infinite(dtype, *only)?
        {
            return Ok(*only);
        }
        let base = self.base(all.iter());
        let of = all.into_iter().map(|part| self.earlier(part, base)).collect();
        self.alone(dtype, Leaf::Extreme { how, of }, base)
    }

    /// Whether it is an element of e5m2 as it was given: an infinity, which no step keeps,
    /// not even the greatest of it and itself.
    fn may_be_infinite(&self, dtype: Dtype, value: Value) -> Result<bool, Why> {
        Ok(dtype == Dtype::F8E5M2 && matches!(self.single(value)?, Some((Leaf::Element { .. }, _))))
    }

    pub(crate) fn quotient(&mut self, dtype: Dtype, value: Value, by: u32) -> Result<Value, Why> {
        match by {
            1 => Ok(value),
            by => self.alone(dtype, Leaf::Quotient { of: value.sum, by }, value.at),
        }
    }

    pub(crate) fn cast(&mut self, value: Value, to: Dtype) -> Result<Value, Why> {
        // Widened without loss and back again is what it was; but an infinity of e5m2 is
        // its greatest number when it comes back.
        if to != Dtype::F8E5M2
            && let Some((Leaf::Cast { of, to: through }, at)) = self.single(value)?
            && self.sums.get(*of).is_some_and(|(sum, _)| sum.dtype == to)
            && through.holds_all_of(to)
        {
            return Ok(self.later(Value { sum: *of, at: 0 }, at));
        }
        self.alone(to, Leaf::Cast { of: value.sum, to }, value.at)
    }

    /// The same, `by` positions further on.
    pub(crate) fn later(&self, value: Value, by: u64) -> Value {
        let fixed = self.is_fixed(value.sum);
        Value { sum: value.sum, at: if fixed { 0 } else { value.at.saturating_add(by) } }
    }

    /// What it takes to keep a value or to go through it, in units of work.
    pub(crate) fn cost(&self, value: Value) -> u64 {
        self.sums.get(value.sum).map_or(1, |(_, facts)| facts.cost)
    }

    fn parts(&self, value: Value) -> Result<&[(Spot, Number)], Why> {
        self.sums.get(value.sum).map(|(sum, _)| sum.parts.as_slice()).ok_or(LOST)
    }

    /// The one leaf that a value is, counted once, and where it reads.
    fn single(&self, value: Value) -> Result<Option<(&Leaf, u64)>, Why> {
        let [(spot, times)] = self.parts(value)? else { return Ok(None) };
        let (leaf, _) = self.leaves.get(spot.leaf).ok_or(LOST)?;
        Ok(times.is_one().then_some((leaf, spot.at.saturating_add(value.at))))
    }

    fn add(
        &self,
        total: &mut BTreeMap<Spot, Number>,
        value: Value,
        by: &Number,
    ) -> Result<(), Why> {
        for (spot, times) in self.parts(value)? {
            let at =
                if self.is_fixed_leaf(spot.leaf) { 0 } else { spot.at.saturating_add(value.at) };
            let so_far = total.entry(Spot { leaf: spot.leaf, at }).or_default();
            *so_far += number::product(times, by).ok_or(LONG)?;
            if number::bits(so_far) > NUMBER_BITS {
                return Err(LONG);
            }
        }
        Ok(())
    }

    /// The value with these parts.
    fn total(&mut self, dtype: Dtype, total: BTreeMap<Spot, Number>) -> Result<Value, Why> {
        let mut parts = Vec::with_capacity(total.len());
        let mut facts = Facts { fixed: true, cost: 1 };
        let mut base = u64::MAX;
        for (spot, times) in total {
            let times = dtype.modulo(times).ok_or(FRACTION)?;
            if times.is_zero() {
                continue;
            }
            let (_, leaf) = self.leaves.get(spot.leaf).ok_or(LOST)?;
            let digits = number::bits(&times) / 16;
            facts.fixed &= leaf.fixed;
            facts.cost =
                [PART_COST, digits, leaf.cost].into_iter().fold(facts.cost, u64::saturating_add);
            if !leaf.fixed {
                base = base.min(spot.at);
            }
            parts.push((spot, times));
        }
        for (spot, _) in &mut parts {
            spot.at = spot.at.saturating_sub(base);
        }
        let sum = self.sums.keep(Sum { dtype, parts }, facts);
        Ok(Value { sum, at: if facts.fixed { 0 } else { base } })
    }

    /// The value that is one leaf.
    fn alone(&mut self, dtype: Dtype, leaf: Leaf, at: u64) -> Result<Value, Why> {
        let leaf = self.leaf(leaf);
        let at = if self.is_fixed_leaf(leaf) { 0 } else { at };
        self.total(dtype, BTreeMap::from([(Spot { leaf, at }, Number::one())]))
    }

    fn leaf(&mut self, leaf: Leaf) -> usize {
        let (fixed, inner) = match &leaf {
            Leaf::One => (true, 0),
            Leaf::Element { .. } => (false, 0),
            Leaf::Product(of) => (of.iter().all(|(factor, _)| self.is_fixed(factor.sum)), of.len()),
            Leaf::Extreme { of, .. } => (of.iter().all(|part| self.is_fixed(part.sum)), of.len()),
            Leaf::Quotient { of, .. } | Leaf::Cast { of, .. } => (self.is_fixed(*of), 0),
        };
        let inner = u64::try_from(inner).unwrap_or(u64::MAX);
        self.leaves.keep(leaf, Facts { fixed, cost: inner.saturating_mul(PART_COST) })
    }

    fn is_fixed(&self, sum: usize) -> bool {
        self.sums.get(sum).is_none_or(|(_, facts)| facts.fixed)
    }

    fn is_fixed_leaf(&self, leaf: usize) -> bool {
        self.leaves.get(leaf).is_none_or(|(_, facts)| facts.fixed)
    }

    /// Where the earliest of several reads.
    fn base<'v>(&self, values: impl Iterator<Item = &'v Value>) -> u64 {
        let reading = values.filter(|value| !self.is_fixed(value.sum));
        reading.map(|value| value.at).min().unwrap_or(0)
    }

    fn earlier(&self, value: Value, base: u64) -> Value {
        let fixed = self.is_fixed(value.sum);
        Value { sum: value.sum, at: if fixed { 0 } else { value.at.saturating_sub(base) } }
    }
}
