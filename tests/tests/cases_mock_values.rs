//! Field cases of arithmetic, element types and shards, run on the mock, thread by thread:
//! f01, f02, f04, f07, f09, f11, f13, g01 and g05.
//!
//! What the definition says of them is in `cases_arithmetic`; here threads call it.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use half::bf16;
use rankwise_comm::prelude::*;
use rankwise_comm::{ReduceOp, premul};
use rankwise_mock::{Comm, World};
use rankwise_model::{Element, ElementVisitor};
use rankwise_program::{Aspect, Aspects};
use serde_json::Value;

fn case(id: &str) -> Value {
    let path = format!("{}/cases/{id}/expected.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Nothing may hang: the ranks end within half a minute, or the test fails.
fn in_time<R: Send + 'static>(run: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, ended) = mpsc::channel();
    thread::spawn(move || done.send(run()));
    ended.recv_timeout(Duration::from_secs(30)).expect("an end in time, without a panic")
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

fn count(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

#[track_caller]
fn same(found: f64, expected: f64) {
    assert!(
        found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan()),
        "found {found}, expected {expected}"
    );
}

fn at(comm: &Comm) -> usize {
    usize::try_from(comm.rank().index()).unwrap()
}

fn world(ranks: usize) -> World {
    World::of(u32::try_from(ranks).unwrap())
}

/// What an all-reduce of one element per rank leaves, each rank in a thread of its own; it
/// must be the same on all.
fn reduced<T: Element>(op: impl Into<ReduceOp>, inputs: &[T]) -> T {
    let (op, inputs) = (op.into(), inputs.to_vec());
    let left = in_time(move || {
        world(inputs.len()).run(|comm| {
            let mut x = comm.buffer::<T>(1)?;
            comm.stream().write(&mut x, &[inputs[at(comm)]])?;
            comm.all_reduce_in_place(op, &mut x)?;
            Ok::<_, Error>(comm.stream().read(&x)?[0].to_bits())
        })
    });
    let first = left[0].clone().unwrap();
    assert!(left.iter().all(|rank| *rank == Ok(first)), "every rank has the same bits");
    T::from_bits(first)
}

/// The same for a type and values that a file names.
fn reduced_as(dtype: Dtype, reduction: Reduction, inputs: &[f64]) -> f64 {
    struct Reduced<'a>(Reduction, &'a [f64]);
    impl ElementVisitor for Reduced<'_> {
        type Output = f64;
        fn visit<T: Element>(self) -> f64 {
            let inputs: Vec<T> = self.1.iter().map(|x| T::from_f64(*x)).collect();
            reduced(self.0, &inputs).to_f64()
        }
    }
    dtype.visit(Reduced(reduction, inputs))
}

#[test]
fn f01_threads_average_integers_by_wrapping_and_truncating() {
    for entry in case("f01-integer-average").as_array().unwrap() {
        let dtype: Dtype = entry["dtype"].as_str().unwrap().parse().unwrap();
        let inputs = match entry["inputs"].as_str() {
            Some("25 ranks of 1") => vec![1.0; 25],
            Some(words) => panic!("{words}"),
            None => floats(&entry["inputs"]),
        };
        same(reduced_as(dtype, Reduction::Avg, &inputs), float(&entry["nccl_avg"]));
        if let Some(wrapped) = entry.get("sum") {
            same(reduced_as(dtype, Reduction::Sum, &inputs), float(wrapped));
        }
    }
}

/// A factor of another type than the buffer's is refused, so its half cannot be read.
#[test]
fn f02_threads_bring_factors_of_the_element_type() {
    let case = case("f02-premul-sum-factor-width");
    assert_eq!(case["ranks"], 2);
    let (inputs, factor) = (floats(&case["inputs"]), float(&case["factor"]));
    let of_f64 = |x: &f64| bf16::from_f64(*x);
    let inputs: Vec<bf16> = inputs.iter().map(of_f64).collect();
    same(reduced(premul(of_f64(&factor)), &inputs).to_f64(), float(&case["expected"]));
    let wide: Vec<f32> = inputs.iter().map(|x| x.to_f32()).collect();
    same(reduced(premul(0.5_f32), &wide).into(), float(&case["f16_and_f32"]));
    for (words, right) in case["right_bf16_factor"].as_object().unwrap() {
        let factor = if words == "1/3" { 1.0 / 3.0 } else { words.parse().unwrap() };
        let inputs = [bf16::ONE, bf16::ZERO];
        same(reduced(premul(of_f64(&factor)), &inputs).to_f64(), float(right));
    }
    let comm = World::of(2).communicators().remove(0);
    let mut x = comm.buffer::<bf16>(1).unwrap();
    let error = comm.all_reduce_in_place(premul(0.5_f32), &mut x).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Caller, "{error}");
}

/// By name there is nothing to confuse; what the confusion gave is another reduction's.
#[test]
fn f04_threads_reduce_by_name_and_not_by_number() {
    let case = case("f04-two-enums-of-reduce-ops");
    let inputs = floats(&case["inputs"]);
    let of_nccl = ["Sum", "Prod", "Max", "Min", "Avg"];
    let rows = case["rows"].as_array().unwrap();
    assert_eq!(rows.len(), of_nccl.len());
    for row in rows {
        assert_eq!(row["nccl_reads"], of_nccl[count(&row["torch_number"])]);
        // One torch name is another word.
        let asked = match row["asked"].as_str().unwrap() {
            "PRODUCT" => Reduction::Prod,
            name => name.to_lowercase().parse().unwrap(),
        };
        let read: Reduction = row["nccl_reads"].as_str().unwrap().to_lowercase().parse().unwrap();
        same(reduced_as(Dtype::F32, asked, &inputs), float(&row["right"]));
        same(reduced_as(Dtype::F32, read, &inputs), float(&row["found"]));
        assert_eq!(asked == read, row["right"] == row["found"], "{row}");
    }
}

#[test]
fn f07_threads_drop_a_nan_in_either_order_of_ranks() {
    for entry in case("f07-nan-in-min-and-max").as_array().unwrap() {
        let reduction: Reduction = entry["op"].as_str().unwrap().parse().unwrap();
        let inputs = floats(&entry["inputs"]);
        let reversed: Vec<f64> = inputs.iter().rev().copied().collect();
        for dtype in [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64] {
            let found = reduced_as(dtype, reduction, &inputs);
            same(reduced_as(dtype, reduction, &reversed), found);
            match (entry.get("drop"), &entry["result"]) {
                (Some(dropped), _) => same(found, float(dropped)),
                // Either zero: the lesser is ours.
                (None, words) if words.as_str().is_some_and(|words| words.contains("zero")) => {
                    same(found, -0.0);
                }
                (None, result) => same(found, float(result)),
            }
        }
    }
}

/// The mock folds in rank order: which rank holds which value is the order of the fold.
#[test]
fn f09_threads_sum_bf16_in_the_order_of_their_ranks() {
    let case = case("f09-bf16-sum-depends-on-order");
    let mut inputs = floats(&case["inputs"]);
    let sum = |dtype, inputs: &[f64]| reduced_as(dtype, Reduction::Sum, inputs);
    same(sum(Dtype::Bf16, &inputs), float(&case["sequential_from_256"]));
    same(sum(Dtype::F32, &inputs), float(&case["exact"]));
    let pairs: Vec<f64> = inputs.chunks(2).map(|pair| sum(Dtype::Bf16, pair)).collect();
    let fours: Vec<f64> = pairs.chunks(2).map(|pair| sum(Dtype::Bf16, pair)).collect();
    same(sum(Dtype::Bf16, &fours), float(&case["pairwise_tree"]));
    inputs.reverse();
    same(sum(Dtype::Bf16, &inputs), float(&case["ones_first"]));
}

#[test]
fn f11_threads_average_ones_to_something_else() {
    let case = case("f11-average-of-ones-is-not-one");
    let average =
        |value: f64, ranks: usize| reduced_as(Dtype::Bf16, Reduction::Avg, &vec![value; ranks]);
    for (ranks, expected) in case["ones"].as_object().unwrap() {
        same(average(1.0, ranks.parse().unwrap()), float(expected));
    }
    let largest = &case["bf16_max"];
    for ranks in [3, 10] {
        same(average(float(&largest["value"]), ranks), float(&largest[format!("n={ranks}")]));
    }
}

/// Who gathers rank numbers in bf16 cannot tell 256 from 257; 258 ranks gather them.
#[test]
fn f13_threads_gather_rank_numbers_that_collide() {
    let case = case("f13-rank-numbers-as-bf16-payload");
    let ranks = 258;
    let gathered = in_time(move || {
        world(ranks).run(|comm| {
            let mut x = comm.buffer::<bf16>(ranks)?;
            let own = at(comm);
            let number = bf16::from_f64(f64::from(comm.rank().index()));
            comm.stream().write(x.slice_mut(own..own + 1)?, &[number])?;
            comm.all_gather_in_place(&mut x)?;
            comm.stream().read(&x)
        })
    });
    let gathered: Vec<Vec<bf16>> = gathered.into_iter().collect::<Result<_, _>>().unwrap();
    assert!(gathered.iter().all(|all| *all == gathered[0]));
    for number in ["255", "256", "257"] {
        let found = gathered[0][number.parse::<usize>().unwrap()];
        same(found.to_f64(), float(&case["bf16"][number]));
    }
    let equal: Vec<usize> =
        (1..ranks).filter(|rank| gathered[0][*rank] == gathered[0][rank - 1]).collect();
    let collision = case["first_collision"].as_array().unwrap();
    assert_eq!((equal, count(&collision[0])), (vec![count(&collision[1])], ranks - 2));
}

/// Four bytes of sixteen travel where letters are counted as bytes.
#[test]
fn g01_threads_gather_letters_as_bytes_and_as_code_points() {
    let case = case("g01-char-is-four-bytes");
    let example = &case["example"];
    let letters = |field: &str| -> Vec<char> {
        let words = example[field].as_array().unwrap().iter();
        words.map(|word| word.as_str().unwrap().parse().unwrap()).collect()
    };
    assert_eq!((&example["op"], &example["world"]), (&"all_gather".into(), &2.into()));
    let sent = [letters("sendbuf"), vec!['W', 'X', 'Y', 'Z']];
    let gathered = in_time(move || {
        World::of(2).run(|comm| {
            let points: Vec<u32> = sent[at(comm)].iter().map(|letter| u32::from(*letter)).collect();
            let bytes: Vec<u8> = points.iter().flat_map(|point| point.to_le_bytes()).collect();
            let (mut x, mut y) = (comm.buffer::<u8>(4)?, comm.buffer::<u8>(32)?);
            comm.stream().write(&mut x, &bytes[..4])?;
            comm.stream().write(&mut y, &[b'o'; 32])?;
            comm.all_gather(&x, y.slice_mut(0..8)?)?;
            let (mut whole, mut all) = (comm.buffer::<u32>(4)?, comm.buffer::<u32>(8)?);
            comm.stream().write(&mut whole, &points)?;
            comm.all_gather(&whole, &mut all)?;
            Ok::<_, Error>((comm.stream().read(&y)?, comm.stream().read(&all)?))
        })
    });
    for rank in gathered {
        let (bytes, points) = rank.unwrap();
        let letter = |first: &u8| match first {
            b'o' => "old".to_owned(),
            letter => char::from(*letter).to_string(),
        };
        let found: Vec<String> = bytes.chunks(4).map(|chunk| letter(&chunk[0])).collect();
        let key = "recv_after_if_rank_0_sends_ABCD_and_rank_1_WXYZ";
        assert_eq!(example[key], Value::from(found));
        let right: Vec<u32> = letters("expected").into_iter().map(u32::from).collect();
        assert_eq!(points, right);
    }
}

/// Padded shards come together again; uneven ones are no all-gather, and who differs is
/// named.
#[test]
fn g05_threads_gather_padded_shards_and_not_uneven_ones() {
    let case = case("g05-three-gpus");
    for example in case["cases"].as_array().unwrap() {
        let (len, ranks) = (count(&example["n"]), count(&example["world"]));
        let shard = len.div_ceil(ranks);
        if let Some(padded) = example.get("padded") {
            assert_eq!(count(&padded["shard"]), shard);
            let gathered = in_time(move || {
                world(ranks).run(|comm| {
                    // Column c is the number c + 1, padding is 0.
                    let own = at(comm) * shard..(at(comm) + 1) * shard;
                    let value = |column: usize| if column < len { column + 1 } else { 0 };
                    let mine: Vec<u64> =
                        own.map(|column| u64::try_from(value(column)).unwrap()).collect();
                    let (mut x, mut y) =
                        (comm.buffer::<u64>(shard)?, comm.buffer::<u64>(shard * ranks)?);
                    comm.stream().write(&mut x, &mine)?;
                    comm.all_gather(&x, &mut y)?;
                    comm.stream().read(&y)
                })
            });
            let mut wanted: Vec<u64> = (1..).take(len).collect();
            wanted.resize(len + count(&padded["padding"]), 0);
            assert!(gathered.into_iter().all(|rank| rank == Ok(wanted.clone())), "{example}");
        }
        let uneven: Vec<usize> = example["uneven"].as_array().unwrap().iter().map(count).collect();
        assert_eq!((uneven.len(), uneven.iter().sum()), (ranks, len));
        let counts = uneven.clone();
        let refused = in_time(move || {
            world(ranks).run(|comm| {
                let count = counts[at(comm)];
                let (x, mut y) = (comm.buffer::<f32>(count)?, comm.buffer::<f32>(count * ranks)?);
                comm.all_gather(&x, &mut y)?;
                comm.stream().fence()?.wait()
            })
        });
        let error = refused[0].clone().unwrap_err();
        assert!(refused.iter().all(|rank| *rank == Err(error.clone())));
        let report = error.report().unwrap();
        assert_eq!(report.aspects, Aspects::from_iter([Aspect::Count]), "{report}");
        // The larger shards come first, and are the fewer, or as many as the others.
        let larger = u32::try_from(uneven.iter().filter(|count| **count == shard).count()).unwrap();
        let outliers: Vec<u32> = report.outliers.iter().map(|rank| rank.index()).collect();
        let even_split = usize::try_from(2 * larger).unwrap() == ranks;
        assert_eq!(outliers, if even_split { vec![] } else { (0..larger).collect() }, "{report}");
    }
}
