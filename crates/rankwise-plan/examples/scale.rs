//! What a verdict costs as clusters grow: time and peak memory, case by case.
//!
//! `cargo xtask bench plan` prints the table of `docs/scale.md`. Each line is worked out
//! in a process of its own, so that one peak does not hide another; no verdict hangs
//! on a time.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints")]

use std::fmt::Write as _;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use rankwise_model::Dtype;
use rankwise_plan::Plan;
use rankwise_plan::compare::{State, compare};
use rankwise_plan::evaluate::evaluate;
use rankwise_plan::file::Format;
use rankwise_plan::need::{NeedsAnswer, judge_needs};
use rankwise_plan::read::NoArrays;
use rankwise_plan::template::{Fsdp, Optimizer, Ranks, Rule, Training, Types};
use rankwise_plan::term::Terms;

/// A family of plans, one for each number of ranks.
struct Case {
    name: &'static str,
    about: &'static str,
    /// The numbers of ranks measured, each several times the one before.
    ranks: &'static [u64],
    plan: fn(u64) -> String,
}

const CASES: &[Case] = &[
    Case {
        name: "all_reduce",
        about: "all-reduce against reduce-scatter and all-gather, 2^30 elements",
        ranks: &[64, 256, 1024, 4096],
        plan: all_reduce,
    },
    Case {
        name: "three_axes",
        about: "reduce-scatter along two axes, all-reduce along the third, and back, \
                against one all-reduce",
        ranks: &[256, 1024, 4096, 16384],
        plan: three_axes,
    },
    Case {
        name: "fsdp",
        about: "100 layers gathered forward and backward, gradients reduce-scattered, \
                200 needs",
        ranks: &[64, 256, 1024, 4096],
        plan: fsdp,
    },
    Case {
        name: "fsdp_padded",
        about: "the template of FSDP, 100 layers that do not divide, in f32 with SGD: shards \
                of unequal length, padded, gathered and updated by the average",
        ranks: &[64, 256, 1024, 4096],
        plan: fsdp_padded,
    },
    Case {
        name: "all_to_all",
        about: "an all-to-all and its inverse, against itself: ranks² blocks",
        ranks: &[64, 256, 1024, 4096],
        plan: all_to_all,
    },
    Case {
        name: "programs",
        about: "a program of 1,000 all-reduces for each rank, over a mesh and on two \
                streams: matched, then evaluated",
        ranks: &[64, 256, 1024],
        plan: programs,
    },
];

/// One line of the table.
#[derive(Clone, Copy)]
struct Cost {
    read: Duration,
    verdict: Duration,
    /// Of the whole process, and the rest with it; `None` where the system does not tell.
    processor: Option<Duration>,
    peak_kib: Option<u64>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        [] => table(usize::MAX),
        // The smallest sizes alone: that every case still has its verdict.
        ["--smoke"] => table(1),
        [name, ranks] => one(name, ranks),
        _ => Err("takes nothing, `--smoke`, or a case and its number of ranks".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Measures every case at its first `sizes` sizes.
fn table(sizes: usize) -> Result<(), String> {
    println!("Milliseconds to read a plan and to reach its verdicts, and of a processor for the");
    println!("whole process; its peak resident memory. `times` is the processor's time against");
    println!("the line before.\n");
    for case in CASES {
        println!("{}: {}", case.name, case.about);
        println!(
            "{:>9} {:>10} {:>12} {:>12} {:>7} {:>10}",
            "ranks", "read", "verdict", "processor", "times", "MiB"
        );
        let mut before: Option<Duration> = None;
        for ranks in case.ranks.iter().take(sizes) {
            let cost = in_own_process(case, *ranks)?;
            let shown = |number: Option<String>| number.unwrap_or("-".to_owned());
            let millis = |time: Duration| format!("{:.1}", time.as_secs_f64() * 1e3);
            // Of a few milliseconds the system tells too coarsely.
            let told = before.filter(|before| *before > Duration::from_millis(5));
            let ratio = told.zip(cost.processor);
            let times =
                ratio.map(|(old, new)| format!("{:.1}", new.as_secs_f64() / old.as_secs_f64()));
            println!(
                "{ranks:>9} {:>10} {:>12} {:>12} {:>7} {:>10}",
                millis(cost.read),
                millis(cost.verdict),
                shown(cost.processor.map(millis)),
                shown(times),
                shown(cost.peak_kib.map(|kib| (kib / 1024).to_string())),
            );
            before = cost.processor;
        }
        println!();
    }
    Ok(())
}

fn in_own_process(case: &Case, ranks: u64) -> Result<Cost, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let ran = Command::new(own).args([case.name, &ranks.to_string()]).output();
    let ran = ran.map_err(|error| error.to_string())?;
    let printed = String::from_utf8_lossy(&ran.stdout);
    let fields: Vec<u64> = printed.split_whitespace().filter_map(|it| it.parse().ok()).collect();
    match (ran.status.success(), &fields[..]) {
        (true, [read, verdict, rest @ ..]) => Ok(Cost {
            read: Duration::from_micros(*read),
            verdict: Duration::from_micros(*verdict),
            processor: rest.first().copied().map(Duration::from_micros),
            peak_kib: rest.get(1).copied(),
        }),
        _ => Err(format!(
            "{} on {ranks} ranks failed: {printed}{}",
            case.name,
            String::from_utf8_lossy(&ran.stderr)
        )),
    }
}

/// Measures one case at one size and prints three times in microseconds, and KiB.
fn one(name: &str, ranks: &str) -> Result<(), String> {
    let case = CASES.iter().find(|case| case.name == name).ok_or("no such case")?;
    let ranks: u64 = ranks.parse().map_err(|_| "the number of ranks is no number")?;
    let text = (case.plan)(ranks);
    let start = Instant::now();
    let plan = Plan::read(&text, Format::Toml, &mut NoArrays).map_err(|error| error.to_string())?;
    let read = start.elapsed();
    let start = Instant::now();
    let satisfied = verdicts(&plan)?;
    let verdict = start.elapsed();
    if !satisfied {
        return Err("a verdict is not the one that the case is made for".to_owned());
    }
    print!("{} {}", read.as_micros(), verdict.as_micros());
    match processor().zip(peak_kib()) {
        Some((processor, kib)) => println!(" {} {kib}", processor.as_micros()),
        None => println!(),
    }
    Ok(())
}

/// Whether all needs are met, and two proposals leave the same state.
fn verdicts(plan: &Plan) -> Result<bool, String> {
    let mut terms = Terms::new();
    match &plan.proposals[..] {
        [alone] => {
            let evaluation =
                evaluate(plan, alone, &mut terms).map_err(|error| error.to_string())?;
            let needs = judge_needs(plan, alone, &evaluation, &mut terms)
                .map_err(|error| error.to_string())?;
            Ok(needs.answer() == NeedsAnswer::Satisfied)
        }
        [one, other] => {
            let both = compare((plan, one), (plan, other), &mut terms)
                .map_err(|error| error.error.to_string())?;
            let met = both.needs.iter().all(|needs| needs.answer() == NeedsAnswer::Satisfied);
            Ok(met && both.state.state == State::Same)
        }
        _ => Err("a case has one proposal or two".to_owned()),
    }
}

/// The time of a processor that this process, of one thread, has had.
fn processor() -> Option<Duration> {
    let status = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    let nanoseconds = status.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

/// The most memory that this process has had resident.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn all_reduce(ranks: u64) -> String {
    let count = 1_u64 << 30;
    format!(
        r#"
        format = 1
        group.ranks = {ranks}
        input.x = {{ dtype = "f32", count = {count}, meaning = "gradient" }}
        proposal.whole.step = [
            {{ call = "all_reduce", op = "sum", send = "x", recv = "y" }},
        ]
        proposal.sharded.step = [
            {{ call = "reduce_scatter", op = "sum", send = "x", recv = "s" }},
            {{ call = "all_gather", send = "s", recv = "y" }},
        ]
        need = [{{ on = "every rank", buffer = "y", holds = "sum(x)" }}]
        "#
    )
}

fn three_axes(ranks: u64) -> String {
    // 256 = 8·4·8, 1024 = 8·16·8, …: the middle axis takes what is left.
    let (outer, inner) = (ranks.isqrt().isqrt().next_power_of_two().min(32), 8);
    let middle = ranks / outer / inner;
    let count = 1_u64 << 30;
    format!(
        r#"
        format = 1
        group.ranks = {ranks}
        mesh = {{ axes = ["pod", "node", "gpu"], shape = [{outer}, {middle}, {inner}] }}
        input.x = {{ dtype = "f32", count = {count}, meaning = "gradient" }}
        proposal.whole.step = [
            {{ call = "all_reduce", op = "sum", send = "x", recv = "y" }},
        ]
        proposal.hierarchical.step = [
            {{ call = "reduce_scatter", op = "sum", over = "gpu", send = "x", recv = "a" }},
            {{ call = "reduce_scatter", op = "sum", over = "node", send = "a", recv = "b" }},
            {{ call = "all_reduce", op = "sum", over = "pod", send = "b", recv = "c" }},
            {{ call = "all_gather", over = "node", send = "c", recv = "d" }},
            {{ call = "all_gather", over = "gpu", send = "d", recv = "y" }},
        ]
        need = [{{ on = "every rank", buffer = "y", holds = "sum(x)" }}]
        "#
    )
}

fn fsdp(ranks: u64) -> String {
    const LAYERS: u32 = 100;
    let shard = 1_u64 << 16;
    let (mut inputs, mut forward, mut backward, mut needs) =
        (String::new(), String::new(), String::new(), String::new());
    for layer in 0..LAYERS {
        let whole = shard * ranks;
        line(
            &mut inputs,
            &format!(
                r#"
            input.p{layer} = {{ dtype = "bf16", count = {shard}, meaning = "parameters {layer}" }}
            input.g{layer} = {{ dtype = "f32", count = {whole}, meaning = "gradient {layer}" }}
            "#
            ),
        );
        line(
            &mut forward,
            &format!(r#"{{ call = "all_gather", send = "p{layer}", recv = "w{layer}" }},"#),
        );
        let again = LAYERS - 1 - layer;
        line(
            &mut backward,
            &format!(
                r#"
            {{ call = "all_gather", send = "p{again}", recv = "w{again}" }},
            {{ call = "reduce_scatter", op = "avg", send = "g{again}", recv = "s{again}" }},
            "#
            ),
        );
        line(
            &mut needs,
            &format!(
                r#"
            {{ on = "every rank", buffer = "w{layer}", holds = "gather(p{layer})" }},
            {{ on = "every rank", buffer = "s{layer}", holds = "shard(avg(g{layer}))" }},
            "#
            ),
        );
    }
    format!(
        "format = 1\ngroup.ranks = {ranks}\n{inputs}\n\
         proposal.fsdp.step = [\n{forward}{backward}]\nneed = [\n{needs}]\n"
    )
}

/// No number of ranks measured here divides a layer.
fn fsdp_padded(ranks: u64) -> String {
    let f32 = Dtype::F32;
    let training = Training {
        types: Types { param: f32, grad: f32, reduce: f32 },
        optimizer: Optimizer::new(Rule::Sgd, f32),
        ..Training::new(Ranks::flat(ranks), [(1 << 27) + 1; 100])
    };
    Fsdp { training }.draft().expect("a training that can be sharded").to_toml()
}

fn all_to_all(ranks: u64) -> String {
    let count = ranks << 10;
    format!(
        r#"
        format = 1
        group.ranks = {ranks}
        input.x = {{ dtype = "bf16", count = {count}, meaning = "tokens" }}
        proposal.experts.step = [
            {{ call = "all_to_all", send = "x", recv = "y" }},
            {{ call = "all_to_all", send = "y", recv = "z" }},
        ]
        proposal.again.step = [
            {{ call = "all_to_all", send = "x", recv = "y" }},
            {{ call = "all_to_all", send = "y", recv = "z" }},
        ]
        proposal.experts.outputs = ["y", "z"]
        need = [{{ on = "every rank", buffer = "z", holds = "x" }}]
        "#
    )
}

/// All-reduces on the world and on both axes, every tenth waited for.
fn programs(ranks: u64) -> String {
    const CALLS: u32 = 1000;
    let (nodes, inner) = (ranks / 8, 8);
    let mut steps = String::new();
    for call in 0..CALLS {
        let (over, stream) = match call % 4 {
            0 => ("", "compute"),
            3 => (r#"over = "node", "#, "reduce"),
            _ => (r#"over = "gpu", "#, "compute"),
        };
        let wait = if call % 10 == 9 { ", wait = true" } else { "" };
        line(
            &mut steps,
            &format!(
                r#"{{ call = "all_reduce", op = "sum", {over}send = "x", recv = "y{call}", stream = "{stream}"{wait} }},"#
            ),
        );
    }
    let last = CALLS - 4;
    format!(
        r#"
        format = 1
        group.ranks = {ranks}
        mesh = {{ axes = ["node", "gpu"], shape = [{nodes}, {inner}] }}
        input.x = {{ dtype = "f32", count = 1048576, meaning = "gradient" }}
        need = [{{ on = "every rank", buffer = "y{last}", holds = "sum(x)" }}]
        [[proposal.ranks.program]]
        on = "every rank"
        step = [
        {steps}
        ]
        "#
    )
}

fn line(text: &mut String, more: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{more}");
}
