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
            r#"{{ "certificate": 2, "digest": "",
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

const OWN: &str = r#"{"input": ["x", {"rank": 0}]}"#;
const SATISFIED: &str = r#""claim": "satisfied", "sense": "exact",
    "needs": [{"sense": "exact"}]"#;

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
        steps: r#"{"local": {"on": 0, "act": {"fold": "sum"}, "from": [{"all": "x"}, {"all": "x"}], "to": {"all": "t"}}},
                  {"local": {"on": 0, "act": {"scale": "1/2"}, "from": [{"all": "t"}], "to": {"all": "y"}}}"#,
        terms: OWN,
        need: FIRST,
        verdict: SATISFIED,
    };
    refused(&forged.sealed(), "a fraction among integers");
    // The same of zero, which any fraction leaves whole: refused all the same.
    let zero = Forged {
        steps: r#"{"local": {"on": 0, "act": {"scale": "0"}, "from": [{"all": "x"}], "to": {"all": "t"}}},
                  {"local": {"on": 0, "act": {"scale": "1/2"}, "from": [{"all": "t"}], "to": {"all": "y"}}}"#,
        terms: r#"{"constant": ["u8", "0"]}"#,
        ..forged
    };
    refused(&zero.sealed(), "a fraction among integers");
}

const NOT_SATISFIED: &str = r#""claim": "not_satisfied", "sense": "over_the_reals", "needs": [{
    "sense": "over_the_reals", "difference": {"rank": 0, "buffer": "y", "position": "0",
      "witness": [
        {"input": "x", "of": {"rank": 0}, "position": "0", "value": "16777216"},
        {"input": "x", "of": {"rank": 1}, "position": "0", "value": "1"}]}}]"#;

/// A sum in f32, widened and back, is that sum: rounding it another time changes nothing.
#[test]
fn widened_and_back() {
    let forged = Forged {
        dtype: "f32",
        steps: r#"{"collective": {"call": "all_reduce", "op": "sum", "over": 0, "count": "4",
                    "send": [{"all": "x"}], "recv": [{"all": "s"}]}},
                  {"local": {"on": 0, "act": {"cast": "f64"}, "from": [{"all": "s"}], "to": {"all": "w"}}},
                  {"local": {"on": 0, "act": {"cast": "f32"}, "from": [{"all": "w"}], "to": {"all": "y"}}}"#,
        terms: r#"{"input": ["x", {"rank": 0}]}, {"input": ["x", {"rank": 1}]},
                  {"fold": ["sum", [[0, "0"], [1, "0"]]]}"#,
        need: r#"{"need": 0, "buffer": "y", "holds": "", "values": [
                  {"ranks": [0], "dtype": "f32", "runs": [["4", [2, "0"]]]}]}"#,
        verdict: NOT_SATISFIED,
    };
    refused(&forged.sealed(), "not an element of its type");
    // Narrowed further, the sum is rounded in truth: nothing is known of that.
    let narrowed = Forged {
        steps: r#"{"collective": {"call": "all_reduce", "op": "sum", "over": 0, "count": "4",
                    "send": [{"all": "x"}], "recv": [{"all": "s"}]}},
                  {"local": {"on": 0, "act": {"cast": "bf16"}, "from": [{"all": "s"}], "to": {"all": "w"}}},
                  {"local": {"on": 0, "act": {"cast": "f32"}, "from": [{"all": "w"}], "to": {"all": "y"}}}"#,
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
        terms: r#"{"input": ["x", {"rank": 2}]}"#,
        need: r#"{"need": 0, "buffer": "x", "holds": "", "values": [
                  {"ranks": [0], "dtype": "u8", "runs": [["4", [0, "0"]]]}]}"#,
        verdict: r#""claim": "not_satisfied", "sense": "exact", "needs": [{
            "sense": "exact", "difference": {"rank": 0, "buffer": "x", "position": "0",
              "witness": [
                {"input": "x", "of": {"rank": 0}, "position": "0", "value": "1"},
                {"input": "x", "of": {"rank": 2}, "position": "0", "value": "0"}]}}]"#,
    };
    refused(&forged.sealed(), "nobody has");
    let far = Forged {
        terms: OWN,
        need: r#"{"need": 0, "buffer": "x", "holds": "", "values": [
                  {"ranks": [0], "dtype": "u8", "runs": [["4", [0, "9"]]]}]}"#,
        verdict: r#""claim": "not_satisfied", "sense": "exact", "needs": [{
            "sense": "exact", "difference": {"rank": 0, "buffer": "x", "position": "0",
              "witness": [
                {"input": "x", "of": {"rank": 0}, "position": "0", "value": "1"},
                {"input": "x", "of": {"rank": 0}, "position": "9", "value": "0"}]}}]"#,
        ..forged
    };
    refused(&far.sealed(), "where nobody has any");
}

/// What a call does whose output overlaps its input in another way than its own is not
/// defined; nor is what is left of what a reduction in place has read.
#[test]
fn overlaps() {
    let call = |call: &str, count: u32, send: &str, recv: &str| {
        format!(
            r#"{{"local": {{"on": 0, "act": "join", "from": [{{"all": "x"}}], "to": {{"all": "y"}}}}}},
               {{"collective": {{"call": {call}, "over": 0, "count": "{count}", "send": [{send}], "recv": [{recv}]}}}}"#
        )
    };
    let stuck = |steps: String, why| {
        let steps: &str = steps.leak();
        let forged = Forged { dtype: "u8", steps, terms: OWN, need: FIRST, verdict: SATISFIED };
        refused(&forged.sealed(), why);
    };
    let sum = r#""all_reduce", "op": "sum""#;
    let later = call(sum, 3, r#"{"from": ["y", "0"]}"#, r#"{"from": ["y", "1"]}"#);
    stuck(later, "is read and written with an overlap");
    // Rank 0 would be in place; rank 1 is not.
    let first = call(r#""all_gather""#, 2, r#"{"from": ["y", "0"]}"#, r#"{"all": "y"}"#);
    stuck(first, "is read and written with an overlap");
    let never = call(r#""all_to_all""#, 2, r#"{"all": "y"}"#, r#"{"all": "y"}"#);
    stuck(never, "never in place");
    let longer = call(r#""all_gather""#, 1, r#"{"all": "y"}"#, r#"{"all": "y"}"#);
    stuck(longer, "`y` of 4 elements on rank 0, in place");
    let steps = call(r#""reduce_scatter", "op": "sum""#, 2, r#"{"all": "y"}"#, r#"{"all": "y"}"#);
    let scratch = r#"{"need": 0, "buffer": "y", "positions": ["2", "4"], "holds": "", "values": [
        {"ranks": [0], "dtype": "u8", "runs": [["2", [0, "2"]]]}]}"#;
    let steps: &str = steps.leak();
    let forged = Forged { dtype: "u8", steps, terms: OWN, need: scratch, verdict: SATISFIED };
    refused(&forged.sealed(), "one has what the other has not");
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
fn same(inputs: [&str; 2], surface: &str) -> String {
    let side = |inputs: &str| {
        format!(
            r#"{{"ranks": 1, "proposal": "p", "partitions": [[[0]]], "inputs": [{inputs}], "steps": []}}"#
        )
    };
    sealed(&format!(
        r#"{{ "certificate": 2, "digest": "",
            "job": {{"inputs_agree": "one_plan", "sides": [{}, {}], "surface": [{surface}]}},
            "verdict": {{"claim": "same", "sense": "exact"}} }}"#,
        side(inputs[0]),
        side(inputs[1]),
    ))
}

#[test]
fn states_of_nothing_or_of_two_plans() {
    let x = r#"{"name": "x", "dtype": "u8", "counts": ["4"], "attached": "rank"}"#;
    refused(&same([x, x], r#""y""#), "a claim about nothing");
    // One plan cannot say two things of an input, not even of one that is not compared.
    let y = r#"{"name": "y", "dtype": "u8", "counts": ["4"], "attached": "rank"}"#;
    let wider = x.replace("\"4\"", "\"5\"");
    let [one, other] = [[x, y].join(","), [&wider, y].join(",")];
    refused(&same([&one, &other], r#""y""#), "not the same on both sides");
    refused(&same([&one, y], r#""y""#), "not the same on both sides");
}

/// Each of twice the length of the last, in what one leaf hides; each squared.
#[test]
fn growth_without_end_ends() {
    let doubled = |op: &str| {
        // Position 0 of the first buffer, and what is 2^k further on.
        let step = |k: u32| {
            let (far, rest) = (1_u64 << k, (1_u64 << 41) - (1 << (k + 1)));
            format!(
                r#"{{"local": {{"on": 0, "act": {{"fold": "{op}"}}, "from": [
                     {{"part": ["t", "0", "{rest}"]}},
                     {{"part": ["t", "{far}", "{rest}"]}}], "to": {{"all": "t"}}}}}}"#,
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
        let first =
            r#"{"local": {"on": 0, "act": "join", "from": [{"all": "x"}], "to": {"all": "t"}}},"#;
        let text = sealed_again(whole("u8", &format!("{first}{}", doubled(op))));
        refused(&text, "33554432 units of work");
    }
    // 3x, squared and squared again: the constant takes twice the digits each time.
    let mut steps = String::from(
        r#"{"local": {"on": 0, "act": {"scale": "3"}, "from": [{"all": "x"}], "to": {"all": "t"}}},"#,
    );
    for _ in 0..200 {
        steps.push_str(
            r#"{"local": {"on": 0, "act": {"fold": "prod"}, "from": [{"all": "t"}, {"all": "t"}], "to": {"all": "t"}}},"#,
        );
    }
    refused(&sealed_again(whole("f32", &steps)), "binary digits");
    let digits = "9".repeat(1500);
    let by = format!(
        r#"{{"local": {{"on": 0, "act": {{"scale": "{digits}"}}, "from": [{{"all": "x"}}], "to": {{"all": "x"}}}}}},"#
    );
    let by = by.repeat(500);
    refused(&sealed_again(whole("f32", &by)), "binary digits");
}
