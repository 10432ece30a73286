//! Rules about what stands in the files.

use std::env;

use crate::tree::{TextFile, Tree};

/// No source is longer than this…
const MOST_LINES: usize = 800;

/// …but these, for the reason given.
const LONG: &[(&str, &str)] =
    &[("crates/nccl-sys/src/dynamic.rs", "generated: three times each function of NCCL")];

/// Every source says in its first line what it is for.
pub(super) fn open_with_their_purpose(tree: &Tree) -> Vec<String> {
    tree.ending(".rs")
        .filter(|file| !file.text.starts_with("//! "))
        .map(|file| format!("{}: opens without a `//!` line that says what it is for", file.path))
        .collect()
}

/// A file past [`MOST_LINES`] has more than one concept in it.
pub(super) fn are_short(tree: &Tree) -> Vec<String> {
    are_short_but(LONG, tree)
}

fn are_short_but(exempt: &[(&str, &str)], tree: &Tree) -> Vec<String> {
    let listed = |path: &str| exempt.iter().any(|(long, _)| *long == path);
    let long = |file: &&TextFile| file.text.lines().count() > MOST_LINES;
    let too_long = tree.ending(".rs").filter(long).filter(|file| !listed(&file.path));
    let too_long = too_long.map(|file| {
        let lines = file.text.lines().count();
        format!("{}: {lines} lines, the most is {MOST_LINES}", file.path)
    });
    let needless = exempt.iter().filter(|(path, _)| !tree.file(path).as_ref().is_some_and(long));
    let needless = needless.map(|(path, _)| format!("{path}: is listed as long and is not"));
    too_long.chain(needless).collect()
}

/// Marks of work that is not done. In halves, or this file would hold them itself.
const UNFINISHED: [(&str, &str); 6] = [
    ("todo", "!("),
    ("unimplemented", "!("),
    ("dbg", "!("),
    ("#[ign", "ore"),
    ("```ign", "ore"),
    ("```rust,ign", "ore"),
];

/// No source holds a stub, a stray print or a test that does not run.
pub(super) fn are_finished(tree: &Tree) -> Vec<String> {
    let marks = UNFINISHED.map(|(head, tail)| format!("{head}{tail}"));
    let holding = |mark: &str| lines_with(tree.ending(".rs"), mark);
    marks.iter().flat_map(|mark| holding(mark)).collect()
}

/// What the root of a lower crate must say, but for white space.
const PROMISES: [&str; 3] = [
    "#![no_std]",
    "#![forbid(unsafe_code)]",
    "#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, \
     clippy::indexing_slicing, clippy::arithmetic_side_effects))]",
];

/// The crates that can neither touch memory nor panic, and need no `std`.
const LOWER: [&str; 6] = ["model", "account", "topology", "program", "plan", "certify"];

/// The lower crates deny what could make them panic.
pub(super) fn lower_crates_forbid(tree: &Tree) -> Vec<String> {
    let roots = LOWER.map(|name| format!("crates/rankwise-{name}/src/lib.rs"));
    let roots = roots.iter().filter_map(|path| tree.file(path));
    roots
        .flat_map(|file| {
            let dense = |text: &str| text.split_whitespace().collect::<String>();
            let text = dense(&file.text);
            let missing = PROMISES.iter().filter(move |promise| !text.contains(&dense(promise)));
            missing.map(|promise| format!("{}: lacks {promise}", file.path))
        })
        .collect()
}

/// Folders in which people and jobs live. In halves, as above.
const HOMES: [(&str, &str); 4] = [("/ho", "me/"), ("/Us", "ers/"), ("/ro", "ot/"), ("/tm", "p/")];

/// No file names a place on the machine it was written on.
pub(super) fn name_no_machine(tree: &Tree) -> Vec<String> {
    let mut places: Vec<String> =
        HOMES.iter().map(|(head, tail)| format!("{head}{tail}")).collect();
    let own = [Some(tree.root().to_owned()), env::home_dir()];
    let own = own.iter().flatten().filter_map(|folder| folder.to_str());
    places.extend(own.filter(|folder| folder.len() > 1).map(|folder| format!("{folder}/")));
    let parent = tree.root().parent().and_then(|folder| folder.to_str());
    places.extend(parent.filter(|folder| folder.len() > 1).map(|folder| format!("{folder}/")));
    places.sort();
    places.dedup();
    places.iter().flat_map(|place| lines_with_path(tree, place)).collect()
}

/// Where `place` begins a path, rather than continuing one.
fn lines_with_path(tree: &Tree, place: &str) -> Vec<String> {
    let begins = |line: &str| {
        line.match_indices(place).any(|(at, _)| {
            let before = line.get(..at).and_then(|head| head.chars().next_back());
            before.is_none_or(|c| !(c.is_alphanumeric() || "._-/~}".contains(c)))
        })
    };
    let faults = tree.texts.iter().flat_map(|file| {
        let lines = file.text.lines().zip(1..).filter(|(line, _)| begins(line));
        lines.map(|(_, number)| format!("{}:{number}: names the place {place}", file.path))
    });
    faults.collect()
}

fn lines_with<'a>(files: impl Iterator<Item = &'a TextFile>, mark: &str) -> Vec<String> {
    let faults = files.flat_map(|file| {
        let lines = file.text.lines().zip(1..).filter(|(line, _)| line.contains(mark));
        lines.map(|(_, number)| format!("{}:{number}: holds {mark}", file.path))
    });
    faults.collect()
}

#[cfg(test)]
mod tests {
    use super::super::{NO_FAULTS, this_repository};
    use super::*;

    fn one(path: &str, text: &str) -> Tree {
        Tree::of([(path, text)])
    }

    #[test]
    fn every_source_opens_with_its_purpose() {
        assert_eq!(open_with_their_purpose(&this_repository()), NO_FAULTS);
        assert_eq!(
            open_with_their_purpose(&one("a/b.rs", "use core::fmt;\n")),
            ["a/b.rs: opens without a `//!` line that says what it is for"]
        );
    }

    #[test]
    fn no_source_is_long() {
        assert_eq!(are_short(&this_repository()), NO_FAULTS);
        let of = |lines: usize| one("long.rs", &"\n".repeat(lines));
        let exempt = &[("long.rs", "for a reason")];
        assert_eq!(are_short_but(&[], &of(801)), ["long.rs: 801 lines, the most is 800"]);
        assert_eq!(are_short_but(&[], &of(800)), NO_FAULTS);
        assert_eq!(are_short_but(exempt, &of(801)), NO_FAULTS);
        assert_eq!(are_short_but(exempt, &of(800)), ["long.rs: is listed as long and is not"]);
    }

    #[test]
    fn no_source_is_unfinished() {
        assert_eq!(are_finished(&this_repository()), NO_FAULTS);
        for (head, tail) in UNFINISHED {
            let planted = one("stub.rs", &format!("fn f() {{\n    {head}{tail})\n}}\n"));
            assert_eq!(are_finished(&planted), [format!("stub.rs:2: holds {head}{tail}")]);
        }
    }

    #[test]
    fn lower_crates_deny_panics() {
        assert_eq!(lower_crates_forbid(&this_repository()), NO_FAULTS);
        let bare = one("crates/rankwise-model/src/lib.rs", "#![no_std]\n");
        assert_eq!(lower_crates_forbid(&bare).len(), 2);
        assert_eq!(lower_crates_forbid(&one("crates/rankwise-cli/src/lib.rs", "")), NO_FAULTS);
    }

    #[test]
    fn no_file_names_a_machine() {
        assert_eq!(name_no_machine(&this_repository()), NO_FAULTS);
        let (head, tail) = HOMES[0];
        let planted = one("notes.md", &format!("fine\nsee `{head}{tail}ann/notes`\n"));
        assert_eq!(
            name_no_machine(&planted),
            [format!("notes.md:2: names the place {head}{tail}")]
        );
        assert_eq!(name_no_machine(&one("a.md", &format!("docs{head}{tail}x"))), NO_FAULTS);
    }
}
