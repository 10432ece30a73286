//! `certify` and `verify`: what is written is confirmed, and nothing else.

use crate::rankwise;

const PLAN: &str = "examples/plans/two-ranks.toml";

/// A certificate of proposals of the plan, in a file.
fn written(folder: &tempfile::TempDir, proposals: &[&str]) -> std::path::PathBuf {
    let file = folder.path().join("certificate.json");
    let mut words = vec!["certify".to_owned()];
    words.extend(proposals.iter().map(|name| format!("{PLAN}#{name}")));
    words.extend(["--out".to_owned(), file.display().to_string()]);
    let ran = rankwise(&words);
    assert_eq!(ran.status, 0, "{ran:?}");
    file
}

#[test]
fn a_certificate_holds_for_its_plan() {
    let folder = tempfile::tempdir().unwrap();
    for (proposals, claim) in [
        (&["whole"][..], "satisfied"),
        (&["originals"], "not_satisfied"),
        (&["whole", "sharded"], "same"),
        (&["whole", "originals"], "different"),
    ] {
        let file = written(&folder, proposals);
        let ran = rankwise(["verify", file.to_str().unwrap(), "--plan", PLAN, "--json"]);
        let envelope = ran.envelope("verify");
        assert_eq!((ran.status, &envelope["verdict"]), (0, &"verified".into()), "{envelope}");
        assert_eq!(envelope["data"]["claim"], claim);
        assert_eq!(envelope["data"]["sense"], "exact");
        assert_eq!(envelope["data"]["proposals"].as_array().unwrap().len(), proposals.len());
    }
}

#[test]
fn the_certificate_among_the_examples_is_what_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(written(&folder, &["originals"])).unwrap();
    let example =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/certificates/originals.json");
    assert_eq!(text, std::fs::read_to_string(example).unwrap());
}

#[test]
fn a_change_is_rejected_with_status_1() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(&folder, &["whole"]);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("gradient", "parameter")).unwrap();
    let ran = rankwise(["verify", file.to_str().unwrap()]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.stdout.contains("rejected: changed after it was sealed"), "{}", ran.stdout);
}

/// A true statement about another job is none about this one.
#[test]
fn the_certificate_of_another_job_is_rejected_for_this_plan() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(&folder, &["whole"]);
    let other = format!("{PLAN}#sharded");
    let ran = rankwise(["verify", file.to_str().unwrap(), "--plan", &other]);
    assert_eq!(ran.status, 1, "{ran:?}");
    let why = "its job is not that of examples/plans/two-ranks.toml#sharded";
    assert!(ran.stdout.contains(why), "{}", ran.stdout);
}

#[test]
fn what_is_no_certificate_is_unusable() {
    let ran = rankwise(["verify", PLAN]);
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.stderr.contains("no certificate: 1:1"), "{}", ran.stderr);
    assert_eq!(rankwise(["verify", "no/such/file.json"]).status, 2);
    let file = "examples/certificates/originals.json";
    let ran = rankwise(["verify", file, "--plan", PLAN, "--plan", PLAN]);
    assert_eq!(ran.status, 2, "{ran:?}");
}

#[test]
fn an_unknown_verdict_has_no_certificate() {
    let ran = rankwise(["certify", "examples/plans/relabelled.toml#whole", "--json"]);
    let envelope = ran.envelope("certify");
    assert_eq!((ran.status, &envelope["verdict"]), (3, &"no_certificate".into()));
    let why = envelope["data"]["why"].as_str().unwrap();
    assert_eq!(why, "the verdict is unknown: the plan states no need");
}
