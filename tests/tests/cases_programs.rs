//! Field cases of rank programs: d01, d05, d06, d11 and d14, and d03, d12 and d17, whose
//! logs and traces are written down as programs.

use std::collections::BTreeMap;

use rankwise_program::{
    Aspect, Aspects, Caveat, Edit, Findings, Kind, Program, Report, Seq, Side, check,
};
use rankwise_topology::WorldRank;
use serde_json::Value;

fn text(id: &str, file: &str) -> String {
    let path = format!("{}/cases/{id}/{file}.json", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

fn expected(id: &str) -> Value {
    serde_json::from_str(&text(id, "expected")).unwrap()
}

fn findings(id: &str, file: &str) -> Findings {
    check(&Program::from_json(&text(id, file)).unwrap())
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

fn indices(ranks: &[WorldRank]) -> Vec<u64> {
    ranks.iter().map(|rank| rank.index().into()).collect()
}

fn members(side: &Side) -> Vec<u64> {
    side.members.iter().map(|member| member.world.index().into()).collect()
}

/// The one report of a check.
fn only(findings: &Findings) -> &Report {
    let [report] = findings.reports.as_slice() else {
        panic!("{} reports, one expected", findings.reports.len())
    };
    report
}

/// The ranks of each side, by what `word` says of it.
fn by_side(report: &Report, word: impl Fn(&Side) -> String) -> BTreeMap<String, Vec<u64>> {
    report.sides.iter().map(|side| (word(side), members(side))).collect()
}

fn by_key(value: &Value) -> BTreeMap<String, Vec<u64>> {
    let object = value.as_object().unwrap();
    object.iter().map(|(key, ranks)| (key.clone(), numbers(ranks))).collect()
}

#[test]
fn d01_a_count_off_by_two_is_a_mismatch_though_it_may_not_hang() {
    let expected = expected("d01-count-off-by-two-no-hang");
    let findings = findings("d01-count-off-by-two-no-hang", "program");
    let report = only(&findings);
    assert_eq!(report.kind, Kind::Mismatch);
    assert_eq!(report.aspects, Aspects::NONE.with(Aspect::Count));
    assert_eq!(&*report.communicator, expected["group"].as_str().unwrap());
    assert_eq!(report.seq, Some(Seq::Collective(expected["call_index"].as_u64().unwrap())));
    assert_eq!(indices(&report.outliers), numbers(&expected["culprits"]));
    let count = |side: &Side| side.signature.payload().unwrap().count;
    assert_eq!(count(&report.sides[0]), expected["majority"].as_u64().unwrap());
    assert_eq!(by_side(report, |side| count(side).to_string()), by_key(&expected["values"]));
    assert!(report.sides.iter().all(|side| side.signature.verb().name() == expected["op"]));
    assert_eq!(findings.completed, 0);
    assert_eq!(
        report.to_string(),
        "mismatch of count: all_reduce(sum), collective 0 of world (8 ranks), outlier rank 0
  rank 1 to 7: all_reduce(sum) of 409598 × f32
    at rank 1, call 0 (rank 1)
    at rank 2, call 0 (rank 2)
    at rank 3, call 0 (rank 3)
    at rank 4, call 0 (rank 4)
    … and 3 more places
  rank 0: all_reduce(sum) of 409600 × f32
    at rank 0, call 0"
    );
}

/// That a report is the wait cycle of d05, as far as `expected` says.
fn is_the_cycle(report: &Report, expected: &Value) {
    let mut cycle = indices(&report.cycle());
    cycle.extend(cycle.first().copied());
    assert_eq!(cycle, numbers(&expected["cycle"]));
    assert_eq!(report.waits.len(), 4, "one edge per rank");
}

/// The counts of the log are no aspect: an all-gather's is in bytes there, and counts
/// something else.
#[test]
fn d03_an_all_gather_among_all_reduces_is_named_by_its_operation() {
    let id = "d03-allreduce-against-allgather";
    let expected = expected(id);
    let findings = findings(id, "program");
    let report = only(&findings);
    assert_eq!((report.kind, findings.completed), (Kind::Mismatch, 0));
    assert_eq!(u64::from(report.ranks.get()), expected["nranks"].as_u64().unwrap());
    // The first of the two places: opCount 28c in the log, call 0 here.
    assert_eq!(report.seq, Some(Seq::Collective(0)));
    assert_eq!(indices(&report.outliers), numbers(&expected["culprits"]));
    let operations = by_side(report, |side| side.signature.verb().name().to_owned());
    assert_eq!(operations, by_key(&expected["first_bad"]["ops"]));
    assert!(report.aspects.contains(Aspect::Operation), "{report}");
    assert!(!report.aspects.contains(Aspect::Count), "{report}");
    // 0x28c in bytes: the log's counts times the size of their types.
    for side in &report.sides {
        let payload = side.signature.payload().unwrap();
        let field = match side.signature.verb().name() {
            "all_gather" => "all_gather_send",
            other => other,
        };
        let bytes = expected["bytes"]["0x28c"][field].as_u64().unwrap();
        assert_eq!(payload.count * payload.dtype.bytes(), bytes);
    }
}

#[test]
fn d05_blocking_calls_wait_in_a_circle() {
    let id = "d05-two-dimensional-mesh-wait-cycle";
    let expected = &expected(id)["blocking.json"];
    let findings = findings(id, "blocking");
    let report = only(&findings);
    assert_eq!(report.kind, Kind::Deadlock);
    is_the_cycle(report, expected);
    for edge in &report.waits {
        let rank = edge.rank.to_string();
        let stuck = &expected["stuck"][&rank];
        assert_eq!(&*edge.call.communicator, stuck["group"].as_str().unwrap());
        assert_eq!(edge.call.signature.verb().name(), stuck["op"].as_str().unwrap());
        assert_eq!(edge.call.seq, Seq::Collective(stuck["instance"].as_u64().unwrap()));
        let site = format!("rank {rank}, call {}", stuck["call_index"]);
        assert_eq!(edge.call.site.to_string(), site);
        assert_eq!(indices(&edge.waits_for), numbers(&expected["waits_for"][&rank]));
    }
    assert_eq!((findings.completed, findings.order.len()), (0, 0));
}

#[test]
fn d05_one_stream_for_both_waits_in_the_same_circle() {
    let id = "d05-two-dimensional-mesh-wait-cycle";
    let expected = &expected(id)["one_stream.json"];
    let findings = findings(id, "one_stream");
    assert_eq!(only(&findings).kind, Kind::Deadlock);
    is_the_cycle(only(&findings), expected);
    assert_eq!((findings.completed, findings.order.len()), (0, 0));
}

#[test]
fn d05_a_stream_per_dimension_completes_in_orders_that_differ() {
    let id = "d05-two-dimensional-mesh-wait-cycle";
    let expected = &expected(id);
    assert_eq!(expected["two_streams.json"]["warning"], "order differs across ranks");
    let findings = findings(id, "two_streams");
    assert!(findings.reports.is_empty());
    assert_eq!(findings.completed, 4);
    let [order] = findings.order.as_slice() else { panic!("one warning expected") };
    assert_eq!(order.kind, Kind::OrderDiffers);
    // The circle that it would be with one stream, or with a wait after each call.
    is_the_cycle(order, &expected["blocking.json"]);
    let groups: Vec<_> = order.waits.iter().map(|edge| &*edge.call.communicator).collect();
    assert_eq!(groups, ["S01", "R13", "S23", "R02"]);
}

#[test]
fn d06_tags_tell_what_shapes_cannot() {
    let id = "d06-same-shape-different-meaning";
    let expected = &expected(id)["with_tags"];
    let findings = findings(id, "program");
    let report = only(&findings);
    assert_eq!(report.kind, Kind::Mismatch);
    // The same two calls, the other way round.
    assert_eq!(report.aspects, Aspects::from_iter([Aspect::Tag, Aspect::Order]));
    let [divergence] = report.divergences.as_slice() else { panic!("{report}") };
    assert!(matches!(divergence.edits.as_slice(), [Edit::Swapped { .. }]), "{divergence}");
    assert_eq!(report.seq, Some(Seq::Collective(expected["call_index"].as_u64().unwrap())));
    let tag = |side: &Side| side.tag.as_ref().unwrap().to_string();
    assert_eq!(by_side(report, tag), by_key(&expected["tags"]));
    assert!(report.outliers.is_empty(), "one against one");
}

#[test]
fn d06_without_tags_is_consistent_as_far_as_can_be_seen() {
    let id = "d06-same-shape-different-meaning";
    let expected = &expected(id)["without_tags"];
    assert_eq!(expected["verdict"], "consistent");
    assert_eq!(expected["caveat"], "tensor identity not checked");
    let mut program: Value = serde_json::from_str(&text(id, "program")).unwrap();
    for rank in ["0", "1"] {
        for call in program["programs"][rank].as_array_mut().unwrap() {
            call.as_object_mut().unwrap().remove("tag").unwrap();
        }
    }
    let findings = check(&Program::from_json(&program.to_string()).unwrap());
    assert!(findings.reports.is_empty());
    assert_eq!(findings.completed, 2);
    let [Caveat::TensorIdentityNotChecked { instances: 2, first }] = findings.caveats.as_slice()
    else {
        panic!("{:?}", findings.caveats)
    };
    assert_eq!(first.site.to_string(), "rank 0, call 0");
}

#[test]
fn d11_a_barrier_meets_an_all_reduce() {
    let expected = &expected("d11-reduce-then-branch")["program"];
    let findings = findings("d11-reduce-then-branch", "program");
    let report = only(&findings);
    assert_eq!(expected["verdict"], "op_mismatch");
    assert_eq!(report.kind, Kind::Mismatch);
    assert_eq!(report.aspects, Aspects::NONE.with(Aspect::Operation));
    let first_bad = &expected["first_bad"];
    assert_eq!(report.seq, Some(Seq::Collective(first_bad["call_index"].as_u64().unwrap())));
    let name = |side: &Side| side.signature.verb().name().to_owned();
    assert_eq!(by_side(report, name), by_key(&first_bad["ops"]));
    assert_eq!(indices(&report.outliers), numbers(&expected["culprits"]));
    assert_eq!(findings.completed, 1, "the reduce");
    // The defect is upstream: the report shows the call before.
    let [(_, calls)] = report.recent.as_slice() else { panic!("{:?}", report.recent) };
    let names: Vec<_> = calls.iter().map(|call| call.signature.verb().name()).collect();
    assert_eq!(names, ["reduce", "barrier"]);
}

#[test]
fn d14_one_tensor_twice_in_the_output_list_overlaps_itself() {
    let id = "d14-aliased-output-list";
    let expected = expected(id);
    assert_eq!(expected["verdict"], "overlapping outputs");
    let aliased = findings(id, "program");
    let report = only(&aliased);
    assert_eq!(report.kind, Kind::Overlap);
    assert_eq!(report.conflict.as_ref().unwrap().shared.to_string(), "t[0..1]");
    // It meets its like, all the same.
    assert_eq!(aliased.completed, 1);
    // Slices of one buffer that lie apart are fine.
    assert!(findings(id, "apart").reports.is_empty());
}

#[test]
fn d12_one_rank_is_a_call_behind_in_one_of_two_groups() {
    let id = "d12-rank-0-never-enqueued";
    let expected = expected(id);
    let findings = findings(id, "program");
    let report = only(&findings);
    assert_eq!(report.kind, Kind::MissingRank);
    // The two groups have the same ranks; it is the group's name that counts calls.
    assert_eq!(&*report.communicator, expected["group"].as_str().unwrap());
    let missing: Vec<u64> =
        report.absent.iter().map(|absent| absent.member.world.index().into()).collect();
    assert_eq!(missing, numbers(&expected["missing"]));
    let [side] = report.sides.as_slice() else { panic!("{report}") };
    assert_eq!(members(side), numbers(&expected["present"]));
    assert_eq!(
        (expected["op"].as_str(), side.signature.verb().name()),
        (Some("all_gather_base"), "all_gather")
    );
    let payload = side.signature.payload().unwrap();
    assert_eq!(payload.count, expected["input_per_rank_elements"].as_u64().unwrap());
    let output = expected["output_per_rank_elements"].as_u64().unwrap();
    assert_eq!(payload.count * u64::from(report.ranks.get()), output);
    // The program begins at call 288683 of the trace.
    let Some(Seq::Collective(seq)) = report.seq else { panic!("{report}") };
    assert_eq!(288_683 + seq, expected["seq"].as_u64().unwrap());
    // What both called before it agreed: three calls in this group, one in the other.
    assert_eq!(findings.completed, 4);
    assert_eq!(288_683 + seq - 1, expected["last_completed_by_all"].as_u64().unwrap());
}

#[test]
fn d17_the_root_of_the_first_broadcast_is_the_outlier() {
    let id = "d17-first-broadcast-differs-on-the-root";
    let expected = expected(id);
    let findings = findings(id, "program");
    let report = only(&findings);
    assert_eq!(report.kind, Kind::Mismatch);
    assert_eq!(report.aspects, Aspects::from_iter([Aspect::Count, Aspect::ElementType]));
    assert_eq!(report.seq, Some(Seq::Collective(expected["opCount"].as_u64().unwrap())));
    assert_eq!(indices(&report.outliers), numbers(&expected["culprits"]));
    assert_eq!(findings.completed, 0);
    // Ranks 4 to 7 are in no line of the log, and nothing is said of them.
    let ranks = numbers(&expected["ranks_in_file"]);
    assert_eq!(u64::from(report.ranks.get()), u64::try_from(ranks.len()).unwrap());
    let mut seen = Vec::new();
    for side in &report.sides {
        assert_eq!(expected["op"], side.signature.verb().name());
        let payload = side.signature.payload().unwrap();
        for rank in members(side) {
            let row = &expected["table"][rank.to_string()];
            assert_eq!(payload.count, row["count"].as_u64().unwrap());
            assert_eq!(payload.dtype.name(), row["dtype"].as_str().unwrap());
            assert_eq!(payload.count * payload.dtype.bytes(), row["bytes"].as_u64().unwrap());
            seen.push(rank);
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, ranks);
}
