//! Tables: where the devices of a demand may be, found by judging every placement.

use alloc::vec::Vec;

use rankwise_topology::{RankMap, Relabelling, World};

use super::ExploreError;
use super::demand::{Demand, Pattern, acting};
use super::relation::Relation;
use crate::evaluate::{Evaluation, evaluate};
use crate::memory::ranks;
use crate::need::{Answer, judge_needs};
use crate::plan::{Attachment, Input, Need, Plan, Proposal};
use crate::relabel::RelabelError;
use crate::term::Terms;

/// Work past which no more placements are judged: ranks looked at, all in all.
const WORK: u64 = 1 << 21;

/// Judges demands wherever their devices may be.
pub(crate) struct Tables<'a> {
    proposal: &'a Proposal,
    map: RankMap,
    world: World,
    /// The plan with contributions by rank, and the one need that is judged.
    plan: Plan,
    /// The ranks on devices that steps name.
    acting: Vec<u32>,
    terms: Terms,
    /// What the ranks hold, in contributions of ranks: the same wherever devices are,
    /// unless steps name them.
    still: Evaluation,
    known: Vec<(Pattern, Table)>,
    judged: u64,
    work: u64,
}

/// Where the devices of a demand may be.
#[derive(Clone)]
pub(crate) struct Table {
    /// Satisfied.
    pub(crate) good: Relation,
    /// Satisfied or not known, if any is not known.
    pub(crate) open: Option<Relation>,
}

impl Table {
    fn insert(&mut self, row: &[u32], answer: Answer) {
        if answer == Answer::Unknown {
            self.open.get_or_insert_with(|| self.good.clone());
        }
        if let Some(open) = self.open.as_mut().filter(|_| answer != Answer::No) {
            open.insert(row.to_vec());
        }
        if answer == Answer::Yes {
            self.good.insert(row.to_vec());
        }
    }

    fn cut_short(&mut self) {
        self.good.cut_short();
        if let Some(open) = &mut self.open {
            open.cut_short();
        }
    }
}

impl<'a> Tables<'a> {
    pub(crate) fn new(plan: &'a Plan, proposal: &'a Proposal) -> Result<Self, ExploreError> {
        let map = plan.map.clone().ok_or(RelabelError::NoDevices)?;
        let ragged =
            |input: &&Input| input.attached == Attachment::Device && input.counts.each().is_none();
        if let Some(input) = plan.inputs.values().find(ragged) {
            return Err(ExploreError::Ragged { input: input.name.clone() });
        }
        let mut terms = Terms::new();
        // What a contribution belongs to is part of its name only: by rank, no name
        // changes when devices move.
        let mut by_rank = plan.clone();
        for input in by_rank.inputs.values_mut() {
            input.attached = Attachment::Rank;
            input.values = None;
        }
        by_rank.needs.clear();
        let still = evaluate(&by_rank, proposal, &mut terms)?;
        by_rank.proposals.clear();
        Ok(Self {
            proposal,
            map,
            world: World::new(plan.world),
            plan: by_rank,
            acting: acting(plan, proposal),
            terms,
            still,
            known: Vec::new(),
            judged: 0,
            work: 0,
        })
    }

    /// How many placements were judged.
    pub(crate) const fn judged(&self) -> u64 {
        self.judged
    }

    /// The tables of needs of `plan`.
    pub(crate) fn of<'n>(
        &mut self,
        plan: &Plan,
        needs: impl Iterator<Item = &'n Need>,
    ) -> Vec<Table> {
        let demands: Vec<Demand> =
            needs.flat_map(|need| Demand::of(plan, need, &self.acting)).collect();
        demands
            .into_iter()
            .filter(|demand| !demand.named.is_empty())
            .map(|demand| self.table(demand))
            .collect()
    }

    fn table(&mut self, demand: Demand) -> Table {
        let Demand { named, pattern } = demand;
        if let Some((_, known)) = self.known.iter().find(|(other, _)| *other == pattern) {
            let about = |relation: &Relation| relation.about(named.clone());
            return Table { good: about(&known.good), open: known.open.as_ref().map(about) };
        }
        let mut table = Table { good: Relation::new(named.clone()), open: None };
        // Where the devices are now comes first, lest it be beyond the limit.
        let here = self.judge(&named, &pattern, &named);
        table.insert(&named, here);
        let points = self.world.size().get();
        let mut row: Vec<u32> = Vec::new();
        let mut next = Some(0);
        // Every way to put the named devices on different ranks, in order.
        while let Some(from) = next {
            if let Some(at) = (from..points).find(|at| !row.contains(at)) {
                row.push(at);
                if row.len() < named.len() {
                    next = Some(0);
                    continue;
                }
                if self.work >= WORK {
                    table.cut_short();
                    break;
                }
                if row != named {
                    let answer = self.judge(&named, &pattern, &row);
                    table.insert(&row, answer);
                }
            }
            next = row.pop().map(|at| at.saturating_add(1));
        }
        self.known.push((pattern, table.clone()));
        table
    }

    /// Whether a demand is satisfied where its devices are on the ranks of `row`. A
    /// contradiction is a no.
    fn judge(&mut self, named: &[u32], pattern: &Pattern, row: &[u32]) -> Answer {
        self.judged = self.judged.saturating_add(1);
        self.work = self.work.saturating_add(u64::from(self.world.size().get()));
        self.plan.needs = alloc::vec![pattern.on_ranks(self.world, row)];
        let moved = if self.acting.is_empty() {
            None
        } else {
            let Some(moved) = self.moved(named, row) else { return Answer::No };
            Some(moved)
        };
        let evaluation = moved.as_ref().unwrap_or(&self.still);
        let judged = judge_needs(&self.plan, self.proposal, evaluation, &mut self.terms);
        let Some(report) = judged.ok().and_then(|report| report.needs.into_iter().next()) else {
            return Answer::No;
        };
        let (plan, proposal) = (&self.plan, self.proposal);
        let length_differs = pattern.length.is_some_and(|length| {
            plan.needs.iter().any(|need| {
                ranks(plan.world).filter(|rank| plan.is_on(&need.on, *rank)).any(|rank| {
                    let held = proposal.held(&evaluation.after, rank, &need.buffer);
                    held.is_none_or(|held| held.count() != length)
                })
            })
        });
        if length_differs { Answer::No } else { report.answer }
    }

    /// What the ranks hold where the named devices are on the ranks of `row` and the
    /// others fill the rest in order; `None` if the steps contradict themselves there.
    fn moved(&mut self, named: &[u32], row: &[u32]) -> Option<Evaluation> {
        let points = self.world.size().get();
        self.work = self.work.saturating_add(u64::from(points));
        let mut free = (0..points).filter(|at| !row.contains(at));
        let new_ranks = (0..points).map(|place| {
            let at = named.iter().position(|named| *named == place);
            at.and_then(|at| row.get(at).copied()).or_else(|| free.next()).unwrap_or(place)
        });
        let relabelling = Relabelling::from_list(self.world, new_ranks).ok()?;
        self.plan.map = Some(relabelling.apply_map(&self.map).ok()?);
        let moved = evaluate(&self.plan, self.proposal, &mut self.terms).ok()?;
        // Calls that no longer meet are a contradiction too.
        (moved.reports().is_empty() || !self.still.reports().is_empty()).then_some(moved)
    }
}
