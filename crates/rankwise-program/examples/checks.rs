//! How long a check takes, and in how much memory, as ranks and calls grow.
//!
//! `checks [RANKS CALLS]…`: all-reduces on the world and on the two axes of a mesh, on
//! two streams, every tenth waited for. The high-water mark never falls: of several
//! sizes it is that of the largest so far.

// A program for a terminal.
#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::Instant;

use rankwise_model::{Dtype, GroupSize, Operation, Reduction};
use rankwise_program::program::{Buffers, Host, Planned, Step};
use rankwise_program::{Collective, Program, Signature, check};
use rankwise_topology::{Group, World};

/// Ranks of the inner axis of the mesh.
const INNER: u32 = 8;

fn main() {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse().expect("a number"));
    let mut sizes: Vec<(u32, u32)> = Vec::new();
    while let (Some(ranks), Some(calls)) = (numbers.next(), numbers.next()) {
        sizes.push((ranks, calls));
    }
    if sizes.is_empty() {
        sizes = vec![(64, 1_000), (256, 1_000), (1_024, 250), (1_024, 500), (1_024, 1_000)];
    }
    println!(
        "{:>6} {:>6} {:>9} {:>10} {:>10} {:>9}",
        "ranks", "calls", "all", "built", "checked", "VmHWM"
    );
    for (ranks, calls) in sizes {
        let start = Instant::now();
        let program = mesh(ranks, calls);
        let built = start.elapsed();
        let start = Instant::now();
        let findings = check(&program);
        let checked = start.elapsed();
        assert!(findings.reports.is_empty(), "{}", findings.reports[0]);
        println!(
            "{ranks:>6} {calls:>6} {:>9} {:>8} ms {:>7} ms {:>6} MiB",
            u64::from(ranks) * u64::from(calls),
            built.as_millis(),
            checked.as_millis(),
            high_water_mark().unwrap_or_default() / 1_024
        );
    }
}

/// The same calls on every rank, each on the groups that the rank is in.
fn mesh(ranks: u32, calls: u32) -> Program {
    let world = World::new(GroupSize::new(ranks).expect("at least one rank"));
    let inner = INNER.min(ranks);
    let outer = ranks / inner;
    assert_eq!(inner * outer, ranks, "a multiple of {inner}");
    let mut groups: Vec<(Arc<str>, Group)> = vec![("world".into(), Group::whole(world))];
    for at in 0..outer {
        let group = Group::new(world, (0..inner).map(|one| at * inner + one));
        groups.push((format!("tp{at}").into(), group.expect("ranks of the world")));
    }
    for at in 0..inner {
        let group = Group::new(world, (0..outer).map(|one| one * inner + at));
        groups.push((format!("dp{at}").into(), group.expect("ranks of the world")));
    }
    let sum = Operation::AllReduce { reduction: Reduction::Sum };
    let sum = Collective::new(sum).expect("no message");
    let buffers = Arc::<Buffers>::default();
    let streams: [Arc<str>; 2] = ["compute".into(), "reduce".into()];
    let steps = |rank: u32| {
        let of = |call: u32| match call % 4 {
            0 => (0, 0),
            3 => (1 + outer + rank % inner, 1),
            _ => (1 + rank / inner, 0),
        };
        let step = |call: u32| {
            let (group, stream) = of(call);
            let planned = Planned {
                group: groups[group as usize].0.clone(),
                signature: Signature::collective(sum, Dtype::F32, u64::from(call) + 1),
                stream: streams[stream].clone(),
                tag: None,
                value: None,
                creates: None,
                buffers: buffers.clone(),
            };
            let host = if call % 10 == 9 { Host::Waits } else { Host::GoesOn };
            Step::Call(planned, host)
        };
        (0..calls).map(step).collect()
    };
    let ranks = (0..ranks).map(steps).collect();
    Program { world, groups, ranks }
}

/// The most memory that the process has had, in KiB, where the system says so.
fn high_water_mark() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
