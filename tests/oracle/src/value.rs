//! Values as expressions over contributions, each stored once, in a normal form.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::kind::Kind;
use crate::ratio::Ratio;
use crate::step::Fold;

/// A value of one [`Values`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(u32);

/// One element that a rank contributed to an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Contribution {
    /// The input, by its number.
    pub input: usize,
    /// Whose.
    pub rank: usize,
    /// Which element of it.
    pub position: usize,
}

/// What a value is made of. Parts are in the order of their numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// A contribution.
    Contribution(Contribution),
    /// Parts with their coefficients, modulo 2^w for integers. Empty: zero.
    Sum(Vec<(Value, Ratio)>),
    /// Parts as often as they are factors.
    Product(Vec<Value>),
    /// The largest of its parts, or the smallest.
    Extreme(Fold, Vec<Value>),
    /// Cut off after a division.
    Quotient(Value, usize),
    /// Converted.
    Cast(Value),
}

/// All values of one case.
#[derive(Clone, Debug, Default)]
pub struct Values {
    nodes: Vec<(Node, Kind)>,
    known: HashMap<(Node, Kind), Value>,
}

impl Values {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// What a value is made of.
    ///
    /// # Panics
    ///
    /// For a value of another `Values`.
    pub fn node(&self, value: Value) -> &Node {
        &self.nodes[value.index()].0
    }

    /// Its element type.
    ///
    /// # Panics
    ///
    /// For a value of another `Values`.
    pub fn kind(&self, value: Value) -> Kind {
        self.nodes[value.index()].1
    }

    pub(crate) fn node_of(&self, value: Value) -> Node {
        self.node(value).clone()
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn store(&mut self, node: Node, kind: Kind) -> Value {
        let key = (node, kind);
        if let Some(value) = self.known.get(&key) {
            return *value;
        }
        let value = Value(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(key.clone());
        self.known.insert(key, value);
        value
    }

    /// A contribution.
    pub fn contribution(&mut self, contribution: Contribution, kind: Kind) -> Value {
        self.store(Node::Contribution(contribution), kind)
    }

    /// Parts combined. One part alone is itself, but that its average is over one.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub fn folded(&mut self, fold: Fold, parts: &[Value]) -> Value {
        let kind = self.kind(parts[0]);
        match fold {
            Fold::Sum => self.sum(kind, parts, Ratio::ONE),
            Fold::Avg if kind.is_float() => {
                let share = Ratio::new(1, parts.len() as i128).unwrap_or(Ratio::ONE);
                self.sum(kind, parts, share)
            }
            Fold::Avg => {
                let total = self.sum(kind, parts, Ratio::ONE);
                self.quotient(total, parts.len())
            }
            Fold::Prod => self.product(kind, parts),
            Fold::Max | Fold::Min => self.extreme(kind, fold, parts),
        }
    }

    /// A value times a constant.
    pub fn scaled(&mut self, value: Value, by: Ratio) -> Value {
        self.sum(self.kind(value), &[value], by)
    }

    /// A value converted; to its own type it is itself, and so it is by way of a type that
    /// holds every number that it may be. A float that was worked out is a real number,
    /// which that type need not hold.
    pub fn cast(&mut self, value: Value, to: Kind) -> Value {
        if self.kind(value) == to {
            return value;
        }
        if let Node::Cast(first) = *self.node(value)
            && self.kind(first) == to
            && self.kind(value).holds_all_of(to)
            && (!to.is_float() || matches!(self.node(first), Node::Contribution(_)))
        {
            return first;
        }
        self.store(Node::Cast(value), to)
    }

    /// A value divided, and cut off.
    pub(crate) fn quotient(&mut self, value: Value, by: usize) -> Value {
        if by == 1 { value } else { self.store(Node::Quotient(value, by), self.kind(value)) }
    }

    fn sum(&mut self, kind: Kind, parts: &[Value], times: Ratio) -> Value {
        let mut total: BTreeMap<Value, Ratio> = BTreeMap::new();
        for part in parts {
            let inner = match self.node(*part) {
                Node::Sum(inner) => inner.clone(),
                _ => vec![(*part, Ratio::ONE)],
            };
            for (part, coefficient) in inner {
                let more = multiplied(kind, coefficient, times);
                let sum = total.get(&part).map_or(Some(more), |sum| sum.plus(more));
                total.insert(part, sum.expect("small coefficients"));
            }
        }
        let reduced = total.into_iter().map(|(part, coefficient)| match kind {
            Kind::Integer { .. } => (part, Ratio::whole(kind.wrapped(coefficient.over()))),
            Kind::Float { .. } => (part, coefficient),
        });
        let parts: Vec<_> = reduced.filter(|(_, coefficient)| coefficient.over() != 0).collect();
        match parts.as_slice() {
            [(only, coefficient)] if *coefficient == Ratio::ONE => *only,
            _ => self.store(Node::Sum(parts), kind),
        }
    }

    /// Coefficients of factors are one of the product.
    fn product(&mut self, kind: Kind, parts: &[Value]) -> Value {
        let mut times = Ratio::ONE;
        let mut factors = Vec::new();
        for part in parts {
            let (part, coefficient) = match self.node(*part) {
                Node::Sum(inner) if inner.len() == 1 => inner[0],
                _ => (*part, Ratio::ONE),
            };
            times = multiplied(kind, times, coefficient);
            match self.node(part) {
                Node::Product(inner) => factors.extend(inner),
                _ => factors.push(part),
            }
        }
        factors.sort_unstable();
        let product = match factors.as_slice() {
            [only] => *only,
            _ => self.store(Node::Product(factors), kind),
        };
        self.scaled(product, times)
    }

    fn extreme(&mut self, kind: Kind, fold: Fold, parts: &[Value]) -> Value {
        let mut set = BTreeSet::new();
        for part in parts {
            match self.node(*part) {
                Node::Extreme(inner, parts) if *inner == fold => set.extend(parts),
                _ => _ = set.insert(*part),
            }
        }
        let parts: Vec<Value> = set.into_iter().collect();
        match parts.as_slice() {
            [only] => *only,
            _ => self.store(Node::Extreme(fold, parts), kind),
        }
    }

    /// The contributions in a value.
    pub fn contributions(&self, value: Value) -> BTreeSet<Contribution> {
        self.leaves(value).into_keys().collect()
    }

    /// The contributions in a value, with their types.
    pub fn leaves(&self, value: Value) -> BTreeMap<Contribution, Kind> {
        let mut found = BTreeMap::new();
        let mut next = vec![value];
        let mut seen = BTreeSet::new();
        while let Some(value) = next.pop() {
            if !seen.insert(value) {
                continue;
            }
            match self.node(value) {
                Node::Contribution(one) => _ = found.insert(*one, self.kind(value)),
                Node::Sum(parts) => next.extend(parts.iter().map(|(part, _)| *part)),
                Node::Product(parts) | Node::Extreme(_, parts) => next.extend(parts),
                Node::Quotient(inner, _) | Node::Cast(inner) => next.push(*inner),
            }
        }
        found
    }
}

/// Coefficients of floats are those of small plans; those of integers wrap.
fn multiplied(kind: Kind, one: Ratio, other: Ratio) -> Ratio {
    if kind.is_float() {
        return one.times(other).expect("small coefficients");
    }
    // Modulo 2^128 is fine enough for modulo 2^w.
    Ratio::whole(kind.wrapped(one.over().wrapping_mul(other.over())))
}

impl Value {
    fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two(kind: Kind) -> (Values, Value, Value) {
        let mut values = Values::new();
        let at = |rank| Contribution { input: 0, rank, position: 0 };
        let a = values.contribution(at(0), kind);
        let b = values.contribution(at(1), kind);
        (values, a, b)
    }

    #[test]
    fn sums_count_and_extremes_do_not() {
        let (mut values, a, b) = two(Kind::I32);
        let sum = values.folded(Fold::Sum, &[a, b]);
        let nested = values.folded(Fold::Sum, &[b, sum]);
        let flat = values.folded(Fold::Sum, &[a, b, b]);
        assert_eq!(nested, flat);
        assert_ne!(nested, sum);
        let max = values.folded(Fold::Max, &[a, b]);
        assert_eq!(values.folded(Fold::Max, &[max, b]), max);
        assert_eq!(values.folded(Fold::Min, &[a, a]), a);
    }

    #[test]
    fn coefficients_wrap_with_the_type() {
        let (mut values, a, _) = two(Kind::U8);
        let zero = values.scaled(a, Ratio::whole(256));
        assert_eq!(*values.node(zero), Node::Sum(Vec::new()));
        assert_eq!(values.scaled(a, Ratio::whole(257)), a);
    }

    #[test]
    fn coefficients_of_factors_are_one_of_the_product() {
        let (mut values, a, b) = two(Kind::I8);
        let [minus, much] = [-1, 64].map(Ratio::whole);
        let [less, more] = [values.scaled(a, minus), values.scaled(b, much)];
        let product = values.folded(Fold::Prod, &[a, b]);
        let scaled = values.scaled(product, Ratio::whole(-64));
        assert_eq!(values.folded(Fold::Prod, &[less, more]), scaled);
        // 64 · 64 is 0 modulo 256.
        let zero = values.folded(Fold::Prod, &[more, more]);
        assert_eq!(*values.node(zero), Node::Sum(Vec::new()));
    }

    #[test]
    fn an_average_of_integers_is_opaque_and_one_of_floats_a_scale() {
        let (mut values, a, b) = two(Kind::I32);
        let average = values.folded(Fold::Avg, &[a, b]);
        assert!(matches!(values.node(average), Node::Quotient(_, 2)));
        let (mut values, a, b) = two(Kind::F32);
        let average = values.folded(Fold::Avg, &[a, b]);
        let sum = values.folded(Fold::Sum, &[a, b]);
        assert_eq!(values.scaled(average, Ratio::whole(2)), sum);
    }
}
