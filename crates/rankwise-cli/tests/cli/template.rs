//! `template`: plans that the other verbs take, and what ranks hold.

use super::rankwise;

const SCHEMES: [&[&str]; 12] = [
    &["ddp", "--ranks", "4", "--layers", "8,12"],
    &["fsdp", "--ranks", "4", "--layers", "8,12"],
    &["hsdp", "--mesh", "replica=2,shard=2", "--layers", "8,12"],
    &["zero1", "--ranks", "4", "--layers", "8,12"],
    &["zero1", "--ranks", "4", "--layers", "10,1"],
    &["hsdp", "--mesh", "replica=2,shard=2", "--layers", "9"],
    &["zero2", "--ranks", "4", "--layers", "8,12"],
    &["zero3", "--ranks", "4", "--layers", "8,12"],
    &["tensor-parallel", "--ranks", "2", "--tokens", "4", "--hidden", "8", "--inner", "16"],
    &["sequence-parallel", "--ranks", "2", "--tokens", "4", "--hidden", "8", "--inner", "16"],
    &["expert-parallel", "--ranks=2", "--experts=4", "--capacity=3", "--hidden=8", "--weights=9"],
    &["pipeline", "--ranks", "3", "--weights=9", "--activation=8", "--micro-batches=4"],
];

fn template<'w>(words: &[&'w str], more: &[&'w str]) -> super::Ran {
    rankwise([&["template"], words, more].concat())
}

#[test]
fn every_template_is_a_plan_that_check_accepts_in_both_formats() {
    let folder = tempfile::tempdir().unwrap();
    for scheme in SCHEMES {
        for (name, json) in [("plan.toml", &[][..]), ("plan.json", &["--json"])] {
            let file = folder.path().join(name);
            let file = file.to_str().unwrap();
            let written = template(scheme, &[&["--out", file], json].concat());
            assert_eq!((written.status, written.stderr.as_str()), (0, ""), "{scheme:?}");
            let printed = template(scheme, json);
            assert_eq!(printed.stdout, std::fs::read_to_string(file).unwrap());
            let checked = rankwise(["check", file]);
            assert_eq!(checked.status, 0, "{scheme:?}\n{}{}", checked.stdout, checked.stderr);
        }
    }
}

/// The page of the templates shows it, and what `check` says of it.
#[test]
fn the_example_of_a_pipeline_is_what_the_template_writes() {
    let words = ["--weights", "100", "--activation", "8", "--micro-batches", "2"];
    let written = template(&["pipeline", "--ranks", "3", "--messages", "in-turn"], &words).stdout;
    let example = super::root().join("examples/plans/pipeline-in-turn.toml");
    assert_eq!(written, std::fs::read_to_string(example).unwrap());
    for (more, status) in [
        (["--messages", "in-turn", "--order", "1f1b"], 1),
        (["--messages", "in-turn", "--order", "gpipe"], 0),
        (["--messages", "exchanged", "--order", "1f1b"], 0),
        (["--messages", "exchanged", "--order", "gpipe"], 0),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("plan.toml");
        let file = file.to_str().unwrap();
        let ran =
            template(&["pipeline", "--ranks", "3", "--out", file], &[&words[..], &more].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert_eq!(rankwise(["check", file]).status, status, "{more:?}");
    }
}

#[test]
fn the_example_of_padding_is_what_the_template_writes() {
    let words = ["--layers", "10", "--param", "f32", "--optimizer", "sgd"];
    let written = template(&["fsdp", "--ranks", "4"], &words).stdout;
    let example = super::root().join("examples/plans/fsdp-padded.toml");
    assert_eq!(written, std::fs::read_to_string(example).unwrap());
}

#[test]
fn the_examples_of_the_help_run() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.toml");
    let help = rankwise(["template", "--help"]).stdout;
    let examples = help.lines().filter_map(|line| line.strip_prefix("  rankwise template "));
    let examples: Vec<_> = examples.collect();
    assert_eq!(examples.len(), 4, "{help}");
    for example in examples {
        let words = example.split(' ').map(|word| match word {
            "plan.toml" => plan.to_str().unwrap(),
            word => word,
        });
        let ran = template(&words.collect::<Vec<_>>(), &[]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{example}");
    }
    assert!(plan.exists());
}

#[test]
fn holdings_have_an_envelope() {
    let ran = template(SCHEMES[3], &["--holdings", "--json"]);
    let envelope = ran.envelope("template");
    assert_eq!(envelope["verdict"], "answered");
    let moments = envelope["data"]["moments"].as_array().unwrap();
    let averaged = "backward of layer 0: its gradient is averaged";
    let moment = moments.iter().find(|moment| moment["after"] == averaged).unwrap();
    // 20 elements: 2 bytes of parameters and of gradients, a quarter of 12 of optimizer.
    let held = &moment["held"][0];
    assert_eq!(held["ranks"], serde_json::json!([0, 1, 2, 3]));
    assert_eq!(held["bytes_per_rank"], "140");
    let optimizer = &held["kinds"]["optimizer"];
    assert_eq!(optimizer["extent"], "shard");
    assert_eq!(optimizer["elements"], serde_json::json!({ "f32": "15" }));
    assert_eq!(held["kinds"]["gradients"]["extent"], "full");
}

#[test]
fn what_makes_no_plan_is_said_with_both_numbers() {
    for (more, found) in [
        (&["--ranks", "5", "--mesh", "a=2,b=2", "--layers", "8"][..], "a mesh of 4 ranks, where 5"),
        (&["--ranks", "2", "--devices", "a,b,c", "--layers", "8"], "3 devices for 2 ranks"),
        (
            &["--mesh", "a=2", "--along", "b", "--layers", "8"],
            "found a mesh of a, expected an axis",
        ),
        (&["--ranks", "2", "--layers", "8", "--param", "i32"], "parameters in i32"),
        (&["--ranks", "2", "--layers", "0"], "found layer 0 of 0, expected at least 1"),
    ] {
        let ran = template(&["fsdp"], more);
        assert_eq!(ran.status, 2, "{more:?}");
        assert!(ran.stderr.contains(found), "{more:?}: {}", ran.stderr);
    }
    let inner = ["--ranks", "4", "--tokens", "4", "--hidden", "8", "--inner", "10"];
    let ran = template(&["tensor-parallel"], &inner);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("found inner of 10, over 4 ranks"), "{}", ran.stderr);
}
