//! Aligning two sequences: what has to be taken out and put in to make one the other.
//!
//! What both begin and end with is taken off first, so that equal sequences cost their
//! length; the rest is the greedy algorithm of Myers (1986), which costs the number of
//! differences times the length, and gives up beyond [`LIMIT`] differences.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// The most elements that are taken out and put in before two sequences count as
/// having too little in common.
pub(crate) const LIMIT: usize = 64;

/// Where two sequences differ: these elements of one stand for those of the other.
/// Between hunks they are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hunk {
    pub(crate) one: Range<usize>,
    pub(crate) other: Range<usize>,
}

/// The hunks of a shortest script, in order; `None` where it is longer than [`LIMIT`].
pub(crate) fn align<T: PartialEq>(one: &[T], other: &[T]) -> Option<Vec<Hunk>> {
    let start = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let rest = |all: &[T]| all.len().saturating_sub(start);
    let both = rest(one).min(rest(other));
    let end = one.iter().rev().zip(other.iter().rev()).take(both).take_while(|(a, b)| a == b);
    let end = end.count();
    let (ends_one, ends_other) = (one.len().saturating_sub(end), other.len().saturating_sub(end));
    let (middle_one, middle_other) = (one.get(start..ends_one)?, other.get(start..ends_other)?);
    let equal = equal_pairs(middle_one, middle_other)?;

    let mut hunks: Vec<Hunk> = Vec::new();
    let (mut at_one, mut at_other) = (start, start);
    let shifted =
        equal.into_iter().map(|(a, b)| (a.saturating_add(start), b.saturating_add(start)));
    for (next_one, next_other) in shifted.chain([(ends_one, ends_other)]) {
        if at_one < next_one || at_other < next_other {
            hunks.push(Hunk { one: at_one..next_one, other: at_other..next_other });
        }
        (at_one, at_other) = (next_one.saturating_add(1), next_other.saturating_add(1));
    }
    Some(hunks)
}

/// Positions of a longest common subsequence, in order.
fn equal_pairs<T: PartialEq>(one: &[T], other: &[T]) -> Option<Vec<(usize, usize)>> {
    if one.is_empty() || other.is_empty() {
        // One block, however long: nothing has to be searched for.
        return Some(Vec::new());
    }
    // On diagonal k = x − y, the furthest x; diagonals are stored at k + offset.
    let limit = LIMIT.min(one.len().saturating_add(other.len()));
    let offset = limit.saturating_add(1);
    let mut furthest = vec![0_usize; offset.saturating_mul(2).saturating_add(1)];
    let mut trace: Vec<Vec<usize>> = Vec::new();
    for depth in 0..=limit {
        trace.push(furthest.clone());
        for at in (offset.saturating_sub(depth)..=offset.saturating_add(depth)).step_by(2) {
            let down = comes_down(&furthest, at, depth, offset);
            let mut x = if down {
                get(&furthest, at.saturating_add(1))
            } else {
                get(&furthest, at.saturating_sub(1)).saturating_add(1)
            };
            let Some(mut y) = x.saturating_add(offset).checked_sub(at) else { continue };
            while one.get(x).is_some_and(|here| other.get(y) == Some(here)) {
                x = x.saturating_add(1);
                y = y.saturating_add(1);
            }
            if let Some(entry) = furthest.get_mut(at) {
                *entry = x;
            }
            if x >= one.len() && y >= other.len() {
                return Some(walk_back(&trace, one.len(), other.len(), offset));
            }
        }
    }
    None
}

/// Whether the furthest path on a diagonal comes from the one above it: an element of
/// the other sequence is put in. On the lowest diagonal nothing else is possible.
fn comes_down(furthest: &[usize], at: usize, depth: usize, offset: usize) -> bool {
    let lowest = offset.saturating_sub(depth);
    let highest = offset.saturating_add(depth);
    let below = || get(furthest, at.saturating_sub(1));
    at == lowest || at != highest && below() < get(furthest, at.saturating_add(1))
}

fn get(furthest: &[usize], at: usize) -> usize {
    furthest.get(at).copied().unwrap_or(0)
}

/// The pairs that the path to the ends goes through, from what was furthest at each depth.
fn walk_back(trace: &[Vec<usize>], one: usize, other: usize, offset: usize) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let (mut x, mut y) = (one, other);
    for (depth, furthest) in trace.iter().enumerate().rev() {
        let Some(at) = x.saturating_add(offset).checked_sub(y) else { break };
        let (from_x, from_y) = if depth == 0 {
            (0, 0)
        } else {
            let down = comes_down(furthest, at, depth, offset);
            let from = if down { at.saturating_add(1) } else { at.saturating_sub(1) };
            let from_x = get(furthest, from);
            (from_x, from_x.saturating_add(offset).saturating_sub(from))
        };
        // The diagonal behind the one element that is taken out or put in.
        while x > from_x && y > from_y {
            x = x.saturating_sub(1);
            y = y.saturating_sub(1);
            pairs.push((x, y));
        }
        (x, y) = (from_x, from_y);
    }
    pairs.reverse();
    pairs
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hunks(one: &str, other: &str) -> Vec<(Range<usize>, Range<usize>)> {
        let found = align(one.as_bytes(), other.as_bytes()).unwrap();
        found.into_iter().map(|hunk| (hunk.one, hunk.other)).collect()
    }

    #[test]
    fn what_differs_is_between_what_is_equal() {
        assert_eq!(hunks("abcd", "abcd"), []);
        assert_eq!(hunks("abcd", "abd"), [(2..3, 2..2)]);
        assert_eq!(hunks("", "ab"), [(0..0, 0..2)]);
        assert_eq!(hunks("axbyc", "abzc"), [(1..2, 1..1), (3..4, 2..3)]);
    }

    #[test]
    fn too_little_in_common_is_said() {
        let one: Vec<usize> = (0..100).collect();
        let other: Vec<usize> = (100..200).collect();
        assert_eq!(align(&one, &other), None);
        // A block that is only taken out is no search.
        assert_eq!(align(&one, &[]), Some(vec![Hunk { one: 0..100, other: 0..0 }]));
    }

    /// The length of a longest common subsequence, by the table.
    fn common(one: &[u8], other: &[u8]) -> usize {
        let mut table = vec![vec![0; other.len() + 1]; one.len() + 1];
        for (i, a) in one.iter().enumerate() {
            for (j, b) in other.iter().enumerate() {
                table[i + 1][j + 1] =
                    if a == b { table[i][j] + 1 } else { table[i][j + 1].max(table[i + 1][j]) };
            }
        }
        table[one.len()][other.len()]
    }

    proptest! {
        #[test]
        fn it_is_a_shortest_script(
            one in prop::collection::vec(0..4_u8, 0..24),
            other in prop::collection::vec(0..4_u8, 0..24),
        ) {
            let hunks = align(&one, &other).unwrap();
            // What is between the hunks is equal, and as much as can be.
            let mut rebuilt = Vec::new();
            let (mut at_one, mut at_other) = (0, 0);
            for hunk in &hunks {
                prop_assert_eq!(hunk.one.start - at_one, hunk.other.start - at_other);
                rebuilt.extend_from_slice(&one[at_one..hunk.one.start]);
                rebuilt.extend_from_slice(&other[hunk.other.clone()]);
                (at_one, at_other) = (hunk.one.end, hunk.other.end);
            }
            rebuilt.extend_from_slice(&one[at_one..]);
            prop_assert_eq!(&rebuilt, &other);
            let taken_out: usize = hunks.iter().map(|hunk| hunk.one.len()).sum();
            prop_assert_eq!(one.len() - taken_out, common(&one, &other));
        }
    }
}
