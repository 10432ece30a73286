//! Right values in the wrong places: blocks in another order, values at other owners.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use rankwise_topology::WorldRank;

use super::groups::listed;
use super::{LISTED, Wrong};
use crate::form::PlacedForm;
use crate::plan::Plan;
use crate::term::Terms;
use crate::vector::{Content, Vector};

/// Vectors of more blocks than this are not looked through for a permutation.
const MOST_BLOCKS: u64 = 1 << 16;

/// Needs with more runs than this, on all ranks together, are not looked through for
/// the owners of what is found.
const MOST_RUNS: u64 = 1 << 20;

/// A list of numbers, by place: which block, or whose value, is there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permutation(Vec<u32>);

impl Permutation {
    /// The list as it is.
    pub const fn new(by_place: Vec<u32>) -> Self {
        Self(by_place)
    }

    /// By place.
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }

    /// By number: the place where it is.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let places: BTreeMap<u32, u32> = self.0.iter().copied().zip(0..).collect();
        Self(places.into_values().collect())
    }

    /// The places that do not hold their own number, with the number they hold.
    fn moved(&self) -> impl Iterator<Item = (u32, u32)> + Clone + '_ {
        (0..).zip(self.0.iter().copied()).filter(|(place, number)| place != number)
    }

    /// The numbers in order; of many the first.
    pub(super) fn listed(&self) -> String {
        listed(self.0.iter().copied())
    }
}

impl fmt::Display for Permutation {
    /// `1 and 2 exchanged`, `0, 7, 1, 2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut moved = self.moved();
        match (moved.next(), moved.next(), moved.next()) {
            (Some((one, other)), Some(_), None) => {
                write!(f, "{one} and {other} exchanged")
            }
            _ => f.write_str(&self.listed()),
        }
    }
}

impl Wrong {
    /// The order of `n` blocks, if that is what is wrong.
    pub(crate) fn order_of_blocks(&self, n: u32) -> Option<Permutation> {
        match self {
            Self::Permuted { order, .. } => Some(order.clone()),
            Self::Rotated { by, of } => {
                let block = of
                    .checked_div(n.into())
                    .filter(|block| block.checked_mul(n.into()) == Some(*of))?;
                let first =
                    by.checked_div(block).filter(|first| first.checked_mul(block) == Some(*by))?;
                let first = u32::try_from(first).ok()?;
                Some(Permutation((first..n).chain(0..first).collect()))
            }
            _ => None,
        }
    }
}

/// A rank, and the device that it is on where a map is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The rank.
    pub rank: WorldRank,
    /// Its device.
    pub device: Option<String>,
}

impl Owner {
    pub(crate) fn of(plan: &Plan, rank: WorldRank) -> Self {
        Self { rank, device: plan.device_of(rank) }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}", self.rank)?;
        match &self.device {
            Some(device) => write!(f, " (device {device})"),
            None => Ok(()),
        }
    }
}

/// All that is needed, in another order.
pub(crate) fn reordered(terms: &Terms, found: &Vector, needed: &Vector) -> Option<Wrong> {
    let count = needed.count();
    if found.count() != count || found.dtype() != needed.dtype() {
        return None;
    }
    rotated(terms, found, needed).or_else(|| permuted(terms, found, needed))
}

fn rotated(terms: &Terms, found: &Vector, needed: &Vector) -> Option<Wrong> {
    let first = form_of(terms, found.runs().next()?.content)?;
    let count = needed.count();
    // Where the first value belongs.
    let starts = needed.runs().filter_map(|run| {
        let wanted = form_of(terms, run.content)?;
        let by = (wanted.form == first.form).then(|| first.at.checked_sub(wanted.at)).flatten()?;
        (by < run.count()).then(|| run.positions.start.saturating_add(by))
    });
    let have = key(terms, found)?;
    // Two halves are exchanged rather than turned.
    starts.filter(|by| *by > 0 && by.checked_mul(2) != Some(count)).take(LISTED).find_map(|by| {
        let mut turned = needed.slice(by..count)?;
        turned.extend(&needed.slice(0..by)?);
        (key(terms, &turned)? == have).then_some(Wrong::Rotated { by, of: count })
    })
}

fn permuted(terms: &Terms, found: &Vector, needed: &Vector) -> Option<Wrong> {
    let count = needed.count();
    let ends = found.runs().chain(needed.runs()).map(|run| run.positions.end);
    let block = ends.fold(count, gcd);
    let blocks = count.checked_div(block).filter(|blocks| (2..=MOST_BLOCKS).contains(blocks))?;
    let cut = |vector: &Vector| -> Option<Vec<PlacedForm>> {
        let mut forms = Vec::new();
        for run in vector.runs() {
            for start in (0..run.count()).step_by(usize::try_from(block).ok()?) {
                forms.push(form_of(terms, run.content.shifted(start))?);
            }
        }
        Some(forms)
    };
    let (have, want) = (cut(found)?, cut(needed)?);
    // A block that is in its place stays there; the rest find theirs, first ones first.
    let mut places: BTreeMap<PlacedForm, VecDeque<u32>> = BTreeMap::new();
    for (place, (have, want)) in (0..).zip(have.iter().zip(&want)) {
        if have != want {
            places.entry(*want).or_default().push_back(place);
        }
    }
    let mut order = Vec::with_capacity(usize::try_from(blocks).unwrap_or(0));
    for (place, (have, want)) in (0..).zip(have.iter().zip(&want)) {
        order.push(if have == want { place } else { places.get_mut(have)?.pop_front()? });
    }
    Some(Wrong::Permuted { block, order: Permutation(order) })
}

fn gcd(one: u64, other: u64) -> u64 {
    let (mut one, mut other) = (one, other);
    while let Some(rest) = one.checked_rem(other) {
        (one, other) = (other, rest);
    }
    one
}

fn form_of(terms: &Terms, content: Content) -> Option<PlacedForm> {
    match content {
        Content::Term(placed) => terms.forms().of(placed),
        Content::Gap(_) => None,
    }
}

/// What a vector holds, however its terms are written; `None` if not all of it.
pub(super) type Key = Vec<(u64, PlacedForm)>;

pub(super) fn key(terms: &Terms, vector: &Vector) -> Option<Key> {
    let mut key: Key = Vec::new();
    for run in vector.runs() {
        let form = form_of(terms, run.content)?;
        match key.last_mut() {
            Some((count, last)) if terms.forms().shifted(*last, *count) == form => {
                *count = count.saturating_add(run.count());
            }
            _ => key.push((run.count(), form)),
        }
    }
    Some(key)
}

/// What a rank needs, and what it holds where it needs it.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) rank: WorldRank,
    pub(crate) held: Option<Arc<Vector>>,
    pub(crate) needed: Arc<Vector>,
}

/// Whose value `rank` holds, and who holds what `rank` needs.
pub(crate) fn owners(
    terms: &Terms,
    plan: &Plan,
    claims: &[Claim],
    rank: WorldRank,
) -> Option<Wrong> {
    let runs = Vector::runs_at_most;
    let all: u64 = claims
        .iter()
        .map(|claim| runs(&claim.needed).saturating_add(claim.held.as_deref().map_or(0, runs)))
        .fold(0, u64::saturating_add);
    if all > MOST_RUNS {
        return None;
    }
    let needed: Vec<Option<Key>> = claims.iter().map(|claim| key(terms, &claim.needed)).collect();
    let held: Vec<Option<Key>> =
        claims.iter().map(|claim| key(terms, claim.held.as_deref()?)).collect();
    let index = claims.iter().position(|claim| claim.rank == rank)?;
    let (mine, wanted) = (held.get(index)?, needed.get(index)?.as_ref()?);
    // By value: the first rank that needs it, and the first that holds it.
    let (mut needs, mut holds) = (BTreeMap::new(), BTreeMap::new());
    for (claim, (needed, held)) in claims.iter().zip(needed.iter().zip(&held)) {
        if let Some(needed) = needed {
            needs.entry(needed).or_insert(claim.rank);
        }
        // What a rank needs itself is in its place there, whoever else needs it too.
        if let Some(held) = held
            && needed.as_ref() != Some(held)
        {
            holds.entry(held).or_insert(claim.rank);
        }
    }
    if needs.len() == claims.len() {
        let owner = |held: &Option<Key>| needs.get(held.as_ref()?).map(|rank| rank.index());
        let owners: Option<Vec<u32>> = held.iter().map(owner).collect();
        let ranks: Vec<u32> = claims.iter().map(|claim| claim.rank.index()).collect();
        if let Some(owners) = owners {
            let mut sorted = owners.clone();
            sorted.sort_unstable();
            sorted.dedup();
            if sorted.len() == owners.len() && owners != ranks {
                let (ranks, owners) = (Permutation(ranks), Permutation(owners));
                return Some(Wrong::OwnersPermuted { ranks, owners });
            }
        }
    }
    let elsewhere = |of: Option<&WorldRank>| {
        of.filter(|other| **other != rank).map(|other| Owner::of(plan, *other))
    };
    let holds_of =
        elsewhere(mine.as_ref().filter(|mine| *mine != wanted).and_then(|mine| needs.get(mine)));
    let needed_at = elsewhere(holds.get(wanted));
    (holds_of.is_some() || needed_at.is_some())
        .then_some(Wrong::WrongOwner { holds: holds_of, needed_at })
}
