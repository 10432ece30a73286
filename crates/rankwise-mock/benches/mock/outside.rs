//! Other programs that do the same, one after the other in every round.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use rankwise_model::Dtype;

use crate::cell::{Cell, Op};
use crate::options::{self, Options};

/// Microseconds, by program, cell and round.
pub(crate) type Times = BTreeMap<(String, Cell), BTreeMap<usize, f64>>;

pub(crate) struct Outside<'o> {
    options: &'o Options,
    pub(crate) times: Times,
    /// Who could not be measured in groups of which sizes, and the first reason.
    failed: BTreeMap<(&'static str, u32), String>,
}

/// What another program printed, and why it is not all, if it is not.
struct Printed {
    lines: String,
    complaint: Option<String>,
}

impl<'o> Outside<'o> {
    pub(crate) const FLOOR: &'static str = "floor";

    /// By the names that their `measure.py` has for them.
    pub(crate) const PEERS: [&'static str; 8] =
        ["ompi", "mpich", "impi", "gloo", "torch", "burn", "burn_nd", "jax"];

    pub(crate) fn new(options: &'o Options) -> Self {
        Self { options, times: Times::new(), failed: BTreeMap::new() }
    }

    /// A round of all that were asked for, in a group of so many.
    pub(crate) fn run(&mut self, ranks: u32, round: usize) {
        let options = self.options;
        if let Some(folder) = &options.floor {
            self.one(Self::FLOOR, ranks, round, || floor(folder, options, ranks));
        }
        if let Some(folder) = &options.peers {
            for who in Self::PEERS {
                self.one(who, ranks, round, || peer(folder, who, options, ranks));
            }
        }
    }

    /// Who printed no time is not asked again in a group of that size.
    fn one(
        &mut self,
        who: &'static str,
        ranks: u32,
        round: usize,
        run: impl FnOnce() -> Result<Printed, String>,
    ) {
        let known = self.times.keys().any(|(name, cell)| name == who && cell.ranks == ranks);
        if !known && self.failed.contains_key(&(who, ranks)) {
            return;
        }
        let complaint = match run() {
            Ok(Printed { lines, complaint }) => {
                let cells = lines.lines().filter_map(|line| cell(line, who));
                let mut any = false;
                for (cell, time) in cells.filter(|(cell, _)| cell.ranks == ranks) {
                    self.times.entry((who.to_owned(), cell)).or_default().insert(round, time);
                    any = true;
                }
                complaint.or_else(|| (!any).then(|| "it printed no time".to_owned()))
            }
            Err(why) => Some(why),
        };
        if let Some(why) = complaint {
            self.failed.entry((who, ranks)).or_insert(why);
        }
    }

    /// A line for each program that is not measured, or not wholly, and how many are not
    /// at all.
    pub(crate) fn failures(&self) -> (Vec<String>, usize) {
        let measured: BTreeSet<&str> = self.times.keys().map(|(who, _)| who.as_str()).collect();
        let mut by_reason: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
        for ((who, ranks), why) in &self.failed {
            by_reason.entry((who, why)).or_default().push(ranks.to_string());
        }
        let line = |((who, why), ranks): (&(&str, &str), &Vec<String>)| {
            let word = if measured.contains(who) { "INCOMPLETE" } else { "SKIPPED" };
            format!("{word} {who}, n = {}: {why}", ranks.join(", "))
        };
        let failed: BTreeSet<&str> = self.failed.keys().map(|(who, _)| *who).collect();
        let skipped = failed.difference(&measured).count();
        (by_reason.iter().map(line).collect(), skipped)
    }
}

/// What `measure.py` calls an all-reduce of a program that has no other than in place.
const IN_PLACE: &str = "all_reduce_inplace";

/// The line `who,op,dtype,n,bytes,us_median,…`.
fn cell(line: &str, who: &str) -> Option<(Cell, f64)> {
    let fields: Vec<&str> = line.split(',').collect();
    let [tag, op, dtype, ranks, bytes, time, ..] = fields[..] else { return None };
    let named = |op: &str| Op::ALL.into_iter().find(|known| known.name() == op);
    let op = if op == IN_PLACE { Some(Op::AllReduce) } else { named(op) }?;
    let (dtype, ranks, bytes) = (dtype.parse().ok()?, ranks.parse().ok()?, bytes.parse().ok()?);
    (tag == who).then_some((Cell { ranks, op, dtype, bytes, calls: 1 }, time.parse().ok()?))
}

/// Sizes as the other programs read them.
fn sizes(options: &Options, least: u64) -> String {
    let sizes = options.sizes.iter().filter(|bytes| **bytes >= least);
    sizes.map(u64::to_string).collect::<Vec<_>>().join(",")
}

fn floor(folder: &Path, options: &Options, ranks: u32) -> Result<Printed, String> {
    // Its loops are cut for whole vectors.
    let sizes = sizes(options, 64 << 10);
    if sizes.is_empty() {
        return Err("it measures from 64 KiB on".to_owned());
    }
    let copied = copied(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["run", "-q", "--release", "--manifest-path"]).arg(copied.join("Cargo.toml"));
    command.arg("--target-dir").arg(built().join("floor"));
    command.args(["--", "floor", "--n", &ranks.to_string(), "--sizes", &sizes]);
    Ok(Printed { lines: printed(&mut command)?, complaint: None })
}

/// The program beside other temporary files: to build it in its own folder would leave a
/// lock file there.
fn copied(folder: &Path) -> std::io::Result<PathBuf> {
    let copied = env::temp_dir().join("rankwise-floor");
    std::fs::create_dir_all(copied.join("src"))?;
    for file in ["Cargo.toml", "src/main.rs"] {
        std::fs::copy(folder.join(file), copied.join(file))?;
    }
    Ok(copied)
}

/// What of the asked-for a peer does, by the names that `measure.py` has: f32, of bf16 the
/// all-reduce by two of them, and of other types nothing.
fn ops(who: &str, options: &Options) -> Vec<&'static str> {
    let only_all_reduce = who.starts_with("burn");
    let has_bf16 = matches!(who, "torch" | "jax");
    let mut ops = Vec::new();
    for op in &options.ops {
        let all_reduce = *op == Op::AllReduce;
        if options.dtypes.contains(&Dtype::F32) && (all_reduce || !only_all_reduce) {
            ops.push(op.name());
        }
        if options.dtypes.contains(&Dtype::Bf16) && all_reduce && has_bf16 {
            ops.push("all_reduce_bf16");
        }
    }
    ops
}

fn peer(folder: &Path, who: &str, options: &Options, ranks: u32) -> Result<Printed, String> {
    let ops = ops(who, options);
    if ops.is_empty() {
        return Err("it does nothing of what is asked for".to_owned());
    }
    let out = env::var("OUT").map_or_else(|_| built().join("peers"), |out| options::folder(&out));
    let table = env::temp_dir().join(format!("rankwise-{}-{who}.csv", std::process::id()));
    let mut command = Command::new("python3");
    command.arg(folder.join("measure.py")).arg(&table).env("OUT", &out);
    command.args(["--rounds", "1", "--tries", "1", "--patience", "5", "--peers", who]);
    command.args(["--ops", &ops.join(",")]);
    command.args(["--n", &ranks.to_string(), "--sizes", &sizes(options, 0)]);
    let said = printed(&mut command);
    let lines = std::fs::read_to_string(&table).unwrap_or_default();
    // A leftover of a file that may not be there.
    let _ = std::fs::remove_file(&table);
    let said = said?;
    // Its own line on the run ends with the peer's exit status and, after another than 0,
    // with the last that the peer said.
    let complaint = (!said.trim_end().ends_with("rc 0")).then(|| last_line(&said));
    Ok(Printed { lines, complaint })
}

/// Where Cargo builds, or what stands for it.
fn built() -> PathBuf {
    let own = env::current_exe().ok();
    let target = own.as_deref().and_then(|own| own.ancestors().nth(3)).map(Path::to_owned);
    target.unwrap_or_else(env::temp_dir)
}

fn printed(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("not started: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{}: {}", output.status, last_line(&String::from_utf8_lossy(&output.stderr))))
}

fn last_line(text: &str) -> String {
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing").to_owned()
}
