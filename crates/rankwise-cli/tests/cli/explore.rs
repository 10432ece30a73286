//! `rankwise explore`: which permutations of the devices are harmless.

use rstest::rstest;

use super::rankwise;

const COPIES: &str = "examples/plans/local-copies.toml";

#[test]
fn eight_of_720_permutations_are_harmless() {
    let ran = rankwise(["explore", COPIES]);
    assert_eq!(ran.status, 0);
    ran.says("harmless: 8 of 720 permutations of the devices");
    let envelope = rankwise(["explore", COPIES, "--json"]).envelope("explore");
    assert_eq!(envelope["verdict"], "satisfied");
    let found = &envelope["data"]["proposals"][0];
    assert_eq!(found["harmless"], serde_json::json!({ "number": "8", "exact": true }));
    assert_eq!(found["symmetries"]["number"], "8");
    assert_eq!(found["cosets"], "1");
}

/// The nodes exchanged, a device of each exchanged, and the orders in which they were.
#[rstest]
#[case("b0,b1,b2,a0,a1,a2", 0, "harmless", "(a0 b0)(a1 b1)(a2 b2)", &[])]
#[case("a0,a2,a1,b0,b1,b2", 0, "harmless", "(a1 a2)", &[])]
#[case("a0,b1,a2,b0,a1,b2", 1, "breaks", "(a1 b1)", &[0, 2])]
#[case("a1,a0,a2,b0,b1,b2", 1, "breaks", "(a0 a1)", &[0, 1])]
fn an_order_is_judged(
    #[case] devices: &str,
    #[case] status: i32,
    #[case] verdict: &str,
    #[case] cycles: &str,
    #[case] breaks: &[u32],
) {
    let ran = rankwise(["explore", COPIES, "--devices", devices, "--json"]);
    let envelope = ran.envelope("explore");
    assert_eq!((ran.status, envelope["verdict"].as_str()), (status, Some(verdict)));
    let asked = &envelope["data"]["proposals"][0]["asked"];
    assert_eq!(asked["permutation"]["cycles"], cycles);
    assert_eq!(asked["breaks"], serde_json::json!(breaks));
}

/// Without devices there is nothing to permute.
#[test]
fn a_plan_without_devices_is_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ranks.toml");
    let text = r#"
        format = 1
        group.ranks = 2
        input.x = { dtype = "i32", count = 4 }
        proposal.it.step = [{ call = "all_gather", send = "x", recv = "y" }]
        need = [{ on = "every rank", buffer = "y", holds = "gather(x)" }]
    "#;
    std::fs::write(&file, text).unwrap();
    let ran = rankwise([std::ffi::OsStr::new("explore"), file.as_os_str()]);
    assert_eq!(ran.status, 3);
    ran.says("harmless: unknown");
}
