//! Random plans of up to three steps: verdicts, evidence and names agree.
//!
//! `cargo xtask oracle` runs a million of them; here it is as many as every run can
//! afford.

use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use rankwise_oracle::random::Random;
use rankwise_oracle::step::Step;

use crate::draw;
use crate::judge::{Disagreement, Relation, Tally, Trial};

/// How many pairs of proposals are compared, if nobody says otherwise.
const PLANS: u64 = 50_000;

/// More disagreements than this are not looked for.
pub(crate) const LISTED: usize = 8;

/// How many plans a thread takes at a time.
const PORTION: u64 = 250;

/// A number from the environment, as `cargo xtask oracle` sets it.
pub(crate) fn set(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is {text}, not a number")),
        Err(_) => otherwise,
    }
}

#[test]
#[allow(clippy::print_stdout)] // how many were compared is what this test shows
fn verdicts_agree_on_random_plans() {
    let plans = set("RANKWISE_ORACLE_PLANS", PLANS);
    let first = set("RANKWISE_ORACLE_SEED", 0);
    let found = Mutex::new((Tally::default(), Vec::new()));
    let next = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| work(first, plans, &next, &found));
        }
    });
    let (tally, disagreements) = found.into_inner().unwrap();
    assert!(disagreements.is_empty(), "{}", disagreements.join("\n\n"));
    println!("{plans} plans, seeds {first} and on: no disagreement");
    println!("{}", table(&tally));
    for (what, count) in &tally.counts {
        println!("  {what}: {count}");
    }
    // Not knowing is the exception, or the agreement is worth little.
    for (unknown, known) in
        [("state unknown", "state same"), ("need unknown", "need met"), ("undecided", "state same")]
    {
        assert!(tally.of(unknown) * 50 <= tally.of(known), "{unknown}: {:?}", tally.counts);
    }
    let empty = empty_cells(&tally);
    assert!(plans < PLANS || empty.is_empty(), "never came up: {empty:?}");
}

/// Takes portions of the seeds until none is left, or enough is found.
#[allow(clippy::print_stderr)] // a million take minutes
fn work(first: u64, plans: u64, next: &AtomicU64, found: &Mutex<(Tally, Vec<Disagreement>)>) {
    loop {
        let start = next.fetch_add(PORTION, Ordering::Relaxed);
        if start >= plans || found.lock().unwrap().1.len() >= LISTED {
            return;
        }
        let mut tally = Tally::default();
        let seeds = (start..plans.min(start + PORTION)).map(|index| first.wrapping_add(index));
        let disagreements: Vec<_> = seeds.filter_map(|seed| one(seed, &mut tally).err()).collect();
        let mut found = found.lock().unwrap();
        found.0.add(&tally);
        found.1.extend(disagreements);
        if start > 0 && start.is_multiple_of(20_000) {
            eprintln!("{start} of {plans} plans");
        }
    }
}

/// One plan: the first that can be carried out of those that the seed leads to.
fn one(seed: u64, tally: &mut Tally) -> Result<(), Disagreement> {
    let mut random = Random(seed);
    let case = (0..).find_map(|_| draw::case(&mut random)).expect("some plan can be carried out");
    let verdict = Trial::new(&case, seed).and_then(|mut trial| trial.pair([0, 1], tally));
    verdict.map_err(|text| format!("seed {seed}, {text}"))
}

/// Which operation followed by which never came out how.
fn empty_cells(tally: &Tally) -> Vec<(&'static str, &'static str, Relation)> {
    let mut empty = Vec::new();
    for first in Step::WORDS {
        for second in Step::WORDS {
            for relation in Relation::ALL {
                if !tally.cells.contains_key(&(first, second, relation)) {
                    empty.push((first, second, relation));
                }
            }
        }
    }
    empty
}

/// Operation by operation: how often each relation came out.
fn table(tally: &Tally) -> String {
    let words: Vec<&str> = Relation::ALL.iter().map(|relation| relation.word()).collect();
    let mut text = format!("an operation, the one after it: {}\n", words.join(" / "));
    for first in Step::WORDS {
        writeln!(text, "{first}").unwrap();
        for second in Step::WORDS {
            let counts = Relation::ALL.map(|relation| {
                tally.cells.get(&(first, second, relation)).copied().unwrap_or(0).to_string()
            });
            writeln!(text, "  {second:<16} {}", counts.join(" / ")).unwrap();
        }
    }
    text
}
