//! Plans: whether each consumer finds what it needs.

use std::sync::Arc;

use rankwise_plan::evaluate::evaluate;
use rankwise_plan::need::{NeedsReport, judge_needs};
use rankwise_plan::term::Terms;
use rankwise_program::Findings;
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::PlanRef;
use crate::command::{Answer, Asked, Failure};
use crate::exit::Exit;
use crate::findings::{self, FindingsData};
use crate::held::Detail;
use crate::load::Loaded;
use crate::needs;

#[derive(Serialize, JsonSchema)]
pub(crate) struct Data {
    plan: String,
    proposals: Vec<ProposalData>,
    notes: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct ProposalData {
    name: String,
    #[serde(flatten)]
    needs: needs::NeedsData,
    /// Of ranks that have programs of their own: what a check of those has found.
    #[serde(skip_serializing_if = "Option::is_none")]
    programs: Option<FindingsData>,
}

/// Judges one proposal, or all.
pub(super) fn run(asked: Asked, reference: &PlanRef, detail: Detail) -> Result<Answer, Failure> {
    let loaded = Loaded::read(&reference.file, asked)?;
    let proposals = loaded.proposals(reference.proposal.as_deref())?;
    let progress = asked.progress("checking");
    let mut reports: Vec<(String, NeedsReport, Option<Arc<Findings>>)> = Vec::new();
    for proposal in proposals {
        let mut terms = Terms::new();
        let (report, findings) = evaluate(&loaded.plan, proposal, &mut terms)
            .and_then(|evaluation| {
                let report = judge_needs(&loaded.plan, proposal, &evaluation, &mut terms)?;
                Ok((report, evaluation.findings))
            })
            .map_err(|error| loaded.unusable(&error))?;
        reports.push((proposal.name.clone(), report, findings));
    }
    drop(progress);

    let of_programs =
        |findings: &Option<Arc<Findings>>| findings.as_deref().map_or(Exit::Yes, findings::exit);
    let of_both = |report: &NeedsReport, findings: &Option<Arc<Findings>>| {
        needs::worst([needs::exit(report.answer()), of_programs(findings)])
    };
    let exit = needs::worst(reports.iter().map(|(_, report, findings)| of_both(report, findings)));
    let is_faulty = reports.iter().any(|(_, _, findings)| of_programs(findings) == Exit::No);
    let verdict = match exit {
        Exit::Yes => "satisfied",
        _ if is_faulty => "faulty",
        Exit::No => "not_satisfied",
        _ if loaded.plan.needs.is_empty() => "none_stated",
        _ => "unknown",
    };
    let data = Data {
        plan: loaded.file.display().to_string(),
        proposals: reports
            .iter()
            .map(|(name, report, findings)| ProposalData {
                name: name.clone(),
                needs: needs::data(&loaded.plan, report),
                programs: findings.as_deref().map(FindingsData::of),
            })
            .collect(),
        notes: loaded.notes.clone(),
    };
    asked.answer(verdict, exit, &data, |page| {
        // What fails first.
        let mut sorted: Vec<_> = reports.iter().collect();
        sorted.sort_by_key(|(_, report, findings)| match of_both(report, findings) {
            Exit::No => 0,
            Exit::Yes => 2,
            _ => 1,
        });
        let shown = detail.at_most(3);
        for (index, (name, report, findings)) in sorted.into_iter().enumerate() {
            let needs = needs::words(report.answer());
            let words = match findings {
                Some(findings) => format!("{name}: {}; {needs}", findings::words(findings)),
                None => format!("{name}: {needs}"),
            };
            page.verdict(of_both(report, findings), &words);
            if index >= shown {
                continue;
            }
            if let Some(findings) = findings {
                findings::compose(page, findings, detail);
                page.gap();
            }
            needs::compose(page, &loaded.plan, report, detail);
        }
        page.more(reports.len().saturating_sub(shown), "proposals in detail");
        if loaded.plan.needs.is_empty() {
            page.gap();
            page.say("The plan has no [[need]], so nothing says what would be right.");
        }
        page.notes(&loaded.notes);
    })
}
