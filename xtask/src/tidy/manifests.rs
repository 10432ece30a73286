//! Manifests state once, at the root, what holds for all.

use crate::tree::{TextFile, Tree};

/// What each member inherits.
const INHERITED: [&str; 4] = ["version", "edition", "rust-version", "license"];

/// What a published member inherits beside that.
const INHERITED_IF_PUBLISHED: [&str; 4] = ["authors", "repository", "keywords", "categories"];

/// Members inherit package fields, lints and versions of dependencies from the root.
pub(super) fn are_uniform(tree: &Tree) -> Vec<String> {
    let Some(root) = tree.file("Cargo.toml") else {
        return vec!["Cargo.toml: there is no root manifest".to_owned()];
    };
    let members = tree.ending("Cargo.toml").filter(|file| is_member(&file.path));
    members
        .flat_map(|file| member_faults(file).into_iter())
        .chain(dependencies_that_nobody_uses(tree, root))
        .collect()
}

fn is_member(path: &str) -> bool {
    matches!(
        path.split('/').collect::<Vec<_>>().as_slice(),
        ["xtask" | "tests" | "examples", _] | ["crates", _, _]
    )
}

/// The lines of a manifest with the table that each stands in, without comments.
fn lines(file: &TextFile) -> impl Iterator<Item = (&str, &str)> {
    let mut table = "";
    file.text.lines().map(str::trim).filter(|line| !line.starts_with('#')).filter_map(move |line| {
        if let Some(name) = line.strip_prefix('[') {
            table = name.trim_end_matches(']');
        }
        (!line.is_empty() && !line.starts_with('[')).then_some((table, line))
    })
}

fn member_faults(file: &TextFile) -> Vec<String> {
    let path = &file.path;
    let says = |table: &str, line: &str| lines(file).any(|found| found == (table, line));
    let published = !says("package", "publish = false");
    let mut faults = Vec::new();
    let if_published = INHERITED_IF_PUBLISHED.iter().filter(|_| published);
    for field in INHERITED.iter().chain(if_published) {
        if !says("package", &format!("{field}.workspace = true")) {
            faults.push(format!("{path}: lacks `{field}.workspace = true`"));
        }
    }
    if !says("lints", "workspace = true") {
        faults.push(format!("{path}: lacks `workspace = true` under [lints]"));
    }
    // Stand-ins for a GPU's libraries are crates, but nobody's to depend on.
    if published != (path.starts_with("crates/") && !path.starts_with("crates/host-")) {
        faults.push(format!(
            "{path}: what is in crates/ is published but for the host stand-ins, and nothing else is"
        ));
    }
    let described = lines(file).any(|(table, line)| {
        let value = line.strip_prefix("description = \"").and_then(|rest| rest.strip_suffix('"'));
        table == "package" && value.is_some_and(|value| value.len() > "description".len())
    });
    if !described {
        faults.push(format!("{path}: lacks a description"));
    }
    for (table, line) in lines(file).filter(|(table, _)| table.ends_with("dependencies")) {
        if !line.contains("workspace = true") {
            faults.push(format!("{path}: [{table}] `{line}` does not come from the root"));
        }
    }
    faults
}

/// A line of `[workspace.dependencies]` that no member takes is a leftover.
fn dependencies_that_nobody_uses(tree: &Tree, root: &TextFile) -> Vec<String> {
    let name = |line: &str| line.split(['.', '=', ' ']).next().unwrap_or_default().to_owned();
    let used: Vec<String> = tree
        .ending("Cargo.toml")
        .filter(|file| is_member(&file.path))
        .flat_map(|file| lines(file).filter(|(table, _)| table.ends_with("dependencies")))
        .map(|(_, line)| name(line))
        .collect();
    lines(root)
        .filter(|(table, line)| *table == "workspace.dependencies" && !used.contains(&name(line)))
        .map(|(_, line)| format!("Cargo.toml: no member uses `{}`", name(line)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{NO_FAULTS, this_repository};
    use super::*;

    const ROOT: &str = "[workspace.dependencies]\nhalf = \"2\"\n";
    const GOOD: &str = "[package]\nname = \"x\"\ndescription = \"Says what it is\"\n\
        version.workspace = true\nedition.workspace = true\nrust-version.workspace = true\n\
        license.workspace = true\nauthors.workspace = true\nrepository.workspace = true\n\
        keywords.workspace = true\ncategories.workspace = true\n\n\
        [lints]\nworkspace = true\n\n[dependencies]\nhalf.workspace = true\n";

    fn with(manifest: &str) -> Vec<String> {
        are_uniform(&Tree::of([("Cargo.toml", ROOT), ("crates/x/Cargo.toml", manifest)]))
    }

    #[test]
    fn the_manifests_here_are_uniform() {
        assert_eq!(are_uniform(&this_repository()), NO_FAULTS);
    }

    #[test]
    fn a_manifest_of_its_own_mind_is_refused() {
        assert_eq!(with(GOOD), NO_FAULTS);
        assert_eq!(
            with(&GOOD.replace("edition.workspace = true", "edition = \"2021\"")),
            ["crates/x/Cargo.toml: lacks `edition.workspace = true`"]
        );
        assert_eq!(
            with(&GOOD.replace("half.workspace = true", "half = \"1\"")),
            ["crates/x/Cargo.toml: [dependencies] `half = \"1\"` does not come from the root"]
        );
        assert_eq!(
            with(&GOOD.replace("[lints]\nworkspace = true\n", "")),
            ["crates/x/Cargo.toml: lacks `workspace = true` under [lints]"]
        );
        assert_eq!(
            with(&GOOD.replace("Says what it is", "")),
            ["crates/x/Cargo.toml: lacks a description"]
        );
    }

    #[test]
    fn a_dependency_that_nobody_uses_is_refused() {
        assert_eq!(
            with(&GOOD.replace("half.workspace = true", "")),
            ["Cargo.toml: no member uses `half`"]
        );
    }
}
