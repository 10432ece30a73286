//! Readings, texts and settled labels, worked out by hand.

use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;

use rstest::rstest;

use super::*;
use crate::ratio::Ratio;

fn label(text: &str) -> Label {
    Label::parse(text).unwrap()
}

/// Operation, count elements, input bytes and output bytes of every reading.
fn rows(text: &str) -> Vec<(&'static str, String, String, String)> {
    label(text)
        .readings()
        .map(|reading| {
            let show = |figure: Result<Figure, Impossible>| match figure {
                Ok(figure) => figure.to_string(),
                Err(why) => why.to_string(),
            };
            (
                reading.operation().name(),
                show(reading.count()),
                show(reading.input_bytes()),
                show(reading.output_bytes()),
            )
        })
        .collect()
}

fn row(
    operation: &'static str,
    count: &str,
    input: &str,
    output: &str,
) -> (&'static str, String, String, String) {
    (operation, count.to_string(), input.to_string(), output.to_string())
}

/// Sixteen bytes, two ranks, 4-byte integers: fourteen different jobs.
#[test]
fn sixteen_bytes_fit_every_operation() {
    assert_eq!(
        rows("16 B n=2 i32"),
        [
            row("all_reduce", "4 elements", "16 B", "16 B"),
            row("reduce", "4 elements", "16 B", "16 B"),
            row("broadcast", "4 elements", "16 B", "16 B"),
            row("all_gather", "4 elements", "16 B", "32 B"),
            row("all_gather", "2 elements", "8 B", "16 B"),
            row("reduce_scatter", "4 elements", "32 B", "16 B"),
            row("reduce_scatter", "2 elements", "16 B", "8 B"),
            row("all_to_all", "4 elements", "32 B", "32 B"),
            row("all_to_all", "2 elements", "16 B", "16 B"),
            row("gather", "4 elements", "16 B", "32 B"),
            row("gather", "2 elements", "8 B", "16 B"),
            row("scatter", "4 elements", "32 B", "16 B"),
            row("scatter", "2 elements", "16 B", "8 B"),
            row("send/recv", "4 elements", "16 B", "16 B"),
        ]
    );
}

/// What is not known stays a letter.
#[rstest]
#[case("all_gather 16 B in", "16 B / e", "16 B", "n × 16 B")]
#[case("all_gather 16 B out", "16 B / (n · e)", "16 B / n", "16 B")]
#[case("all_gather 16 B out n=2", "8 B / e", "8 B", "16 B")]
#[case("all_gather 16 B out i32", "4 elements / n", "16 B / n", "16 B")]
#[case("all_gather 4 el in", "4 elements", "4 elements × e", "n × 4 elements × e")]
#[case("all_gather 4 el out n=2", "2 elements", "2 elements × e", "4 elements × e")]
#[case(
    "reduce_scatter 1 MiB size f32",
    "262144 elements / n",
    "1 MiB (1048576 B)",
    "1048576 B / n"
)]
fn formulas(#[case] text: &str, #[case] count: &str, #[case] input: &str, #[case] output: &str) {
    let found = rows(text);
    assert_eq!(found.len(), 1);
    let (_, found_count, found_input, found_output) = &found[0];
    assert_eq!((&**found_input, &**found_output), (input, output));
    assert_eq!(found_count, count);
}

#[rstest]
#[case("15 B all_reduce i32", "all_reduce: 15 B does not divide by 4 B (i32), 3 left over")]
#[case("16 B all_gather out n=3", "all_gather: 16 B does not divide by 3 ranks, 1 left over")]
#[case(
    "24 B all_gather out n=2 f64",
    "all_gather: 24 B does not divide by 2 ranks × 8 B (f64), 8 left over"
)]
#[case(
    "4611686018427387904 el all_gather in n=4",
    "all_gather: 4611686018427387904 elements × 4 ranks does not fit in 64 bits"
)]
#[case(
    "4611686018427387904 el all_reduce in i32",
    "all_reduce: 4611686018427387904 elements × 4 B (i32) does not fit in 64 bits"
)]
#[case(
    "1152921504606846976 el all_gather in n=4 i32",
    "all_gather: 1152921504606846976 elements × 4 ranks × 4 B (i32) does not fit in 64 bits"
)]
fn impossible_readings_say_why(#[case] text: &str, #[case] expected: &str) {
    let readings: Vec<_> = label(text).readings().collect();
    assert_eq!(readings.len(), 1);
    assert_eq!(readings[0].possible().unwrap_err().to_string(), expected);
    let whole = label(text);
    if whole.missing().is_empty() {
        assert!(matches!(whole.settle(), Err(Unsettled::Impossible(_))));
    }
}

#[test]
fn meanings_of_one_length_are_one_reading() {
    let meanings = |text| {
        let each = |reading: Reading| reading.meanings().map(Meaning::word).collect::<Vec<_>>();
        label(text).readings().map(each).collect::<Vec<_>>()
    };
    assert_eq!(meanings("all_reduce 4 el"), [["in", "out", "count", "size"]]);
    assert_eq!(meanings("all_gather 4 el"), [["in", "count"], ["out", "size"]]);
    assert_eq!(meanings("reduce_scatter 4 el"), [["out", "count"], ["in", "size"]]);
    assert_eq!(meanings("all_to_all 4 el"), [vec!["count"], vec!["in", "out", "size"]]);
    assert_eq!(meanings("gather 4 el recv"), [["out", "size"]]);
}

#[test]
fn factors_between_readings_are_powers_of_n() {
    let readings: Vec<_> = label("16 B").readings().collect();
    let find = |operation, extent| {
        let found =
            |reading: &&Reading| (reading.operation(), reading.extent()) == (operation, extent);
        *readings.iter().find(found).unwrap()
    };
    let gathered = find(OperationKind::AllGather, Extent::Count);
    let scattered = find(OperationKind::ReduceScatter, Extent::CountPerRank);
    let reduced = find(OperationKind::AllReduce, Extent::Count);
    let factor = |a: Reading, b: Reading, side| a.factor(&b, side).to_string();
    // Both hand in 16 B; one is left with n × 16 B, the other with 16 B / n.
    assert_eq!(factor(gathered, scattered, Side::Input), "1");
    assert_eq!(factor(gathered, scattered, Side::Output), "n²");
    assert_eq!(factor(scattered, gathered, Side::Output), "1/n²");
    assert_eq!(factor(gathered, reduced, Side::Output), "n");
    assert_eq!(factor(scattered, reduced, Side::Output), "1/n");
    let three = GroupSize::new(3).unwrap();
    assert_eq!(scattered.factor(&gathered, Side::Output).over(three), Ratio::new(1, 9).unwrap());
}

#[test]
fn settled_labels_compare_by_the_call() {
    let settle = |text| label(text).settle().unwrap();
    // The mission's gather of the shards, said four ways.
    let shards = settle("all_gather 2 el count n=2 i32");
    assert_eq!(shards, settle("all_gather 8 B in n=2 i32"));
    assert_eq!(shards, settle("all_gather 16 B out n=2 i32"));
    assert_eq!(shards, settle("all_gather 16 B size n=2 i32"));
    // And what shares a figure with it without being it.
    for other in [
        "all_gather 4 el count n=2 i32",
        "all_gather 2 el count n=4 i32",
        "all_gather 2 el count n=2 f32",
        "all_reduce 16 B n=2 i32",
        "reduce_scatter 2 el count n=2 i32",
    ] {
        assert_ne!(shards, settle(other), "{other}");
    }
    assert_eq!(
        shards.to_string(),
        "all_gather over 2 ranks, count 2 elements i32, 8 B: in 8 B, out 16 B"
    );
}

#[rstest]
#[case("16 B", &[Part::Operation, Part::Meaning, Part::Ranks, Part::Dtype])]
#[case("16 B all_gather", &[Part::Meaning, Part::Ranks, Part::Dtype])]
#[case("16 B all_reduce", &[Part::Ranks, Part::Dtype])] // one vector, whatever is named
#[case("16 B out n=2 i32", &[Part::Operation])]
#[case("16 B out n=2 i32 all_gather", &[])]
fn what_is_missing(#[case] text: &str, #[case] expected: &[Part]) {
    assert_eq!(label(text).missing().parts().collect::<Vec<_>>(), expected);
    match label(text).settle() {
        Err(Unsettled::Missing { .. }) => assert!(!expected.is_empty()),
        other => assert!(other.is_ok() && expected.is_empty(), "{other:?}"),
    }
}

#[rstest]
#[case("16 B", "16 B")]
#[case("16B", "16 B")]
#[case("16 bytes", "16 B")]
#[case("  4   elements ", "4 elements")]
#[case("1el", "1 element")]
#[case("i32 n=2 recv all_gather 16 B", "all_gather 16 B out n=2 i32")]
#[case("MPI_Allgather 1.5 MiB send torch.bfloat16", "all_gather 1572864 B in bf16")]
#[case("1_572_864 B send/recv send", "send/recv 1572864 B in")]
#[case("1 kB", "1000 B")]
#[case("1 KiB", "1024 B")]
#[case("0.5 GB size", "500000000 B size")]
#[case("0 elements int8 count", "0 elements count i8")]
#[case("4 el in int", "4 elements in i32")]
#[case("n=4294967295 18446744073709551615 B", "18446744073709551615 B n=4294967295")]
fn reads(#[case] text: &str, #[case] canonical: &str) {
    assert_eq!(label(text).to_string(), canonical);
    assert_eq!(label(canonical).to_string(), canonical);
}

#[rstest]
#[case("", 0, "", Expected::Number)]
#[case("all_gather n=2", 14, "", Expected::Number)]
#[case("16", 2, "", Expected::Unit)]
#[case("count 4 all_reduce", 8, "all_reduce", Expected::Unit)]
#[case("16 B of", 5, "of", Expected::APart)]
#[case("-16 B", 0, "-16", Expected::APart)]
#[case("sixteen bytes", 0, "sixteen", Expected::APart)]
#[case("bytes 16", 0, "bytes", Expected::NumberBeforeUnit)]
#[case("1,5 MiB", 0, "1,5", Expected::Digits)]
#[case("1.2.3 B", 0, "1.2.3", Expected::Digits)]
#[case("1e6 B", 1, "e6", Expected::Unit)]
#[case("16µB", 0, "16µ", Expected::Digits)]
#[case("32M", 2, "M", Expected::UnambiguousUnit)]
#[case("32 KB", 3, "KB", Expected::UnambiguousUnit)]
#[case("32 b", 3, "b", Expected::UnambiguousUnit)]
#[case("1.5 B", 0, "1.5", Expected::Whole)]
#[case("0.5 el", 0, "0.5", Expected::Whole)]
#[case("18446744073709551616 B", 0, "18446744073709551616", Expected::Smaller)]
#[case("16777216 TiB", 0, "16777216", Expected::Smaller)]
#[case("16 B n=0", 5, "n=0", Expected::Ranks)]
#[case("16 B n=two", 5, "n=two", Expected::Ranks)]
#[case("16 B n=+2", 5, "n=+2", Expected::Ranks)]
#[case("16 B n=4294967296", 5, "n=4294967296", Expected::Ranks)]
#[case("16 B 4 el", 5, "4", Expected::Once { part: Part::Number, first: 0 })]
#[case("16 B i32 f32", 9, "f32", Expected::Once { part: Part::Dtype, first: 5 })]
#[case("16 B in out", 8, "out", Expected::Once { part: Part::Meaning, first: 5 })]
#[case("16 B n=2 n=2", 9, "n=2", Expected::Once { part: Part::Ranks, first: 5 })]
#[case("reduce 16 B reduce", 12, "reduce", Expected::Once { part: Part::Operation, first: 0 })]
fn refuses(#[case] text: &str, #[case] at: usize, #[case] found: &str, #[case] expected: Expected) {
    let error = Label::parse(text).unwrap_err();
    assert_eq!((error.at, error.found.as_str(), error.expected), (at, found, expected));
}

#[test]
fn errors_are_one_line_each() {
    let text = |text| Label::parse(text).unwrap_err().to_string();
    assert_eq!(
        text(""),
        "byte 0: found the end, expected a number with its unit, such as 16 B or 4 elements"
    );
    assert_eq!(
        text("16 B i32 f32"),
        "byte 9: found \"f32\", expected the element type only once (it is at byte 5 already)"
    );
    assert_eq!(
        text(
            "16 B \u{1f980}\u{1f980}\u{1f980}\u{1f980}\u{1f980}\u{1f980}\u{1f980}\u{1f980}\u{1f980}"
        ),
        "byte 5: found \"\u{1f980}\u{1f980}\u{1f980}\u{1f980}\u{1f980}\u{1f980}\u{1f980}\u{1f980}\"…, \
         expected a number with its unit, an operation, one of send recv in out count size, n=N, \
         or an element type"
    );
}
