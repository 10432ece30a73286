//! The senses of equality, each with values that it holds for and values that it
//! does not.

use float8::F8E5M2;
use half::{bf16, f16};
use rankwise_model::{Element, GroupSize, Layout, Operation, Reduction, Scalar, reference};

/// The fold of one position, rank 0's contribution first.
fn fold<T: Element>(reduction: Reduction, scalars: &[T], contributions: &[T]) -> T {
    let ranks = GroupSize::new(u32::try_from(contributions.len()).unwrap()).unwrap();
    let layout = Layout::new(Operation::AllReduce { reduction }, ranks, 1).unwrap();
    let inputs: Vec<&[T]> = contributions.chunks(1).collect();
    let mut results = contributions.to_vec();
    let mut outputs: Vec<&mut [T]> = results.chunks_mut(1).collect();
    reference::evaluate(&layout, scalars, &inputs, &mut outputs).unwrap();
    results[0]
}

/// Every order of the positions `0 … n − 1`.
fn orders(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let mut longer = Vec::new();
    for shorter in orders(n - 1) {
        for at in 0..n {
            let mut order = shorter.clone();
            order.insert(at, n - 1);
            longer.push(order);
        }
    }
    longer
}

/// The bits that each fold order leaves, each pattern once.
fn left<T: Element>(reduction: Reduction, scalars: &[T], contributions: &[T]) -> Vec<u64> {
    let mut left: Vec<u64> = orders(contributions.len())
        .iter()
        .map(|order| {
            let contributions: Vec<T> = order.iter().map(|at| contributions[*at]).collect();
            let scalars: Vec<T> = match scalars {
                [] => Vec::new(),
                scalars => order.iter().map(|at| scalars[*at]).collect(),
            };
            fold(reduction, &scalars, &contributions).to_bits()
        })
        .collect();
    left.sort_unstable();
    left.dedup();
    left
}

fn of_bits<T: Element>(bits: &[u64]) -> Vec<T> {
    bits.iter().map(|bits| T::from_bits(*bits)).collect()
}

// pins: EQ-1
#[test]
fn integers_are_the_same_in_every_order() {
    for reduction in Reduction::ALL {
        let scaled = reduction == Reduction::PreMulSum;
        let scalars: &[i8] = if scaled { &[3, -1, 100, 7] } else { &[] };
        assert_eq!(left(reduction, scalars, &[100_i8, 100, -7, 90]).len(), 1, "{reduction}");
        let scalars: &[u64] = if scaled { &[3, u64::MAX, 100, 7] } else { &[] };
        let contributions = [u64::MAX, 1 << 63, 12_345, u64::MAX - 1];
        assert_eq!(left(reduction, scalars, &contributions).len(), 1, "{reduction}");
    }
    // By hand: 100 + 100 − 7 + 90 is 283, which is 27 modulo 256.
    assert_eq!(left(Reduction::Sum, &[], &[100_i8, 100, -7, 90]), [27]);
}

// pins: EQ-2
#[test]
fn min_and_max_are_unique() {
    // −1, a NaN, +0, −0 and the largest value with the infinity.
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let floats = [-1.0, nan, 0.0, -0.0, inf];
    assert_eq!(left(Reduction::Max, &[], &floats), [0x7f80_0000]);
    assert_eq!(left(Reduction::Min, &[], &floats), [0xbf80_0000]);
    assert_eq!(left(Reduction::Min, &[], &[0.0_f32, -0.0, nan]), [0x8000_0000]);
    assert_eq!(left(Reduction::Max, &[], &[0.0_f32, -0.0, nan]), [0]);
    let tiny = of_bits::<F8E5M2>(&[0x7c, 0xbc, 0x7d, 0x00]);
    assert_eq!(left(Reduction::Max, &[], &tiny), [0x7b]);
    assert_eq!(left(Reduction::Min, &[], &tiny), [0xbc]);
}

// pins: EQ-2
#[test]
fn two_ranks_have_one_order_that_counts() {
    // 0.1, a third, the largest, a subnormal, a NaN, an infinity: rounded or not.
    let halves = of_bits::<f16>(&[0x2e66, 0x3555, 0x7bff, 0x0003, 0x7c01, 0xfc00]);
    for a in &halves {
        for b in &halves {
            for reduction in [Reduction::Sum, Reduction::Prod, Reduction::Avg] {
                assert_eq!(left(reduction, &[], &[*a, *b]).len(), 1, "{a} {b} {reduction}");
            }
            let scalars = [halves[1], halves[0]];
            assert_eq!(left(Reduction::PreMulSum, &scalars, &[*a, *b]).len(), 1, "{a} {b}");
        }
    }
}

// pins: EQ-2
#[test]
fn exact_partial_sums_are_unique() {
    // No partial sum is past 256, up to which bf16 holds every whole number.
    let exact = [100.0, 50.0, 49.0, 57.0].map(bf16::from_f32);
    assert_eq!(left(Reduction::Sum, &[], &exact), [0x4380]); // 256
    // Past it they are not: 256 + 1 is 256, and 1 + 1 first makes 258.
    let inexact = [256.0, 1.0, 1.0].map(bf16::from_f32);
    assert_eq!(left(Reduction::Sum, &[], &inexact), [0x4380, 0x4381]); // 256 and 258
}

// pins: EQ-3
#[test]
fn other_sums_are_bits_given_the_order() {
    let mut contributions = vec![bf16::from_f32(1.0); 8];
    contributions[0] = bf16::from_f32(256.0);
    assert_eq!(fold(Reduction::Sum, &[], &contributions), bf16::from_f32(256.0));
    contributions.reverse();
    assert_eq!(fold(Reduction::Sum, &[], &contributions), bf16::from_f32(264.0));
    // The order is data: one given order gives the same bits every time.
    assert_eq!(fold(Reduction::Sum, &[], &contributions), bf16::from_f32(264.0));
    assert_eq!(left(Reduction::Sum, &[], &[1e8_f32, 1.0, -1e8]), [0, 0x3f80_0000]);
}

// pins: EQ-4
#[test]
fn an_average_has_two_right_values_per_hop() {
    // T(1/3) is 11184811 · 2^-25, and 3 times it (2^25 + 1) · 2^-25: rounded, 1.
    let third = f32::from_bits(0x3eaa_aaab);
    let contributions = [3.0_f32, -3.0, 0.0];
    // Each product rounded, then each sum: 1 − 1 + 0.
    assert_eq!(fold(Reduction::Avg, &[], &contributions).to_bits(), 0);
    // The first product rounded, then one rounding per hop: 1 − (1 + 2^-25).
    let fused = (-3.0_f32).mul_add(third, 3.0 * third);
    let fused = 0.0_f32.mul_add(third, fused);
    assert_eq!(fused.to_bits(), (-(2.0_f32.powi(-25))).to_bits());
    // For a power of two the products are exact and both forms agree.
    let quarter = 0.25_f32;
    let contributions = [0.1_f32, 0.7, 1.3, -0.2];
    let mut fused = contributions[0] * quarter;
    for next in &contributions[1..] {
        fused = next.mul_add(quarter, fused);
    }
    assert_eq!(fold(Reduction::Avg, &[], &contributions).to_bits(), fused.to_bits());
}

// pins: EQ-4
#[test]
fn a_sum_in_any_order_is_within_the_bound() {
    // 256 and seven ones are 263; the bound is (8 − 1) · 2^-8 · 263, which is 7.19.
    let bound = 7.0 * 263.0 / 256.0;
    let mut contributions = vec![bf16::from_f32(1.0); 8];
    let mut errors = Vec::new();
    for at in 0..8 {
        contributions.fill(bf16::from_f32(1.0));
        contributions[at] = bf16::from_f32(256.0);
        errors.push((fold(Reduction::Sum, &[], &contributions).to_f64() - 263.0).abs());
    }
    assert!(errors.iter().all(|error| *error <= bound), "{errors:?}");
    assert!(errors.contains(&7.0) && errors.contains(&1.0), "{errors:?}");
}

// pins: EQ-5
#[test]
fn what_differs_in_bits_can_be_equal_over_the_reals() {
    // In whole numbers both orders are 1; in binary32 one of them is 0.
    assert_eq!(left(Reduction::Sum, &[], &[100_000_000_i64, 1, -100_000_000]), [1]);
    assert_eq!(left(Reduction::Sum, &[], &[1e8_f32, 1.0, -1e8]), [0, 0x3f80_0000]);
    // An integer average is not, even so: 2 is not 1.
    let once = fold(Reduction::Avg, &[], &[1_i32, 2, 2, 3]);
    let halves = [fold(Reduction::Avg, &[], &[1_i32, 2]), fold(Reduction::Avg, &[], &[2_i32, 3])];
    assert_eq!((once, fold(Reduction::Avg, &[], &halves)), (2, 1));
}

// pins: EQ-6
#[test]
fn a_scalar_equals_its_own_type_and_bits() {
    assert_ne!(Scalar::of(0.0_f32), Scalar::of(-0.0_f32));
    assert_eq!(Scalar::of(f64::NAN), Scalar::of(f64::NAN));
    assert_ne!(Scalar::of(1_i32), Scalar::of(1_u32));
    assert_ne!(Scalar::of(1.0_f32), Scalar::of(1.0_f64));
    assert_ne!(Scalar::of(bf16::from_bits(0x7f81)), Scalar::of(bf16::from_bits(0x7fc0)));
}
