//! Ranks that move the same, each on groups of its own.
//!
//! What a rank moves depends on its program and its inputs; on others only where they
//! bring the data, and on its place in a group only where that says which block is its
//! own. So where neither is the case, the ranks of a program move the same.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_model::{GroupSize, OperationKind, Rank};
use rankwise_topology::{Partition, WorldRank};

use super::{Course, DryRun};
use crate::plan::{Act, CollectiveStep, ElementType, Enqueued, LocalAct, Proposal};

/// The ranks that have been gone through for others, by what all of them have in common.
pub(super) type Alike = BTreeMap<Kind, First>;

/// What ranks have in common that move the same.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    program: usize,
    /// How long the ragged inputs are.
    inputs: Vec<u64>,
    /// For each partition: which of the rank's communicators that is, of how many ranks,
    /// and as which of them, where that matters.
    seats: Vec<(usize, GroupSize, Option<Rank>)>,
}

/// The first rank of a kind.
pub(super) struct First {
    rank: WorldRank,
    /// The communicators on which one of the kind has said what it brings.
    told: BTreeSet<usize>,
}

/// A partition that a program calls on.
pub(super) struct CalledOn<'a> {
    over: &'a Partition,
    over_name: Option<&'a str>,
    /// Whether it matters as which rank.
    by_rank: bool,
}

/// By program: the partitions that it calls on, where what a rank moves depends on no
/// other rank.
pub(super) fn shared(proposal: &Proposal) -> Vec<Option<Vec<CalledOn<'_>>>> {
    let mut acts = proposal.steps.iter().flat_map(|step| step.act.each());
    // Then the buffers of every rank must be there.
    if acts.any(reads_another) {
        return Vec::new();
    }
    proposal.programs.iter().map(|program| called_on(proposal, &program.acts)).collect()
}

fn reads_another(act: &Act) -> bool {
    let Act::Local(local) = act else { return false };
    matches!(local.act, LocalAct::Alloc { dtype: ElementType::Of(_, Some(_)), .. })
}

fn called_on<'a>(proposal: &'a Proposal, acts: &[Enqueued]) -> Option<Vec<CalledOn<'a>>> {
    let mut all: Vec<CalledOn<'a>> = Vec::new();
    for act in acts {
        let Enqueued::Step { step, .. } = act else { continue };
        let call = match &proposal.steps.get(*step)?.act {
            Act::Collective(call) if call.root.is_none() => call,
            Act::Local(local) => match local.act {
                LocalAct::Shard { .. } | LocalAct::Unshard { .. } => return None,
                _ => continue,
            },
            _ => return None,
        };
        let CollectiveStep { over, kind, .. } = call;
        let over_name = call.over_name.as_deref();
        // In place, some block of the whole is the rank's own.
        let by_rank = call.in_place() && *kind != OperationKind::AllReduce;
        let known = all.iter_mut().find(|it| it.over_name == over_name && it.over == over);
        match known {
            Some(known) => known.by_rank |= by_rank,
            None => all.push(CalledOn { over, over_name, by_rank }),
        }
    }
    Some(all)
}

impl DryRun<'_, '_> {
    /// What a rank that begins has in common with others; `None` where it is gone through
    /// for itself.
    pub(super) fn kind(
        &mut self,
        course: &Course<'_>,
        shared: &[Option<Vec<CalledOn<'_>>>],
    ) -> Option<Kind> {
        let rank = course.rank;
        let mut seats = Vec::new();
        for CalledOn { over, over_name, by_rank } in shared.get(course.program)?.as_ref()? {
            let (group, own) = over.locate(rank)?;
            let on = self.sizes.communicators.number(over, *over_name, group);
            let on = self.own_number(rank, on)?;
            seats.push((on, group.size(), by_rank.then_some(own)));
        }
        let ragged =
            self.machine.plan.inputs.values().filter(|input| input.counts.each().is_none());
        let inputs = ragged.map(|input| input.counts.on(rank)).collect();
        Some(Kind { program: course.program, inputs, seats })
    }

    /// A rank as the first of its kind, when it has been gone through.
    pub(super) fn first(&self, rank: WorldRank) -> First {
        let known = self.sizes.of_rank(rank);
        let told = known.into_iter().flat_map(|known| &known.communicators).copied().collect();
        First { rank, told }
    }

    /// Lets a rank move what the first of its kind does, and tells those what it brings
    /// to whom none of the kind has said so.
    pub(super) fn follow(&mut self, course: &Course<'_>, first: &mut First) {
        let moves = self.sizes.of_rank(first.rank).map(|known| Arc::clone(&known.moves));
        let Some((moves, known)) = moves.zip(self.of_rank(course.rank)) else { return };
        known.moves = Arc::clone(&moves);
        let new = known.communicators.iter().map(|on| first.told.insert(*on).then_some(*on));
        let new: Vec<Option<usize>> = new.collect();
        if new.iter().all(Option::is_none) {
            return;
        }
        let proposal = self.machine.proposal;
        for (act, moved) in course.acts.iter().zip(&moves.acts) {
            let Some((own, seq)) = moved.first().and_then(|moved| moved.call) else { continue };
            let Some(on) = new.get(own).copied().flatten() else { continue };
            let Enqueued::Step { step, .. } = act else { continue };
            let step = proposal.steps.get(*step).map(|step| &step.act);
            if let Some(Act::Collective(CollectiveStep { reduction: Some(reduction), .. })) = step {
                self.sizes.reductions.entry((on, seq)).or_insert(*reduction);
            }
            if let Some(payload) = moved.first().and_then(|moved| moved.payload) {
                self.brought.entry((on, seq)).or_insert(payload);
            }
        }
    }
}
