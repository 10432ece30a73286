//! Random small plans: two proposals of up to three steps, and needs.

use rankwise_oracle::expression::{Expression, Groups};
use rankwise_oracle::kind::Kind;
use rankwise_oracle::random::Random;
use rankwise_oracle::step::{Act, Collective, Fold, Step};
use rankwise_oracle::world::World;

use crate::case::{Case, Proposal};
use crate::rewrite::rewritten;

/// Longer buffers are not drawn.
const LONGEST: usize = 32;

/// How often a step is drawn anew before the plan is given up.
const TRIES: usize = 12;

/// A random case, or `None` if this draw made none.
pub(crate) fn case(random: &mut Random) -> Option<Case> {
    let n = random.pick(&[1, 2, 2, 3, 3, 3, 4, 4, 4, 4]);
    let kind = random.pick(&Kind::ALL);
    let other = if random.chance(70) { kind } else { random.pick(&Kind::ALL) };
    let counts: Vec<usize> = [1, 2, n, n, 2 * n, 2 * n, 4, 6, 8].into_iter().collect();
    let count = random.pick(&counts);
    let second = if random.chance(80) { count } else { random.pick(&counts) };
    let inputs = vec![("x", kind, count), ("g", other, second)];
    let mut case = Case::new(n, random.chance(50), inputs, partitions(n));

    let first = steps(&mut case, random)?;
    let second = match random.below(10) {
        0..=3 => {
            let steps = rewritten(&first.steps, n, &first.left, random);
            proposal(&mut case, steps)?
        }
        4..=6 => near(&mut case, &first, random)?,
        _ => steps(&mut case, random)?,
    };
    case.proposals = vec![first, second];
    if random.chance(30) {
        let result = case.proposals[0].steps.last()?.writes().to_owned();
        case.proposals[0].outputs = Some(vec![result]);
    }
    needs(&mut case, random);
    (!case.needs.is_empty()).then_some(case)
}

/// Partitions of `n` ranks: in order, reversed, in part, uneven, crossing.
fn partitions(n: usize) -> Vec<Groups> {
    let lists: &[&[&[usize]]] = match n {
        2 => &[&[&[1, 0]], &[&[0], &[1]]],
        3 => &[&[&[2, 1, 0]], &[&[0, 2]], &[&[1], &[2, 0]]],
        4 => &[
            &[&[0, 1], &[2, 3]],
            &[&[2, 0], &[3, 1]],
            &[&[0, 1, 2], &[3]],
            &[&[3, 1, 0, 2]],
            &[&[1, 2]],
        ],
        _ => &[],
    };
    let named = |(index, lists): (usize, &&[&[usize]])| Groups {
        name: Some(format!("part{index}")),
        lists: lists.iter().map(|list| list.to_vec()).collect(),
    };
    lists.iter().enumerate().map(named).collect()
}

fn proposal(case: &mut Case, steps: Vec<Step>) -> Option<Proposal> {
    case.run(steps).ok().filter(|proposal| fits(&proposal.left))
}

fn fits(world: &World) -> bool {
    (0..world.size())
        .all(|rank| world.buffers(rank).all(|(_, buffer)| buffer.positions.len() <= LONGEST))
}

/// One to three random steps; the last one writes `y` if it is not in place.
fn steps(case: &mut Case, random: &mut Random) -> Option<Proposal> {
    let total = random.pick(&[1, 2, 2, 3, 3, 3]);
    let mut world = case.start.clone();
    let mut steps = Vec::new();
    for index in 0..total {
        let name = if index + 1 == total { "y".to_owned() } else { format!("t{index}") };
        let word = random.pick(&Step::WORDS);
        let step = (0..TRIES).find_map(|_| {
            let step = any_step(case, &world, word, &name, random)?;
            let mut after = world.clone();
            (after.take(&step, &mut case.values).is_ok() && fits(&after)).then(|| {
                world = after;
                step
            })
        })?;
        steps.push(step);
    }
    case.run(steps).ok()
}

/// The same steps but for one, which is drawn anew.
fn near(case: &mut Case, to: &Proposal, random: &mut Random) -> Option<Proposal> {
    (0..TRIES).find_map(|_| {
        let index = random.below(to.steps.len());
        let mut world = case.start.clone();
        for step in &to.steps[..index] {
            world.take(step, &mut case.values).ok()?;
        }
        let old = &to.steps[index];
        let mut steps = to.steps.clone();
        steps[index] = any_step(case, &world, old.word(), old.writes(), random)?;
        proposal(case, steps)
    })
}

/// A step of one kind; it may be one that cannot be taken.
fn any_step(
    case: &Case,
    world: &World,
    word: &str,
    recv: &str,
    random: &mut Random,
) -> Option<Step> {
    let n = case.n;
    let rank = random.below(n);
    let names: Vec<String> = world.buffers(rank).map(|(name, _)| name.to_owned()).collect();
    // What was made last is what the next step is most likely about.
    let latest = names.iter().rev().find(|name| name.starts_with('t')).cloned();
    let send = match latest {
        Some(latest) if random.chance(65) => latest,
        _ => random.pick(&names),
    };
    if let Some(collective) = Collective::ALL.into_iter().find(|one| one.word() == word) {
        let mut groups = vec![Groups::world(n)];
        if random.chance(40) {
            groups.clone_from(&case.partitions);
        }
        let groups = groups.get(random.below(groups.len().max(1)))?.lists.clone();
        let smallest = groups.iter().map(Vec::len).min()?;
        return Some(Step::Collective {
            collective,
            fold: collective.folds().then(|| any_fold(random)),
            root: collective.is_rooted().then(|| random.below(smallest)),
            groups,
            recv: if random.chance(15) { send.clone() } else { recv.to_owned() },
            send,
        });
    }
    if word == "send/recv" {
        let to = random.below(n);
        // Into a buffer that others have too, so that later steps can read it.
        let recv = if random.chance(50) { random.pick(&names) } else { recv.to_owned() };
        return (to != rank).then_some(Step::Message { from: rank, to, send, recv });
    }
    let held = world.held(rank, &send)?;
    let length = held.positions.len();
    let act = match word {
        "copy" => Act::Copy(send),
        "slice" => {
            let from = random.below(length + 1);
            let to = from + random.below(length - from + 1);
            Act::Slice(send, from..to)
        }
        "concat" => Act::Concat(vec![send, random.pick(&names)]),
        "fold" => {
            let alike = |name: &&String| {
                world
                    .held(rank, name)
                    .is_some_and(|other| other.kind == held.kind && other.positions.len() == length)
            };
            let alike: Vec<String> = names.iter().filter(alike).cloned().collect();
            let mut from = vec![send, random.pick(&alike)];
            if random.chance(20) {
                from.push(random.pick(&alike));
            }
            Act::Fold(any_fold(random), from)
        }
        "scale" => {
            let whole = random.pick(&[(1, 1), (1, 1), (2, 1), (3, 1), (-1, 1), (256, 1)]);
            let part = random.pick(&[(1, 2), (1, 3), (3, 2)]);
            Act::Scale(send, if held.kind.is_float() && random.chance(60) { part } else { whole })
        }
        _ => Act::Cast(send, random.pick(&Kind::ALL)),
    };
    let on = random.chance(20).then_some(rank);
    // One rank alone writes where the others have something too.
    let recv =
        if on.is_some() && random.chance(60) { random.pick(&names) } else { recv.to_owned() };
    Some(Step::Local { on, act, recv })
}

fn any_fold(random: &mut Random) -> Fold {
    use Fold::{Avg, Max, Min, Prod, Sum};
    random.pick(&[Sum, Sum, Sum, Max, Max, Min, Avg, Avg, Prod])
}

/// One to three needs of what the first proposal wrote last.
fn needs(case: &mut Case, random: &mut Random) {
    let Some(buffer) = case.proposals[0].steps.last().map(|step| step.writes().to_owned()) else {
        return;
    };
    for _ in 0..=random.below(2) {
        if random.chance(60) {
            exact(case, &buffer, random);
        } else {
            common(case, &buffer, random);
        }
    }
}

/// A need of the kinds that people state.
fn common(case: &mut Case, buffer: &str, random: &mut Random) {
    let n = case.n;
    let on = if random.chance(60) { (0..n).collect() } else { vec![random.below(n)] };
    let own = Box::new(Expression::Own(random.pick(&["x", "x", "x", "g"]).to_owned()));
    let mut groups = Groups::world(n);
    if random.chance(30) && !case.partitions.is_empty() {
        groups = random.pick(&case.partitions);
    }
    let fold = Expression::Fold(any_fold(random), own.clone(), groups.clone());
    let holds = match random.below(6) {
        0 | 1 => fold,
        2 => Expression::Gather(own, groups),
        3 => Expression::Shard(Box::new(fold), groups),
        4 => Expression::Cast(Box::new(fold), random.pick(&Kind::ALL)),
        _ => Expression::Of(random.pick(&["x", "g"]).to_owned(), random.below(n)),
    };
    case.need(on, buffer, None, holds);
}

/// A need of what one rank does find at one position, where the language can say it.
fn exact(case: &mut Case, buffer: &str, random: &mut Random) {
    let side = random.below(2);
    let rank = random.below(case.n);
    let Some(held) = case.proposals[side].left.held(rank, buffer) else { return };
    if held.positions.is_empty() {
        return;
    }
    let at = random.below(held.positions.len());
    let Some(value) = held.positions[at] else { return };
    let kind = held.kind;
    let mut all = Vec::new();
    for (name, _, _) in case.inputs.clone() {
        all.extend((0..case.n).map(|rank| Expression::Of(name.to_owned(), rank)));
        let mut groups = case.partitions.clone();
        groups.push(Groups::world(case.n));
        for groups in groups {
            all.extend(Fold::ALL.map(|fold| {
                Expression::Fold(fold, Box::new(Expression::Own(name.to_owned())), groups.clone())
            }));
        }
    }
    for expression in all {
        for expression in [expression.clone(), Expression::Cast(Box::new(expression.clone()), kind)]
        {
            let wanted = expression.value(&case.start, rank, &mut case.values);
            let found = wanted.iter().flatten().position(|wanted| *wanted == value);
            if let Some(position) = found {
                let one = Expression::Slice(Box::new(expression), position..position + 1);
                case.need(vec![rank], buffer, Some(at..at + 1), one);
                return;
            }
        }
    }
}
