//! Ranks whose programs are alike, against the same programs each with work of its own
//! behind, so that no two are.

use std::fmt::Write as _;
use std::sync::Arc;

use rankwise_program::{Program, Report, check};

use crate::dice::Dice;

/// A line of a program, with `OWN` where a rank names its own block, `PAIR` where it names
/// its pair and `PEER` for its other.
fn line(dice: &mut Dice) -> String {
    let stream = dice.pick(&["s0", "s0", "s1", "s2"]);
    let wait = dice.below(5) == 0;
    let end = format!(r#""stream": "{stream}", "wait": {wait}}}"#);
    let group = dice.pick(&[r#""group": "world""#, r#""group": "PAIR""#]);
    let dtype = dice.pick(&["f32", "f32", "bf16"]);
    let tag = dice.pick(&["", "", r#""tag": "t", "#]);
    let call = |op: &str, more: &str| {
        format!(r#"{{"op": "{op}", {group}, "count": 2, "dtype": "{dtype}", {tag}{more}, {end}"#)
    };
    match dice.below(9) {
        0 => {
            let place = dice.pick(&["x[0..2]", "x[2..4]", "y"]);
            call("all_reduce", &format!(r#""redop": "sum", "send": "{place}", "recv": "x[2..4]""#))
        }
        1 => call(
            "all_gather",
            &format!(r#""send": "x[{}]", "recv": "x""#, dice.pick(&["OWN", "0..2"])),
        ),
        2 => call("all_gather", r#""send": "x[OWN]", "recv": "y""#),
        3 => call(
            "reduce_scatter",
            &format!(
                r#""redop": "sum", "send": "x", "recv": "x[{}]""#,
                dice.pick(&["OWN", "0..2"])
            ),
        ),
        4 => format!(
            r#"{{"op": "group", "wait": {wait}, "calls": [
                {{"op": "send", "group": "PAIR", "peer": PEER, "count": 2, "dtype": "{dtype}", "send": "x[0..2]", "stream": "{stream}"}},
                {{"op": "recv", "group": "PAIR", "peer": PEER, "count": 2, "dtype": "{dtype}", "recv": "x[{}]", "stream": "{stream}"}}]}}"#,
            dice.pick(&["1..3", "2..4"])
        ),
        5 => format!(
            r#"{{"op": "fence", "stream": "{stream}", "after": "{}"}}"#,
            dice.pick(&["s0", "s1"])
        ),
        6 => format!(r#"{{"op": "wait", "stream": "{stream}"}}"#),
        _ => format!(
            r#"{{"op": "local", "dtype": "{dtype}", "read_dtype": "{}", {tag}"reads": "{}", "writes": "{}", {end}"#,
            dice.pick(&["f32", "bf16"]),
            dice.pick(&["x[0..2]", "x", "y[3..4]"]),
            dice.pick(&["x[1..3]", "y", "z"]),
        ),
    }
}

fn conflicts(programs: &[Vec<String>]) -> Vec<Arc<Report>> {
    let world = programs.len();
    let all: Vec<usize> = (0..world).collect();
    let mut groups = format!(r#""world": {all:?}"#);
    for rank in (0..world).step_by(2) {
        write!(groups, r#", "pair{rank}": [{rank}, {}]"#, rank + 1).unwrap();
    }
    let of = |(rank, lines): (usize, &Vec<String>)| {
        let own = rank % 2;
        let lines = lines.join(", ");
        let lines = lines.replace("PAIR", &format!("pair{}", rank - own));
        let lines = lines.replace("PEER", &(1 - own).to_string());
        format!(r#""{rank}": [{}]"#, lines.replace("OWN", ["0..2", "2..4"][own]))
    };
    let programs: Vec<String> = programs.iter().enumerate().map(of).collect();
    let programs = programs.join(", ");
    let text =
        format!(r#"{{"world": {world}, "groups": {{{groups}}}, "programs": {{{programs}}}}}"#);
    let found = check(&Program::from_json(&text).unwrap_or_else(|error| panic!("{error}\n{text}")));
    // The others say what else the ranks do.
    found.reports.into_iter().filter(|report| report.conflict.is_some()).collect()
}

#[test]
fn ranks_that_do_the_same_have_the_hazards_that_each_has_alone() {
    let mut dice = Dice(3);
    let (mut hazards, mut none) = (0, 0);
    for case in 0..1000 {
        let world = 2 * (1 + dice.below(12));
        // Of one kind or of many, which differ in a single line, or in which there is.
        let first: Vec<String> = (0..2 + dice.below(5)).map(|_| line(&mut dice)).collect();
        let mut kinds = vec![first];
        for _ in 0..dice.below(12) {
            let mut other = kinds[usize::try_from(dice.below(kinds.len() as u64)).unwrap()].clone();
            let at = usize::try_from(dice.below(other.len() as u64)).unwrap();
            match dice.below(3) {
                0 => other.insert(at, line(&mut dice)),
                1 => other[at] = line(&mut dice),
                _ => {
                    let changes = [
                        ("s0", "s1"),
                        ("f32", "bf16"),
                        ("true", "false"),
                        ("x[OWN]", "x[0..2]"),
                        ("\"y\"", "\"x\""),
                    ];
                    let (from, to) = changes[usize::try_from(dice.below(5)).unwrap()];
                    other[at] = other[at].replace(from, to);
                }
            }
            kinds.push(other);
        }
        let in_turn = dice.below(2) == 0;
        let mut programs = Vec::new();
        for rank in 0..world {
            let kind = if in_turn { rank / 2 } else { dice.below(100) };
            programs.push(kinds[usize::try_from(kind).unwrap() % kinds.len()].clone());
        }
        let found = conflicts(&programs);
        *(if found.is_empty() { &mut none } else { &mut hazards }) += 1;
        for (rank, lines) in programs.iter_mut().enumerate() {
            lines.push(format!(
                r#"{{"op": "local", "dtype": "u8", "writes": "own{rank}", "stream": "own"}}"#
            ));
        }
        assert_eq!(found, conflicts(&programs), "case {case}: {programs:?}");
    }
    assert!(hazards > 500 && none > 50, "{hazards} with conflicts, {none} without");
}
