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

use crate::format::{How, Origin};
use crate::number::{Dtype, Number};

/// A normal form, read from a position on. Where it depends on no input, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Value {
    sum: u32,
    at: u64,
}

/// A leaf, read from a position on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Spot {
    leaf: u32,
    at: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sum {
    dtype: Dtype,
    parts: BTreeMap<Spot, Number>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Leaf {
    One,
    Element { input: u32, of: Origin },
    Product(BTreeMap<Value, BigUint>),
    Extreme { how: How, of: BTreeSet<Value> },
    Quotient { of: u32, by: u32 },
    Cast { of: u32, to: Dtype },
}

/// All normal forms of one check, each once.
#[derive(Debug, Default)]
pub(crate) struct Normals {
    sums: Vec<(Sum, bool)>,
    sum_ids: BTreeMap<Sum, u32>,
    /// With whether it reads no input.
    leaves: Vec<(Leaf, bool)>,
    leaf_ids: BTreeMap<Leaf, u32>,
}

impl Normals {
    pub(crate) fn atom(&mut self, dtype: Dtype, input: u32, of: Origin) -> Value {
        self.alone(dtype, Leaf::Element { input, of }, 0)
    }

    pub(crate) fn constant(&mut self, dtype: Dtype, value: Number) -> Option<Value> {
        let leaf = self.leaf(Leaf::One);
        self.total(dtype, core::iter::once((Spot { leaf, at: 0 }, value)).collect())
    }

    pub(crate) fn sum(&mut self, dtype: Dtype, values: &[Value]) -> Option<Value> {
        let mut total = BTreeMap::new();
        for value in values {
            self.add(&mut total, *value, &Number::one());
        }
        self.total(dtype, total)
    }

    pub(crate) fn multiple(&mut self, dtype: Dtype, value: Value, by: &Number) -> Option<Value> {
        let mut total = BTreeMap::new();
        self.add(&mut total, value, by);
        self.total(dtype, total)
    }

    pub(crate) fn product(&mut self, dtype: Dtype, values: &[Value]) -> Option<Value> {
        let mut constant = Number::one();
        let mut powers: BTreeMap<Value, BigUint> = BTreeMap::new();
        for value in values {
            let Some(sum) = self.parts(*value) else { continue };
            // A multiple of one leaf is its multiplicity times the leaf; zero is zero.
            let single = match (sum.len(), sum.iter().next()) {
                (0, _) => {
                    constant = Number::zero();
                    continue;
                }
                (1, Some((spot, times))) => Some((*spot, times.clone())),
                _ => None,
            };
            let Some((spot, times)) = single else {
                *powers.entry(*value).or_default() += BigUint::one();
                continue;
            };
            constant = dtype.modulo(constant * times)?;
            let later = spot.at.saturating_add(value.at);
            match self.leaves.get(index(spot.leaf)).map(|(leaf, _)| leaf) {
                Some(Leaf::One) => {}
                Some(Leaf::Product(factors)) => {
                    for (factor, power) in factors {
                        *powers.entry(self.later(*factor, later)).or_default() += power;
                    }
                }
                Some(leaf) => {
                    let factor = self.alone(dtype, leaf.clone(), later);
                    *powers.entry(factor).or_default() += BigUint::one();
                }
                None => return None,
            }
        }
        let only = powers.first_key_value().filter(|(_, power)| power.is_one());
        let product = match (powers.len(), only) {
            (0, _) => return self.constant(dtype, constant),
            (1, Some((factor, _))) => *factor,
            _ => {
                let base = self.base(powers.keys());
                let powers = powers
                    .into_iter()
                    .map(|(factor, power)| (self.earlier(factor, base), power))
                    .collect();
                self.alone(dtype, Leaf::Product(powers), base)
            }
        };
        self.multiple(dtype, product, &constant)
    }

    pub(crate) fn extreme(&mut self, dtype: Dtype, how: How, values: &[Value]) -> Value {
        let mut all = BTreeSet::new();
        for value in values {
            match self.single(*value) {
                Some((Leaf::Extreme { how: inner, of }, at)) if *inner == how => {
                    all.extend(of.iter().map(|part| self.later(*part, at)));
                }
                _ => _ = all.insert(*value),
            }
        }
        if let (1, Some(only)) = (all.len(), all.first()) {
            return *only;
        }
        let base = self.base(all.iter());
        let of = all.into_iter().map(|part| self.earlier(part, base)).collect();
        self.alone(dtype, Leaf::Extreme { how, of }, base)
    }

    pub(crate) fn quotient(&mut self, dtype: Dtype, value: Value, by: u32) -> Value {
        match by {
            1 => value,
            by => self.alone(dtype, Leaf::Quotient { of: value.sum, by }, value.at),
        }
    }

    pub(crate) fn cast(&mut self, value: Value, to: Dtype) -> Value {
        // Widened without loss and back again is what it was.
        if let Some((Leaf::Cast { of, to: through }, at)) = self.single(value)
            && self.sums.get(index(*of)).is_some_and(|(sum, _)| sum.dtype == to)
            && through.holds_all_of(to)
        {
            return self.later(Value { sum: *of, at: 0 }, at);
        }
        self.alone(to, Leaf::Cast { of: value.sum, to }, value.at)
    }

    /// The same, `by` positions further on.
    pub(crate) fn later(&self, value: Value, by: u64) -> Value {
        let fixed = self.is_fixed(value.sum);
        Value { sum: value.sum, at: if fixed { 0 } else { value.at.saturating_add(by) } }
    }

    /// How many parts its sum has.
    pub(crate) fn width(&self, value: Value) -> u64 {
        let parts = self.parts(value).map_or(0, BTreeMap::len);
        u64::try_from(parts).unwrap_or(u64::MAX).saturating_add(1)
    }

    fn parts(&self, value: Value) -> Option<&BTreeMap<Spot, Number>> {
        self.sums.get(index(value.sum)).map(|(sum, _)| &sum.parts)
    }

    /// The one leaf that a value is, counted once, and where it reads.
    fn single(&self, value: Value) -> Option<(&Leaf, u64)> {
        let parts = self.parts(value)?;
        let (spot, _) = parts.first_key_value().filter(|(_, times)| times.is_one())?;
        let (leaf, _) = self.leaves.get(index(spot.leaf))?;
        (parts.len() == 1).then_some((leaf, spot.at.saturating_add(value.at)))
    }

    fn add(&self, total: &mut BTreeMap<Spot, Number>, value: Value, by: &Number) {
        for (spot, times) in self.parts(value).into_iter().flatten() {
            let fixed = self.leaves.get(index(spot.leaf)).is_none_or(|(_, fixed)| *fixed);
            let at = if fixed { 0 } else { spot.at.saturating_add(value.at) };
            *total.entry(Spot { leaf: spot.leaf, at }).or_default() += times * by;
        }
    }

    /// The value with these parts.
    fn total(&mut self, dtype: Dtype, total: BTreeMap<Spot, Number>) -> Option<Value> {
        let mut parts = BTreeMap::new();
        for (spot, times) in total {
            let times = dtype.modulo(times)?;
            if !times.is_zero() {
                parts.insert(spot, times);
            }
        }
        let fixed = |spot: &Spot| self.leaves.get(index(spot.leaf)).is_none_or(|(_, fixed)| *fixed);
        let reading = parts.keys().filter(|spot| !fixed(spot));
        let base = reading.map(|spot| spot.at).min();
        let relative = |spot: Spot| Spot { at: spot.at.saturating_sub(base.unwrap_or(0)), ..spot };
        let parts = parts.into_iter().map(|(spot, times)| (relative(spot), times)).collect();
        let sum = Sum { dtype, parts };
        let id = match self.sum_ids.get(&sum) {
            Some(known) => *known,
            None => {
                let id = u32::try_from(self.sums.len()).unwrap_or(u32::MAX);
                self.sum_ids.insert(sum.clone(), id);
                self.sums.push((sum, base.is_none()));
                id
            }
        };
        Some(Value { sum: id, at: base.unwrap_or(0) })
    }

    /// The value that is one leaf.
    fn alone(&mut self, dtype: Dtype, leaf: Leaf, at: u64) -> Value {
        let leaf = self.leaf(leaf);
        let fixed = self.leaves.get(index(leaf)).is_none_or(|(_, fixed)| *fixed);
        let at = if fixed { 0 } else { at };
        let one = core::iter::once((Spot { leaf, at }, Number::one())).collect();
        // One is one in every type.
        self.total(dtype, one).unwrap_or(Value { sum: u32::MAX, at })
    }

    fn leaf(&mut self, leaf: Leaf) -> u32 {
        if let Some(known) = self.leaf_ids.get(&leaf) {
            return *known;
        }
        let fixed = match &leaf {
            Leaf::One => true,
            Leaf::Element { .. } => false,
            Leaf::Product(factors) => factors.keys().all(|factor| self.is_fixed(factor.sum)),
            Leaf::Extreme { of, .. } => of.iter().all(|part| self.is_fixed(part.sum)),
            Leaf::Quotient { of, .. } | Leaf::Cast { of, .. } => self.is_fixed(*of),
        };
        let id = u32::try_from(self.leaves.len()).unwrap_or(u32::MAX);
        self.leaf_ids.insert(leaf.clone(), id);
        self.leaves.push((leaf, fixed));
        id
    }

    fn is_fixed(&self, sum: u32) -> bool {
        self.sums.get(index(sum)).is_none_or(|(_, fixed)| *fixed)
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

fn index(id: u32) -> usize {
    usize::try_from(id).unwrap_or(usize::MAX)
}
