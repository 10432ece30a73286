//! The table: every cell, in rounds.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::cell::Cell;
use crate::goal::Goal;
use crate::group::{Group, cores};
use crate::options::Options;
use crate::outside::{Outside, Times};
use crate::race::{each, repetitions};
use crate::streaming::Streaming;

const MEANING: &str = "\
Sums and gathers out of place. `size` is one rank's longer side: the input of all_reduce
and reduce_scatter, the output of all_gather. `calls` are enqueued per wait; times are
microseconds per call, as the slowest rank sees them; a thread per rank.
  mock        through World, Comm, Stream and Fence
  ideal       the engine's own kernel on the same buffers, a thread per core, each always
              the same part, no word between them; in turn with the mock in one process
  shared      the ideal's time over that of the same jobs through `Job::work`: what is lost
              by sharing alone; a thread per core, which never sleeps
  traffic     the least that must be read and written (all_reduce 2nS, the others (n+1)S)
              over the ideal's time, in GB/s; from 16 MiB on beside a streaming copy of
              2 x 64 MiB in the same turns
  floor, peer other programs in the same round, if asked for; the fastest peer is named.
              Peers make one call after the other; torch has all_reduce in place only
Every ratio is worked out in its own round and above 1 where the mock is faster: the median
of the rounds (least-greatest). Goals are those of the project; nothing fails for one.";

/// One round of a cell: medians of its turns.
#[derive(Clone, Copy)]
struct Sample {
    mock: f64,
    ideal: f64,
    /// The ideal's time over the mock's.
    ratio: f64,
    /// The ideal's time over that of shared jobs.
    shared: f64,
    /// The ideal's traffic over that of the streaming copy.
    of_copy: Option<f64>,
}

pub(crate) fn run(options: &Options) {
    println!("{MEANING}");
    println!("{} rounds of {} turns, {} cores\n", options.rounds, options.turns, cores());
    let mut outside = Outside::new(options);
    let mut samples: BTreeMap<Cell, Vec<Sample>> = BTreeMap::new();
    for round in 0..options.rounds {
        for &ranks in &options.ranks {
            outside.run(ranks, round);
            for cell in options.cells(ranks) {
                samples.entry(cell).or_default().push(sample(cell, options));
            }
        }
    }
    println!(
        "{:<14} {:<4} {:>2} {:>8} {:>5} {:>10} {:>10} {:>17} {:>17} {:>8} {:>17}",
        "op",
        "type",
        "n",
        "size",
        "calls",
        "mock",
        "ideal",
        "ideal/mock",
        "ideal/shared",
        "traffic",
        "of the copy"
    );
    for (cell, samples) in &samples {
        row(*cell, samples, &outside.times);
    }
    let (failures, skipped) = outside.failures();
    for failure in failures {
        println!("{failure}");
    }
    println!("{} cells, {skipped} other programs skipped", samples.len());
}

/// One round: new buffers, and what is to be compared in turn.
fn sample(cell: Cell, options: &Options) -> Sample {
    let mut group = Group::new(cell);
    let mut copy = (cell.bytes >= 16 << 20).then(Streaming::new);
    let waits = repetitions(options.sample, &mut |waits| group.through_trait(waits));
    let times = repetitions(options.sample, &mut |times| group.ideally(times));
    let jobs = times.min(1000);
    let (mut mocks, mut ideals, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let mut shareds = Vec::new();
    let mut of_copies = Vec::new();
    for _ in 0..options.turns {
        let mock = each(group.through_trait(waits), waits.saturating_mul(cell.calls));
        let ideal = each(group.ideally(times), times);
        mocks.push(mock);
        ideals.push(ideal);
        ratios.push(ideal / mock);
        shareds.push(ideal / each(group.shared(jobs), jobs));
        if let Some(copy) = &mut copy {
            let copying = each(copy.copy(1), 1);
            of_copies.push(speed(cell.traffic(), ideal) / speed(Streaming::traffic(), copying));
        }
    }
    let of_copy = (!of_copies.is_empty()).then(|| Spread::of(of_copies).median);
    let median = |values| Spread::of(values).median;
    let (mock, ideal) = (median(mocks), median(ideals));
    Sample { mock, ideal, ratio: median(ratios), shared: median(shareds), of_copy }
}

fn row(cell: Cell, samples: &[Sample], others: &Times) {
    let spread = |of: fn(&Sample) -> f64| Spread::of(samples.iter().map(of).collect());
    let (mock, ideal) = (spread(|sample| sample.mock), spread(|sample| sample.ideal));
    let (ratio, shared) = (spread(|sample| sample.ratio), spread(|sample| sample.shared));
    let of_copies: Vec<f64> = samples.iter().filter_map(|sample| sample.of_copy).collect();
    let of_copy = (!of_copies.is_empty()).then(|| Spread::of(of_copies));
    let against = |who: &str| {
        let times = others.get(&(who.to_owned(), Cell { calls: 1, ..cell }))?;
        let in_round = |(round, time): (&usize, &f64)| Some(time / samples.get(*round)?.mock);
        let ratios: Vec<f64> = times.iter().filter_map(in_round).collect();
        (!ratios.is_empty()).then(|| Spread::of(ratios))
    };
    let floor = against(Outside::FLOOR);
    let peers = Outside::PEERS.into_iter().filter_map(|who| Some((who, against(who)?)));
    let fastest = peers.min_by(|(_, a), (_, b)| a.median.total_cmp(&b.median));

    let mut line = format!(
        "{cell} {:>10.2} {:>10.2} {:>17} {:>17} {:>8.1} {:>17}",
        mock.median,
        ideal.median,
        ratio.to_string(),
        shared.to_string(),
        speed(cell.traffic(), ideal.median),
        of_copy.as_ref().map(Spread::to_string).unwrap_or_default(),
    );
    if let Some(floor) = &floor {
        let _ = write!(line, "  floor/mock {floor}"); // into a string: never fails
    }
    if let Some((who, ratio)) = &fastest {
        let _ = write!(line, "  {who}/mock {ratio}"); // as above
    }
    let found = |goal| match goal {
        Goal::OfIdeal(_) => Some(ratio.median),
        Goal::OfCopy(_) => of_copy.as_ref().map(|spread| spread.median),
        Goal::Within(_) => Some(mock.median),
        Goal::OfPeer(_) => fastest.as_ref().map(|(_, spread)| spread.median),
    };
    let verdicts = Goal::of(cell).into_iter().filter_map(|goal| goal.verdict(found));
    println!("{line}  {}", verdicts.collect::<Vec<_>>().join("; "));
}

/// GB/s.
#[allow(clippy::cast_precision_loss)] // for people
fn speed(traffic: u64, microseconds: f64) -> f64 {
    traffic as f64 / microseconds / 1e3
}

/// What several rounds say.
pub(crate) struct Spread {
    pub(crate) median: f64,
    least: f64,
    greatest: f64,
}

impl Spread {
    /// Of at least one value.
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        Self { median: values[middle], least: values[0], greatest: values[values.len() - 1] }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2} ({:.2}-{:.2})", self.median, self.least, self.greatest)
    }
}
