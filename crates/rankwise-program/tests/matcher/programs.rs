//! Programs as text: what they mean, and what is refused with its place.

use rankwise_program::program::{Host, Planned, Step, View};
use rankwise_program::{Caveat, Kind, Program, Signature, Tag, Verb, check};
use rankwise_topology::Group;
use rstest::rstest;

use super::driver::world;

/// A program of two ranks; the second does nothing.
fn error(line: &str) -> String {
    let text = format!(
        r#"{{"world": 2, "groups": {{"both": [0, 1], "own": [0], "other": [1]}},
            "programs": {{"0": [{{"op": "barrier", "group": "own"}}, {line}]}}}}"#
    );
    Program::from_json(&text).unwrap_err().to_string()
}

#[rstest]
#[case(r#"{"op": "all_reduse", "group": "own"}"#, "rank 0, call 1: \"all_reduse\" is none of")]
#[case(
    r#"{"op": "all_reduce", "group": "own", "count": 1, "dtype": "f33", "redop": "sum"}"#,
    "rank 0, call 1: dtype \"f33\": "
)]
#[case(
    r#"{"op": "all_reduce", "group": "own", "count": 1, "dtype": "f32", "redop": "mean"}"#,
    "rank 0, call 1: redop \"mean\": "
)]
#[case(
    r#"{"op": "all_reduce", "group": "own", "count": 1, "dtype": "f32"}"#,
    "rank 0, call 1: all_reduce needs redop"
)]
#[case(
    r#"{"op": "broadcast", "group": "own", "count": 1, "dtype": "f32"}"#,
    "rank 0, call 1: broadcast needs root"
)]
#[case(
    r#"{"op": "all_gather", "group": "own", "count": 1, "dtype": "f32", "redop": "sum"}"#,
    "rank 0, call 1: all_gather has no redop"
)]
#[case(r#"{"op": "barrier", "group": "own", "count": 1}"#, "rank 0, call 1: barrier has no count")]
#[case(r#"{"op": "barrier"}"#, "rank 0, call 1: no group \"world\", only both, own, other")]
#[case(
    r#"{"op": "barrier", "group": "other"}"#,
    "rank 0, call 1: the rank calls on group other and is no member of it"
)]
#[case(
    r#"{"op": "broadcast", "group": "both", "count": 1, "dtype": "f32", "root": 2}"#,
    "rank 0, call 1: root 2 is not in the group, which has 2 ranks; a root is a rank of the group"
)]
#[case(
    r#"{"op": "send", "group": "own", "count": 1, "dtype": "f32", "peer": 1}"#,
    "rank 0, call 1: peer 1 is not in the group, which has 1 ranks; a peer is a rank of the group"
)]
#[case(
    r#"{"op": "new_group", "group": "both", "ranks": [0, 0]}"#,
    "rank 0, call 1: ranks name 0 twice"
)]
#[case(
    r#"{"op": "group", "calls": [{"op": "barrier", "group": "own"}, {"op": "group"}]}"#,
    "rank 0, call 1.1: a group of calls within a group of calls"
)]
#[case(
    r#"{"op": "group", "calls": [{"op": "barrier", "group": "own", "wait": true}]}"#,
    "rank 0, call 1.0: barrier has no wait"
)]
#[case(
    r#"{"op": "group", "calls": [{"op": "split", "group": "own"}]}"#,
    "rank 0, call 1.0: split cannot stand in a group of calls"
)]
#[case(r#"{"op": "group"}"#, "rank 0, call 1: group needs calls")]
#[case(r#"{"op": "wait", "wait": true}"#, "rank 0, call 1: wait has no wait")]
#[case(
    r#"{"op": "all_gather", "group": "both", "count": 18446744073709551615, "dtype": "f32"}"#,
    "rank 0, call 1: "
)]
#[case(r#"{"op": "barrier", "gruop": "own"}"#, "line 2, column ")]
fn what_is_wrong_is_said_with_its_place(#[case] line: &str, #[case] expected: &str) {
    let found = error(line);
    assert!(found.starts_with(expected), "{found}");
}

/// A list is no object, whatever its order.
#[rstest]
#[case(r#"[2, null, {"0": []}]"#, "line 1, column 0: invalid type: sequence, expected an object")]
#[case(r#"{"world": 2, "programs": {"0": [["barrier"]]}}"#, "expected an object")]
#[case(
    r#"{"world": 2, "programs": {"0": [{"op": "group", "calls": [["barrier"]]}]}}"#,
    "expected an object"
)]
fn a_list_in_place_of_an_object(#[case] text: &str, #[case] expected: &str) {
    let found = Program::from_json(text).unwrap_err().to_string();
    assert!(found.contains(expected), "{found}");
}

#[rstest]
#[case(r#"{"world": 0, "programs": {}}"#, "a world needs at least one rank, and has 0")]
#[case(
    r#"{"world": 4000000000, "programs": {}}"#,
    "a world of 4000000000 ranks; at most 1048576 are read"
)]
#[case(
    r#"{"world": 2, "programs": {"2": []}}"#,
    "a program of \"2\", which is no rank of a world of 2"
)]
#[case(
    r#"{"world": 2, "programs": {"x": []}}"#,
    "a program of \"x\", which is no rank of a world of 2"
)]
#[case(r#"{"world": 2, "programs": {"1": [], "1": []}}"#, "rank 1 has two programs")]
#[case(r#"{"world": 2, "groups": {"a": [0], "a": [1]}, "programs": {}}"#, "group a stands twice")]
#[case(
    r#"{"world": 2, "groups": {"a": [0, 2]}, "programs": {}}"#,
    "group a: rank 2 is not in a world of 2 (ranks 0 to 1)"
)]
fn a_program_that_is_none_is_refused(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(Program::from_json(text).unwrap_err().to_string(), expected);
}

pub(crate) const EVERYTHING: &str = r#"{
    "world": 3,
    "groups": {"all": [2, 1, 0], "pair": [0, 1]},
    "programs": {
        "0": [
            {"op": "new_group", "group": "all", "ranks": [2, 0], "wait": true},
            {"op": "comm_split", "group": "all", "key": -1, "tag": "t"},
            {"op": "ncclReduceScatter", "group": "pair", "count": 2, "dtype": "float16",
             "redop": "avg", "wait": true, "stream": "x"},
            {"op": "group", "wait": true, "calls": [
                {"op": "send", "group": "pair", "peer": 1, "count": 1, "dtype": "u8"},
                {"op": "recv", "group": "pair", "peer": 1, "count": 1, "dtype": "u8",
                 "value": 0.5}
            ]},
            {"op": "wait", "stream": "x"}
        ],
        "1": [{"op": "reduce", "group": "all", "count": 0, "dtype": "i8", "redop": "max",
               "root": 2},
              {"op": "local", "dtype": "f32", "reads": ["a", "b[1..2]"], "writes": "a",
               "tag": "k", "wait": true},
              {"op": "fence", "after": "x"},
              {"op": "all_gather", "group": "pair", "count": 2, "dtype": "f32",
               "send": "y[2..4]", "recv": ["y", "z"]}]
    }
}"#;

#[test]
fn what_is_read_is_what_is_meant() {
    let program = Program::from_json(EVERYTHING).unwrap();
    let [zero, one, two] = program.ranks.as_slice() else { panic!("three ranks") };
    let verb = |step: &Step| match step {
        Step::Call(planned, _) => planned.signature.verb().to_string(),
        other => panic!("{other:?}"),
    };
    // World rank 0 is rank 2 of the group, and stands first in the list of the new one.
    assert_eq!(verb(&zero[0]), "split(color 0, key 0)");
    assert_eq!(verb(&zero[1]), "split(no color)");
    assert_eq!(verb(&zero[2]), "reduce_scatter(avg)");
    let Step::Unit(calls, Host::Waits) = &zero[3] else { panic!("{:?}", zero[3]) };
    assert_eq!(calls[1].value, Some(0.5));
    assert!(matches!(calls[1].signature.verb(), Verb::Recv { .. }));
    assert_eq!(zero[4], Step::Wait { stream: "x".into() });
    let Step::Call(Planned { signature, stream, .. }, Host::GoesOn) = &one[0] else {
        panic!("{:?}", one[0])
    };
    assert_eq!((signature.to_string(), &**stream), ("reduce(max, root 2) of 0 × i8".into(), "s0"));
    assert!(two.is_empty());
    let Step::Local(local, Host::Waits) = &one[1] else { panic!("{:?}", one[1]) };
    assert!(local.buffers.reads[0].is_whole() && local.buffers.reads[1].len() == 1);
    assert_eq!(one[2], Step::Fence { stream: "s0".into(), after: "x".into() });
    // Two views share the four positions of the output.
    let Step::Call(gather, Host::GoesOn) = &one[3] else { panic!("{:?}", one[3]) };
    let views = |views: &[View]| views.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(views(&gather.buffers.reads), ["y[2..4]"]);
    assert_eq!(views(&gather.buffers.writes), ["y[0..2]", "z[0..2]"]);
    let Step::Call(new, _) = &zero[0] else { panic!("{:?}", zero[0]) };
    let members = new.creates.as_ref().unwrap().iter().map(|member| member.index());
    assert_eq!(members.collect::<Vec<_>>(), [2, 0]);
    let Step::Call(split, Host::GoesOn) = &zero[1] else { panic!("{:?}", zero[1]) };
    assert_eq!(split.tag, Some(Tag::new("t")));
    assert_eq!(split.signature, Signature::split(None, -1));
}

#[test]
fn what_is_written_is_read_again() {
    let program = Program::from_json(EVERYTHING).unwrap();
    assert_eq!(Program::from_json(&program.to_json()).unwrap(), program);
}

#[test]
fn a_ring_without_a_named_group_is_on_the_world() {
    let line = |rank: u32| {
        let [to, from] = [(rank + 1) % 4, (rank + 3) % 4];
        format!(
            r#""{rank}": [
                {{"op": "send", "peer": {to}, "count": 1048576, "dtype": "u8", "wait": true}},
                {{"op": "recv", "peer": {from}, "count": 1048576, "dtype": "u8", "wait": true}}]"#
        )
    };
    let lines: Vec<String> = (0..4).map(line).collect();
    let text = format!(r#"{{"world": 4, "programs": {{{}}}}}"#, lines.join(","));
    let findings = check(&Program::from_json(&text).unwrap());
    let [report] = findings.reports.as_slice() else { panic!("{:?}", findings.reports) };
    assert_eq!(report.kind, Kind::Deadlock);
    let cycle: Vec<u32> = report.cycle().iter().map(|rank| rank.index()).collect();
    assert_eq!(cycle, [0, 1, 2, 3]);

    // Both together, as one group: legal.
    let together = text
        .replace(r#", "wait": true"#, "")
        .replace(r#"{"op": "send""#, r#"{"op": "group", "wait": true, "calls": [{"op": "send""#);
    let together = together.replace("}]", "}]}]");
    let findings = check(&Program::from_json(&together).unwrap());
    assert_eq!((findings.reports.len(), findings.completed), (0, 4));
    assert!(findings.order.is_empty());

    // Enqueued on streams of their own and never waited for: legal with these streams.
    let apart = text
        .replace(r#", "wait": true"#, "")
        .replace(r#"{"op": "recv""#, r#"{"op": "recv", "stream": "s1""#);
    let findings = check(&Program::from_json(&apart).unwrap());
    assert_eq!((findings.reports.len(), findings.completed), (0, 4));
    let [order] = findings.order.as_slice() else { panic!("{:?}", findings.order) };
    assert_eq!(order.kind, Kind::OrderDiffers);
    let unwaited = findings
        .caveats
        .iter()
        .filter(|caveat| matches!(caveat, Caveat::UnwaitedAtEnd { .. }))
        .count();
    assert_eq!(unwaited, 8, "two streams on each of four ranks");
}

#[test]
fn a_group_that_lacks_a_program_of_a_member_lacks_that_rank() {
    let text = r#"{"world": 2, "programs": {"0": [{"op": "barrier", "wait": true}]}}"#;
    let findings = check(&Program::from_json(text).unwrap());
    assert_eq!(
        findings.reports[0].to_string(),
        "missing rank: barrier, collective 0 of world (2 ranks), without rank 1
  rank 0: barrier
    at rank 0, call 0
  rank 1 returned"
    );
}

#[test]
fn a_program_by_hand_may_be_wrong_in_its_groups() {
    let (two, three) = (world(2), world(3));
    let step = |group: &str| {
        let planned = Planned {
            group: group.into(),
            signature: Signature::barrier(),
            stream: "s0".into(),
            tag: None,
            value: None,
            creates: None,
            buffers: std::sync::Arc::default(),
        };
        vec![Step::Call(planned, Host::Waits)]
    };
    let program =
        |ranks| Program { world: two, groups: vec![("larger".into(), Group::whole(three))], ranks };
    // A rank of a larger world never comes.
    let findings = check(&program(vec![step("larger"), step("larger"), step("larger")]));
    assert_eq!(findings.reports[0].kind, Kind::MissingRank);
    assert_eq!(findings.reports[0].absent[0].member.world.index(), 2);
    // A rank stops at a group that there is not, like at any call that is refused.
    let findings = check(&program(vec![step("larger"), step("other")]));
    assert_eq!(findings.reports[0].absent.len(), 2);
    assert!(check(&program(Vec::new())).reports.is_empty());
}
