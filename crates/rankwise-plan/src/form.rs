//! Normal forms: what is left of a term when every law has been applied.
//!
//! - Sums are multisets: the multiplicity of a contribution counts, modulo 2^w for
//!   integers of w bits; for floats it is an exact rational, over the reals.
//! - Products are multisets too; maxima and minima are sets.
//! - A truncating division, a conversion, and a fold of another kind inside a fold
//!   merge with nothing: they are compared as they stand.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive, Zero};
use rankwise_model::{Combine, Dtype, DtypeClass, Scalar};

use crate::term::{Factor, InputId, Origin, Placed, Term, TermId};

/// A normal form of one [`Forms`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FormId(u32);

/// A normal form read from some position on. Two terms hold the same values when
/// their placed forms are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlacedForm {
    /// The form.
    pub form: FormId,
    /// The position of its earliest input that it reads; 0 for a constant zero.
    pub at: u64,
}

/// How often a contribution counts in a sum.
pub type Multiplicity = BigRational;

/// A normal form. Parts read relative to the earliest of them, which is at 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// A contribution.
    Atom {
        /// To which input.
        input: InputId,
        /// Whose.
        origin: Origin,
    },
    /// Σ multiplicity · part. Empty: zero. Never one part counted once.
    Sum {
        /// The element type.
        dtype: Dtype,
        /// The parts, none of them a sum.
        parts: BTreeMap<PlacedForm, Multiplicity>,
    },
    /// Π part^exponent. Never one part alone.
    Prod(BTreeMap<PlacedForm, u64>),
    /// The largest or smallest of its parts, each counted once.
    Extreme {
        /// [`Combine::Max`] or [`Combine::Min`].
        how: Combine,
        /// The parts, none of them an extreme of the same kind.
        parts: BTreeSet<PlacedForm>,
    },
    /// A truncating division.
    Divided {
        /// What is divided.
        form: FormId,
        /// By how much.
        by: u32,
    },
    /// A conversion to another element type.
    Cast {
        /// What is converted.
        form: FormId,
        /// To which type.
        to: Dtype,
    },
    /// A fold whose reduction is not named; equal to nothing but itself.
    Unnamed {
        /// Which step.
        place: u64,
        /// Its parts, in order.
        parts: Vec<PlacedForm>,
    },
}

/// The forms of the terms of one [`Terms`](crate::term::Terms).
#[derive(Clone, Debug, Default)]
pub struct Forms {
    forms: Vec<Form>,
    ids: BTreeMap<Form, FormId>,
    /// By term: its form, and how far after the term's own start that one begins.
    of_term: Vec<PlacedForm>,
    /// By form: whether an unnamed reduction is in it.
    unknown: Vec<bool>,
}

impl Forms {
    /// The normal form of a placed term.
    pub fn of(&self, placed: Placed) -> Option<PlacedForm> {
        let own = self.of_term.get(placed.term.index())?;
        Some(self.shifted(*own, placed.at))
    }

    /// The form behind an id.
    pub fn get(&self, id: FormId) -> Option<&Form> {
        self.forms.get(id.index())
    }

    /// Whether the form depends on a reduction that was not named.
    pub fn is_unknown(&self, id: FormId) -> bool {
        self.unknown.get(id.index()).copied().unwrap_or(true)
    }

    /// Records the form of the next term; its parts have been recorded before.
    pub(crate) fn add(&mut self, term: &Term, dtype: Dtype) {
        let form = match term {
            Term::Atom { input, origin } => {
                self.store(Form::Atom { input: *input, origin: origin.clone() })
            }
            Term::Combined { how: Combine::Sum, parts } => self.sum(dtype, parts),
            Term::Combined { how: Combine::Prod, parts } => self.product(dtype, parts),
            Term::Combined { how, parts } => self.extreme(*how, parts),
            Term::Scaled { term, by } => self.scaled(dtype, *term, by),
            Term::Divided { term, by } => self.wrapped(*term, |form| match by.get() {
                1 => None,
                by => Some(Form::Divided { form, by }),
            }),
            Term::Cast { term, to } => {
                self.wrapped(*term, |form| Some(Form::Cast { form, to: *to }))
            }
            Term::Unnamed { place, parts } => {
                let parts = parts.iter().filter_map(|part| self.of(*part)).collect();
                self.store(Form::Unnamed { place: *place, parts })
            }
        };
        self.of_term.push(form);
    }

    fn sum(&mut self, dtype: Dtype, parts: &[Placed]) -> PlacedForm {
        let mut total = BTreeMap::new();
        for part in parts.iter().filter_map(|part| self.of(*part)) {
            self.add_multiple(&mut total, part, &Multiplicity::one());
        }
        self.sum_of(dtype, total)
    }

    /// Adds `times · part` to a sum, dissolving sums in it.
    fn add_multiple(
        &self,
        total: &mut BTreeMap<PlacedForm, Multiplicity>,
        part: PlacedForm,
        times: &Multiplicity,
    ) {
        let mut add = |part: PlacedForm, times: Multiplicity| {
            let sum = total.entry(part).or_insert_with(Multiplicity::zero);
            *sum = &*sum + times;
        };
        match self.get(part.form) {
            Some(Form::Sum { parts, .. }) => {
                for (inner, multiplicity) in parts {
                    add(self.shifted(*inner, part.at), multiplicity * times);
                }
            }
            _ => add(part, times.clone()),
        }
    }

    fn sum_of(&mut self, dtype: Dtype, total: BTreeMap<PlacedForm, Multiplicity>) -> PlacedForm {
        let parts: BTreeMap<_, _> = total
            .into_iter()
            .map(|(part, multiplicity)| (part, within(dtype, multiplicity)))
            .filter(|(_, multiplicity)| !multiplicity.is_zero())
            .collect();
        if let (1, Some((part, multiplicity))) = (parts.len(), parts.first_key_value())
            && multiplicity.is_one()
        {
            return *part;
        }
        let base = parts.keys().map(|part| part.at).min().unwrap_or(0);
        let parts = parts.into_iter().map(|(part, times)| (before(part, base), times)).collect();
        let stored = self.store(Form::Sum { dtype, parts });
        self.shifted(stored, base)
    }

    fn product(&mut self, dtype: Dtype, parts: &[Placed]) -> PlacedForm {
        let mut constant = Multiplicity::one();
        let mut powers: BTreeMap<PlacedForm, u64> = BTreeMap::new();
        for part in parts.iter().filter_map(|part| self.of(*part)) {
            // A multiple is its constant times what is multiplied; zero stays zero.
            let (times, part) = match self.get(part.form) {
                Some(Form::Sum { parts, .. }) if parts.is_empty() => (Multiplicity::zero(), None),
                Some(Form::Sum { parts, .. }) if parts.len() == 1 => {
                    let only = parts.first_key_value();
                    let times = only.map_or_else(Multiplicity::one, |(_, times)| times.clone());
                    (times, only.map(|(inner, _)| self.shifted(*inner, part.at)))
                }
                _ => (Multiplicity::one(), Some(part)),
            };
            constant *= times;
            let Some(part) = part else { continue };
            let factors = match self.get(part.form) {
                Some(Form::Prod(inner)) => inner
                    .iter()
                    .map(|(factor, power)| (self.shifted(*factor, part.at), *power))
                    .collect(),
                _ => alloc::vec![(part, 1)],
            };
            for (factor, power) in factors {
                let sum = powers.entry(factor).or_insert(0);
                *sum = sum.saturating_add(power);
            }
        }
        let product = match (powers.len(), powers.first_key_value()) {
            (1, Some((only, 1))) => *only,
            _ => {
                let base = powers.keys().map(|part| part.at).min().unwrap_or(0);
                let relative =
                    powers.into_iter().map(|(part, power)| (before(part, base), power)).collect();
                let stored = self.store(Form::Prod(relative));
                self.shifted(stored, base)
            }
        };
        if constant.is_one() {
            return product;
        }
        let mut total = BTreeMap::new();
        self.add_multiple(&mut total, product, &constant);
        self.sum_of(dtype, total)
    }

    fn extreme(&mut self, how: Combine, parts: &[Placed]) -> PlacedForm {
        let mut set = BTreeSet::new();
        for part in parts.iter().filter_map(|part| self.of(*part)) {
            match self.get(part.form) {
                Some(Form::Extreme { how: inner, parts }) if *inner == how => {
                    set.extend(parts.iter().map(|inner| self.shifted(*inner, part.at)));
                }
                _ => _ = set.insert(part),
            }
        }
        if let (1, Some(only)) = (set.len(), set.first()) {
            return *only;
        }
        let base = set.iter().map(|part| part.at).min().unwrap_or(0);
        let parts = set.into_iter().map(|part| before(part, base)).collect();
        let stored = self.store(Form::Extreme { how, parts });
        self.shifted(stored, base)
    }

    fn scaled(&mut self, dtype: Dtype, term: TermId, by: &Factor) -> PlacedForm {
        let part = self.of(Placed { term, at: 0 });
        match (part, value_of(by)) {
            (Some(part), Some(times)) => {
                let mut total = BTreeMap::new();
                self.add_multiple(&mut total, part, &times);
                self.sum_of(dtype, total)
            }
            // An infinite or NaN scalar is no multiplicity: nothing is known of the
            // product but that it is this very term.
            (part, None) => {
                let place = u64::try_from(self.of_term.len()).unwrap_or(u64::MAX);
                self.store(Form::Unnamed { place, parts: part.into_iter().collect() })
            }
            (None, _) => self.store(Form::Unnamed { place: u64::MAX, parts: Vec::new() }),
        }
    }

    fn wrapped(&mut self, term: TermId, wrap: impl FnOnce(FormId) -> Option<Form>) -> PlacedForm {
        let Some(part) = self.of(Placed { term, at: 0 }) else {
            return self.store(Form::Unnamed { place: u64::MAX, parts: Vec::new() });
        };
        match wrap(part.form) {
            None => part,
            Some(form) => {
                let stored = self.store(form);
                self.shifted(stored, part.at)
            }
        }
    }

    fn store(&mut self, form: Form) -> PlacedForm {
        if let Some(form) = self.ids.get(&form) {
            return PlacedForm { form: *form, at: 0 };
        }
        let unknown = match &form {
            Form::Atom { .. } => false,
            Form::Unnamed { .. } => true,
            Form::Sum { parts, .. } => parts.keys().any(|part| self.is_unknown(part.form)),
            Form::Prod(parts) => parts.keys().any(|part| self.is_unknown(part.form)),
            Form::Extreme { parts, .. } => parts.iter().any(|part| self.is_unknown(part.form)),
            Form::Divided { form, .. } | Form::Cast { form, .. } => self.is_unknown(*form),
        };
        let id = FormId(u32::try_from(self.forms.len()).unwrap_or(u32::MAX));
        self.ids.insert(form.clone(), id);
        self.forms.push(form);
        self.unknown.push(unknown);
        PlacedForm { form: id, at: 0 }
    }

    /// The form `by` positions further on. Zero is zero everywhere.
    pub(crate) fn shifted(&self, placed: PlacedForm, by: u64) -> PlacedForm {
        let constant =
            matches!(self.get(placed.form), Some(Form::Sum { parts, .. }) if parts.is_empty());
        let at = if constant { 0 } else { placed.at.saturating_add(by) };
        PlacedForm { form: placed.form, at }
    }
}

impl FormId {
    fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

const fn before(part: PlacedForm, base: u64) -> PlacedForm {
    PlacedForm { form: part.form, at: part.at.saturating_sub(base) }
}

/// The multiplicity as the element type knows it: modulo 2^w for integers.
pub(crate) fn within(dtype: Dtype, multiplicity: Multiplicity) -> Multiplicity {
    match dtype.class() {
        DtypeClass::Integer { bits, .. } if multiplicity.is_integer() => {
            let modulus = BigInt::one() << bits;
            let remainder = multiplicity.to_integer() % &modulus;
            Multiplicity::from_integer((remainder + &modulus) % modulus)
        }
        _ => multiplicity,
    }
}

/// The exact value of a factor; `None` for NaN and the infinities.
fn value_of(factor: &Factor) -> Option<BigRational> {
    match factor {
        Factor::Reciprocal(ranks) => Some(BigRational::new(BigInt::one(), ranks.get().into())),
        Factor::Constant(ratio) => Some(ratio.clone()),
        Factor::Scalar(scalar) => exact(*scalar),
    }
}

/// The exact value of a scalar; `None` for NaN and the infinities.
pub(crate) fn exact(scalar: Scalar) -> Option<BigRational> {
    match scalar.to_integer() {
        Some(integer) => Some(BigRational::from_integer(integer.into())),
        None => BigRational::from_float(scalar.to_f64()),
    }
}

/// The element nearest to an exact constant; integers by their value modulo 2^w.
pub(crate) fn nearest(dtype: Dtype, ratio: &BigRational) -> Option<Scalar> {
    if dtype.is_float() {
        let text = alloc::format!("{:e}", ratio.to_f64()?);
        return Scalar::parse(dtype, &text).ok().map(|literal| literal.scalar);
    }
    let low = within(dtype, ratio.clone());
    low.is_integer()
        .then(|| low.to_integer().to_u64())
        .flatten()
        .map(|bits| Scalar::from_bits(dtype, bits))
}
