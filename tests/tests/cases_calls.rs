//! Field cases of calls: what is refused before anything moves (d14, d19, g02), and what
//! each of several calls in a row leaves (g07, and the values of d06 and d11).

use core::ops::Range;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use half::bf16;
use rankwise_comm::prelude::*;
use rankwise_comm::{Fault, Side};
use rankwise_mock::engine::{Job, JobError, Seat, Span, Worked};
use rankwise_mock::{Comm, World};
use rankwise_model::reference::Side as Of;
use rankwise_model::{Layout, Operation};
use rankwise_program::{Aspect, Aspects, Kind};
use serde_json::Value;

fn expected(id: &str) -> Value {
    let path = format!("{}/cases/{id}/expected.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Nothing may hang: the ranks end within half a minute, or the test fails.
fn in_time<R: Send + 'static>(run: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, ended) = mpsc::channel();
    thread::spawn(move || done.send(run()));
    ended.recv_timeout(Duration::from_secs(30)).expect("an end in time, without a panic")
}

/// What every rank of so many leaves; none may fail.
fn run<R: Send + 'static>(
    ranks: u32,
    program: impl Fn(&Comm) -> Result<R, Error> + Send + Sync + 'static,
) -> Vec<R> {
    let left = in_time(move || World::of(ranks).run(program));
    left.into_iter().collect::<Result<_, Error>>().unwrap()
}

fn numbers(value: &Value) -> Vec<f32> {
    let numbers = value.as_array().unwrap().iter();
    // One element per rank, or a list of such: the values are the same.
    numbers.map(|number| number.as_f64().or(number[0].as_f64()).unwrap()).map(narrow).collect()
}

#[allow(clippy::cast_possible_truncation)] // shown to be exact
fn narrow(number: f64) -> f32 {
    assert_eq!(f64::from(number as f32).to_bits(), number.to_bits());
    number as f32
}

/// Rank `r`'s entry of a field of d14.
fn of_rank(case: &Value, field: &str, rank: usize) -> Vec<f32> {
    numbers(&case[field][rank.to_string()])
}

#[test]
fn d14_with_outputs_of_their_own_or_in_place_everybody_gets_everything() {
    let case = expected("d14-aliased-output-list");
    let inputs = [of_rank(&case, "inputs", 0), of_rank(&case, "inputs", 1)];
    assert_eq!(case["world"], inputs.len());

    let left = run(2, move |comm| {
        let own = comm.rank().index() as usize;
        let (mut x, mut y) = (comm.buffer::<f32>(1)?, comm.buffer::<f32>(2)?);
        comm.stream().write(&mut x, &inputs[own])?;
        comm.all_gather(&x, &mut y)?;
        // The legal overlap: the input is the own slot of the output.
        let mut whole = comm.buffer::<f32>(2)?;
        comm.stream().write(whole.slice_mut(own..own + 1)?, &inputs[own])?;
        comm.all_gather_in_place(&mut whole)?;
        // Into `[t] * world`, as far as safe Rust goes: block after block into one buffer.
        let mut t = comm.buffer::<f32>(1)?;
        let blocks = comm.stream().read(&y)?;
        for block in &blocks {
            comm.stream().write(&mut t, &[*block])?;
        }
        let t = comm.stream().read(&t)?;
        Ok((blocks, comm.stream().read(&whole)?, [t[0], t[0]]))
    });
    for (rank, (gathered, in_place, aliased)) in left.into_iter().enumerate() {
        assert_eq!(gathered, of_rank(&case, "correct_output", rank));
        assert_eq!(in_place, gathered);
        let copied = of_rank(&case, "aliased_output_if_copied_in_rank_order", rank);
        assert_eq!(aliased.as_slice(), copied);
    }
}

/// One rank's input and output, as parts of a memory that all share.
type Parts = (Range<usize>, Range<usize>);

/// An all-gather of two ranks over one memory of eight elements, of which element `i`
/// holds `10·(i + 1)`; what the memory holds then.
fn gather_in_one_memory(count: u64, parts: [Parts; 2]) -> Result<Vec<f32>, JobError> {
    let mut memory: Vec<f32> = (1_u8..=8).map(|at| 10.0 * f32::from(at)).collect();
    let whole = Span::of(&mut memory);
    let span = |elements: Range<usize>| {
        assert!(elements.end <= 8);
        let start = whole.start().addr().checked_add(4 * elements.start).unwrap();
        Span::new(whole.start().with_addr(start), 4 * elements.len())
    };
    let seats = parts.map(|(input, output)| Seat {
        input: Some(span(input)),
        output: Some(span(output)),
        scalar: None,
    });
    let layout = Layout::new(Operation::AllGather, GroupSize::new(2).unwrap(), count).unwrap();
    // SAFETY: the spans are inside `memory`, which outlives the job, is initialised, and
    // is used by nobody else meanwhile.
    #[allow(unsafe_code)]
    let job = unsafe { Job::new(layout, Dtype::F32, &seats) }?;
    while job.work() != Worked::Nothing {}
    assert!(job.is_done());
    Ok(memory)
}

#[test]
fn d14_where_addresses_are_raw_overlapping_outputs_are_refused() {
    let case = expected("d14-aliased-output-list");
    let rank = |index| GroupSize::new(2).unwrap().rank(index).unwrap();
    let overlap = |first, second, bytes| {
        Err(JobError::Overlap { operation: Operation::AllGather, first, second, bytes })
    };

    // The same two elements twice; four that reach into the other's four.
    let found = gather_in_one_memory(1, [(0..1, 4..6), (1..2, 4..6)]);
    assert_eq!(found, overlap((rank(0), Of::Output), (rank(1), Of::Output), 8));
    let words = found.unwrap_err().to_string();
    assert_eq!(case["verdict"], "overlapping outputs");
    assert!(words.contains("output of rank 0") && words.contains("output of rank 1"), "{words}");
    let found = gather_in_one_memory(2, [(6..8, 0..4), (6..8, 2..6)]);
    assert_eq!(found, overlap((rank(0), Of::Output), (rank(1), Of::Output), 8));

    // The own slot is in place, and legal; another's slot is not.
    let left = gather_in_one_memory(1, [(0..1, 0..2), (5..6, 4..6)]).unwrap();
    assert_eq!(left, [10.0, 60.0, 30.0, 40.0, 10.0, 60.0, 70.0, 80.0]);
    let found = gather_in_one_memory(1, [(1..2, 0..2), (5..6, 4..6)]);
    assert_eq!(found, overlap((rank(0), Of::Output), (rank(0), Of::Input), 4));
    // Ranks may read the same memory.
    let left = gather_in_one_memory(1, [(0..1, 4..6), (0..1, 6..8)]).unwrap();
    assert_eq!(left[4..], [10.0; 4]);
}

/// One rank's 0.1 in its type, summed over all.
fn sum_of_tenths(comm: &Comm, is_bf16: bool) -> Result<f32, Error> {
    if is_bf16 {
        let mut x = comm.buffer::<bf16>(1)?;
        comm.stream().write(&mut x, &[bf16::from_f32(0.1)])?;
        comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
        return Ok(comm.stream().read(&x)?[0].to_f32());
    }
    let mut x = comm.buffer::<f32>(1)?;
    comm.stream().write(&mut x, &[0.1])?;
    comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
    Ok(comm.stream().read(&x)?[0])
}

#[test]
fn d19_bf16_that_meets_f32_is_a_mismatch_of_type_though_the_counts_agree() {
    let case = expected("d19-bf16-meets-f32-silently");
    let is_bf16 = |rank: u32| case["dtypes"]["bf16"].as_array().unwrap().contains(&rank.into());
    let odd = (0..3).map(is_bf16).collect::<Vec<_>>();
    assert_eq!(odd, [true, false, false]);

    let ended = in_time(move || {
        World::of(3).run(|comm| sum_of_tenths(comm, odd[comm.rank().index() as usize]))
    });
    let errors: Vec<Error> = ended.into_iter().map(|ended| ended.unwrap_err()).collect();
    assert!(errors.iter().all(|error| *error == errors[0]), "one report: {errors:#?}");
    let report = errors[0].report().unwrap();
    assert_eq!(case["verdict"], "dtype_mismatch");
    assert_eq!(report.kind, Kind::Mismatch);
    assert_eq!(report.aspects, Aspects::NONE.with(Aspect::ElementType), "and nothing else");
    for side in &report.sides {
        let call = side.signature.payload().unwrap();
        assert_eq!(call.count, 1);
        let ranks: Vec<u32> = side.members.iter().map(|member| member.world.index()).collect();
        assert_eq!(case["dtypes"][call.dtype.name()], Value::from(ranks));
    }
    assert_eq!(report.sides.len(), 2);
    assert_eq!(report.outliers.iter().map(|rank| rank.index()).collect::<Vec<_>>(), [0]);

    // After casting there is something to add up.
    for sum in run(3, |comm| sum_of_tenths(comm, false)) {
        let wanted = case["correct_sum_after_casting"].as_f64().unwrap();
        assert!((f64::from(sum) - wanted).abs() < 1e-7, "{sum}");
    }
}

/// A row of g02: the operation and both lengths on the root, rank 0.
fn row(row: &Value) -> (&str, usize, usize) {
    let length = |names: [&str; 2]| {
        // A buffer that is not there is one without elements.
        let length = names.iter().find_map(|name| row[name].as_u64()).unwrap_or(0);
        usize::try_from(length).unwrap()
    };
    let operation = row["op"].as_str().unwrap();
    (operation, length(["send", "root_send"]), length(["recv", "root_recv"]))
}

/// The call of g02 with such lengths; the root is rank 0. What is left.
fn call(comm: &Comm, operation: &str, send: usize, recv: usize) -> Result<Vec<f32>, Error> {
    let root = comm.ranks().first();
    let mut x = comm.buffer::<f32>(send)?;
    let mut y = comm.buffer::<f32>(recv)?;
    comm.stream().write(&mut x, &vec![1.0; send])?;
    match operation {
        "all_reduce" => comm.all_reduce(Reduction::Sum, &x, &mut y),
        "all_gather" => comm.all_gather(&x, &mut y),
        "reduce_scatter" => comm.reduce_scatter(Reduction::Sum, &x, &mut y),
        "broadcast" => comm.broadcast(root, &x, &mut y),
        "reduce" => comm.reduce(Reduction::Sum, root, &x, &mut y),
        other => panic!("{other} is not in the table"),
    }?;
    comm.stream().read(&y)
}

/// Which rows are refused, for which side, with the length it has and the one it needs.
const REFUSED: [(&str, usize, usize, Side, u64, u64); 6] = [
    ("all_reduce", 8, 4, Side::Output, 4, 8),
    ("all_gather", 8, 8, Side::Output, 8, 32),
    ("all_gather", 32, 32, Side::Output, 32, 128),
    ("reduce_scatter", 8, 8, Side::Input, 8, 32),
    ("broadcast", 4, 8, Side::Output, 8, 4),
    ("reduce", 8, 0, Side::Output, 0, 8),
];

#[test]
fn g02_both_lengths_are_checked_before_anything_is_enqueued() {
    let case = expected("g02-counts-from-one-buffer-only");
    assert_eq!(case["world"], 4);
    let table = case["table"].as_array().unwrap();
    let mut refused = Vec::new();
    for entry in table {
        let (operation, send, recv) = row(entry);
        if entry["ok"] == true {
            continue;
        }
        let root = World::of(4).communicators().remove(0);
        let error = call(&root, operation, send, recv).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Caller);
        let Fault::Length { side, found, needed, .. } = *error.fault() else { panic!("{error}") };
        refused.push((operation, send, recv, side, found, needed));
        let words = error.to_string();
        assert!(words.contains(&format!(" has {found} elements, needs {needed}")), "{words}");
        for past in ["would_write_past_by", "would_read_past_by"] {
            if let Some(past) = entry[past].as_u64() {
                assert_eq!(found.abs_diff(needed), past, "{entry}");
            }
        }
        // Its peers have not come: had it been enqueued, this would not be over.
        assert!(root.stream().fence().unwrap().is_done());
    }
    assert_eq!(refused, REFUSED);
    assert_eq!(table.len(), 11);
}

#[test]
fn g02_lengths_that_fit_run() {
    let case = expected("g02-counts-from-one-buffer-only");
    let mut left = Vec::new();
    for entry in case["table"].as_array().unwrap().iter().filter(|entry| entry["ok"] == true) {
        let (operation, send, recv) = row(entry);
        let name = operation.to_owned();
        let of_root = run(4, move |comm| {
            let is_root = comm.rank() == comm.ranks().first();
            // Elsewhere the output of a reduce is not there.
            let recv = if name == "reduce" && !is_root { 0 } else { recv };
            call(comm, &name, send, recv)
        })
        .remove(0);
        left.push((operation, of_root));
    }
    assert_eq!(
        left,
        [
            ("all_reduce", vec![4.0; 8]),
            ("all_gather", vec![1.0; 32]),
            ("reduce_scatter", vec![4.0; 8]),
            ("reduce", vec![4.0; 8]),
            ("all_reduce", vec![]),
        ]
    );
}

/// Every call has its own identity: equal and other shapes in a row, one rank slow.
#[test]
fn g07_call_k_leaves_the_sum_of_the_inputs_of_call_k() {
    let case = expected("g07-second-call-reuses-the-first-calls-names");
    let calls: Vec<(usize, [f32; 2], f32)> = case["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| {
            let number = |value: &Value| narrow(value.as_f64().unwrap());
            let len = usize::try_from(call["shape"][0].as_u64().unwrap()).unwrap();
            (len, ["0", "1"].map(|rank| number(&call["inputs"][rank])), number(&call["result"]))
        })
        .collect();
    let wanted: Vec<Vec<f32>> = calls.iter().map(|(len, _, result)| vec![*result; *len]).collect();
    let left = run(2, move |comm| {
        let own = usize::try_from(comm.rank().index()).unwrap();
        let mut left = Vec::new();
        for (len, inputs, _) in &calls {
            thread::sleep(Duration::from_millis(if own == 1 { 3 } else { 0 }));
            let mut x = comm.buffer::<f32>(*len)?;
            comm.stream().write(&mut x, &vec![inputs[own]; *len])?;
            comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
            left.push(x);
        }
        left.iter().map(|x| comm.stream().read(x)).collect::<Result<Vec<_>, _>>()
    });
    assert_eq!(left, [wanted.clone(), wanted]);
}

/// Two metrics in another order on one rank: nothing fails, both results are mixtures.
/// With tags it is a mismatch.
#[test]
fn d06_untagged_metrics_mix_and_tagged_ones_are_refused() {
    let case = expected("d06-same-shape-different-meaning");
    let metrics = [[("loss", 0.5_f32), ("acc", 0.9)], [("acc", 0.7), ("loss", 1.5)]];
    let mixed = run(2, move |comm| {
        let own = metrics[usize::try_from(comm.rank().index()).unwrap()];
        own.map(|(_, value)| one_sum(comm, value, None)).into_iter().collect::<Result<Vec<_>, _>>()
    });
    for rank in &mixed {
        for (call, sum) in rank.iter().enumerate() {
            let wanted = case["results_sum"][format!("call_{call}_all_ranks")].as_f64().unwrap();
            assert!((f64::from(*sum) - wanted).abs() < 1e-6, "{sum} for {wanted}");
        }
    }
    let refused = in_time(move || {
        World::of(2).run(move |comm| {
            let [(name, value), _] = metrics[usize::try_from(comm.rank().index()).unwrap()];
            one_sum(comm, value, Some(name))
        })
    });
    let error = refused[0].clone().unwrap_err();
    assert_eq!(refused[1], Err(error.clone()));
    assert_eq!(error.report().unwrap().aspects, Aspects::from_iter([Aspect::Tag]));
}

fn one_sum(comm: &Comm, value: f32, tag: Option<&str>) -> Result<f32, Error> {
    let mut x = comm.buffer::<f32>(1)?;
    comm.stream().write(&mut x, &[value])?;
    let tag = tag.map(rankwise_program::Tag::new);
    let on = comm.on(comm.stream());
    let on = tag.as_ref().map_or(on, |tag| on.tagged(tag));
    on.all_reduce_in_place(Reduction::Sum, &mut x)?;
    Ok(comm.stream().read(&x)?[0])
}

/// A reduce leaves its result on the root only; a rank that decides by its own value goes
/// another way, and the barrier of one (an all-reduce of one element) meets the next
/// all-reduce of the others.
#[test]
fn d11_deciding_by_what_only_the_root_was_promised_ends_in_a_mismatch() {
    let case = expected("d11-reduce-then-branch");
    let loss = [0.9_f32, 0.8, 1.0, 0.7];
    let on_root = case["after_reduce"]["0"].as_f64().unwrap();
    let ended = in_time(move || {
        World::of(4).run(move |comm| {
            let own = usize::try_from(comm.rank().index()).unwrap();
            let root = comm.ranks().first();
            let (mut x, mut y) = (comm.buffer::<f32>(1)?, comm.buffer::<f32>(1)?);
            comm.stream().write(&mut x, &[loss[own]])?;
            comm.reduce(Reduction::Sum, root, &x, &mut y)?;
            let sum = f64::from(comm.stream().read(&y)?[0]);
            if comm.rank() == root {
                assert!((sum - on_root).abs() < 1e-6, "{sum}");
                one_sum(comm, 0.0, None)?; // the barrier
                return Ok(());
            }
            let mut gradient = comm.buffer::<f32>(1000)?;
            comm.all_reduce_in_place(Reduction::Sum, &mut gradient)?;
            comm.stream().fence()?.wait()
        })
    });
    let error = ended[1].clone().unwrap_err();
    assert!(ended.iter().all(|ended| ended.as_ref() == Err(&error)));
    let report = error.report().unwrap();
    assert_eq!(report.kind, Kind::Mismatch);
    let outliers: Vec<u64> = report.outliers.iter().map(|rank| rank.index().into()).collect();
    let culprits = case["program"]["culprits"].as_array().unwrap();
    assert_eq!(outliers, culprits.iter().map(|rank| rank.as_u64().unwrap()).collect::<Vec<_>>());
    // As an all-reduce of one element it differs in nothing but its count.
    assert_eq!(report.aspects, Aspects::from_iter([Aspect::Count]));
}
