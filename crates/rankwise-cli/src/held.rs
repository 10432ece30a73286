//! What ranks hold, as rows: positions, the term, the values where they are known.

use std::ops::Range;
use std::sync::Arc;

use rankwise_model::Scalar;
use rankwise_plan::numbers::Numbers;
use rankwise_plan::plan::Plan;
use rankwise_plan::term::Terms;
use rankwise_plan::vector::{Content, Run, Vector};
use rankwise_topology::WorldRank;
use schemars::JsonSchema;
use serde::Serialize;

use crate::envelope::{Number, Wide};
use crate::table::Table;

/// How much is shown before "and so many more".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Enough to see the pattern.
    Few,
    /// Everything.
    All,
}

impl Detail {
    pub(crate) const fn at_most(self, few: usize) -> usize {
        match self {
            Self::Few => few,
            Self::All => usize::MAX,
        }
    }

    /// Up to this many rows show rank by rank; past that, equal ranks are put together.
    const fn rows(self) -> usize {
        self.at_most(4)
    }

    /// Groups of ranks that hold the same.
    const fn classes(self) -> usize {
        self.at_most(4)
    }

    /// Steps of a proposal: the first ones and the last.
    pub(crate) const fn steps(self) -> [usize; 2] {
        [self.at_most(5), 3]
    }

    /// Runs of one vector.
    const fn runs(self) -> usize {
        self.at_most(8)
    }

    /// Values of a run of `count` positions: all of a few, else the first of many.
    fn values(self, count: u64) -> u64 {
        match self {
            Self::Few if count > 8 => 4,
            _ => count,
        }
    }
}

/// Where terms and their values come from.
pub(crate) struct View<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) terms: &'a Terms,
    pub(crate) numbers: &'a Numbers<'a>,
    pub(crate) detail: Detail,
}

/// Ranks that hold one and the same vector in a buffer.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub(crate) ranks: Vec<WorldRank>,
    pub(crate) vector: Arc<Vector>,
}

/// Puts ranks together whose vector is one and the same, in order of the first of each.
pub(crate) fn classes<'a>(
    held: impl IntoIterator<Item = (WorldRank, &'a Arc<Vector>)>,
) -> Vec<Class> {
    let mut classes: Vec<Class> = Vec::new();
    let mut by_address = std::collections::HashMap::new();
    for (rank, vector) in held {
        let index = *by_address.entry(Arc::as_ptr(vector)).or_insert_with(|| {
            classes.push(Class { ranks: Vec::new(), vector: Arc::clone(vector) });
            classes.len() - 1
        });
        if let Some(class) = classes.get_mut(index) {
            class.ranks.push(rank);
        }
    }
    classes
}

impl View<'_> {
    /// One table: buffer by buffer and rank by rank, one row per run.
    pub(crate) fn table(&self, buffers: &[(String, Vec<Class>)]) -> Table {
        let mut table = Table::new(&["buffer", ">rank", "device", "positions", "holds", "values"]);
        for (buffer, classes) in buffers {
            let rows = classes.iter().map(|class| {
                let runs = usize::try_from(class.vector.runs_at_most()).unwrap_or(usize::MAX);
                runs.saturating_mul(class.ranks.len())
            });
            if rows.fold(0, usize::saturating_add) <= self.detail.rows() {
                let mut one_by_one: Vec<(WorldRank, &Vector)> = classes
                    .iter()
                    .flat_map(|class| class.ranks.iter().map(|rank| (*rank, &*class.vector)))
                    .collect();
                one_by_one.sort_by_key(|(rank, _)| *rank);
                for (rank, vector) in one_by_one {
                    self.rows(&mut table, buffer, rank, vector);
                }
                continue;
            }
            for class in classes.iter().take(self.detail.classes()) {
                let Some((first, others)) = class.ranks.split_first() else { continue };
                self.rows(&mut table, buffer, *first, &class.vector);
                if !others.is_empty() {
                    table.row(["", "", "", "", &alike(others)]);
                }
            }
            let rest = classes.iter().skip(self.detail.classes());
            let more: usize = rest.map(|class| class.ranks.len()).sum();
            if more > 0 {
                let more = format!("… and {more} more ranks (--all shows them)");
                table.row([buffer, "", "", "", &more]);
            }
        }
        table
    }

    fn rows(&self, table: &mut Table, buffer: &str, rank: WorldRank, vector: &Vector) {
        let device = self.plan.device_of(rank).unwrap_or_else(|| "-".into());
        let who = [buffer.to_owned(), rank.to_string(), device];
        if vector.count() == 0 {
            table.row(who.into_iter().chain(["none", "(no elements)"].map(str::to_owned)));
            return;
        }
        for (index, run) in vector.runs().take(self.detail.runs()).enumerate() {
            let who = if index == 0 { who.clone() } else { Default::default() };
            let what = [range(&run.positions), self.terms.show_run(&run), self.values_text(&run)];
            table.row(who.into_iter().chain(what));
        }
        let more = vector.runs().skip(self.detail.runs()).count();
        if more > 0 {
            let more = format!("… and {more} more runs, {} elements in all", vector.count());
            table.row(["", "", "", "", &more]);
        }
    }

    /// The first values of a run; `None` if one of them is not known.
    pub(crate) fn values(&self, run: &Run) -> Option<Vec<Scalar>> {
        (0..self.detail.values(run.count()))
            .map(|offset| match run.content.shifted(offset) {
                Content::Term(placed) => self.numbers.value(self.terms, placed),
                Content::Gap(_) => None,
            })
            .collect()
    }

    /// A vector in one line: its values if all are known, else its terms.
    pub(crate) fn line(&self, vector: &Vector) -> String {
        let shown = |run: Run| match self.values_text(&run) {
            values if values.is_empty() => self.terms.show_run(&run),
            values => format!("{} = {values}", self.terms.show_run(&run)),
        };
        let mut texts: Vec<String> = vector.runs().take(self.detail.runs()).map(shown).collect();
        let more = vector.runs().skip(self.detail.runs()).count();
        if more > 0 {
            texts.push(format!("… and {more} more runs"));
        }
        if texts.is_empty() { "no elements".into() } else { texts.join("; ") }
    }

    fn values_text(&self, run: &Run) -> String {
        let Some(values) = self.values(run) else { return String::new() };
        let texts: Vec<String> = values.iter().map(Scalar::to_string).collect();
        let cut = u64::try_from(values.len()).is_ok_and(|shown| shown < run.count());
        format!("[{}{}]", texts.join(", "), if cut { ", …" } else { "" })
    }

    /// The same for machines.
    pub(crate) fn data(&self, buffer: &str, class: &Class) -> HeldData {
        let runs = || class.vector.runs();
        HeldData {
            buffer: buffer.to_owned(),
            ranks: class.ranks.iter().map(|rank| rank.index()).collect(),
            devices: class.ranks.iter().map(|rank| self.plan.device_of(*rank)).collect(),
            dtype: class.vector.dtype().name(),
            count: Wide(class.vector.count()),
            runs: runs().take(self.detail.runs()).map(|run| self.run_data(&run)).collect(),
            more_runs: runs().skip(self.detail.runs()).count(),
        }
    }

    fn run_data(&self, run: &Run) -> RunData {
        let values = self.values(run);
        RunData {
            positions: positions(&run.positions),
            holds: self.terms.show_run(run),
            values: values.map(|values| values.into_iter().map(Number).collect()),
        }
    }
}

/// `… and ranks 1, 2 and 3 alike`, or how many.
fn alike(others: &[WorldRank]) -> String {
    const SHOWN: usize = 8;
    let names: Vec<String> = others.iter().take(SHOWN).map(WorldRank::to_string).collect();
    match (names.as_slice(), others.len()) {
        ([only], 1) => format!("… and rank {only} alike"),
        ([first @ .., last], all) if all <= SHOWN => {
            format!("… and ranks {} and {last} alike", first.join(", "))
        }
        (_, all) => format!("… and {all} more ranks alike"),
    }
}

/// Ranks that hold the same in a buffer. Of many runs and values the first ones.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HeldData {
    buffer: String,
    ranks: Vec<u32>,
    devices: Vec<Option<String>>,
    dtype: &'static str,
    count: Wide,
    runs: Vec<RunData>,
    more_runs: usize,
}

#[derive(Serialize, JsonSchema)]
struct RunData {
    positions: [Wide; 2],
    holds: String,
    values: Option<Vec<Number>>,
}

/// `[start, end)` for machines.
pub(crate) fn positions(range: &Range<u64>) -> [Wide; 2] {
    [Wide(range.start), Wide(range.end)]
}

/// `0..4`, as plans write it.
pub(crate) fn range(range: &Range<u64>) -> String {
    format!("{}..{}", range.start, range.end)
}
