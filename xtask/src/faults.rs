//! `cargo xtask faults`: whether the oracle's tests catch faults seeded in the checker.
//!
//! Each of the [`seeded`] faults is one small replacement in one file. It is made in a
//! copy of the repository, which is built and tested there, and taken back again.

mod seeded;

use std::fs;
use std::path::Path;

use crate::cargo;
use crate::outcome::{Failure, Outcome, judge};
use crate::tree::Tree;
use crate::workspace::Workspace;
use seeded::{FAULTS, Fault, Killer};

/// How many random plans look for each fault: first a tenth of those of any test run, and
/// all of them where that has not found it.
const PLANS: [&str; 2] = ["5000", "50000"];

/// Seeds every fault, or those whose name has a word of the arguments in it.
///
/// `--check` only sees whether each can still be seeded.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let check = arguments.iter().any(|word| word == "--check");
    let words: Vec<&String> = arguments.iter().filter(|word| *word != "--check").collect();
    let is_asked =
        |fault: &&Fault| words.is_empty() || words.iter().any(|word| fault.name.contains(*word));
    let chosen: Vec<&Fault> = FAULTS.iter().filter(is_asked).collect();
    if chosen.is_empty() {
        return Err(Failure::Said("no fault has that in its name".to_owned()));
    }
    let mut wrong: Vec<String> =
        chosen.iter().filter_map(|fault| fault.seeded(&workspace.root).err()).collect();
    if check || !wrong.is_empty() {
        return judge(wrong, || format!("{} faults can be seeded", chosen.len()));
    }
    let copy = workspace.target.join("faults");
    copy_tree(workspace, &copy.join("tree"))?;
    println!("| part | fault | caught by |\n|---|---|---|");
    for fault in &chosen {
        let caught = match fault.caught(&copy) {
            Ok(caught) if caught.is_empty() => Err(format!("`{}` is not caught", fault.name)),
            Err(Failure::Said(why)) => Err(why),
            caught => Ok(caught?),
        };
        let by = caught.as_ref().map_or("**nothing**".to_owned(), |caught| caught.join(", "));
        println!("| {} | {} | {by} |", fault.part, fault.name);
        wrong.extend(caught.err());
    }
    judge(wrong, || format!("{} faults seeded, all caught", chosen.len()))
}

/// Copies what is not there yet as it is, so that little is compiled again.
fn copy_tree(workspace: &Workspace, to: &Path) -> Result<(), Failure> {
    for file in Tree::read(&workspace.root)?.texts {
        let path = to.join(&file.path);
        if fs::read_to_string(&path).is_ok_and(|there| there == file.text) {
            continue;
        }
        let doing = || Failure::io(format!("writing {}", path.display()));
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(doing())?;
        }
        fs::write(&path, file.text).map_err(doing())?;
    }
    Ok(())
}

impl Fault {
    /// The file's text without the fault and with it, or why it cannot be seeded.
    fn seeded(&self, root: &Path) -> Result<[String; 2], String> {
        let path = root.join(self.file);
        let text = fs::read_to_string(&path)
            .map_err(|error| format!("`{}`: {}: {error}", self.name, self.file))?;
        match text.matches(self.from).count() {
            1 => {
                let faulty = text.replacen(self.from, self.to, 1);
                Ok([text, faulty])
            }
            times => Err(format!(
                "`{}`: {} has {times} places to seed it in; 1 is needed:\n{}",
                self.name, self.file, self.from
            )),
        }
    }

    /// The tests that fail with the fault.
    fn caught(&self, copy: &Path) -> Result<Vec<String>, Failure> {
        let tree = copy.join("tree");
        let path = tree.join(self.file);
        let doing = || Failure::io(format!("writing {}", path.display()));
        let [sound, faulty] = self.seeded(&tree).map_err(Failure::Said)?;
        fs::write(&path, faulty).map_err(doing())?;
        let mut caught = self.failing(copy, PLANS[0]);
        if caught.as_ref().is_ok_and(Vec::is_empty) {
            caught = self.failing(copy, PLANS[1]);
        }
        fs::write(&path, sound).map_err(doing())?;
        caught
    }

    /// The tests that fail in the copy as it is.
    fn failing(&self, copy: &Path, plans: &str) -> Result<Vec<String>, Failure> {
        let tested = self.tested(copy, plans)?;
        let failed =
            |line: &str| line.strip_suffix(" ... FAILED")?.strip_prefix("test ").map(String::from);
        if tested.stdout.contains("test result: ") {
            return Ok(tested.stdout.lines().filter_map(failed).collect());
        }
        Err(Failure::Said(format!("`{}` does not build:\n{}", self.name, tested.stderr)))
    }

    fn tested(&self, copy: &Path, plans: &str) -> Result<cargo::Captured, Failure> {
        let (package, test) = match self.killer {
            Killer::Plans => ("rankwise-oracle", "checker"),
            Killer::Programs => ("rankwise-tests", "random_programs"),
        };
        let mut command = cargo::command();
        command.current_dir(copy.join("tree")).env("CARGO_TARGET_DIR", copy.join("build"));
        command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("RUST_BACKTRACE", "0");
        command.env("CARGO_INCREMENTAL", "1").env("RANKWISE_ORACLE_PLANS", plans);
        command.args(["test", "--locked", "--no-fail-fast", "-p", package, "--test", test]);
        cargo::captured(&mut command)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_fault_can_still_be_seeded() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        let wrong: Vec<String> =
            FAULTS.iter().filter_map(|fault| fault.seeded(root).err()).collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn there_are_enough_and_each_has_its_name() {
        assert!(FAULTS.len() >= 30);
        let names: BTreeSet<&str> = FAULTS.iter().map(|fault| fault.name).collect();
        assert_eq!(names.len(), FAULTS.len());
    }
}
