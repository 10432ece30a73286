//! False claims, sealed well: none may be accepted.

use rankwise_certify::{Rejected, digest, verify};

/// A certificate of two ranks with an input `x` of four elements.
struct Forged {
    dtype: &'static str,
    steps: &'static str,
    terms: &'static str,
    need: &'static str,
    verdict: &'static str,
}

impl Forged {
    fn sealed(&self) -> String {
        let Self { dtype, steps, terms, need, verdict } = self;
        let text = format!(
            r#"{{ "certificate": 1, "digest": "",
            "job": {{
              "sides": [{{
                "ranks": 2, "proposal": "p", "partitions": [[[0, 1]], [[0], [1]]],
                "inputs": [{{"name": "x", "dtype": "{dtype}", "counts": ["4"], "attached": "rank"}}],
                "steps": [{steps}]
              }}],
              "terms": [{terms}],
              "needs": [{need}]
            }},
            "verdict": {{{verdict}}}
          }}"#
        );
        sealed(&text)
    }
}

fn sealed(text: &str) -> String {
    let digest = digest(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    text.replacen("\"digest\": \"\"", &format!("\"digest\": \"{digest}\""), 1)
}

const OWN: &str = r#"{"input": {"name": "x", "of": {"rank": 0}}}"#;
const SATISFIED: &str = r#""claim": "satisfied", "sense": "exact",
    "needs": [{"need": 0, "satisfied": true, "sense": "exact"}]"#;

/// A need that rank 0 finds term `0` in `y`.
const FIRST: &str = r#"{"need": 0, "buffer": "y", "holds": "", "values": [
    {"ranks": [0], "dtype": "u8", "runs": [["4", [0, "0"]]]}]}"#;

#[track_caller]
fn refused(text: &str, why: &str) {
    match verify(text) {
        Ok(verified) => panic!("accepted: {verified:?}"),
        Err(Rejected::Unreadable { why, .. }) => panic!("not even read: {why}"),
        Err(rejected) => {
            let said = rejected.to_string();
            assert!(said.contains(why), "{said}, where {why:?} is expected");
        }
    }
}

/// 200 + 200 is 144 in u8, and half of that 72: not what it was.
#[test]
fn half_of_a_wrapped_sum() {
    let forged = Forged {
        dtype: "u8",
        steps: r#"{"fold": {"on": 0, "op": "sum", "from": [{"buffer": "x"}, {"buffer": "x"}], "to": {"buffer": "t"}}},
                  {"scale": {"on": 0, "by": "1/2", "from": {"buffer": "t"}, "to": {"buffer": "y"}}}"#,
        terms: OWN,
        need: FIRST,
        verdict: SATISFIED,
    };
    refused(&forged.sealed(), "a fraction among integers");
    // The same of zero, which any fraction leaves whole: refused all the same.
    let zero = Forged {
        steps: r#"{"scale": {"on": 0, "by": "0", "from": {"buffer": "x"}, "to": {"buffer": "t"}}},
                  {"scale": {"on": 0, "by": "1/2", "from": {"buffer": "t"}, "to": {"buffer": "y"}}}"#,
        terms: r#"{"constant": {"dtype": "u8", "value": "0"}}"#,
        ..forged
    };
    refused(&zero.sealed(), "a fraction among integers");
}

const NOT_SATISFIED: &str = r#""claim": "not_satisfied", "sense": "over_the_reals", "needs": [{
    "need": 0, "satisfied": false, "sense": "over_the_reals", "difference": {"values": {
      "place": {"ranks": [0], "buffer": "y"}, "position": "0",
      "terms": [[TERMS, "0"], [2, "0"]], "values": ["VALUES", "16777217"],
      "witness": [
        {"input": "x", "of": {"rank": 0}, "position": "0", "value": "16777216"},
        {"input": "x", "of": {"rank": 1}, "position": "0", "value": "1"}]}}}],
    "terms": [{"cast": {"of": 2, "to": "f64"}}, {"cast": {"of": 3, "to": "f32"}}]"#;

/// A sum in f32, widened and back, is that sum: rounding it another time changes nothing.
#[test]
fn widened_and_back() {
    let verdict = NOT_SATISFIED.replace("TERMS", "4").replace("VALUES", "16777216");
    let forged = Forged {
        dtype: "f32",
        steps: r#"{"collective": {"call": "all_reduce", "op": "sum", "over": 0, "count": "4",
                    "send": [{"buffer": "x"}], "recv": [{"buffer": "s"}]}},
                  {"cast": {"on": 0, "dtype": "f64", "from": {"buffer": "s"}, "to": {"buffer": "w"}}},
                  {"cast": {"on": 0, "dtype": "f32", "from": {"buffer": "w"}, "to": {"buffer": "y"}}}"#,
        terms: r#"{"input": {"name": "x", "of": {"rank": 0}}}, {"input": {"name": "x", "of": {"rank": 1}}},
                  {"fold": {"how": "sum", "parts": [[0, "0"], [1, "0"]]}}"#,
        need: r#"{"need": 0, "buffer": "y", "holds": "", "values": [
                  {"ranks": [0], "dtype": "f32", "runs": [["4", [2, "0"]]]}]}"#,
        verdict: verdict.leak(),
    };
    refused(&forged.sealed(), "not an element of its type");
    // Narrowed further, the sum is rounded in truth: nothing is known of that.
    let narrowed = Forged {
        steps: r#"{"collective": {"call": "all_reduce", "op": "sum", "over": 0, "count": "4",
                    "send": [{"buffer": "x"}], "recv": [{"buffer": "s"}]}},
                  {"cast": {"on": 0, "dtype": "bf16", "from": {"buffer": "s"}, "to": {"buffer": "w"}}},
                  {"cast": {"on": 0, "dtype": "f32", "from": {"buffer": "w"}, "to": {"buffer": "y"}}}"#,
        verdict: NOT_SATISFIED
            .replace("TERMS", "4")
            .replace("VALUES", "16777216")
            .replace("f64", "bf16")
            .leak(),
        ..forged
    };
    refused(&narrowed.sealed(), "not an element of its type");
}

/// Nobody has a third rank's contribution, nor a tenth position of one.
#[test]
fn what_nobody_has() {
    let forged = Forged {
        dtype: "u8",
        steps: "",
        terms: r#"{"input": {"name": "x", "of": {"rank": 2}}}"#,
        need: r#"{"need": 0, "buffer": "x", "holds": "", "values": [
                  {"ranks": [0], "dtype": "u8", "runs": [["4", [0, "0"]]]}]}"#,
        verdict: r#""claim": "not_satisfied", "sense": "exact", "needs": [{
            "need": 0, "satisfied": false, "sense": "exact", "difference": {"values": {
              "place": {"ranks": [0], "buffer": "x"}, "position": "0",
              "terms": [[1, "0"], [0, "0"]], "values": ["1", "0"],
              "witness": [
                {"input": "x", "of": {"rank": 0}, "position": "0", "value": "1"},
                {"input": "x", "of": {"rank": 2}, "position": "0", "value": "0"}]}}}],
            "terms": [{"input": {"name": "x", "of": {"rank": 0}}}]"#,
    };
    refused(&forged.sealed(), "nobody has");
    let far = Forged {
        terms: OWN,
        need: r#"{"need": 0, "buffer": "x", "holds": "", "values": [
                  {"ranks": [0], "dtype": "u8", "runs": [["4", [0, "9"]]]}]}"#,
        verdict: r#""claim": "not_satisfied", "sense": "exact", "needs": [{
            "need": 0, "satisfied": false, "sense": "exact", "difference": {"values": {
              "place": {"ranks": [0], "buffer": "x"}, "position": "0",
              "terms": [[0, "0"], [0, "9"]], "values": ["1", "0"],
              "witness": [
                {"input": "x", "of": {"rank": 0}, "position": "0", "value": "1"},
                {"input": "x", "of": {"rank": 0}, "position": "9", "value": "0"}]}}}]"#,
        ..forged
    };
    refused(&far.sealed(), "where nobody has any");
}

/// A start that depends on the rank, where no group takes part: it would be ignored.
#[test]
fn a_start_by_rank_of_no_group() {
    let forged = Forged {
        dtype: "u8",
        steps: r#"{"move": {"on": 0, "from": [{"buffer": "x"}], "to": {"buffer": "y"}}},
                  {"scale": {"on": 0, "by": "0", "from": {"buffer": "x", "at": "0", "count": "1"},
                    "to": {"buffer": "y", "at": "0", "by": "1"}}}"#,
        terms: OWN,
        need: FIRST,
        verdict: SATISFIED,
    };
    refused(&forged.sealed(), "`by`, where no group takes part");
    let message = Forged {
        steps: r#"{"send": {"rank": 0, "peer": 0, "count": "1", "buffer": {"buffer": "x", "at": "0", "by": "1"}}},
                  {"recv": {"rank": 0, "peer": 0, "buffer": {"buffer": "y"}}}"#,
        ..forged
    };
    refused(&message.sealed(), "`by`, where no group takes part");
}

/// Claims about nothing are true of everything.
#[test]
fn claims_about_nothing() {
    let forged = Forged {
        dtype: "u8",
        steps: "",
        terms: OWN,
        need: r#"{"need": 0, "buffer": "x", "positions": ["4", "4"], "holds": "", "values": [
                  {"ranks": [0], "dtype": "u8", "runs": []}]}"#,
        verdict: SATISFIED,
    };
    refused(&forged.sealed(), "a need of no position");
    let nobody = Forged {
        need: r#"{"need": 0, "buffer": "x", "holds": "", "values": [{"ranks": [], "dtype": "u8", "runs": []}]}"#,
        ..forged
    };
    refused(&nobody.sealed(), "a need of nobody");
}

/// Two sides with these inputs, a surface, and a claim that they are the same.
fn same(inputs: [&str; 2], surface: &str, state: &str) -> String {
    let side = |inputs: &str| {
        format!(
            r#"{{"ranks": 1, "proposal": "p", "partitions": [[[0]]], "inputs": [{inputs}], "steps": []}}"#
        )
    };
    sealed(&format!(
        r#"{{ "certificate": 1, "digest": "",
            "job": {{"inputs_agree": "one_plan", "sides": [{}, {}], "surface": [{surface}]}},
            "verdict": {{"claim": "same", "sense": "exact", "state": [{state}]}} }}"#,
        side(inputs[0]),
        side(inputs[1]),
    ))
}

#[test]
fn states_of_nothing_or_of_two_plans() {
    let x = r#"{"name": "x", "dtype": "u8", "counts": ["4"], "attached": "rank"}"#;
    let nothing = r#"{"buffer": "y", "ranks": [0], "runs": []}"#;
    refused(&same([x, x], r#""y""#, nothing), "a claim about nothing");
    // One plan cannot say two things of an input, not even of one that is not compared.
    let y = r#"{"name": "y", "dtype": "u8", "counts": ["4"], "attached": "rank"}"#;
    let wider = x.replace("\"4\"", "\"5\"");
    let held = r#"{"buffer": "y", "ranks": [0], "runs": []}"#;
    let [one, other] = [[x, y].join(","), [&wider, y].join(",")];
    refused(&same([&one, &other], r#""y""#, held), "not the same on both sides");
    refused(&same([&one, y], r#""y""#, held), "not the same on both sides");
}

/// Each of twice the length of the last, in what one leaf hides; each squared.
#[test]
fn growth_without_end_ends() {
    let doubled = |op: &str| {
        // Position 0 of the first buffer, and what is 2^k further on.
        let step = |k: u32| {
            let (far, rest) = (1_u64 << k, (1_u64 << 41) - (1 << (k + 1)));
            format!(
                r#"{{"fold": {{"on": 0, "op": "{op}", "from": [
                     {{"buffer": "t", "at": "0", "count": "{rest}"}},
                     {{"buffer": "t", "at": "{far}", "count": "{rest}"}}], "to": {{"buffer": "t"}}}}}}"#,
            )
        };
        (0..40).map(step).collect::<Vec<_>>().join(",")
    };
    let whole = |dtype: &str, steps: &str| {
        Forged { dtype: "u8", steps: "", terms: OWN, need: FIRST, verdict: SATISFIED }
            .sealed()
            .replace("\"steps\": []", &format!("\"steps\": [{}]", steps.trim_end_matches(',')))
            .replace("\"counts\": [\"4\"]", &format!("\"counts\": [\"{}\"]", 1_u64 << 41))
            .replace(
                "\"dtype\": \"u8\", \"counts\"",
                &format!("\"dtype\": \"{dtype}\", \"counts\""),
            )
    };
    let sealed_again = |text: String| {
        let start = text.find("sha256:").unwrap();
        let stripped = format!("{}{}", &text[..start], &text[start + 71..]);
        sealed(&stripped)
    };
    for op in ["max", "prod"] {
        let first = r#"{"move": {"on": 0, "from": [{"buffer": "x"}], "to": {"buffer": "t"}}},"#;
        let text = sealed_again(whole("u8", &format!("{first}{}", doubled(op))));
        refused(&text, "33554432 units of work");
    }
    // 3x, squared and squared again: the constant takes twice the digits each time.
    let mut steps = String::from(
        r#"{"scale": {"on": 0, "by": "3", "from": {"buffer": "x"}, "to": {"buffer": "t"}}},"#,
    );
    for _ in 0..200 {
        steps.push_str(
            r#"{"fold": {"on": 0, "op": "prod", "from": [{"buffer": "t"}, {"buffer": "t"}], "to": {"buffer": "t"}}},"#,
        );
    }
    refused(&sealed_again(whole("f32", &steps)), "binary digits");
    let digits = "9".repeat(1500);
    let by = format!(
        r#"{{"scale": {{"on": 0, "by": "{digits}", "from": {{"buffer": "x"}}, "to": {{"buffer": "x"}}}}}},"#
    );
    let by = by.repeat(500);
    refused(&sealed_again(whole("f32", &by)), "binary digits");
}
