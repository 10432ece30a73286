//! Random plans, once as steps of all ranks and once as a program of each: whatever the
//! streams, a program that nothing is reported of leaves what the steps leave.

use std::fmt::Write as _;

use rankwise_plan::evaluate::{Evaluation, evaluate};
use rankwise_plan::file::Format;
use rankwise_plan::plan::Plan;
use rankwise_plan::read::NoArrays;
use rankwise_plan::term::Terms;
use rankwise_topology::World;

struct Dice(u64);

impl Dice {
    fn below(&mut self, ways: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % ways
    }
}

/// A step: whose it is (nobody's is everybody's), and its keys.
struct Line {
    on: Option<usize>,
    keys: String,
}

/// Steps on `ranks` ranks, from an input `x` of 12 elements.
fn lines(dice: &mut Dice, ranks: usize) -> Vec<Line> {
    let mut buffers = vec![("x".to_owned(), 12)];
    let mut lines = Vec::new();
    let all = |keys: String| Line { on: None, keys };
    for number in 0..2 + dice.below(5) {
        let (from, count) = buffers[dice.below(buffers.len())].clone();
        let new = format!("b{number}");
        let call = |keys: &str| all(format!("{keys}, send = \"{from}\", recv = \"{new}\""));
        match dice.below(9) {
            0 => {
                let op = ["sum", "max"][dice.below(2)];
                lines.push(call(&format!("call = \"all_reduce\", op = \"{op}\"")));
                buffers.push((new, count));
            }
            1 => {
                lines.push(call("call = \"all_gather\""));
                buffers.push((new, count * ranks));
            }
            2 if count % ranks == 0 => {
                lines.push(call("call = \"reduce_scatter\", op = \"sum\""));
                buffers.push((new, count / ranks));
            }
            3 => {
                let root = dice.below(ranks);
                lines.push(call(&format!("call = \"broadcast\", root = {root}")));
                buffers.push((new, count));
            }
            // In place: the buffer is another afterwards.
            4 => lines.push(all(format!(
                "call = \"all_reduce\", op = \"sum\", send = \"{from}\", recv = \"{from}\""
            ))),
            5 => {
                lines.push(call("call = \"slice\", positions = \"0..1\""));
                buffers.push((new, 1));
            }
            6 => {
                let both = format!("call = \"concat\", send = [\"{from}\", \"{from}\"]");
                lines.push(all(format!("{both}, recv = \"{new}\"")));
                buffers.push((new, 2 * count));
            }
            7 => {
                // A message into a buffer of the same length.
                let (sender, receiver) = (dice.below(ranks), dice.below(ranks));
                if sender != receiver {
                    let send = format!("call = \"send\", peer = {receiver}, send = \"{from}\"");
                    let same: Vec<_> =
                        buffers.iter().filter(|(_, other)| *other == count).collect();
                    let into = same[dice.below(same.len())].0.clone();
                    let recv = format!("call = \"recv\", peer = {sender}, recv = \"{into}\"");
                    lines.push(Line { on: Some(sender), keys: send });
                    lines.push(Line { on: Some(receiver), keys: recv });
                }
            }
            _ => {
                lines.push(call("call = \"copy\""));
                buffers.push((new, count));
            }
        }
    }
    lines
}

fn head(ranks: usize) -> String {
    format!("format = 1\ngroup.ranks = {ranks}\ninput.x = {{ dtype = \"f32\", count = 12 }}\n")
}

fn together(lines: &[Line], ranks: usize) -> String {
    let mut text = head(ranks);
    text.push_str("proposal.p.step = [\n");
    for Line { on, keys } in lines {
        let on = on.map_or_else(String::new, |rank| format!(", on = {{ rank = {rank} }}"));
        writeln!(text, "  {{ {keys}{on} }},").unwrap();
    }
    text.push_str("]\n");
    text
}

/// How the steps of a program are put on streams.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Streams {
    /// All on one.
    One,
    /// On any of three, and the host waits after each.
    Waited,
    /// On any of three, with a fence here and there.
    Loose,
}

fn apart(lines: &[Line], ranks: usize, streams: Streams, dice: &mut Dice) -> String {
    // Every rank puts a step on the same stream: what is in one order stays so.
    let names = ["s0", "s1", "s2"];
    let mut of = || match streams {
        Streams::One => (0, None),
        Streams::Waited => (dice.below(3), None),
        Streams::Loose => (dice.below(3), Some((dice.below(3), dice.below(3)))),
    };
    let placed: Vec<_> = lines.iter().map(|line| (line, of())).collect();
    let mut text = head(ranks);
    for rank in 0..ranks {
        writeln!(text, "[[proposal.p.program]]\non = {{ rank = {rank} }}\nstep = [").unwrap();
        for (Line { on, keys }, (stream, fence)) in &placed {
            if let Some((waiting, after)) = fence {
                let (waiting, after) = (names[*waiting], names[*after]);
                writeln!(
                    text,
                    "  {{ call = \"fence\", stream = \"{waiting}\", after = \"{after}\" }},"
                )
                .unwrap();
            }
            if on.is_none_or(|on| on == rank) {
                let wait = if streams == Streams::Waited { ", wait = true" } else { "" };
                let stream = names[*stream];
                writeln!(text, "  {{ {keys}, stream = \"{stream}\"{wait} }},").unwrap();
            }
        }
        text.push_str("]\n");
    }
    text
}

fn evaluated(text: &str) -> (Plan, Evaluation, Terms) {
    let plan = Plan::read(text, Format::Toml, &mut NoArrays).unwrap();
    let mut terms = Terms::new();
    let evaluation = evaluate(&plan, &plan.proposals[0], &mut terms)
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    (plan, evaluation, terms)
}

/// Every buffer of every rank, as text.
fn state(text: &str) -> (Vec<String>, Evaluation) {
    let (plan, evaluation, terms) = evaluated(text);
    let mut lines = Vec::new();
    for rank in World::new(plan.world).ranks() {
        for (name, vector) in evaluation.after.buffers(rank) {
            let runs: Vec<String> = vector.runs().map(|run| terms.show_run(&run)).collect();
            lines.push(format!("{rank} {name} {}", runs.join(" ")));
        }
    }
    (lines, evaluation)
}

#[test]
fn programs_leave_what_steps_leave() {
    let mut dice = Dice(5);
    let (mut clean, mut faulty) = (0, 0);
    for _ in 0..250 {
        let ranks = 2 + dice.below(2);
        let lines = lines(&mut dice, ranks);
        let (expected, steps) = state(&together(&lines, ranks));
        assert!(steps.findings.is_none());
        for streams in [Streams::One, Streams::Waited, Streams::Loose] {
            let text = apart(&lines, ranks, streams, &mut dice);
            let (found, evaluation) = state(&text);
            let reports = evaluation.reports();
            if streams != Streams::Loose {
                assert!(reports.is_empty(), "{}\n{text}", reports[0]);
            }
            if reports.is_empty() {
                assert_eq!(found, expected, "{text}");
                clean += 1;
            } else {
                faulty += 1;
            }
        }
    }
    assert!(clean > 550 && faulty > 50, "{clean} without a report, {faulty} with one");
}
