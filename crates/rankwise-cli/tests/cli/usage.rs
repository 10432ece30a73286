//! Command lines that cannot be used, help, and the form of answers.

use std::io::Read as _;
use std::process::{Command, Stdio};

use rstest::rstest;

use super::rankwise;

#[rstest]
#[case(&[])]
#[case(&["prove"])]
#[case(&["check"])]
#[case(&["compare", "a.toml", "b.toml", "c.toml"])]
#[case(&["relabel", "examples/plans/two-ranks.toml"])]
#[case(&["judge", "examples/plans/two-ranks.toml"])]
#[case(&["run", "examples/plans/two-ranks.toml"])]
#[case(&["label"])]
fn a_wrong_command_line_is_status_2_and_says_so_on_standard_error(#[case] words: &[&str]) {
    let ran = rankwise(words);
    assert_eq!(ran.status, 2, "{ran:?}");
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("Usage: rankwise"), "{}", ran.stderr);
}

#[test]
fn a_wrong_option_lists_the_right_ones() {
    let ran = rankwise(["label", "16 B", "--color", "sometimes"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("[possible values: auto, always, never]"), "{}", ran.stderr);
}

#[test]
fn a_wrong_command_line_with_json_is_an_envelope() {
    let ran = rankwise(["check", "--json"]);
    let envelope = ran.envelope("usage");
    assert_eq!(ran.status, 2);
    assert_eq!(envelope["verdict"], "unusable");
    let error = &envelope["data"]["error"];
    assert_eq!(error["fault"], "usage");
    assert!(error["found"].as_str().unwrap().contains("<FILE[#NAME]>"), "{error}");
    assert!(error["file"].is_null() && error["line"].is_null());
}

#[test]
fn help_and_version_are_answers() {
    let help = rankwise(["--help"]);
    assert_eq!((help.status, help.stderr.as_str()), (0, ""));
    for verb in [
        "explain", "check", "compare", "relabel", "explore", "judge", "run", "label", "schema",
        "certify", "verify",
    ] {
        assert!(help.stdout.contains(&format!("\n  {verb} ")), "{verb}: {}", help.stdout);
    }
    assert!(help.stdout.contains("0 yes, 1 no, 2 unusable input or usage, 3 unknown"));
    let version = rankwise(["--version"]);
    assert_eq!(version.stdout, format!("rankwise {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(version.status, 0);
}

#[test]
fn colour_is_for_terminals_or_on_demand() {
    let escape = |words: &[&str]| rankwise(words).stdout.contains('\u{1b}');
    assert!(!escape(&["label", "16 B"]));
    assert!(!escape(&["label", "16 B", "--color", "never"]));
    assert!(escape(&["label", "16 B", "--color", "always"]));
    assert!(!escape(&["label", "16 B", "--color", "always", "--json"]));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_rankwise"))
        .args(["schema"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut complaint = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
    assert_eq!((child.wait().unwrap().code(), complaint.as_str()), (Some(0), ""));
}

#[test]
#[cfg(target_os = "linux")] // the others have no device that is always full
fn an_answer_that_cannot_be_written_is_a_failed_run() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_rankwise"))
        .args(["label", "16 B"])
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(4));
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(complaint.starts_with("rankwise: the answer could not be written: "), "{complaint}");
}
