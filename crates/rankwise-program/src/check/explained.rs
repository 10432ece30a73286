//! Reports with what only the whole program shows: where sequences of calls part, and
//! which message a rank calls instead.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_topology::{Group, WorldRank};

use super::log::{Log, Logged};
use super::parting;
use crate::report::{Aspect, Call, Kind, Report};
use crate::seq::Seq;

/// The reports of the matcher, explained.
pub(super) fn reports(log: &Log<'_>, reports: Vec<Arc<Report>>) -> Vec<Arc<Report>> {
    if reports.is_empty() {
        return reports;
    }
    let halves = Halves::of(log);
    reports
        .into_iter()
        .map(|report| {
            let mut report = Arc::unwrap_or_clone(report);
            report.instead = halves.instead(log, &report);
            if !report.instead.is_empty() {
                report.aspects = report.aspects.with(Aspect::Edge);
            }
            report.divergences = parting::divergences(log.program, &report);
            for divergence in &report.divergences {
                report.aspects = report.aspects.union(divergence.aspects());
            }
            Arc::new(report)
        })
        .collect()
}

/// Which side of a message is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Send,
    Recv,
}

/// Messages that only one side has called, by an end that they go to or come from.
struct Halves(BTreeMap<At, Vec<(WorldRank, Logged)>>);

/// A group, a rank that a message goes to or comes from, and the side that has called.
type At = (Arc<str>, WorldRank, End);

impl Halves {
    fn of(log: &Log<'_>) -> Self {
        let mut halves: BTreeMap<At, Vec<(WorldRank, Logged)>> = BTreeMap::new();
        for (rank, logged) in log.met() {
            let Some(noted) = log.noted(logged.node) else { continue };
            if noted.calls != 1 || noted.completed {
                continue;
            }
            let Some(call) = log.call(rank, logged) else { continue };
            let Some((from, to, end)) = ends(log, &call) else { continue };
            for of in [from, to] {
                let key = (call.communicator.clone(), of, end);
                halves.entry(key).or_default().push((rank, logged));
            }
        }
        Self(halves)
    }

    /// What the ranks of a message that lacks a side call in its place: the other side of
    /// another message, with one end in common.
    fn instead(&self, log: &Log<'_>, report: &Report) -> Vec<(WorldRank, Call)> {
        if !matches!(report.kind, Kind::UnmatchedMessage | Kind::Deadlock) {
            return Vec::new();
        }
        let of_sides = report.sides.iter().flat_map(|side| &side.sites).filter_map(|(site, _)| {
            let crate::site::Site::Step(place) = site else { return None };
            let planned = super::log::planned(log.program, *place)?;
            Some(super::log::shown(planned, report.seq?, *place))
        });
        let lacking = of_sides.chain(report.waits.iter().map(|edge| edge.call.clone()));
        let mut found: Vec<(WorldRank, Call)> = Vec::new();
        for call in lacking {
            let Some((from, to, end)) = ends(log, &call) else { continue };
            let missing = match end {
                End::Send => End::Recv,
                End::Recv => End::Send,
            };
            for of in [from, to] {
                let key = (call.communicator.clone(), of, missing);
                for (rank, logged) in self.0.get(&key).into_iter().flatten() {
                    found.extend(log.call(*rank, *logged).map(|call| (*rank, call)));
                }
            }
        }
        // Of a circle, what its ranks wait in stands there already.
        found.retain(|(_, call)| report.waits.iter().all(|edge| edge.call != *call));
        found.sort();
        found.dedup();
        found
    }
}

/// From whom to whom a message goes, and which side of it a call is.
fn ends(log: &Log<'_>, call: &Call) -> Option<(WorldRank, WorldRank, End)> {
    let Seq::Message { from, to, .. } = call.seq else { return None };
    let group: &Group = log.program.group(&call.communicator)?;
    let end = match call.signature.verb() {
        crate::call::Verb::Send { .. } => End::Send,
        _ => End::Recv,
    };
    Some((group.world_rank(from)?, group.world_rank(to)?, end))
}
