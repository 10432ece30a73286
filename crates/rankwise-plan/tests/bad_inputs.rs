//! Plans that are wrong: each names its fault, its place, what stands there and
//! what should.
//!
//! Inputs and expectations are files, so that the tests of the command can read
//! them too.

use std::collections::BTreeSet;
use std::path::Path;

use rankwise_plan::file::Format;
use rankwise_plan::plan::Plan;
use rankwise_plan::read::NoArrays;
use serde::Deserialize;

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

/// What is expected of one file.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    file: String,
    fault: String,
    place: String,
    path: String,
    found: String,
    expected: String,
}

fn refusal(folder: &Path, file: &str) -> Case {
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    let format = match Path::new(file).extension().and_then(|extension| extension.to_str()) {
        Some("json") => Format::Json,
        _ => Format::Toml,
    };
    let Err(error) = Plan::read(&text, format, &mut NoArrays) else {
        panic!("{file} was read as if it were right");
    };
    Case {
        file: file.to_owned(),
        fault: error.kind.name().to_owned(),
        place: error.span.place(&text).to_string(),
        path: error.path,
        found: error.found,
        expected: error.expected,
    }
}

#[test]
fn each_is_refused_where_it_is_wrong() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad_inputs");
    let cases: Cases = toml::from_str(include_str!("bad_inputs.toml")).unwrap();
    assert!(cases.case.len() >= 40);
    let mut listed = BTreeSet::new();
    for case in cases.case {
        assert_eq!(refusal(&folder, &case.file), case);
        assert!(listed.insert(case.file.clone()), "{} is listed twice", case.file);
    }
    let files = std::fs::read_dir(&folder).unwrap();
    let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    assert_eq!(files.collect::<BTreeSet<_>>(), listed, "files and expectations");
}
