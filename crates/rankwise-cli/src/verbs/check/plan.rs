//! Plans: whether each consumer finds what it needs.

use rankwise_plan::evaluate::evaluate;
use rankwise_plan::need::{NeedsReport, judge_needs};
use rankwise_plan::term::Terms;
use serde::Serialize;

use crate::args::PlanRef;
use crate::command::{Answer, Asked, Failure};
use crate::exit::Exit;
use crate::load::Loaded;
use crate::needs;

#[derive(Serialize)]
struct Data {
    plan: String,
    proposals: Vec<ProposalData>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct ProposalData {
    name: String,
    #[serde(flatten)]
    needs: needs::NeedsData,
}

/// Judges one proposal, or all.
pub(super) fn run(asked: Asked, reference: &PlanRef) -> Result<Answer, Failure> {
    let loaded = Loaded::read(&reference.file, asked)?;
    let proposals = loaded.proposals(reference.proposal.as_deref())?;
    let progress = asked.progress("checking");
    let mut reports: Vec<(String, NeedsReport)> = Vec::new();
    for proposal in proposals {
        let mut terms = Terms::new();
        let report = evaluate(&loaded.plan, proposal, &mut terms)
            .and_then(|evaluation| judge_needs(&loaded.plan, proposal, &evaluation, &mut terms))
            .map_err(|error| loaded.unusable(&error))?;
        reports.push((proposal.name.clone(), report));
    }
    drop(progress);

    let exit = needs::worst(reports.iter().map(|(_, report)| needs::exit(report.answer())));
    let verdict = match exit {
        Exit::Yes => "satisfied",
        Exit::No => "not_satisfied",
        _ if loaded.plan.needs.is_empty() => "none_stated",
        _ => "unknown",
    };
    let data = Data {
        plan: loaded.file.display().to_string(),
        proposals: reports
            .iter()
            .map(|(name, report)| ProposalData {
                name: name.clone(),
                needs: needs::data(&loaded.plan, report),
            })
            .collect(),
        notes: loaded.notes.clone(),
    };
    asked.answer(verdict, exit, &data, |page| {
        for (name, report) in &reports {
            let answer = report.answer();
            page.verdict(needs::exit(answer), &format!("{name}: {}", needs::words(answer)));
            needs::compose(page, &loaded.plan, report);
        }
        if loaded.plan.needs.is_empty() {
            page.gap();
            page.say("The plan has no [[need]], so nothing says what would be right.");
        }
        page.notes(&loaded.notes);
    })
}
