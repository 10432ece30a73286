//! Judging what a repair would leave.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use rankwise_topology::WorldRank;

use super::{Mend, Repair, payloads};
use crate::error::PlanError;
use crate::evaluate::{Evaluation, evaluate};
use crate::memory::ranks;
use crate::need::{Answer, judge_needs};
use crate::plan::{Need, On, Plan, Proposal, Step};
use crate::term::Terms;

/// More ranks than this are not looked at one by one.
const RANKS: u32 = 256;

/// A plan under repair.
pub(super) struct Bench<'a> {
    pub(super) plan: &'a Plan,
    pub(super) proposal: &'a Proposal,
    pub(super) evaluation: Evaluation,
    wanted: Vec<usize>,
    answers: Vec<Answer>,
    terms: Terms,
    /// The plan with the one need that is judged.
    alone: Plan,
}

/// A rank that lacks something in a buffer.
#[derive(Clone, Debug)]
pub(super) struct Lack {
    pub(super) rank: WorldRank,
    /// The buffer as needs call it.
    pub(super) public: String,
    /// The buffer as steps call it.
    pub(super) buffer: String,
    /// The wanted needs on that rank and buffer, by index.
    needs: Vec<usize>,
}

impl<'a> Bench<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        proposal: &'a Proposal,
        wanted: &[usize],
    ) -> Result<Self, PlanError> {
        let mut terms = Terms::new();
        let evaluation = evaluate(plan, proposal, &mut terms)?;
        let report = judge_needs(plan, proposal, &evaluation, &mut terms)?;
        let answers = report.needs.iter().map(|need| need.answer).collect();
        let mut alone = plan.clone();
        alone.proposals.clear();
        alone.needs.clear();
        let wanted = wanted.to_vec();
        Ok(Self { plan, proposal, evaluation, wanted, answers, terms, alone })
    }

    /// Whether the wanted needs are satisfied as it stands.
    pub(super) fn is_satisfied(&self) -> bool {
        self.broken().is_empty()
    }

    /// The wanted needs that are not satisfied.
    pub(super) fn broken(&self) -> Vec<usize> {
        let broken = |need: &&usize| self.answers.get(**need).copied() != Some(Answer::Yes);
        self.wanted.iter().filter(broken).copied().collect()
    }

    /// The wanted needs.
    pub(super) fn wanted(&self) -> impl Iterator<Item = &'a Need> + '_ {
        let plan: &'a Plan = self.plan;
        self.wanted.iter().filter_map(|need| plan.needs.get(*need))
    }

    /// Whether a need is satisfied where the ranks hold what `evaluation` says.
    fn meets(&mut self, evaluation: &Evaluation, need: Need) -> bool {
        self.alone.needs = alloc::vec![need];
        let judged = judge_needs(&self.alone, self.proposal, evaluation, &mut self.terms);
        let first = judged.ok().and_then(|report| report.needs.into_iter().next());
        first.is_some_and(|report| report.answer == Answer::Yes)
    }

    /// Whether a need is satisfied by the plan as it stands.
    pub(super) fn is_met(&mut self, need: Need) -> bool {
        let evaluation = self.evaluation.clone();
        self.meets(&evaluation, need)
    }

    /// Who lacks what; nothing where there are too many ranks to say.
    pub(super) fn lacks(&mut self) -> Vec<Lack> {
        let mut lacks: Vec<Lack> = Vec::new();
        if self.plan.world.get() > RANKS {
            return lacks;
        }
        let evaluation = self.evaluation.clone();
        for index in self.broken() {
            let Some(need) = self.plan.needs.get(index).cloned() else { continue };
            let known = |lacks: &Vec<Lack>, rank| {
                lacks.iter().any(|lack| lack.rank == rank && lack.public == need.buffer)
            };
            for rank in ranks(self.plan.world).filter(|rank| self.plan.is_on(&need.on, *rank)) {
                let here = Need { on: On::Rank(rank), ..need.clone() };
                if known(&lacks, rank) || self.meets(&evaluation, here) {
                    continue;
                }
                let others = self.wanted.iter().filter(|other| {
                    self.plan.needs.get(**other).is_some_and(|other| {
                        other.buffer == need.buffer && self.plan.is_on(&other.on, rank)
                    })
                });
                lacks.push(Lack {
                    rank,
                    public: need.buffer.clone(),
                    buffer: self.actual(&need.buffer),
                    needs: others.copied().collect(),
                });
            }
        }
        lacks
    }

    /// What steps call a buffer that needs call so.
    fn actual(&self, public: &str) -> String {
        let renamed = self.proposal.renames.iter().find(|(_, name)| *name == public);
        renamed.map_or_else(|| public.to_string(), |(actual, _)| actual.clone())
    }

    /// The rank whose buffer of that name is what the lacking rank needs.
    pub(super) fn source(&mut self, lack: &Lack) -> Option<WorldRank> {
        let mut tried = self.evaluation.clone();
        ranks(self.plan.world).filter(|rank| *rank != lack.rank).find(|rank| {
            let Some(held) = self.evaluation.after.get(*rank, &lack.buffer).cloned() else {
                return false;
            };
            tried.after.put(lack.rank, &lack.buffer, held);
            lack.needs.iter().all(|need| {
                let need = self.plan.needs.get(*need).cloned();
                let here = need.map(|need| Need { on: On::Rank(lack.rank), ..need });
                here.is_some_and(|here| self.meets(&tried, here))
            })
        })
    }

    /// A name for a buffer that no step has.
    pub(super) fn fresh(&self, stem: &str) -> String {
        let mut taken: BTreeSet<&str> = self.plan.inputs.keys().map(String::as_str).collect();
        for record in &self.evaluation.steps {
            taken.extend(record.writes.iter().map(|write| &*write.buffer));
        }
        let mut name = stem.to_string();
        while taken.contains(name.as_str()) {
            name.push('_');
        }
        name
    }

    /// A repair that adds steps, if they do it. None is added to a proposal whose ranks
    /// have programs of their own: where in each they would go is not said.
    pub(super) fn with_steps(&self, mend: Mend, steps: &[Step], text: String) -> Option<Repair> {
        if !self.proposal.programs.is_empty() {
            return None;
        }
        let mut plan = self.plan.clone();
        let name = &self.proposal.name;
        let proposal = plan.proposals.iter_mut().find(|proposal| proposal.name == *name)?;
        proposal.steps.extend(steps.iter().cloned());
        self.recheck(mend, plan, steps.len(), text)
    }

    /// The repair, if the plan that it makes satisfies the wanted needs.
    pub(super) fn recheck(
        &self,
        mend: Mend,
        plan: Plan,
        steps: usize,
        text: String,
    ) -> Option<Repair> {
        let proposal = plan.proposal(&self.proposal.name)?;
        let mut terms = Terms::new();
        let evaluation = evaluate(&plan, proposal, &mut terms).ok()?;
        let report = judge_needs(&plan, proposal, &evaluation, &mut terms).ok()?;
        let yes = |need: &usize| {
            report.needs.get(*need).is_some_and(|report| report.answer == Answer::Yes)
        };
        if !self.wanted.iter().all(yes) {
            return None;
        }
        let all_satisfied = report.needs.iter().all(|need| need.answer == Answer::Yes);
        let added = evaluation.steps.len().saturating_sub(steps);
        let payloads = payloads(evaluation.steps.get(added..).unwrap_or_default());
        Some(Repair { mend, plan, text, steps, payloads, all_satisfied })
    }

    /// The head of a step in a plan file.
    pub(super) fn step_head(&self) -> String {
        let name = &self.proposal.name;
        let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
        if name.chars().all(plain) {
            format!("[[proposal.{name}.step]]\n")
        } else {
            format!("[[proposal.{name:?}.step]]\n")
        }
    }
}
