//! Buffers: hazards between streams, overlaps within a call or a unit.

use rankwise_program::{Findings, Kind, Program, Report, check};
use rstest::rstest;

/// Both ranks run the same calls.
fn findings(calls: &str) -> Findings {
    let text = format!(r#"{{"world": 2, "programs": {{"0": [{calls}], "1": [{calls}]}}}}"#);
    check(&Program::from_json(&text).unwrap())
}

fn conflicts(calls: &str) -> Vec<Report> {
    let found = findings(calls).reports;
    found.iter().map(|report| Report::clone(report)).collect()
}

const GATHER: &str =
    r#"{"op": "all_gather", "count": 2, "dtype": "f32", "send": "x", "recv": "y", "stream": "s0"}"#;

/// Reads y[2..4] on s1.
const SEND_ON: &str = r#"{"op": "all_reduce", "count": 2, "dtype": "f32", "redop": "sum",
    "send": "y[2..4]", "recv": "z", "stream": "s1"}"#;

#[test]
fn a_gather_and_a_reader_on_another_stream_are_a_hazard() {
    let found = conflicts(&format!("{GATHER}, {SEND_ON}"));
    let [report] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(report.kind, Kind::Hazard);
    assert_eq!(
        report.to_string(),
        "hazard: y[2..4] on rank 0, 1
  all_gather of 2 × f32 on world writes y[0..4], stream s0, at rank 0, call 0
  all_reduce(sum) of 2 × f32 on world reads y[2..4], stream s1, at rank 0, call 1"
    );
}

#[rstest]
#[case::fence(r#"{"op": "fence", "stream": "s1", "after": "s0"},"#)]
#[case::host_wait(r#"{"op": "wait", "stream": "s0"},"#)]
// A wait for a third stream that has waited for the first.
#[case::by_way_of_a_third(
    r#"{"op": "fence", "stream": "s2", "after": "s0"}, {"op": "wait", "stream": "s2"},"#
)]
#[case::by_two_fences(
    r#"{"op": "fence", "stream": "s2", "after": "s0"},
       {"op": "fence", "stream": "s1", "after": "s2"},"#
)]
fn what_puts_them_in_order(#[case] between: &str) {
    assert_eq!(conflicts(&format!("{GATHER}, {between} {SEND_ON}")), []);
}

#[rstest]
// The fence the other way round, of another stream, and too early.
#[case(&format!(r#"{GATHER}, {{"op": "fence", "stream": "s0", "after": "s1"}}, {SEND_ON}"#))]
#[case(&format!(r#"{GATHER}, {{"op": "fence", "stream": "s1", "after": "s2"}}, {SEND_ON}"#))]
#[case(&format!(r#"{{"op": "fence", "stream": "s1", "after": "s0"}}, {GATHER}, {SEND_ON}"#))]
#[case(&format!(r#"{{"op": "wait", "stream": "s0"}}, {GATHER}, {SEND_ON}"#))]
fn what_does_not(#[case] calls: &str) {
    let found = conflicts(calls);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].kind, Kind::Hazard);
}

#[test]
fn waiting_for_the_call_itself_is_enough() {
    let waited = GATHER.replace(r#""stream""#, r#""wait": true, "stream""#);
    assert_eq!(conflicts(&format!("{waited}, {SEND_ON}")), []);
}

#[test]
fn readers_do_not_disturb_each_other_and_other_positions_are_other_positions() {
    let other = SEND_ON.replace("y[2..4]", "x");
    assert_eq!(conflicts(&format!("{GATHER}, {other}")), []);
    let beyond = SEND_ON.replace("y[2..4]", "y[4..6]");
    assert_eq!(conflicts(&format!("{GATHER}, {beyond}")), []);
    // Writing what the gather reads: write after read.
    let back = SEND_ON.replace("y[2..4]", "w").replace("\"z\"", "\"x[1..3]\"");
    let found = conflicts(&format!("{GATHER}, {back}"));
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].to_string(),
        "hazard: x[1..2] on rank 0, 1
  all_gather of 2 × f32 on world reads x[0..2], stream s0, at rank 0, call 0
  all_reduce(sum) of 2 × f32 on world writes x[1..3], stream s1, at rank 0, call 1"
    );
}

#[test]
fn positions_of_other_widths_meet_in_bytes() {
    // y[0..4] of f32 is bytes 0 to 16; y[1..2] of f64 is bytes 8 to 16.
    let wide = r#"{"op": "all_reduce", "count": 1, "dtype": "f64", "redop": "sum",
        "send": "y[1..2]", "recv": "z", "stream": "s1"}"#;
    let found = conflicts(&format!("{GATHER}, {wide}"));
    assert_eq!(found[0].to_string().lines().next(), Some("hazard: y[8..16] (bytes) on rank 0, 1"));
    // y[2..3] of f64 is behind it.
    assert_eq!(conflicts(&format!("{GATHER}, {}", wide.replace("y[1..2]", "y[2..3]"))), []);
}

#[test]
fn a_kernel_on_a_stream_of_its_own() {
    // The gradient is reduced while the next kernel writes it.
    let kernel = r#"{"op": "local", "stream": "compute", "dtype": "f32", "writes": "grad", "tag": "backward"}"#;
    let reduce = r#"{"op": "all_reduce", "count": 8, "dtype": "f32", "redop": "sum",
        "send": "grad[8..16]", "recv": "grad[8..16]", "stream": "comm"}"#;
    let fence = r#"{"op": "fence", "stream": "comm", "after": "compute"}"#;
    let found = findings(&format!("{kernel}, {fence}, {reduce}, {kernel}"));
    let [report] = found.reports.as_slice() else { panic!("{:?}", found.reports) };
    // The reduction is in place: it reads and writes them, and that is one conflict.
    assert_eq!(
        report.to_string(),
        "hazard: grad[8..16] on rank 0, 1
  all_reduce(sum) of 8 × f32 on world reads grad[8..16], stream comm, at rank 0, call 2
  local (tag backward) writes grad, stream compute, at rank 0, call 3"
    );
    // The work of the ranks alone is in the order, and is no meeting.
    assert_eq!((found.completed, found.completions.len()), (1, 5));
    let back = r#"{"op": "fence", "stream": "compute", "after": "comm"}"#;
    assert_eq!(conflicts(&format!("{kernel}, {fence}, {reduce}, {back}, {kernel}")), []);
}

#[test]
fn a_loop_is_reported_once_and_counted() {
    let many = vec![format!("{GATHER}, {SEND_ON}"); 5].join(", ");
    let found = conflicts(&many);
    // The gather of a later round writes while the reader of an earlier one reads.
    let first: Vec<_> =
        found.iter().map(|report| report.to_string().lines().next().unwrap().to_owned()).collect();
    assert_eq!(first, ["hazard: y[2..4] on rank 0, 1"; 2]);
    let more: Vec<_> = found.iter().map(|report| report.conflict.as_ref().unwrap().more).collect();
    // Five readers after a gather, four gathers after a reader; the first is shown.
    assert_eq!(more.iter().sum::<u64>(), 4 + 3);
}

#[test]
fn the_aliased_output_list() {
    // An all-gather into a list that names one tensor twice.
    let aliased = GATHER.replace(r#""recv": "y""#, r#""recv": ["t", "t"]"#);
    let found = conflicts(&aliased);
    let [report] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(
        report.to_string(),
        "overlap: t[0..2] on rank 0, 1
  all_gather of 2 × f32 on world writes t[0..2], stream s0, at rank 0, call 0
  all_gather of 2 × f32 on world writes t[0..2], stream s0, at rank 0, call 0"
    );
    let partly = GATHER.replace(r#""recv": "y""#, r#""recv": ["t[0..2]", "t[1..3]"]"#);
    assert_eq!(conflicts(&partly)[0].conflict.as_ref().unwrap().shared.to_string(), "t[1..2]");
    let apart = GATHER.replace(r#""recv": "y""#, r#""recv": ["t[0..2]", "t[2..4]"]"#);
    assert_eq!(conflicts(&apart), []);
}

/// Rank 1's view of one call; rank 0 makes it on buffers of its own.
fn on_rank_1(call: &str, buffers: &str) -> usize {
    let text = format!(
        r#"{{"world": 2, "programs": {{"0": [{{{call}}}], "1": [{{{call}, {buffers}}}]}}}}"#
    );
    check(&Program::from_json(&text).unwrap()).reports.len()
}

#[rstest]
#[case(r#""send": "y[2..4]", "recv": "y[0..4]""#, 0)]
#[case(r#""send": "y[0..2]", "recv": "y[0..4]""#, 1)]
#[case(r#""send": "y[6..8]", "recv": "y[4..8]""#, 0)]
#[case(r#""send": "y[4..6]", "recv": "y[0..4]""#, 0)]
#[case(r#""send": "y[3..5]", "recv": "y[0..4]""#, 1)]
fn in_place_is_the_own_block_of_the_gathered(#[case] buffers: &str, #[case] expected: usize) {
    let call = r#""op": "all_gather", "count": 2, "dtype": "f32""#;
    assert_eq!(on_rank_1(call, buffers), expected, "{buffers}");
}

#[rstest]
#[case(r#""send": "y[0..4]", "recv": "y[2..4]""#, 0)]
#[case(r#""send": "y[0..4]", "recv": "y[0..2]""#, 1)]
#[case(r#""send": "y[0..4]", "recv": "y[1..3]""#, 1)]
fn in_place_is_the_own_block_of_what_is_scattered(#[case] buffers: &str, #[case] expected: usize) {
    let call = r#""op": "reduce_scatter", "count": 2, "dtype": "f32", "redop": "sum""#;
    assert_eq!(on_rank_1(call, buffers), expected, "{buffers}");
}

#[rstest]
#[case("all_reduce", r#", "redop": "sum""#, r#""send": "y[1..3]", "recv": "y[1..3]""#, 0)]
#[case("all_reduce", r#", "redop": "sum""#, r#""send": "y[1..3]", "recv": "y[2..4]""#, 1)]
// An all-to-all has no in-place form.
#[case("all_to_all", "", r#""send": "y", "recv": "y""#, 1)]
fn in_place_is_the_same_buffer(
    #[case] op: &str,
    #[case] more: &str,
    #[case] buffers: &str,
    #[case] expected: usize,
) {
    let call = format!(r#""op": "{op}", "count": 2, "dtype": "f32"{more}"#);
    assert_eq!(on_rank_1(&call, buffers), expected, "{buffers}");
}

#[test]
fn the_calls_of_a_unit_are_all_at_once() {
    // A ring that shifts a buffer in place: each sends what it receives over.
    let ring = |send: &str, recv: &str| {
        let calls = |to: u32| {
            format!(
                r#"{{"op": "group", "wait": true, "calls": [
                    {{"op": "send", "peer": {to}, "count": 2, "dtype": "f32", "send": "{send}"}},
                    {{"op": "recv", "peer": {to}, "count": 2, "dtype": "f32", "recv": "{recv}"}}]}}"#
            )
        };
        let text =
            format!(r#"{{"world": 2, "programs": {{"0": [{}], "1": [{}]}}}}"#, calls(1), calls(0));
        check(&Program::from_json(&text).unwrap()).reports
    };
    let found = ring("x", "x");
    // The peers differ, and so do the calls: one report for each rank.
    assert_eq!(found.len(), 2);
    assert_eq!(
        found[0].to_string(),
        "overlap: x[0..2] on rank 0
  send(to 1) of 2 × f32 on world reads x[0..2], stream s0, at rank 0, call 0.0
  recv(from 1) of 2 × f32 on world writes x[0..2], stream s0, at rank 0, call 0.1"
    );
    assert_eq!(ring("x[0..2]", "x[1..3]")[0].kind, Kind::Overlap);
    assert!(ring("x[0..2]", "x[2..4]").is_empty());
}

#[rstest]
#[case(r#""recv": "y[0..3]""#, "recv names 3 positions, and the call has 4 there")]
#[case(r#""recv": ["y[0..3]", "z", "w"]"#, "recv has 2 views without positions for 4 elements")]
#[case(r#""send": "x[2]""#, "\"x[2]\" is no view")]
#[case(r#""reads": "x""#, "all_gather has no reads")]
fn views_that_do_not_fit_are_refused(#[case] buffers: &str, #[case] expected: &str) {
    let call = format!(r#"{{"op": "all_gather", "count": 2, "dtype": "f32", {buffers}}}"#);
    let text = format!(r#"{{"world": 2, "programs": {{"0": [{call}]}}}}"#);
    let error = Program::from_json(&text).unwrap_err().to_string();
    assert!(error.starts_with(&format!("rank 0, call 0: {expected}")), "{error}");
}

#[test]
fn a_rank_that_reads_nothing_has_no_input() {
    let call = r#"{"op": "broadcast", "root": 0, "count": 2, "dtype": "f32", "send": "x"}"#;
    let text = format!(r#"{{"world": 2, "programs": {{"1": [{call}]}}}}"#);
    assert_eq!(
        Program::from_json(&text).unwrap_err().to_string(),
        "rank 1, call 0: send is given, and broadcast(root 0) of 2 × f32 has none on this rank"
    );
}

/// In place, a reduce-scatter keeps its own block and may use the others as scratch (IP-3).
/// Rank 0 reads block 1 meanwhile, rank 1 its own block, which is written anyway.
#[test]
fn a_reduction_in_place_disturbs_all_of_its_input() {
    let reader = |recv: &str| {
        format!(
            r#"{{"op": "local", "dtype": "f32", "reads": "x[2..4]", "writes": "z", "stream": "s1"}},
               {{"op": "reduce_scatter", "count": 2, "dtype": "f32", "redop": "sum", "send": "x",
                "recv": "{recv}", "stream": "s0"}}"#
        )
    };
    let programs = |zero: &str, one: &str| {
        let (zero, one) = (reader(zero), reader(one));
        let text = format!(r#"{{"world": 2, "programs": {{"0": [{zero}], "1": [{one}]}}}}"#);
        check(&Program::from_json(&text).unwrap()).reports
    };
    let found = programs("x[0..2]", "x[2..4]");
    let [report] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(report.kind, Kind::Hazard);
    assert_eq!(
        report.to_string(),
        "hazard: x[2..4] on rank 0, 1
  local reads x[2..4], stream s1, at rank 0, call 0
  reduce_scatter(sum) of 2 × f32 on world writes x[0..4], stream s0, at rank 0, call 1"
    );
    assert_eq!(programs("y", "y"), []);
}

/// Elements 2 and 3 of 8 bytes are bytes 16..32; of 4 bytes they are 8..16.
#[rstest]
#[case(r#""dtype": "f32", "read_dtype": "f64""#, 1)]
#[case(r#""dtype": "f32""#, 0)]
fn a_conversion_reads_elements_of_another_width(#[case] types: &str, #[case] expected: usize) {
    let reduce = r#"{"op": "all_reduce", "count": 2, "dtype": "f64", "redop": "sum",
        "send": "x[2..4]", "recv": "x[2..4]", "stream": "s0"}"#;
    let cast =
        format!(r#"{{"op": "local", {types}, "reads": "x[2..4]", "writes": "z", "stream": "s1"}}"#);
    assert_eq!(conflicts(&format!("{reduce}, {cast}")).len(), expected);
    let text = format!(r#"{{"world": 1, "programs": {{"0": [{cast}]}}}}"#);
    let program = Program::from_json(&text).unwrap();
    assert_eq!(Program::from_json(&program.to_json()).unwrap(), program);
}
