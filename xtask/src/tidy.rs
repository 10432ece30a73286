//! The rules of the house that a machine can see: `cargo xtask tidy`.
//!
//! Each is a test too, so that `cargo test` finds what CI would.

mod clauses;
mod links;
mod manifests;
mod sources;

use crate::outcome::{Outcome, judge, plural};
use crate::tree::Tree;
use crate::workspace::Workspace;

/// Looks for faults of one kind.
type Rule = fn(&Tree) -> Vec<String>;

const RULES: &[Rule] = &[
    sources::open_with_their_purpose,
    sources::are_short,
    sources::are_finished,
    sources::lower_crates_forbid,
    sources::name_no_machine,
    manifests::are_uniform,
    links::are_alive,
    links::name_verbs_that_exist,
    clauses::are_pinned,
];

/// Checks every rule.
pub(crate) fn run(workspace: &Workspace) -> Outcome {
    let tree = Tree::read(&workspace.root)?;
    let faults: Vec<String> = RULES.iter().flat_map(|rule| rule(&tree)).collect();
    judge(faults, || {
        format!("{} over {}", plural(RULES.len(), "rule"), plural(tree.texts.len(), "file"))
    })
}

/// The tree of this repository, for the tests of the rules.
#[cfg(test)]
fn this_repository() -> Tree {
    let workspace = Workspace::read().unwrap();
    let tree = Tree::read(&workspace.root).unwrap();
    assert!(tree.ending(".rs").count() > 20, "the sources were not found");
    tree
}

#[cfg(test)]
const NO_FAULTS: Vec<String> = Vec::new();
