//! Permutations of devices: which are harmless, and their symmetries, by all n! of them.
//!
//! For each order of the devices the oracle carries the plan out and looks for what each
//! need that held in the first order asks for. Inputs stay on their devices.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use rankwise_oracle::decide::{Answer, Numbers};
use rankwise_oracle::expression::{Expression, Groups};
use rankwise_oracle::kind::Kind;
use rankwise_oracle::random::Random;
use rankwise_oracle::step::{Collective, Fold, Step};
use rankwise_oracle::world::World;
use rankwise_plan::Plan;
use rankwise_plan::explore::{Harm, explore, permuted};
use rankwise_plan::file::Format;
use rankwise_plan::read::NoArrays;
use rankwise_topology::{Permutation, PermutationGroup};

use crate::case::{Case, holds_text};
use crate::judge;

/// How many plans of how many devices.
const PLANS: [(usize, u64); 6] = [(2, 10), (3, 40), (4, 60), (5, 16), (6, 5), (7, 3)];

/// Where a permutation of more devices is judged by itself only now and then.
const ALL_JUDGED: usize = 5;

/// Who needs something.
#[derive(Clone, Copy, Debug)]
enum On {
    Everybody,
    Rank(usize),
    Device(usize),
}

/// Who needs what in `y`.
type Need = (On, Expression);

#[test]
#[allow(clippy::print_stdout)] // how many were compared is what this test shows
fn permutations_agree_with_all_of_them() {
    let (mut permutations, mut harmless, mut no_group) = (0, 0, 0);
    for (n, plans) in PLANS {
        for seed in 0..plans {
            let mut random = Random(seed << 8 | n as u64);
            let (mut case, needs) = (0..).find_map(|_| drawn(&mut random, n)).expect("some plan");
            let (all, some, is_group) = one(&mut case, &needs);
            permutations += all;
            harmless += some;
            no_group += usize::from(!is_group);
        }
    }
    println!(
        "{permutations} permutations, {harmless} harmless; of {no_group} plans they are no group"
    );
    assert!(harmless * 10 > permutations && harmless * 10 < permutations * 9);
    assert!(no_group > 5);
}

/// Holds an exploration of a case against the oracle: how many permutations there are,
/// how many are harmless, and whether those are a group.
fn one(case: &mut Case, needs: &[Need]) -> (usize, usize, bool) {
    let text = text(case, needs);
    let plan =
        Plan::read(&text, Format::Toml, &mut NoArrays).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let proposal = &plan.proposals[0];
    let orders = orders(case.n);
    let mut harmless = BTreeSet::new();
    for (index, order) in orders.iter().enumerate() {
        let holds = are_met(case, needs, order);
        if case.n <= ALL_JUDGED || index % 97 == 0 {
            let expected = if holds { Harm::None } else { Harm::Breaks };
            let found = permuted(&plan, proposal, &permutation(order)).unwrap().harm();
            assert_eq!(found, expected, "{order:?}\n{text}");
        }
        if holds {
            harmless.insert(order.clone());
        }
    }
    let symmetries = symmetries(&harmless, orders.len());
    let found = explore(&plan, proposal).unwrap();
    assert_eq!(found.harmless.to_string(), harmless.len().to_string(), "{text}");
    assert_eq!(found.undecided.to_string(), "0", "{text}");
    assert_eq!(found.symmetry.order.to_string(), symmetries.len().to_string(), "{text}");
    let size = u32::try_from(case.n).unwrap();
    let group = PermutationGroup::generated(size, found.symmetry.generators).unwrap();
    for order in &orders {
        let is_one = symmetries.contains(order);
        assert_eq!(group.contains(&permutation(order)), is_one, "{order:?}\n{text}");
    }
    (orders.len(), harmless.len(), symmetries.len() == harmless.len())
}

/// Whether every need is met with rank `r` on device `order[r]`.
fn are_met(case: &mut Case, needs: &[Need], order: &[usize]) -> bool {
    let start = case.start.placed(order);
    let mut left = start.clone();
    for step in &case.proposals[0].steps {
        // Every device brings as much: what can be carried out in one order can in any.
        left.take(step, &mut case.values).unwrap();
    }
    needs.iter().all(|need| is_met(case, &start, &left, need))
}

fn is_met(case: &mut Case, start: &World, left: &World, (on, holds): &Need) -> bool {
    let readers = match on {
        On::Everybody => (0..case.n).collect(),
        On::Rank(rank) => vec![*rank],
        On::Device(device) => vec![start.on(*device)],
    };
    let mut numbers = Numbers::new(0);
    readers.into_iter().all(|reader| {
        let Some(wanted) = holds.value(start, reader, &mut case.values) else { return false };
        let Some(held) = left.held(reader, "y") else { return false };
        held.positions.len() == wanted.len()
            && match judge::holds(&case.values, &held.positions, &wanted, &mut numbers) {
                Answer::Same => true,
                Answer::Different => false,
                Answer::Undecided => panic!("too large a number"),
            }
    })
}

/// All orders of `n` devices.
fn orders(n: usize) -> Vec<Vec<usize>> {
    let mut orders = vec![vec![]];
    for _ in 0..n {
        let longer = |start: &Vec<usize>| {
            let rest = (0..n).filter(|next| !start.contains(next)).collect::<Vec<_>>();
            rest.into_iter().map(|next| [start.as_slice(), &[next]].concat()).collect::<Vec<_>>()
        };
        orders = orders.iter().flat_map(longer).collect();
    }
    orders
}

/// Those that leave the harmless the harmless: Hσ = H.
fn symmetries(harmless: &BTreeSet<Vec<usize>>, all: usize) -> BTreeSet<Vec<usize>> {
    if harmless.len() == all {
        return harmless.clone();
    }
    let is_one = |sigma: &&Vec<usize>| {
        // hσ puts the rank that was on r on h(σ(r)).
        let moved = |h: &Vec<usize>| sigma.iter().map(|at| h[*at]).collect::<Vec<usize>>();
        harmless.iter().all(|h| harmless.contains(&moved(h)))
    };
    harmless.iter().filter(is_one).cloned().collect()
}

fn permutation(order: &[usize]) -> Permutation {
    let images = order.iter().map(|device| u32::try_from(*device).unwrap());
    Permutation::from_images(images.collect::<Vec<_>>()).unwrap()
}

/// A plan of one or two steps, and needs that it meets with each rank on its device.
fn drawn(random: &mut Random, n: usize) -> Option<(Case, Vec<Need>)> {
    let groups = groups(random, n);
    let inputs = vec![("x", Kind::I32, groups.lists[0].len())];
    let partitions = if groups.name.is_some() { vec![groups.clone()] } else { Vec::new() };
    let mut case = Case::new(n, true, inputs, partitions);
    let mut steps = vec![step(random, &groups, "x", "y")];
    if random.chance(40) {
        let over = if random.chance(50) { groups.clone() } else { Groups::world(n) };
        steps = vec![step(random, &groups, "x", "t"), step(random, &over, "t", "y")];
    }
    let proposal = case.run(steps).ok()?;
    case.proposals.push(proposal);
    let left = case.proposals[0].left.clone();
    let start = case.start.clone();
    let mut needs = Vec::new();
    for _ in 0..=random.below(3) {
        let one = random.below(n);
        let on = match random.below(4) {
            0 => On::Everybody,
            1 => On::Rank(one),
            _ => On::Device(one),
        };
        let asked = expressions(random, &groups, n);
        let mut met: Vec<Expression> = asked
            .into_iter()
            .filter(|holds| is_met(&mut case, &start, &left, &(on, holds.clone())))
            .collect();
        // What names a device has something to break.
        if random.chance(70) && met.iter().any(names_a_device) {
            met.retain(names_a_device);
        }
        if !met.is_empty() {
            needs.push((on, random.pick(&met)));
        }
    }
    (!needs.is_empty()).then_some((case, needs))
}

/// Everybody, all but one, or pairs or triples, in some order.
fn groups(random: &mut Random, n: usize) -> Groups {
    let mut ranks: Vec<usize> = (0..n).collect();
    for at in (1..n).rev() {
        ranks.swap(at, random.below(at + 1));
    }
    let lists = match random.below(4) {
        0 if n > 2 => vec![ranks[1..].to_vec()],
        1 if n > 2 && n.is_multiple_of(2) => ranks.chunks(2).map(<[usize]>::to_vec).collect(),
        2 if n > 3 && n.is_multiple_of(3) => ranks.chunks(3).map(<[usize]>::to_vec).collect(),
        _ => return Groups::world(n),
    };
    Groups { name: Some("p".to_owned()), lists }
}

fn step(random: &mut Random, over: &Groups, send: &str, recv: &str) -> Step {
    let collective = random.pick(&Collective::ALL);
    let fold = collective.folds().then(|| random.pick(&[Fold::Sum, Fold::Max]));
    let root = collective.is_rooted().then(|| random.below(over.lists[0].len()));
    let (groups, send, recv) = (over.lists.clone(), send.to_owned(), recv.to_owned());
    Step::Collective { collective, fold, root, groups, send, recv }
}

/// What a need may ask for.
fn expressions(random: &mut Random, groups: &Groups, n: usize) -> Vec<Expression> {
    let own = || Box::new(Expression::Own("x".to_owned()));
    let worlds = [groups.clone(), Groups::world(n)];
    let mut all = vec![*own()];
    let mut whose = Vec::new();
    for one in 0..n {
        whose.push(Expression::Of("x".to_owned(), one));
        whose.push(Expression::OnDevice("x".to_owned(), one));
    }
    for over in &worlds {
        let folds = [Fold::Sum, Fold::Max].map(|fold| Expression::Fold(fold, own(), over.clone()));
        let gather = Expression::Gather(own(), over.clone());
        let wholes: Vec<Expression> =
            folds.iter().chain([&gather]).chain(&whose).cloned().collect();
        for whole in wholes {
            all.push(Expression::Shard(Box::new(whole.clone()), over.clone()));
            let again = Expression::Fold(Fold::Sum, Box::new(whole.clone()), over.clone());
            all.extend([whole, again]);
        }
        for members in &over.lists {
            let one = |rank: &usize| match random.below(2) {
                0 => Expression::Of("x".to_owned(), *rank),
                _ => Expression::OnDevice("x".to_owned(), *rank),
            };
            all.push(Expression::Concat(members.iter().map(one).collect()));
        }
    }
    all
}

fn names_a_device(holds: &Expression) -> bool {
    match holds {
        Expression::OnDevice(..) => true,
        Expression::Own(_) | Expression::Of(..) => false,
        Expression::Concat(parts) => parts.iter().any(names_a_device),
        Expression::Gather(inner, _)
        | Expression::Shard(inner, _)
        | Expression::Fold(_, inner, _)
        | Expression::Cast(inner, _)
        | Expression::Slice(inner, _) => names_a_device(inner),
    }
}

fn text(case: &Case, needs: &[Need]) -> String {
    let mut text = case.text();
    text.push_str("need = [\n");
    for (on, holds) in needs {
        let on = match on {
            On::Everybody => "\"every rank\"".to_owned(),
            On::Rank(rank) => format!("{{ rank = {rank} }}"),
            On::Device(device) => format!("{{ device = \"D{device}\" }}"),
        };
        writeln!(text, "    {{ on = {on}, buffer = \"y\", holds = \"{}\" }},", holds_text(holds))
            .unwrap();
    }
    text.push_str("]\n");
    text
}
