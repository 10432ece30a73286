//! What completes, and in which order.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use rankwise_topology::WorldRank;

use super::log::{Log, Spot};
use crate::history::narrow;
use crate::program::Place;

/// The instances that complete, in an order in which they can: each after all that any of
/// its ranks' waits, fences and streams put before it.
///
/// Work of a rank [alone](crate::program::Local) is an instance of its own here.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Completions {
    calls: Vec<(WorldRank, Spot)>,
    /// Where the calls of each instance end.
    ends: Vec<usize>,
}

impl Completions {
    pub(super) fn of(log: &Log<'_>) -> Self {
        // Where each instance that completed goes in the order.
        let mut starts: Vec<Option<usize>> = vec![None; log.instances.len()];
        let mut ends = Vec::with_capacity(log.completed.len());
        let mut total = 0_usize;
        for node in &log.completed {
            let calls = log.noted(*node).and_then(|noted| narrow(noted.calls.into()));
            let place = narrow((*node).into()).and_then(|node| starts.get_mut(node));
            if let Some(start) = place {
                *start = Some(total);
            }
            total = total.saturating_add(calls.unwrap_or(0));
            ends.push(total);
        }
        let Some(first) = log.program.world.ranks().next() else { return Self::default() };
        let mut calls =
            vec![(first, Spot::of(Place { rank: first, step: 0, within: None })); total];
        for (rank, made) in log.program.world.ranks().zip(&log.ranks) {
            for logged in made {
                let node = narrow(logged.node.into()).and_then(|node| starts.get_mut(node));
                let Some(Some(next)) = node else { continue };
                if let Some(call) = calls.get_mut(*next) {
                    *call = (rank, logged.spot);
                }
                *next = next.saturating_add(1);
            }
        }
        Self { calls, ends }
    }

    /// How many instances complete.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The calls of each, in rank order.
    pub fn iter(&self) -> impl Iterator<Item = impl Iterator<Item = Place>> {
        let range = |at: usize| -> Option<Range<usize>> {
            let start = at.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
            Some(start?..*self.ends.get(at)?)
        };
        (0..self.ends.len()).map(move |at| {
            let calls = range(at).and_then(|range| self.calls.get(range)).unwrap_or_default();
            calls.iter().map(|(rank, spot)| spot.place(*rank))
        })
    }
}

impl fmt::Debug for Completions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} completions", self.ends.len())
    }
}
