//! Other programs that do the same, one after the other in every round.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cell::{Cell, Op};
use crate::options::Options;

/// Microseconds, by program, cell and round.
pub(crate) type Times = BTreeMap<(String, Cell), BTreeMap<usize, f64>>;

pub(crate) struct Outside<'o> {
    options: &'o Options,
    pub(crate) times: Times,
    /// Who was not measured, and why.
    pub(crate) skipped: BTreeMap<&'static str, String>,
}

impl<'o> Outside<'o> {
    pub(crate) const FLOOR: &'static str = "floor";

    /// By the names that their `measure.py` has for them.
    pub(crate) const PEERS: [&'static str; 8] =
        ["ompi", "mpich", "impi", "gloo", "torch", "burn", "burn_nd", "jax"];

    pub(crate) fn new(options: &'o Options) -> Self {
        Self { options, times: Times::new(), skipped: BTreeMap::new() }
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

    fn one(
        &mut self,
        who: &'static str,
        ranks: u32,
        round: usize,
        run: impl FnOnce() -> Result<String, String>,
    ) {
        if self.skipped.contains_key(who) {
            return;
        }
        match run() {
            Ok(lines) => {
                let cells = lines.lines().filter_map(|line| cell(line, who));
                let mut any = false;
                for (cell, time) in cells.filter(|(cell, _)| cell.ranks == ranks) {
                    self.times.entry((who.to_owned(), cell)).or_default().insert(round, time);
                    any = true;
                }
                if !any {
                    self.skipped.insert(who, "it printed no time".to_owned());
                }
            }
            Err(why) => {
                self.skipped.insert(who, why);
            }
        }
    }
}

/// The line `who,op,dtype,n,bytes,us_median,…`.
fn cell(line: &str, who: &str) -> Option<(Cell, f64)> {
    let fields: Vec<&str> = line.split(',').collect();
    let [tag, op, dtype, ranks, bytes, time, ..] = fields[..] else { return None };
    let op = Op::ALL.into_iter().find(|known| known.name() == op)?;
    let (dtype, ranks, bytes) = (dtype.parse().ok()?, ranks.parse().ok()?, bytes.parse().ok()?);
    (tag == who).then_some((Cell { ranks, op, dtype, bytes, calls: 1 }, time.parse().ok()?))
}

/// Sizes as the other programs read them.
fn sizes(options: &Options, least: u64) -> String {
    let sizes = options.sizes.iter().filter(|bytes| **bytes >= least);
    sizes.map(u64::to_string).collect::<Vec<_>>().join(",")
}

fn floor(folder: &Path, options: &Options, ranks: u32) -> Result<String, String> {
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
    printed(&mut command)
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

fn peer(folder: &Path, who: &str, options: &Options, ranks: u32) -> Result<String, String> {
    let out = env::var_os("OUT").map_or_else(|| built().join("peers"), PathBuf::from);
    let table = env::temp_dir().join(format!("rankwise-{}-{who}.csv", std::process::id()));
    let mut command = Command::new("python3");
    command.arg(folder.join("measure.py")).arg(&table).env("OUT", &out);
    command.args(["--rounds", "1", "--tries", "1", "--patience", "5", "--peers", who]);
    command.args(["--n", &ranks.to_string(), "--sizes", &sizes(options, 0)]);
    let said = printed(&mut command);
    let lines = std::fs::read_to_string(&table).unwrap_or_default();
    // A leftover of a file that may not be there.
    let _ = std::fs::remove_file(&table);
    let said = said?;
    if lines.is_empty() {
        return Err(last_line(&said));
    }
    Ok(lines)
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
