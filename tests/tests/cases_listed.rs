//! That every field case has a test or a reason, and that the list of them is true.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The reports of kinds d and e, and those of f and g that a backend can show: a case that
/// joins them is added here first.
const CASES: [&str; 33] = [
    "d01", "d03", "d05", "d06", "d08", "d09", "d11", "d12", "d14", "d17", "d19", "e01", "e03",
    "e05", "e06", "e08", "e10", "e12", "f01", "f02", "f04", "f05", "f07", "f09", "f11", "f13",
    "g01", "g02", "g03", "g05", "g07", "g09", "g10",
];

fn here(path: &str) -> String {
    format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))
}

/// The id that a name begins with: `d05` of `d05-two…` and of `d05_blocking…`.
fn id(name: &str) -> Option<&str> {
    let id = name.get(..3)?;
    let ends = name[3..].chars().next().is_none_or(|next| matches!(next, '-' | '_'));
    let (letter, digits) = id.split_at(1);
    let is_id = letter.chars().all(|letter| letter.is_ascii_lowercase())
        && digits.chars().all(|digit| digit.is_ascii_digit());
    (is_id && ends).then_some(id)
}

/// The tests of `tests/cases_*.rs` that are named for a case, by its id.
fn tests() -> BTreeMap<String, BTreeSet<String>> {
    let mut tests: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for entry in fs::read_dir(here("tests")).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap();
        if !stem.starts_with("cases_") {
            continue;
        }
        let source = fs::read_to_string(&path).unwrap();
        let mut lines = source.lines();
        while let Some(line) = lines.next() {
            if line != "#[test]" {
                continue;
            }
            let signature = lines.next().unwrap();
            let name = signature.strip_prefix("fn ").and_then(|rest| rest.split('(').next());
            let name = name.unwrap_or_else(|| panic!("{}: {signature}", path.display()));
            if let Some(id) = id(name) {
                let new = tests.entry(id.to_owned()).or_default().insert(name.to_owned());
                assert!(new, "{name} is there twice");
            }
        }
    }
    tests
}

/// The ids that have a folder.
fn folders() -> BTreeSet<String> {
    let names = fs::read_dir(here("cases")).unwrap().map(|entry| entry.unwrap().path());
    let folders = names.filter(|path| path.is_dir());
    let id_of = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap();
        id(name).unwrap_or_else(|| panic!("{name} is named for no case")).to_owned()
    };
    folders.map(|path| id_of(&path)).collect()
}

/// A row of the list: the case, its tests, and what they assert or why there are none.
struct Row {
    case: String,
    tests: BTreeSet<String>,
    says: String,
}

fn rows() -> Vec<Row> {
    let list = fs::read_to_string(here("cases/README.md")).unwrap();
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let rows = list.lines().filter(|line| line.starts_with('|')).skip(2).map(cells);
    rows.map(|cells| {
        let [case, tests, says] = cells.as_slice() else { panic!("{cells:?}") };
        let names = tests.split_whitespace().filter(|name| *name != "none");
        let tests = names.map(|name| name.trim_matches('`').to_owned()).collect();
        Row { case: case.clone(), tests, says: says.clone() }
    })
    .collect()
}

#[test]
fn every_case_of_mismatch_and_mapping_is_tested_or_says_why_not() {
    let (rows, tests, folders) = (rows(), tests(), folders());
    let listed: Vec<&str> = rows.iter().map(|row| row.case.as_str()).collect();
    assert_eq!(listed, CASES);
    for row in &rows {
        let of_case = tests.get(&row.case).cloned().unwrap_or_default();
        assert_eq!(row.tests, of_case, "{}: the tests listed, and those there are", row.case);
        assert!(!row.says.is_empty(), "{} says nothing", row.case);
        // Without a test there is no file that nobody reads, but a reason.
        assert_eq!(folders.contains(&row.case), !of_case.is_empty(), "{}", row.case);
        let needs = ["needs their reader", "needs NCCL"].iter().any(|end| row.says.ends_with(end));
        assert_eq!(of_case.is_empty(), needs, "{}", row.case);
    }
}

#[test]
fn every_folder_has_a_test_of_its_name() {
    let tests = tests();
    for folder in folders() {
        assert!(tests.contains_key(&folder), "no test is named for {folder}");
    }
}
