//! `rankwise judge`: what arrays of a run say about it.

use std::path::Path;

use super::{Ran, npy, npy_i32, rankwise};

const SHARDED: &str = "examples/plans/two-ranks.toml#sharded";

fn judge(plan: &str, files: &[(&str, Vec<u8>)]) -> (Ran, Ran) {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    let observed: &Path = folder.path();
    let words = ["judge".as_ref(), plan.as_ref(), "--observed".as_ref(), observed.as_os_str()];
    (rankwise(words), rankwise(words.into_iter().chain(["--json".as_ref()])))
}

#[test]
fn arrays_as_the_plan_says_are_right() {
    let sum = npy_i32(&[11, 22, 33, 44]);
    let (page, json) = judge(SHARDED, &[("y.rank0.npy", sum.clone()), ("y.B.npy", sum)]);
    assert_eq!((page.status, page.stderr.as_str()), (0, ""));
    page.says("examples/plans/two-ranks.toml#sharded: right, all 2 arrays");
    let envelope = json.envelope("judge");
    assert_eq!(envelope["verdict"], "right");
    assert_eq!(envelope["data"]["findings"].as_array().unwrap().len(), 2);
    assert!(envelope["data"]["map"].is_null());
}

#[test]
fn a_contribution_instead_of_the_sum_is_unreduced() {
    let files =
        [("y.rank0.npy", npy_i32(&[1, 2, 3, 4])), ("y.rank1.npy", npy_i32(&[11, 22, 33, 44]))];
    let (page, json) = judge(SHARDED, &files);
    assert_eq!(page.status, 1);
    page.says("examples/plans/two-ranks.toml#sharded: 1 of 2 arrays are wrong");
    let finding = &json.envelope("judge")["data"]["findings"][0];
    assert_eq!(finding["law"], "unreduced");
    assert_eq!((&finding["rank"], &finding["wrong"]), (&0.into(), &"4".into()));
    let first = &finding["first_wrong"];
    assert_eq!(first["position"], "0");
    assert_eq!((&first["found"], &first["expected"]), (&1.into(), &11.into()));
}

#[test]
fn exchanged_blocks_are_named_with_the_map_that_would_be_right() {
    // B, A is what rank order gives when B is rank 0.
    let gathered = npy_i32(&[10, 20, 30, 40, 1, 2, 3, 4]);
    let (page, json) = judge(
        "examples/plans/each-contribution.toml#gathered",
        &[("y.rank0.npy", gathered.clone()), ("y.rank1.npy", gathered)],
    );
    assert_eq!(page.status, 1);
    page.says("map: everything would be right with rank 0 on B, rank 1 on A");
    let data = &json.envelope("judge")["data"];
    assert_eq!(data["findings"][0]["law"], "permuted");
    assert_eq!(data["findings"][0]["blocks"], serde_json::json!([1, 0]));
    assert_eq!(data["map"], serde_json::json!(["B", "A"]));
}

#[test]
fn a_shard_on_the_wrong_rank_is_another_owners() {
    let files = [("s.rank0.npy", npy_i32(&[33, 44])), ("s.rank1.npy", npy_i32(&[11, 22]))];
    let (page, json) = judge("examples/plans/own-shard.toml#shard_only", &files);
    assert_eq!(page.status, 1);
    let data = &json.envelope("judge")["data"];
    assert_eq!(data["findings"][0]["law"], "wrong_owner");
    assert_eq!(
        (&data["findings"][0]["owner"], &data["findings"][1]["owner"]),
        (&1.into(), &0.into())
    );
}

#[test]
fn a_missing_array_leaves_the_verdict_open() {
    let (page, json) = judge(SHARDED, &[("y.A.npy", npy_i32(&[11, 22, 33, 44]))]);
    assert_eq!(page.status, 3);
    page.says("examples/plans/two-ranks.toml#sharded: right where observed, but 1 of 2 arrays are missing");
    page.says("missing: buffer y of rank 1 (B)");
    assert_eq!(json.envelope("judge")["data"]["missing"][0]["rank"], 1);
}

#[test]
fn an_empty_folder_says_what_was_looked_for() {
    let (page, json) = judge(SHARDED, &[("z.rank0.npy", npy_i32(&[]))]);
    assert_eq!(page.status, 2);
    let error = &json.envelope("judge")["data"]["error"];
    assert_eq!(error["found"], "no array for buffer y of rank 0; the folder has z.rank0.npy");
    assert_eq!(
        error["expected"],
        "y.rank0.npy or y.A.npy or rank0.safetensors with a tensor y or A.safetensors with a tensor y"
    );
}

#[test]
fn an_array_of_another_shape_is_refused_with_both() {
    let (page, json) = judge(SHARDED, &[("y.rank0.npy", npy_i32(&[11, 22]))]);
    assert_eq!(page.status, 2);
    let error = &json.envelope("judge")["data"]["error"];
    assert_eq!(error["fault"], "array");
    assert_eq!(error["found"], "2 elements of i32 for buffer y of rank 0");
    assert_eq!(error["expected"], "4 elements of i32");
}

#[test]
fn what_was_converted_is_noted() {
    // [11, 22, 33, 44] with the most significant byte first.
    let big = npy(">i4", 4, &[0, 0, 0, 11, 0, 0, 0, 22, 0, 0, 0, 33, 0, 0, 0, 44]);
    let files = [("y.rank0.npy", big), ("y.rank1.npy", npy_i32(&[11, 22, 33, 44]))];
    let (page, json) = judge(SHARDED, &files);
    assert_eq!(page.status, 0);
    page.says("note: y.rank0.npy: converted from big-endian to little-endian");
    assert_eq!(json.envelope("judge")["data"]["notes"].as_array().unwrap().len(), 1);
}

#[test]
fn a_symbolic_plan_cannot_judge() {
    let header = r#"{"y":{"dtype":"BF16","shape":[6],"data_offsets":[0,12]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend([0; 12]);
    let files = [("rank0.safetensors", bytes)];
    let (page, json) = judge("examples/plans/symbolic.toml#whole", &files);
    assert_eq!(page.status, 2);
    let error = &json.envelope("judge")["data"]["error"];
    assert!(error["found"].as_str().unwrap().contains("inputs without values"), "{error}");
}

#[test]
fn one_wrong_value_is_found_and_no_law_is_invented_for_it() {
    let files =
        [("y.rank0.npy", npy_i32(&[11, 22, 34, 44])), ("y.rank1.npy", npy_i32(&[11, 22, 33, 44]))];
    let (page, json) = judge(SHARDED, &files);
    assert_eq!(page.status, 1);
    let finding = &json.envelope("judge")["data"]["findings"][0];
    assert_eq!((&finding["law"], &finding["wrong"]), (&"unexplained".into(), &"1".into()));
    let first = &finding["first_wrong"];
    assert_eq!(*first, serde_json::json!({ "position": "2", "found": 34, "expected": 33 }));
}
