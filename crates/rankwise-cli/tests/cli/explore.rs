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

/// What nothing puts in order does no job, whatever its buffers are said to hold: neither
/// as it stands nor in another order.
#[test]
fn a_hazard_is_no_yes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hazard.toml");
    let text = r#"
        format = 1
        group.devices = ["A", "B"]
        input.x = { dtype = "f32", count = 4 }
        need = [{ on = "every rank", buffer = "y", holds = "sum(x)" }]
        [[proposal.early.program]]
        on = "every rank"
        step = [
            { call = "all_reduce", op = "sum", send = "x", recv = "x", stream = "comm" },
            { call = "copy", send = "x", recv = "y" },
        ]
    "#;
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    assert_eq!(rankwise(["explore", file]).status, 1);
    let ran = rankwise(["explore", file, "--devices", "B,A"]);
    assert_eq!(ran.status, 1);
    ran.says("(A B) is harmless, but not every need is met after it");
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

/// Ways to say an order, and the permutation that each comes to.
#[rstest]
#[case(&["--devices", "b0,b1,b2,a0,a1,a2"], 0, "(a0 b0)(a1 b1)(a2 b2)")]
#[case(&["--visible", "3,4,5,0,1,2", "--physical"], 0, "(a0 b0)(a1 b1)(a2 b2)")]
#[case(&["--split", "colors=1,1,1,0,0,0"], 0, "(a0 b0)(a1 b1)(a2 b2)")]
#[case(&["--split", "colors=0,0,0,0,0,0", "keys=0,2,1,3,4,5"], 0, "(a1 a2)")]
// As (gpu, node) the ranks 0, 1, 2 are a0, b0, a1.
#[case(&["--axes", "node=2,gpu=3->gpu,node"], 1, "(a1 b0 b1 a2)")]
fn an_order_may_come_from_a_variable_a_split_or_a_mesh(
    #[case] order: &[&str],
    #[case] status: i32,
    #[case] cycles: &str,
) {
    for verb in ["explore", "relabel"] {
        let words = [&[verb, COPIES, "--json"], order].concat();
        let ran = rankwise(words);
        let envelope = ran.envelope(verb);
        assert_eq!(ran.status, status, "{envelope}");
        let data = &envelope["data"];
        let found = match verb {
            "explore" => &data["proposals"][0]["asked"]["permutation"]["cycles"],
            _ => &data["permutation"],
        };
        assert_eq!(found, cycles);
    }
}

/// Whose numbers `CUDA_VISIBLE_DEVICES` holds is not known unless it is said.
#[rstest]
#[case(&["--visible", "5,4,3,2,1,0"], "CUDA_DEVICE_ORDER")]
#[case(&["--visible", "GPU-af7b61d8", "--physical"], "only the driver knows its index")]
fn an_order_that_cannot_be_told_is_unknown(#[case] order: &[&str], #[case] reason: &str) {
    for verb in ["explore", "relabel"] {
        let ran = rankwise([&[verb, COPIES], order].concat());
        assert_eq!(ran.status, 3);
        let text = ran.lines().join(" ");
        assert!(text.contains(reason), "{text}");
    }
}

#[rstest]
#[case(&["--split", "colors=0,0,0,1,1,none"], "rank 5 has no colour")]
#[case(&["--split", "colors=0,0"], "2 colours and keys for a world of 6")]
#[case(&["--axes", "node,gpu->gpu,node"], "axis `gpu` with its size, as in gpu=2")]
#[case(&["--axes", "node=2,gpu=4->gpu,node"], "axes of 6 ranks, not of 8")]
#[case(&["--visible", "0,1", "--physical"], "2 visible devices for 6 ranks")]
#[case(&["--devices", "a0"], "1 devices for 6 ranks")]
fn an_order_that_makes_no_sense_is_refused(#[case] order: &[&str], #[case] reason: &str) {
    let ran = rankwise([&["explore", COPIES], order].concat());
    assert_eq!(ran.status, 2, "{}", ran.stdout);
    assert!(ran.stderr.contains(reason), "{}", ran.stderr);
}

/// What mends the mission's relabelling: two elements to A, or all four to both ranks.
#[test]
fn repairs_come_with_their_payloads() {
    let plan = "examples/plans/first-shard-on-a.toml";
    let ran = rankwise(["explore", plan, "--devices", "B,A", "--json"]);
    let envelope = ran.envelope("explore");
    let repairs = envelope["data"]["proposals"][0]["repairs"].as_array().unwrap();
    let told: Vec<_> = repairs
        .iter()
        .map(|repair| {
            let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
            (text(&repair["kind"]), text(&repair["output_payload"]["bytes"]))
        })
        .collect();
    let expected = [("map", "0"), ("index", "0"), ("messages", "8"), ("gather", "32")];
    assert_eq!(told, expected.map(|(kind, bytes)| (kind.to_owned(), bytes.to_owned())));
    assert!(repairs.iter().all(|repair| repair["rechecked"] == "every need satisfied"));
    // Nothing is broken, so nothing is mended.
    let whole = rankwise(["explore", plan, "--json"]).envelope("explore");
    assert!(whole["data"]["proposals"][0]["repairs"].is_null());
}
