//! Groups that are created otherwise, and messages that go elsewhere.

use rankwise_program::{Aspect, Aspects, Kind, Program, check};

fn program(text: &str) -> Program {
    Program::from_json(text).unwrap()
}

fn new_groups(ranks: &[&[&[u32]]]) -> Program {
    let line =
        |members: &&[u32]| format!(r#"{{"op": "new_group", "ranks": {members:?}, "wait": true}}"#);
    let of = |(rank, lists): (usize, &&[&[u32]])| {
        let lines: Vec<String> = lists.iter().map(line).collect();
        format!(r#""{rank}": [{}]"#, lines.join(", "))
    };
    let programs: Vec<String> = ranks.iter().enumerate().map(of).collect();
    program(&format!(r#"{{"world": {}, "programs": {{{}}}}}"#, ranks.len(), programs.join(", ")))
}

#[test]
fn groups_created_in_another_order_are_said_so() {
    let findings = check(&new_groups(&[
        &[&[0, 1], &[2, 3]],
        &[&[0, 1], &[2, 3]],
        &[&[0, 1], &[2, 3]],
        &[&[2, 3], &[0, 1]],
    ]));
    let [report] = findings.reports.as_slice() else { panic!("{:?}", findings.reports) };
    assert_eq!(report.aspects, Aspects::from_iter([Aspect::Order, Aspect::Group]));
    assert_eq!(
        report.to_string(),
        "mismatch of order, group: new_group, collective 0 of world (4 ranks), outlier rank 3
  rank 0 to 2: new_group(0, 1)
    at rank 0, call 0 (rank 0)
    at rank 1, call 0 (rank 1)
    at rank 2, call 0 (rank 2)
  rank 3: new_group(2, 3)
    at rank 3, call 0
  rank 3 against rank 0 to 2, the majority:
    swaps new_group(2, 3), collective 0 of world, at rank 3, call 0
      and new_group(0, 1), collective 1 of world, at rank 3, call 1"
    );
    assert_eq!(findings.completed, 0);
}

#[test]
fn a_group_with_its_members_in_another_order_is_another_group() {
    let findings = check(&new_groups(&[&[&[0, 1]], &[&[1, 0]]]));
    let [report] = findings.reports.as_slice() else { panic!("{:?}", findings.reports) };
    assert_eq!(report.aspects, Aspects::NONE.with(Aspect::Group));
    assert!(report.outliers.is_empty(), "one against one");
    assert_eq!(report.divergences, []);
}

#[test]
fn equal_lists_make_the_group() {
    let findings = check(&new_groups(&[&[&[1, 0]], &[&[1, 0]]]));
    assert!(findings.reports.is_empty());
    assert_eq!(findings.completed, 1);
    // A split leaves colour and key to each rank.
    let findings = check(&program(
        r#"{"world": 2, "programs": {
            "0": [{"op": "split", "color": 0, "key": 1, "wait": true}],
            "1": [{"op": "split", "color": 1, "key": 0, "wait": true}]}}"#,
    ));
    assert!(findings.reports.is_empty());
}

#[test]
fn a_message_to_one_who_expects_another() {
    // 0 sends to 1, and 1 receives from 2, which has nothing to do with it.
    let findings = check(&program(
        r#"{"world": 3, "programs": {
            "0": [{"op": "send", "peer": 1, "count": 4, "dtype": "f32", "wait": true}],
            "1": [{"op": "recv", "peer": 2, "count": 4, "dtype": "f32", "wait": true}],
            "2": []}}"#,
    ));
    let texts: Vec<String> = findings.reports.iter().map(ToString::to_string).collect();
    // The recv lacks rank 2, which has ended; the send's receiver stops with it.
    assert_eq!(
        texts,
        ["unmatched message of edge: recv(from 2), message 0 from 2 to 1 of world (3 ranks), without rank 2
  rank 1: recv(from 2) of 4 × f32
    at rank 1, call 0
  rank 2 returned
  rank 0 calls send(to 1) of 4 × f32, message 0 from 0 to 1 of world, at rank 0, call 0 instead, \
without its other side"]
    );
    assert_eq!(findings.reports[0].kind, Kind::UnmatchedMessage);
}

#[test]
fn a_message_that_nobody_calls_otherwise_is_only_unmatched() {
    let findings = check(&program(
        r#"{"world": 3, "programs": {
            "0": [{"op": "send", "peer": 1, "count": 4, "dtype": "f32", "wait": true}],
            "1": [], "2": []}}"#,
    ));
    let [report] = findings.reports.as_slice() else { panic!("{:?}", findings.reports) };
    assert_eq!(report.kind, Kind::UnmatchedMessage);
    assert!(report.aspects.is_empty() && report.instead.is_empty());
}

/// Two against two is said to be even; two against one and one is no majority, and not even.
#[test]
fn an_even_split_is_said_to_be_even() {
    let headline = |counts: &[u32]| {
        let call = |(rank, count): (usize, &u32)| {
            let call = r#""op": "all_reduce", "dtype": "f32", "redop": "sum", "wait": true"#;
            format!(r#""{rank}": [{{{call}, "count": {count}}}]"#)
        };
        let programs: Vec<String> = counts.iter().enumerate().map(call).collect();
        let (world, programs) = (counts.len(), programs.join(", "));
        let findings =
            check(&program(&format!(r#"{{"world": {world}, "programs": {{{programs}}}}}"#)));
        let text = findings.reports[0].to_string();
        text.lines().next().unwrap().rsplit_once("ranks), ").unwrap().1.to_owned()
    };
    assert_eq!(headline(&[4, 5]), "no majority: an even split");
    assert_eq!(headline(&[4, 5, 4, 5]), "no majority: an even split");
    assert_eq!(headline(&[4, 4, 5, 6]), "no majority");
    assert_eq!(headline(&[4, 4, 4, 5]), "outlier rank 3");
}
