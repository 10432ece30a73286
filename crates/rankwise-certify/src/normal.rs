//! Normal forms: two values of one normal form are equal for every input.
//!
//! Every value is a sum `Σ multiplicity · leaf`. A leaf is what no law takes further
//! apart: an element of an input, the number one, a product, a largest or smallest
//! value, a truncated quotient, a conversion. Multiplicities are counted modulo 2^w for
//! integers of w bits, and are exact rationals for floats, which stand for real numbers.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::cell::Cell;

use num_bigint::BigUint;
use num_traits::{One, Zero};

use crate::distinct::Distinct;
use crate::format::{How, Origin};
use crate::limits::{NUMBER_BITS, WORK};
use crate::list::count;
use crate::number::{self, Dtype, Number};
use crate::rejected::{No, ensure};
use crate::start::{Start, earliest};

/// A normal form, read from a position on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Value {
    sum: usize,
    at: Start,
}

impl Value {
    /// A part of something, where that starts there.
    pub(crate) const fn of_whole_at(self, whole: Start) -> Self {
        Self { sum: self.sum, at: self.at.of_whole_at(whole) }
    }

    const fn within(self, whole: Start) -> Self {
        Self { sum: self.sum, at: self.at.within(whole) }
    }
}

/// A leaf, read from a position on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Spot {
    leaf: usize,
    at: Start,
}

/// Parts in order, none of multiplicity zero, the earliest that reads an input at 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sum {
    dtype: Dtype,
    parts: Vec<(Spot, Number)>,
}

/// Parts of a leaf read relative to the earliest of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Leaf {
    One,
    Element { input: usize, of: Origin },
    Product(Vec<(Value, BigUint)>),
    Extreme { how: How, of: Vec<Value> },
    Quotient { of: usize, by: u32 },
    Cast { of: usize, to: Dtype },
}

/// All normal forms of one check, each once.
#[derive(Debug, Default)]
pub(crate) struct Normals {
    sums: Distinct<Sum, ()>,
    leaves: Distinct<Leaf, ()>,
    work: Cell<u64>,
}

/// What it takes to keep or to go through a part of a normal form.
const PART_WORK: u64 = 5;

const FRACTION: &str = "a fraction among integers";
const LONG: &str = "a number of more than 2^13 binary digits";

impl Normals {
    /// Counts units of work.
    pub(crate) fn spend(&self, units: u64) -> Result<(), No> {
        self.work.set(self.work.get().saturating_add(units));
        if self.work.get() > WORK {
            return Err(No::Limit { what: "units of work", limit: WORK });
        }
        Ok(())
    }

    pub(crate) fn atom(&mut self, dtype: Dtype, input: usize, of: Origin) -> Result<Value, No> {
        self.alone(dtype, Leaf::Element { input, of }, Start::ZERO)
    }

    pub(crate) fn constant(&mut self, dtype: Dtype, value: Number) -> Result<Value, No> {
        let leaf = self.leaves.keep(Leaf::One, ());
        self.total(dtype, BTreeMap::from([(Spot { leaf, at: Start::Anywhere }, value)]))
    }

    /// So many times each, added up.
    pub(crate) fn sum(&mut self, dtype: Dtype, values: &[Value], by: &Number) -> Result<Value, No> {
        let mut total: BTreeMap<Spot, Number> = BTreeMap::new();
        for value in values {
            for (spot, times) in self.parts(*value)? {
                let spot = Spot { leaf: spot.leaf, at: spot.at.of_whole_at(value.at) };
                let so_far = total.entry(spot).or_default();
                *so_far += number::product(times, by).ok_or(LONG)?;
                let bits = number::bits(so_far);
                ensure!(bits <= NUMBER_BITS, "{LONG}");
                self.spend(PART_WORK.saturating_add(bits / 16))?;
            }
        }
        self.total(dtype, total)
    }

    pub(crate) fn product(&mut self, dtype: Dtype, values: &[Value]) -> Result<Value, No> {
        let mut constant = Number::one();
        let mut powers: BTreeMap<Value, BigUint> = BTreeMap::new();
        for value in values {
            self.spend(PART_WORK)?;
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
            let at = spot.at.of_whole_at(value.at);
            match self.leaves.get(spot.leaf)?.0 {
                Leaf::One => {}
                Leaf::Product(factors) => {
                    self.spend(count(factors).saturating_mul(PART_WORK))?;
                    for (factor, power) in factors {
                        *powers.entry(factor.of_whole_at(at)).or_default() += power;
                    }
                }
                _ => {
                    let factor = self.one_leaf(dtype, spot.leaf, at)?;
                    *powers.entry(factor).or_default() += BigUint::one();
                }
            }
        }
        let only = powers.first_key_value().filter(|(_, power)| power.is_one());
        let product = match (powers.len(), only) {
            (0, _) => return self.constant(dtype, constant),
            (1, Some((factor, _))) => *factor,
            _ => {
                let base = earliest(powers.keys().map(|factor| factor.at));
                let powers = powers.into_iter();
                let powers = powers.map(|(factor, power)| (factor.within(base), power));
                self.alone(dtype, Leaf::Product(powers.collect()), base)?
            }
        };
        self.sum(dtype, &[product], &constant)
    }

    pub(crate) fn extreme(
        &mut self,
        dtype: Dtype,
        how: How,
        values: &[Value],
    ) -> Result<Value, No> {
        // One value takes no step.
        if let [only] = values {
            return Ok(*only);
        }
        let mut all = BTreeSet::new();
        for value in values {
            self.spend(PART_WORK)?;
            match self.single(*value)? {
                Some((Leaf::Extreme { how: inner, of }, at)) if *inner == how => {
                    self.spend(count(of).saturating_mul(PART_WORK))?;
                    all.extend(of.iter().map(|part| part.of_whole_at(at)));
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
        let base = earliest(all.iter().map(|part| part.at));
        let of = all.into_iter().map(|part| part.within(base)).collect();
        self.alone(dtype, Leaf::Extreme { how, of }, base)
    }

    /// Whether it is an element of e5m2 as it was given: an infinity, which no step keeps,
    /// not even the greatest of it and itself.
    fn may_be_infinite(&self, dtype: Dtype, value: Value) -> Result<bool, No> {
        Ok(dtype == Dtype::F8E5M2 && matches!(self.single(value)?, Some((Leaf::Element { .. }, _))))
    }

    pub(crate) fn quotient(&mut self, dtype: Dtype, value: Value, by: u32) -> Result<Value, No> {
        self.alone(dtype, Leaf::Quotient { of: value.sum, by }, value.at)
    }

    pub(crate) fn cast(&mut self, value: Value, to: Dtype) -> Result<Value, No> {
        // Widened without loss and back again is what it was; but an infinity of e5m2 is
        // its greatest number when it comes back.
        if to != Dtype::F8E5M2
            && let Some((Leaf::Cast { of, to: through }, at)) = self.single(value)?
            && self.sums.get(*of)?.0.dtype == to
            && through.holds_all_of(to)
        {
            return Ok(Value { sum: *of, at });
        }
        self.alone(to, Leaf::Cast { of: value.sum, to }, value.at)
    }

    fn parts(&self, value: Value) -> Result<&[(Spot, Number)], No> {
        Ok(&self.sums.get(value.sum)?.0.parts)
    }

    /// The one leaf that a value is, counted once, and where it reads.
    fn single(&self, value: Value) -> Result<Option<(&Leaf, Start)>, No> {
        let [(spot, times)] = self.parts(value)? else { return Ok(None) };
        let (leaf, ()) = self.leaves.get(spot.leaf)?;
        Ok(times.is_one().then_some((leaf, spot.at.of_whole_at(value.at))))
    }

    /// The value with these parts.
    fn total(&mut self, dtype: Dtype, total: BTreeMap<Spot, Number>) -> Result<Value, No> {
        let mut parts = Vec::with_capacity(total.len());
        for (spot, times) in total {
            let times = dtype.modulo(times).ok_or(FRACTION)?;
            if !times.is_zero() {
                self.spend(PART_WORK.saturating_add(number::bits(&times) / 16))?;
                parts.push((spot, times));
            }
        }
        let at = earliest(parts.iter().map(|(spot, _)| spot.at));
        for (spot, _) in &mut parts {
            spot.at = spot.at.within(at);
        }
        Ok(Value { sum: self.sums.keep(Sum { dtype, parts }, ()), at })
    }

    /// The value that is one leaf, which is new.
    fn alone(&mut self, dtype: Dtype, leaf: Leaf, at: Start) -> Result<Value, No> {
        let leaf = self.leaves.keep(leaf, ());
        self.one_leaf(dtype, leaf, at)
    }

    fn one_leaf(&mut self, dtype: Dtype, leaf: usize, at: Start) -> Result<Value, No> {
        self.total(dtype, BTreeMap::from([(Spot { leaf, at }, Number::one())]))
    }
}
