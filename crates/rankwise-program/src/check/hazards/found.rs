//! What has been found, drawn together: the same conflict of several ranks is one, and
//! of the many in a loop the first is shown.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use rankwise_topology::{Group, WorldRank};

use super::unit::Touched;
use crate::program::{Place, Program};
use crate::report::{Conflict, Kind, Report};

/// What makes two conflicts of a rank the same kind: the buffer, and the streams.
type Sort<'a> = (Kind, &'a str, [&'a str; 2]);

/// The conflicts of one rank.
#[derive(Clone, Default)]
pub(super) struct OfRank<'a>(BTreeMap<Sort<'a>, Known>);

/// The first conflict of a kind, and with whom the last call has been counted.
#[derive(Clone)]
struct Known {
    conflict: Conflict,
    last: Place,
    counted: Vec<Place>,
}

impl<'a> OfRank<'a> {
    /// Adds a conflict: shown if it is the first of its kind, otherwise counted. Two
    /// calls count once, however often they touch the same.
    pub(super) fn add(
        &mut self,
        kind: Kind,
        first: &Touched<'a>,
        second: &Touched<'a>,
        shared: &Range<u64>,
    ) {
        let buffer: &'a str = &first.view.buffer;
        let sort = (kind, buffer, [first, second].map(|touch| &**touch.by.stream));
        let (one, other) = (first.by.place, second.by.place);
        let Some(known) = self.0.get_mut(&sort) else {
            let (shared, unit) = first.shared_with(second, shared);
            let conflict = Conflict {
                ranks: Vec::new(),
                shared,
                unit,
                first: first.shown(),
                second: second.shown(),
                more: 0,
            };
            let known = Known { conflict, last: other, counted: Vec::from([one]) };
            self.0.insert(sort, known);
            return;
        };
        if known.last != other {
            known.last = other;
            known.counted.clear();
        }
        if !known.counted.contains(&one) {
            known.counted.push(one);
            known.conflict.more = known.conflict.more.saturating_add(1);
        }
    }
}

/// The conflicts of all ranks, by what is equal in them.
#[derive(Default)]
pub(super) struct Found(BTreeMap<(Kind, Conflict), Where>);

/// Who has a conflict, and on which groups the first of them calls.
struct Where {
    ranks: Vec<WorldRank>,
    groups: [Option<Arc<str>>; 2],
}

impl Found {
    pub(super) fn add(&mut self, rank: WorldRank, of_rank: OfRank<'_>) {
        for ((kind, ..), Known { mut conflict, .. }) in of_rank.0 {
            // Not by the rank, and not by the group: each calls on its own.
            let groups = [conflict.first.group.take(), conflict.second.group.take()];
            let anybody = self.0.keys().next().map(|(_, known)| known.first.place.rank);
            for touch in [&mut conflict.first, &mut conflict.second] {
                touch.place.rank = anybody.unwrap_or(rank);
            }
            let new = Where { ranks: Vec::new(), groups };
            self.0.entry((kind, conflict)).or_insert(new).ranks.push(rank);
        }
    }

    pub(super) fn reports(self, program: &Program) -> Vec<Report> {
        self.0
            .into_iter()
            .map(|((kind, conflict), at)| at.report(kind, conflict, program))
            .collect()
    }
}

impl Where {
    fn report(self, kind: Kind, mut conflict: Conflict, program: &Program) -> Report {
        let [first, second] = self.groups;
        let name = second.clone().or(first.clone()).unwrap_or_default();
        let size = program.group(&name).map_or(program.world.size(), Group::size);
        (conflict.first.group, conflict.second.group) = (first, second);
        for touch in [&mut conflict.first, &mut conflict.second] {
            let rank = self.ranks.first().copied().unwrap_or(touch.place.rank);
            touch.place = Place { rank, ..touch.place };
        }
        conflict.ranks = self.ranks;
        let mut report = Report::new(kind, name, size);
        report.conflict = Some(conflict);
        report
    }
}
