//! Plans: whether each consumer finds what it needs.

use std::sync::Arc;

use rankwise_plan::PlanError;
use rankwise_plan::evaluate::evaluate;
use rankwise_plan::need::{NeedsReport, judge_needs};
use rankwise_plan::plan::{Plan, Proposal};
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
use crate::needs::{self, Places};
use crate::page::Page;

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
    let mut reports: Vec<Checked> = Vec::new();
    for proposal in proposals {
        let checked = Checked::of(&loaded.plan, proposal, detail);
        reports.push(checked.map_err(|error| loaded.unusable(&error))?);
    }
    drop(progress);

    let exit = needs::worst(reports.iter().map(Checked::exit));
    let is_faulty = reports.iter().any(|checked| checked.of_programs() == Exit::No);
    let verdict = match exit {
        Exit::Yes => "satisfied",
        _ if is_faulty => "faulty",
        Exit::No => "not_satisfied",
        _ if loaded.plan.needs.is_empty() => "none_stated",
        _ => "unknown",
    };
    let data = Data {
        plan: loaded.file.display().to_string(),
        proposals: reports.iter().map(|checked| checked.data(&loaded.plan)).collect(),
        notes: loaded.notes.clone(),
    };
    asked.answer(verdict, exit, &data, |page| {
        // What fails first.
        let mut sorted: Vec<&Checked> = reports.iter().collect();
        sorted.sort_by_key(|checked| match checked.exit() {
            Exit::No => 0,
            Exit::Yes => 2,
            _ => 1,
        });
        let shown = detail.at_most(3);
        for (index, checked) in sorted.into_iter().enumerate() {
            page.verdict(checked.exit(), &checked.words());
            if index < shown {
                checked.compose(page, &loaded.plan, detail);
            }
        }
        page.more(reports.len().saturating_sub(shown), "proposals in detail");
        if loaded.plan.needs.is_empty() {
            page.gap();
            page.say("The plan has no [[need]], so nothing says what would be right.");
        }
        page.notes(&loaded.notes);
    })
}

/// One proposal, and whether it does what is needed.
struct Checked {
    name: String,
    report: NeedsReport,
    places: Places,
    /// Of ranks that have programs of their own.
    findings: Option<Arc<Findings>>,
}

impl Checked {
    fn of(plan: &Plan, proposal: &Proposal, detail: Detail) -> Result<Self, PlanError> {
        let mut terms = Terms::new();
        let evaluation = evaluate(plan, proposal, &mut terms)?;
        let report = judge_needs(plan, proposal, &evaluation, &mut terms)?;
        let places = Places::of(plan, proposal, &evaluation, &mut terms, &report, detail)?;
        let (name, findings) = (proposal.name.clone(), evaluation.findings);
        Ok(Self { name, report, places, findings })
    }

    fn of_programs(&self) -> Exit {
        self.findings.as_deref().map_or(Exit::Yes, findings::exit)
    }

    fn exit(&self) -> Exit {
        needs::worst([needs::exit(self.report.answer()), self.of_programs()])
    }

    fn words(&self) -> String {
        let (name, needs) = (&self.name, needs::words(self.report.answer()));
        match &self.findings {
            Some(findings) => format!("{name}: {}; {needs}", findings::words(findings)),
            None => format!("{name}: {needs}"),
        }
    }

    fn compose(&self, page: &mut Page, plan: &Plan, detail: Detail) {
        if let Some(findings) = &self.findings {
            findings::compose(page, findings, detail);
            page.gap();
        }
        needs::compose(page, plan, &self.report, &self.places, detail);
    }

    fn data(&self, plan: &Plan) -> ProposalData {
        ProposalData {
            name: self.name.clone(),
            needs: needs::data(plan, &self.report, &self.places),
            programs: self.findings.as_deref().map(FindingsData::of),
        }
    }
}
