//! Verdicts against brute force: random small plans, simulated with numbers that tell
//! contributions apart, and compared with what the library says of them.
//!
//! The simulation shares no code with the library; it reads the plan it generated,
//! not the library's idea of it.

mod generate;
mod numbers;
mod world;

use std::collections::BTreeMap;

use generate::Case;
use numbers::Random;
use rankwise_plan::Plan;
use rankwise_plan::compare::{State, compare};
use rankwise_plan::file::Format;
use rankwise_plan::need::Answer;
use rankwise_plan::read::NoArrays;
use rankwise_plan::term::Terms;
use world::Position;

/// How many pairs of proposals are compared.
const CASES: u64 = 20_000;

#[test]
#[allow(clippy::print_stdout)] // how many were compared is what this test shows
fn verdicts_agree_with_brute_force() {
    let mut tally: BTreeMap<String, u32> = BTreeMap::new();
    let mut compared = 0;
    for seed in 0.. {
        if compared == CASES {
            break;
        }
        let Some(case) = Case::random(&mut Random(seed)) else { continue };
        compared += 1;
        check(seed, &case, &mut tally);
    }
    println!("{compared} pairs of proposals, their states and needs: no disagreement");
    for (verdict, count) in &tally {
        println!("  {verdict}: {count}");
    }
    let count = |verdict: &str| tally.get(verdict).copied().unwrap_or(0);
    // A verdict that hardly came up was not tested.
    for verdict in ["state same", "state different", "need met", "need not met"] {
        assert!(count(verdict) > 1_000, "{verdict}: {tally:?}");
    }
    // Not knowing is the exception, or the agreement above is worth little.
    assert!(count("state unknown") * 200 < count("state same"), "{tally:?}");
    assert!(count("need unknown") * 200 < count("need met"), "{tally:?}");
}

fn check(seed: u64, case: &Case, tally: &mut BTreeMap<String, u32>) {
    let plan = Plan::read(&case.text, Format::Toml, &mut NoArrays)
        .unwrap_or_else(|error| panic!("seed {seed}: {error:?}\n{}", case.text));
    let [a, b] = ["a", "b"].map(|name| plan.proposal(name).unwrap());
    let mut terms = Terms::new();
    let comparison = compare((&plan, a), (&plan, b), &mut terms)
        .unwrap_or_else(|error| panic!("seed {seed}: {error:?}\n{}", case.text));

    let same = case.surface.iter().all(|buffer| {
        (0..case.worlds[0].ranks.len()).all(|rank| {
            let [one, other] = [&case.worlds[0], &case.worlds[1]].map(|world| {
                let held = world.ranks[rank].get(buffer);
                promised(held.map_or(&[], Vec::as_slice))
            });
            one == other
        })
    });
    // Where folds of different kinds are nested, equal numbers may have terms that no
    // law makes equal: then the library must not claim a difference.
    let agrees = match comparison.state.state {
        State::Same | State::Unknown => same,
        State::Different => !same,
    };
    assert!(agrees, "seed {seed}, same: {same}\n{}\n{comparison:#?}", case.text);
    let verdict = format!("state {}", comparison.state.state.name());
    *tally.entry(verdict).or_default() += 1;

    for (side, world) in case.worlds.iter().enumerate() {
        for (index, need) in case.needs.iter().enumerate() {
            let met = need.on.iter().zip(&need.wanted).all(|(rank, wanted)| {
                world.ranks[*rank].get(&need.buffer).is_some_and(|held| held == wanted)
            });
            let report = &comparison.needs[side].needs[index];
            let (agrees, verdict) = match report.answer {
                Answer::Yes => (met, "need met"),
                Answer::No => (!met, "need not met"),
                Answer::Unknown => (met, "need unknown"),
            };
            assert!(agrees, "seed {seed}, met: {met}\n{}\n{report:#?}", case.text);
            *tally.entry(verdict.to_string()).or_default() += 1;
        }
    }
}

/// The domain of a state: the promised positions, with their values.
fn promised(positions: &[Position]) -> BTreeMap<usize, Position> {
    positions.iter().copied().enumerate().filter(|(_, value)| value.is_some()).collect()
}
