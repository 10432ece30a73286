//! What the documents point at is there.

use crate::VERBS;
use crate::tree::{TextFile, Tree};

/// Every relative link of a document leads to a file, and to a heading if it says so.
pub(super) fn are_alive(tree: &Tree) -> Vec<String> {
    let documents = tree.ending(".md");
    documents
        .flat_map(|document| {
            let dead = links(&document.text).filter(|link| !leads_somewhere(tree, document, link));
            dead.map(|link| format!("{}: the link `{link}` leads nowhere", document.path))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Every `cargo xtask VERB` in a document or a script is a verb.
pub(super) fn name_verbs_that_exist(tree: &Tree) -> Vec<String> {
    let scripts = tree.texts.iter().filter(|file| file.path.starts_with(".ci/"));
    tree.ending(".md")
        .chain(scripts)
        .flat_map(|file| {
            let words = file.text.split("cargo xtask ").skip(1).filter_map(|rest| {
                let end = rest.find(|c: char| !(c.is_ascii_lowercase() || c == '-'));
                rest.get(..end.unwrap_or(rest.len())).filter(|word| !word.is_empty())
            });
            let unknown = words.filter(|word| VERBS.iter().all(|verb| verb.name != *word));
            unknown.map(|word| format!("{}: there is no `cargo xtask {word}`", file.path))
        })
        .collect()
}

/// The text outside code: fenced blocks are dropped, inline code is blanked.
fn prose(text: &str) -> String {
    let mut fenced = false;
    let mut prose = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            let outside = line.split('`').step_by(2);
            prose.push_str(&outside.collect::<Vec<_>>().join("``"));
            prose.push('\n');
        }
    }
    prose
}

/// The targets of `[text](target)` and `[name]: target`.
fn links(text: &str) -> impl Iterator<Item = String> + use<> {
    let prose = prose(text);
    let inline = prose.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    let named = prose.lines().filter_map(|line| {
        let (_, target) = line.strip_prefix('[')?.split_once("]: ")?;
        target.split_whitespace().next()
    });
    inline.chain(named).map(str::to_owned).collect::<Vec<_>>().into_iter()
}

fn leads_somewhere(tree: &Tree, document: &TextFile, link: &str) -> bool {
    let link = link.trim_matches(['<', '>']);
    if ["https://", "http://", "mailto:"].iter().any(|scheme| link.starts_with(scheme)) {
        return true;
    }
    let (file, heading) = link.split_once('#').map_or((link, None), |(file, at)| (file, Some(at)));
    let path =
        if file.is_empty() { Some(document.path.clone()) } else { join(&document.path, file) };
    let Some(path) = path else { return false };
    match heading {
        None => tree.has(&path),
        Some(heading) => tree.file(&path).is_some_and(|file| has_heading(&file.text, heading)),
    }
}

/// Where `link` leads from the file at `from`; `None` if out of the repository.
fn join(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

fn has_heading(text: &str, slug: &str) -> bool {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.into_iter().any(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).eq(slug.chars())
    })
}

#[cfg(test)]
mod tests {
    use super::super::{NO_FAULTS, this_repository};
    use super::*;

    #[test]
    fn every_link_here_is_alive() {
        assert_eq!(are_alive(&this_repository()), NO_FAULTS);
    }

    #[test]
    fn every_verb_named_here_exists() {
        assert_eq!(name_verbs_that_exist(&this_repository()), NO_FAULTS);
        let planted = Tree::of([("a.md", "run `cargo xtask test`, then `cargo xtask bake`")]);
        assert_eq!(name_verbs_that_exist(&planted), ["a.md: there is no `cargo xtask bake`"]);
    }

    #[test]
    fn a_dead_link_is_found() {
        let tree = Tree::of([
            (
                "docs/a.md",
                "[b](b.md) [c](../README.md \"t\") [d](https://x.invalid) [e](#its-head)",
            ),
            ("docs/b.md", "# Its head, *here*!\n[1]: a.md\n[a](a.md#no) `[x](y.md)`\n"),
            ("docs/c.md", "[b](b.md#its-head-here)\n```\n[x](y.md)\n```\n[out](../../x.md)\n"),
        ]);
        assert_eq!(
            are_alive(&tree),
            [
                "docs/a.md: the link `../README.md` leads nowhere",
                "docs/a.md: the link `#its-head` leads nowhere",
                "docs/b.md: the link `a.md#no` leads nowhere",
                "docs/c.md: the link `../../x.md` leads nowhere",
            ]
        );
    }
}
