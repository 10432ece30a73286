//! The oracle shares nothing with what it judges: it depends on no crate, and its
//! sources name none.

use std::fs;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn it_depends_on_no_crate() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (_, after) = manifest.split_once("\n[dependencies]\n").expect("the section is there");
    let section = after.lines().take_while(|line| !line.starts_with('['));
    let named: Vec<&str> =
        section.filter(|line| !line.trim().is_empty() && !line.starts_with('#')).collect();
    assert!(named.is_empty(), "{named:?}");
    for other in ["[build-dependencies", "[target.", "[dependencies."] {
        assert!(!manifest.contains(other), "{other}");
    }
}

/// The crates that a source names in imports, or in a path that starts with one of ours.
fn named(source: &str) -> Vec<&str> {
    let is_ours = |word: &&str| word.starts_with("rankwise_") || word.starts_with("nccl");
    let words = source.split(|of: char| !(of.is_alphanumeric() || of == '_'));
    let imported = source.lines().filter_map(|line| {
        let line = line.trim_start().trim_start_matches("pub ");
        let path = line.strip_prefix("use ").or_else(|| line.strip_prefix("extern crate "))?;
        path.split(|of: char| !(of.is_alphanumeric() || of == '_')).next()
    });
    words.filter(is_ours).chain(imported).collect()
}

#[test]
fn its_sources_name_no_crate() {
    let mut files = 0;
    for entry in fs::read_dir(root().join("src")).unwrap() {
        let path = entry.unwrap().path();
        let source = fs::read_to_string(&path).unwrap();
        // Its example uses it as anybody would.
        let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
        let code = code.collect::<Vec<_>>().join("\n");
        for name in named(&code) {
            assert!(["std", "crate", "super"].contains(&name), "{}: {name}", path.display());
        }
        files += 1;
    }
    assert!(files >= 10, "{files} files: the sources have moved");
}

#[test]
fn a_name_is_seen_wherever_it_stands() {
    assert_eq!(named("use rankwise_model::pieces;"), ["rankwise_model", "rankwise_model"]);
    assert_eq!(named("    pub use half::f16;"), ["half"]);
    assert_eq!(named("let x = rankwise_plan::compare(a);"), ["rankwise_plan"]);
}
