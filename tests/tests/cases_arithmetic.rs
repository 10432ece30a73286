//! Field cases of arithmetic and element types: f01, f02, f07, f09, f11, f13, g01.
//!
//! Each test walks the whole of its case's file; a key that it does not know fails
//! it, so that nothing in the file goes unread.

use half::{bf16, f16};
use rankwise_model::{
    Combine, Dtype, Element, ElementVisitor, GroupSize, Layout, Operation, Reduction, Scalar,
    reference,
};
use serde_json::Value;

fn case(id: &str) -> Value {
    let path = format!("{}/cases/{id}/expected.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[track_caller]
fn knows(object: &Value, known: &[&str]) {
    for key in object.as_object().unwrap().keys() {
        assert!(known.contains(&key.as_str()), "nothing reads {key}");
    }
}

/// A number, or the words that JSON has no number for.
fn float(value: &Value) -> f64 {
    match value.as_str() {
        Some("NaN") => f64::NAN,
        Some("Infinity" | "inf") => f64::INFINITY,
        Some("-Infinity") => f64::NEG_INFINITY,
        Some(word) => panic!("{word} is no number"),
        None => value.as_f64().unwrap(),
    }
}

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(float).collect()
}

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

/// The same for a type known at run time, from and to decimal values.
fn fold_of(dtype: Dtype, reduction: Reduction, scalars: &[f64], contributions: &[f64]) -> f64 {
    struct Fold<'a>(Reduction, &'a [f64], &'a [f64]);
    impl ElementVisitor for Fold<'_> {
        type Output = f64;
        fn visit<T: Element>(self) -> f64 {
            let elements =
                |values: &[f64]| values.iter().map(|x| T::from_f64(*x)).collect::<Vec<T>>();
            fold(self.0, &elements(self.1), &elements(self.2)).to_f64()
        }
    }
    dtype.visit(Fold(reduction, scalars, contributions))
}

#[track_caller]
fn same(found: f64, expected: f64) {
    assert!(
        found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan()),
        "found {found}, expected {expected}"
    );
}

fn nearest(dtype: Dtype, value: f64) -> f64 {
    Scalar::of(value).convert(dtype).to_f64()
}

/// f01: the sum wraps, one division truncates, and n is the number of ranks.
#[test]
fn f01_an_integer_average_wraps_and_then_truncates() {
    let case = case("f01-integer-average");
    let entries = case.as_array().unwrap();
    assert_eq!(entries.len(), 6);
    for entry in entries {
        knows(
            entry,
            &[
                "dtype",
                "inputs",
                "nccl_avg",
                "exact",
                "times_zero_bug",
                "floor_would_be",
                "sum",
                "count",
                "divided_by_numel_bug",
                "float_reciprocal_then_truncate",
                "49_ranks_double_reciprocal",
            ],
        );
        let dtype: Dtype = entry["dtype"].as_str().unwrap().parse().unwrap();
        let inputs = match entry["inputs"].as_str() {
            Some(words) => {
                assert_eq!(words, "25 ranks of 1");
                vec![1.0; 25]
            }
            None => floats(&entry["inputs"]),
        };
        let average = fold_of(dtype, Reduction::Avg, &[], &inputs);
        same(average, float(&entry["nccl_avg"]));
        let (sum, ranks) =
            (inputs.iter().sum::<f64>(), f64::from(u32::try_from(inputs.len()).unwrap()));
        if let Some(wrapped) = entry.get("sum") {
            same(fold_of(dtype, Reduction::Sum, &[], &inputs), float(wrapped));
        }
        if let Some(exact) = entry.get("exact") {
            same(sum / ranks, float(exact));
        }
        // What other rules would give, worked out here, is not what we give.
        if let Some(floored) = entry.get("floor_would_be") {
            same((sum / ranks).floor(), float(floored));
            assert!(average > float(floored));
        }
        if let Some(times_zero) = entry.get("times_zero_bug") {
            same(inputs.iter().map(|x| x * (1.0 / ranks).trunc()).sum(), float(times_zero));
            assert!(average > float(times_zero));
        }
        if let Some(by_numel) = entry.get("divided_by_numel_bug") {
            same((sum / float(&entry["count"])).trunc(), float(by_numel));
            assert!(average > float(by_numel));
        }
        if let Some(reciprocal) = entry.get("float_reciprocal_then_truncate") {
            // The file's 0 is that of binary32's 1/25 times 25 in binary64. With the
            // product in binary32 too it would round up to 1; 41 ranks give 0 there.
            #[allow(clippy::cast_possible_truncation)] // the bug is made of binary32
            let rounded = |ranks: f64| 1.0 / ranks as f32;
            same((ranks * f64::from(rounded(ranks))).trunc(), float(reciprocal));
            same((25.0 * rounded(25.0)).trunc().into(), 1.0);
            same((41.0 * rounded(41.0)).trunc().into(), 0.0);
        }
        if let Some(reciprocal) = entry.get("49_ranks_double_reciprocal") {
            same((49.0 * (1.0 / 49.0_f64)).trunc(), float(reciprocal));
            assert_eq!(fold(Reduction::Avg, &[], &[1_i32; 49]), 1);
        }
    }
}

/// f02: the factor is an element, and its low half as a binary32 is garbage.
#[test]
fn f02_a_factor_is_of_the_element_type() {
    let case = case("f02-premul-sum-factor-width");
    let known = [
        "ranks",
        "inputs",
        "factor",
        "expected",
        "found_bf16",
        "f16_and_f32",
        "factor_as_read",
        "right_bf16_factor",
    ];
    knows(&case, &known);
    let (inputs, factor) = (floats(&case["inputs"]), float(&case["factor"]));
    assert_eq!(case["ranks"], inputs.len());
    let scaled = |dtype, factor| fold_of(dtype, Reduction::PreMulSum, &[factor; 2], &inputs);
    same(scaled(Dtype::Bf16, factor), float(&case["expected"]));
    same(scaled(Dtype::F16, factor), float(&case["f16_and_f32"]));
    same(scaled(Dtype::F32, factor), float(&case["f16_and_f32"]));

    // A binary32 stored, its first two bytes read.
    let as_read = |factor: f64| {
        #[allow(clippy::cast_possible_truncation)] // as the caller did
        let [low, high, ..] = (factor as f32).to_le_bytes();
        f64::from(bf16::from_le_bytes([low, high]))
    };
    let value = |word: &str| if word == "1/3" { 1.0 / 3.0 } else { word.parse().unwrap() };
    same(scaled(Dtype::Bf16, as_read(factor)), float(&case["found_bf16"]));
    for (word, expected) in case["factor_as_read"].as_object().unwrap() {
        // In bf16, of which the file has more digits than some readers keep.
        same(as_read(value(word)), nearest(Dtype::Bf16, float(expected)));
    }
    for (word, expected) in case["right_bf16_factor"].as_object().unwrap() {
        same(nearest(Dtype::Bf16, value(word)), float(expected));
    }
}

/// f07: a NaN loses in min and max, whatever the order, and wins in a sum.
///
/// The file leaves the sign of min(−0, +0) open. Here −0 is below +0, as on current
/// hardware: the value agrees with the file, and the bits are one of its two.
#[test]
fn f07_nan_is_dropped_by_min_and_max_and_kept_by_sum() {
    let case = case("f07-nan-in-min-and-max");
    let entries = case.as_array().unwrap();
    assert_eq!(entries.len(), 6);
    let types = [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64, Dtype::F8E4M3, Dtype::F8E5M2];
    for entry in entries {
        let known = [
            "op",
            "inputs",
            "drop",
            "propagate",
            "result",
            "compare_bug_in_rank_order",
            "compare_bug_reversed",
        ];
        knows(entry, &known);
        let reduction: Reduction = entry["op"].as_str().unwrap().parse().unwrap();
        let inputs = floats(&entry["inputs"]);
        let reversed: Vec<f64> = inputs.iter().rev().copied().collect();
        let infinite = inputs.iter().any(|x| x.is_infinite());
        // A decimal cannot bring an infinity into fp8; its arithmetic is pinned elsewhere.
        for dtype in types.into_iter().filter(|dtype| !infinite || dtype.bytes() > 1) {
            let found = fold_of(dtype, reduction, &[], &inputs);
            same(fold_of(dtype, reduction, &[], &reversed), found);
            if let Some(dropped) = entry.get("drop") {
                same(found, float(dropped));
            } else if entry["result"] == "either zero is allowed: compare by value" {
                assert_eq!(inputs.len(), 2);
                same(found.abs(), 0.0);
                same(found, -0.0);
            } else {
                same(found, float(&entry["result"]));
            }
        }
        // We drop: where the two conventions differ, ours is not the other.
        if let Some(propagated) = entry.get("propagate") {
            assert!(float(propagated).is_nan() && inputs.iter().any(|x| x.is_nan()));
        }
        // `a < b ? a : b` forgets what came before the NaN, and depends on the order.
        if let Some(forgotten) = entry.get("compare_bug_in_rank_order") {
            let compare = |inputs: &[f64]| {
                inputs.iter().copied().reduce(|a, b| if a < b { a } else { b }).unwrap()
            };
            same(compare(&inputs), float(forgotten));
            same(compare(&reversed), float(&entry["compare_bug_reversed"]));
        }
    }
}

/// f09: one set of bf16 values, three sums, one per order.
#[test]
fn f09_a_bf16_sum_depends_on_its_order() {
    let case = case("f09-bf16-sum-depends-on-order");
    let known = [
        "inputs",
        "exact",
        "exact_rounded",
        "sequential_from_256",
        "ones_first",
        "pairwise_tree",
        "f32_accumulate_then_round",
        "bound",
    ];
    knows(&case, &known);
    let mut inputs = floats(&case["inputs"]);
    let exact = float(&case["exact"]);
    same(inputs.iter().sum(), exact);
    same(nearest(Dtype::Bf16, exact), float(&case["exact_rounded"]));
    let sum = |dtype, inputs: &[f64]| fold_of(dtype, Reduction::Sum, &[], inputs);
    let from_256 = sum(Dtype::Bf16, &inputs);
    same(from_256, float(&case["sequential_from_256"]));
    same(nearest(Dtype::Bf16, sum(Dtype::F32, &inputs)), float(&case["f32_accumulate_then_round"]));

    let mut level: Vec<Scalar> =
        inputs.iter().map(|x| Scalar::of(*x).convert(Dtype::Bf16)).collect();
    while level.len() > 1 {
        let pair = |pair: &[Scalar]| pair[0].combine(Combine::Sum, pair[1]).unwrap();
        level = level.chunks(2).map(pair).collect();
    }
    same(level[0].to_f64(), float(&case["pairwise_tree"]));

    inputs.reverse();
    let ones_first = sum(Dtype::Bf16, &inputs);
    same(ones_first, float(&case["ones_first"]));

    let bound = 7.0 * 2.0_f64.powi(-8) * exact;
    let words = format!("|error| <= (n-1) * 2^-8 * sum|x| = {bound:.1} (first order)");
    assert_eq!(case["bound"], words);
    for found in [from_256, ones_first, level[0].to_f64()] {
        assert!((found - exact).abs() <= bound, "{found}");
    }
}

/// f11: 1/n is rounded to the type before anything is multiplied by it.
#[test]
fn f11_an_average_of_ones_need_not_be_one() {
    let case = case("f11-average-of-ones-is-not-one");
    knows(&case, &["ones", "reciprocal", "divide_after", "bf16_max"]);
    let average =
        |value: f64, ranks: usize| fold_of(Dtype::Bf16, Reduction::Avg, &[], &vec![value; ranks]);
    for (ranks, expected) in case["ones"].as_object().unwrap() {
        let ranks: usize = ranks.parse().unwrap();
        same(average(1.0, ranks), float(expected));
        // Summed first (exactly, so few are they) and then divided, it would be one.
        let ones = vec![1.0; ranks];
        let sum = fold_of(Dtype::Bf16, Reduction::Sum, &[], &ones);
        same(sum / f64::from(u32::try_from(ranks).unwrap()), float(&case["divide_after"]));
    }
    for (ranks, expected) in case["reciprocal"].as_object().unwrap() {
        let ranks = GroupSize::new(ranks.parse().unwrap()).unwrap();
        same(bf16::from_f32(1.0).average_before(ranks).to_f64(), float(expected));
    }
    let largest = &case["bf16_max"];
    knows(largest, &["value", "n=3", "n=10"]);
    same(f64::from(bf16::MAX), float(&largest["value"]));
    same(average(f64::from(bf16::MAX), 3), float(&largest["n=3"]));
    same(average(f64::from(bf16::MAX), 10), float(&largest["n=10"]));
}

/// The largest `k` such that `0, 1 … k` are all different values of the type, each
/// itself; the search ends past binary32's.
fn largest_exact_run(dtype: Dtype) -> u32 {
    struct Run;
    impl ElementVisitor for Run {
        type Output = u32;
        fn visit<T: Element>(self) -> u32 {
            let exact = |k: &u32| {
                let value = f64::from(*k);
                T::from_f64(value).to_f64().to_bits() == value.to_bits()
            };
            (0..1 << 25).take_while(exact).last().unwrap()
        }
    }
    dtype.visit(Run)
}

/// f13: a payload must be one that the type can tell apart.
#[test]
fn f13_rank_numbers_collide_in_narrow_types() {
    let case = case("f13-rank-numbers-as-bf16-payload");
    let known =
        ["bf16", "first_collision", "largest_exact_run", "distinct_ranks_below_512_in_bf16"];
    knows(&case, &known);
    for (rank, expected) in case["bf16"].as_object().unwrap() {
        same(nearest(Dtype::Bf16, rank.parse().unwrap()), float(expected));
    }
    let payload = |rank: u32| Scalar::of(f64::from(rank)).convert(Dtype::Bf16);
    let first = (1..512).find(|rank| payload(*rank) == payload(rank - 1)).unwrap();
    assert_eq!(case["first_collision"], serde_json::json!([first - 1, first]));
    let mut payloads: Vec<Scalar> = (0..512).map(payload).collect();
    payloads.sort_unstable();
    payloads.dedup();
    assert_eq!(case["distinct_ranks_below_512_in_bf16"], payloads.len());
    for (name, expected) in case["largest_exact_run"].as_object().unwrap() {
        assert_eq!(*expected, largest_exact_run(name.parse().unwrap()), "{name}");
    }
    // Partial sums must be exact too: 0 to 24 come to 300, 0 to 25 to 325.
    let sum = |ranks: u32| {
        let payloads: Vec<f64> = (0..ranks).map(f64::from).collect();
        fold_of(Dtype::Bf16, Reduction::Sum, &[], &payloads)
    };
    same(sum(25), 300.0);
    same(sum(26), 324.0);
}

struct SizeOf;

impl ElementVisitor for SizeOf {
    type Output = usize;
    fn visit<T: Element>(self) -> usize {
        size_of::<T>()
    }
}

fn letters(value: &Value) -> Vec<char> {
    let words = value.as_array().unwrap().iter();
    words.map(|word| word.as_str().unwrap().parse().unwrap()).collect()
}

/// What an all-gather of `count` elements per rank leaves on rank 0.
fn gathered<T: Element>(inputs: [&[T]; 2]) -> Vec<T> {
    let count = u64::try_from(inputs[0].len()).unwrap();
    let layout = Layout::new(Operation::AllGather, GroupSize::new(2).unwrap(), count).unwrap();
    let mut outputs = [inputs.concat(), inputs.concat()];
    outputs.iter_mut().flatten().for_each(|element| *element = T::from_bits(0));
    let [on_0, on_1] = &mut outputs;
    reference::evaluate(&layout, &[], &inputs, &mut [on_0, on_1]).unwrap();
    outputs[0].clone()
}

/// g01: four `char`s counted as four one-byte elements. That no `char` is an element
/// at all is a compile-fail example on `Element`.
#[test]
fn g01_a_char_is_four_bytes_and_no_element() {
    let case = case("g01-char-is-four-bytes");
    knows(&case, &["rust_type", "size_of", "wire_type", "wire_size", "example", "table_check"]);
    assert_eq!((&case["rust_type"], &case["size_of"]), (&"char".into(), &size_of::<char>().into()));
    let wire: Dtype = case["wire_type"].as_str().unwrap().parse().unwrap();
    assert_eq!(case["wire_size"], wire.bytes());

    for (name, expected) in case["table_check"].as_object().unwrap() {
        if name == "char" {
            let words = format!("MISMATCH {} vs {}", size_of::<char>(), wire.bytes());
            assert_eq!(*expected, words);
            continue;
        }
        let dtype: Dtype = name.parse().unwrap();
        assert_eq!(*expected, dtype.bytes(), "{name}");
        assert_eq!(*expected, dtype.visit(SizeOf), "{name}");
    }
    assert_eq!((size_of::<f16>(), size_of::<bf16>()), (2, 2));

    let example = &case["example"];
    let known = [
        "op",
        "world",
        "sendbuf",
        "count_passed",
        "bytes_sent",
        "bytes_needed",
        "recv_elements",
        "recv_bytes_written",
        "recv_bytes_total",
        "recv_after_if_rank_0_sends_ABCD_and_rank_1_WXYZ",
        "expected",
    ];
    knows(example, &known);
    assert_eq!((&example["op"], &example["world"]), (&"all_gather".into(), &2.into()));
    let abcd = letters(&example["sendbuf"]);
    let wxyz = ['W', 'X', 'Y', 'Z'];
    let count = u64::try_from(abcd.len()).unwrap();
    assert_eq!(example["count_passed"], count);
    let letter_bytes = u64::try_from(size_of::<char>()).unwrap();
    assert_eq!(example["bytes_sent"], count * wire.bytes());
    assert_eq!(example["bytes_needed"], count * letter_bytes);
    assert_eq!(example["recv_elements"], 2 * count);
    assert_eq!(example["recv_bytes_written"], 2 * count * wire.bytes());
    assert_eq!(example["recv_bytes_total"], 2 * count * letter_bytes);

    // Four bytes of each rank, at the start of a buffer of old letters.
    let bytes = |letters: &[char]| -> Vec<u8> {
        letters.iter().flat_map(|letter| u32::from(*letter).to_le_bytes()).collect()
    };
    let mut received = bytes(&['\u{6f}'; 8]);
    let moved = gathered::<u8>([&bytes(&abcd)[..4], &bytes(&wxyz)[..4]]);
    received[..moved.len()].copy_from_slice(&moved);
    let found: Vec<String> = received
        .chunks(4)
        .map(|chunk| match char::from(chunk[0]) {
            'o' => "old".to_string(),
            letter => letter.to_string(),
        })
        .collect();
    let key = "recv_after_if_rank_0_sends_ABCD_and_rank_1_WXYZ";
    assert_eq!(example[key], serde_json::json!(found));

    // Carried as whole code points, every letter arrives.
    let points = |letters: &[char]| -> Vec<u32> { letters.iter().map(|x| u32::from(*x)).collect() };
    let right = gathered::<u32>([&points(&abcd), &points(&wxyz)]);
    assert_eq!(right, points(&letters(&example["expected"])));
}
