//! Every conversion that the element types lean on, against whole-number floats.
//!
//! Where the codes are few they are all tried; where they are many, all neighbours of
//! every tie.

use rankwise_model::reduction::Combine;
use rankwise_model::{Dtype, Element, ElementVisitor, GroupSize, Scalar};

use crate::arithmetic::{ByHalf, Kind, Plain, Steps, choose, kind, reciprocal};
use crate::draw::Dice;
use crate::soft::{self, F32, F64, Format, Number};

const NARROW: [Dtype; 4] = [Dtype::F8E4M3, Dtype::F8E5M2, Dtype::F16, Dtype::Bf16];

fn format(dtype: Dtype) -> Format {
    match kind(dtype) {
        Kind::Float(format) | Kind::Tiny(format) => format,
        Kind::Integer { .. } => panic!("{dtype} is no float"),
    }
}

/// `T::from_f64(…).to_bits()`, with a NaN made canonical.
fn narrowed(dtype: Dtype, value: f64) -> u64 {
    struct FromF64(f64);
    impl ElementVisitor for FromF64 {
        type Output = u64;
        fn visit<T: Element>(self) -> u64 {
            T::from_f64(self.0).canonical().to_bits()
        }
    }
    dtype.visit(FromF64(value))
}

/// The bits of the `f64` nearest to a code.
fn widened(dtype: Dtype, bits: u64) -> u64 {
    soft::convert(format(dtype), F64, bits)
}

#[track_caller]
fn narrows_right(dtype: Dtype, wide: u64) {
    let expected = soft::convert(F64, format(dtype), wide);
    let found = narrowed(dtype, f64::from_bits(wide));
    assert_eq!(found, expected, "{dtype} of {:e} ({wide:#018x})", f64::from_bits(wide));
}

#[test]
fn every_code_widens_to_its_value() {
    // pins: AR-12
    for dtype in NARROW {
        for bits in 0..1_u64 << format(dtype).width() {
            let found = Scalar::from_bits(dtype, bits).to_f64();
            if format(dtype).decode(bits) == Number::Nan {
                assert!(found.is_nan(), "{dtype} {bits:#x}");
            } else {
                assert_eq!(found.to_bits(), widened(dtype, bits), "{dtype} {bits:#x}");
            }
        }
    }
}

#[test]
fn every_binary16_narrows_to_fp8() {
    // pins: AR-4
    for dtype in [Dtype::F8E4M3, Dtype::F8E5M2] {
        for half in 0..1_u64 << 16 {
            narrows_right(dtype, soft::convert(soft::F16, F64, half));
        }
    }
}

/// Between any two neighbours: the tie, just below and just above it in binary64
/// (where only the lowest bit tells), and the values themselves.
#[test]
fn every_tie_rounds_to_even_and_nothing_else_is_a_tie() {
    // pins: AR-12
    for dtype in NARROW {
        let format = format(dtype);
        for code in 0..format.largest_finite() {
            let low = f64::from_bits(widened(dtype, code));
            let high = f64::from_bits(widened(dtype, code + 1));
            let tie = f64::midpoint(low, high);
            for value in [low, low.next_up(), tie.next_down(), tie, tie.next_up(), high.next_down()]
            {
                narrows_right(dtype, value.to_bits());
                narrows_right(dtype, (-value).to_bits());
            }
        }
    }
}

#[test]
fn past_the_largest_value_types_differ() {
    // pins: AR-12
    for dtype in NARROW {
        let largest = f64::from_bits(widened(dtype, format(dtype).largest_finite()));
        // One more step would be as wide as the last one before.
        let below = f64::from_bits(widened(dtype, format(dtype).largest_finite() - 1));
        let tie = largest + (largest - below) / 2.0;
        for value in [
            largest.next_up(),
            tie.next_down(),
            tie,
            tie.next_up(),
            2.0 * largest,
            f64::from(f32::MAX),
            f64::MAX,
            f64::INFINITY,
            f64::NAN,
            f64::from_bits(0x7ff0_0000_0000_0001),
            f64::from_bits(0xfff0_0000_ffff_ffff),
            f64::MIN_POSITIVE,
            f64::from_bits(1),
            0.0,
        ] {
            narrows_right(dtype, value.to_bits());
            narrows_right(dtype, (-value).to_bits());
        }
    }
    // By hand: fp8 has no way past its largest value, not even from infinity.
    assert_eq!(narrowed(Dtype::F8E4M3, f64::INFINITY), 0x7e);
    assert_eq!(narrowed(Dtype::F8E5M2, f64::NEG_INFINITY), 0xfb);
    assert_eq!(narrowed(Dtype::F16, 65520.0), 0x7c00);
    assert_eq!(narrowed(Dtype::F16, 65519.0), 0x7bff);
    assert_eq!(narrowed(Dtype::F8E4M3, f64::NAN), 0x7f);
    assert_eq!(narrowed(Dtype::F8E5M2, -f64::NAN), 0x7f);
}

#[test]
fn binary64_narrows_to_binary32() {
    // pins: AR-12
    let mut dice = Dice::new(12);
    for _ in 0..200_000 {
        let low = dice.element(Dtype::F32);
        let value = f64::from_bits(soft::convert(F32, F64, low));
        let next = f64::from_bits(soft::convert(F32, F64, low + 1));
        let tie = f64::midpoint(value, next);
        for value in [value, tie, tie.next_up(), tie.next_down(), f64::from_bits(dice.bits())] {
            narrows_right(Dtype::F32, value.to_bits());
        }
    }
}

/// A wide integer becomes a narrow float by one rounding.
#[test]
fn integers_convert_to_floats_in_one_rounding() {
    // pins: AR-12
    let mut dice = Dice::new(64);
    let targets = Dtype::ALL.into_iter().filter(|dtype| dtype.is_float());
    for dtype in targets {
        for _ in 0..20_000 {
            // A tie of the narrow type with or without a last bit set.
            let shift = dice.below(60);
            let tie = (dice.bits() | 1 << 63) >> shift;
            let kept = u32::min(format(dtype).mantissa + 2, 63);
            let masked = tie & !(u64::MAX >> 1 >> (shift + kept as usize).min(63));
            let value = masked | u64::from(dice.one_in(2));
            for from in [Dtype::U64, Dtype::I64] {
                let signed = value.cast_signed();
                let (negative, magnitude) = match from {
                    Dtype::I64 => (signed < 0, signed.unsigned_abs()),
                    _ => (false, value),
                };
                let mantissa = u128::from(magnitude);
                let number = Number::Finite { negative, mantissa, exponent: 0 };
                let expected = format(dtype).encode(number);
                let found = Scalar::from_bits(from, value).convert(dtype).bits();
                assert_eq!(found, expected, "{dtype} of {from} {value:#x}");
            }
        }
    }
}

fn combined(dtype: Dtype, how: Combine, a: u64, b: u64) -> u64 {
    let (a, b) = (Scalar::from_bits(dtype, a), Scalar::from_bits(dtype, b));
    a.combine(how, b).unwrap().bits()
}

fn naive(steps: &impl Steps, how: Combine, a: u64, b: u64) -> u64 {
    match how {
        Combine::Sum => steps.add(a, b),
        Combine::Prod => steps.multiply(a, b),
        Combine::Max => choose(steps, a, b, true),
        Combine::Min => choose(steps, a, b, false),
    }
}

const STEPS: [Combine; 4] = [Combine::Sum, Combine::Prod, Combine::Max, Combine::Min];

#[track_caller]
fn combines_right(dtype: Dtype, a: u64, b: u64) {
    for how in STEPS {
        let expected = match kind(dtype) {
            Kind::Tiny(format) => naive(&ByHalf(format), how, a, b),
            _ => naive(&Plain(format(dtype)), how, a, b),
        };
        assert_eq!(combined(dtype, how, a, b), expected, "{dtype}: {how:?} of {a:#x} and {b:#x}");
    }
}

#[test]
fn every_pair_of_fp8_codes_combines() {
    // pins: AR-4, AR-7, AR-8
    for dtype in [Dtype::F8E4M3, Dtype::F8E5M2] {
        for a in 0..256 {
            for b in 0..256 {
                combines_right(dtype, a, b);
            }
        }
    }
}

#[test]
fn every_16_bit_code_combines_with_the_special_ones() {
    // pins: AR-7, AR-8, AR-11
    let mut dice = Dice::new(16);
    for dtype in [Dtype::F16, Dtype::Bf16] {
        let format = format(dtype);
        let one = soft::convert(soft::E5M2, format, 0x3c);
        let special = [0, 1, one, format.largest_finite(), format.infinity(), format.nan() - 1];
        let signed = special.map(|bits| bits | format.sign_bit());
        for a in 0..1 << 16 {
            for b in special.into_iter().chain(signed).chain([dice.element(dtype)]) {
                combines_right(dtype, a, b);
            }
        }
    }
}

#[test]
fn reciprocals_round_to_binary32_first() {
    // pins: AR-6
    for dtype in Dtype::ALL.into_iter().filter(|dtype| dtype.is_float()) {
        let one = Scalar::parse(dtype, "1").unwrap().scalar;
        for ranks in (1..=2048).chain([4096, 65_535, 704_555, 1 << 20, 16_777_217, u32::MAX]) {
            let found = one.average_before(GroupSize::new(ranks).unwrap()).bits();
            assert_eq!(found, reciprocal(format(dtype), ranks), "{dtype}: 1/{ranks}");
        }
    }
}

/// The oracle itself, where the machine's own binary32 and binary64 can be asked.
#[test]
#[allow(clippy::cast_possible_truncation)] // the narrow type's bits stand in the low half
fn the_oracle_rounds_as_the_machine_does() {
    let mut dice = Dice::new(32);
    for _ in 0..100_000 {
        let (a, b) = (dice.element(Dtype::F32), dice.element(Dtype::F32));
        let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
        for (machine, oracle) in [(x + y, F32.add(a, b)), (x * y, F32.multiply(a, b))] {
            let machine = if machine.is_nan() { F32.nan() } else { machine.to_bits().into() };
            assert_eq!(oracle, machine, "{x:e} and {y:e}");
        }
        let (a, b) = (dice.element(Dtype::F64), dice.element(Dtype::F64));
        let (x, y) = (f64::from_bits(a), f64::from_bits(b));
        for (machine, oracle) in [(x + y, F64.add(a, b)), (x * y, F64.multiply(a, b))] {
            let machine = if machine.is_nan() { F64.nan() } else { machine.to_bits() };
            assert_eq!(oracle, machine, "{x:e} and {y:e}");
        }
        let ranks = dice.bits() as u32 | 1;
        assert_eq!(F64.reciprocal(ranks), (1.0 / f64::from(ranks)).to_bits());
    }
}
