//! Whether two normal forms really differ.
//!
//! The laws of [`form`](crate::form) are complete for sums of contributions and for
//! minima and maxima of them: two such forms that are written differently differ for
//! some input. Where folds of different kinds are nested, laws that are not applied
//! may still make them equal (`min(a, max(a, b))` is `a`). Then a difference is
//! claimed only with a witness: an input for which the values differ.

use alloc::collections::BTreeMap;
use core::hash::{Hash, Hasher};

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive, Zero};
use rankwise_model::{Combine, Dtype, DtypeClass, Scalar};

use crate::form::{Form, PlacedForm, exact, nearest, within};
use crate::term::Terms;

/// How many random inputs are tried.
pub const INPUTS_TRIED: u64 = 64;

/// Whether two forms that are not written alike are known to differ.
pub(crate) fn known_to_differ(terms: &Terms, one: PlacedForm, other: PlacedForm) -> bool {
    if is_flat(terms, one) && is_flat(terms, other) {
        return true;
    }
    (0..INPUTS_TRIED).any(|seed| {
        let mut draw = Draw { terms, seed, known: BTreeMap::new() };
        match (draw.value(one), draw.value(other)) {
            (Some(one), Some(other)) => one != other,
            _ => false,
        }
    })
}

/// Whether a form is one sum, one minimum or one maximum of contributions.
fn is_flat(terms: &Terms, placed: PlacedForm) -> bool {
    let forms = terms.forms();
    let is_atom = |part: &PlacedForm| matches!(forms.get(part.form), Some(Form::Atom { .. }));
    match forms.get(placed.form) {
        Some(Form::Atom { .. }) => true,
        Some(Form::Sum { parts, .. }) => parts.keys().all(is_atom),
        Some(Form::Extreme { parts, .. }) => parts.iter().all(is_atom),
        _ => false,
    }
}

/// One random input, and the values it gives to forms.
struct Draw<'a> {
    terms: &'a Terms,
    seed: u64,
    known: BTreeMap<PlacedForm, Option<Typed>>,
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
                Some(self.random(dtype, &(input, origin, at)))
            }
            Form::Sum { dtype, parts } => {
                let mut total = BigRational::zero();
                for (part, times) in parts {
                    total += self.value(shifted(part))?.value * times;
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
                let Typed { value, .. } = self.value(PlacedForm { form: *form, at })?;
                let converted = match (value.is_integer(), to.is_float()) {
                    // Low bits of an integer; the nearest float; of a fraction nothing
                    // is claimed, since how it came about decides how it is cut.
                    (true, false) => value,
                    (_, true) => exact(nearest(*to, &value)?)?,
                    (false, false) => return None,
                };
                Some(Typed::of(*to, converted))
            }
            Form::Times { .. } | Form::Unnamed { .. } => None,
        }
    }

    /// A value that depends on the seed and on `key` alone.
    fn random(&self, dtype: Dtype, key: &impl Hash) -> Typed {
        let mut mixer = Mixer(self.seed);
        key.hash(&mut mixer);
        let bits = mixer.finish();
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
