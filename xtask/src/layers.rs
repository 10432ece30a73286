//! Which crate may name which: `cargo xtask layers`.
//!
//! Cargo already refuses cycles; this table refuses *shortcuts*. A new arrow is
//! an architectural change, so it is made here, in a diff that a reviewer sees.
//! Crates that do not exist yet have their row already.

use std::collections::BTreeSet;

use crate::outcome::{Done, Failure, Outcome, judge, plural};
use crate::workspace::{Kind, Package, Workspace};

/// What one crate may name.
struct Row {
    name: &'static str,
    /// These, and everything that they may name.
    standing_on: &'static [&'static str],
    /// These, but not what they may name.
    also: &'static [&'static str],
    outsiders: Outsiders,
}

/// Which crates of other people a crate may name.
enum Outsiders {
    /// Only these: a short list is a promise to those who take the crate alone.
    Only(&'static [&'static str]),
    /// Any that [`RESERVED`] does not give to somebody else.
    Unreserved,
}

use Outsiders::{Only, Unreserved};

const fn row(
    name: &'static str,
    standing_on: &'static [&'static str],
    also: &'static [&'static str],
    outsiders: Outsiders,
) -> Row {
    Row { name, standing_on, also, outsiders }
}

/// The arrows, lowest layer first.
const ROWS: &[Row] = &[
    row("rankwise-model", &[], &[], Only(&["float8", "half"])),
    row("rankwise-account", &["rankwise-model"], &[], Only(&[])),
    // Beside account, never on it: a count is the same whichever device holds the rank.
    row("rankwise-topology", &["rankwise-model"], &[], Only(&[])),
    row(
        "rankwise-program",
        &["rankwise-account", "rankwise-topology"],
        &[],
        Only(&["serde", "serde_json"]),
    ),
    row(
        "rankwise-plan",
        &["rankwise-program"],
        &[],
        Only(&[
            "num-bigint",
            "num-rational",
            "num-traits",
            "schemars",
            "serde",
            "serde_json",
            "sha2",
            "toml",
        ]),
    ),
    // Independent on purpose: it checks what the others claim.
    row(
        "rankwise-certify",
        &[],
        &[],
        Only(&["num-bigint", "num-rational", "num-traits", "serde", "serde_json", "sha2"]),
    ),
    row("rankwise-comm", &["rankwise-program"], &[], Unreserved),
    row("rankwise-run", &["rankwise-plan", "rankwise-comm"], &[], Unreserved),
    row("rankwise-read", &["rankwise-plan"], &[], Unreserved),
    row("rankwise-mock", &["rankwise-comm"], &[], Unreserved),
    row("rankwise-bootstrap", &["rankwise-topology"], &[], Unreserved),
    row("nccl-sys", &[], &[], Unreserved),
    row("rankwise-nccl", &["rankwise-comm"], &["rankwise-bootstrap", "nccl-sys"], Unreserved),
    row("host-faults", &[], &[], Only(&[])),
    row("host-libcuda", &["host-faults"], &[], Unreserved),
    row("host-libnccl", &["rankwise-mock"], &["host-faults", "nccl-sys"], Unreserved),
    row("rankwise-conformance", &["rankwise-comm", "rankwise-run"], &[], Unreserved),
    // The one that picks the backend; the stand-ins it may only load.
    row(
        "rankwise-cli",
        &[
            "nccl-sys",
            "rankwise-bootstrap",
            "rankwise-certify",
            "rankwise-conformance",
            "rankwise-mock",
            "rankwise-nccl",
            "rankwise-read",
            "rankwise-run",
        ],
        &[],
        Unreserved,
    ),
    // Nothing at all: it judges what the others claim.
    row("rankwise-oracle", &[], &[], Only(&[])),
    // Nothing of ours, so that a broken build can still be diagnosed.
    row("xtask", &[], &[], Only(&["serde_json"])),
];

/// They cross crates by their nature: they may name anything, and nothing names them.
const ABOVE: &[&str] = &["rankwise-tests", "rankwise-examples"];

/// The suite may not know a backend, not even in its own tests.
const SUITE: &str = "rankwise-conformance";
const BACKENDS: &[&str] = &["rankwise-mock", "rankwise-nccl"];

/// Crates of other people that only these of ours may name: heavy ones stay out
/// of libraries, and a GPU driver out of everything but its backend.
const RESERVED: &[(&str, &[&str])] = &[
    ("anstream", &["rankwise-cli"]),
    ("anstyle", &["rankwise-cli"]),
    ("clap", &["rankwise-cli"]),
    ("cudarc", &["rankwise-nccl"]),
    ("indicatif", &["rankwise-cli"]),
    ("libfuzzer-sys", &[]),
    ("miette", &["rankwise-cli"]),
    ("safetensors", &["rankwise-cli"]),
    ("terminal_size", &["rankwise-cli"]),
    ("tokio", &["rankwise-bootstrap", "rankwise-cli"]),
    ("tracing-subscriber", &["rankwise-cli"]),
    ("unicode-width", &["rankwise-cli"]),
];

fn row_of(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

/// Every crate of ours that `name` may name.
fn may_name(name: &str) -> BTreeSet<&'static str> {
    let Some(row) = row_of(name) else { return BTreeSet::new() };
    let below = row.standing_on.iter().flat_map(|below| {
        let mut all = may_name(below);
        all.insert(below);
        all
    });
    below.chain(row.also.iter().copied()).collect()
}

/// What is wrong with the arrows of these packages.
fn faults(packages: &[Package]) -> Vec<String> {
    let mut faults = Vec::new();
    for package in packages.iter().filter(|package| !ABOVE.contains(&package.name.as_str())) {
        let from = package.name.as_str();
        let Some(row) = row_of(from) else {
            faults.push(format!("{from} has no row in xtask/src/layers.rs; give it one"));
            continue;
        };
        for dependency in &package.dependencies {
            let to = dependency.name.as_str();
            let allowed = match (dependency.ours, dependency.kind) {
                (true, Kind::Normal | Kind::Build) => may_name(from).contains(to),
                // A test may look sideways, but not up at what stands on its own
                // crate: that circle cannot be published.
                (true, Kind::Dev) => {
                    row_of(to).is_some()
                        && !may_name(to).contains(from)
                        && !(from == SUITE && BACKENDS.contains(&to))
                }
                (false, Kind::Normal | Kind::Build) => may_take(row, to),
                (false, Kind::Dev) => true,
            };
            if !allowed {
                let dev = if dependency.kind == Kind::Dev { " (in tests)" } else { "" };
                faults.push(format!("{from} -> {to}{dev} is not an allowed arrow"));
            }
        }
    }
    faults
}

fn may_take(row: &Row, outsider: &str) -> bool {
    let listed = match row.outsiders {
        Only(list) => list.contains(&outsider),
        Unreserved => true,
    };
    let mut reservations = RESERVED.iter().filter(|(name, _)| *name == outsider);
    listed && reservations.all(|(_, holders)| holders.contains(&row.name))
}

/// The arrows between our crates, for `dot`: solid if declared, dashed if to come.
fn dot(packages: &[Package]) -> String {
    let mut lines = vec![
        "digraph rankwise {".to_owned(),
        "  rankdir = BT; node [shape = box, fontname = \"sans-serif\"];".to_owned(),
    ];
    for row in ROWS.iter().filter(|row| row.name != "xtask") {
        let arrow = |to: &str, style: &str| format!("  \"{}\" -> \"{to}\"{style};", row.name);
        if let Some(package) = packages.iter().find(|package| package.name == row.name) {
            let ours = package.dependencies.iter();
            let ours = ours.filter(|to| to.ours && to.kind != Kind::Dev);
            lines.extend(ours.map(|to| arrow(&to.name, "")));
        } else {
            lines.push(format!("  \"{}\" [style = dashed];", row.name));
            let to_come = row.standing_on.iter().chain(row.also);
            lines.extend(to_come.map(|to| arrow(to, " [style = dashed]")));
        }
    }
    lines.push("}".to_owned());
    lines.join("\n")
}

/// Checks the arrows, or prints them with `--dot`.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Outcome {
    match arguments {
        [] => judge(faults(&workspace.packages), || {
            let arrows = workspace.packages.iter().flat_map(|package| &package.dependencies);
            plural(arrows.count(), "arrow")
        }),
        [dash] if dash == "--dot" => {
            println!("{}", dot(&workspace.packages));
            Ok(Done::Ran("solid arrows exist, dashed ones are to come".to_owned()))
        }
        other => Err(Failure::Said(format!("layers takes --dot or nothing, not {other:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Dependency;

    fn package(name: &str, to: &str, kind: Kind) -> Package {
        let ours = ABOVE.contains(&to) || row_of(to).is_some();
        Package {
            name: name.to_owned(),
            version: "0.0.0".to_owned(),
            published: true,
            features: Vec::new(),
            dependencies: vec![Dependency { name: to.to_owned(), kind, ours }],
        }
    }

    fn is_allowed(from: &str, to: &str, kind: Kind) -> bool {
        faults(&[package(from, to, kind)]).is_empty()
    }

    #[test]
    fn the_arrows_of_this_workspace_are_allowed() {
        let workspace = Workspace::read().unwrap();
        assert!(workspace.packages.len() >= 7, "{:?}", workspace.packages);
        assert_eq!(faults(&workspace.packages), Vec::<String>::new());
    }

    #[test]
    fn a_wrong_arrow_is_refused_by_name() {
        let wrong = package("rankwise-account", "rankwise-topology", Kind::Normal);
        assert_eq!(
            faults(&[wrong]),
            ["rankwise-account -> rankwise-topology is not an allowed arrow"]
        );
        for (from, to) in [
            ("rankwise-model", "rankwise-account"),
            ("rankwise-topology", "rankwise-account"),
            ("rankwise-certify", "rankwise-model"),
            ("rankwise-run", "rankwise-mock"),
            ("rankwise-conformance", "rankwise-mock"),
            ("rankwise-mock", "rankwise-plan"),
            ("rankwise-cli", "host-libnccl"),
            ("rankwise-nccl", "rankwise-mock"),
            ("rankwise-model", ABOVE[0]),
            ("rankwise-cli", ABOVE[1]),
            ("xtask", "rankwise-model"),
        ] {
            assert!(!is_allowed(from, to, Kind::Normal), "{from} -> {to}");
            assert!(!is_allowed(from, to, Kind::Build), "{from} -> {to}");
        }
    }

    #[test]
    fn the_arrows_of_the_design_are_allowed() {
        for (from, to) in [
            ("rankwise-plan", "rankwise-program"),
            ("rankwise-plan", "rankwise-topology"),
            ("rankwise-plan", "rankwise-model"),
            ("rankwise-mock", "rankwise-topology"),
            ("rankwise-nccl", "rankwise-bootstrap"),
            ("rankwise-nccl", "nccl-sys"),
            ("host-libnccl", "rankwise-model"),
            ("rankwise-conformance", "rankwise-plan"),
            ("rankwise-cli", "rankwise-nccl"),
            ("rankwise-cli", "rankwise-model"),
            (ABOVE[0], "rankwise-cli"),
            (ABOVE[1], "rankwise-nccl"),
        ] {
            assert!(is_allowed(from, to, Kind::Normal), "{from} -> {to}");
        }
    }

    #[test]
    fn tests_look_sideways_but_not_up() {
        assert!(is_allowed("rankwise-mock", "rankwise-conformance", Kind::Dev));
        assert!(is_allowed("rankwise-nccl", "host-libnccl", Kind::Dev));
        assert!(!is_allowed("rankwise-model", "rankwise-account", Kind::Dev));
        assert!(!is_allowed("rankwise-conformance", "rankwise-mock", Kind::Dev));
    }

    #[test]
    fn outsiders_stay_where_they_belong() {
        assert!(is_allowed("rankwise-model", "half", Kind::Normal));
        assert!(!is_allowed("rankwise-model", "serde", Kind::Normal));
        assert!(!is_allowed("rankwise-account", "half", Kind::Normal));
        assert!(is_allowed("rankwise-account", "proptest", Kind::Dev));
        assert!(is_allowed("rankwise-nccl", "cudarc", Kind::Normal));
        assert!(!is_allowed("rankwise-mock", "cudarc", Kind::Normal));
        assert!(!is_allowed("rankwise-plan", "clap", Kind::Normal));
        assert!(is_allowed("rankwise-cli", "clap", Kind::Normal));
    }

    #[test]
    fn a_crate_without_a_row_is_refused() {
        let unknown = package("rankwise-utils", "half", Kind::Normal);
        assert_eq!(
            faults(&[unknown]),
            ["rankwise-utils has no row in xtask/src/layers.rs; give it one"]
        );
    }

    #[test]
    fn every_name_in_the_table_has_a_row() {
        let named = ROWS.iter().flat_map(|row| row.standing_on.iter().chain(row.also));
        for name in named.chain(BACKENDS).chain([&SUITE]) {
            assert!(row_of(name).is_some(), "{name}");
        }
    }
}
