//! The mission's two ranks, asked in every way.

use super::rankwise;

const TWO_RANKS: &str = "examples/plans/two-ranks.toml";

#[test]
fn explain_shows_what_is_held_and_what_each_count_counts() {
    let ran = rankwise(["explain", TWO_RANKS]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    ran.says("2 ranks: rank 0 on A, rank 1 on B");
    ran.says("x i32 4 gradient of layer 0 its device given");

    ran.says("step 0: all_reduce(sum): x -> y");
    ran.says("count 4 is the whole vector, over 2 ranks");
    ran.says("every rank 2 4 elements i32, 16 B 4 elements i32, 16 B");
    ran.says("y 0 A 0..4 x@A[0..4] + x@B[0..4] [11, 22, 33, 44]");
    ran.says("y 1 B 0..4 x@A[0..4] + x@B[0..4] [11, 22, 33, 44]");

    ran.says("step 0: reduce_scatter(sum): x -> s");
    ran.says("count 2 is one rank's shard (recvcount), over 2 ranks");
    ran.says("every rank 2 4 elements i32, 16 B 2 elements i32, 8 B");
    ran.says("s 0 A 0..2 x@A[0..2] + x@B[0..2] [11, 22]");
    ran.says("s 1 B 0..2 x@A[2..4] + x@B[2..4] [33, 44]");

    ran.says("step 0: all_gather: x -> y");
    ran.says("count 4 is one rank's contribution (sendcount), over 2 ranks");
    ran.says("every rank 2 4 elements i32, 16 B 8 elements i32, 32 B");
    ran.says("y 0 A 0..4 x@A[0..4] [1, 2, 3, 4]");
    ran.says("4..8 x@B[0..4] [10, 20, 30, 40]");
    assert!(ran.stdout.contains("It is not link bytes, not\n"), "{}", ran.stdout);
}

#[test]
fn explain_says_the_same_to_machines() {
    let ran = rankwise(["explain", "examples/plans/two-ranks.toml#sharded", "--json"]);
    let data = &ran.envelope("explain")["data"];
    assert_eq!(data["devices"], serde_json::json!(["A", "B"]));
    assert_eq!(data["proposals"].as_array().unwrap().len(), 1);
    let step = &data["proposals"][0]["steps"][0];
    assert_eq!(step["calls"][0]["count"], "2");
    assert_eq!(step["calls"][0]["count_means"], "one rank's shard (recvcount)");
    assert_eq!(step["calls"][0]["payload"][0]["input_bytes"], "16");
    assert_eq!(step["calls"][0]["payload"][0]["output_bytes"], "8");
    let shard = &step["holds"][1];
    assert_eq!(
        (&shard["ranks"], &shard["devices"]),
        (&serde_json::json!([1]), &serde_json::json!(["B"]))
    );
    assert_eq!(shard["runs"][0]["holds"], "x@A[2..4] + x@B[2..4]");
    assert_eq!(shard["runs"][0]["positions"], serde_json::json!(["0", "2"]));
    assert_eq!(shard["runs"][0]["values"], serde_json::json!([33, 44]));
}

#[test]
fn check_names_what_is_wrong() {
    let ran = rankwise(["check", TWO_RANKS]);
    assert_eq!(ran.status, 1);
    ran.says("whole: every need is satisfied");
    ran.says("sharded: every need is satisfied");
    ran.says("originals: not every need is satisfied");
    ran.says("need 0: y should hold sum(x) on every rank, and does not on 2 of 2 ranks");
    ran.says("first: rank 0 (device A), positions 0..4 of y");
    ran.says("holds x@A[0..4]");
    ran.says("needs x@A[0..4] + x@B[0..4]");
    ran.says("- 8 elements long, needs 4");
    for (proposal, status, verdict) in
        [("whole", 0, "satisfied"), ("sharded", 0, "satisfied"), ("originals", 1, "not_satisfied")]
    {
        let ran = rankwise(["check", &format!("{TWO_RANKS}#{proposal}"), "--json"]);
        let envelope = ran.envelope("check");
        assert_eq!((ran.status, envelope["verdict"].as_str()), (status, Some(verdict)));
        assert_eq!(envelope["data"]["proposals"][0]["name"], proposal);
        assert_eq!(envelope["data"]["proposals"][0]["answer"], verdict);
    }
}

#[test]
fn a_plan_without_needs_is_unknown() {
    let ran = rankwise(["check", "examples/plans/relabelled.toml", "--json"]);
    assert_eq!((ran.status, &ran.envelope("check")["verdict"]), (3, &"none_stated".into()));
}

#[test]
fn compare_counts_both_stages_and_the_gathering_of_the_originals_is_another_job() {
    let ran = rankwise(["compare", TWO_RANKS]);
    assert_eq!(ran.status, 1);
    ran.says("whole / sharded same same state exact");
    ran.says("whole / originals different only whole satisfies every need exact");
    ran.says("sharded / originals different only sharded satisfies every need exact");

    let ran = rankwise(["compare", &format!("{TWO_RANKS}#whole"), &format!("{TWO_RANKS}#sharded")]);
    assert_eq!(ran.status, 0);
    ran.says("whole and sharded: same state");
    for row in ["whole 0 all_reduce(sum)", "sharded 0 reduce_scatter(sum)", "sharded 1 all_gather"]
    {
        assert!(ran.lines().iter().any(|line| line.starts_with(row)), "{row}: {}", ran.stdout);
    }
    assert!(!ran.stdout.contains("no comparison of speed"));

    let ran =
        rankwise(["compare", &format!("{TWO_RANKS}#whole"), &format!("{TWO_RANKS}#originals")]);
    assert_eq!(ran.status, 1);
    ran.says("whole (rank 0) holds x@A[0..4] + x@B[0..4]");
    ran.says("originals (rank 0) holds x@A[0..4]");
    ran.says("figures: none side by side, and no comparison of speed: they do not do the same job");
    assert!(!ran.stdout.contains("input per rank"), "{}", ran.stdout);
}

#[test]
fn compare_across_files_and_within_one_says_the_same() {
    let pair = |first: &str, second: &str| {
        let ran = rankwise(["compare", first, second, "--json"]);
        let envelope = ran.envelope("compare");
        (ran.status, envelope["verdict"].as_str().unwrap().to_owned())
    };
    let two_ranks = |name: &str| format!("{TWO_RANKS}#{name}");
    assert_eq!(pair(&two_ranks("whole"), &two_ranks("sharded")), (0, "same_state".into()));
    let copy = tempfile::tempdir().unwrap();
    let copy = copy.path().join("copy.toml");
    std::fs::copy(super::root().join(TWO_RANKS), &copy).unwrap();
    let copy = format!("{}#sharded", copy.display());
    assert_eq!(pair(&two_ranks("whole"), &copy), (0, "same_state".into()));
    assert_eq!(pair(&two_ranks("originals"), &copy), (1, "only_b".into()));
}

#[test]
fn one_name_is_compared_with_all_others() {
    let ran = rankwise(["compare", &format!("{TWO_RANKS}#sharded"), "--json"]);
    let pairs = &ran.envelope("compare")["data"]["pairs"];
    let names: Vec<_> = pairs
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| [&pair["a"]["proposal"], &pair["b"]["proposal"]])
        .collect();
    assert_eq!(names, [["sharded", "whole"], ["sharded", "originals"]]);
}

#[test]
fn relabel_moves_the_shards_and_leaves_the_sum_alone() {
    let plan = "examples/plans/first-shard-on-a.toml";
    let ran = rankwise(["relabel", plan, "--devices", "B,A"]);
    assert_eq!(ran.status, 1);
    ran.says("A 0 1");
    ran.says("B 1 0");
    ran.says("A 0 -> 1 s x@A[0..2] + x@B[0..2] = [11, 22] x@A[2..4] + x@B[2..4] = [33, 44] other");
    ran.says("B 1 -> 0 s x@A[2..4] + x@B[2..4] = [33, 44] x@A[0..2] + x@B[0..2] = [11, 22] other");
    ran.says("0 device A s sum(x)[0..2] satisfied not satisfied breaks it names devices");
    ran.says("1 rank 0 s sum(x)[0..2] satisfied satisfied survives it names ranks");
    ran.says("- out of place: the value of position 2 where 0 is needed");

    let envelope = rankwise(["relabel", plan, "--devices", "B,A", "--json"]).envelope("relabel");
    assert_eq!(envelope["verdict"], "breaks");
    let contents = envelope["data"]["proposals"][0]["contents"].as_array().unwrap();
    let of = |device: &str, buffer: &str| {
        contents.iter().find(|held| held["device"] == device && held["buffer"] == buffer).unwrap()
    };
    assert_eq!(of("A", "s")["after"]["runs"][0]["values"], serde_json::json!([33, 44]));
    assert_eq!(of("A", "y")["same"], true);
    assert_eq!(of("A", "s")["same"], false);
}

#[test]
fn relabel_changes_the_order_of_a_gather() {
    let ran =
        rankwise(["relabel", &format!("{TWO_RANKS}#originals"), "--devices", "B,A", "--json"]);
    let envelope = ran.envelope("relabel");
    assert_eq!((ran.status, &envelope["verdict"]), (0, &"nothing_breaks".into()));
    let after = &envelope["data"]["proposals"][0]["contents"][0]["after"];
    assert_eq!(after["ranks"], serde_json::json!([1]));
    assert_eq!(after["runs"][0]["values"], serde_json::json!([10, 20, 30, 40]));
    assert_eq!(after["runs"][1]["values"], serde_json::json!([1, 2, 3, 4]));
}

#[test]
fn relabel_works_on_symbols_alone() {
    let ran = rankwise(["relabel", "examples/plans/symbolic.toml#whole", "--devices", "C,A,B"]);
    assert_eq!(ran.status, 0);
    ran.says("C 2 0");
    assert!(!ran.stdout.contains("= ["), "{}", ran.stdout);
}

#[test]
fn gathered_parameters_are_no_gradients() {
    let ran = rankwise(["check", "examples/plans/fsdp.toml#mixed_up"]);
    assert_eq!(ran.status, 1);
    assert!(
        ran.lines().join(" ").contains(
            "- made of p (parameters of layer 0, this rank's shard), needed of g (gradient of \
             layer 0, from this rank's batch): equal shapes, other values"
        ),
        "{}",
        ran.stdout
    );
}

#[test]
fn every_example_plan_is_readable_and_gives_an_answer() {
    let folder = super::root().join("examples/plans");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // Its arrays are made on demand; `arrays.rs` makes them elsewhere.
        let needs_arrays = path.ends_with("fsdp-arrays.toml");
        if path.extension().is_some_and(|extension| extension == "toml") && !needs_arrays {
            for verb in ["explain", "check"] {
                let ran = rankwise([verb.as_ref(), path.as_os_str()]);
                assert!([0, 1, 3].contains(&ran.status), "{verb} {}: {ran:?}", path.display());
                assert_eq!(ran.stderr, "");
            }
            seen += 1;
        }
    }
    assert!(seen >= 7, "{seen} plans");
}

#[test]
fn schema_is_the_schema_of_plan_files() {
    let ran = rankwise(["schema"]);
    let schema: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(schema["properties"]["format"]["const"], 1);
    let envelope = rankwise(["schema", "--json"]).envelope("schema");
    assert_eq!(envelope["data"]["schema"], schema);
}

/// A call that stands for a group writes a buffer piece by piece: what it leaves is shown,
/// not every piece.
#[test]
fn explain_shows_what_a_group_leaves() {
    let ran = rankwise(["explain", "examples/plans/ragged.toml#broadcasts"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(!ran.stdout.contains("never written"), "{}", ran.stdout);
    let left = "\n  all        0  A       0..3       rows@A[0..3]\n\
                \u{20}                       3..5       rows@B[0..2]\n\
                \u{20}                       5..7       rows@C[0..2]\n";
    assert!(ran.stdout.contains(left), "{}", ran.stdout);
}

/// What differs first, then the rest on request.
#[test]
fn every_place_where_a_need_is_not_met_is_shown_on_request() {
    let plan = "examples/plans/two-ranks.toml#originals";
    let few = rankwise(["check", plan]);
    assert!(few.stdout.contains("first: rank 0 (device A)"), "{}", few.stdout);
    assert!(!few.stdout.contains("then: "), "{}", few.stdout);
    let all = rankwise(["check", plan, "--all"]);
    assert!(all.stdout.contains("then: rank 1 (device B), positions 0..4 of y"), "{}", all.stdout);
    let data = rankwise(["check", plan, "--all", "--json"]).envelope("check");
    let need = &data["data"]["proposals"][0]["needs"][0];
    assert_eq!(need["others"].as_array().unwrap().len(), 1);
    assert_eq!(need["others"][0]["rank"], 1);
    assert!(
        rankwise(["check", plan, "--json"]).envelope("check")["data"]["proposals"][0]["needs"][0]
            .get("others")
            .is_none()
    );
}
