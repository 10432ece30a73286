//! A value taken apart: which contributions count how often, and where they are from.

use std::collections::BTreeMap;

use crate::ratio::Ratio;
use crate::step::Fold;
use crate::value::{Contribution, Node, Value, Values};

/// A value seen as one fold of parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// How they are combined; `None` for one part alone.
    pub fold: Option<Fold>,
    /// How often each counts.
    pub times: BTreeMap<Value, Ratio>,
}

impl Parts {
    /// The only part, if there is one and it counts once.
    pub fn only(&self) -> Option<Value> {
        match self.times.iter().next() {
            Some((part, times)) if self.times.len() == 1 && *times == Ratio::ONE => Some(*part),
            _ => None,
        }
    }
}

impl Values {
    /// A value as one fold of parts.
    pub fn parts(&self, value: Value) -> Parts {
        let once = |parts: &[Value]| parts.iter().map(|part| (*part, Ratio::ONE)).collect();
        match self.node(value) {
            Node::Sum(parts) => {
                Parts { fold: Some(Fold::Sum), times: parts.iter().copied().collect() }
            }
            Node::Product(parts) => {
                let mut times = BTreeMap::new();
                for part in parts {
                    let more = times.get(part).map_or(1, |times: &Ratio| times.over() + 1);
                    times.insert(*part, Ratio::whole(more));
                }
                Parts { fold: Some(Fold::Prod), times }
            }
            Node::Extreme(fold, parts) => Parts { fold: Some(*fold), times: once(parts) },
            _ => Parts { fold: None, times: once(&[value]) },
        }
    }

    /// The contribution that a value is.
    pub fn as_contribution(&self, value: Value) -> Option<Contribution> {
        match self.node(value) {
            Node::Contribution(contribution) => Some(*contribution),
            _ => None,
        }
    }

    /// Whether a value is one fold of contributions.
    pub fn is_flat(&self, value: Value) -> bool {
        self.parts(value).times.keys().all(|part| self.as_contribution(*part).is_some())
    }

    /// What a value is before it is divided and cut off, and by how much.
    pub fn divided(&self, value: Value) -> Option<(Value, usize)> {
        match self.node(value) {
            Node::Quotient(inner, by) => Some((*inner, *by)),
            _ => None,
        }
    }

    /// The same function of positions so much further on in every input; `None` where
    /// that is before the first one.
    pub fn moved(&mut self, value: Value, by: isize) -> Option<Value> {
        let kind = self.kind(value);
        let all = |values: &mut Self, parts: Vec<Value>| -> Option<Vec<Value>> {
            parts.into_iter().map(|part| values.moved(part, by)).collect()
        };
        Some(match self.node_of(value) {
            Node::Contribution(one) => {
                let position = one.position.checked_add_signed(by)?;
                self.contribution(Contribution { position, ..one }, kind)
            }
            Node::Sum(parts) if parts.is_empty() => value,
            Node::Sum(parts) => {
                let mut terms = Vec::new();
                for (part, times) in parts {
                    let part = self.moved(part, by)?;
                    terms.push(self.scaled(part, times));
                }
                self.folded(Fold::Sum, &terms)
            }
            Node::Product(parts) => {
                let parts = all(self, parts)?;
                self.folded(Fold::Prod, &parts)
            }
            Node::Extreme(fold, parts) => {
                let parts = all(self, parts)?;
                self.folded(fold, &parts)
            }
            Node::Quotient(inner, divisor) => {
                let inner = self.moved(inner, by)?;
                self.quotient(inner, divisor)
            }
            Node::Cast(inner) => {
                let inner = self.moved(inner, by)?;
                self.cast(inner, kind)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Kind;

    #[test]
    fn moving_keeps_the_shape() {
        let mut values = Values::new();
        let mut at = |rank, position| {
            values.contribution(Contribution { input: 0, rank, position }, Kind::I32)
        };
        let [a, b, c, d] = [at(0, 0), at(1, 0), at(0, 2), at(1, 2)];
        let mut mean = |parts: [Value; 2]| values.folded(Fold::Avg, &parts);
        let [here, there] = [mean([a, b]), mean([c, d])];
        assert_eq!(values.moved(here, 2), Some(there));
        assert_eq!(values.moved(there, -2), Some(here));
        assert_eq!(values.moved(here, -1), None);
    }
}
