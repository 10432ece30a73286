//! The arithmetic rules, each with values worked out by hand.
//!
//! Bit patterns are written in full where the bits are the point.

use float8::{F8E4M3, F8E5M2};
use half::{bf16, f16};
use rankwise_model::reduction::Combine;
use rankwise_model::{Dtype, Element, GroupSize, Layout, Operation, Reduction, Scalar, reference};

const SUM: Reduction = Reduction::Sum;
const PROD: Reduction = Reduction::Prod;
const MAX: Reduction = Reduction::Max;
const MIN: Reduction = Reduction::Min;
const AVG: Reduction = Reduction::Avg;

fn size(ranks: usize) -> GroupSize {
    GroupSize::new(u32::try_from(ranks).unwrap()).unwrap()
}

/// The fold of one position, rank 0's contribution first.
fn fold<T: Element>(reduction: Reduction, contributions: &[T]) -> T {
    fold_with(reduction, &[], contributions)
}

fn fold_with<T: Element>(reduction: Reduction, scalars: &[T], contributions: &[T]) -> T {
    let operation = Operation::Reduce { reduction, root: GroupSize::ONE.first() };
    let layout = Layout::new(operation, size(contributions.len()), 1).unwrap();
    let inputs: Vec<&[T]> = contributions.chunks(1).collect();
    let mut result = contributions[0];
    let mut outputs: Vec<&mut [T]> = contributions.iter().map(|_| [].as_mut_slice()).collect();
    outputs[0] = std::slice::from_mut(&mut result);
    reference::evaluate(&layout, scalars, &inputs, &mut outputs).unwrap();
    result
}

/// The same on bit patterns.
fn bits<T: Element>(reduction: Reduction, contributions: &[u64]) -> u64 {
    let contributions: Vec<T> = contributions.iter().map(|bits| T::from_bits(*bits)).collect();
    fold(reduction, &contributions).to_bits()
}

// pins: AR-1
#[test]
fn integers_wrap() {
    assert_eq!(fold(SUM, &[100_i8, 100]), -56); // 200 − 256
    assert_eq!(fold(SUM, &[200_u8, 100]), 44); // 300 − 256
    assert_eq!(fold(SUM, &[100_i8; 4]), -112); // 400 − 512
    assert_eq!(fold(SUM, &[i32::MAX, 1, 0]), i32::MIN);
    assert_eq!(fold(SUM, &[u32::MAX, 5]), 4);
    assert_eq!(fold(SUM, &[i64::MIN, i64::MIN]), 0);
    assert_eq!(fold(SUM, &[u64::MAX, 2]), 1);
    assert_eq!(fold(PROD, &[16_i8, 16]), 0); // 256
    assert_eq!(fold(PROD, &[100_u8, 3]), 44); // 300 − 256
    assert_eq!(fold(PROD, &[i64::MAX, 2]), -2);
    assert_eq!(fold(PROD, &[65_536_i32, 65_536, 7]), 0); // 2^32 · 7
    assert_eq!(fold(PROD, &[65_537_u32, 65_537]), 131_073); // 2^32 + 2^17 + 1
}

// pins: AR-2
#[test]
fn integers_are_compared_as_what_they_are() {
    assert_eq!(fold(MAX, &[-128_i8, 127, -1]), 127);
    assert_eq!(fold(MAX, &[128_u8, 127, 255]), 255);
    assert_eq!(fold(MIN, &[200_u8, 100]), 100);
    // The same two patterns, signed: 200 is −56.
    assert_eq!(fold(MIN, &[-56_i8, 100]), -56);
    assert_eq!(fold(MIN, &[i64::MIN, 0]), i64::MIN);
    assert_eq!(fold(MAX, &[u64::MAX, 1 << 63]), u64::MAX);
    // Neighbours that binary64 cannot tell apart.
    assert_eq!(fold(MAX, &[i64::MAX - 1, i64::MAX]), i64::MAX);
    assert_eq!(fold(MIN, &[u64::MAX, u64::MAX - 1]), u64::MAX - 1);
}

// pins: AR-3
#[test]
fn an_integer_average_is_divided_once_after_the_wrapped_sum() {
    assert_eq!(fold(AVG, &[1_i32, 2]), 1);
    assert_eq!(fold(AVG, &[-1_i32, -2]), -1); // −1.5 toward zero, not −2
    assert_eq!(fold(AVG, &[100_i8, 100]), -28); // −56 / 2
    assert_eq!(fold(AVG, &[100_i8; 4]), -28); // −112 / 4
    assert_eq!(fold(AVG, &[100_u8; 4]), 36); // 144 / 4
    assert_eq!(fold(AVG, &[200_u8, 100]), 22); // 44 / 2
    assert_eq!(fold(AVG, &[i32::MAX, 1, 0]), -715_827_882); // −2^31 / 3
    assert_eq!(fold(AVG, &[u64::MAX, 2, 7]), 2); // 8 / 3
    // Where a float reciprocal, truncated, gives 0.
    for ranks in [25, 29, 31, 41, 43, 49] {
        assert_eq!(fold(AVG, &vec![1_i32; ranks]), 1, "{ranks} ranks of 1");
    }
    // More ranks than the type can hold: the sum of 300 ones is 44, and 44 / 300 is 0.
    assert_eq!(fold(AVG, &[1_u8; 300]), 0);
}

// pins: AR-3
#[test]
fn an_average_of_integer_averages_is_another_number() {
    assert_eq!(fold(AVG, &[1_i32, 2, 2, 3]), 2); // 8 / 4
    let halves = [fold(AVG, &[1_i32, 2]), fold(AVG, &[2_i32, 3])];
    assert_eq!(halves, [1, 2]);
    assert_eq!(fold(AVG, &halves), 1); // 3 / 2
}

// pins: AR-4
#[test]
fn fp8_saturates_at_every_step() {
    assert_eq!(bits::<F8E4M3>(SUM, &[0x7e, 0x7e]), 0x7e);
    assert_eq!(bits::<F8E4M3>(PROD, &[0x7e, 0xfe]), 0xfe); // −200704, past binary16 too
    // 448 + 448 stops at 448; less 448 leaves 0, not 448.
    assert_eq!(bits::<F8E4M3>(SUM, &[0x7e, 0x7e, 0xfe]), 0x00);
    assert_eq!(bits::<F8E5M2>(SUM, &[0x7b, 0x7b]), 0x7b);
    assert_eq!(bits::<F8E5M2>(PROD, &[0xfb, 0x7b]), 0xfb);
    // 1 + 1/16 is a tie between 1 and 1.125, and 1.125 + 1/16 between it and 1.25.
    assert_eq!(bits::<F8E4M3>(SUM, &[0x38, 0x18]), 0x38);
    assert_eq!(bits::<F8E4M3>(SUM, &[0x39, 0x18]), 0x3a);
}

// pins: AR-4
#[test]
fn the_infinity_of_e5m2_leaves_no_combining_step() {
    const INF: u64 = 0x7c;
    const LARGEST: u64 = 0x7b;
    const ONE: u64 = 0x3c;
    for (reduction, contributions, expected) in [
        (SUM, [INF, ONE], LARGEST),
        (PROD, [INF, ONE | 0x80], LARGEST | 0x80),
        (MAX, [ONE, INF], LARGEST),
        (MAX, [INF, INF], LARGEST),
        (MIN, [INF | 0x80, ONE], LARGEST | 0x80),
        (MIN, [INF, ONE], ONE),
        (AVG, [INF, ONE], LARGEST),
        (SUM, [INF, INF | 0x80], 0x7f), // the operands are infinities: a NaN
    ] {
        assert_eq!(bits::<F8E5M2>(reduction, &contributions), expected, "{reduction}");
    }
    // One rank combines nothing; its average multiplies by 1 all the same.
    assert_eq!(bits::<F8E5M2>(MAX, &[INF]), INF);
    assert_eq!(bits::<F8E5M2>(SUM, &[INF]), INF);
    assert_eq!(bits::<F8E5M2>(AVG, &[INF]), LARGEST);
}

// pins: AR-5
#[test]
fn a_float_average_multiplies_before_it_adds() {
    // Two halves of the largest value do not overflow; their sum would.
    assert_eq!(fold(AVG, &[f32::MAX, f32::MAX]).to_bits(), f32::MAX.to_bits());
    assert_eq!(bits::<f16>(AVG, &[0x7bff, 0x7bff]), 0x7bff);
    assert_eq!(bits::<F8E4M3>(AVG, &[0x7e, 0x7e]), 0x7e);
    // 1/7 in bf16 is 0.142578125; seven of them, each sum rounded, are 0.9921875.
    let ones = vec![bf16::ONE; 7];
    assert_eq!(fold(AVG, &ones).to_f64().to_bits(), 0.992_187_5_f64.to_bits());
    // Three contributions of the smallest subnormal: each third of it is 0.
    assert_eq!(bits::<f32>(AVG, &[1, 1, 1]), 0);
    // From 1024 ranks on, 1/n in e4m3 is 0, and so is every average.
    assert_eq!(bits::<F8E4M3>(AVG, &[0x7e; 1024]), 0x00);
    // 1/1000 is 2^-9 there: each 448 becomes 0.875, and 16 + 0.875 is 16 again.
    assert_eq!(bits::<F8E4M3>(AVG, &[0x7e; 1000]), 0x58);
}

/// `T(1/n)`, as the library itself forms it: n, f16, bf16, f32, e4m3, e5m2.
const RECIPROCALS: [(u32, [u64; 5]); 16] = [
    (1, [0x3c00, 0x3f80, 0x3f80_0000, 0x38, 0x3c]),
    (2, [0x3800, 0x3f00, 0x3f00_0000, 0x30, 0x38]),
    (3, [0x3555, 0x3eab, 0x3eaa_aaab, 0x2b, 0x35]),
    (4, [0x3400, 0x3e80, 0x3e80_0000, 0x28, 0x34]),
    (5, [0x3266, 0x3e4d, 0x3e4c_cccd, 0x25, 0x32]),
    (6, [0x3155, 0x3e2b, 0x3e2a_aaab, 0x23, 0x31]),
    (7, [0x3092, 0x3e12, 0x3e12_4925, 0x21, 0x31]),
    (8, [0x3000, 0x3e00, 0x3e00_0000, 0x20, 0x30]),
    (12, [0x2d55, 0x3dab, 0x3daa_aaab, 0x1b, 0x2d]),
    (16, [0x2c00, 0x3d80, 0x3d80_0000, 0x18, 0x2c]),
    (24, [0x2955, 0x3d2b, 0x3d2a_aaab, 0x13, 0x29]),
    (64, [0x2400, 0x3c80, 0x3c80_0000, 0x08, 0x24]),
    (96, [0x2155, 0x3c2b, 0x3c2a_aaab, 0x05, 0x21]),
    (512, [0x1800, 0x3b00, 0x3b00_0000, 0x01, 0x18]),
    (1000, [0x1419, 0x3a83, 0x3a83_126f, 0x01, 0x14]),
    (1024, [0x1400, 0x3a80, 0x3a80_0000, 0x00, 0x14]),
];

// pins: AR-6
#[test]
fn the_reciprocal_is_the_librarys() {
    let types = [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F8E4M3, Dtype::F8E5M2];
    for (ranks, expected) in RECIPROCALS {
        let ranks = GroupSize::new(ranks).unwrap();
        for (dtype, expected) in types.into_iter().zip(expected) {
            let one = Scalar::parse(dtype, "1").unwrap().scalar;
            assert_eq!(one.average_before(ranks).bits(), expected, "{dtype}: 1/{ranks}");
        }
    }
    // Two roundings show where 1/n is just above a tie of the type: 381 · 704555 is
    // 2^28 − 1, so binary32 has 190.5 · 2^-27 exactly, and bf16 takes 190, not 191.
    let many = GroupSize::new(704_555).unwrap();
    assert_eq!(bf16::ONE.average_before(many).to_bits(), 0x35be);
    // binary64 divides by itself, and not through binary32.
    let third = 1.0_f64.average_before(GroupSize::new(3).unwrap());
    assert_eq!(third.to_bits(), 0x3fd5_5555_5555_5555);
    let tenth = 1.0_f64.average_before(GroupSize::new(10).unwrap());
    assert_eq!(tenth.to_bits(), 0x3fb9_9999_9999_999a);
}

/// The rules of min and max in one type: bits of 1, 3, 4, −1, a NaN with a payload.
#[track_caller]
fn min_and_max<T: Element>([one, three, four, minus_one, nan]: [u64; 5], canonical: u64) {
    let minus_zero = one ^ minus_one;
    assert_eq!(bits::<T>(MIN, &[one, nan, three, four]), one);
    assert_eq!(bits::<T>(MIN, &[four, three, nan, one]), one);
    assert_eq!(bits::<T>(MAX, &[one, nan, three, four]), four);
    assert_eq!(bits::<T>(MAX, &[minus_one, nan]), minus_one);
    assert_eq!(bits::<T>(MAX, &[nan, minus_one]), minus_one);
    assert_eq!(bits::<T>(MAX, &[nan, nan, nan]), canonical);
    assert_eq!(bits::<T>(MIN, &[nan, nan]), canonical);
    for pair in [[0, minus_zero], [minus_zero, 0]] {
        assert_eq!(bits::<T>(MIN, &pair), minus_zero);
        assert_eq!(bits::<T>(MAX, &pair), 0);
    }
}

// pins: AR-7
#[test]
fn min_and_max_ignore_nan_and_order_the_zeros() {
    min_and_max::<f16>([0x3c00, 0x4200, 0x4400, 0xbc00, 0xfc01], 0x7fff);
    min_and_max::<bf16>([0x3f80, 0x4040, 0x4080, 0xbf80, 0x7f81], 0x7fff);
    min_and_max::<F8E4M3>([0x38, 0x44, 0x48, 0xb8, 0xff], 0x7f);
    min_and_max::<F8E5M2>([0x3c, 0x42, 0x44, 0xbc, 0x7d], 0x7f);
    let single = [0x3f80_0000, 0x4040_0000, 0x4080_0000, 0xbf80_0000, 0xff80_0001];
    min_and_max::<f32>(single, 0x7fff_ffff);
    let double = [1.0, 3.0, 4.0, -1.0, 0.0].map(f64::to_bits);
    let double = [double[0], double[1], double[2], double[3], 0x7ff0_0000_0000_0001];
    min_and_max::<f64>(double, 0x7fff_ffff_ffff_ffff);
}

// pins: AR-8
#[test]
fn a_nan_result_is_the_canonical_one() {
    let inf = f32::INFINITY;
    for contributions in [[1.0, f32::NAN], [inf, -inf], [-f32::NAN, 1.0]] {
        assert_eq!(fold(SUM, &contributions).to_bits(), 0x7fff_ffff, "{contributions:?}");
    }
    assert_eq!(fold(PROD, &[0.0, -inf]).to_bits(), 0x7fff_ffff);
    assert_eq!(bits::<f64>(SUM, &[0xfff0_0000_dead_beef, 0]), 0x7fff_ffff_ffff_ffff);
    assert_eq!(bits::<f16>(SUM, &[0x7c00, 0xfc00]), 0x7fff);
    assert_eq!(bits::<bf16>(PROD, &[0x7f80, 0x8000]), 0x7fff);
    assert_eq!(bits::<F8E4M3>(SUM, &[0xff, 0x38]), 0x7f);
    assert_eq!(bits::<F8E5M2>(PROD, &[0xfd, 0x3c]), 0x7f);
    // Of one rank too: a fold of one is a fold.
    assert_eq!(bits::<f16>(SUM, &[0xfc01]), 0x7fff);
}

// pins: AR-8
#[test]
fn what_is_moved_keeps_every_bit() {
    let layout = Layout::new(Operation::AllGather, size(2), 2).unwrap();
    let patterns: [[u16; 2]; 2] = [[0x7c01, 0xfdff], [0x8000, 0x0001]];
    let inputs = patterns.map(|input| input.map(f16::from_bits));
    let (mut on_0, mut on_1) = ([f16::ONE; 4], [f16::ONE; 4]);
    let outputs: &mut [&mut [f16]] = &mut [&mut on_0, &mut on_1];
    reference::evaluate(&layout, &[], &[&inputs[0], &inputs[1]], outputs).unwrap();
    for output in [on_0, on_1] {
        assert_eq!(output.map(f16::to_bits), [0x7c01, 0xfdff, 0x8000, 0x0001]);
    }
}

// pins: AR-9
#[test]
fn a_fold_starts_at_rank_0_and_rounds_at_every_step() {
    // 10^8 + 1 is 10^8 in binary32, whose step there is 8.
    assert_eq!(fold(SUM, &[1e8_f32, 1.0, -1e8]).to_bits(), 0.0_f32.to_bits());
    assert_eq!(fold(SUM, &[1e8_f32, -1e8, 1.0]).to_bits(), 1.0_f32.to_bits());
    // 2048 + 1 is a tie in binary16 and stays; 1 + 1 first makes 2050.
    assert_eq!(bits::<f16>(SUM, &[0x6800, 0x3c00, 0x3c00]), 0x6800);
    assert_eq!(bits::<f16>(SUM, &[0x3c00, 0x3c00, 0x6800]), 0x6801);
    // 2^70 · 2^70 is past binary32; · 2^-100 does not bring it back.
    let (big, small) = (f32::from_bits(0x6280_0000), f32::from_bits(0x0d80_0000));
    assert_eq!(fold(PROD, &[big, big, small]).to_bits(), f32::INFINITY.to_bits());
    assert_eq!(fold(PROD, &[big, small, big]).to_bits(), 0x5380_0000); // 2^40
}

// pins: AR-10
#[test]
fn a_premultiplied_product_is_rounded_before_it_is_added() {
    let halves = [bf16::from_f32(0.5); 2];
    let inputs = [bf16::from_f32(1.0), bf16::from_f32(2.0)];
    assert_eq!(fold_with(Reduction::PreMulSum, &halves, &inputs), bf16::from_f32(1.5));
    // (1 + 2^-12)² is 1 + 2^-11 + 2^-24, a tie that loses its last bit. Less
    // 1 + 2^-11 nothing is left; one rounding for both steps would leave 2^-24.
    let close = 1.0 + 2.0_f32.powi(-12);
    let scalars = [1.0, close];
    let inputs = [-(1.0 + 2.0_f32.powi(-11)), close];
    assert_eq!(fold_with(Reduction::PreMulSum, &scalars, &inputs).to_bits(), 0);
    // Integers wrap in the product and in the sum: 100·3 is 44, and 44 + 100·2 is −12.
    assert_eq!(fold_with(Reduction::PreMulSum, &[3_i8, 2], &[100, 100]), -12);
}

// pins: AR-11
#[test]
fn subnormals_are_kept() {
    assert_eq!(bits::<f32>(SUM, &[1, 1]), 2);
    assert_eq!(bits::<f64>(SUM, &[1, 2]), 3);
    assert_eq!(bits::<f16>(SUM, &[1, 0x03ff]), 0x0400); // into the normal ones
    assert_eq!(bits::<bf16>(SUM, &[0x0080, 0x8001]), 0x007f); // and out of them
    assert_eq!(bits::<F8E4M3>(SUM, &[1, 1]), 2);
    assert_eq!(bits::<F8E5M2>(SUM, &[3, 2]), 5);
    // Half of one step is a tie and goes to 0; half of three steps goes to two.
    assert_eq!(bits::<f32>(PROD, &[1, 0x3f00_0000]), 0);
    assert_eq!(bits::<f32>(PROD, &[3, 0x3f00_0000]), 2);
    assert_eq!(bits::<bf16>(PROD, &[3, 0x3f00]), 2);
    assert_eq!(bits::<f16>(PROD, &[3, 0x3800]), 2);
}

// pins: AR-12
#[test]
fn values_come_into_a_type_by_its_own_rule() {
    // Integers: toward zero, to the nearest end, and 0 for a NaN.
    assert_eq!(i8::from_f64(-1.9), -1);
    assert_eq!(i8::from_f64(300.7), 127);
    assert_eq!(u8::from_f64(-3.0), 0);
    assert_eq!(u64::from_f64(f64::INFINITY), u64::MAX);
    assert_eq!(<i32 as Element>::from_f64(f64::NAN), 0);
    // Floats: to nearest, ties to even. The largest half-precision value is 65504 and
    // the next step would be 65536: the tie between them is already infinite.
    assert_eq!(<f16 as Element>::from_f64(65_519.0).to_bits(), 0x7bff);
    assert_eq!(<f16 as Element>::from_f64(65_520.0).to_bits(), 0x7c00);
    assert_eq!(<f16 as Element>::from_f64(2.0_f64.powi(-25)).to_bits(), 0);
    assert_eq!(<f16 as Element>::from_f64(3.0 * 2.0_f64.powi(-25)).to_bits(), 2);
    // A hair above a tie is no tie, however thin.
    let hair = 2.0_f64.powi(-52);
    assert_eq!(<f16 as Element>::from_f64(1.0 + 2.0_f64.powi(-11)).to_bits(), 0x3c00);
    assert_eq!(<f16 as Element>::from_f64(1.0 + 2.0_f64.powi(-11) + hair).to_bits(), 0x3c01);
    assert_eq!(<bf16 as Element>::from_f64(1.0 + 2.0_f64.powi(-8)).to_bits(), 0x3f80);
    assert_eq!(<bf16 as Element>::from_f64(1.0 + 2.0_f64.powi(-8) + hair).to_bits(), 0x3f81);
    // fp8: the largest value instead of anything past it. 464 is the tie past 448.
    assert_eq!(<F8E4M3 as Element>::from_f64(464.0).to_bits(), 0x7e);
    assert_eq!(<F8E4M3 as Element>::from_f64(-1e300).to_bits(), 0xfe);
    assert_eq!(<F8E5M2 as Element>::from_f64(f64::INFINITY).to_bits(), 0x7b);
    assert_eq!(<F8E5M2 as Element>::from_f64(61_440.0).to_bits(), 0x7b);
    // A 64-bit integer, once: 2^60 + 2^52 is a tie in bf16, one more is not.
    let tie = Scalar::of((1_i64 << 60) + (1 << 52));
    let above = Scalar::of((1_i64 << 60) + (1 << 52) + 1);
    assert_eq!(tie.convert(Dtype::Bf16).bits(), 0x5d80);
    assert_eq!(above.convert(Dtype::Bf16).bits(), 0x5d81);
    // Between integers the low bits count, as in C and NumPy.
    assert_eq!(Scalar::of(300_i32).convert(Dtype::U8), Scalar::of(44_u8));
    assert_eq!(Scalar::of(-1_i8).convert(Dtype::U32), Scalar::of(u32::MAX));
}

// pins: AR-13
#[test]
fn wider_floats_overflow_to_infinity_and_zeros_keep_their_sign() {
    assert_eq!(bits::<f16>(SUM, &[0x7bff, 0x7bff]), 0x7c00);
    assert_eq!(bits::<f16>(SUM, &[0x7bff, 0x4b80]), 0x7bff); // 65504 + 15
    assert_eq!(bits::<f16>(SUM, &[0x7bff, 0x4c00]), 0x7c00); // 65504 + 16, the tie
    assert_eq!(bits::<bf16>(SUM, &[0xff7f, 0xff7f]), 0xff80);
    assert_eq!(fold(SUM, &[f32::MAX, f32::MAX]).to_bits(), f32::INFINITY.to_bits());
    assert_eq!(fold(PROD, &[f64::MAX, -2.0]).to_bits(), f64::NEG_INFINITY.to_bits());
    assert_eq!(bits::<f16>(SUM, &[0x8000, 0x8000]), 0x8000); // −0 + −0
    assert_eq!(bits::<f16>(SUM, &[0x8000, 0x0000]), 0x0000); // −0 + +0
    assert_eq!(bits::<f16>(SUM, &[0x3c00, 0xbc00]), 0x0000); // 1 − 1
    assert_eq!(bits::<f16>(PROD, &[0xbc00, 0x0000]), 0x8000); // −1 · 0
}

#[track_caller]
fn identity_leaves<T: Element>(values: &[u64]) {
    for how in [Combine::Sum, Combine::Prod, Combine::Max, Combine::Min] {
        for bits in values {
            let (value, identity) = (T::from_bits(*bits), T::identity(how));
            assert_eq!(identity.combine(how, value).to_bits(), *bits, "{how:?}");
            assert_eq!(value.combine(how, identity).to_bits(), *bits, "{how:?}");
        }
    }
}

// pins: AR-14
#[test]
fn an_identity_changes_nothing() {
    identity_leaves::<i8>(&[0, 1, 0x7f, 0x80, 0xff]);
    identity_leaves::<u8>(&[0, 1, 0x7f, 0x80, 0xff]);
    identity_leaves::<i64>(&[0, 1, 1 << 63, u64::MAX]);
    identity_leaves::<f32>(&[0, 1, 0x3f80_0000, 0xff80_0000, 0x7f80_0000]);
    identity_leaves::<f16>(&[0, 1, 0xbc00, 0x7bff, 0xfc00, 0x7c00]);
    identity_leaves::<bf16>(&[0, 1, 0xbf80, 0x7f7f, 0xff80, 0x7f80]);
    identity_leaves::<F8E4M3>(&[0, 1, 0xb8, 0x7e, 0xfe]);
    identity_leaves::<F8E5M2>(&[0, 1, 0xbc, 0x7b, 0xfb]);
    // −0 is the one value that the identity of a sum, +0, does not keep.
    assert_eq!((-0.0_f64).combine(Combine::Sum, f64::identity(Combine::Sum)).to_bits(), 0);
}
