//! Random programs that ranks share, against the same programs written out for each rank:
//! of the first, ranks that do the same may be gone through once, of the others never.

use std::fmt::Write as _;

use rankwise_plan::evaluate::evaluate;
use rankwise_plan::file::Format;
use rankwise_plan::plan::{Enqueued, Plan};
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

    fn one_in(&mut self, ways: usize) -> bool {
        self.below(ways) == 0
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
}

/// The ranks, what they hold, and their groups.
struct Setting {
    ranks: usize,
    head: String,
    /// What `over` may be, and for each rank the size of its group.
    over: Vec<(String, Vec<usize>)>,
    ragged: Vec<u64>,
}

fn setting(dice: &mut Dice) -> Setting {
    let (shape, axes) = dice.pick(&[
        (&[2, 2][..], "\"dp\", \"tp\""),
        (&[2, 3], "\"dp\", \"tp\""),
        (&[3, 2], "\"dp\", \"tp\""),
        (&[2, 4], "\"dp\", \"tp\""),
        (&[2, 2, 2], "\"pp\", \"dp\", \"tp\""),
        (&[12, 1], "\"dp\", \"tp\""),
    ]);
    let ranks: usize = shape.iter().product();
    let [.., dp, tp] = *shape else { panic!("two axes") };
    // Unequal sizes, the same group under other names, and in another order.
    let cut = 1 + dice.below(ranks - 1);
    let low: Vec<usize> = (0..cut).collect();
    let high: Vec<usize> = (cut..ranks).collect();
    let pairs: Vec<Vec<usize>> =
        (0..ranks / tp).map(|of| (of * tp..(of + 1) * tp).collect()).collect();
    let back: Vec<usize> = (0..ranks).rev().collect();
    let of_cut: Vec<usize> =
        (0..ranks).map(|rank| if rank < cut { cut } else { ranks - cut }).collect();
    let ragged: Vec<u64> = (0..ranks).map(|_| dice.pick(&[24, 24, 48])).collect();
    let odd: Vec<u64> = (0..ranks).map(|_| dice.pick(&[1, 1, 2])).collect();
    let head = format!(
        "format = 1\ngroup.ranks = {ranks}\nmesh = {{ axes = [{axes}], shape = {shape:?} }}\n\
         groups.cut.lists = [{low:?}, {high:?}]\n\
         groups.low.ranks = {low:?}\ngroups.high.ranks = {high:?}\n\
         groups.pairs.lists = {pairs:?}\n\
         groups.back.ranks = {back:?}\n\
         groups.\"tp[0]\".ranks = {low:?}\n\
         input.x = {{ dtype = \"f32\", count = 24 }}\n\
         input.r = {{ dtype = \"f32\", counts = {ragged:?} }}\n\
         input.q = {{ dtype = \"bf16\", counts = {odd:?}, by = \"rank\" }}\n"
    );
    let named = |name: &str| format!("over = \"{name}\", ");
    let over = vec![
        (String::new(), vec![ranks; ranks]),
        (named("tp"), vec![tp; ranks]),
        (named("dp"), vec![dp; ranks]),
        (named("cut"), of_cut.clone()),
        (named("pairs"), vec![tp; ranks]),
        (named("back"), vec![ranks; ranks]),
        (format!("over = {pairs:?}, "), vec![tp; ranks]),
        (format!("over = [{high:?}, {low:?}], "), of_cut),
    ];
    Setting { ranks, head, over, ragged }
}

/// The steps of a program; `more` are those that depend on other ranks.
fn steps(dice: &mut Dice, of: &Setting, more: bool) -> Vec<String> {
    let x: Vec<u64> = vec![24; of.ranks];
    let mut buffers = vec![("x".to_owned(), x), ("r".to_owned(), of.ragged.clone())];
    let streams = 1 + dice.below(3);
    let mut steps = Vec::new();
    let over = [dice.pick(&of.over), dice.pick(&of.over), dice.pick(&of.over)];
    for number in 0..2 + dice.below(6) {
        let (from, lens) = dice.pick(&buffers);
        let new = if dice.one_in(4) { dice.pick(&buffers).0 } else { format!("b{number}") };
        let (over, sizes) = dice.pick(&over);
        let each = |of: &dyn Fn(u64, u64) -> Option<u64>| -> Option<Vec<u64>> {
            let sizes = sizes.iter().map(|size| *size as u64);
            lens.iter().zip(sizes).map(|(len, size)| of(*len, size)).collect()
        };
        let divided = each(&|len, size| (len % size == 0).then_some(len / size));
        let (mut send, mut recv) = (from.clone(), new.clone());
        if dice.one_in(12) {
            send = format!("{from}[0..4]");
        }
        let op = dice.pick(&["op = \"sum\", ", "op = \"sum\", ", "op = \"max\", ", ""]);
        let (call, left) = match dice.below(if more { 16 } else { 12 }) {
            0 => (format!("call = \"all_reduce\", {op}{over}"), Some(lens.clone())),
            1 => {
                recv.clone_from(&send);
                (format!("call = \"all_reduce\", {op}{over}"), Some(lens.clone()))
            }
            2 => (format!("call = \"all_gather\", {over}"), each(&|len, size| Some(len * size))),
            // In place, where it divides.
            3 if divided.is_some() || dice.one_in(8) => {
                recv.clone_from(&send);
                (format!("call = \"all_gather\", {over}"), Some(lens.clone()))
            }
            4 if divided.is_some() || dice.one_in(8) => {
                (format!("call = \"reduce_scatter\", {op}{over}"), divided)
            }
            5 if divided.is_some() || dice.one_in(8) => {
                recv.clone_from(&send);
                (format!("call = \"reduce_scatter\", {op}{over}"), Some(lens.clone()))
            }
            6 if divided.is_some() || dice.one_in(8) => {
                (format!("call = \"all_to_all\", {over}"), Some(lens.clone()))
            }
            7 => ("call = \"slice\", positions = \"0..12\", ".to_owned(), Some(vec![12; of.ranks])),
            8 => ("call = \"cast\", dtype = \"bf16\", ".to_owned(), Some(lens.clone())),
            9 => {
                let count = dice.pick(&[24, 48]);
                send.clear();
                let fill =
                    format!("call = \"fill\", value = 3, dtype = \"f32\", count = {count}, ");
                (fill, Some(vec![count; of.ranks]))
            }
            10 => {
                // A part of a buffer: the rest stays.
                "x[0..6]".clone_into(&mut send);
                recv = format!("{from}[6..12]");
                ("call = \"copy\", ".to_owned(), Some(lens.clone()))
            }
            12 => (format!("call = \"broadcast\", root = 0, {over}"), Some(lens.clone())),
            13 => (format!("call = \"reduce\", root = 0, {op}{over}"), Some(lens.clone())),
            14 => (format!("call = \"shard\", {over}"), divided),
            15 => (format!("call = \"scatter\", root = 0, {over}"), divided),
            _ => ("call = \"copy\", ".to_owned(), Some(lens.clone())),
        };
        let stream = dice.below(streams);
        let wait = if dice.one_in(4) { ", wait = true" } else { "" };
        let send = if send.is_empty() { send } else { format!("send = \"{send}\", ") };
        steps.push(format!("{call}{send}recv = \"{recv}\", stream = \"s{stream}\"{wait}"));
        if streams > 1 && !dice.one_in(3) {
            let (one, other) = (dice.below(streams), dice.below(streams));
            steps.push(match dice.below(3) {
                0 => format!("call = \"wait\", stream = \"s{one}\""),
                _ => format!("call = \"fence\", stream = \"s{one}\", after = \"s{other}\""),
            });
        }
        let name = recv.split('[').next().unwrap().to_owned();
        buffers.retain(|(known, _)| *known != name);
        // Where it does not fit, there is an error anyway.
        buffers.push((name, left.unwrap_or(lens)));
    }
    steps
}

fn program(text: &mut String, on: &str, steps: &[String]) {
    writeln!(text, "[[proposal.p.program]]\non = {on}\nstep = [").unwrap();
    for step in steps {
        writeln!(text, "  {{ {step} }},").unwrap();
    }
    text.push_str("]\n");
}

/// A program: whose it is, in words and by rank, and its steps.
type Owned = (String, Vec<usize>, Vec<String>);

fn shared(dice: &mut Dice, of: &Setting) -> Vec<Owned> {
    let on = |name: &str, list: &str| {
        let ranks = of.head.split(list).nth(1).unwrap().lines().next().unwrap();
        let ranks: Vec<usize> =
            ranks.trim_matches(['[', ']']).split(", ").map(|rank| rank.parse().unwrap()).collect();
        (format!("{{ group = \"{name}\" }}"), ranks)
    };
    let everybody = ("\"every rank\"".to_owned(), (0..of.ranks).collect());
    let owners = match dice.below(3) {
        0 => vec![on("high", "groups.high.ranks = "), on("low", "groups.low.ranks = ")],
        _ => vec![everybody],
    };
    let same = dice.one_in(2).then(|| steps(dice, of, false));
    let mut programs = Vec::new();
    for (on, ranks) in owners {
        let more = dice.one_in(3);
        let own = same.clone().unwrap_or_else(|| steps(dice, of, more));
        programs.push((on, ranks, own));
    }
    programs
}

/// A plan with the programs as they are, and one with a program for each rank.
fn both(head: &str, ranks: usize, programs: &[Owned]) -> [String; 2] {
    let [mut together, mut apart] = [head, head].map(str::to_owned);
    for (on, _, steps) in programs {
        program(&mut together, on, steps);
    }
    for rank in 0..ranks {
        for (.., steps) in programs.iter().filter(|(_, ranks, _)| ranks.contains(&rank)) {
            program(&mut apart, &format!("{{ rank = {rank} }}"), steps);
        }
    }
    [together, apart]
}

/// The text with the numbers of steps as those that they have in their programs.
fn renumbered(plan: &Plan, text: &str) -> String {
    let within = |step: usize| {
        let programs = plan.proposals[0].programs.iter();
        let acts = programs.flat_map(|program| program.acts.iter().enumerate());
        let is_it =
            |act: &Enqueued| matches!(act, Enqueued::Step { step: own, .. } if *own == step);
        acts.clone().find(|(_, act)| is_it(act)).map_or(step, |(index, _)| index)
    };
    let mut parts = text.split("step ");
    let mut out = parts.next().unwrap().to_owned();
    for part in parts {
        let digits = part.find(|of: char| !of.is_ascii_digit()).unwrap_or(part.len());
        let number = part[..digits].parse().ok().map(within);
        let shown = number.map_or_else(String::new, |number| number.to_string());
        write!(out, "step {shown}{}", &part[digits..]).unwrap();
    }
    out
}

/// All that is said of a plan: reports, orders, and what is left on every rank; or the
/// error, without the number of its program.
fn said(text: &str) -> (Vec<String>, usize) {
    let plan = Plan::read(text, Format::Toml, &mut NoArrays)
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut terms = Terms::new();
    let evaluation = match evaluate(&plan, &plan.proposals[0], &mut terms) {
        Ok(evaluation) => evaluation,
        Err(error) => {
            let step = error.path.rsplit('.').next().unwrap_or_default();
            let said = format!("{:?} {step} {} {}", error.kind, error.found, error.expected);
            return (vec![said], usize::MAX);
        }
    };
    let findings = evaluation.findings.as_ref().unwrap();
    let mut lines: Vec<String> =
        findings.reports.iter().map(|report| format!("{report}\n{report:?}")).collect();
    let completions: Vec<Vec<_>> = findings.completions.iter().map(Iterator::collect).collect();
    lines.push(format!("{:?} {:?} {completions:?}", findings.order, findings.caveats));
    for rank in World::new(plan.world).ranks() {
        for (name, vector) in evaluation.after.buffers(rank) {
            let mut runs: Vec<(u64, String)> = Vec::new();
            for run in vector.runs() {
                let shown = renumbered(&plan, &terms.show_run(&run));
                match runs.last_mut() {
                    // Of several ranks' steps with one number.
                    Some((end, last)) if *last == shown => *end = run.positions.end,
                    _ => runs.push((run.positions.end, shown)),
                }
            }
            lines.push(format!("{rank} {name} {} {runs:?}", vector.dtype()));
        }
    }
    (lines, findings.reports.len())
}

/// That the same is said of both plans: how many reports, more than any where it is an
/// error.
fn same(head: &str, ranks: usize, programs: &[Owned]) -> usize {
    let [together, apart] = both(head, ranks, programs);
    let (found, reports) = said(&together);
    let expected = said(&apart).0;
    for (line, expected) in found.iter().zip(&expected) {
        assert_eq!(line, expected, "{together}");
    }
    assert_eq!(found.len(), expected.len(), "{together}");
    reports
}

#[test]
fn what_is_shared_is_as_if_written_out_for_each_rank() {
    let mut dice = Dice(11);
    let (mut clean, mut faulty, mut refused) = (0, 0, 0);
    for _ in 0..600 {
        let of = setting(&mut dice);
        let programs = shared(&mut dice, &of);
        match same(&of.head, of.ranks, &programs) {
            0 => clean += 1,
            usize::MAX => refused += 1,
            _ => faulty += 1,
        }
    }
    assert!(
        clean > 80 && faulty > 200 && refused > 80,
        "{clean} without a report, {faulty} with one, {refused} refused"
    );
}

const SIX: &str = "format = 1\ngroup.ranks = 6\n\
    groups.even.ranks = [0, 2, 4]\ngroups.odd.ranks = [1, 3, 5]\n\
    groups.pairs.lists = [[0, 1], [2, 3], [4, 5]]\n\
    input.x = { dtype = \"f32\", count = 12 }\n";

fn on_all(steps: &[&str]) -> Vec<Owned> {
    let steps = steps.iter().map(ToString::to_string).collect();
    Vec::from([("\"every rank\"".to_owned(), (0..6).collect(), steps)])
}

fn even_and_odd(even: &[&str], odd: &[&str]) -> Vec<Owned> {
    let of = |name: &str, first: usize, steps: &[&str]| {
        let steps = steps.iter().map(ToString::to_string).collect();
        (format!("{{ group = \"{name}\" }}"), (first..6).step_by(2).collect(), steps)
    };
    Vec::from([of("even", 0, even), of("odd", 1, odd)])
}

/// Rank 0 is twice in one group, where the others are in two.
#[test]
fn which_groups_are_the_same_differs_by_rank() {
    let steps = on_all(&[
        r#"call = "all_reduce", op = "sum", over = [[0, 1], [2, 3], [4, 5]], send = "x", recv = "y""#,
        r#"call = "all_gather", over = [[0, 1], [2, 4], [3, 5]], send = "y", recv = "z""#,
    ]);
    assert_eq!(same(SIX, 6, &steps), 0);
}

#[test]
fn two_programs_on_the_same_groups_are_two() {
    let reduce = r#"call = "all_reduce", op = "sum", send = "y", recv = "z""#;
    let programs = even_and_odd(
        &[r#"call = "copy", send = "x", recv = "y""#, reduce],
        &[r#"call = "slice", positions = "0..4", send = "x", recv = "y""#, reduce],
    );
    assert_eq!(same(SIX, 6, &programs), 1);
}

#[test]
fn shards_are_not_of_one_length() {
    let steps = on_all(&[
        r#"call = "shard", shape = [7], dim = 0, uneven = "balanced", send = "x", recv = "y""#,
        r#"call = "all_reduce", op = "sum", send = "y", recv = "z""#,
    ]);
    assert_eq!(same(&SIX.replace("count = 12", "count = 7"), 6, &steps), 1);
}

/// The size of each broadcast on an odd rank is that of what its pair calls.
#[test]
fn every_group_is_told_what_is_brought() {
    let programs = even_and_odd(
        &[r#"call = "all_reduce", op = "sum", over = "pairs", send = "x", recv = "y""#],
        &[r#"call = "broadcast", root = 0, over = "pairs", send = "y", recv = "y""#],
    );
    assert_eq!(same(SIX, 6, &programs), 3);
}

/// A reduction that odd ranks leave open is that of their pairs.
#[test]
fn every_group_is_told_the_reduction() {
    let programs = even_and_odd(
        &[r#"call = "all_reduce", op = "max", over = "pairs", send = "x", recv = "y""#],
        &[r#"call = "all_reduce", over = "pairs", send = "x", recv = "y""#],
    );
    assert_eq!(same(SIX, 6, &programs), 0);
}

/// Rank 5 gets nothing, of the element type that rank 2 would send.
#[test]
fn a_buffer_whose_type_another_asks_for_is_there() {
    let one = |name: &str, ranks: Vec<usize>, step: &str| {
        (name.to_owned(), ranks, Vec::from([step.to_owned()]))
    };
    let programs = [
        one(
            "{ group = \"even\" }",
            vec![0, 2, 4],
            r#"call = "cast", dtype = "bf16", send = "x", recv = "s""#,
        ),
        one(
            "{ rank = 5 }",
            vec![5],
            r#"call = "scatter_v", root = 2, counts = [4, 4, 2, 1, 1, 0], send = "s", recv = "y""#,
        ),
    ];
    assert_ne!(same(SIX, 6, &programs), usize::MAX);
}
