//! What a check of rank programs has found, as paragraphs: what goes wrong first, then
//! what depends on a device, then what was not judged.

mod data;

use rankwise_program::{Findings, Report};

pub(crate) use self::data::FindingsData;
use crate::exit::Exit;
use crate::held::Detail;
use crate::page::Page;

/// Findings and notes that are shown, before the rest is only counted.
const SHOWN: usize = 6;

/// Fine, faulty, or undecided: orders that contradict each other end with these streams,
/// and what else a device makes of them is not given.
pub(crate) fn exit(findings: &Findings) -> Exit {
    if !findings.reports.is_empty() {
        Exit::No
    } else if !findings.order.is_empty() {
        Exit::Unknown
    } else {
        Exit::Yes
    }
}

/// `fine, 4 operations complete`, `2 findings, 4 operations complete`.
pub(crate) fn words(findings: &Findings) -> String {
    let completed = counted(findings.completed, "operation");
    let ends = if findings.completed == 1 { "completes" } else { "complete" };
    match (findings.reports.len(), findings.order.len()) {
        (0, 0) => format!("fine, {completed} {ends}"),
        (0, _) => format!(
            "{completed} {ends} with these streams, in orders that differ: it depends on the \
             device's resources"
        ),
        (causes, _) => {
            let causes = counted(u64::try_from(causes).unwrap_or(u64::MAX), "finding");
            format!("{causes}, {completed} {ends}")
        }
    }
}

fn counted(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// Every finding as a paragraph, then the notes.
pub(crate) fn compose(page: &mut Page, findings: &Findings, detail: Detail) {
    let most = detail.at_most(SHOWN);

    let reports = findings.reports.iter().map(AsRef::as_ref);
    for report in reports.clone().chain(&findings.order).take(most) {
        shown(page, report);
    }
    let all = reports.count().saturating_add(findings.order.len());
    if all > most {
        page.gap();
        page.more(all - most, "findings");
    }
    if !findings.caveats.is_empty() {
        page.gap();
    }
    for caveat in findings.caveats.iter().take(most) {
        page.item("note: ", &caveat.to_string());
    }
    page.more(findings.caveats.len().saturating_sub(most), "notes");
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
