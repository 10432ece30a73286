//! Where the calls of some members of a communicator part from those of the others.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Reverse;

use rankwise_model::Rank;
use rankwise_topology::{Group, WorldRank};

use super::log::{calls_of, is_collective, shown, slot};
use crate::align::{Hunk, align};
use crate::blame::Alike;
use crate::call::{Payload, Tag, Verb};
use crate::history::widen;
use crate::program::{Place, Planned, Program};
use crate::report::{Against, Call, Divergence, Edit, Kind, More, Report};
use crate::seq::Seq;

/// Sequences that are compared with the one that most make, at most.
const COMPARED: usize = 16;

/// Edits of one sequence that are listed, at most.
const LISTED: usize = 16;

/// What makes two calls equal, as a number.
type Key = u32;

/// A call that has no place yet in a report.
#[derive(Clone, Copy)]
struct Made<'a> {
    place: Place,
    planned: &'a Planned,
    seq: Seq,
}

/// The calls of a member, as numbers and as they are.
struct Sequence<'a> {
    keys: Vec<Key>,
    calls: Vec<Made<'a>>,
}

/// Numbers for calls that are equal but for what is each rank's own.
#[derive(Default)]
struct Interned<'a> {
    collectives: BTreeMap<Alike<'a>, Key>,
    messages: BTreeMap<(Option<Payload>, Option<&'a Tag>), Key>,
}

/// What parts on the communicators of a report.
pub(super) fn divergences(program: &Program, report: &Report) -> Vec<Divergence> {
    let mut found = Vec::new();
    if let (Some(Seq::Message { from, to, .. }), Kind::Mismatch) = (report.seq, report.kind) {
        if let Some(group) = program.group(&report.communicator) {
            found.extend(between_sides(program, &report.communicator, group, from, to));
        }
        return found;
    }
    let names: BTreeSet<&Arc<str>> = match report.waits.as_slice() {
        [] => [&report.communicator].into(),
        waits => waits.iter().map(|edge| &edge.call.communicator).collect(),
    };
    for name in names {
        if let Some(group) = program.group(name) {
            found.extend(among_members(program, name, group));
        }
    }
    // What the report says itself is not said again.
    found.retain(|divergence| match divergence.edits.as_slice() {
        [Edit::Replaced { .. }] | [] => divergence.more != More::Edits(0),
        [Edit::Skipped { call, .. }] => {
            report.kind != Kind::MissingRank || report.seq != Some(call.seq)
        }
        _ => true,
    });
    found
}

/// Of collectives: what most members call, against each other sequence.
fn among_members(program: &Program, name: &Arc<str>, group: &Group) -> Vec<Divergence> {
    let mut interned = Interned::default();
    let mut classes: BTreeMap<Vec<Key>, Vec<WorldRank>> = BTreeMap::new();
    for member in group.members() {
        let sequence = interned.sequence(program, *member, name);
        classes.entry(sequence.keys).or_default().push(*member);
    }
    let mut classes: Vec<Vec<WorldRank>> = classes.into_values().collect();
    for ranks in &mut classes {
        ranks.sort_unstable();
    }
    classes.sort_unstable_by_key(|ranks| (Reverse(ranks.len()), ranks.first().copied()));
    let Some((like, others)) = classes.split_first() else { return Vec::new() };
    let is_majority = like.len().saturating_mul(2) > group.members().len();
    let against = if is_majority { Against::Majority } else { Against::NoMajority };
    let Some(first) = like.first() else { return Vec::new() };
    let expected = interned.sequence(program, *first, name);
    others
        .iter()
        .take(COMPARED)
        .filter_map(|ranks| {
            let found = interned.sequence(program, *ranks.first()?, name);
            let (edits, more) = edits(&expected, &found);
            Some(Divergence { ranks: ranks.clone(), like: like.clone(), against, edits, more })
        })
        .collect()
}

/// Of messages: what one sends, against what the other receives from it.
fn between_sides(
    program: &Program,
    name: &Arc<str>,
    group: &Group,
    from: Rank,
    to: Rank,
) -> Option<Divergence> {
    let (sender, receiver) = (group.world_rank(from)?, group.world_rank(to)?);
    let mut interned = Interned::default();
    let sent = interned.messages(program, sender, name, Verb::Send { to }, (from, to));
    let received = interned.messages(program, receiver, name, Verb::Recv { from }, (from, to));
    let (edits, more) = edits(&sent, &received);
    let (ranks, like) = (Vec::from([receiver]), Vec::from([sender]));
    let against = Against::NoMajority;
    Some(Divergence { ranks, like, against, edits, more })
        .filter(|found| !matches!(found.edits.as_slice(), [] | [Edit::Replaced { .. }]))
}

impl<'a> Interned<'a> {
    /// The collectives of a rank on a group.
    fn sequence(&mut self, program: &'a Program, rank: WorldRank, name: &str) -> Sequence<'a> {
        let mut sequence = Sequence { keys: Vec::new(), calls: Vec::new() };
        for (place, planned) in calls_on(program, rank, name) {
            if !is_collective(planned.signature.verb()) {
                continue;
            }
            let tag = planned.tag.as_ref();
            let what = Alike::of(&planned.signature, tag, planned.creates.as_deref());
            let next = u32::try_from(self.collectives.len()).unwrap_or(u32::MAX);
            sequence.keys.push(*self.collectives.entry(what).or_insert(next));
            let seq = Seq::Collective(widen(sequence.calls.len()));
            sequence.calls.push(Made { place, planned, seq });
        }
        sequence
    }

    /// The messages of a rank with that verb: to or from one other.
    fn messages(
        &mut self,
        program: &'a Program,
        rank: WorldRank,
        name: &str,
        verb: Verb,
        (from, to): (Rank, Rank),
    ) -> Sequence<'a> {
        let mut sequence = Sequence { keys: Vec::new(), calls: Vec::new() };
        for (place, planned) in calls_on(program, rank, name) {
            if planned.signature.verb() != verb {
                continue;
            }
            let what = (planned.signature.payload(), planned.tag.as_ref());
            let next = u32::try_from(self.messages.len()).unwrap_or(u32::MAX);
            sequence.keys.push(*self.messages.entry(what).or_insert(next));
            let seq = Seq::Message { from, to, number: widen(sequence.calls.len()) };
            sequence.calls.push(Made { place, planned, seq });
        }
        sequence
    }
}

/// The calls of a rank on a group, in their order.
fn calls_on<'a>(
    program: &'a Program,
    rank: WorldRank,
    name: &str,
) -> impl Iterator<Item = (Place, &'a Planned)> {
    let steps = slot(rank).and_then(|at| program.ranks.get(at)).map(Vec::as_slice);
    let steps = (0..).zip(steps.unwrap_or_default());
    let calls = steps.flat_map(move |(at, step)| calls_of(rank, at, step));
    calls.filter(move |(_, planned)| &*planned.group == name)
}

/// What makes of one sequence another, in the order of the calls.
fn edits(expected: &Sequence<'_>, found: &Sequence<'_>) -> (Vec<Edit>, More) {
    if let Some(swapped) = one_swap(expected, found) {
        return (Vec::from([swapped]), More::Edits(0));
    }
    let Some(hunks) = align(&expected.keys, &found.keys) else {
        let same = expected.keys.iter().zip(&found.keys).take_while(|(one, other)| one == other);
        let at = same.count();
        let pair = expected.at(at).zip(found.at(at));
        let edit = pair.map(|(expected, found)| Edit::Replaced { expected, found });
        return (edit.into_iter().collect(), More::NotAligned);
    };
    let mut edits = Script::of(expected, found, &hunks).edits();
    let more = widen(edits.len().saturating_sub(LISTED));
    edits.truncate(LISTED);
    (edits, More::Edits(more))
}

/// Two sequences that are equal but for two calls, which are each in the other's place.
fn one_swap(expected: &Sequence<'_>, found: &Sequence<'_>) -> Option<Edit> {
    if expected.keys.len() != found.keys.len() {
        return None;
    }
    let pairs = expected.keys.iter().zip(&found.keys);
    let mut differing = (0..).zip(pairs).filter(|(_, (one, other))| one != other);
    let ((first, (a, b)), (second, (c, d))) = (differing.next()?, differing.next()?);
    if (a, b) != (d, c) || differing.next().is_some() {
        return None;
    }
    Some(Edit::Swapped { first: found.at(first)?, second: found.at(second)? })
}

impl Sequence<'_> {
    fn at(&self, at: usize) -> Option<Call> {
        let made = self.calls.get(at)?;
        Some(shown(made.planned, made.seq, made.place))
    }

    fn key(&self, at: usize) -> Option<Key> {
        self.keys.get(at).copied()
    }
}

/// What is taken out and put in, hunk by hunk, and which of it is the same call moved.
struct Script<'a> {
    expected: &'a Sequence<'a>,
    found: &'a Sequence<'a>,
    hunks: &'a [Hunk],
    /// By position among the expected: where it has moved to.
    moved_to: BTreeMap<usize, usize>,
    /// The other way round.
    moved_from: BTreeMap<usize, usize>,
}

impl<'a> Script<'a> {
    fn of(expected: &'a Sequence<'a>, found: &'a Sequence<'a>, hunks: &'a [Hunk]) -> Self {
        let mut put_in: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
        for at in hunks.iter().rev().flat_map(|hunk| hunk.other.clone().rev()) {
            put_in.entry(found.key(at).unwrap_or(Key::MAX)).or_default().push(at);
        }
        let (mut moved_to, mut moved_from) = (BTreeMap::new(), BTreeMap::new());
        for at in hunks.iter().flat_map(|hunk| hunk.one.clone()) {
            let Some(key) = expected.key(at) else { continue };
            if let Some(to) = put_in.get_mut(&key).and_then(Vec::pop) {
                moved_to.insert(at, to);
                moved_from.insert(to, at);
            }
        }
        Self { expected, found, hunks, moved_to, moved_from }
    }

    fn edits(&self) -> Vec<Edit> {
        let mut edits = Vec::new();
        let mut told: BTreeSet<usize> = BTreeSet::new();
        for (at, hunk) in self.hunks.iter().enumerate() {
            let left = |range: &core::ops::Range<usize>, moved: &BTreeMap<usize, usize>| {
                range.clone().filter(|at| !moved.contains_key(at)).collect::<Vec<usize>>()
            };
            let mut taken_out = left(&hunk.one, &self.moved_to);
            let mut put_in = left(&hunk.other, &self.moved_from);
            for to in hunk.other.clone() {
                if let Some(from) = self.moved_from.get(&to)
                    && told.insert(*from)
                {
                    edits.extend(self.moved(*from, to, &mut told));
                }
            }
            let replaced = taken_out.len().min(put_in.len());
            for (one, other) in taken_out.drain(..replaced).zip(put_in.drain(..replaced)) {
                let pair = self.expected.at(one).zip(self.found.at(other));
                edits.extend(pair.map(|(expected, found)| Edit::Replaced { expected, found }));
            }
            let between = |of: fn(&Hunk) -> &core::ops::Range<usize>, len: usize| {
                let before = at.checked_sub(1).and_then(|at| self.hunks.get(at));
                let after = self.hunks.get(at.saturating_add(1));
                let from = before.map_or(0, |hunk| of(hunk).end);
                from..after.map_or(len, |hunk| of(hunk).start)
            };
            let within = between(|hunk| &hunk.one, self.expected.keys.len());
            for block in blocks(&taken_out) {
                let (first, calls, among) = slid(&self.expected.keys, &block, &within);
                let call = self.expected.at(first);
                edits.extend(call.map(|call| Edit::Skipped { call, calls, among }));
            }
            let within = between(|hunk| &hunk.other, self.found.keys.len());
            for block in blocks(&put_in) {
                let (first, calls, among) = slid(&self.found.keys, &block, &within);
                let call = self.found.at(first);
                edits.extend(call.map(|call| Edit::Extra { call, calls, among }));
            }
        }
        edits
    }

    /// A call that has moved; together with another, if the two have changed places.
    fn moved(&self, from: usize, to: usize, told: &mut BTreeSet<usize>) -> Option<Edit> {
        let (call, elsewhere) = (self.found.at(to)?, self.expected.at(from)?);
        // Past one neighbour only: that is the other of a swap.
        let next_to = |at: usize, other: usize| self.expected.key(at) == self.found.key(other);
        if to > 0
            && self.is_kept(from.saturating_add(1), to.saturating_sub(1))
            && next_to(from.saturating_add(1), to.saturating_sub(1))
        {
            return Some(Edit::Swapped { first: self.found.at(to.checked_sub(1)?)?, second: call });
        }
        if from > 0
            && self.is_kept(from.saturating_sub(1), to.saturating_add(1))
            && next_to(from.saturating_sub(1), to.saturating_add(1))
        {
            return Some(Edit::Swapped { first: call, second: self.found.at(to.checked_add(1)?)? });
        }
        // Each in the hunk that the other has left.
        let hunk_of = |at: usize, of: fn(&Hunk) -> &core::ops::Range<usize>| {
            self.hunks.iter().find(|hunk| of(hunk).contains(&at))
        };
        let (left, entered) = (hunk_of(from, |hunk| &hunk.one)?, hunk_of(to, |hunk| &hunk.other)?);
        let other = entered
            .one
            .clone()
            .find(|other| self.moved_to.get(other).is_some_and(|to| left.other.contains(to)));
        if let Some(other) = other.filter(|other| told.insert(*other)) {
            let second = self.found.at(*self.moved_to.get(&other)?)?;
            let (first, second) =
                if call.seq < second.seq { (call, second) } else { (second, call) };
            return Some(Edit::Swapped { first, second });
        }
        Some(Edit::Moved { call, elsewhere })
    }

    /// Whether a position among the expected is matched with that one among the found.
    fn is_kept(&self, one: usize, other: usize) -> bool {
        let before = self.hunks.iter().take_while(|hunk| hunk.one.start <= one).last();
        match before {
            None => one == other,
            Some(hunk) => {
                let behind = one.checked_sub(hunk.one.end);
                behind.is_some() && behind == other.checked_sub(hunk.other.end)
            }
        }
    }
}

/// Positions drawn together where they follow each other.
fn blocks(positions: &[usize]) -> Vec<core::ops::Range<usize>> {
    let mut blocks: Vec<core::ops::Range<usize>> = Vec::new();
    for at in positions {
        match blocks.last_mut() {
            Some(block) if block.end == *at => block.end = at.saturating_add(1),
            _ => blocks.push(*at..at.saturating_add(1)),
        }
    }
    blocks
}

/// The first place where a block may as well be, its length, and out of how many equal
/// calls it is.
fn slid(
    keys: &[Key],
    block: &core::ops::Range<usize>,
    within: &core::ops::Range<usize>,
) -> (usize, u64, u64) {
    let calls = widen(block.len());
    let key = keys.get(block.start);
    let all_equal =
        keys.get(block.clone()).is_some_and(|block| block.iter().all(|one| Some(one) == key));
    if !all_equal {
        return (block.start, calls, calls);
    }
    let before = keys.get(within.start..block.start).unwrap_or_default();
    let after = keys.get(block.end..within.end).unwrap_or_default();
    let left = before.iter().rev().take_while(|one| Some(*one) == key).count();
    let right = after.iter().take_while(|one| Some(*one) == key).count();
    let among = calls.saturating_add(widen(left)).saturating_add(widen(right));
    (block.start.saturating_sub(left), calls, among)
}
