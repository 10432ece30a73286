//! What a run left, in words.

use rankwise_plan::values::Values;
use rankwise_run::Outcome;
use rankwise_run::record::{
    BufferRecord, BufferVerdict, NeedVerdict, RunRecord, ValuesOrigin, Verdict,
};

use crate::exit::Exit;
use crate::page::Page;
use crate::table::Table;

/// Rows before the rest is only counted.
const SHOWN: usize = 16;
/// Elements of a buffer that are all shown, and how many are of a longer one.
const ALL: u64 = 8;
const FIRST: usize = 4;

/// The result in a line, what every rank holds, and what is wrong.
pub(crate) fn compose(page: &mut Page, name: &str, exit: Exit, outcome: &Outcome) {
    let record = &outcome.record;
    let on = record.backend.as_ref().map_or("no backend", |backend| backend.name.as_str());
    page.verdict(exit, &format!("{name} on {on}: {}", headline(record)));
    table(page, outcome);
    for buffer in record.buffers.iter().filter(|buffer| differs(buffer)).take(SHOWN) {
        difference(page, buffer);
    }
    for need in &record.needs {
        let answer = match need.answer {
            NeedVerdict::Met => continue,
            NeedVerdict::NotMet => "not met",
            NeedVerdict::Unknown => "not known to be met",
        };
        let why = need.why.as_deref().map_or_else(String::new, |why| format!(": {why}"));
        let (index, buffer, holds) = (need.need, &need.buffer, &need.holds);
        page.item(
            &format!("  need {index}: "),
            &format!("{buffer} holds {holds} is {answer}{why}"),
        );
    }
    for error in &record.errors {
        let ranks = ranks(&error.ranks);
        let lines: Vec<String> = error.text.lines().map(|line| format!("    {line}")).collect();
        page.item("  failed: ", &format!("{ranks} ({})", error.kind));
        page.verbatim(&lines);
    }
    for input in &record.fill.inputs {
        let how = match input.values {
            ValuesOrigin::Given => continue,
            ValuesOrigin::Counted => "small integers that count up through positions and ranks",
            ValuesOrigin::Scattered => "small integers, scattered over what the type has",
        };
        page.item("  generated: ", &format!("{}, which has no values: {how}", input.input));
    }
}

fn headline(record: &RunRecord) -> String {
    let count = |verdict| record.buffers.iter().filter(|buffer| buffer.verdict == verdict).count();
    let (holds, differ) = (count(BufferVerdict::Holds), count(BufferVerdict::Differs));
    let needs = record.needs.len();
    let unmet = record.needs.iter().filter(|need| need.answer == NeedVerdict::NotMet).count();
    let right = match holds {
        1 => "the one array is as the model says".to_owned(),
        _ => format!("all {holds} arrays are as the model says"),
    };
    match record.verdict {
        Verdict::Right if needs == 0 => format!("{right}; no need is stated"),
        Verdict::Right => format!("{right}; every need is met"),
        Verdict::NeedNotMet => format!("{right}; {unmet} of {needs} needs are not met"),
        Verdict::Unknown => format!("{right}; not every need is known to be met"),
        Verdict::Differs => {
            format!("{differ} of {} arrays differ from the model", holds + differ)
        }
        Verdict::Failed => {
            let failed = record.ranks.iter().filter(|rank| rank.error.is_some()).count();
            format!("the run failed on {failed} of {} ranks", record.ranks.len())
        }
    }
}

fn differs(buffer: &BufferRecord) -> bool {
    buffer.verdict == BufferVerdict::Differs
}

/// What the steps wrote; of the inputs, only one that is not as it was. What is wrong
/// comes first, then what is needed.
fn table(page: &mut Page, outcome: &Outcome) {
    let record = &outcome.record;
    let mut table =
        Table::new(&["buffer", ">rank", "device", ">run on", "holds", "verdict", "sense"]);
    let listed = record.buffers.iter().filter(|buffer| buffer.written || differs(buffer));
    let mut all: Vec<&BufferRecord> = listed.collect();
    let is_needed =
        |buffer: &BufferRecord| record.needs.iter().any(|need| need.buffer == buffer.buffer);
    all.sort_by_key(|buffer| (!differs(buffer), !is_needed(buffer)));
    for buffer in all.iter().take(SHOWN) {
        let held = outcome
            .left
            .iter()
            .find(|((rank, name), _)| (rank.index(), name) == (buffer.rank, &buffer.buffer));
        let ordinal = record.ranks.iter().find(|rank| rank.rank == buffer.rank);
        let ordinal = ordinal.and_then(|rank| rank.ordinal);
        table.row([
            buffer.buffer.clone(),
            buffer.rank.to_string(),
            buffer.device.clone().unwrap_or_else(|| "-".into()),
            ordinal.map_or_else(|| "-".into(), |ordinal| ordinal.to_string()),
            held.map(|(_, values)| elements(values)).unwrap_or_default(),
            match buffer.verdict {
                BufferVerdict::Holds => "holds".into(),
                BufferVerdict::Differs => "differs".into(),
                BufferVerdict::NotPromised => "not promised".into(),
            },
            buffer.sense.clone().unwrap_or_else(|| "-".into()),
        ]);
    }
    page.table(&table);
    let more = all.len().saturating_sub(SHOWN);
    if more > 0 {
        page.say(&format!("  … and {more} more arrays"));
    }
}

/// `[11, 22, 33, 44]`; of many, the first ones.
fn elements(values: &Values) -> String {
    let (first, more) = if values.count() <= ALL { (usize::MAX, "") } else { (FIRST, ", …") };
    let shown: Vec<String> = values.iter().take(first).map(|value| value.to_string()).collect();
    format!("[{}{more}]", shown.join(", "))
}

fn difference(page: &mut Page, buffer: &BufferRecord) {
    let Some(first) = &buffer.first_difference else { return };
    let device = buffer.device.as_ref().map_or_else(String::new, |name| format!(" ({name})"));
    let law = buffer.law.as_ref().map_or_else(String::new, |law| format!("; {law}"));
    page.item(
        "  differs: ",
        &format!(
            "rank {}{device}, buffer {}, first at position {}: found {} ({}), expected {} ({}); {} of {} positions{law}",
            buffer.rank,
            buffer.buffer,
            first.position,
            first.found.value,
            first.found.bits,
            first.expected.value,
            first.expected.bits,
            buffer.wrong,
            buffer.count,
        ),
    );
}

/// `rank 0`, `ranks 0, 1 and 14 more`, `no rank`.
fn ranks(ranks: &[u32]) -> String {
    let shown: Vec<String> = ranks.iter().take(SHOWN).map(u32::to_string).collect();
    let more = ranks.len().saturating_sub(SHOWN);
    match (ranks, more) {
        ([], _) => "no rank".to_owned(),
        ([only], _) => format!("rank {only}"),
        (_, 0) => format!("ranks {}", shown.join(", ")),
        (_, more) => format!("ranks {} and {more} more", shown.join(", ")),
    }
}
