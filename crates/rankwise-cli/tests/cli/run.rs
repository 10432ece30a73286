//! `rankwise run`: ranks really do it.

use std::path::Path;

use super::{Ran, rankwise, rankwise_with};

const SHARDED: &str = "examples/plans/two-ranks.toml#sharded";

fn run(plan: &str, more: &[&str]) -> Ran {
    rankwise([&["run", plan, "--backend", "mock"], more].concat())
}

/// A plan file of this text, and what a run of it says.
fn of_text(text: &str, more: &[&str]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plan.toml");
    std::fs::write(&file, text).unwrap();
    run(file.to_str().unwrap(), more)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_missions_plan_leaves_the_missions_figures() {
    let ran = run(SHARDED, &[]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    ran.says(&format!(
        "{SHARDED} on mock {}: all 6 arrays are as the model says; every need is met",
        env!("CARGO_PKG_VERSION")
    ));
    ran.says("s 0 A 0 [11, 22] holds exact");
    ran.says("s 1 B 1 [33, 44] holds exact");
    ran.says("y 0 A 0 [11, 22, 33, 44] holds exact");
    ran.says("y 1 B 1 [11, 22, 33, 44] holds exact");
}

#[test]
fn a_need_that_a_right_run_does_not_meet_is_status_1() {
    let ran = run("examples/plans/two-ranks.toml", &[]);
    assert_eq!(ran.status, 1);
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("all 4 arrays are as the model says; 1 of 1 needs are not met"),
        "{said}"
    );
    assert!(
        said.contains(
            "need 0: y holds sum(x) is not met: the proposal leaves x@A[0..4] on rank 0 in y"
        ),
        "{said}"
    );
    let envelope = run("examples/plans/two-ranks.toml", &["--json"]).envelope("run");
    assert_eq!(envelope["verdict"], "need_not_met");
    let verdicts: Vec<_> =
        envelope["data"]["runs"].as_array().unwrap().iter().map(|run| &run["verdict"]).collect();
    assert_eq!(verdicts, ["right", "right", "need_not_met"]);
}

#[test]
fn the_envelope_carries_the_record() {
    let envelope = run(SHARDED, &["--json"]).envelope("run");
    assert_eq!(envelope["verdict"], "right");
    let record = &envelope["data"]["runs"][0];
    assert_eq!(record["format"], 1);
    assert_eq!(record["plan"], "examples/plans/two-ranks.toml");
    assert_eq!(record["proposal"], "sharded");
    assert_eq!(record["backend"]["fold_order"], "rank");
    assert_eq!(record["steps"][0]["calls"][0]["count"], "2");
    assert_eq!(record["steps"][0]["calls"][0]["convention"], "one rank's shard (recvcount)");
    assert_eq!(record["fill"]["inputs"][0], serde_json::json!({ "input": "x", "values": "given" }));
    assert!(envelope["data"]["out"].is_null());
}

#[test]
fn what_a_run_writes_is_what_judge_reads() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new/left");
    let ran = run(SHARDED, &["--out", out.to_str().unwrap()]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    ran.says(&format!("written: {}", out.display()));
    assert_eq!(names(&out), ["npy", "rank0.safetensors", "rank1.safetensors", "record.json"]);
    assert_eq!(
        names(&out.join("npy")),
        ["s.rank0.npy", "s.rank1.npy", "x.rank0.npy", "x.rank1.npy", "y.rank0.npy", "y.rank1.npy"]
    );
    // Nothing beside it is left of the unfinished folder.
    assert_eq!(names(&folder.path().join("new")), ["left"]);
    for observed in [out.clone(), out.join("npy")] {
        let judged = rankwise(["judge", SHARDED, "--observed", observed.to_str().unwrap()]);
        assert_eq!(judged.status, 0, "{judged:?}");
        judged.says(&format!("{SHARDED}: right, all 2 arrays"));
    }
    let record = std::fs::read_to_string(out.join("record.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    assert_eq!((&record["format"], &record["verdict"]), (&1.into(), &"right".into()));

    // Once more into the same folder: nothing is overwritten.
    let again = run(SHARDED, &["--out", out.to_str().unwrap()]);
    assert_eq!((again.status, again.stdout.as_str()), (2, ""));
    assert!(again.stderr.contains("found a folder with something in it"), "{}", again.stderr);
}

#[test]
fn several_proposals_have_a_folder_each() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run("examples/plans/two-ranks.toml", &["--out", folder.path().to_str().unwrap()]);
    assert_eq!(ran.status, 1);
    assert_eq!(names(folder.path()), ["originals", "sharded", "whole"]);
    let observed = folder.path().join("whole");
    let judged = rankwise([
        "judge",
        "examples/plans/two-ranks.toml#whole",
        "--observed",
        observed.to_str().unwrap(),
    ]);
    assert_eq!(judged.status, 0, "{judged:?}");
}

/// NumPy has no bfloat16 and no fp8; safetensors has.
#[test]
fn types_without_a_numpy_name_are_in_safetensors_only() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("left");
    let plan = folder.path().join("plan.toml");
    let text = r#"
        format = 1
        group.ranks = 2
        input.x = { dtype = "bf16", count = 2, meaning = "m", on.rank = { 0 = [1, 2], 1 = [10, 20] } }
        proposal.p.step = [
            { call = "all_reduce", op = "sum", send = "x", recv = "y" },
            { call = "cast", send = "y", dtype = "f8e4m3", recv = "z" },
        ]
    "#;
    std::fs::write(&plan, text).unwrap();
    let ran = run(plan.to_str().unwrap(), &["--out", out.to_str().unwrap()]);
    assert_eq!(ran.status, 0, "{ran:?}");
    ran.says("y 0 - 0 [11, 22] holds unique");
    assert_eq!(names(&out), ["rank0.safetensors", "rank1.safetensors", "record.json"]);
    let judged = rankwise(["judge", plan.to_str().unwrap(), "--observed", out.to_str().unwrap()]);
    assert_eq!(judged.status, 0, "{judged:?}");
    judged.says(&format!("{}#p: right, all 4 arrays", plan.display()));
}

#[test]
fn inputs_without_values_are_generated_and_said_to_be() {
    let ran = run("examples/plans/hierarchical.toml#hierarchical", &[]);
    assert_eq!(ran.status, 0, "{ran:?}");
    ran.says(
        "generated: x, which has no values: small integers that count up through positions and ranks",
    );
    // Position 0 of the eight contributions: 1 + 1025 + … + 7169 = 28680.
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains(
            "y 0 n0/cuda:0 0 [28680, 28688, 28696, 28704, holds bits given the fold order"
        ),
        "{said}"
    );
    ran.says("… and 8 more arrays");
}

/// A send outside a group waits for its recv, which stands behind the `all_reduce`.
#[test]
fn a_run_that_fails_is_status_4_with_one_report() {
    let text = r#"
        format = 1
        group.ranks = 2
        input.x = { dtype = "i32", count = 2, meaning = "m" }
        proposal.p.step = [
            { call = "send", on = { rank = 0 }, peer = 1, send = "x" },
            { call = "all_reduce", op = "sum", send = "x", recv = "y" },
            { call = "recv", on = { rank = 1 }, peer = 0, recv = "z" },
        ]
    "#;
    let ran = of_text(text, &[]);
    assert_eq!((ran.status, ran.stderr.as_str()), (4, ""));
    ran.says("failed: ranks 0, 1 (peer)");
    assert_eq!(ran.stdout.matches("deadlock").count(), 1, "{}", ran.stdout);
    let envelope = of_text(text, &["--json"]).envelope("run");
    assert_eq!(envelope["verdict"], "failed");
    let record = &envelope["data"]["runs"][0];
    assert_eq!(record["errors"].as_array().unwrap().len(), 1);
    assert_eq!(record["errors"][0]["ranks"], serde_json::json!([0, 1]));
    assert_eq!(record["buffers"].as_array().unwrap().len(), 0);
}

#[test]
fn a_reduction_without_a_name_leaves_the_answer_open() {
    let text = r#"
        format = 1
        group.ranks = 2
        input.x = { dtype = "i32", count = 2, meaning = "m" }
        proposal.p.step = [{ call = "all_reduce", send = "x", recv = "y" }]
    "#;
    let ran = of_text(text, &[]);
    assert_eq!((ran.status, ran.stderr.as_str()), (3, ""));
    assert!(
        ran.stdout.contains("not run: step 0: all_reduce without a reduction; name it with `op`"),
        "{}",
        ran.stdout
    );
    let envelope = of_text(text, &["--json"]).envelope("run");
    assert_eq!(envelope["data"]["not_run"][0]["proposal"], "p");
}

#[test]
fn what_cannot_be_run_is_status_2() {
    let text = |count: &str| {
        format!(
            r#"
            format = 1
            group.ranks = 2
            input.x = {{ dtype = "i32", count = {count}, meaning = "m" }}
            proposal.p.step = [{{ call = "reduce_scatter", op = "sum", send = "x", recv = "y" }}]
            "#
        )
    };
    let ran = of_text(&text("3"), &[]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("proposal.p.step[0]: found buffer `x` of 3 elements"), "{ran:?}");
    let ran = of_text(&text("1000000000"), &[]);
    assert_eq!(ran.status, 2);
    assert!(
        ran.stderr.contains("found p: found 3000000000 elements in all buffers, at most 67108864"),
        "{ran:?}"
    );
    let ran = rankwise(["run", SHARDED, "--backend", "abacus"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("possible values: mock, nccl"), "{ran:?}");
}

#[test]
fn v_tells_of_every_call_on_standard_error() {
    let ran = run("examples/plans/own-shard.toml#sum_then_cut", &["-v"]);
    assert_eq!(ran.status, 0);
    let mut lines: Vec<&str> = ran.stderr.lines().map(str::trim).collect();
    lines.sort_unstable();
    let line = |rank: u32| {
        format!(
            "DEBUG rank{{rank={rank} ranks=2 proposal=\"sum_then_cut\"}}: rankwise_run: \
             op=\"all_reduce(sum)\" comm=\"world\" seq=0 rank={rank} count=4 \
             convention=the whole vector"
        )
    };
    assert_eq!(lines, [line(0), line(1)]);
    let ran = run("examples/plans/own-shard.toml#sum_then_cut", &["-vv"]);
    assert_eq!(ran.stderr.lines().count(), 4, "{}", ran.stderr);
    assert!(ran.stderr.contains("rankwise_run: op=\"slice\" rank=1 step=2"), "{}", ran.stderr);
}

/// NCCL's real code path, without a GPU: the stand-ins for its library and the driver's.
#[test]
fn the_same_plan_runs_through_nccl() {
    let driver = host_libcuda::library_file().expect("the stand-in was built with this test");
    let nccl = host_libnccl::library_file().expect("the stand-in was built with this test");
    let stand_ins = [("RANKWISE_LIBCUDA", driver.as_path()), ("NCCL_LIBRARY", nccl.as_path())];
    let ran = rankwise_with(&stand_ins, ["run", SHARDED, "--backend", "nccl"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{ran:?}");
    ran.says(&format!(
        "{SHARDED} on NCCL 2.32.3: all 6 arrays are as the model says; every need is met"
    ));
    ran.says("y 1 B 1 [11, 22, 33, 44] holds exact");
}

#[test]
fn a_missing_library_is_status_2_and_says_what_was_tried() {
    let driver = host_libcuda::library_file().expect("the stand-in was built with this test");
    let nowhere = Path::new("/nowhere/libnccl.so.2");
    let environment = [("RANKWISE_LIBCUDA", driver.as_path()), ("NCCL_LIBRARY", nowhere)];
    let ran = rankwise_with(&environment, ["run", SHARDED, "--backend", "nccl"]);
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.stderr.contains("/nowhere/libnccl.so.2"), "{ran:?}");
    assert!(ran.stderr.contains("--backend mock"), "{ran:?}");
}
