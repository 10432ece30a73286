//! The record as a file format.

use proptest::prelude::*;
use rankwise_run::RunRecord;
use rankwise_run::record::{FORMAT, RecordError};

use crate::outcome;
use crate::toy::Wrong;

const PLAN: &str = r#"
    format = 1
    group.devices = ["A", "B"]
    input.x = { dtype = "f32", count = 2, meaning = "m", on.rank = { 0 = [1, 2], 1 = [10, 20] } }
    proposal.p.step = [
        { call = "scale", send = "x", by = 2, recv = "t" },
        { call = "all_reduce", op = "sum", send = "t", recv = "y" },
    ]
    need = [{ on = "every rank", buffer = "y", holds = "sum(x)" }]
"#;

#[test]
fn a_record_reads_back_as_it_was() {
    let wrong = Wrong { flipped: Some((1, "world", 0, 1)), ..Wrong::default() };
    for wrong in [Wrong::default(), wrong, Wrong { panics: Some(0), ..Wrong::default() }] {
        let record = outcome(PLAN, &wrong).record.of_plan("plans/a.toml");
        let text = record.to_json().unwrap();
        assert_eq!(RunRecord::from_json(&text).unwrap(), record);
        assert!(text.starts_with("{\n  \"format\": 1,\n  \"tool\": {"), "{text}");
        assert!(text.contains("\"count\": \"2\""), "{text}");
    }
}

#[test]
fn a_record_of_another_format_is_refused_by_its_number() {
    let text = outcome(PLAN, &Wrong::default()).record.to_json().unwrap();
    let newer = text.replacen("\"format\": 1", "\"format\": 2", 1);
    let error = RunRecord::from_json(&newer).unwrap_err();
    assert_eq!(error, RecordError::Format { found: 2 });
    assert_eq!(error.to_string(), "found a record of format 2, this version reads 1");
    assert_eq!(FORMAT, 1);
}

#[test]
fn unknown_keys_and_narrow_numbers_are_errors() {
    let text = outcome(PLAN, &Wrong::default()).record.to_json().unwrap();
    for (from, to) in [
        ("\"world\": 2", "\"world\": 2, \"speed\": 9"),
        ("\"count\": \"2\"", "\"count\": 2"),
        ("\"count\": \"2\"", "\"count\": \"+2\""),
        ("\"verdict\": \"", "\"verdict\": \"almost_"),
    ] {
        let error = RunRecord::from_json(&text.replacen(from, to, 1)).unwrap_err();
        assert!(matches!(error, RecordError::Json { .. }), "{to}: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_text_panics(text in "\\PC{0,40}", at in any::<prop::sample::Index>()) {
        prop_assert!(RunRecord::from_json(&text).is_err());
        let whole = include_str!("record.json");
        // Cut anywhere but behind the last brace, it is no record any more.
        let cut = &whole[..at.index(whole.trim_end().len())];
        prop_assert!(RunRecord::from_json(cut).is_err());
    }
}

/// What version 1 is: a file that was written by it.
#[test]
fn a_file_of_format_1_is_read() {
    let record = RunRecord::from_json(include_str!("record.json")).unwrap();
    let mut again = outcome(PLAN, &Wrong::default()).record.of_plan("plans/a.toml");
    again.tool.version = "0.1.0".into();
    assert_eq!(record, again);
}
