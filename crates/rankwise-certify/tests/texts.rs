//! Whatever text is given, there is an answer: no panic, and no work without bound.

use proptest::prelude::*;
use rankwise_certify::{Rejected, digest, verify};

/// A whole certificate: two ranks, an all-reduce, both halves of a need.
const CERTIFICATE: &str = r#"{
  "certificate": 1, "digest": "",
  "job": {
    "sides": [{
      "ranks": 2, "inputs": [{"name": "x", "dtype": "i32", "counts": ["4"], "attached": "rank"}],
      "proposal": "p", "partitions": [[[0, 1]]],
      "steps": [
        {"collective": {"call": "reduce_scatter", "op": "sum", "over": 0, "count": "2",
          "send": [{"buffer": "x"}], "recv": [{"buffer": "s"}]}},
        {"move": {"on": 0, "from": [{"buffer": "s", "at": "0", "count": "1"},
          {"dtype": "i32", "count": "1", "value": "-7"}], "to": {"buffer": "y"}}},
        {"scale": {"on": 0, "by": "3", "from": {"buffer": "y"}, "to": {"buffer": "y", "at": "0"}}}
      ]
    }],
    "terms": [
      {"input": {"name": "x", "of": {"rank": 0}}}, {"input": {"name": "x", "of": {"rank": 1}}},
      {"fold": {"how": "sum", "parts": [[0, "0"], [1, "0"]]}}, {"times": {"of": 2, "by": "3"}},
      {"constant": {"dtype": "i32", "value": "-21"}}
    ],
    "needs": [{"need": 0, "buffer": "y", "holds": "", "values": [
      {"ranks": [1], "dtype": "i32", "runs": [["1", [3, "2"]], ["1", [4, "0"]]]}]}]
  },
  "verdict": {"claim": "satisfied", "sense": "exact",
    "needs": [{"need": 0, "satisfied": true, "sense": "exact"}]}
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
            r#"{"fold": {"on": 0, "op": "prod", "from": [{"buffer": "x"}, {"buffer": "x"}], "to": {"buffer": "x"}}},"#,
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
