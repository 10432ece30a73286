//! What the exchange of two devices does, for one pair of each kind.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use rankwise_topology::Permutation;

use super::{Exploration, ExploreError, Permuted, permuted};
use crate::plan::{Plan, Proposal};

/// Kinds of pairs past which no more are judged, times the square of the ranks: each
/// takes two evaluations, in which every rank may read what every rank gave.
const WORK: u64 = 1 << 18;

/// The exchange of two devices.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The devices, by their ranks in the plan.
    pub pair: [u32; 2],
    /// How many pairs there are whose exchange does the same, this one included.
    pub alike: u64,
    /// What it does.
    pub permuted: Permuted,
}

/// Exchanges of two devices.
#[derive(Clone, Debug)]
pub struct Exchanges {
    /// One of each kind.
    pub judged: Vec<Exchange>,
    /// How many kinds were not judged, since there are many.
    pub kinds_left: usize,
}

/// Judges one exchange of each kind.
///
/// Two pairs are of one kind if devices that nothing names, on ranks that can be
/// exchanged, take the one to the other.
pub fn exchanges(
    plan: &Plan,
    proposal: &Proposal,
    explored: &Exploration,
) -> Result<Exchanges, ExploreError> {
    let points = plan.world.get();
    let mut kinds: Vec<Vec<u32>> = explored.named.iter().map(|at| alloc::vec![*at]).collect();
    let mut class_of: BTreeMap<u32, usize> = BTreeMap::new();
    for (index, class) in explored.symmetry.classes.iter().enumerate() {
        class_of.extend(class.iter().map(|at| (*at, index)));
    }
    let mut classed: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for at in (0..points).filter(|at| explored.named.binary_search(at).is_err()) {
        match class_of.get(&at) {
            Some(class) => classed.entry(*class).or_default().push(at),
            None => kinds.push(alloc::vec![at]),
        }
    }
    kinds.extend(classed.into_values());
    kinds.sort_unstable();

    let square = u64::from(points).saturating_mul(u64::from(points));
    let most = WORK.checked_div(square).unwrap_or(WORK).clamp(4, 64);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut found = Exchanges { judged: Vec::new(), kinds_left: 0 };
    for (index, one) in kinds.iter().enumerate() {
        for (other_index, other) in kinds.iter().enumerate().skip(index) {
            let Some(([first, second], alike)) = pair(one, other, index == other_index) else {
                continue;
            };
            if found.judged.len() >= most {
                found.kinds_left = found.kinds_left.saturating_add(1);
                continue;
            }
            let Ok(exchange) = Permutation::exchange(points, first, second) else { continue };
            let permuted = permuted(plan, proposal, &exchange)?;
            found.judged.push(Exchange { pair: [first, second], alike, permuted });
        }
    }
    Ok(found)
}

/// The first pair of two kinds, and how many there are.
fn pair(one: &[u32], other: &[u32], same: bool) -> Option<([u32; 2], u64)> {
    let len = |kind: &[u32]| u64::try_from(kind.len()).unwrap_or(u64::MAX);
    if same {
        let [first, second, ..] = one else { return None };
        let n = len(one);
        let ordered = n.saturating_mul(n.saturating_sub(1));
        return Some(([*first, *second], ordered.checked_div(2)?));
    }
    Some(([*one.first()?, *other.first()?], len(one).saturating_mul(len(other))))
}
