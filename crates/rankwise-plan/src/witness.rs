//! Whether two normal forms really differ.
//!
//! The laws of [`form`](crate::form) are complete for sums of contributions and for
//! minima and maxima of them: two such forms that are written differently differ for
//! some input. Where folds of different kinds are nested, laws that are not applied
//! may still make them equal (`min(a, max(a, b))` is `a`). Then a difference is
//! claimed only with a witness: an input for which the values differ.

use alloc::collections::{BTreeMap, BTreeSet};
use core::hash::{Hash, Hasher};

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive, Zero};
use rankwise_model::{Combine, Dtype, DtypeClass, Scalar};

use crate::form::{Form, PlacedForm, exact, nearest, within};
use crate::term::{InputId, Origin, Placed, Term, TermId, Terms};

/// How many random inputs are tried: half with small numbers only, a quarter with some of
/// a few thousand, a quarter with any.
pub const INPUTS_TRIED: u64 = 128;

/// How many elements are tried as the only one that is another.
const ELEMENTS_TRIED: usize = 16;

/// One element of one contribution.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Element {
    pub(crate) input: InputId,
    pub(crate) origin: Origin,
    pub(crate) position: u64,
}

/// An input for which two terms have different values: every element that either reads.
pub(crate) type Witness = BTreeMap<Element, BigRational>;

/// Whether two forms that are not written alike are known to differ.
pub(crate) fn known_to_differ(terms: &Terms, one: PlacedForm, other: PlacedForm) -> bool {
    if is_flat(terms, one) && is_flat(terms, other) {
        return true;
    }
    let draw = |seed| Draw { terms, how: How::Random(seed), known: BTreeMap::new() };
    (0..INPUTS_TRIED).any(|seed| draw(seed).values([one, other]).is_some())
}

/// An input for which two terms differ, if one is found: a simple one where that does.
pub(crate) fn witness(terms: &Terms, one: Placed, other: Placed) -> Option<Witness> {
    let forms = [terms.forms().of(one)?, terms.forms().of(other)?];
    let [left, right] = [one, other].map(|placed| elements(terms, placed));
    let all: BTreeSet<&Element> = left.union(&right).collect();
    let telling = left.symmetric_difference(&right).chain(left.intersection(&right));
    let telling = telling.take(ELEMENTS_TRIED);
    let single = telling.flat_map(|element| [How::OnlyOne(element), How::AllBut(element)]);
    let random = (0..INPUTS_TRIED).map(How::Random);
    single.chain(core::iter::once(How::Ones)).chain(random).find_map(|how| {
        let mut draw = Draw { terms, how, known: BTreeMap::new() };
        draw.values(forms)?;
        let given = all.iter().map(|element| {
            let dtype = terms.identity(element.input)?.dtype;
            Some(((*element).clone(), draw.element(dtype, element).value))
        });
        given.collect()
    })
}

/// Every element that a term reads.
fn elements(terms: &Terms, placed: Placed) -> BTreeSet<Element> {
    let mut seen: BTreeSet<(TermId, u64)> = BTreeSet::new();
    let mut found = BTreeSet::new();
    let mut next = alloc::vec![placed];
    while let Some(Placed { term, at }) = next.pop() {
        if !seen.insert((term, at)) {
            continue;
        }
        match terms.get(term) {
            Some(Term::Atom { input, origin }) => {
                let origin = origin.clone();
                found.insert(Element { input: *input, origin, position: at });
            }
            Some(Term::Combined { parts, .. } | Term::Unnamed { parts, .. }) => {
                next.extend(parts.iter().map(|part| part.shifted(at)));
            }
            Some(of) => next.extend(of.parts().map(|term| Placed { term, at })),
            None => {}
        }
    }
    found
}

/// Whether a form is one sum, one minimum or one maximum of contributions.
fn is_flat(terms: &Terms, placed: PlacedForm) -> bool {
    let forms = terms.forms();
    let is_atom = |part: &PlacedForm| matches!(forms.get(part.form), Some(Form::Atom { .. }));
    let is_one = |part: &PlacedForm| matches!(forms.get(part.form), Some(Form::One(_)));
    match forms.get(placed.form) {
        Some(Form::Atom { .. } | Form::One(_)) => true,
        Some(Form::Sum { parts, .. }) => {
            parts.iter().all(|(part, _)| is_atom(&part) || is_one(&part))
        }
        // One alone differs from what it is of by an infinity at most, and none is drawn.
        Some(Form::Extreme { parts, .. }) => parts.len() > 1 && parts.iter().all(is_atom),
        _ => false,
    }
}

/// One input, and the values it gives to forms.
struct Draw<'a> {
    terms: &'a Terms,
    how: How<'a>,
    known: BTreeMap<PlacedForm, Option<Typed>>,
}

/// What an input is like.
#[derive(Clone, Copy)]
enum How<'a> {
    /// One element is 1, all others are 0.
    OnlyOne(&'a Element),
    /// One element is 0, all others are 1.
    AllBut(&'a Element),
    /// All are 1.
    Ones,
    /// Random, by a seed.
    Random(u64),
}

/// An exact value; integers are within their type.
#[derive(Clone, Debug, PartialEq)]
struct Typed {
    value: BigRational,
    dtype: Dtype,
}

/// Products of higher powers are not tried: their numbers only grow.
const HIGHEST_POWER: u64 = 64;

impl Draw<'_> {
    /// The values of two forms, if both have one and they differ.
    fn values(&mut self, forms: [PlacedForm; 2]) -> Option<[BigRational; 2]> {
        let [one, other] = forms.map(|form| self.value(form));
        let (one, other) = (one?, other?);
        (one != other).then_some([one.value, other.value])
    }

    fn value(&mut self, placed: PlacedForm) -> Option<Typed> {
        if let Some(value) = self.known.get(&placed) {
            return value.clone();
        }
        let value = self.fresh_value(placed);
        self.known.insert(placed, value.clone());
        value
    }

    fn fresh_value(&mut self, placed: PlacedForm) -> Option<Typed> {
        let PlacedForm { form, at } = placed;
        let terms = self.terms;
        let shifted = |part: &PlacedForm| terms.forms().shifted(*part, at);
        match terms.forms().get(form)? {
            Form::Atom { input, origin } => {
                let dtype = terms.identity(*input)?.dtype;
                let origin = origin.clone();
                Some(self.element(dtype, &Element { input: *input, origin, position: at }))
            }
            Form::One(dtype) => Some(Typed { value: BigRational::one(), dtype: *dtype }),
            Form::Sum { dtype, parts } => {
                let mut total = BigRational::zero();
                for (part, times) in parts.iter() {
                    total += self.value(shifted(&part))?.value * times;
                }
                Some(Typed::of(*dtype, total))
            }
            Form::Prod(parts) => {
                let mut product: Option<Typed> = None;
                for (part, power) in parts {
                    let Typed { value, dtype } = self.value(shifted(part))?;
                    let power = power.to_u64().filter(|power| *power <= HIGHEST_POWER)?;
                    let mut running = product.map_or_else(BigRational::one, |typed| typed.value);
                    for _ in 0..power {
                        running = Typed::of(dtype, running * &value).value;
                    }
                    product = Some(Typed { value: running, dtype });
                }
                product
            }
            Form::Extreme { how, parts } => {
                let mut best: Option<Typed> = None;
                for part in parts {
                    let next = self.value(shifted(part))?;
                    best = Some(match best {
                        Some(best) if *how == Combine::Max && next.value <= best.value => best,
                        Some(best) if *how == Combine::Min && next.value >= best.value => best,
                        _ => next,
                    });
                }
                best
            }
            Form::Divided { form, by } => {
                let Typed { value, dtype } = self.value(PlacedForm { form: *form, at })?;
                let quotient = (value / BigRational::from_integer((*by).into())).trunc();
                Some(Typed { value: quotient, dtype })
            }
            Form::Cast { form, to } => {
                let Typed { value, dtype } = self.value(PlacedForm { form: *form, at })?;
                let converted = match (value.is_integer(), to.is_float()) {
                    // Low bits of an integer; the nearest float; of a fraction nothing
                    // is claimed, since how it came about decides how it is cut.
                    (true, false) => value.clone(),
                    (_, true) => exact(nearest(*to, &value)?)?,
                    (false, false) => return None,
                };
                let converted = Typed::of(*to, converted.clone());
                // Nor of a float that the integer type does not hold.
                let held = !dtype.is_float() || to.is_float() || converted.value == value;
                held.then_some(converted)
            }
            Form::Times { .. } | Form::Unnamed { .. } => None,
        }
    }

    /// The value of an element, which depends on the draw and on the element alone.
    fn element(&self, dtype: Dtype, element: &Element) -> Typed {
        let one = |is: bool| if is { Typed { value: One::one(), dtype } } else { zero(dtype) };
        match self.how {
            How::OnlyOne(only) => one(only == element),
            How::AllBut(but) => one(but != element),
            How::Ones => one(true),
            How::Random(seed) => random(seed, dtype, element),
        }
    }
}

/// A value that depends on the seed and on the element alone.
fn random(seed: u64, dtype: Dtype, element: &Element) -> Typed {
    let mut mixer = Mixer(seed);
    element.hash(&mut mixer);
    let bits = mixer.finish();
    if seed % 2 == 1 {
        // Small enough for any type to hold what is converted to it, or whole after the
        // usual divisions: what a conversion to integers asks for. None and one, so that
        // products are small too; of either sign, since an unsigned type holds one.
        let value = BigInt::from(match seed % 8 {
            1 | 5 => (bits % 6).saturating_mul(12),
            3 => bits % 2,
            _ => bits % 6,
        });
        let is_signed = !matches!(dtype.class(), DtypeClass::Integer { signed: false, .. });
        let is_negative = seed % 8 == 5 && is_signed && bits >> 63 == 1;
        return element_near(dtype, if is_negative { -value } else { value });
    }
    if seed % 4 == 2 {
        // Too large for the narrow types and no trouble to the others: what tells a way
        // through a narrow type from a direct one, where both hold what comes out.
        return element_near(dtype, (bits % (1 << 12)).into());
    }
    let value = match Scalar::from_bits(dtype, bits).to_integer() {
        Some(integer) => BigInt::from(integer),
        // A float stands for a real number: some whole number of either sign that
        // the type holds.
        None => {
            let DtypeClass::Float { precision } = dtype.class() else { return zero(dtype) };
            BigInt::from(bits.cast_signed() >> 63_u32.saturating_sub(precision))
        }
    };
    Typed { value: BigRational::from_integer(value), dtype }
}

/// The element of a type that is nearest to a number, since e5m2 has neither 36 nor 60: of
/// integers modulo 2^w, of floats none where it is past the largest.
fn element_near(dtype: Dtype, number: BigInt) -> Typed {
    let number = BigRational::from_integer(number);
    if !dtype.is_float() {
        return Typed::of(dtype, number);
    }
    let value = nearest(dtype, &number).and_then(exact).unwrap_or_default();
    Typed { value, dtype }
}

fn zero(dtype: Dtype) -> Typed {
    Typed { value: BigRational::zero(), dtype }
}

impl Typed {
    /// The value as its type holds it: modulo 2^w, signed where the type is.
    fn of(dtype: Dtype, value: BigRational) -> Self {
        let value = within(dtype, value);
        let DtypeClass::Integer { signed: true, bits } = dtype.class() else {
            return Self { value, dtype };
        };
        let half = BigRational::from_integer(BigInt::one() << bits.saturating_sub(1));
        let wrapped = if value >= half { value - &half - half } else { value };
        Self { value: wrapped, dtype }
    }
}

/// A small hasher (FNV-1a with a final mix): the same everywhere, every time.
struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
