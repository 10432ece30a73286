//! Calls that are skipped, added, swapped or replaced on one rank, named exactly.

use rankwise_program::{Against, Aspect, Divergence, Edit, Findings, More, Program, check};

/// One all-reduce per count, waited for.
fn program(ranks: &[Vec<u64>]) -> Program {
    let line = |count: &u64| {
        format!(
            r#"{{"op": "all_reduce", "count": {count}, "dtype": "f32", "redop": "sum", "wait": true}}"#
        )
    };
    let of = |(rank, counts): (usize, &Vec<u64>)| {
        let lines: Vec<String> = counts.iter().map(line).collect();
        format!(r#""{rank}": [{}]"#, lines.join(", "))
    };
    let programs: Vec<String> = ranks.iter().enumerate().map(of).collect();
    let text = format!(r#"{{"world": {}, "programs": {{{}}}}}"#, ranks.len(), programs.join(", "));
    Program::from_json(&text).unwrap()
}

fn divergences(ranks: &[Vec<u64>]) -> (Findings, Vec<Divergence>) {
    let found = check(&program(ranks));
    let divergences = found.reports.iter().flat_map(|report| report.divergences.clone()).collect();
    (found, divergences)
}

fn count(call: &rankwise_program::Call) -> u64 {
    call.signature.payload().unwrap().count
}

/// An edit in numbers: what, which count, at which call.
fn plain(edit: &Edit) -> String {
    let at = |call: &rankwise_program::Call| format!("{} ({})", count(call), call.site);
    match edit {
        Edit::Skipped { call, calls, among } => format!("skips {calls} of {among}: {}", at(call)),
        Edit::Extra { call, calls, among } => format!("adds {calls} of {among}: {}", at(call)),
        Edit::Swapped { first, second } => format!("swaps {} and {}", at(first), at(second)),
        Edit::Moved { call, elsewhere } => format!("moves {} from {}", at(call), at(elsewhere)),
        Edit::Replaced { expected, found } => format!("{} for {}", at(found), at(expected)),
        other => panic!("{other:?}"),
    }
}

fn plainly(divergence: &Divergence) -> Vec<String> {
    divergence.edits.iter().map(plain).collect()
}

#[test]
fn a_skipped_call_shows_as_what_it_is_and_not_as_the_next_mismatch() {
    let full = vec![10, 11, 12, 13];
    let (found, divergences) = divergences(&[full.clone(), full.clone(), vec![10, 12, 13]]);
    let [report] = found.reports.as_slice() else { panic!("{:?}", found.reports) };
    assert!(report.aspects.contains(Aspect::Order) && report.aspects.contains(Aspect::Count));
    assert_eq!(
        report.to_string(),
        "mismatch of count, order: all_reduce(sum), collective 1 of world (3 ranks), outlier rank 2
  rank 0, 1: all_reduce(sum) of 11 × f32
    at rank 0, call 1 (rank 0)
    at rank 1, call 1 (rank 1)
  rank 2: all_reduce(sum) of 12 × f32
    at rank 2, call 1
  rank 2 against rank 0, 1, the majority:
    skips all_reduce(sum) of 11 × f32, collective 1 of world, at rank 0, call 1
  last calls of rank 2:
    all_reduce(sum) of 10 × f32, collective 0 of world, at rank 2, call 0
    all_reduce(sum) of 12 × f32, collective 1 of world, at rank 2, call 1"
    );
    assert_eq!(divergences.len(), 1);
    assert_eq!(divergences[0].against, Against::Majority);
}

#[test]
fn an_even_split_is_said_to_be_even() {
    let (found, divergences) =
        divergences(&[vec![1, 2, 3], vec![1, 2, 3], vec![2, 1, 3], vec![2, 1, 3]]);
    assert!(found.reports[0].outliers.is_empty());
    let [divergence] = divergences.as_slice() else { panic!("{divergences:?}") };
    assert_eq!(divergence.against, Against::NoMajority);
    let text = divergence.to_string();
    assert!(text.starts_with("rank 2, 3 against rank 0, 1, no majority:\n    swaps "), "{text}");
    assert_eq!(plainly(divergence), ["swaps 2 (rank 2, call 0) and 1 (rank 2, call 1)"]);
}

#[test]
fn one_of_several_equal_calls() {
    let (_, divergences) =
        divergences(&[vec![1, 7, 7, 7, 2], vec![1, 7, 7, 7, 2], vec![1, 7, 7, 2]]);
    assert_eq!(plainly(&divergences[0]), ["skips 1 of 3: 7 (rank 0, call 1)"]);
    assert!(divergences[0].to_string().ends_with(
        "skips 1 of 3 equal calls from all_reduce(sum) of 7 × f32, collective 1 of world, at rank 0, call 1"
    ));
}

#[test]
fn several_edits_in_their_order() {
    let full: Vec<u64> = (0..10).collect();
    //  0 1 2 3 4 5 6 7 8 9: without 2 and 3, 5 replaced, 7 at the end.
    let (_, divergences) =
        divergences(&[full.clone(), full.clone(), vec![0, 1, 4, 50, 6, 8, 9, 7]]);
    assert_eq!(
        plainly(&divergences[0]),
        [
            "skips 2 of 2: 2 (rank 0, call 2)",
            "50 (rank 2, call 3) for 5 (rank 0, call 5)",
            "moves 7 (rank 2, call 7) from 7 (rank 0, call 7)",
        ]
    );
}

#[test]
fn a_call_in_the_place_of_another_is_no_matter_of_order() {
    let (found, divergences) = divergences(&[vec![1, 2], vec![1, 2], vec![1, 3]]);
    assert!(!found.reports[0].aspects.contains(Aspect::Order));
    // The report's sides say it.
    assert_eq!(divergences, []);
}

#[test]
fn a_rank_that_stops_early_is_only_missing() {
    let (found, divergences) = divergences(&[vec![1, 2], vec![1, 2], vec![1]]);
    assert_eq!(found.reports[0].kind, rankwise_program::Kind::MissingRank);
    assert_eq!(divergences, []);
    // One that skips the first and therefore stops early has skipped the first; its
    // equal calls meet, and only the last is missing.
    let (found, divergences) = divergences_of_tagged(&[&["a", "b"], &["a", "b"], &["b"]]);
    assert_eq!(found.reports.len(), 1);
    assert_eq!(divergences.len(), 1);
}

/// The same, with calls that differ only in their tags.
fn divergences_of_tagged(ranks: &[&[&str]]) -> (Findings, Vec<Divergence>) {
    let line = |tag: &&str| format!(r#"{{"op": "barrier", "tag": "{tag}", "wait": true}}"#);
    let of = |(rank, tags): (usize, &&[&str])| {
        let lines: Vec<String> = tags.iter().map(line).collect();
        format!(r#""{rank}": [{}]"#, lines.join(", "))
    };
    let programs: Vec<String> = ranks.iter().enumerate().map(of).collect();
    let text = format!(r#"{{"world": {}, "programs": {{{}}}}}"#, ranks.len(), programs.join(", "));
    let found = check(&Program::from_json(&text).unwrap());
    let divergences = found.reports.iter().flat_map(|report| report.divergences.clone()).collect();
    (found, divergences)
}

#[test]
fn too_little_in_common_is_said() {
    let one: Vec<u64> = (0..100).collect();
    let other: Vec<u64> = (0..2).chain(200..298).collect();
    let (_, divergences) = divergences(&[one.clone(), one, other]);
    assert_eq!(divergences[0].more, More::NotAligned);
    assert_eq!(plainly(&divergences[0]), ["200 (rank 2, call 2) for 2 (rank 0, call 2)"]);
}

#[test]
fn messages_that_are_sent_in_another_order_than_they_are_received() {
    let send =
        |count: u64| format!(r#"{{"op": "send", "peer": 1, "count": {count}, "dtype": "u8"}}"#);
    let recv =
        |count: u64| format!(r#"{{"op": "recv", "peer": 0, "count": {count}, "dtype": "u8"}}"#);
    let text = format!(
        r#"{{"world": 2, "programs": {{"0": [{}, {}, {{"op": "wait"}}], "1": [{}, {}, {{"op": "wait"}}]}}}}"#,
        send(4),
        send(5),
        recv(5),
        recv(4)
    );
    let found = check(&Program::from_json(&text).unwrap());
    let [report] = found.reports.as_slice() else { panic!("{:?}", found.reports) };
    assert_eq!(report.aspects.to_string(), "count, order");
    assert_eq!(
        report.divergences[0].to_string(),
        "rank 1 against rank 0, no majority:
    swaps recv(from 0) of 5 × u8, message 0 from 0 to 1 of world, at rank 1, call 0
      and recv(from 0) of 4 × u8, message 1 from 0 to 1 of world, at rank 1, call 1"
    );
}

/// One edit of one rank, and what must be said of it.
#[test]
fn one_random_edit_is_named_exactly() {
    let mut state = 11_u64;
    let mut below = move |ways: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(state >> 33).unwrap() % ways
    };
    for round in 0..600 {
        let length = 2 + below(12);
        let full: Vec<u64> = (0..length as u64).map(|at| at + 1).collect();
        let ranks = 3 + below(3);
        let odd = below(ranks);
        // Who the report shows of the majority: the lowest.
        let like = usize::from(odd == 0);
        let mut calls = full.clone();
        let expected = match round % 3 {
            0 => {
                let at = below(length);
                let count = calls.remove(at);
                format!("skips 1 of 1: {count} (rank {like}, call {at})")
            }
            1 => {
                let at = below(length + 1);
                calls.insert(at, 99);
                format!("adds 1 of 1: 99 (rank {odd}, call {at})")
            }
            _ => {
                let one = below(length);
                let other = (one + 1 + below(length - 1)) % length;
                calls.swap(one, other);
                let (first, second) = (one.min(other), one.max(other));
                format!(
                    "swaps {} (rank {odd}, call {first}) and {} (rank {odd}, call {second})",
                    calls[first], calls[second]
                )
            }
        };
        let mut all = vec![full.clone(); ranks];
        all[odd] = calls.clone();
        let (found, divergences) = divergences(&all);
        assert_eq!(found.reports.len(), 1);
        // A call that is missing or added at the very end is what the report says itself.
        let at_the_end = full.starts_with(&calls) || calls.starts_with(&full);
        match divergences.as_slice() {
            [divergence] => {
                assert_eq!(plainly(divergence), [expected], "{all:?}");
                assert_eq!(divergence.ranks.len(), 1);
                assert_eq!(usize::try_from(divergence.ranks[0].index()).unwrap(), odd);
                assert_eq!(divergence.against, Against::Majority);
            }
            [] => assert!(at_the_end, "{all:?}"),
            several => panic!("{several:?}"),
        }
    }
}
