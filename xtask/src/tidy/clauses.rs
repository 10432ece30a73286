//! The contract and its tests name each other.
//!
//! A clause of `docs/semantics.md` opens with `**AG-1.**` and ends with
//! `*Pinned by*` and the names of tests, each of which carries `// pins: AG-1`. A clause without a test is
//! an opinion; a test that pins a clause nobody can read is a riddle.

use std::collections::BTreeMap;

use crate::tree::Tree;

const CONTRACT: &str = "docs/semantics.md";

/// The test names by clause, or the clauses by test name.
type Names = BTreeMap<String, Vec<String>>;

/// Every clause is pinned by a test that says so, and every pin is a clause.
pub(super) fn are_pinned(tree: &Tree) -> Vec<String> {
    let Some(contract) = tree.file(CONTRACT) else {
        return vec![format!("{CONTRACT}: there is no contract")];
    };
    let clauses = clauses(&contract.text);
    let mut faults = Vec::new();
    if clauses.is_empty() {
        faults.push(format!("{CONTRACT}: has no clause"));
    }
    let mut tests = Names::new();
    for file in tree.ending(".rs").filter(|file| !file.path.starts_with("xtask/")) {
        for (test, pins) in pins(&file.text) {
            tests.entry(test).or_default().extend(pins);
        }
    }
    for (clause, names) in &clauses {
        if names.is_empty() {
            faults.push(format!("{CONTRACT}: {clause} is pinned by no test"));
        }
        for name in names {
            match tests.get(name) {
                None => faults.push(format!("{CONTRACT}: {clause} names `{name}`, no test")),
                Some(pins) if !pins.contains(clause) => {
                    faults.push(format!("{name}: lacks `// pins: {clause}`"));
                }
                Some(_) => {}
            }
        }
    }
    for (test, pins) in &tests {
        for clause in pins {
            if !clauses.get(clause).is_some_and(|names| names.contains(test)) {
                faults.push(format!("{test}: pins {clause}, which does not name it"));
            }
        }
    }
    faults
}

/// The clauses of the contract, each with the tests that it names.
fn clauses(text: &str) -> Names {
    let mut clauses = Names::new();
    let mut open: Option<String> = None;
    // What follows `Pinned by`, in the clause that is open, is test names in code.
    let mut naming = false;
    for line in text.lines() {
        if let Some(clause) = clause_of(line) {
            clauses.entry(clause.clone()).or_default();
            open = Some(clause);
            naming = false;
        } else if line.starts_with('#') {
            open = None;
        }
        let Some(names) = open.as_ref().and_then(|clause| clauses.get_mut(clause)) else {
            continue;
        };
        let rest = match line.split_once("*Pinned by*") {
            Some((_, rest)) => rest,
            None if naming => line,
            None => continue,
        };
        names.extend(
            rest.split('`')
                .skip(1)
                .step_by(2)
                .map(|name| name.rsplit("::").next().unwrap_or(name).to_owned()),
        );
        naming = !rest.trim_end().ends_with('.');
    }
    clauses
}

/// `AG-1` of `**AG-1.** …`, also in a list.
fn clause_of(line: &str) -> Option<String> {
    let rest = line.trim_start_matches(['-', ' ']).strip_prefix("**")?;
    let (id, _) = rest.split_once('*')?;
    let id = id.trim_end_matches('.');
    is_clause(id).then(|| id.to_owned())
}

/// Capital letters, a dash, a number.
fn is_clause(id: &str) -> bool {
    id.split_once('-').is_some_and(|(letters, number)| {
        !letters.is_empty()
            && letters.chars().all(|c| c.is_ascii_uppercase())
            && !number.is_empty()
            && number.chars().all(|c| c.is_ascii_digit())
    })
}

/// The tests of a source, each with the clauses that it pins.
///
/// A `// pins:` line belongs to the test it stands in, or right above: between it
/// and the `fn` there are then only attributes and comments.
fn pins(source: &str) -> Vec<(String, Vec<String>)> {
    let mut tests: Vec<(String, Vec<String>)> = Vec::new();
    let mut above: Vec<String> = Vec::new();
    let mut is_test = false;
    for line in source.lines().map(str::trim) {
        if let Some(ids) = line.strip_prefix("// pins:") {
            above.extend(ids.split(',').map(|id| id.trim().to_owned()));
        } else if line.starts_with("#[") {
            is_test |=
                line.contains("test") || line.starts_with("#[case") || line.contains("rstest");
        } else if let Some(name) = function(line) {
            if is_test {
                tests.push((name.to_owned(), std::mem::take(&mut above)));
            }
            is_test = false;
        } else if !(line.starts_with("//") || line.is_empty()) {
            // Code: what was read stands in the last test, not above the next.
            if let Some((_, pins)) = tests.last_mut() {
                pins.append(&mut above);
            }
        }
    }
    if let Some((_, pins)) = tests.last_mut() {
        pins.append(&mut above);
    }
    tests
}

/// The name in `fn name(…`, whatever stands before `fn`.
fn function(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let plain = before.is_empty() || before.ends_with(' ');
    let name = after.split(['(', '<']).next()?;
    (plain && !line.starts_with("//")).then_some(name.trim())
}

#[cfg(test)]
mod tests {
    use super::super::{NO_FAULTS, this_repository};
    use super::*;

    const CLAUSES: &str = "# Contract\n\n**AG-1.** Block r is rank r's.\nMore of it.\n\
        *Pinned by* `blocks`,\n`also::in_place`.\n\n- **RS-2.** Shards. *Pinned by* `shards`.\n";
    const TESTS: &str = "
        // pins: AG-1
        #[test]
        fn blocks() {
            let x = 1;
        }
        #[rstest]
        #[case(1)]
        fn in_place(#[case] n: u32) {
            // pins: AG-1
            assert!(n > 0);
        }
        proptest! {
            /// Laws.
            #[test]
            fn shards(x in 0..1) { assert_eq!(x, 0); } // one line
            // pins: RS-2
        }
        fn helper() {}
    ";

    fn with(contract: &str, tests: &str) -> Vec<String> {
        are_pinned(&Tree::of([(CONTRACT, contract), ("crates/x/tests/t.rs", tests)]))
    }

    #[test]
    fn the_clauses_here_are_pinned() {
        assert_eq!(are_pinned(&this_repository()), NO_FAULTS);
    }

    #[test]
    fn clauses_and_tests_that_name_each_other_pass() {
        assert_eq!(with(CLAUSES, TESTS), NO_FAULTS);
    }

    #[test]
    fn a_loose_end_is_found_from_either_side() {
        assert_eq!(
            with(&CLAUSES.replace("`shards`", ""), TESTS),
            [
                "docs/semantics.md: RS-2 is pinned by no test",
                "shards: pins RS-2, which does not name it",
            ]
        );
        assert_eq!(
            with(CLAUSES, &TESTS.replace("fn shards", "fn renamed")),
            [
                "docs/semantics.md: RS-2 names `shards`, no test",
                "renamed: pins RS-2, which does not name it",
            ]
        );
        assert_eq!(
            with(CLAUSES, &TESTS.replace("// pins: RS-2", "")),
            ["shards: lacks `// pins: RS-2`"]
        );
        assert_eq!(
            with(CLAUSES, &TESTS.replace("RS-2", "RS-9")),
            ["shards: lacks `// pins: RS-2`", "shards: pins RS-9, which does not name it"]
        );
    }

    #[test]
    fn a_function_that_is_no_test_pins_nothing() {
        let faults = with(CLAUSES, &TESTS.replacen("#[test]", "", 1));
        assert_eq!(faults[0], "docs/semantics.md: AG-1 names `blocks`, no test");
    }
}
