//! `rankwise compare FILE[#NAME] [FILE[#NAME]]`: whether two proposals are one job.

mod data;

use rankwise_account::NOT_SAID;
use rankwise_plan::compare::{Comparison, Difference, Named, State, Summary, compare};
use rankwise_plan::need::NeedsAnswer;
use rankwise_plan::plan::{Plan, Proposal};
use rankwise_plan::sense::Sense;
use rankwise_plan::surface::Because;
use rankwise_plan::term::Terms;

use crate::args::PlanRef;
use crate::command::{Answer, Asked, Failure};
use crate::exit::Exit;
use crate::findings;
use crate::grounds;
use crate::held::{Detail, range};
use crate::load::Loaded;
use crate::needs::{self, Places};
use crate::page::Page;
use crate::payloads;
use crate::table::Table;
use crate::unusable::Unusable;

pub(crate) use self::data::Data;

/// One side of a comparison.
#[derive(Clone, Copy)]
struct Side<'a> {
    loaded: &'a Loaded,
    proposal: &'a Proposal,
}

/// Two proposals and what became of them.
struct Pair<'a> {
    sides: [Side<'a>; 2],
    names: [String; 2],
    comparison: Comparison,
    /// Of each side.
    places: [Places; 2],
    /// Where the states differ besides the first place, if everything is asked for.
    others: Vec<Difference>,
}

/// Compares one pair, or all there are.
pub(crate) fn run(
    asked: Asked,
    first: &PlanRef,
    second: Option<&PlanRef>,
    detail: Detail,
) -> Result<Answer, Failure> {
    let left = Loaded::read(&first.file, asked)?;
    // One file is one plan, however often it is named.
    let other = match second {
        Some(second) if second.file != first.file => Some(Loaded::read(&second.file, asked)?),
        _ => None,
    };
    let right = other.as_ref().unwrap_or(&left);
    let progress = asked.progress("comparing");
    let mut pairs = Vec::new();
    for sides in candidates(&left, right, first, second)? {
        pairs.push(Pair::of(sides, detail)?);
    }
    drop(progress);

    let exit = needs::worst(pairs.iter().map(Pair::exit));
    let verdict = match pairs.as_slice() {
        [pair] => pair.comparison.summary().name(),
        _ => match exit {
            Exit::Yes => "all_pairs_do_the_job",
            Exit::No => "not_all_pairs_do_the_job",
            _ => "unknown",
        },
    };
    let mut notes = left.notes.clone();
    notes.extend(other.iter().flat_map(|other| other.notes.clone()));
    let data = Data::of(&pairs, notes);
    asked.answer(verdict, exit, &data, |page| {
        if pairs.len() > 1 {
            overview(page, &pairs, detail);
        }
        let mut sorted: Vec<&Pair<'_>> = pairs.iter().collect();
        sorted.sort_by_key(|pair| pair.urgency());
        let shown = sorted.get(..detail.at_most(1).min(sorted.len())).unwrap_or_default();
        for pair in shown {
            pair.compose(page, detail);
        }
        let more = pairs.len().saturating_sub(shown.len());
        if more > 0 {
            page.gap();
            page.more(more, "pairs in detail");
        }
        if shown.iter().any(|pair| pair.refusal().is_none()) {
            page.gap();
            page.item("not said: ", NOT_SAID);
        }
        page.notes(&data.notes);
    })
}

/// The pairs that the command line asks for.
fn candidates<'a>(
    left: &'a Loaded,
    right: &'a Loaded,
    first: &PlanRef,
    second: Option<&PlanRef>,
) -> Result<Vec<[Side<'a>; 2]>, Box<Unusable>> {
    let some = left.proposals(first.proposal.as_deref())?;
    let side = |loaded, proposal| Side { loaded, proposal };
    let others_name = second.and_then(|second| second.proposal.as_deref());
    let others = right.proposals(others_name)?;
    // Within one file, all others: each pair once, and none with itself, unless asked.
    let one_file = std::ptr::eq(left, right);
    let mut pairs = Vec::new();
    for (index, one) in some.iter().enumerate() {
        let all_pairs = one_file && first.proposal.is_none() && others_name.is_none();
        let skipped = if all_pairs { index + 1 } else { 0 };
        for other in others.iter().skip(skipped) {
            let itself = one_file && others_name.is_none() && std::ptr::eq(*one, *other);
            if !itself {
                pairs.push([side(left, *one), side(right, *other)]);
            }
        }
    }
    if pairs.is_empty() {
        return Err(Unusable::file(&left.file, "one proposal", "two proposals to compare"));
    }
    Ok(pairs)
}

impl<'a> Pair<'a> {
    fn of(sides: [Side<'a>; 2], detail: Detail) -> Result<Self, Box<Unusable>> {
        let [left, right] = sides;
        let mut terms = Terms::new();
        let comparison = compare(
            (&left.loaded.plan, left.proposal),
            (&right.loaded.plan, right.proposal),
            &mut terms,
        )
        .map_err(|failed| {
            let side = if failed.side == 0 { left } else { right };
            side.loaded.unusable(&failed.error)
        })?;
        let one_file = std::ptr::eq(left.loaded, right.loaded);
        let names = sides.map(|side| {
            if one_file { side.proposal.name.clone() } else { side.loaded.name_of(side.proposal) }
        });
        let mut places = [Places::default(), Places::default()];
        let told = comparison.needs.iter().zip(&comparison.evaluations);
        for ((places, side), (report, evaluation)) in places.iter_mut().zip(&sides).zip(told) {
            let (loaded, proposal) = (side.loaded, side.proposal);
            *places = Places::of(&loaded.plan, proposal, evaluation, &mut terms, report, detail)
                .map_err(|error| loaded.unusable(&error))?;
        }
        let mut others = Vec::new();
        if detail == Detail::All {
            let [one, other] = [left, right].map(|side| (&side.loaded.plan, side.proposal));
            others = comparison.places(one, other, &mut terms);
            others.retain(|other| {
                !comparison.state.evidence.as_ref().is_some_and(|first| first.is_where(other))
            });
        }
        Ok(Self { sides, names, comparison, places, others })
    }

    fn plan(&self, side: usize) -> &Plan {
        let [left, right] = &self.sides;
        if side == 0 { &left.loaded.plan } else { &right.loaded.plan }
    }

    fn exit(&self) -> Exit {
        match self.comparison.both_do() {
            Some(true) => Exit::Yes,
            Some(false) => Exit::No,
            None => Exit::Unknown,
        }
    }

    /// What does not do the job is told first.
    fn urgency(&self) -> u8 {
        match self.exit() {
            Exit::No => 0,
            Exit::Yes => 2,
            _ => 1,
        }
    }

    /// The summary with the names of the proposals.
    fn words(&self) -> String {
        let [left, right] = &self.names;
        match self.comparison.summary() {
            Summary::OnlyFirst => format!("only {left} satisfies every need"),
            Summary::OnlySecond => format!("only {right} satisfies every need"),
            Summary::NotFirst => format!("{left} does not satisfy every need, {right} is unknown"),
            Summary::NotSecond => format!("{right} does not satisfy every need, {left} is unknown"),
            summary => summary.words().to_owned(),
        }
    }

    fn compose(&self, page: &mut Page, detail: Detail) {
        let [left, right] = &self.names;
        page.verdict(self.exit(), &format!("{left} and {right}: {}", self.words()));
        for (name, evaluation) in self.names.iter().zip(&self.comparison.evaluations) {
            if let Some(findings) = &evaluation.findings {
                page.item("  programs: ", &format!("{name}: {}", findings::words(findings)));
                if findings::exit(findings) != Exit::Yes {
                    findings::compose(page, findings, detail);
                    page.gap();
                }
            }
        }
        let mut sides: Vec<_> =
            self.names.iter().zip(self.comparison.needs.iter().enumerate()).collect();
        // A need that fails says more than the rest.
        sides.sort_by_key(|(_, (_, report))| report.answer() != NeedsAnswer::NotSatisfied);
        for (name, (side, report)) in sides {
            page.item("  needs: ", &format!("{name}: {}", needs::words(report.answer())));
            if let Some(places) = self.places.get(side) {
                needs::failing(page, self.plan(side), report, places, detail);
            }
        }
        self.compose_state(page);
        if let Some(sense) = self.comparison.sense.filter(|_| self.exit() == Exit::Yes) {
            grounds::compose(page, sense, &self.comparison.grounds);
        }
        self.compose_figures(page, detail);
    }

    fn compose_state(&self, page: &mut Page) {
        let Comparison { state, surface, not_compared, .. } = &self.comparison;
        let because = match surface.because {
            Because::Outputs => "the outputs that the proposals list",
            Because::Needs => "the buffers that needs name",
            Because::BothWrite => "the buffers that both write",
        };
        let compared = match surface.compared.as_slice() {
            [] => "no buffer".to_owned(),
            some => some.join(", "),
        };
        page.item("  state: ", &format!("{}, on {compared} ({because})", state.state.name()));
        match &state.evidence {
            None => {}
            Some(Difference::Places { first, second }) => {
                let [left, right] = &self.names;
                page.item("    ", &format!("only {left} has: {}", or_nothing(first)));
                page.item("    ", &format!("only {right} has: {}", or_nothing(second)));
            }
            Some(first @ Difference::Values { named, .. }) => {
                self.compose_place(page, "first", first);
                self.compose_named(page, named);
            }
        }
        for other in &self.others {
            self.compose_place(page, "then", other);
        }
        for reason in &state.because {
            page.item("    - ", reason);
        }
        if !not_compared.is_empty() {
            page.item("  not compared: ", &not_compared.join(", "));
        }
    }

    /// What each side holds in one place.
    fn compose_place(&self, page: &mut Page, which: &str, difference: &Difference) {
        let Difference::Values { place, ranks, buffer, positions, first, second, .. } = difference
        else {
            return;
        };
        let at = range(positions);
        page.item("    ", &format!("{which} on {place}, buffer {buffer}, positions {at}"));
        for ((name, rank), held) in self.names.iter().zip(ranks).zip([first, second]) {
            page.item("      ", &format!("{name} (rank {rank}) holds {held}"));
        }
    }

    /// What one side is, measured by the other, unless a need has said what is wrong.
    fn compose_named(&self, page: &mut Page, named: &Named) {
        let is_told =
            self.comparison.needs.iter().any(|needs| needs.answer() == NeedsAnswer::NotSatisfied);
        let [left, right] = &self.names;
        let (measured, by) = if named.side == 0 { (left, right) } else { (right, left) };
        if is_told || named.wrongs.is_empty() {
            return;
        }
        page.item("      ", &format!("{measured}, were it what {by} holds that is needed:"));
        for wrong in &named.wrongs {
            page.item("      - ", &wrong.to_string());
        }
    }

    /// Figures side by side, or why not.
    fn compose_figures(&self, page: &mut Page, detail: Detail) {
        let Some(refusal) = self.refusal() else {
            let mut table = Table::new(&[
                "proposal",
                ">step",
                "call",
                "count",
                "of",
                "input per rank",
                "output per rank",
            ]);
            let most = detail.at_most(6);
            let mut cut = 0;
            for ((name, side), evaluation) in
                self.names.iter().zip(&self.sides).zip(&self.comparison.evaluations)
            {
                let steps = side.proposal.steps.iter().zip(&evaluation.steps);
                cut += evaluation.steps.len().saturating_sub(most);
                for (index, (step, record)) in steps.take(most).enumerate() {
                    payloads::rows(&mut table, name, index, &step.act, record);
                }
            }
            page.item(
                "  figures: ",
                "all is settled, so that measured times may be compared, every step of each counted",
            );
            page.table(&table);
            page.more(cut, "steps");
            return;
        };
        page.item(
            "  figures: ",
            &format!("none side by side, and no comparison of speed: {refusal}"),
        );
        for reason in &self.comparison.unsettled {
            page.item("    - ", &reason.to_string());
        }
    }

    /// Why figures may not be set side by side, if so.
    fn refusal(&self) -> Option<&'static str> {
        if self.comparison.speed_is_comparable() {
            return None;
        }
        Some(match self.comparison.both_do() {
            Some(false) => "they do not do the same job",
            Some(true) => "both do the job, but this is not settled",
            None => "it is not settled whether both do the job",
        })
    }
}

fn or_nothing(text: &str) -> &str {
    if text.is_empty() { "nothing" } else { text }
}

/// All pairs at a glance.
fn overview(page: &mut Page, pairs: &[Pair<'_>], detail: Detail) {
    let mut table = Table::new(&["pair", "state", "verdict", "sense"]);
    let rows = detail.at_most(16);
    for pair in pairs.iter().take(rows) {
        let [left, right] = &pair.names;
        let state = match pair.comparison.state.state {
            State::Same => "same",
            State::Different => "different",
            State::Unknown => "unknown",
        };
        let sense = pair.comparison.sense.map_or("-", Sense::name);
        table.row([&format!("{left} / {right}"), state, &pair.words(), sense]);
    }
    page.table(&table);
    page.more(pairs.len().saturating_sub(rows), "pairs");
}
