//! Hazards against every order in which a rank's work can run, on small random programs.
//!
//! Nothing here is shared with the crate: each order that streams, fences and waits allow
//! is lived through, one step at a time, and two touches are in no order if one order has
//! both under way at once.

use std::collections::BTreeSet;

use rankwise_program::{Kind, Program, check};

use crate::dice::Dice;

#[derive(Clone, Debug)]
enum Act {
    /// Reads or writes a stretch of the one buffer.
    Touch {
        stream: usize,
        writes: bool,
        start: u64,
        end: u64,
        waits: bool,
    },
    Fence {
        stream: usize,
        after: usize,
    },
    Wait {
        stream: usize,
    },
}

const STREAMS: usize = 3;

fn acts(dice: &mut Dice) -> Vec<Act> {
    let stream = |dice: &mut Dice| usize::try_from(dice.below(3)).unwrap();
    let act = |dice: &mut Dice| match dice.below(10) {
        0..=6 => {
            let start = dice.below(4);
            Act::Touch {
                stream: stream(dice),
                writes: dice.below(2) == 0,
                start,
                end: start + 1 + dice.below(3),
                waits: dice.below(6) == 0,
            }
        }
        7 | 8 => Act::Fence { stream: stream(dice), after: stream(dice) },
        _ => Act::Wait { stream: stream(dice) },
    };
    let length = 2 + dice.below(6);
    (0..length).map(|_| act(dice)).collect()
}

fn notation(acts: &[Act]) -> String {
    let line = |act: &Act| match act {
        Act::Touch { stream, writes, start, end, waits } => {
            let field = if *writes { "writes" } else { "reads" };
            format!(
                r#"{{"op": "local", "stream": "s{stream}", "dtype": "u8", "{field}": "b[{start}..{end}]", "wait": {waits}}}"#
            )
        }
        Act::Fence { stream, after } => {
            format!(r#"{{"op": "fence", "stream": "s{stream}", "after": "s{after}"}}"#)
        }
        Act::Wait { stream } => format!(r#"{{"op": "wait", "stream": "s{stream}"}}"#),
    };
    let lines: Vec<String> = acts.iter().map(line).collect();
    format!(r#"{{"world": 1, "programs": {{"0": [{}]}}}}"#, lines.join(", "))
}

/// What is enqueued on a stream.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Work(usize),
    /// So many items of another stream must be over.
    After(usize, usize),
}

/// A moment: where the host is, what has been enqueued, how many items of each stream
/// are over, and which are under way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Moment {
    host: usize,
    host_waits: Vec<(usize, usize)>,
    queues: Vec<Vec<Item>>,
    over: Vec<usize>,
    running: BTreeSet<usize>,
}

/// Every pair of acts that are under way at once in some order.
fn together(acts: &[Act]) -> BTreeSet<(usize, usize)> {
    let first = Moment {
        host: 0,
        host_waits: Vec::new(),
        queues: vec![Vec::new(); STREAMS],
        over: vec![0; STREAMS],
        running: BTreeSet::new(),
    };
    let mut pairs = BTreeSet::new();
    let mut known = BTreeSet::from([first.clone()]);
    let mut open = vec![first];
    while let Some(moment) = open.pop() {
        for one in &moment.running {
            for other in moment.running.range(one + 1..) {
                pairs.insert((*one, *other));
            }
        }
        for next in after(acts, &moment) {
            if known.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    pairs
}

fn after(acts: &[Act], moment: &Moment) -> Vec<Moment> {
    let mut next = Vec::new();
    // The host goes on.
    let is_free = moment.host_waits.iter().all(|(stream, items)| moment.over[*stream] >= *items);
    if is_free && let Some(act) = acts.get(moment.host) {
        let mut moved = moment.clone();
        moved.host_waits.clear();
        moved.host += 1;
        match act {
            Act::Touch { stream, waits, .. } => {
                moved.queues[*stream].push(Item::Work(moment.host));
                if *waits {
                    moved.host_waits.push((*stream, moved.queues[*stream].len()));
                }
            }
            Act::Fence { stream, after } => {
                let items = moved.queues[*after].len();
                moved.queues[*stream].push(Item::After(*after, items));
            }
            Act::Wait { stream } => moved.host_waits.push((*stream, moved.queues[*stream].len())),
        }
        next.push(moved);
    }
    for stream in 0..STREAMS {
        match moment.queues[stream].get(moment.over[stream]) {
            Some(Item::Work(work)) => {
                let mut moved = moment.clone();
                if moved.running.insert(*work) {
                    next.push(moved);
                } else {
                    moved.running.remove(work);
                    moved.over[stream] += 1;
                    next.push(moved);
                }
            }
            Some(Item::After(other, items)) if moment.over[*other] >= *items => {
                let mut moved = moment.clone();
                moved.over[stream] += 1;
                next.push(moved);
            }
            _ => {}
        }
    }
    next
}

fn conflict(one: &Act, other: &Act) -> bool {
    match (one, other) {
        (
            Act::Touch { writes, start, end, .. },
            Act::Touch { writes: also, start: from, end: to, .. },
        ) => (*writes || *also) && start < to && from < end,
        _ => false,
    }
}

/// The streams of two touches, the earlier first: what is reported once.
fn sort(acts: &[Act], (one, other): (usize, usize)) -> [usize; 2] {
    [one, other].map(|at| match acts[at] {
        Act::Touch { stream, .. } => stream,
        _ => unreachable!("only touches are under way"),
    })
}

#[test]
fn a_hazard_is_two_touches_under_way_at_once() {
    let mut dice = Dice(7);
    let (mut with, mut without) = (0, 0);
    for _ in 0..3_000 {
        let acts = acts(&mut dice);
        let pairs: BTreeSet<(usize, usize)> = together(&acts)
            .into_iter()
            .filter(|(one, other)| conflict(&acts[*one], &acts[*other]))
            .collect();
        let text = notation(&acts);
        let found = check(&Program::from_json(&text).unwrap());
        let mut sorts = BTreeSet::new();
        for report in &found.reports {
            assert_eq!(report.kind, Kind::Hazard, "{report}");
            let conflict = report.conflict.as_ref().unwrap();
            let at = |step: u64| usize::try_from(step).unwrap();
            let pair = (at(conflict.first.place.step), at(conflict.second.place.step));
            assert!(pairs.contains(&pair), "{report}\nis none of {pairs:?} in {text}");
            assert!(sorts.insert(sort(&acts, pair)), "{report}\nis reported twice in {text}");
        }
        let expected: BTreeSet<_> = pairs.iter().map(|pair| sort(&acts, *pair)).collect();
        assert_eq!(sorts, expected, "{text}");
        // Whatever the order, all of it ends.
        let touches = acts.iter().filter(|act| matches!(act, Act::Touch { .. })).count();
        assert_eq!(found.completions.len(), touches);
        if pairs.is_empty() { without += 1 } else { with += 1 }
    }
    assert!(with > 500 && without > 500, "{with} with a hazard, {without} without");
}
