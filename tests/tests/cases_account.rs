//! Field cases of counts, sizes and bandwidths: a02, a03, a12 and a17.

use std::time::Duration;

use rankwise_account::division::padding_value;
use rankwise_account::nccl_tests::parse_request;
use rankwise_account::{
    Algorithm, Bandwidth, Basis, ByteCount, Division, ElemCount, ImpliedRanks, Label, Meaning,
    Number, Test, TrafficEstimate, bus_factor, payload,
};
use rankwise_model::{
    CountMeaning, Dtype, GroupSize, Layout, Operation, OperationKind, Rank, Reduction,
};
use serde_json::Value;

const SUM: Reduction = Reduction::Sum;

fn text(id: &str, file: &str) -> String {
    let path = format!("{}/cases/{id}/{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn expected(id: &str) -> Value {
    serde_json::from_str(&text(id, "expected.json")).unwrap()
}

fn whole(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no whole number"))
}

fn ranks(value: &Value) -> GroupSize {
    GroupSize::new(u32::try_from(whole(value)).unwrap()).unwrap()
}

/// The fields of the one row of an nccl-tests table in `text` that starts with a number.
fn rows(text: &str) -> Vec<Vec<&str>> {
    text.lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|fields| fields.first().is_some_and(|first| first.parse::<u64>().is_ok()))
        .collect()
}

fn micros(field: &str) -> Duration {
    Duration::from_secs_f64(field.parse::<f64>().unwrap() * 1e-6)
}

/// The two decimals that the tool prints.
fn printed(bandwidth: Bandwidth) -> String {
    format!("{:.2}", bandwidth.gigabytes_per_second())
}

/// a02: `count` of a reduce-scatter row is recvcount; `size` is the input.
#[test]
fn a02_size_is_input_and_count_is_recvcount() {
    const ID: &str = "a02-reduce-scatter-count-is-recvcount";
    let expected = expected(ID);
    let n = ranks(&expected["nranks"]);
    let dtype = Dtype::F32;
    assert_eq!(dtype.bytes(), whole(&expected["elem_bytes"]));

    let file = text(ID, "row.txt");
    let [row] = &rows(&file)[..] else { panic!("not one row") };
    let size = ByteCount::new(row[0].parse().unwrap());
    let count = ElemCount::new(row[1].parse().unwrap());
    assert_eq!(row[2].parse(), Ok(dtype));
    assert_eq!(size.get(), whole(&expected["size_label_bytes"]));
    assert_eq!(count.get(), whole(&expected["count"]));

    // What they mean.
    let operation = expected["op"].as_str().unwrap().parse::<OperationKind>().unwrap();
    assert_eq!(operation.row().count, CountMeaning::Shard);
    assert_eq!(expected["count_means"], "recvcount");
    assert_eq!(Test::ReduceScatter.operation(), Some(operation));
    let lengths = Test::ReduceScatter.row_of_count(count, n, dtype).unwrap();
    assert_eq!(lengths.size, size);

    // What each rank hands in and gets.
    let layout = Layout::new(Operation::ReduceScatter { reduction: SUM }, n, count.get()).unwrap();
    let each = payload(&layout, dtype, n.first()).unwrap();
    assert_eq!(each.input.bytes().get(), whole(&expected["input_per_rank_bytes"]));
    assert_eq!(each.output.bytes().get(), whole(&expected["output_per_rank_bytes"]));

    // The ranks that the row implies, and no others.
    let implied = Test::ReduceScatter.implied_ranks(size, count, dtype);
    assert_eq!(implied, Ok(ImpliedRanks::Exactly(n)));
    assert_eq!(expected["infer_nranks_from_row"], format!("size/(count*elem) = {n}"));

    // The row's time gives the row's bandwidths, out of place and in place.
    let basis = Test::ReduceScatter.basis(count, n, dtype).unwrap();
    for half in [&row[5..8], &row[9..12]] {
        let elapsed = micros(half[0]);
        assert_eq!(printed(basis.algbw(elapsed).unwrap()), half[1]);
        assert_eq!(printed(basis.busbw(elapsed).unwrap()), half[2]);
    }
    assert_eq!(row[6], expected["algbw_GBps"].to_string());
    assert_eq!(row[7], expected["busbw_GBps"].to_string());

    // The reader of the issue took count for the input: another job, by n.
    let read = |text: String| Label::parse(&text).unwrap().settle().unwrap();
    let right = read(format!("reduce_scatter count {count} n={n} {dtype}"));
    let wrong = read(format!("reduce_scatter in {count} n={n} {dtype}"));
    assert_ne!(right, wrong);
    assert_eq!(right.count().get(), 8 * wrong.count().get());
}

/// a03: 73 elements over 4 ranks, padded to 76 or split by a vector.
#[test]
fn a03_padding_moves_ownership() {
    let expected = expected("a03-uneven-73-over-4");
    let n = ranks(&expected["nranks"]);
    let division = Division::new(ElemCount::new(whole(&expected["total"])), n);
    assert_eq!(division.even().is_some(), expected["divisible"].as_bool().unwrap());
    assert_eq!(division.lost_by_truncating().get(), whole(&expected["truncating_to_18_loses"]));

    let padded = division.padded().unwrap();
    assert_eq!(padded.length().get(), whole(&expected["pad_to"]));
    assert_eq!(padded.block().get(), whole(&expected["recvcount"]));

    // The call with that recvcount has those lengths.
    let sum = Operation::ReduceScatter { reduction: SUM };
    let layout = Layout::new(sum, n, padded.block().get()).unwrap();
    let each = payload(&layout, Dtype::F32, n.first()).unwrap();
    assert_eq!(each.input.elements().get(), whole(&expected["send_elements_per_rank"]));
    assert_eq!(each.output.elements().get(), whole(&expected["recv_elements_per_rank"]));

    // Ownership: first and last position, both inclusive, in the file.
    let owned = |key: &str, rank: Rank| {
        let range = &expected[key][rank.to_string()];
        whole(&range[0])..whole(&range[1]) + 1
    };
    for (rank, range) in padded.owned() {
        assert_eq!(range, owned("ownership_padded", rank));
        let valid = range.end - range.start;
        assert_eq!(valid, whole(&expected["valid_elements_padded"][rank.index() as usize]));
    }
    let last = n.rank(3).unwrap();
    assert_eq!(padded.padding_on(last).unwrap().get(), whole(&expected["pad_elements_on_rank3"]));
    assert_eq!(padded.padding(), padded.padding_on(last).unwrap()); // nobody else has any

    let counts: Vec<_> =
        expected["mpi_vector_counts"].as_array().unwrap().iter().map(whole).collect();
    let vector = division.vector(&counts).unwrap();
    for (rank, range) in vector.owned() {
        assert_eq!(range, owned("ownership_mpi_vector", rank));
    }

    let changes: Vec<_> = padded
        .changes_from(vector)
        .map(|change| change.to_string().replace("rank ", "rank").replace(" to ", "->"))
        .collect();
    assert_eq!(expected["positions_that_change_owner"], changes.join(", "));

    // "the identity of the reduction (0 for sum, 1 for prod, -inf/min for max, +inf/max for min)"
    let padding = |reduction, dtype| padding_value(reduction, dtype).to_string();
    for (reduction, float, integer) in [
        (Reduction::Sum, "0", "0"),
        (Reduction::Prod, "1", "1"),
        (Reduction::Max, "-inf", "-2147483648"),
        (Reduction::Min, "inf", "2147483647"),
    ] {
        assert_eq!(padding(reduction, Dtype::F32), float);
        assert_eq!(padding(reduction, Dtype::I32), integer);
    }
}

/// a12: suffixes of a request are 1024-based, GB/s and link rates are not.
///
/// That the file holds two runs of one rank is for a reader of the device list to
/// say; here its rows are shown to fit one rank and not two.
#[test]
fn a12_requests_are_binary_and_rates_decimal() {
    const ID: &str = "a12-M-is-mebi-GBps-is-giga";
    let expected = expected(ID);
    let bytes = parse_request(expected["requested"].as_str().unwrap()).unwrap();
    assert_eq!(bytes.get(), whole(&expected["bytes"]));
    assert_eq!(bytes.to_string(), "1250 MiB (1310720000 B)");
    for (request, bytes) in expected["suffixes"].as_object().unwrap() {
        assert_eq!(parse_request(request).unwrap().get(), whole(bytes), "{request}");
    }

    // The same digits in decimal are another number; a label must say which.
    let number = |text: &str| Label::parse(text).map(|label| label.number());
    let decimal = ByteCount::new(whole(&expected["if_decimal"]));
    assert_eq!(number("1250 MB"), Ok(Number::Bytes(decimal)));
    assert_eq!(number("1250 MiB"), Ok(Number::Bytes(bytes)));
    assert!(number("1250 M").is_err());

    let link = Bandwidth::from_gigabits_per_second(10.0).unwrap();
    assert_eq!(expected["gbps_to_GBps"], "divide by 8");
    assert!((link.gigabytes_per_second() - 10.0 / 8.0).abs() < 1e-12);
    let ideal = link.time_for(bytes).unwrap().as_secs_f64();
    assert_eq!(format!("{ideal:.4}"), expected["ideal_seconds_at_10Gbit"].to_string());

    let two = GroupSize::new(2).unwrap();
    let factor = |ranks| bus_factor(OperationKind::AllReduce, ranks).to_f64();
    let tolerance = f64::EPSILON;
    assert!((factor(two) - expected["two_rank_busbw_factor"].as_f64().unwrap()).abs() < tolerance);

    let file = text(ID, "run.txt");
    let rows = rows(&file);
    assert_eq!(rows.len(), 2);
    for row in rows {
        let (size, count) = (row[0].parse().unwrap(), row[1].parse().unwrap());
        assert_eq!((size, count), (bytes.get(), bytes.get() / 4));
        let count = ElemCount::new(count);
        let implied = Test::AllReduce.implied_ranks(bytes, count, Dtype::F32);
        assert_eq!(implied, Ok(ImpliedRanks::AnyNumber)); // the columns do not tell
        let busbw = |ranks| {
            let basis = Test::AllReduce.basis(count, ranks, Dtype::F32).unwrap();
            assert_eq!(printed(basis.algbw(micros(row[4])).unwrap()), row[5]);
            printed(basis.busbw(micros(row[4])).unwrap())
        };
        assert_eq!(busbw(GroupSize::ONE), row[6]); // 0.00: the factor of one rank
        assert_ne!(busbw(two), row[6]);
    }
    assert_eq!(expected["ranks_in_file"], "two independent runs with 1 rank each");
}

/// a17: the S of an all-reduce is one rank's vector; traffic is another figure.
#[test]
fn a17_s_is_one_vector() {
    let expected = expected("a17-what-is-S-for-allreduce");
    let n = ranks(&expected["nranks"]);
    let dtype = Dtype::F32;
    assert_eq!(dtype.bytes(), whole(&expected["elem_bytes"]));
    let count = whole(&expected["count"]);
    let layout = Layout::new(Operation::AllReduce { reduction: SUM }, n, count).unwrap();

    let basis = Basis::of(&layout, dtype).unwrap();
    assert_eq!(basis.size().get(), whole(&expected["S_bytes"]));
    let readings = expected["wrong_readings"].as_object().unwrap();
    assert_eq!(readings.len(), 2);
    for (formula, bytes) in readings {
        assert_ne!(basis.size().get(), whole(bytes), "{formula}");
    }

    let elapsed = Duration::from_secs_f64(expected["time_ms"].as_f64().unwrap() * 1e-3);
    let matches = |found: Option<Bandwidth>, key: &str| {
        let found = found.unwrap().gigabytes_per_second();
        assert!((found - expected[key].as_f64().unwrap()).abs() < 1e-9, "{key}: {found}");
    };
    matches(basis.algbw(elapsed), "algbw_GBps");
    matches(basis.busbw(elapsed), "busbw_GBps");

    let sent = |algorithm| {
        let estimate = TrafficEstimate::of(&layout, dtype, algorithm).unwrap().unwrap();
        estimate.sent_per_rank.whole().unwrap()
    };
    assert_eq!(sent(Algorithm::Ring), whole(&expected["ring_bytes_sent_per_rank"]));
    let tree = whole(&expected["tree_bytes_sent_non_root_approx"]);
    assert_eq!(sent(Algorithm::DoubleBinaryTree), tree);

    // Whichever figure a label names, an all-reduce has one.
    let settled = Label::parse(&format!("all_reduce {count} el n={n} f32")).unwrap().settle();
    let settled = settled.unwrap();
    for meaning in Meaning::ALL {
        assert_eq!(settled.figure(meaning).bytes(), basis.size());
    }
}
