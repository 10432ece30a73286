//! From a cause to its report: who called what, who differs, who is absent.

pub(crate) mod circle;

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Reverse;

use rankwise_model::{OperationKind, Rank};
use rankwise_topology::WorldRank;

use crate::call::{Signature, Tag, Verb};
use crate::history::{Made, widen};
use crate::instance::InstanceId;
use crate::matcher::{Matcher, position_of};
use crate::report::{Absent, Aspect, Aspects, Call, Kind, Member, Report, Side, Why};
use crate::site::Site;
use crate::waits::{Cause, Fault};

/// Ranks whose last calls a report shows, at most.
const SHOWN_RANKS: usize = 16;

impl Matcher {
    /// The report on a cause.
    pub(crate) fn report_on(&self, cause: &Cause) -> Report {
        match (cause.fault, cause.instances.as_slice()) {
            (Fault::Contradiction, [instance]) => self.on_instance(*instance, Kind::Mismatch),
            (Fault::Gone, [instance]) => {
                let of_message = self
                    .instances
                    .get(*instance)
                    .is_some_and(|found| found.first.verb().peer().is_some());
                let kind = if of_message { Kind::UnmatchedMessage } else { Kind::MissingRank };
                self.on_instance(*instance, kind)
            }
            (_, instances) => self.on_circle(instances),
        }
    }

    /// The report for a rank that gives up.
    pub(crate) fn inconclusive(&self, rank: WorldRank) -> Report {
        let waits = self.rank(rank).map(|found| found.waits.as_slice()).unwrap_or_default();
        let open = waits.iter().find_map(|wait| self.open_in(*wait).next());
        match open {
            Some(instance) => self.on_instance(instance, Kind::Inconclusive),
            None => Report::new(Kind::Inconclusive, Arc::default(), self.world.size()),
        }
    }

    /// The report on one instance: its calls, and who did not call.
    fn on_instance(&self, instance: InstanceId, kind: Kind) -> Report {
        let Some(found) = self.instances.get(instance) else {
            return Report::new(kind, Arc::default(), self.world.size());
        };
        let Some(comm) = self.comm(found.comm) else {
            return Report::new(kind, Arc::default(), self.world.size());
        };
        let mut report = Report::new(kind, comm.name.clone(), comm.group.size());
        report.seq = Some(found.seq);

        let mut last: BTreeMap<WorldRank, u64> = BTreeMap::new();
        let mut calls: Vec<(Member, &Made)> = Vec::new();
        for (seat, taken) in found.seats.iter().enumerate() {
            let Some(rank) = position_of(&comm.group, found.seq, seat) else { continue };
            let Some(world) = comm.group.world_rank(rank) else { continue };
            let Some(taken) = taken else {
                let member = Member { world, rank };
                report.absent.push(Absent { member, why: self.why_absent(instance, member) });
                if let Some(until) = self.last_call_of_absent(world) {
                    last.insert(world, until);
                }
                continue;
            };
            let made = self.rank(world).and_then(|found| found.history.get(taken.call));
            if let Some(made) = made {
                last.insert(world, taken.call);
                calls.push((Member { world, rank }, made));
            }
        }
        report.sides = sides(&calls);
        let called = widen(calls.len());
        let majority = report
            .sides
            .first()
            .filter(|side| widen(side.members.len()).saturating_mul(2) > called);
        (report.aspects, report.outliers) = differences(&report.sides, majority);

        let mut concerned: Vec<WorldRank> = report.outliers.clone();
        concerned.extend(report.absent.iter().map(|absent| absent.member.world));
        if report.outliers.is_empty() {
            let first = |side: &Side| side.members.first().map(|member| member.world);
            concerned.extend(report.sides.iter().filter_map(first));
        }
        report.recent = self.recent(concerned, &last);
        report
    }

    /// The last calls of ranks, up to the call that is given for each.
    fn recent(
        &self,
        mut ranks: Vec<WorldRank>,
        last: &BTreeMap<WorldRank, u64>,
    ) -> Vec<(WorldRank, Vec<Call>)> {
        ranks.sort_unstable();
        ranks.dedup();
        ranks.truncate(SHOWN_RANKS);
        let calls = |rank: WorldRank| {
            let until = *last.get(&rank)?;
            let calls = self.rank(rank)?.history.up_to(until).map(|made| self.shown(made));
            Some((rank, calls.collect()))
        };
        ranks.into_iter().filter_map(calls).collect()
    }

    /// Up to where the calls of an absent member are shown: to the last, or what was the
    /// last when it was told of a failure. A blocked rank makes none meanwhile.
    fn last_call_of_absent(&self, rank: WorldRank) -> Option<u64> {
        let found = self.rank(rank)?;
        let told = found.told.as_ref().map(|told| told.last);
        told.or_else(|| found.history.end().checked_sub(1))
    }

    fn why_absent(&self, instance: InstanceId, member: Member) -> Why {
        let Some(found) = self.rank(member.world) else { return Why::Computing };
        if let Some(gone) = self.departure(instance, member.world, member.rank) {
            // Who went because it was told of a failure is where it was told: the same
            // as if it were still there.
            let place = found.told.as_ref().filter(|_| gone.because.is_some());
            return match place.and_then(|told| told.place.clone()) {
                Some(call) => Why::Blocked { call: Some(call) },
                None => Why::Ended { how: gone.how, words: found.words.clone() },
            };
        }
        match found.waits.iter().find(|wait| self.is_open(**wait)) {
            Some(wait) => Why::Blocked { call: self.waits_in(member.world, *wait) },
            None => Why::Computing,
        }
    }
}

/// The distinct calls: more members first, then lower ranks.
fn sides(calls: &[(Member, &Made)]) -> Vec<Side> {
    let mut sides: Vec<Side> = Vec::new();
    let mut known: BTreeMap<Alike<'_>, usize> = BTreeMap::new();
    for (member, made) in calls {
        let key = Alike::of(&made.signature, made.tag.as_ref(), made.creates.as_deref());
        let at = *known.entry(key).or_insert(sides.len());
        if at == sides.len() {
            sides.push(Side {
                signature: made.signature,
                tag: made.tag.clone(),
                creates: made.creates.clone(),
                members: Vec::new(),
                sites: Vec::new(),
            });
        }
        let Some(side) = sides.get_mut(at) else { continue };
        side.members.push(*member);
        add_site(&mut side.sites, &made.site, member.world);
    }
    sides.sort_by_key(|side| (Reverse(side.members.len()), side.members.first().copied()));
    sides
}

/// Sites are few: a rank's program has one line per call.
fn add_site(sites: &mut Vec<(Site, Vec<WorldRank>)>, site: &Site, rank: WorldRank) {
    match sites.iter_mut().find(|(known, _)| known == site) {
        Some((_, ranks)) => ranks.push(rank),
        None => sites.push((site.clone(), Vec::from([rank]))),
    }
}

/// A call without what is each rank's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Alike<'a> {
    signature: Signature,
    tag: Option<&'a Tag>,
    creates: Option<&'a [Rank]>,
}

impl<'a> Alike<'a> {
    pub(crate) fn of(
        signature: &Signature,
        tag: Option<&'a Tag>,
        creates: Option<&'a [Rank]>,
    ) -> Self {
        let signature = match signature.verb() {
            Verb::Split { .. } => Signature::split(None, 0),
            _ => *signature,
        };
        Self { signature, tag, creates }
    }
}

/// In what the sides differ, and who differs from the majority.
fn differences(sides: &[Side], majority: Option<&Side>) -> (Aspects, Vec<WorldRank>) {
    let mut aspects = Aspects::NONE;
    let mut outliers: Vec<WorldRank> = Vec::new();
    if let Some(majority) = majority {
        for side in sides {
            let differs = aspects_between(majority, side);
            if !differs.is_empty() {
                aspects = aspects.union(differs);
                outliers.extend(side.members.iter().map(|member| member.world));
            }
        }
        outliers.sort_unstable();
    }
    if outliers.is_empty() {
        for (at, side) in sides.iter().enumerate() {
            for other in sides.iter().skip(at.saturating_add(1)) {
                aspects = aspects.union(aspects_between(side, other));
            }
        }
    }
    (aspects, outliers)
}

/// In what two calls differ. What only one of them has, and counts of different
/// things, cannot be compared.
fn aspects_between(one: &Side, other: &Side) -> Aspects {
    fn both<T>(one: Option<T>, other: Option<T>, differ: impl Fn(T, T) -> bool) -> bool {
        one.zip(other).is_some_and(|(one, other)| differ(one, other))
    }
    let (verb, verb_of_other) = (one.signature.verb(), other.signature.verb());
    let meaning = |verb: Verb| verb.kind().map(|kind: OperationKind| kind.row().count);
    let (payload, payload_of_other) = (one.signature.payload(), other.signature.payload());
    let same_count_meaning = meaning(verb) == meaning(verb_of_other);
    let found = [
        (Aspect::Operation, !is_same_operation(verb, verb_of_other)),
        (
            Aspect::Count,
            same_count_meaning && both(payload, payload_of_other, |a, b| a.count != b.count),
        ),
        (Aspect::ElementType, both(payload, payload_of_other, |a, b| a.dtype != b.dtype)),
        (Aspect::Reduction, both(verb.reduction(), verb_of_other.reduction(), |a, b| a != b)),
        (Aspect::Root, both(verb.root(), verb_of_other.root(), |a: Rank, b| a != b)),
        (Aspect::Group, both(one.creates.as_ref(), other.creates.as_ref(), |a, b| a != b)),
        (Aspect::Tag, both(one.tag.as_ref(), other.tag.as_ref(), |a, b| a != b)),
    ];
    found.into_iter().filter(|(_, differs)| *differs).map(|(aspect, _)| aspect).collect()
}

fn is_same_operation(one: Verb, other: Verb) -> bool {
    match (one.kind(), other.kind()) {
        // A barrier and a split have no row.
        (None, None) => one.name() == other.name(),
        (one, other) => one == other,
    }
}
