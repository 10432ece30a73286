//! Concrete values: a witness put into a term.
//!
//! Integers wrap modulo 2^w. Floats stand for real numbers and are exact; only a
//! conversion rounds, an element of one type to the nearest of the other.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;

use num_traits::{One, Zero};

use crate::format::{How, Origin};
use crate::limits::{NUMBER_BITS, WORK};
use crate::number::{self, Number};
use crate::term::{Placed, Term, Terms};

/// One element of one contribution.
pub(crate) type Element = (usize, Origin, u64);

/// What a witness says, and how much of it was used.
pub(crate) struct Witness<'a> {
    pub(crate) terms: &'a Terms,
    /// Units of work that may still be done.
    pub(crate) work: u64,
    pub(crate) given: BTreeMap<Element, Number>,
    pub(crate) used: BTreeSet<Element>,
    pub(crate) known: BTreeMap<Placed, Number>,
    /// Whether something was widened that its type does not hold.
    pub(crate) open: bool,
}

impl Witness<'_> {
    /// The value of a term where it is placed, or why it has none.
    pub(crate) fn value(&mut self, placed: Placed) -> Result<Number, String> {
        if let Some(value) = self.known.get(&placed) {
            return Ok(value.clone());
        }
        let terms = self.terms;
        self.spend(4)?;
        let (term, dtype) = terms
            .get(placed.term)
            .zip(terms.dtype(placed.term))
            .ok_or("it speaks of a term that is not there")?;
        let of = |of: usize| terms.placed(of, placed.at);
        let value = match term {
            Term::Input { input, of } => {
                let element = (*input, of.clone(), placed.at);
                let Some(value) = self.given.get(&element).cloned() else {
                    let name = terms.identity(*input).map_or("", |input| &input.name);
                    return Err(format!(
                        "the witness says nothing of {name} of {of} at {}",
                        placed.at
                    ));
                };
                self.used.insert(element);
                value
            }
            Term::Constant { value, .. } => value.clone(),
            Term::Fold { how, parts } => {
                let mut total: Option<Number> = None;
                for part in parts {
                    let at = part.at.saturating_add(placed.at);
                    let next = self.value(terms.placed(part.term, at))?;
                    let folded = match total {
                        None => next,
                        Some(total) => match how {
                            How::Sum => total + next,
                            How::Prod => product(&total, &next)?,
                            How::Max => total.max(next),
                            How::Min => total.min(next),
                        },
                    };
                    self.short(&folded)?;
                    total = Some(dtype.wrapped(folded).ok_or("an integer is a fraction")?);
                }
                total.unwrap_or_else(Number::zero)
            }
            Term::Mean { of: part, ranks } => {
                let by = Number::new(One::one(), (*ranks).into());
                product(&self.value(of(*part))?, &by)?
            }
            Term::Scalar { of: part, by } | Term::Times { of: part, by } => {
                product(&self.value(of(*part))?, by)?
            }
            Term::Divide { of: part, by } => {
                let value = self.value(of(*part))?;
                (value / Number::from_integer((*by).into())).trunc()
            }
            Term::Cast { of: part, to } => {
                let value = self.value(of(*part))?;
                let from = terms.dtype(*part).ok_or("it speaks of a term that is not there")?;
                // What its type does not hold has been rounded in truth, in some order.
                // Widening leaves that open; what is narrowed after it is not known.
                self.open |= !from.has(&value);
                if to.holds_all_of(from) {
                    value
                } else if self.open {
                    return Err("what is narrowed is not an element of its type".into());
                } else if to.is_float() {
                    to.nearest(&value).ok_or("a conversion leads to an infinity")?
                } else if from.is_float() && !to.has(&value) {
                    return Err(
                        "a float is converted to an integer type that does not hold it".into()
                    );
                } else {
                    value
                }
            }
        };
        let value = dtype.wrapped(value).ok_or("an integer is a fraction")?;
        self.short(&value)?;
        self.known.insert(placed, value.clone());
        Ok(value)
    }

    /// Refuses numbers that are too long; long ones cost more.
    fn short(&mut self, number: &Number) -> Result<(), String> {
        let bits = number::bits(number);
        if bits > NUMBER_BITS {
            return Err(long());
        }
        self.spend(bits / 16)
    }

    fn spend(&mut self, units: u64) -> Result<(), String> {
        let left = self.work.checked_sub(units);
        self.work = left.ok_or_else(|| format!("more than {WORK} units of work for a witness"))?;
        Ok(())
    }
}

fn product(one: &Number, other: &Number) -> Result<Number, String> {
    number::product(one, other).ok_or_else(long)
}

fn long() -> String {
    format!("a number of more than {NUMBER_BITS} binary digits comes up")
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;
    use crate::definition::Op;
    use crate::format::Attached;
    use crate::number::Dtype;
    use crate::term::Identity;
    use crate::vector::Content;

    /// One more term, made of earlier ones that are picked by number.
    #[derive(Clone, Debug)]
    enum Make {
        Combine(Op, Vec<(usize, u64)>),
        Times(usize, i32, u8),
        Cast(usize, usize),
        Constant(i8),
    }

    fn make() -> impl Strategy<Value = Make> {
        let op = prop::sample::select(alloc::vec![Op::Sum, Op::Prod, Op::Max, Op::Min, Op::Avg]);
        let part = (0..64_usize, 0..3_u64);
        prop_oneof![
            5 => (op, prop::collection::vec(part, 1..4)).prop_map(|(op, of)| Make::Combine(op, of)),
            2 => (0..64_usize, -3..4_i32, 1..4_u8).prop_map(|(of, by, under)| Make::Times(of, by, under)),
            2 => (0..64_usize, 0..6_usize).prop_map(|(of, to)| Make::Cast(of, to)),
            1 => (-3..4_i8).prop_map(Make::Constant),
        ]
    }

    const TYPES: [Dtype; 6] =
        [Dtype::I8, Dtype::U8, Dtype::I32, Dtype::F32, Dtype::Bf16, Dtype::F64];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1500))]

        /// Whatever is computed, two values of one normal form have one value.
        #[test]
        fn equal_normal_forms_have_equal_values(
            base in 0..5_usize,
            makes in prop::collection::vec(make(), 1..24),
            given in prop::collection::vec(prop::collection::vec(-128..128_i32, 2 * 64), 3),
        ) {
            let mut terms = Terms::default();
            let identity = Identity {
                name: "x".into(), dtype: TYPES[base], counts: alloc::vec![64], meaning: None,
                attached: Attached::Rank, only: None,
            };
            let input = terms.input(identity);
            let mut made: Vec<Placed> = (0..2)
                .map(|rank| terms.atom(input, Origin::Rank(rank)).unwrap())
                .collect();
            for make in makes {
                let pick = |at: usize| made[at % made.len()];
                let placed = match make {
                    Make::Combine(op, of) => {
                        let of: Vec<Content> = of
                            .iter()
                            .map(|(part, by)| Content::Term(pick(*part).later(*by)))
                            .collect();
                        match terms.reduced(Some(op), &[], &of) {
                            Ok(Content::Term(placed)) => Ok(placed),
                            _ => continue,
                        }
                    }
                    Make::Times(of, by, under) => {
                        terms.times(pick(of), Number::new(by.into(), under.into()))
                    }
                    Make::Cast(of, to) => terms.cast(pick(of), TYPES[to]),
                    Make::Constant(value) => {
                        terms.constant(TYPES[base], Number::from_integer(value.into()))
                    }
                };
                // What no type holds is refused.
                made.extend(placed);
            }
            for values in given {
                let given: BTreeMap<Element, Number> = values
                    .iter()
                    .enumerate()
                    .map(|(index, value)| {
                        let of = Origin::Rank(u32::from(index % 2 == 1));
                        let value = TYPES[base].wrapped(Number::from_integer((*value).into()));
                        ((input, of, (index / 2) as u64), value.unwrap())
                    })
                    .collect();
                let mut witness = Witness {
                    terms: &terms, given, used: BTreeSet::new(), known: BTreeMap::new(), open: false, work: 1 << 25,
                };
                let mut by_normal = BTreeMap::new();
                for placed in &made {
                    let Ok(value) = witness.value(*placed) else { continue };
                    let normal = terms.normal(*placed).unwrap();
                    let first = by_normal.entry(normal).or_insert((placed, value.clone()));
                    prop_assert_eq!(
                        &first.1, &value, "{:?} and {:?} of {:?}", first.0, placed,
                        made.iter().map(|it| terms.get(it.term)).collect::<Vec<_>>()
                    );
                }
            }
        }
    }
}
