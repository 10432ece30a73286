//! `rankwise run PLAN[#NAME] --backend NAME`: ranks really do it, and are checked.

mod backend;
mod left;
mod words;

use std::path::Path;

use rankwise_plan::plan::Proposal;
use rankwise_run::record::Verdict;
use rankwise_run::{Fill, Job, Outcome, RunError, RunRecord};
use schemars::JsonSchema;
use serde::Serialize;
use tracing::Level;

use crate::args::PlanRef;
use crate::command::{Answer, Asked, Failure};
use crate::exit::Exit;
use crate::load::Loaded;
use crate::unusable::Unusable;

pub(crate) use self::backend::Backend;
use self::backend::Opened;
use self::left::{NewFolder, is_file_name};

/// The seed of generated values: the same ones in every run.
const FILL: Fill = Fill::Pattern { seed: 0 };

/// Runs one proposal, or all, and checks what every rank is left with.
pub(crate) fn run(
    asked: Asked,
    reference: &PlanRef,
    backend: Backend,
    out: Option<&Path>,
    verbose: u8,
) -> Result<Answer, Failure> {
    let loaded = Loaded::read(&reference.file, asked)?;
    let proposals = loaded.proposals(reference.proposal.as_deref())?;
    let ready = ready(&loaded, &proposals)?;
    let backend = backend.open()?;
    let folder = out.map(|out| start(out, &ready)).transpose()?;

    // What is told goes where progress would be shown.
    let progress = (verbose == 0).then(|| asked.progress("running"));
    let ran: Vec<Ran<'_>> = listening(verbose, || {
        ready.into_iter().map(|(proposal, job)| Ran::of(&loaded, proposal, job, backend)).collect()
    });
    drop(progress);
    if let Some(folder) = folder {
        let several = ran.len() > 1;
        for ran in &ran {
            if let Ok(outcome) = &ran.outcome {
                let within = several.then_some(ran.proposal.name.as_str());
                folder.write(within, outcome)?;
            }
        }
        folder.finish()?;
    }

    let verdict = ran.iter().map(Ran::verdict).max_by_key(|verdict| weight(*verdict));
    let verdict = verdict.unwrap_or(Verdict::Unknown);
    let data = Data::of(&loaded, &ran, out);
    asked.answer(word(verdict), exit(verdict), &data, |page| {
        for ran in &ran {
            let name = loaded.name_of(ran.proposal);
            match &ran.outcome {
                Ok(outcome) => words::compose(page, &name, exit(ran.verdict()), outcome),
                Err(error) => page.verdict(Exit::Unknown, &format!("{name}: not run: {error}")),
            }
        }
        if let Some(out) = out {
            page.item("written: ", &out.display().to_string());
        }
        page.notes(&loaded.notes);
    })
}

/// A proposal, and the job that it is, or what it leaves open.
type Ready<'p> = (&'p Proposal, Result<Job, RunError>);

/// Every proposal that can be run, or the name of what it leaves open.
fn ready<'p>(loaded: &Loaded, proposals: &[&'p Proposal]) -> Result<Vec<Ready<'p>>, Box<Unusable>> {
    let mut ready = Vec::new();
    for proposal in proposals {
        let job = match Job::new(&loaded.plan, proposal, FILL) {
            Err(RunError::Plan(error)) => return Err(loaded.unusable(&error)),
            // What is missing leaves the answer open; what cannot be right is an error.
            Err(error @ RunError::Unnamed { .. }) => Err(error),
            Err(error) => {
                let found = format!("{}: {error}", proposal.name);
                return Err(Unusable::file(&loaded.file, found, "a proposal that can be run"));
            }
            Ok(job) => Ok(job),
        };
        ready.push((*proposal, job));
    }
    Ok(ready)
}

/// Starts the folder of the results; several proposals have a folder each in it.
fn start(out: &Path, ready: &[Ready<'_>]) -> Result<NewFolder, Box<Unusable>> {
    if let [_, _, ..] = ready
        && let Some((proposal, _)) = ready.iter().find(|(other, _)| !is_file_name(&other.name))
    {
        return Err(Unusable::usage(
            format!("proposal \"{}\", whose name cannot be a folder's", proposal.name),
            "PLAN#NAME for it, with --out",
        ));
    }
    NewFolder::start(out)
}

/// Does it with somebody listening, if that is wished.
fn listening<R>(verbose: u8, run: impl FnOnce() -> R) -> R {
    let level = match verbose {
        0 => return run(),
        1 => Level::DEBUG,
        _ => Level::TRACE,
    };
    let listener = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .without_time()
        .with_max_level(level)
        .finish();
    tracing::subscriber::with_default(listener, run)
}

/// One proposal and what came of it.
struct Ran<'p> {
    proposal: &'p Proposal,
    outcome: Result<Outcome, RunError>,
}

impl<'p> Ran<'p> {
    fn of(
        loaded: &Loaded,
        proposal: &'p Proposal,
        job: Result<Job, RunError>,
        backend: Opened,
    ) -> Self {
        let plan = loaded.file.display().to_string();
        let outcome = job.map(|job| {
            let Outcome { record, left } = backend.run(&job);
            Outcome { record: record.of_plan(plan), left }
        });
        Self { proposal, outcome }
    }

    fn verdict(&self) -> Verdict {
        self.outcome.as_ref().map_or(Verdict::Unknown, |outcome| outcome.record.verdict)
    }
}

/// The weightiest verdict of several is that of all.
const fn weight(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Right => 0,
        Verdict::Unknown => 1,
        Verdict::NeedNotMet => 2,
        Verdict::Differs => 3,
        Verdict::Failed => 4,
    }
}

const fn exit(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Right => Exit::Yes,
        Verdict::Differs | Verdict::NeedNotMet => Exit::No,
        Verdict::Unknown => Exit::Unknown,
        Verdict::Failed => Exit::RunFailed,
    }
}

/// As records write it.
const fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Right => "right",
        Verdict::Differs => "differs",
        Verdict::NeedNotMet => "need_not_met",
        Verdict::Unknown => "unknown",
        Verdict::Failed => "failed",
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Data<'r> {
    plan: String,
    /// The record of every proposal that was run, in the order of the plan.
    runs: Vec<&'r RunRecord>,
    /// What was not run, for lack of something that the plan does not say.
    not_run: Vec<NotRun<'r>>,
    /// The folder of the results, where one was asked for.
    out: Option<String>,
    notes: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct NotRun<'r> {
    proposal: &'r str,
    why: String,
}

impl<'r> Data<'r> {
    fn of(loaded: &Loaded, ran: &'r [Ran<'_>], out: Option<&Path>) -> Self {
        let runs = ran.iter().filter_map(|ran| Some(&ran.outcome.as_ref().ok()?.record));
        let not_run = ran.iter().filter_map(|ran| {
            let error = ran.outcome.as_ref().err()?;
            Some(NotRun { proposal: &ran.proposal.name, why: error.to_string() })
        });
        Self {
            plan: loaded.file.display().to_string(),
            runs: runs.collect(),
            not_run: not_run.collect(),
            out: out.map(|out| out.display().to_string()),
            notes: loaded.notes.clone(),
        }
    }
}
