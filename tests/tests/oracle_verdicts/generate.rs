//! Random small plans: their text, and what simulation says they leave.

use std::fmt::Write as _;

use crate::numbers::{Fold, Kind, Random};
use crate::world::{Call, Position, World};

/// A plan with two proposals, simulated.
pub(crate) struct Case {
    pub(crate) text: String,
    pub(crate) worlds: [World; 2],
    pub(crate) surface: Vec<String>,
    pub(crate) needs: Vec<Need>,
}

/// A need, and what each rank it names wants to find.
pub(crate) struct Need {
    pub(crate) on: Vec<usize>,
    pub(crate) buffer: String,
    pub(crate) wanted: Vec<Vec<Position>>,
}

const COLLECTIVES: [&str; 8] = [
    "all_reduce",
    "reduce",
    "broadcast",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
    "gather",
    "scatter",
];

impl Case {
    /// `None` if the draw made no plan that can be carried out.
    pub(crate) fn random(random: &mut Random) -> Option<Self> {
        let kind = random.pick(&[
            Kind::Signed(32),
            Kind::Signed(64),
            Kind::Unsigned(8),
            Kind::Unsigned(32),
            Kind::Real,
            Kind::Real,
        ]);
        let n = 1 + random.below(4);
        let count = random.pick(&[n, n, 2 * n, 1, 2]);
        let start = World::new(kind, n, count, random);

        let mut text = String::from("format = 1\n\n[group]\n");
        if random.chance(50) {
            let devices: Vec<_> = (0..n).map(|rank| format!("\"D{rank}\"")).collect();
            writeln!(text, "devices = [{}]", devices.join(", ")).unwrap();
        } else {
            writeln!(text, "ranks = {n}").unwrap();
        }
        for (name, meaning) in [("x", "gradient"), ("g", "parameter")] {
            let dtype = kind.word();
            writeln!(
                text,
                "\n[input.{name}]\ndtype = \"{dtype}\"\ncount = {count}\nmeaning = \"{meaning}\""
            )
            .unwrap();
        }
        let first = steps(random, &start, &mut text, "a")?;
        let second = if random.chance(35) {
            equivalent(random, &start, &mut text, "b")?
        } else {
            steps(random, &start, &mut text, "b")?
        };
        let needs = needs(random, &start, &mut text);
        let surface = needs.iter().map(|need| need.buffer.clone()).collect();
        Some(Self { text, worlds: [first, second], surface, needs })
    }
}

/// One to three random steps; the last one writes `y`.
fn steps(random: &mut Random, start: &World, text: &mut String, name: &str) -> Option<World> {
    let mut world = start.clone();
    let total = 1 + random.below(3);
    for step in 0..total {
        let recv = if step + 1 == total { "y".to_string() } else { format!("t{step}") };
        let readable: Vec<String> = world.ranks[0]
            .keys()
            .filter(|buffer| world.length(buffer).is_some())
            .cloned()
            .collect();
        let send = readable[random.below(readable.len())].clone();
        if random.chance(25) {
            local(random, &mut world, text, name, &send, &recv, &readable)?;
        } else {
            let call = any_call(random, &world, send, recv);
            collective(&mut world, text, name, &call)?;
        }
    }
    Some(world)
}

/// One of the roads to a sum on every rank (in `y`), right or nearly so.
fn equivalent(random: &mut Random, start: &World, text: &mut String, name: &str) -> Option<World> {
    let mut world = start.clone();
    let n = world.ranks.len();
    let all = vec![(0..n).collect::<Vec<_>>()];
    let fold = random.pick(&[Fold::Sum, Fold::Sum, Fold::Max]);
    let call = |name, fold, send: &str, recv: &str| Call {
        name,
        fold,
        root: None,
        groups: all.clone(),
        send: send.to_string(),
        recv: recv.to_string(),
    };
    match random.below(3) {
        0 => collective(&mut world, text, name, &call("all_reduce", Some(fold), "x", "y"))?,
        1 => {
            collective(&mut world, text, name, &call("reduce_scatter", Some(fold), "x", "s"))?;
            let gathered = if random.chance(80) { "s" } else { "x" };
            collective(&mut world, text, name, &call("all_gather", None, gathered, "y"))?;
        }
        _ => {
            let root = random.below(n);
            let rooted = |call: Call| Call { root: Some(root), ..call };
            collective(&mut world, text, name, &rooted(call("reduce", Some(fold), "x", "t")))?;
            collective(&mut world, text, name, &rooted(call("broadcast", None, "t", "y")))?;
        }
    }
    Some(world)
}

fn any_call(random: &mut Random, world: &World, send: String, recv: String) -> Call {
    let n = world.ranks.len();
    let name = random.pick(&COLLECTIVES);
    let groups = match (n, random.below(4)) {
        (4, 0) => vec![vec![0, 1], vec![2, 3]],
        (4, 1) => vec![vec![2, 0], vec![3, 1]],
        (2 | 3, 0) => vec![(0..n).rev().collect()],
        _ => vec![(0..n).collect()],
    };
    let rooted = matches!(name, "reduce" | "broadcast" | "gather" | "scatter");
    let root = rooted.then(|| random.below(groups[0].len()));
    let reduces = matches!(name, "all_reduce" | "reduce" | "reduce_scatter");
    let fold = reduces.then(|| any_fold(random, world, &send));
    let in_place = matches!(name, "all_reduce" | "all_gather" | "reduce_scatter");
    // In place, the result is in the buffer that was sent.
    let recv = if in_place && random.chance(10) { send.clone() } else { recv };
    Call { name, fold, root, groups, send, recv }
}

fn any_fold(random: &mut Random, world: &World, send: &str) -> Fold {
    let fold = random.pick(&[Fold::Sum, Fold::Sum, Fold::Prod, Fold::Max, Fold::Min, Fold::Avg]);
    let small = world.kind == Kind::Unsigned(8);
    let divided = world.divided.iter().any(|buffer| buffer == send);
    match fold {
        // Modulo 256, different products may agree for every value.
        Fold::Prod if small => Fold::Sum,
        // A division of a division agrees with one division, which no term claims.
        Fold::Avg if divided => Fold::Max,
        fold => fold,
    }
}

fn collective(world: &mut World, text: &mut String, name: &str, call: &Call) -> Option<()> {
    world.collective(call)?;
    let Call { name: word, send, recv, .. } = call;
    write!(
        text,
        "\n[[proposal.{name}.step]]\ncall = \"{word}\"\nsend = \"{send}\"\nrecv = \"{recv}\"\n"
    )
    .unwrap();
    if let Some(fold) = call.fold {
        writeln!(text, "op = \"{}\"", fold.word()).unwrap();
    }
    if let Some(root) = call.root {
        writeln!(text, "root = {root}").unwrap();
    }
    if call.groups != [(0..world.ranks.len()).collect::<Vec<_>>()] {
        writeln!(text, "over = {:?}", call.groups).unwrap();
    }
    Some(())
}

fn local(
    random: &mut Random,
    world: &mut World,
    text: &mut String,
    name: &str,
    send: &str,
    recv: &str,
    readable: &[String],
) -> Option<()> {
    let length = world.length(send)?;
    let divided = world.divided.iter().any(|buffer| buffer == send);
    let mut header = |call: &str, rest: &str| {
        write!(text, "\n[[proposal.{name}.step]]\ncall = \"{call}\"\nrecv = \"{recv}\"\n{rest}")
            .unwrap();
    };
    match random.below(4) {
        0 => {
            header("copy", &format!("send = \"{send}\"\n"));
            world.local(recv, |_, rank| Some(rank[send].clone()))?;
        }
        1 => {
            let from = random.below(length + 1);
            let to = from + random.below(length - from + 1);
            header("slice", &format!("send = \"{send}\"\npositions = \"{from}..{to}\"\n"));
            world.local(recv, |_, rank| Some(rank[send][from..to].to_vec()))?;
        }
        2 => {
            let other = readable[random.below(readable.len())].clone();
            header("concat", &format!("send = [\"{send}\", \"{other}\"]\n"));
            world
                .local(recv, |_, rank| Some([rank[send].clone(), rank[&other].clone()].concat()))?;
        }
        _ => {
            let alike: Vec<&String> =
                readable.iter().filter(|other| world.length(other) == Some(length)).collect();
            let other = alike[random.below(alike.len())].clone();
            let fold = random.pick(&[Fold::Sum, Fold::Max, Fold::Min]);
            let op = fold.word();
            header("fold", &format!("send = [\"{send}\", \"{other}\"]\nop = \"{op}\"\n"));
            world.local(recv, |world, rank| {
                Some(world.combined(fold, &rank[send], &rank[&other]))
            })?;
        }
    }
    if divided {
        world.divided.push(recv.to_string());
    }
    Some(())
}

/// One or two needs on `y`, of the kinds that people state.
fn needs(random: &mut Random, start: &World, text: &mut String) -> Vec<Need> {
    let n = start.ranks.len();
    let count = start.length("x").unwrap();
    let mut all = Vec::new();
    for _ in 0..=random.below(2) {
        let source = random.pick(&["x", "x", "x", "g"]);
        let fold = random.pick(&[Fold::Sum, Fold::Sum, Fold::Max, Fold::Avg]);
        let folded = start.folded(fold, source);
        let gathered: Vec<Position> =
            start.ranks.iter().flat_map(|rank| rank[source].iter().copied()).collect();
        let on: Vec<usize> =
            if random.chance(60) { (0..n).collect() } else { vec![random.below(n)] };
        let op = fold.word();
        let block = count / n;
        let (holds, wanted): (String, Box<dyn Fn(usize) -> Vec<Position>>) = match random.below(5) {
            0 | 1 => (format!("{op}({source})"), Box::new(move |_| folded.clone())),
            2 => (format!("gather({source})"), Box::new(move |_| gathered.clone())),
            3 if count.is_multiple_of(n) => (
                format!("shard({op}({source}))"),
                Box::new(move |rank| folded[rank * block..(rank + 1) * block].to_vec()),
            ),
            _ => {
                let of = random.below(n);
                let held = start.ranks[of][source].clone();
                (format!("{source}@rank{of}"), Box::new(move |_| held.clone()))
            }
        };
        let who = match on.as_slice() {
            [one] if n > 1 || random.chance(50) => format!("{{ rank = {one} }}"),
            _ => "\"every rank\"".to_string(),
        };
        write!(text, "\n[[need]]\non = {who}\nbuffer = \"y\"\nholds = \"{holds}\"\n").unwrap();
        let wanted = on.iter().map(|rank| wanted(*rank)).collect();
        all.push(Need { on, buffer: "y".to_string(), wanted });
    }
    all
}
