//! Rank programs: whether their calls meet, and in which order.

mod data;

use std::path::Path;

use rankwise_program::{Findings, Program, ProgramError, Report, check};

use self::data::Data;
use crate::args::PlanRef;
use crate::command::{Answer, Asked, Failure};
use crate::exit::Exit;
use crate::page::Page;
use crate::unusable::Unusable;

/// Judges the rank programs of a text.
pub(super) fn run(asked: Asked, reference: &PlanRef, text: &str) -> Result<Answer, Failure> {
    let file = &reference.file;
    if let Some(name) = &reference.proposal {
        return Err(Unusable::file(
            file,
            format!("rank programs, which have no proposal \"{name}\""),
            "the file alone",
        )
        .into());
    }
    let progress = asked.progress("checking the programs");
    let program = Program::from_json(text).map_err(|error| unusable(file, text, &error))?;
    let findings = check(&program);
    drop(progress);

    let (verdict, exit) = if !findings.reports.is_empty() {
        ("faulty", Exit::No)
    } else if !findings.order.is_empty() {
        // It ends with these streams; what else a device makes of them is not given.
        ("depends_on_resources", Exit::Unknown)
    } else {
        ("fine", Exit::Yes)
    };
    let data = Data::of(file, &program, &findings);
    asked.answer(verdict, exit, &data, |page| {
        page.verdict(exit, &headline(file, &program, &findings));
        compose(page, &findings);
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

fn headline(file: &Path, program: &Program, findings: &Findings) -> String {
    let file = file.display();
    let ranks = counted(u64::from(program.world.size().get()), "rank");
    let completed = counted(findings.completed, "operation");
    let ends = if findings.completed == 1 { "completes" } else { "complete" };
    match (findings.reports.len(), findings.order.len()) {
        (0, 0) => format!("{file}: fine, on {ranks} {completed} {ends}"),
        (0, _) => format!(
            "{file}: on {ranks} {completed} {ends} with these streams, in orders that differ: it \
             depends on the device's resources"
        ),
        (causes, _) => {
            let causes = counted(u64::try_from(causes).unwrap_or(u64::MAX), "finding");
            format!("{file}: {causes}, on {ranks} {completed} {ends}")
        }
    }
}

fn counted(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// What goes wrong first, then what depends, then what was not judged.
fn compose(page: &mut Page, findings: &Findings) {
    const SHOWN: usize = 16;
    let reports = findings.reports.iter().map(AsRef::as_ref);
    for report in reports.clone().chain(&findings.order).take(SHOWN) {
        shown(page, report);
    }
    let all = reports.count().saturating_add(findings.order.len());
    if all > SHOWN {
        page.gap();
        page.say(&format!("… and {} more findings (--json has them all)", all - SHOWN));
    }
    if !findings.caveats.is_empty() {
        page.gap();
    }
    for caveat in findings.caveats.iter().take(SHOWN) {
        page.item("note: ", &caveat.to_string());
    }
    let more = findings.caveats.len().saturating_sub(SHOWN);
    if more > 0 {
        page.say(&format!("… and {more} more notes (--json has them all)"));
    }
}

fn shown(page: &mut Page, report: &Report) {
    let text = report.to_string();
    let mut lines = text.lines();
    page.heading(lines.next().unwrap_or_default());
    for line in lines {
        let words = line.trim_start();
        page.item(&" ".repeat(line.len() - words.len()), words);
    }
}
