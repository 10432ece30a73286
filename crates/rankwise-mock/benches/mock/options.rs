//! What is to be measured.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use rankwise_model::Dtype;

use crate::cell::{Cell, Op};

pub(crate) const HELP: &str = "\
options of the bench `mock` (lists are separated by commas):
  --ops LIST      all_reduce, all_gather, reduce_scatter
  --dtypes LIST   f32, bf16, or any other element type
  --n LIST        group sizes; 2,4,8 if not given
  --sizes LIST    bytes of one rank's longer side, as 8, 64K, 16M
  --calls LIST    calls enqueued per wait, from 1,16 (16 only up to 1 KiB)
  --rounds N      rounds, each on new buffers; 5 if not given
  --parts LIST    cells, neighbour, crowd; all if not given
  --floor FOLDER  the program of bare kernels, built and run in each round
  --peers FOLDER  the peers' measure.py, run in each round; what is built is found by OUT
  --smoke         a run of a moment, whose times mean nothing
folders are relative to the workspace";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Cells,
    Neighbour,
    Crowd,
}

#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) ops: Vec<Op>,
    pub(crate) dtypes: Vec<Dtype>,
    pub(crate) ranks: Vec<u32>,
    pub(crate) sizes: Vec<u64>,
    pub(crate) calls: Vec<u32>,
    pub(crate) rounds: usize,
    /// How long a sample should last.
    pub(crate) sample: Duration,
    /// Samples of each kind in a round, taken in turn.
    pub(crate) turns: usize,
    pub(crate) parts: Vec<Part>,
    pub(crate) floor: Option<PathBuf>,
    pub(crate) peers: Option<PathBuf>,
    /// Ranks of the crowd.
    pub(crate) crowd: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            ops: Op::ALL.to_vec(),
            dtypes: vec![Dtype::F32, Dtype::Bf16],
            ranks: vec![2, 4, 8],
            sizes: vec![8, 1 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20],
            calls: vec![1, 16],
            rounds: 5,
            sample: Duration::from_millis(10),
            turns: 3,
            parts: vec![Part::Cells, Part::Neighbour, Part::Crowd],
            floor: None,
            peers: None,
            crowd: 4096,
        }
    }
}

impl Options {
    /// Everything once, on little.
    pub(crate) fn smoke() -> Self {
        Self {
            ranks: vec![2, 4],
            sizes: vec![8, 1 << 10, 64 << 10],
            rounds: 1,
            sample: Duration::from_micros(200),
            turns: 1,
            crowd: 64,
            ..Self::default()
        }
    }

    /// Of the command line; `None` if that asks for help.
    pub(crate) fn read(words: &[String]) -> Result<Option<Self>, String> {
        let smoke = words.iter().any(|word| word == "--smoke");
        let mut options = if smoke { Self::smoke() } else { Self::default() };
        let mut words = words.iter().filter(|word| *word != "--smoke");
        while let Some(word) = words.next() {
            if matches!(word.as_str(), "--help" | "-h") {
                return Ok(None);
            }
            let value = words.next().ok_or_else(|| format!("`{word}` needs a value"))?;
            let wrong = || format!("{word}: `{value}` will not do");
            match word.as_str() {
                "--ops" => options.ops = list(value, op).ok_or_else(wrong)?,
                "--dtypes" => options.dtypes = list(value, parsed).ok_or_else(wrong)?,
                "--n" => options.ranks = list(value, positive).ok_or_else(wrong)?,
                "--sizes" => options.sizes = list(value, size).ok_or_else(wrong)?,
                "--calls" => options.calls = list(value, positive).ok_or_else(wrong)?,
                "--rounds" => options.rounds = parsed(value).ok_or_else(wrong)?,
                "--parts" => options.parts = list(value, part).ok_or_else(wrong)?,
                "--floor" => options.floor = Some(folder(value)),
                "--peers" => options.peers = Some(folder(value)),
                _ => return Err(format!("no option `{word}`")),
            }
        }
        Ok(Some(options))
    }

    /// The cells of one group size.
    pub(crate) fn cells(&self, ranks: u32) -> Vec<Cell> {
        let mut cells = Vec::new();
        for &op in &self.ops {
            for &dtype in &self.dtypes {
                for &bytes in &self.sizes {
                    for &calls in &self.calls {
                        cells.push(Cell { ranks, op, dtype, bytes, calls });
                    }
                }
            }
        }
        // A batch hides what a call costs beside its work, so it says nothing where
        // the work is all there is.
        let kept = |cell: &Cell| cell.layout().is_some() && (cell.calls == 1 || cell.bytes <= 1024);
        cells.retain(kept);
        cells
    }
}

fn list<T>(words: &str, one: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    words.split(',').map(one).collect()
}

fn parsed<T: FromStr>(word: &str) -> Option<T> {
    word.parse().ok()
}

/// Cargo starts a bench in the folder of its package, whoever types where.
pub(crate) fn folder(word: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(word)
}

fn positive(word: &str) -> Option<u32> {
    parsed(word).filter(|number| *number > 0)
}

fn op(word: &str) -> Option<Op> {
    Op::ALL.into_iter().find(|op| op.name() == word)
}

fn part(word: &str) -> Option<Part> {
    match word {
        "cells" => Some(Part::Cells),
        "neighbour" => Some(Part::Neighbour),
        "crowd" => Some(Part::Crowd),
        _ => None,
    }
}

fn size(word: &str) -> Option<u64> {
    let (number, unit) = match word.strip_suffix(['K', 'M']) {
        Some(number) if word.ends_with('K') => (number, 1 << 10),
        Some(number) => (number, 1 << 20),
        None => (word, 1),
    };
    parsed::<u64>(number)?.checked_mul(unit)
}
