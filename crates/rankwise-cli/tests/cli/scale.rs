//! Many ranks and large counts: pages stay pages.

use std::fmt::Write as _;

use super::rankwise;

fn plan(ranks: u32, step: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plan.toml");
    let text = format!(
        "format = 1\ngroup.ranks = {ranks}\n[input.x]\ndtype = \"f32\"\ncount = {}\n\
         meaning = \"gradient\"\n[[proposal.p.step]]\n{step}send = \"x\"\nrecv = \"y\"\n",
        u64::from(ranks) * 1_000_000
    );
    std::fs::write(&file, text).unwrap();
    let file = file.display().to_string();
    (folder, file)
}

#[test]
fn equal_ranks_are_put_together() {
    let (_folder, file) = plan(1024, "call = \"all_reduce\"\nop = \"sum\"\n");
    let ran = rankwise(["explain", &file]);
    assert_eq!(ran.status, 0);
    ran.says("… and 1023 more ranks alike");
    assert!(ran.stdout.lines().count() < 40, "{}", ran.stdout);
}

#[test]
fn different_ranks_are_cut_unless_all_are_wanted() {
    let (_folder, file) = plan(64, "call = \"reduce_scatter\"\nop = \"sum\"\n");
    let ran = rankwise(["explain", &file]);
    ran.says("y … and 60 more ranks (--all shows them)");
    let all = rankwise(["explain", &file, "--all"]);
    assert!(!all.stdout.contains("--all"));
    let ranks = all.lines().iter().filter(|line| line.starts_with("y ")).count();
    assert_eq!(ranks, 64);
}

#[test]
fn many_groups_are_one_line_of_payload() {
    let mut lists = String::new();
    for group in 0..128 {
        let comma = if group == 0 { "" } else { ", " };
        write!(lists, "{comma}[{}, {}]", 2 * group, 2 * group + 1).unwrap();
    }
    let (_folder, file) = plan(256, &format!("call = \"all_gather\"\nover = [{lists}]\n"));
    let ran = rankwise(["explain", &file]);
    ran.says("count 256000000 is one rank's contribution (sendcount), over 2 ranks, in each of 128 groups");
}
