//! Rank programs: whether their calls meet, and in which order.

use std::path::Path;

use rankwise_program::{Program, ProgramError, check};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::PlanRef;
use crate::command::{Answer, Asked, Failure};
use crate::exit::Exit;
use crate::findings::{self, FindingsData};
use crate::held::Detail;
use crate::unusable::Unusable;

#[derive(Serialize, JsonSchema)]
pub(crate) struct Data {
    program: String,
    ranks: u32,
    #[serde(flatten)]
    findings: FindingsData,
}

/// Judges the rank programs of a text.
pub(super) fn run(
    asked: Asked,
    reference: &PlanRef,
    text: &str,
    detail: Detail,
) -> Result<Answer, Failure> {
    let file = &reference.file;
    if let Some(name) = &reference.proposal {
        let found = format!("rank programs, which have no proposal \"{name}\"");
        return Err(Unusable::file(file, found, "the file alone").into());
    }
    let progress = asked.progress("checking the programs");
    let program = Program::from_json(text).map_err(|error| unusable(file, text, &error))?;
    let findings = check(&program);
    drop(progress);

    let exit = findings::exit(&findings);
    let verdict = match exit {
        Exit::No => "faulty",
        Exit::Unknown => "depends_on_resources",
        _ => "fine",
    };
    let data = Data {
        program: file.display().to_string(),
        ranks: program.world.size().get(),
        findings: FindingsData::of(&findings),
    };
    asked.answer(verdict, exit, &data, |page| {
        let ranks = program.world.size().get();
        let plural = if ranks == 1 { "" } else { "s" };
        let words = findings::words(&findings);
        page.verdict(exit, &format!("{}: {words} on {ranks} rank{plural}", file.display()));
        findings::compose(page, &findings, detail);
    })
}

fn unusable(file: &Path, text: &str, error: &ProgramError) -> Box<Unusable> {
    match error {
        ProgramError::Shape { line, column, found } => {
            Unusable::program(file, text, (*line, *column), found)
        }
        error => Unusable::file(file, error.to_string(), "programs as the crate describes them"),
    }
}
