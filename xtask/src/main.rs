//! Drives every build and check of this repository: `cargo xtask VERB`.
//!
//! Everything that continuous integration does is a verb that can be typed here;
//! [`ci`] is the list. No crate of ours is a dependency, so that a broken build
//! can still be diagnosed; nothing is installed beyond what `rustup` brings.

#![forbid(unsafe_code)]
// Printing is what this program is for.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod outcome;
mod workspace;

mod cargo;
mod tree;

mod bench;
mod beside;
mod bindgen;
mod ci;
mod clients;
mod faults;
mod features;
mod fuzz;
mod layers;
mod nccl;
mod no_std;
mod oracle;
mod outside;
mod package;
mod programs;
mod stand_ins;
mod suite;
mod tidy;

use std::process::ExitCode;

use outcome::{Done, Outcome};
use workspace::Workspace;

/// One word after `cargo xtask`.
struct Verb {
    name: &'static str,
    arguments: &'static str,
    help: &'static str,
    run: fn(&Workspace, &[String]) -> Outcome,
}

const VERBS: &[Verb] = &[
    Verb {
        name: "ci",
        arguments: "",
        help: "everything CI runs, in order, with the time of each step",
        run: |workspace, _| ci::run(workspace),
    },
    Verb {
        name: "test",
        arguments: "[ARGUMENTS OF CARGO TEST]",
        help: "every test of the workspace, and how many passed and failed",
        run: suite::run,
    },
    Verb {
        name: "lint",
        arguments: "",
        help: "rustfmt and clippy, warnings denied",
        run: |workspace, _| cargo::format(workspace).and_then(|_| cargo::clippy(workspace)),
    },
    Verb {
        name: "docs",
        arguments: "",
        help: "the documentation, warnings denied",
        run: |workspace, _| cargo::docs(workspace),
    },
    Verb {
        name: "tidy",
        arguments: "",
        help: "sources, manifests, links and the clauses of the contract",
        run: |workspace, _| tidy::run(workspace),
    },
    Verb {
        name: "layers",
        arguments: "[--dot]",
        help: "checks which crate names which, or draws it",
        run: layers::run,
    },
    Verb {
        name: "no-std",
        arguments: "",
        help: "proves that the lower crates do without the standard library",
        run: |workspace, _| no_std::run(workspace),
    },
    Verb {
        name: "features",
        arguments: "",
        help: "builds each crate alone, with each of its features",
        run: |workspace, _| features::run(workspace),
    },
    Verb {
        name: "bindgen",
        arguments: "[--check]",
        help: "rewrites nccl-sys from NCCL's header, or says where it is stale",
        run: bindgen::run,
    },
    Verb {
        name: "bench",
        arguments: "mock [OPTIONS] | plan [--smoke]",
        help: "times of the mock beside what is possible and its peers; of plans as ranks grow",
        run: bench::run,
    },
    Verb {
        name: "beside",
        arguments: "",
        help: "wrong programs on the mock and on other libraries: what each says; not part of CI",
        run: beside::run,
    },
    Verb {
        name: "stand-ins",
        arguments: "[--release]",
        help: "builds the stand-ins for libcuda and libnccl, and says how to use them",
        run: stand_ins::run,
    },
    Verb {
        name: "clients",
        arguments: "",
        help: "other people's clients of NCCL, unmodified, on the stand-ins; not part of CI",
        run: clients::run,
    },
    Verb {
        name: "nccl",
        arguments: "",
        help: "the bindings against the real NCCL, fetched once; no GPU is needed",
        run: nccl::run,
    },
    Verb {
        name: "oracle",
        arguments: "[--plans N] [--seed S]",
        help: "the checker of plans against an oracle: every plan of two steps, a million at random",
        run: oracle::run,
    },
    Verb {
        name: "faults",
        arguments: "[--check] [WORD…]",
        help: "seeds faults in the checker, one by one: the oracle's tests must catch each",
        run: faults::run,
    },
    Verb {
        name: "programs",
        arguments: "[--programs N] [--seed S]",
        help: "random rank programs on the mock against the model: a hundred thousand",
        run: programs::programs,
    },
    Verb {
        name: "soak",
        arguments: "[--seconds N] [--seed S]",
        help: "random rank programs with random faults: ten minutes, no hang, memory flat",
        run: programs::soak,
    },
    Verb {
        name: "package",
        arguments: "",
        help: "packs every published crate and compiles it from its package",
        run: |workspace, _| package::run(workspace),
    },
    Verb {
        name: "outside",
        arguments: "",
        help: "builds and tests a stranger's crate outside the workspace",
        run: |workspace, _| outside::run(workspace),
    },
    Verb {
        name: "fuzz",
        arguments: "[SECONDS [TARGET]…]",
        help: "runs each fuzz target, or those named, for 10 seconds if not told otherwise",
        run: fuzz::run,
    },
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "--help".to_owned());
    let rest: Vec<String> = arguments.collect();
    let asks_for_help = |word: &str| matches!(word, "help" | "--help" | "-h");
    if asks_for_help(&name) || rest.first().is_some_and(|word| asks_for_help(word)) {
        print_help();
        return ExitCode::SUCCESS;
    }
    let Some(verb) = VERBS.iter().find(|verb| verb.name == name) else {
        eprintln!("no verb `{name}`; these there are:\n");
        print_help();
        return ExitCode::from(2);
    };
    match Workspace::read().and_then(|workspace| (verb.run)(&workspace, &rest)) {
        Ok(Done::Ran(what)) => println!("{name}: {what}"),
        Ok(Done::Skipped(why)) => println!("{name}: SKIPPED, {why}"),
        Err(failure) => {
            eprintln!("{name}: {failure}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn print_help() {
    for verb in VERBS {
        let call = format!("{} {}", verb.name, verb.arguments);
        println!("cargo xtask {call:<32} {}", verb.help);
    }
}
