//! Normal forms: what is left of a term when every law has been applied.
//!
//! - Sums are multisets: the multiplicity of a contribution counts, modulo 2^w for
//!   integers of w bits; for floats it is an exact rational, over the reals.
//! - Products are multisets too; maxima and minima are sets.
//! - A truncating division, a conversion, and a fold of another kind inside a fold
//!   merge with nothing: they are compared as they stand.

mod multiples;
mod sums;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, ToPrimitive, Zero};
use rankwise_account::division::padding_value;
use rankwise_model::{Combine, Dtype, DtypeClass, Scalar};

use crate::term::{Factor, InputId, Origin, Placed, Term, TermId};
use multiples::Kind;
pub use multiples::Multiples;

/// A normal form of one [`Forms`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FormId(u32);

/// A normal form read from some position on. Two terms hold the same values when
/// their placed forms are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlacedForm {
    /// The form.
    pub form: FormId,
    /// The position of its earliest input that it reads; 0 for a constant.
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
    /// The constant 1. Any other finite constant is a multiple of it.
    One(Dtype),
    /// Σ multiplicity · part. Empty: zero. Never one part counted once.
    Sum {
        /// The element type.
        dtype: Dtype,
        /// The parts, none of them a sum.
        parts: Multiples,
    },
    /// Π part^exponent. Never one part alone.
    Prod(BTreeMap<PlacedForm, BigUint>),
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
    /// A product with an infinity or a NaN, which is no multiplicity; of 1, it is that
    /// constant itself.
    Times {
        /// What is multiplied.
        form: FormId,
        /// By what.
        by: Scalar,
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
    forms: Vec<Arc<Form>>,
    /// By form: the element type of its values.
    dtypes: Vec<Dtype>,
    /// All but contributions, each of which is one term and asked for once, and but the
    /// first multiple of each form.
    ids: BTreeMap<Arc<Form>, FormId>,
    /// By term: its form, and how far after the term's own start that one begins.
    of_term: Vec<PlacedForm>,
    /// By form: whether an unnamed reduction is in it.
    unknown: Vec<bool>,
    /// By form: whether it reads no input.
    constant: Vec<bool>,
    /// By form: the first multiple made of it, as [`Terms`](crate::term::Terms) keeps it.
    multiple: Vec<Option<FormId>>,
    /// The lists of several forms that parts of sums are, each with its number and whether
    /// an unnamed reduction is in it.
    lists: BTreeMap<Arc<[FormId]>, (u32, bool)>,
    /// How many forms there are in these lists together.
    listed: usize,
    /// The factor that was asked for last, and its value: a fold has one for all.
    last_factor: Option<(Factor, Arc<Multiplicity>)>,
}

impl Forms {
    /// The normal form of a placed term.
    pub fn of(&self, placed: Placed) -> Option<PlacedForm> {
        let own = self.of_term.get(placed.term.index())?;
        Some(self.shifted(*own, placed.at))
    }

    /// The form behind an id.
    pub fn get(&self, id: FormId) -> Option<&Form> {
        self.forms.get(id.index()).map(AsRef::as_ref)
    }

    /// Whether the form depends on a reduction that was not named.
    pub fn is_unknown(&self, id: FormId) -> bool {
        self.unknown.get(id.index()).copied().unwrap_or(true)
    }

    /// How many forms stand in lists of the parts of sums: what those cost.
    pub(crate) const fn listed(&self) -> usize {
        self.listed
    }

    /// Records the form of the next term; its parts have been recorded before.
    pub(crate) fn add(&mut self, term: &Term, dtype: Dtype) {
        let form = match term {
            Term::Atom { input, origin } => {
                let atom = Form::Atom { input: *input, origin: origin.clone() };
                self.push(Arc::new(atom), dtype)
            }
            Term::Constant { value, .. } => self.constant(*value),
            Term::Combined { how: Combine::Sum, parts } => self.sum(dtype, parts),
            Term::Combined { how: Combine::Prod, parts } => self.product(dtype, parts),
            Term::Combined { how, parts } => self.extreme(dtype, *how, parts),
            Term::Scaled { term, by } => self.scaled(dtype, *term, by),
            Term::Divided { term, by } => self.wrapped(dtype, *term, |form| match by.get() {
                1 => None,
                by => Some(Form::Divided { form, by }),
            }),
            Term::Cast { term, to } => match self.before_widening(*term, *to) {
                Some(original) => original,
                None => self.wrapped(dtype, *term, |form| Some(Form::Cast { form, to: *to })),
            },
            Term::Unnamed { place, parts } => {
                let parts = parts.iter().filter_map(|part| self.of(*part)).collect();
                self.store(Form::Unnamed { place: *place, parts }, dtype)
            }
        };
        self.of_term.push(form);
    }

    fn constant(&mut self, value: Scalar) -> PlacedForm {
        let dtype = value.dtype();
        let one = self.store(Form::One(dtype), dtype);
        match exact(value) {
            Some(times) => self.multiple(dtype, one, &Arc::new(times)),
            None => self.store(Form::Times { form: one.form, by: value }, dtype),
        }
    }

    fn product(&mut self, dtype: Dtype, parts: &[Placed]) -> PlacedForm {
        let mut constant = Multiplicity::one();
        let mut powers: BTreeMap<PlacedForm, BigUint> = BTreeMap::new();
        for part in parts.iter().filter_map(|part| self.of(*part)) {
            // A multiple is its constant times what is multiplied; zero stays zero.
            let (times, part) = match self.get(part.form) {
                Some(Form::Sum { parts, .. }) => match parts.only() {
                    _ if parts.is_empty() => (Multiplicity::zero(), None),
                    Some((only, times)) => {
                        (Multiplicity::clone(times), Some(self.shifted(only, part.at)))
                    }
                    None => (Multiplicity::one(), Some(part)),
                },
                _ => (Multiplicity::one(), Some(part)),
            };
            constant *= times;
            let is_one = |part: &PlacedForm| matches!(self.get(part.form), Some(Form::One(_)));
            let Some(part) = part.filter(|part| !is_one(part)) else { continue };
            let factors = match self.get(part.form) {
                Some(Form::Prod(inner)) => inner
                    .iter()
                    .map(|(factor, power)| (self.shifted(*factor, part.at), power.clone()))
                    .collect(),
                _ => alloc::vec![(part, BigUint::one())],
            };
            for (factor, power) in factors {
                *powers.entry(factor).or_default() += power;
            }
        }
        let product = match (powers.len(), powers.first_key_value()) {
            (0, _) => self.store(Form::One(dtype), dtype),
            (1, Some((only, power))) if power.is_one() => *only,
            _ => {
                let base = self.base(powers.keys());
                let relative =
                    powers.into_iter().map(|(part, power)| (before(part, base), power)).collect();
                let stored = self.store(Form::Prod(relative), dtype);
                self.shifted(stored, base)
            }
        };
        if constant.is_one() {
            return product;
        }
        self.multiple(dtype, product, &Arc::new(constant))
    }

    fn extreme(&mut self, dtype: Dtype, how: Combine, parts: &[Placed]) -> PlacedForm {
        // One value takes no step.
        if let [only] = parts
            && let Some(only) = self.of(*only)
        {
            return only;
        }
        let mut set = BTreeSet::new();
        for part in parts.iter().filter_map(|part| self.of(*part)) {
            match self.get(part.form) {
                Some(Form::Extreme { how: inner, parts }) if *inner == how => {
                    set.extend(parts.iter().map(|inner| self.shifted(*inner, part.at)));
                }
                _ => _ = set.insert(part),
            }
        }
        // What every value of the type is at least (at most) changes nothing.
        let neutral = self.constant(padding_value(how.reduction(), dtype));
        if set.len() > 1 {
            set.remove(&neutral);
        }
        if let (1, Some(only)) = (set.len(), set.first())
            && !self.may_be_infinite_fp8(*only)
        {
            return *only;
        }
        let base = self.base(set.iter());
        let parts = set.into_iter().map(|part| before(part, base)).collect();
        let stored = self.store(Form::Extreme { how, parts }, dtype);
        self.shifted(stored, base)
    }

    /// Whether a step makes another value of it, even max with itself: an infinity of
    /// e5m2 leaves no step (AR-4), so that only a contribution, as given, can be one.
    fn may_be_infinite_fp8(&self, part: PlacedForm) -> bool {
        matches!(self.get(part.form), Some(Form::Atom { .. }))
            && self.dtypes.get(part.form.index()) == Some(&Dtype::F8E5M2)
    }

    fn scaled(&mut self, dtype: Dtype, term: TermId, by: &Factor) -> PlacedForm {
        let part = self.of(Placed { term, at: 0 });
        match (part, self.value_of(by)) {
            (Some(part), Some(times)) => self.multiple(dtype, part, &times),
            (Some(part), None) => match by {
                Factor::Scalar(by) => {
                    let stored = self.store(Form::Times { form: part.form, by: *by }, dtype);
                    self.shifted(stored, part.at)
                }
                // Only a scalar can be infinite.
                Factor::Reciprocal(_) | Factor::Constant(_) => part,
            },
            (None, _) => self.store(Form::Unnamed { place: u64::MAX, parts: Vec::new() }, dtype),
        }
    }

    /// The exact value of a factor; `None` for NaN and the infinities.
    fn value_of(&mut self, factor: &Factor) -> Option<Arc<Multiplicity>> {
        if let Some((last, value)) = &self.last_factor
            && last == factor
        {
            return Some(Arc::clone(value));
        }
        let value = Arc::new(match factor {
            Factor::Reciprocal(ranks) => BigRational::new(BigInt::one(), ranks.get().into()),
            Factor::Constant(ratio) => ratio.clone(),
            Factor::Scalar(scalar) => exact(*scalar)?,
        });
        self.last_factor = Some((factor.clone(), Arc::clone(&value)));
        Some(value)
    }

    fn wrapped(
        &mut self,
        dtype: Dtype,
        term: TermId,
        wrap: impl FnOnce(FormId) -> Option<Form>,
    ) -> PlacedForm {
        let Some(part) = self.of(Placed { term, at: 0 }) else {
            return self.store(Form::Unnamed { place: u64::MAX, parts: Vec::new() }, dtype);
        };
        match wrap(part.form) {
            None => part,
            Some(form) => {
                let stored = self.store(form, dtype);
                self.shifted(stored, part.at)
            }
        }
    }

    /// What was widened without loss from type `to` before it is converted back.
    fn before_widening(&self, term: TermId, to: Dtype) -> Option<PlacedForm> {
        let wide = self.of(Placed { term, at: 0 })?;
        let Form::Cast { form, to: through } = self.get(wide.form)? else { return None };
        let original = *self.dtypes.get(form.index())?;
        (original == to && holds_all_of(*through, to))
            .then(|| self.shifted(PlacedForm { form: *form, at: 0 }, wide.at))
    }

    /// Where the earliest part reads; constants read nowhere.
    fn base<'p>(&self, parts: impl Iterator<Item = &'p PlacedForm>) -> u64 {
        let reading = parts.filter(|part| !self.is_constant(part.form));
        reading.map(|part| part.at).min().unwrap_or(0)
    }

    fn is_constant(&self, form: FormId) -> bool {
        self.constant.get(form.index()).copied().unwrap_or(false)
    }

    fn store(&mut self, form: Form, dtype: Dtype) -> PlacedForm {
        if let Form::Sum { parts, .. } = &form
            && let Some((PlacedForm { form: of, .. }, _)) = parts.only()
        {
            match self.multiple.get(of.index()).copied().flatten() {
                None => {
                    let stored = self.push(Arc::new(form), dtype);
                    if let Some(first) = self.multiple.get_mut(of.index()) {
                        *first = Some(stored.form);
                    }
                    return stored;
                }
                Some(first) if self.get(first) == Some(&form) => {
                    return PlacedForm { form: first, at: 0 };
                }
                Some(_) => {}
            }
        }
        if let Some(form) = self.ids.get(&form) {
            return PlacedForm { form: *form, at: 0 };
        }
        let form = Arc::new(form);
        let stored = self.push(Arc::clone(&form), dtype);
        self.ids.insert(form, stored.form);
        stored
    }

    fn push(&mut self, form: Arc<Form>, dtype: Dtype) -> PlacedForm {
        let (unknown, constant) = match &*form {
            Form::Atom { .. } => (false, false),
            Form::Unnamed { .. } => (true, false),
            Form::Sum { parts, .. } => (
                self.are_unknown(parts),
                parts.alike().iter().all(|alike| alike.kind == Kind::Constant),
            ),
            other => (
                other.parts().any(|part| self.is_unknown(part)),
                other.parts().all(|part| self.is_constant(part)),
            ),
        };
        let id = FormId(u32::try_from(self.forms.len()).unwrap_or(u32::MAX));
        self.forms.push(form);
        self.dtypes.push(dtype);
        self.unknown.push(unknown);
        self.constant.push(constant);
        self.multiple.push(None);
        PlacedForm { form: id, at: 0 }
    }

    /// The form `by` positions further on. A constant is the same everywhere.
    pub(crate) fn shifted(&self, placed: PlacedForm, by: u64) -> PlacedForm {
        let at = if self.is_constant(placed.form) { 0 } else { placed.at.saturating_add(by) };
        PlacedForm { form: placed.form, at }
    }
}

impl Form {
    /// The forms that it is made of, each once.
    pub(crate) fn parts(&self) -> impl Iterator<Item = FormId> + Clone + '_ {
        let (sum, prod, set, list, one) = match self {
            Self::Atom { .. } | Self::One(_) => (None, None, None, None, None),
            Self::Sum { parts, .. } => (Some(parts), None, None, None, None),
            Self::Prod(parts) => (None, Some(parts), None, None, None),
            Self::Extreme { parts, .. } => (None, None, Some(parts), None, None),
            Self::Unnamed { parts, .. } => (None, None, None, Some(parts), None),
            Self::Divided { form, .. } | Self::Cast { form, .. } | Self::Times { form, .. } => {
                (None, None, None, None, Some(*form))
            }
        };
        let sum = sum.into_iter().flat_map(Multiples::iter).map(|(part, _)| part.form);
        let prod = prod.into_iter().flat_map(BTreeMap::keys);
        let placed = prod.chain(set.into_iter().flatten()).chain(list.into_iter().flatten());
        sum.chain(placed.map(|part| part.form)).chain(one)
    }
}

impl FormId {
    fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// Whether every value of `narrow` is one of `wide`, and comes back from there: into e5m2
/// an infinity does not, because conversions to fp8 saturate (AR-12).
const fn holds_all_of(wide: Dtype, narrow: Dtype) -> bool {
    use DtypeClass::{Float, Integer};
    match (wide.class(), narrow.class()) {
        (Integer { signed: true, bits }, Integer { signed: false, bits: of }) => bits > of,
        (Integer { signed, bits }, Integer { signed: of_signed, bits: of }) => {
            signed == of_signed && bits >= of
        }
        (Float { precision }, Integer { bits, .. }) => {
            precision >= bits && !matches!(wide, Dtype::F8E4M3 | Dtype::F8E5M2)
        }
        // The exponents of bf16 are those of f32; f16 holds e4m3.
        (Float { .. }, Float { .. }) => {
            use Dtype::{Bf16, F8E4M3, F8E5M2, F16, F32, F64};
            match (wide, narrow) {
                (_, F8E5M2) => false,
                (F32, F16 | Bf16 | F8E4M3) | (F16 | Bf16, F8E4M3) | (F64, _) => true,
                _ => false,
            }
        }
        (Integer { .. }, Float { .. }) => false,
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
