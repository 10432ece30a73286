//! Concrete values: a witness put into a term.
//!
//! Integers wrap modulo 2^w. Floats stand for real numbers and are exact; only a
//! conversion rounds, an element of one type to the nearest of the other.

use alloc::collections::{BTreeMap, BTreeSet};

use num_traits::One;

use crate::format::{How, Origin};
use crate::limits::NUMBER_BITS;
use crate::number::{self, Dtype, Number};
use crate::rejected::{No, ensure};
use crate::start::Start;
use crate::term::{Change, Placed, Term, Terms};

/// One element of one contribution.
pub(crate) type Element = (usize, Origin, u64);

/// What a witness says, and how much of it was used.
pub(crate) struct Witness<'a> {
    terms: &'a Terms,
    given: BTreeMap<Element, Number>,
    used: BTreeSet<Element>,
    known: BTreeMap<Placed, Number>,
    /// Whether something was widened that its type does not hold.
    open: bool,
}

impl<'a> Witness<'a> {
    pub(crate) fn new(terms: &'a Terms, given: BTreeMap<Element, Number>) -> Self {
        let (used, known) = (BTreeSet::new(), BTreeMap::new());
        Self { terms, given, used, known, open: false }
    }

    /// Whether it says nothing that no value depended on.
    pub(crate) fn is_used_up(&self) -> bool {
        self.used.len() == self.given.len()
    }

    /// The value of a term where it is placed, or why it has none.
    pub(crate) fn value(&mut self, placed: Placed) -> Result<Number, No> {
        if let Some(value) = self.known.get(&placed) {
            return Ok(value.clone());
        }
        self.terms.spend(4)?;
        let (term, dtype) = self.terms.get(placed.term)?;
        let value = match term {
            Term::Input { input, of } => self.element(*input, of, placed.at)?,
            Term::Constant { value, .. } => value.clone(),
            Term::Fold { how, parts } => self.fold(*how, parts, placed.at, dtype)?,
            Term::Changed { of, how } => {
                let value = self.value(Placed { term: *of, at: placed.at })?;
                match how {
                    Change::Mean(ranks) => {
                        product(&value, &Number::new(One::one(), (*ranks).into()))?
                    }
                    Change::Scalar(by) | Change::Times(by) => product(&value, by)?,
                    Change::Divide(by) => (value / Number::from_integer((*by).into())).trunc(),
                    Change::Cast(to) => self.cast(value, self.terms.get(*of)?.1, *to)?,
                }
            }
        };
        let value = self.held(value, dtype)?;
        self.known.insert(placed, value.clone());
        Ok(value)
    }

    fn element(&mut self, input: usize, of: &Origin, at: Start) -> Result<Number, No> {
        let ((name, _), _) = self.terms.identity(input)?;
        let Start::At(position) = at else { return Err("an input that is read nowhere".into()) };
        let element = (input, of.clone(), position);
        let value = self.given.get(&element).cloned();
        ensure!(value.is_some(), "the witness says nothing of `{name}` of {of} at {position}");
        self.used.insert(element);
        Ok(value.unwrap_or_default())
    }

    fn fold(&mut self, how: How, parts: &[Placed], at: Start, dtype: Dtype) -> Result<Number, No> {
        let mut total: Option<Number> = None;
        for part in parts {
            let next = self.value(Placed { term: part.term, at: part.at.of_whole_at(at) })?;
            let folded = match (total, how) {
                (None, _) => next,
                (Some(total), How::Sum) => total + next,
                (Some(total), How::Prod) => product(&total, &next)?,
                (Some(total), How::Max) => total.max(next),
                (Some(total), How::Min) => total.min(next),
            };
            total = Some(self.held(folded, dtype)?);
        }
        Ok(total.ok_or("a fold of nothing")?)
    }

    fn cast(&mut self, value: Number, from: Dtype, to: Dtype) -> Result<Number, No> {
        // What its type does not hold has been rounded in truth, in some order. Widening
        // leaves that open; what is narrowed after it is not known.
        self.open |= !from.has(&value);
        if to.holds_all_of(from) {
            return Ok(value);
        }
        ensure!(!self.open, "what is narrowed is not an element of its type");
        if to.is_float() {
            return Ok(to.nearest(&value).ok_or("a conversion leads to an infinity")?);
        }
        let defined = !from.is_float() || to.has(&value);
        ensure!(defined, "a float is converted to an integer type that does not hold it");
        Ok(value)
    }

    /// A result as its type holds it. Numbers that are too long are refused; long ones
    /// cost more.
    fn held(&self, number: Number, dtype: Dtype) -> Result<Number, No> {
        let bits = number::bits(&number);
        ensure!(bits <= NUMBER_BITS, "{LONG}");
        self.terms.spend(bits / 16)?;
        Ok(dtype.wrapped(number).ok_or("an integer is a fraction")?)
    }
}

const LONG: &str = "a number of more than 2^13 binary digits";

fn product(one: &Number, other: &Number) -> Result<Number, No> {
    Ok(number::product(one, other).ok_or(LONG)?)
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;
    use crate::definition::Op;
    use crate::number::Dtype;
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
            let input = terms.input(("x".into(), None), TYPES[base]);
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
                        match terms.reduced(Some(&op), &[], &of) {
                            Ok(Content::Term(placed)) => Ok(placed),
                            _ => continue,
                        }
                    }
                    Make::Times(of, by, under) => {
                        let by = Number::new(by.into(), under.into());
                        terms.change(pick(of), Change::Times(by))
                    }
                    Make::Cast(of, to) => terms.change(pick(of), Change::Cast(TYPES[to])),
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
                let mut witness = Witness::new(&terms, given);
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
