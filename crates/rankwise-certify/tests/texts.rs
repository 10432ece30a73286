//! Whatever text is given, there is an answer: no panic, and no work without bound.

use proptest::prelude::*;
use rankwise_certify::{Rejected, digest, verify};

/// A whole certificate: two ranks, an all-reduce, both halves of a need.
const CERTIFICATE: &str = r#"{
  "certificate": 2, "digest": "",
  "job": {
    "sides": [{
      "ranks": 2, "inputs": [{"name": "x", "dtype": "i32", "counts": ["4"], "attached": "rank"}],
      "proposal": "p", "partitions": [[[0, 1]]],
      "steps": [
        {"collective": {"call": "reduce_scatter", "op": "sum", "over": 0, "count": "2",
          "send": [{"all": "x"}], "recv": [{"all": "s"}]}},
        {"local": {"on": 0, "act": "join", "from": [{"part": ["s", "0", "1"]},
          {"fill": ["i32", "1", "-7"]}], "to": {"all": "t"}}},
        {"local": {"on": 0, "act": {"scale": "3"}, "from": [{"all": "t"}], "to": {"from": ["t", "0"]}}},
        {"send": {"rank": 1, "peer": 1, "from": {"all": "t"}}},
        {"recv": {"rank": 1, "peer": 1, "count": "2", "to": {"all": "y"}}}
      ]
    }],
    "terms": [
      {"input": ["x", {"rank": 0}]}, {"input": ["x", {"rank": 1}]},
      {"fold": ["sum", [[0, "0"], [1, "0"]]]}, {"times": [2, "3"]}, {"constant": ["i32", "-21"]}
    ],
    "needs": [{"need": 0, "buffer": "y", "holds": "", "values": [
      {"ranks": [1], "dtype": "i32", "runs": [["1", [3, "2"]], ["1", [4, "0"]]]}]}]
  },
  "verdict": {"claim": "satisfied", "sense": "exact", "needs": [{"sense": "exact"}]}
}"#;

fn sealed(text: &str) -> String {
    match digest(text) {
        Ok(digest) => text.replacen("\"digest\": \"\"", &format!("\"digest\": \"{digest}\""), 1),
        Err(_) => text.to_owned(),
    }
}

/// Worked out by hand: rank 1 has positions 2 of both inputs summed, times 3, and -7 · 3.
#[test]
fn a_certificate_written_by_hand_is_verified() {
    let verified = verify(&sealed(CERTIFICATE)).unwrap();
    assert_eq!((verified.needs, verified.proposals), (vec![0], vec!["p".to_owned()]));
    let wrong = CERTIFICATE.replace("[3, \"2\"]", "[3, \"1\"]");
    assert!(matches!(verify(&sealed(&wrong)), Err(Rejected::Claim { .. })));
    let wrong = CERTIFICATE.replace("-21", "-20");
    assert!(matches!(verify(&sealed(&wrong)), Err(Rejected::Claim { .. })));
}

/// Another layout is the same certificate; another order of its words is not.
#[test]
fn the_seal_is_over_the_words() {
    let text = sealed(CERTIFICATE);
    assert!(verify(&text.replace([' ', '\n'], "")).is_ok());
    let swapped = text.replace("[0, \"0\"], [1, \"0\"]", "[1, \"0\"], [0, \"0\"]");
    assert!(matches!(verify(&swapped), Err(Rejected::Digest { .. })));
    let blank = text.replace("\"proposal\": \"p\"", "\"proposal\": \" p\"");
    assert!(matches!(verify(&blank), Err(Rejected::Digest { .. })));
    let twice = CERTIFICATE.replace("\"digest\": \"\"", "\"digest\": \"\", \"digest\": \"\"");
    assert!(matches!(verify(&sealed(&twice)), Err(Rejected::Unreadable { .. })));
}

/// A list is no object, not even one whose elements are in the order of our source.
#[test]
fn a_list_is_no_object() {
    let difference = r#"{"sense": "exact", "difference": {"rank": 0, "buffer": "y", "witness": [
        {"input": "x", "of": {"rank": 0}, "position": "0", "value": "1"}]}}"#;
    let text = CERTIFICATE.replace(r#"{"sense": "exact"}"#, difference);
    // It is not true that there is a difference; but it can be read.
    assert!(matches!(verify(&sealed(&text)), Err(Rejected::Claim { .. })));
    let given = r#"["x", {"rank": 0}, "0", "1"]"#;
    for (object, list) in [
        (
            r#"{"name": "x", "dtype": "i32", "counts": ["4"], "attached": "rank"}"#,
            r#"["x", "i32", ["4"], null, "rank"]"#,
        ),
        (r#"{"rank": 1, "peer": 1, "from": {"all": "t"}}"#, r#"[1, 1, {"all": "t"}]"#),
        (
            r#"{"rank": 1, "peer": 1, "count": "2", "to": {"all": "y"}}"#,
            r#"[1, 1, "2", {"all": "y"}]"#,
        ),
        (
            r#"{"on": 0, "act": {"scale": "3"}, "from": [{"all": "t"}], "to": {"from": ["t", "0"]}}"#,
            r#"[0, {"scale": "3"}, [{"all": "t"}], {"from": ["t", "0"]}]"#,
        ),
        (
            r#"{"ranks": [1], "dtype": "i32", "runs": [["1", [3, "2"]], ["1", [4, "0"]]]}"#,
            r#"[[1], "i32", [["1", [3, "2"]], ["1", [4, "0"]]]]"#,
        ),
        (r#"{"input": "x", "of": {"rank": 0}, "position": "0", "value": "1"}"#, given),
        (difference, r#"["exact", null]"#),
    ] {
        assert!(text.contains(object), "{object}");
        let rejected = verify(&sealed(&text.replace(object, list))).unwrap_err();
        let said = rejected.to_string();
        assert!(rejected.is_unreadable() && said.contains("expected an object"), "{list}: {said}");
    }
    let whole = r#"[2, "", {"sides": []}, {"claim": "same", "sense": "exact"}]"#;
    assert!(matches!(verify(whole), Err(Rejected::Unreadable { .. })));
}

#[test]
fn limits_are_named() {
    let ranks = CERTIFICATE.replace("\"ranks\": 2", "\"ranks\": 2000000");
    assert!(matches!(verify(&sealed(&ranks)), Err(Rejected::Job { .. })));
}

/// Each squared again: numbers would grow without bound, and terms without end.
#[test]
fn powers_of_powers_end() {
    let mut steps = String::new();
    for _ in 0..600 {
        steps.push_str(
            r#"{"local": {"on": 0, "act": {"fold": "prod"}, "from": [{"all": "x"}, {"all": "x"}], "to": {"all": "x"}}},"#,
        );
    }
    let deep = CERTIFICATE.replacen("\"steps\": [", &format!("\"steps\": [{steps}"), 1);
    let limit = Rejected::Limit { what: "operations on one value", limit: 512 };
    assert_eq!(verify(&sealed(&deep)), Err(limit));
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        let _ = verify(&text);
    }

    /// Some characters of a whole certificate replaced, and sealed again.
    #[test]
    fn no_change_of_a_certificate_panics(
        changes in prop::collection::vec((0_usize..2000, "[0-9\"\\[\\]{},:a-z]{0,3}"), 1..4),
    ) {
        let mut text: Vec<char> = CERTIFICATE.chars().collect();
        for (at, with) in changes {
            let at = at % text.len();
            text.splice(at..=at, with.chars());
        }
        let text: String = text.into_iter().collect();
        if let Err(rejected) = verify(&sealed(&text)) {
            prop_assert!(!rejected.to_string().is_empty());
        }
    }
}
