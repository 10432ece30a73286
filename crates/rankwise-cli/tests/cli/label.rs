//! `rankwise label`: which readings there are, and whether one remains.

use rstest::rstest;

use super::rankwise;

#[rstest]
#[case("16 B", 3, "open")]
#[case("4 elements", 3, "open")]
#[case("all_gather 16 B n=2 i32", 3, "open")]
#[case("all_gather 16 B out n=2 i32", 0, "settled")]
#[case("n=2 i32 out 16B all_gather", 0, "settled")]
#[case("all_reduce 16 B n=2 i32", 0, "settled")]
#[case("all_reduce 16 B", 0, "one_reading")]
#[case("all_gather 15 B n=2 i32", 1, "impossible")]
fn the_status_says_whether_one_reading_remains(
    #[case] text: &str,
    #[case] status: i32,
    #[case] verdict: &str,
) {
    let ran = rankwise(["label", text, "--json"]);
    assert_eq!((ran.status, ran.envelope("label")["verdict"].as_str()), (status, Some(verdict)));
    assert_eq!(rankwise(["label", text]).status, status);
}

#[test]
fn words_may_be_one_argument_or_several() {
    assert_eq!(
        rankwise(["label", "all_gather", "16", "B"]).stdout,
        rankwise(["label", "all_gather 16 B"]).stdout
    );
}

#[test]
fn sixteen_bytes_of_an_all_gather_are_in_or_out() {
    // Two ranks: 16 B handed in make 32 B; 16 B got were 8 B handed in.
    let ran = rankwise(["label", "all_gather 16 B n=2 i32"]);
    ran.says("all_gather input = count argument 4 elements, 16 B 8 elements, 32 B yes");
    ran.says("all_gather output = nccl-tests size 2 elements, 8 B 4 elements, 16 B yes");
    ran.says("missing: whether it is input, output, count or size");
    ran.says(
        "factor: n = 2 times as much is meant if 16 B is in/count than if it is out/size (all_gather)",
    );
    assert!(ran.stdout.contains("not link bytes, not"), "{}", ran.stdout);

    let data = &rankwise(["label", "all_gather 16 B n=2 i32", "--json"]).envelope("label")["data"];
    assert_eq!(data["readings"][0]["output"]["bytes"]["value"], "32");
    assert_eq!(data["readings"][0]["count"]["value"], "4");
    assert_eq!(data["readings"][1]["input"]["bytes"]["value"], "8");
    assert_eq!(data["factors"][0]["value"], "2");
    assert!(data["settled"].is_null());
}

#[test]
fn what_is_not_said_stays_a_formula() {
    let data = &rankwise(["label", "reduce_scatter 16 B", "--json"]).envelope("label")["data"];
    assert_eq!(data["readings"][0]["input"]["bytes"]["formula"], "n × 16 B");
    assert_eq!(data["readings"][1]["output"]["bytes"]["formula"], "16 B / n");
    assert_eq!(data["missing"].as_array().unwrap().len(), 3);
}

#[test]
fn units_of_1024_and_of_1000_are_kept_apart() {
    let bytes = |text| {
        let envelope = rankwise(["label", text, "--json"]).envelope("label");
        envelope["data"]["number"]["value"].as_str().unwrap().to_owned()
    };
    assert_eq!(bytes("1250 MiB"), "1310720000");
    assert_eq!(bytes("1250 MB"), "1250000000");
    assert_eq!(bytes("32 kB"), "32000");
    assert_eq!(bytes("32KiB"), "32768");
}

#[rstest]
#[case("16 of B", 4, "\"of\"")]
#[case("16", 3, "the end")]
#[case("all_gather", 11, "the end")]
#[case("1250M all_reduce", 5, "\"M\"")]
#[case("16 B 17 B", 6, "\"17\"")]
#[case("16 B n=0", 6, "\"n=0\"")]
#[case("18446744073709551616 B", 1, "\"18446744073709551616\"")]
fn what_is_no_label_is_refused_at_its_place(
    #[case] text: &str,
    #[case] column: u64,
    #[case] found: &str,
) {
    let ran = rankwise(["label", text, "--json"]);
    let envelope = ran.envelope("label");
    assert_eq!((ran.status, envelope["verdict"].as_str()), (2, Some("unusable")));
    let error = &envelope["data"]["error"];
    assert_eq!(error["fault"], "label");
    assert_eq!((error["line"].as_u64(), error["column"].as_u64()), (Some(1), Some(column)));
    assert_eq!(error["found"], found);

    let ran = rankwise(["label", text]);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    assert!(
        ran.stderr.starts_with(&format!("label:1:{column}: found {found}, expected ")),
        "{ran:?}"
    );
}
