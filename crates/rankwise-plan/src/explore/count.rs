//! How many permutations satisfy all relations.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use num_bigint::BigUint;
use num_traits::{CheckedDiv as _, One as _, Zero as _};

use super::relation::{Relation, Relations};
use super::{Counted, Extent, Symmetry, factorial};

/// Steps past which placements are no longer counted one by one.
const STEPS: u64 = 1 << 18;

/// What counting says of the symmetries.
pub(super) enum Symmetries {
    /// Every harmless permutation is one.
    All,
    /// They are those of these relations: the given ones without the rows that no
    /// placement of all devices has.
    Of(Relations),
    /// Those of the given relations are symmetries; there may be more.
    NotKnown,
}

/// How many permutations satisfy the relations, whose symmetries are given.
pub(super) fn harmless(relations: &Relations, symmetry: &Symmetry) -> (Counted, Symmetries) {
    let lower = &symmetry.order.number;
    let extent = relations.extent();
    // What is known of the rows bounds from above only if it is all of them.
    if extent == Extent::Exact && upper_bound(relations) == *lower {
        return (Counted { number: lower.clone(), extent }, Symmetries::All);
    }
    let Some(solutions) = solve(&clusters(relations)) else {
        let number = lower.clone();
        return (Counted { number, extent: Extent::AtLeast }, Symmetries::NotKnown);
    };
    let classes = by_class(relations.points(), &symmetry.classes);
    let number = combine(&solutions, &classes, relations.points()).unwrap_or_else(BigUint::one);
    let symmetries = match extent {
        Extent::AtLeast => Symmetries::NotKnown,
        Extent::Exact if number == *lower => Symmetries::All,
        Extent::Exact => effective(relations).map_or(Symmetries::NotKnown, Symmetries::Of),
    };
    (Counted { number, extent }, symmetries)
}

/// The choices for each named device, the ones before it staying where they are,
/// multiplied; and those of all others.
fn upper_bound(relations: &Relations) -> BigUint {
    let mut fixed: BTreeMap<u32, u32> = BTreeMap::new();
    let mut bound = BigUint::one();
    for variable in relations.variables() {
        bound *= candidates(relations, &fixed, variable).len();
        fixed.insert(variable, variable);
    }
    bound * factorial(rest(relations.points(), fixed.len()))
}

fn rest(points: u32, taken: usize) -> usize {
    usize::try_from(points).unwrap_or(usize::MAX).saturating_sub(taken)
}

/// The ranks that a device may have beside those that are fixed, relation by relation.
pub(crate) fn candidates(
    relations: &Relations,
    fixed: &BTreeMap<u32, u32>,
    variable: u32,
) -> BTreeSet<u32> {
    let taken: BTreeSet<u32> = fixed.values().copied().collect();
    let mut left: Option<BTreeSet<u32>> = None;
    for relation in relations.relations() {
        let Some(column) = relation.variables().iter().position(|other| *other == variable) else {
            continue;
        };
        let rows = relation.rows().iter().filter(|row| relation.agrees(row, fixed));
        let here: BTreeSet<u32> = rows
            .filter(|row| {
                // Nor may another device of the row be where a fixed one is.
                relation
                    .variables()
                    .iter()
                    .zip(*row)
                    .all(|(other, at)| fixed.contains_key(other) || !taken.contains(at))
            })
            .filter_map(|row| row.get(column).copied())
            .collect();
        left = Some(match left {
            Some(left) => left.intersection(&here).copied().collect(),
            None => here,
        });
    }
    left.unwrap_or_else(|| (0..relations.points()).filter(|at| !taken.contains(at)).collect())
}

/// Relations that share devices, together.
fn clusters(relations: &Relations) -> Vec<Relations> {
    let mut clusters: Vec<Vec<Relation>> = Vec::new();
    for relation in relations.relations() {
        let shares = |cluster: &Vec<Relation>| {
            cluster
                .iter()
                .any(|other| other.variables().iter().any(|one| relation.variables().contains(one)))
        };
        let (touched, mut others): (Vec<_>, Vec<_>) = clusters.into_iter().partition(shares);
        let mut merged: Vec<Relation> = touched.into_iter().flatten().collect();
        merged.push(relation.clone());
        others.push(merged);
        clusters = others;
    }
    let of = |cluster| Relations::from_relations(relations.points(), cluster);
    clusters.into_iter().map(of).collect()
}

/// A cluster's placements, each as the ranks taken.
type Placements = Vec<Vec<u32>>;

/// All placements of each cluster alone, if they are not too many.
fn solve(clusters: &[Relations]) -> Option<Vec<Placements>> {
    let mut steps = 0;
    let mut all = Vec::new();
    for cluster in clusters {
        let mut found = Vec::new();
        let each = &mut |fixed: &BTreeMap<u32, u32>| {
            found.push(fixed.values().copied().collect());
            Go::On
        };
        search(cluster, &mut BTreeMap::new(), &mut steps, each)?;
        all.push(found);
    }
    Some(all)
}

/// Whether a search goes on after what it found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Go {
    On,
    Home,
}

/// Finds every placement that has `fixed` and satisfies the relations; `None` if that
/// takes too many steps.
fn search(
    relations: &Relations,
    fixed: &mut BTreeMap<u32, u32>,
    steps: &mut u64,
    each: &mut impl FnMut(&BTreeMap<u32, u32>) -> Go,
) -> Option<Go> {
    // The device with the fewest choices first.
    let open = relations.variables().filter(|variable| !fixed.contains_key(variable));
    let next = open
        .map(|variable| (candidates(relations, fixed, variable), variable))
        .min_by_key(|(choices, _)| choices.len());
    let Some((choices, variable)) = next else {
        let allowed = relations.relations().iter().all(|relation| relation.allows(fixed));
        return Some(if allowed { each(fixed) } else { Go::On });
    };
    for at in choices {
        *steps = steps.saturating_add(1);
        if *steps > STEPS {
            return None;
        }
        fixed.insert(variable, at);
        let went = search(relations, fixed, steps, each)?;
        fixed.remove(&variable);
        if went == Go::Home {
            return Some(Go::Home);
        }
    }
    Some(Go::On)
}

/// The class of each rank, and the sizes of the classes.
fn by_class(points: u32, classes: &[Vec<u32>]) -> (BTreeMap<u32, usize>, Vec<usize>) {
    let mut of = BTreeMap::new();
    let mut sizes = Vec::new();
    for (index, class) in classes.iter().enumerate() {
        of.extend(class.iter().map(|rank| (*rank, index)));
        sizes.push(class.len());
    }
    for rank in 0..points {
        of.entry(rank).or_insert_with(|| {
            sizes.push(1);
            sizes.len().saturating_sub(1)
        });
    }
    (of, sizes)
}

/// How many ways there are to choose one placement of each cluster so that no rank is
/// taken twice, and to place the rest.
///
/// Ranks of a class may be exchanged in every relation, so a cluster's placements that
/// take as many ranks of each class are alike: `pattern` of them for each way to pick
/// those ranks in order. Counting by how many of each class are taken is then enough.
fn combine(
    solutions: &[Placements],
    (class_of, sizes): &(BTreeMap<u32, usize>, Vec<usize>),
    points: u32,
) -> Option<BigUint> {
    let falling = |size: usize, taken: usize| -> BigUint {
        (0..taken).map(|less| BigUint::from(size.saturating_sub(less))).product()
    };
    let in_order = |usage: &[usize]| -> BigUint {
        sizes.iter().zip(usage).map(|(size, taken)| falling(*size, *taken)).product()
    };
    let mut states: BTreeMap<Vec<usize>, BigUint> =
        BTreeMap::from([(sizes.iter().map(|_| 0).collect(), BigUint::one())]);
    let mut taken_in_all = 0_usize;
    for placements in solutions {
        let mut patterns: BTreeMap<Vec<usize>, BigUint> = BTreeMap::new();
        for placement in placements {
            let mut usage: Vec<usize> = sizes.iter().map(|_| 0).collect();
            for rank in placement {
                let entry = class_of.get(rank).and_then(|class| usage.get_mut(*class))?;
                *entry = entry.saturating_add(1);
            }
            *patterns.entry(usage).or_default() += 1_u32;
        }
        taken_in_all = taken_in_all.saturating_add(placements.first().map_or(0, Vec::len));
        for (usage, number) in &mut patterns {
            *number = number.checked_div(&in_order(usage))?;
        }
        let mut next: BTreeMap<Vec<usize>, BigUint> = BTreeMap::new();
        for (before, ways) in &states {
            for (usage, pattern) in &patterns {
                let after: Vec<usize> = before
                    .iter()
                    .zip(usage)
                    .map(|(one, other)| one.saturating_add(*other))
                    .collect();
                if after.iter().zip(sizes).all(|(taken, size)| taken <= size) {
                    *next.entry(after).or_default() += ways * pattern;
                }
            }
        }
        states = next;
    }
    let placed: BigUint = states.iter().map(|(usage, ways)| ways * in_order(usage)).sum();
    (!placed.is_zero()).then(|| placed * factorial(rest(points, taken_in_all)))
}

/// The relations without the rows that no placement of all devices has; `None` if that
/// takes too many steps.
fn effective(relations: &Relations) -> Option<Relations> {
    let mut steps = 0;
    let mut kept = Vec::new();
    for relation in relations.relations() {
        let mut rows = BTreeSet::new();
        for row in relation.rows() {
            let mut fixed: BTreeMap<u32, u32> =
                relation.variables().iter().copied().zip(row.iter().copied()).collect();
            if search(relations, &mut fixed, &mut steps, &mut |_| Go::Home)? == Go::Home {
                rows.insert(row.clone());
            }
        }
        let mut relation = relation.clone();
        relation.retain(|row| rows.contains(row));
        kept.push(relation);
    }
    Some(Relations::from_relations(relations.points(), kept))
}
