//! `check` of rank programs: what goes wrong, what depends, what is fine.

use super::{Ran, rankwise};

fn check(text: &str, more: &[&str]) -> (Ran, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("programs.json").display().to_string();
    std::fs::write(&file, text).unwrap();
    let words = ["check", file.as_str()].into_iter().chain(more.iter().copied());
    (rankwise(words), file)
}

fn two_ranks(calls: &str) -> String {
    format!(r#"{{"world": 2, "programs": {{"0": [{calls}], "1": [{calls}]}}}}"#)
}

#[test]
fn programs_that_meet_are_fine() {
    let barrier = r#"{"op": "barrier", "tag": "start", "wait": true}"#;
    let (ran, file) = check(&two_ranks(barrier), &[]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert_eq!(ran.stdout, format!("{file}: fine, 1 operation completes on 2 ranks\n"));
    let (ran, _) = check(&two_ranks(barrier), &["--json"]);
    let envelope = ran.envelope("check");
    assert_eq!(envelope["verdict"], "fine");
    assert_eq!(envelope["data"]["completed"], "1");
    assert_eq!(envelope["data"]["reports"], serde_json::json!([]));
}

#[test]
fn a_skipped_call_is_named() {
    let ran = rankwise(["check", "examples/programs/skipped-call.json"]);
    assert_eq!(ran.status, 1);
    ran.says("rank 2 against rank 0, 1, the majority:");
    ran.says(
        "skips all_reduce(sum) of 4096 × bf16 (tag grad), collective 1 of world, at rank 0, call 1",
    );
    let ran = rankwise(["check", "examples/programs/skipped-call.json", "--json"]);
    let data = &ran.envelope("check")["data"];
    let report = &data["reports"][0];
    assert_eq!(report["kind"], "mismatch");
    assert_eq!(report["outliers"], serde_json::json!([2]));
    let edit = &report["divergences"][0]["edits"][0];
    assert_eq!((&edit["edit"], &edit["calls"]), (&"skipped".into(), &"1".into()));
    assert_eq!(edit["call"]["tag"], "grad");
}

#[test]
fn orders_that_differ_are_neither_fine_nor_faulty() {
    // Without the buffers of the example there is no hazard, and all is as in d05.
    let text = std::fs::read_to_string(super::root().join("examples/programs/two-streams.json"));
    let text = text.unwrap().replace(r#", "send": "x", "recv": "y""#, "");
    let text = text.replace(r#", "send": "y", "recv": "z""#, "");
    let (ran, _) = check(&text, &[]);
    assert_eq!(ran.status, 3);
    assert!(ran.stdout.contains("order differs: 0 → 1 → 3 → 2 → 0 on S01, R13, S23, R02"));
    let (ran, _) = check(&text, &["--json"]);
    let envelope = ran.envelope("check");
    assert_eq!(envelope["verdict"], "depends_on_resources");
    assert_eq!(envelope["data"]["order"][0]["cycle"], serde_json::json!([0, 1, 3, 2]));
    // One stream for both: a deadlock.
    let (ran, _) = check(&text.replace(r#""stream": "R""#, r#""stream": "S""#), &[]);
    assert_eq!(ran.status, 1);
    assert!(ran.stdout.contains("deadlock: 0 → 1 → 3 → 2 → 0 on S01, R13, S23, R02"));
}

#[test]
fn a_hazard_is_shown_with_both_calls() {
    let ran = rankwise(["check", "examples/programs/two-streams.json", "--json"]);
    assert_eq!(ran.status, 1);
    let data = &ran.envelope("check")["data"];
    assert_eq!(data["reports"].as_array().unwrap().len(), 1);
    let conflict = &data["reports"][0]["conflict"];
    assert_eq!((&conflict["shared"], &conflict["unit"]), (&"y[0..8]".into(), &"elements".into()));
    assert_eq!(conflict["first"]["access"], "writes");
    assert_eq!(conflict["second"]["stream"], "R");
}

#[test]
fn what_cannot_be_read_is_shown_at_its_place() {
    let (ran, file) = check("{\"world\": 2,\n \"programs\": {\"0\": 7}}\n", &[]);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.starts_with(&format!("{file}:2:")), "{}", ran.stderr);
    let (ran, file) = check(&two_ranks(r#"{"op": "barier"}"#), &[]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.starts_with(&format!("{file}: found rank 0, call 0: \"barier\" is none")));
    let (ran, _) = check(&two_ranks(r#"{"op": "barrier"}"#), &["--json"]);
    assert_eq!(ran.status, 0);
}

#[test]
fn programs_have_no_proposals() {
    let ran = rankwise(["check", "examples/programs/skipped-call.json#whole"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("which have no proposal \"whole\""), "{}", ran.stderr);
}

const PER_RANK: &str = "examples/plans/per-rank-programs.toml";

#[test]
fn a_plan_whose_ranks_have_programs() {
    let ran = rankwise(["check", &format!("{PER_RANK}#exchange")]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    ran.says("exchange: fine, 2 operations complete; every need is satisfied");

    let ran = rankwise(["check", &format!("{PER_RANK}#sends_first")]);
    assert_eq!(ran.status, 1);
    ran.says("sends_first: 1 finding, 0 operations complete; not every need is satisfied");
    ran.says("deadlock: 0 → 1 → 0 on world");
    ran.says("holds (nothing: step 2 never completes, see the reports)");

    let ran = rankwise(["check", PER_RANK, "--json"]);
    let envelope = ran.envelope("check");
    assert_eq!(envelope["verdict"], "faulty");
    let programs = |at: usize| &envelope["data"]["proposals"][at]["programs"];
    assert_eq!(programs(0)["reports"], serde_json::json!([]));
    assert_eq!(programs(1)["reports"][0]["kind"], "deadlock");
    let hazard = &programs(2)["reports"][0];
    assert_eq!(
        (&hazard["kind"], &hazard["conflict"]["shared"]),
        (&"hazard".into(), &"all[0..8]".into())
    );
    // Plans without programs say nothing of them.
    let plain = rankwise(["check", "examples/plans/two-ranks.toml", "--json"]);
    assert!(plain.envelope("check")["data"]["proposals"][0].get("programs").is_none());
}

#[test]
fn a_proposal_with_reports_does_no_job() {
    let exchange = format!("{PER_RANK}#exchange");
    let ran = rankwise(["compare", &exchange, &format!("{PER_RANK}#too_early")]);
    assert_eq!(ran.status, 1);
    assert!(ran.stdout.contains("only "), "{}", ran.stdout);
    assert!(ran.stdout.contains("hazard: all[0..8] on rank 0, 1"), "{}", ran.stdout);
    let ran = rankwise(["run", &exchange, "--backend", "mock"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("programs of their own"), "{}", ran.stderr);
}
