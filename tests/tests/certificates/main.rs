//! Certificates: what is made of a plan is accepted by a checker that shares no code
//! with what made it, and nothing else is.

#![allow(clippy::print_stdout)] // how many mutations were tried is the evidence

mod spread;
mod tamper;

use std::collections::{BTreeMap, BTreeSet};

use rankwise_certify::verify;
use rankwise_plan::certify::{self, Certificate, Claim, NoCertificate};
use serde_json::Value;
use tamper::Mutation;

#[test]
fn what_is_certified_is_verified() {
    let mut wrong = Vec::new();
    for case in spread::cases() {
        let json = case.certificate.to_json();
        match verify(&json) {
            Ok(verified) => assert_eq!(verified.claim.name(), case.certificate.claim().name()),
            Err(rejected) => wrong.push(format!("{}: {rejected}", case.name)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every example, and every pair of its proposals: whatever is known has a certificate.
#[test]
fn every_example_is_certified_and_verified() {
    let mut wrong = Vec::new();
    let (mut certified, mut stuck) = (BTreeMap::new(), 0);
    for (name, plan) in spread::examples() {
        let mut look = |what: String, made: Result<Certificate, NoCertificate>| match made {
            Ok(certificate) => {
                *certified.entry(certificate.claim().name()).or_insert(0) += 1;
                if let Err(rejected) = verify(&certificate.to_json()) {
                    wrong.push(format!("{name}#{what}: {rejected}"));
                }
            }
            // What is not known has none, nor what never comes to an end.
            Err(NoCertificate::Unknown { .. }) => {}
            Err(NoCertificate::NotExpressed { what }) if what.contains("do not go together") => {
                stuck += 1;
            }
            Err(why) => wrong.push(format!("{name}#{what}: {why}")),
        };
        for (index, one) in plan.proposals.iter().enumerate() {
            look(one.name.clone(), certify::needs(&plan, one));
            for other in plan.proposals.iter().skip(index + 1) {
                let what = format!("{} and {}", one.name, other.name);
                look(what, certify::states((&plan, one), (&plan, other)));
            }
        }
    }
    println!("{certified:?}, {stuck} of programs that do not go together");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(certified.len(), 4, "{certified:?}");
}

#[test]
fn every_change_breaks_the_seal() {
    let mut tried = 0;
    for case in spread::cases() {
        let whole: Value = serde_json::from_str(&case.certificate.to_json()).unwrap();
        for mutation in tamper::mutations(&whole) {
            tried += 1;
            let accepted = verify(&mutation.value.to_string());
            assert!(accepted.is_err(), "{}: {} {}", case.name, mutation.at, mutation.what);
        }
    }
    println!("{tried} mutations, all rejected");
    assert!(tried > 10_000, "{tried}");
}

/// What may be changed of "satisfied" and "same" so that, sealed again, it is another
/// true statement, and no more than that.
const POSITIVE: &[(&str, &[&str])] = &[
    // Words and a number, which mean nothing to the checker.
    ("job.needs[].holds", &["changed", "replaced"]),
    ("job.needs[].need", &["plus one", "minus one"]),
    ("job.sides[].proposal", &["changed", "replaced"]),
    // Names of what nothing claimed depends on, or of what both sides call so.
    ("job.inputs_agree", &["replaced"]),
    ("job.sides[].inputs[].meaning", &["changed", "replaced", "removed"]),
    ("job.sides[].inputs[].name", &["changed"]),
    ("job.sides[].inputs[].attached", &["replaced"]),
    ("job.sides[].devices[]", &["changed", "replaced", "swapped"]),
    // Inputs that nothing claimed depends on; a count for each rank instead of one.
    ("job.sides[].inputs[]", &["dropped", "swapped"]),
    ("job.sides[].inputs[].dtype", &["replaced"]),
    ("job.sides[].inputs[].counts[]", &["doubled", "plus one", "minus one"]),
    // Fewer ranks that need something, or as many in another order; ranks that also have it.
    ("job.needs[]", &["swapped"]),
    ("job.needs[].buffer", &["replaced"]),
    ("job.needs[].values[]", &["dropped", "swapped"]),
    ("job.needs[].values[].ranks[]", &["dropped", "swapped", "minus one"]),
    ("job.sides[].ranks", &["plus one"]),
    // Another order of the same; what no law tells apart.
    ("job.sides[]", &["swapped"]),
    ("job.sides[].partitions[]", &["doubled", "swapped"]),
    ("job.sides[].partitions[][]", &["swapped"]),
    ("job.sides[].partitions[][][]", &["swapped"]),
    ("job.sides[].renamed", &["removed"]),
    ("job.sides[].steps[]", &["doubled", "dropped", "swapped"]),
    ("job.sides[].steps[].collective.op", &["replaced"]),
    ("job.sides[].steps[].collective.send[]", &["doubled"]),
    ("job.sides[].steps[].collective.recv[]", &["doubled"]),
    ("job.sides[].steps[].collective.send[].all", &["replaced"]),
    ("job.sides[].steps[].collective.recv[].all", &["changed", "replaced"]),
    ("job.sides[].steps[].local.from[]", &["doubled", "dropped", "swapped"]),
    // A constant is the same at every position; what is written over, or on ranks that
    // write it anew, may be anything.
    ("job.needs[].values[].runs[][][]", &["minus one", "replaced"]),
    ("job.sides[].steps[].local.from[].part[]", &["plus one", "replaced"]),
    ("job.sides[].steps[].local.from[].fill[]", &["plus one", "replaced"]),
    ("job.sides[].steps[].local.on", &["plus one", "minus one"]),
    // In u8 the larger of 256·x and x is x too.
    ("job.sides[].steps[].local.act.fold", &["replaced"]),
    ("job.sides[].steps[].recv.count", &["removed"]),
    ("job.terms[]", &["doubled", "swapped"]),
    ("job.terms[].fold[][]", &["doubled", "swapped"]),
];

/// The same of "not satisfied" and "different", for the verdict. Whatever else the job
/// becomes, the place that is named still differs for the witness that is given.
const NEGATIVE: &[(&str, &[&str])] = &[
    // Another rank or position that goes without, or differs for the same witness.
    ("verdict.difference.rank", &["plus one"]),
    ("verdict.difference.position", &["plus one"]),
    ("verdict.needs[].difference.rank", &["plus one"]),
    ("verdict.needs[].difference.position", &["plus one"]),
    // Another witness of the same difference.
    ("verdict.difference.witness[]", &["swapped"]),
    ("verdict.difference.witness[].value", &["plus one", "minus one", "replaced"]),
    ("verdict.needs[].difference.witness[]", &["swapped"]),
    ("verdict.needs[].difference.witness[].value", &["plus one", "minus one", "replaced"]),
];

#[test]
fn sealed_again_only_other_truths_are_accepted() {
    let mut surprises = BTreeSet::new();
    let (mut tried, mut accepted) = (0, 0);
    for case in spread::cases() {
        let whole: Value = serde_json::from_str(&case.certificate.to_json()).unwrap();
        let positive = matches!(case.certificate.claim(), Claim::Satisfied | Claim::Same);
        let allowed = if positive { POSITIVE } else { NEGATIVE };
        for Mutation { at, what, value } in tamper::mutations(&whole) {
            // Sealing again would undo it.
            if at == "digest" {
                continue;
            }
            tried += 1;
            if verify(&tamper::sealed(&value)).is_err() {
                continue;
            }
            accepted += 1;
            let of_path = allowed.iter().filter(|(path, _)| *path == at);
            let of_job = !positive && at.starts_with("job.");
            if !of_job && !of_path.flat_map(|(_, whats)| *whats).any(|may| *may == what) {
                surprises.insert(format!("{positive} {at} {what}: {}", case.name));
            }
        }
    }
    println!("{tried} mutations sealed again, {accepted} of them other truths");
    assert!(tried > 10_000, "{tried}");
    assert!(surprises.is_empty(), "{}", surprises.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn the_checker_names_nothing_of_ours() {
    let folder =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/rankwise-certify");
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let dependencies = manifest.split("[dependencies]").nth(1).unwrap();
    assert!(!dependencies.contains("rankwise"), "{dependencies}");
    let mut files = vec![folder.join("src")];
    let mut read = 0;
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        read += 1;
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let code = line.trim_start();
            let is_code = !code.starts_with("//");
            let ours = code.contains("rankwise_") && !code.contains("rankwise_certify");
            assert!(!(is_code && ours), "{}: {line}", path.display());
        }
    }
    assert!(read > 10, "{read} files");
}
