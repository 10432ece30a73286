//! A record out of what the ranks did and what the check says.

use std::collections::BTreeMap;

use rankwise_comm::FoldOrder as Folds;

use super::{
    Backend, BufferVerdict, CallRecord, ErrorRecord, FORMAT, FillRecord, FoldOrder, InputRecord,
    LocalRecord, NeedVerdict, RankOutcome, RankRecord, RunRecord, StepRecord, Tool, ValuesOrigin,
    Verdict, Wide,
};
use crate::call::ActRun;
use crate::check::Checked;
use crate::error::RunError;
use crate::fill::{Fill, Origin};
use crate::job::Job;
use crate::rank::RankResult;

impl RunRecord {
    pub(crate) fn of(job: &Job, results: &[RankResult], checked: Checked) -> Self {
        let mut errors = Errors::default();
        let ranks = results.iter().map(|result| {
            let rank = result.rank.index();
            RankRecord {
                rank,
                planned: job.plan().device_of(result.rank),
                ordinal: result.ran_on.as_ref().map(|on| on.device.0),
                error: result.ended.as_ref().err().map(|error| errors.ended(error, rank)),
            }
        });
        let ranks: Vec<RankRecord> = ranks.collect();
        if let Some(error) = &checked.error {
            errors.index(error);
        }
        let steps = steps(results, &mut errors);
        let errors = errors.list;
        Self {
            format: FORMAT,
            tool: Tool {
                name: "rankwise".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            },
            plan: None,
            proposal: job.proposal().name.clone(),
            verdict: verdict(&checked, &errors),
            backend: backend(results),
            world: job.world().get(),
            ranks,
            fill: fill(job),
            steps,
            buffers: checked.buffers,
            needs: checked.needs,
            errors,
        }
    }

    /// The same, with what the plan is called.
    #[must_use]
    pub fn of_plan(mut self, plan: impl Into<String>) -> Self {
        self.plan = Some(plan.into());
        self
    }
}

fn verdict(checked: &Checked, errors: &[ErrorRecord]) -> Verdict {
    let need = |answer| checked.needs.iter().any(|need| need.answer == answer);
    if !errors.is_empty() {
        Verdict::Failed
    } else if checked.buffers.iter().any(|buffer| buffer.verdict == BufferVerdict::Differs) {
        Verdict::Differs
    } else if need(NeedVerdict::NotMet) {
        Verdict::NeedNotMet
    } else if need(NeedVerdict::Unknown) {
        Verdict::Unknown
    } else {
        Verdict::Right
    }
}

fn backend(results: &[RankResult]) -> Option<Backend> {
    let ran_on = results.iter().find_map(|result| result.ran_on.as_ref())?;
    Some(Backend {
        name: ran_on.backend.clone(),
        fold_order: match fold_order(results) {
            Folds::Rank => FoldOrder::Rank,
            Folds::Unspecified => FoldOrder::Unspecified,
        },
        splits: ran_on.splits,
    })
}

/// Rank order if every rank says so.
pub(crate) fn fold_order(results: &[RankResult]) -> Folds {
    let declared = results.iter().filter_map(|result| result.ran_on.as_ref());
    let mut orders = declared.map(|on| on.fold_order);
    if orders.all(|order| order == Folds::Rank) { Folds::Rank } else { Folds::Unspecified }
}

fn fill(job: &Job) -> FillRecord {
    let inputs = job.origins().iter().map(|(input, origin)| InputRecord {
        input: input.clone(),
        values: match origin {
            Origin::Given => ValuesOrigin::Given,
            Origin::Counted => ValuesOrigin::Counted,
            Origin::Scattered => ValuesOrigin::Scattered,
        },
    });
    FillRecord {
        seed: match job.fill {
            Fill::Given => None,
            Fill::Pattern { seed } => Some(Wide(seed)),
        },
        inputs: inputs.collect(),
    }
}

/// The errors so far, each once.
#[derive(Default)]
struct Errors {
    list: Vec<ErrorRecord>,
}

impl Errors {
    /// Which it is.
    fn index(&mut self, error: &RunError) -> u32 {
        let (kind, text) = (error.kind(), error.text());
        let known = self.list.iter().position(|known| known.kind == kind && known.text == text);
        let at = known.unwrap_or_else(|| {
            self.list.push(ErrorRecord { kind: kind.to_owned(), text, ranks: Vec::new() });
            self.list.len().saturating_sub(1)
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// The same, having ended the rank's part.
    fn ended(&mut self, error: &RunError, rank: u32) -> u32 {
        let at = self.index(error);
        let known = usize::try_from(at).ok().and_then(|at| self.list.get_mut(at));
        if let Some(known) = known {
            known.ranks.push(rank);
        }
        at
    }
}

fn steps(results: &[RankResult], errors: &mut Errors) -> Vec<StepRecord> {
    let mut steps: BTreeMap<usize, StepRecord> = BTreeMap::new();
    for result in results {
        let rank = result.rank.index();
        for done in &result.done {
            let error = done.outcome.as_ref().err().map(|error| errors.index(error));
            let outcome = RankOutcome { rank, error };
            let record = steps.entry(done.step).or_insert_with(|| StepRecord {
                step: u32::try_from(done.step).unwrap_or(u32::MAX),
                calls: Vec::new(),
                local: None,
            });
            match &done.act {
                ActRun::Local(op) => {
                    let new = || LocalRecord { op: (*op).to_owned(), ranks: Vec::new() };
                    record.local.get_or_insert_with(new).ranks.push(outcome);
                }
                ActRun::Call(call) => {
                    let new = CallRecord {
                        op: call.op.clone(),
                        comm: call.comm.clone(),
                        group: call.members.iter().map(|member| member.index()).collect(),
                        seq: Wide(call.seq),
                        count: Wide(call.count),
                        convention: call.convention.to_string(),
                        dtype: call.dtype.to_string(),
                        ranks: Vec::new(),
                    };
                    let same = record.calls.iter_mut().find(|known| {
                        let ranks = known.ranks.clone();
                        **known == CallRecord { ranks, ..new.clone() }
                    });
                    match same {
                        Some(known) => known.ranks.push(outcome),
                        None => record.calls.push(CallRecord { ranks: vec![outcome], ..new }),
                    }
                }
            }
        }
    }
    steps.into_values().collect()
}
