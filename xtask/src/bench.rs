//! `cargo xtask bench`: times, with what they mean. No verdict hangs on one.

use std::collections::BTreeMap;

use crate::cargo;
use crate::outcome::{Done, Failure, Outcome};
use crate::workspace::Workspace;

/// What a line of a measurement is about: operation, ranks, bytes.
type Cell = (String, u64, u64);

const MEANING: &str = "\
Microseconds, medians of f32 sums and gathers out of place; bytes are per rank: the
input of all_reduce and reduce_scatter, the output of all_gather.
  mock    one call and one wait through the trait, as rank 0 sees it, a thread per rank
  engine  the same job's work alone, shared by two threads; no matching, no waiting
  floor   bare kernels by two threads on other buffers in another process, if given
Ratios below 1 are faster than what they are divided by. Machines and moments differ by
up to a factor of two: compare only ratios of one run.
";

/// Where the cost of plans is measured as clusters grow: a crate and its example.
const SCALES: [(&str, &str); 1] = [("rankwise-plan", "scale")];

/// Runs the benches of one kind.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Outcome {
    match arguments {
        [what, rest @ ..] if what == "mock" => mock(workspace, rest),
        [what, rest @ ..] if what == "plan" => plan(workspace, rest),
        _ => Err(usage()),
    }
}

/// Starts the programs that measure plans; each prints its own tables.
fn plan(workspace: &Workspace, arguments: &[String]) -> Outcome {
    if arguments.iter().any(|word| word != "--smoke") {
        return Err(usage());
    }
    for (package, example) in SCALES {
        let mut command = cargo::at_root(workspace);
        command.args(["run", "-q", "--release", "-p", package, "--example", example, "--"]);
        cargo::run(command.args(arguments))?;
    }
    Ok(Done::Ran(format!("{} programs", SCALES.len())))
}

/// Runs the benches of the mock in turn and prints them side by side.
fn mock(workspace: &Workspace, rest: &[String]) -> Outcome {
    let (mut floor, mut ranks) = (None, Vec::new());
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--floor" => floor = Some(words.next().ok_or_else(usage)?.clone()),
            number => ranks.push(number.parse::<u32>().map_err(|_| usage())?.to_string()),
        }
    }
    if ranks.is_empty() {
        ranks = vec!["2".into(), "4".into()];
    }
    let bench = |name: &str| {
        let mut command = cargo::at_root(workspace);
        command.args(["bench", "-q", "-p", "rankwise-mock", "--bench", name, "--"]);
        // The engine's bench takes part of an operation's name first: here, of each.
        command.args((name == "engine").then_some("_")).args(&ranks);
        let printed = cargo::captured(&mut command)?;
        if !printed.success {
            return Err(Failure::Said(format!("the bench {name} failed:\n{}", printed.stderr)));
        }
        Ok(cells(&printed.stdout, 0))
    };
    let (mock, engine) = (bench("mock")?, bench("engine")?);
    let floor = match floor {
        None => BTreeMap::new(),
        Some(folder) => {
            let mut command = cargo::at_root(workspace);
            command.args(["run", "-q", "--release", "--manifest-path"]);
            command.arg(format!("{folder}/Cargo.toml")).arg("--target-dir");
            command.arg(workspace.target.join("floor")).args(["--", "floor", "--n"]);
            command.arg(ranks.join(",")).args(["--sizes", "65536,1048576,16777216,67108864"]);
            let printed = cargo::captured(&mut command)?;
            if !printed.success {
                return Err(Failure::Said(format!("the floor failed:\n{}", printed.stderr)));
            }
            cells(&printed.stdout, 1)
        }
    };

    println!("{MEANING}");
    let heads = ["op", "n", "bytes", "mock", "engine", "floor", "mock/engine", "mock/floor"];
    println!(
        "{:>15} {:>3} {:>9} {:>11} {:>11} {:>11} {:>12} {:>11}",
        heads[0], heads[1], heads[2], heads[3], heads[4], heads[5], heads[6], heads[7]
    );
    for (cell, time) in &mock {
        let (op, n, bytes) = cell;
        let (engine, floor) = (engine.get(cell), floor.get(cell));
        let shown = |time: Option<&f64>| time.map_or("-".to_owned(), |time| format!("{time:.2}"));
        let ratio = |base: Option<&f64>| shown(base.map(|base| time / base).as_ref());
        println!(
            "{op:>15} {n:>3} {bytes:>9} {time:>11.2} {:>11} {:>11} {:>12} {:>11}",
            shown(engine),
            shown(floor),
            ratio(engine),
            ratio(floor)
        );
    }
    Ok(Done::Ran(format!("{} cells", mock.len())))
}

/// The medians of lines `[tag,]op,dtype,n,bytes,us_median,…` for f32.
fn cells(printed: &str, tags: usize) -> BTreeMap<Cell, f64> {
    let cell = |line: &str| {
        let fields: Vec<&str> = line.split(',').skip(tags).collect();
        let [op, "f32", n, bytes, median, ..] = fields[..] else { return None };
        Some(((op.to_owned(), n.parse().ok()?, bytes.parse().ok()?), median.parse().ok()?))
    };
    printed.lines().filter_map(cell).collect()
}

fn usage() -> Failure {
    Failure::Said(
        "bench takes `mock`, then group sizes, then `--floor FOLDER`; or `plan`, then `--smoke`"
            .to_owned(),
    )
}
