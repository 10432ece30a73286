//! What was called and in which instance: twelve bytes a call, so that a million of
//! them are little. What a report shows is looked up in the program again.

use alloc::vec::Vec;

use rankwise_topology::WorldRank;

use crate::call::Verb;
use crate::communicator::CommId;
use crate::history::narrow;
use crate::program::{Place, Planned, Program, Step};
use crate::report::Call;
use crate::seq::Seq;
use crate::site::Site;

/// No call of a unit: the step is the call.
const ALONE: u32 = u32::MAX;

/// Which step of a rank, and which call of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spot {
    step: u32,
    within: u32,
}

impl Spot {
    pub(super) fn of(place: Place) -> Self {
        let short = |number: u64| u32::try_from(number).unwrap_or(ALONE);
        Self { step: short(place.step), within: place.within.map_or(ALONE, short) }
    }

    pub(super) fn place(self, rank: WorldRank) -> Place {
        let within = (self.within != ALONE).then_some(self.within.into());
        Place { rank, step: self.step.into(), within }
    }
}

/// A call that was made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Logged {
    pub(super) spot: Spot,
    /// The number of its instance.
    pub(super) node: u32,
}

/// What is known of an instance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Noted {
    pub(super) comm: CommId,
    pub(super) seq: Seq,
    pub(super) calls: u32,
    pub(super) tagged: u32,
    /// The lowest rank that calls it, and where.
    pub(super) lowest: (WorldRank, Spot),
    pub(super) completed: bool,
}

/// What has been called so far.
pub(super) struct Log<'a> {
    pub(super) program: &'a Program,
    /// By world rank, in the order of its calls.
    pub(super) ranks: Vec<Vec<Logged>>,
    pub(super) instances: Vec<Noted>,
    /// The instances that have completed, in that order.
    pub(super) completed: Vec<u32>,
}

impl<'a> Log<'a> {
    pub(super) fn new(program: &'a Program) -> Self {
        let ranks = program.world.ranks().map(|_| Vec::new()).collect();
        Self { program, ranks, instances: Vec::new(), completed: Vec::new() }
    }

    /// Begins an instance with its first call, and gives its number.
    pub(super) fn begin(&mut self, comm: CommId, seq: Seq, by: (WorldRank, Spot)) -> u32 {
        let noted = Noted { comm, seq, calls: 0, tagged: 0, lowest: by, completed: false };
        let node = u32::try_from(self.instances.len()).unwrap_or(u32::MAX);
        self.instances.push(noted);
        node
    }

    /// Adds a call to an instance.
    pub(super) fn add(&mut self, rank: WorldRank, spot: Spot, node: u32, is_tagged: bool) {
        if let Some(calls) = slot(rank).and_then(|slot| self.ranks.get_mut(slot)) {
            calls.push(Logged { spot, node });
        }
        if let Some(noted) = self.noted_mut(node) {
            noted.calls = noted.calls.saturating_add(1);
            noted.tagged = noted.tagged.saturating_add(u32::from(is_tagged));
            noted.lowest = noted.lowest.min((rank, spot));
        }
    }

    pub(super) fn complete(&mut self, node: u32) {
        if let Some(noted) = self.noted_mut(node) {
            noted.completed = true;
        }
        self.completed.push(node);
    }

    pub(super) fn noted(&self, node: u32) -> Option<&Noted> {
        self.instances.get(narrow(node.into())?)
    }

    fn noted_mut(&mut self, node: u32) -> Option<&mut Noted> {
        self.instances.get_mut(narrow(node.into())?)
    }

    /// A call for a report.
    pub(super) fn call(&self, rank: WorldRank, logged: Logged) -> Option<Call> {
        let seq = self.noted(logged.node)?.seq;
        let place = logged.spot.place(rank);
        Some(shown(planned(self.program, place)?, seq, place))
    }

    /// Every call with its rank, but work of the ranks alone.
    pub(super) fn met(&self) -> impl Iterator<Item = (WorldRank, Logged)> {
        let program = self.program;
        program.world.ranks().zip(&self.ranks).flat_map(move |(rank, calls)| {
            let met = move |logged: &&Logged| planned(program, logged.spot.place(rank)).is_some();
            calls.iter().filter(met).map(move |logged| (rank, *logged))
        })
    }
}

/// The call at a place; `None` if nothing is called there that others meet.
pub(super) fn planned(program: &Program, place: Place) -> Option<&Planned> {
    let step = program.ranks.get(slot(place.rank)?)?.get(narrow(place.step)?)?;
    match (step, place.within) {
        (Step::Call(planned, _), None) => Some(planned),
        (Step::Unit(calls, _), Some(within)) => calls.get(narrow(within)?),
        _ => None,
    }
}

/// A call as a report shows it.
pub(super) fn shown(planned: &Planned, seq: Seq, place: Place) -> Call {
    Call {
        communicator: planned.group.clone(),
        signature: planned.signature,
        tag: planned.tag.clone(),
        creates: planned.creates.clone(),
        seq,
        site: Site::Step(place),
    }
}

/// The calls of a step that others meet, with their places.
pub(super) fn calls_of(
    rank: WorldRank,
    at: u64,
    step: &Step,
) -> impl Iterator<Item = (Place, &Planned)> {
    let (calls, is_unit) = match step {
        Step::Call(planned, _) => (core::slice::from_ref(planned), false),
        Step::Unit(calls, _) => (calls.as_slice(), true),
        Step::Local(..) | Step::Fence { .. } | Step::Wait { .. } => (&[][..], false),
    };
    (0..).zip(calls).map(move |(within, planned)| {
        (Place { rank, step: at, within: is_unit.then_some(within) }, planned)
    })
}

/// Whether a verb is numbered among the collectives of its communicator.
pub(super) fn is_collective(verb: Verb) -> bool {
    verb.peer().is_none() && verb != Verb::Local
}

pub(super) fn slot(rank: WorldRank) -> Option<usize> {
    narrow(rank.index().into())
}
