//! Whether two values are the same: by normal form, and by numbers where that differs.

use std::collections::{BTreeMap, HashMap};

use crate::kind::Kind;
use crate::random::Random;
use crate::ratio::Ratio;
use crate::step::Fold;
use crate::value::{Contribution, Node, Value, Values};

/// Whether two values are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Answer {
    /// One normal form, or no input tells them apart.
    Same,
    /// An input tells them apart.
    Different,
    /// Every input led past the numbers that can be computed here.
    Undecided,
}

/// The inputs of a decision, and what has been decided.
#[derive(Clone, Debug)]
pub struct Numbers {
    random: Random,
    decided: HashMap<(Value, Value), Answer>,
}

/// An input: a number for each contribution.
type Input = BTreeMap<Contribution, Ratio>;

/// What values come to for one input, where that can be computed.
type Known = BTreeMap<Value, Option<Ratio>>;

/// Random inputs of each magnitude.
const RANDOM: usize = 16;

impl Numbers {
    /// Inputs that follow from a seed.
    pub fn new(seed: u64) -> Self {
        Self { random: Random(seed), decided: HashMap::new() }
    }
}

impl Values {
    /// Whether two values are the same for every input.
    pub fn compare(&self, one: Value, other: Value, numbers: &mut Numbers) -> Answer {
        if one == other {
            return Answer::Same;
        }
        if self.kind(one) != self.kind(other) {
            return Answer::Different;
        }
        let key = (one.min(other), one.max(other));
        if let Some(answer) = numbers.decided.get(&key) {
            return *answer;
        }
        let answer = self.by_numbers(one, other, &mut numbers.random);
        numbers.decided.insert(key, answer);
        answer
    }

    fn by_numbers(&self, one: Value, other: Value, random: &mut Random) -> Answer {
        let mut all = self.leaves(one);
        all.extend(self.leaves(other));
        let kinds: Vec<(Contribution, Kind)> = all.into_iter().collect();
        let mut answer = Answer::Undecided;
        let mut told_apart = |input: &Input| {
            let mut known = Known::new();
            let values = [one, other].map(|value| self.number(value, input, &mut known));
            match values {
                [Some(one), Some(other)] if one != other => answer = Answer::Different,
                [Some(_), Some(_)] => answer = answer.min(Answer::Same),
                _ => {}
            }
            answer == Answer::Different
        };
        for _ in 0..RANDOM {
            for magnitude in [9, 1_000, i128::MAX] {
                if told_apart(&drawn(&kinds, magnitude, random)) {
                    return Answer::Different;
                }
            }
            // Whole after the usual divisions, which conversions to integers ask for.
            let mut twelves = drawn(&kinds, 5, random);
            for number in twelves.values_mut() {
                *number = Ratio::whole(12 * number.over().abs());
            }
            if told_apart(&twelves) {
                return Answer::Different;
            }
        }
        for (chosen, kind) in &kinds {
            let (least, greatest) = kind.ends();
            let mut alone: Input =
                kinds.iter().map(|(contribution, _)| (*contribution, Ratio::whole(0))).collect();
            alone.insert(*chosen, Ratio::ONE);
            let mut largest = drawn(&kinds, 1_000, random);
            let mut smallest = largest.clone();
            largest.insert(*chosen, Ratio::whole(greatest));
            smallest.insert(*chosen, Ratio::whole(least));
            if [alone, largest, smallest].iter().any(&mut told_apart) {
                return Answer::Different;
            }
        }
        answer
    }

    /// The value for one input, exactly; `None` past the numbers that fit.
    fn number(&self, value: Value, input: &Input, known: &mut Known) -> Option<Ratio> {
        if let Some(number) = known.get(&value) {
            return *number;
        }
        let number = self.computed(value, input, known);
        known.insert(value, number);
        number
    }

    fn computed(&self, value: Value, input: &Input, known: &mut Known) -> Option<Ratio> {
        let kind = self.kind(value);
        let is_float = kind.is_float();
        match self.node(value) {
            Node::Contribution(contribution) => input.get(contribution).copied(),
            Node::Sum(parts) => {
                let mut total = Ratio::whole(0);
                for (part, coefficient) in parts {
                    let number = self.number(*part, input, known)?;
                    total = if is_float {
                        total.plus(number.times(*coefficient)?)?
                    } else {
                        // Modulo 2^128 is fine enough for modulo 2^w.
                        let more = number.over().wrapping_mul(coefficient.over());
                        Ratio::whole(kind.wrapped(total.over().wrapping_add(more)))
                    };
                }
                Some(total)
            }
            Node::Product(parts) => {
                let mut product = Ratio::ONE;
                for part in parts {
                    let number = self.number(*part, input, known)?;
                    product = if is_float {
                        product.times(number)?
                    } else {
                        Ratio::whole(kind.wrapped(product.over().wrapping_mul(number.over())))
                    };
                }
                Some(product)
            }
            Node::Extreme(fold, parts) => {
                let mut best = None;
                for part in parts {
                    let number = self.number(*part, input, known)?;
                    best = match best {
                        None => Some(number),
                        Some(best) => {
                            let less = number.is_less(best)?;
                            let better = if *fold == Fold::Min { less } else { !less };
                            Some(if better { number } else { best })
                        }
                    };
                }
                best
            }
            Node::Quotient(inner, by) => {
                let number = self.number(*inner, input, known)?;
                Some(Ratio::whole(number.over() / i128::try_from(*by).ok()?))
            }
            Node::Cast(inner) => {
                kind.converted(self.number(*inner, input, known)?, self.kind(*inner))
            }
        }
    }
}

/// Any numbers of their types, but none beyond `magnitude`.
fn drawn(kinds: &[(Contribution, Kind)], magnitude: i128, random: &mut Random) -> Input {
    let draw = |(contribution, kind): &(Contribution, Kind)| {
        let (least, greatest) = kind.ends();
        let number = random.between(least.max(-magnitude), greatest.min(magnitude));
        (*contribution, Ratio::whole(number))
    };
    kinds.iter().map(draw).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four contributions of a type, and a comparison of two values of them.
    fn compared(kind: Kind, make: impl Fn(&mut Values, [Value; 4]) -> [Value; 2]) -> Answer {
        let mut values = Values::new();
        let parts = [0, 1, 2, 3]
            .map(|rank| values.contribution(Contribution { input: 0, rank, position: 0 }, kind));
        let [one, other] = make(&mut values, parts);
        values.compare(one, other, &mut Numbers::new(7))
    }

    #[test]
    fn what_normal_forms_miss_numbers_find_the_same() {
        // min(a, max(a, b)) is a.
        let answer = compared(Kind::I32, |values, [a, b, ..]| {
            let max = values.folded(Fold::Max, &[a, b]);
            [values.folded(Fold::Min, &[a, max]), a]
        });
        assert_eq!(answer, Answer::Same);
        // max(a + c, b + c) is max(a, b) + c over the reals, and not modulo 2^32.
        let shifted = |values: &mut Values, [a, b, c, _]: [Value; 4]| {
            let [one, other] = [a, b].map(|part| values.folded(Fold::Sum, &[part, c]));
            let max = values.folded(Fold::Max, &[a, b]);
            [values.folded(Fold::Max, &[one, other]), values.folded(Fold::Sum, &[max, c])]
        };
        assert_eq!(compared(Kind::F64, shifted), Answer::Same);
        assert_eq!(compared(Kind::U8, shifted), Answer::Different);
    }

    #[test]
    fn a_coefficient_that_rarely_shows_is_found() {
        // 128·a differs from zero for odd a only; one is odd.
        let answer = compared(Kind::U8, |values, [a, b, ..]| {
            let much = values.scaled(a, Ratio::whole(128));
            [values.folded(Fold::Sum, &[b, much]), b]
        });
        assert_eq!(answer, Answer::Different);
    }

    #[test]
    fn divisions_and_conversions_are_told_apart() {
        // The average of averages truncates twice.
        let answer = compared(Kind::I32, |values, [a, b, c, d]| {
            let [one, other] = [[a, b], [c, d]].map(|pair| values.folded(Fold::Avg, &pair));
            [values.folded(Fold::Avg, &[one, other]), values.folded(Fold::Avg, &[a, b, c, d])]
        });
        assert_eq!(answer, Answer::Different);
        // Through bf16 and back is not where it came from; through f64 it is.
        for (through, expected) in [(Kind::BF16, Answer::Different), (Kind::F64, Answer::Same)] {
            let answer = compared(Kind::F32, |values, [a, ..]| {
                let there = values.cast(a, through);
                [values.cast(there, Kind::F32), a]
            });
            assert_eq!(answer, expected, "{through:?}");
        }
    }
}
