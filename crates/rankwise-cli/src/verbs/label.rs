//! `rankwise label TEXT`: everything that a bare figure may mean.

use rankwise_account::label::{FORMULA_LEGEND, Side};
use rankwise_account::{Factor, Figure, Impossible, Label, Meaning, NOT_SAID, Number, Reading};
use rankwise_model::OperationKind;
use rankwise_model::operation::Holders;
use schemars::JsonSchema;
use serde::Serialize;

use crate::command::{Answer, Asked, Failure};
use crate::envelope::Wide;
use crate::exit::Exit;
use crate::page::Page;
use crate::table::Table;
use crate::unusable::Unusable;

/// Reads the label and lists its readings.
pub(crate) fn run(asked: Asked, words: &[String]) -> Result<Answer, Failure> {
    let text = words.join(" ");
    let label = Label::parse(&text).map_err(|error| Unusable::label(&text, &error))?;
    let readings: Vec<Reading> = label.readings().collect();
    let possible = readings.iter().filter(|reading| reading.possible().is_ok()).count();
    let (verdict, exit) = match (possible, label.settle()) {
        (0, _) => ("impossible", Exit::No),
        (1, Ok(_)) => ("settled", Exit::Yes),
        (1, Err(_)) => ("one_reading", Exit::Yes),
        _ => ("open", Exit::Unknown),
    };
    let factors = factors(&readings);
    let data = Data::of(&label, &readings, &factors);
    asked.answer(verdict, exit, &data, |page| {
        compose(page, &label, &readings, &factors, (possible, exit));
    })
}

/// Two possible readings of one operation, and how many times the first is the second.
struct Between {
    /// The operations of which this holds alike.
    operations: Vec<OperationKind>,
    first: Reading,
    second: Reading,
    factor: Factor,
}

fn factors(readings: &[Reading]) -> Vec<Between> {
    let possible: Vec<&Reading> =
        readings.iter().filter(|reading| reading.possible().is_ok()).collect();
    let mut found: Vec<Between> = Vec::new();
    for pair in possible.windows(2) {
        let [first, second] = pair else { continue };
        if first.operation() != second.operation() {
            continue;
        }
        // Of one operation both sides grow alike, so that one factor says it.
        let factor = first.factor(second, Side::Output);
        let alike = found.iter_mut().find(|between| {
            between.factor == factor
                && words(&between.first) == words(first)
                && words(&between.second) == words(second)
        });
        match alike {
            Some(between) => between.operations.push(first.operation()),
            None => found.push(Between {
                operations: vec![first.operation()],
                first: **first,
                second: **second,
                factor,
            }),
        }
    }
    found
}

fn compose(
    page: &mut Page,
    label: &Label,
    readings: &[Reading],
    factors: &[Between],
    (possible, exit): (usize, Exit),
) {
    let number = label.number();
    page.verdict(exit, &headline(label, readings, possible));
    page.gap();
    let is = format!("{number} is its");
    let mut table =
        Table::new(&["operation", &is, "input per rank", "output per rank", "possible"]);
    for reading in readings {
        let names: Vec<String> = reading.meanings().map(|name| name.to_string()).collect();
        let possible = match reading.possible() {
            Ok(()) => "yes".to_owned(),
            Err(why) => format!("no: {}", reason(&why)),
        };
        table.row([
            reading.operation().to_string(),
            names.join(" = "),
            side(reading, Side::Input),
            side(reading, Side::Output),
            possible,
        ]);
    }
    page.table(&table);
    page.gap();
    let missing = label.missing();
    if !missing.is_empty() {
        page.item("missing: ", &missing.to_string());
    }
    for between in factors {
        page.item("factor: ", &sentence(label, between));
    }
    if shows_formula(readings) {
        page.item("letters: ", FORMULA_LEGEND);
    }
    page.item("not said: ", NOT_SAID);
}

fn headline(label: &Label, readings: &[Reading], possible: usize) -> String {
    match (possible, label.settle()) {
        (0, _) => format!("{label}: no reading is possible"),
        (1, Ok(settled)) => settled.to_string(),
        (1, Err(_)) => format!("{label}: one reading, not yet comparable"),
        (_, _) if possible == readings.len() => format!("{label}: {possible} readings"),
        _ => format!("{label}: {possible} possible readings of {}", readings.len()),
    }
}

/// `4 elements, 16 B`, with the ranks that have the side where not all do.
fn side(reading: &Reading, side: Side) -> String {
    let (elements, bytes, on) = match side {
        Side::Input => (reading.input_elements(), reading.input_bytes(), reading.input_on()),
        Side::Output => (reading.output_elements(), reading.output_bytes(), reading.output_on()),
    };
    let figure = match (elements, bytes) {
        (Ok(Figure::Elements(elements)), Ok(bytes @ Figure::Bytes(_))) => {
            format!("{elements}, {bytes}")
        }
        // Of two formulas the one in the label's own unit says more.
        (Ok(elements @ Figure::Elements(_)), _) => elements.to_string(),
        (_, Ok(bytes @ Figure::Bytes(_))) => bytes.to_string(),
        (Ok(Figure::Formula(formula)), Ok(bytes)) => {
            if formula.element == 0 {
                formula.to_string()
            } else {
                bytes.to_string()
            }
        }
        _ => "-".to_owned(),
    };
    match on {
        Holders::Everyone => figure,
        Holders::Root => format!("{figure} (root)"),
        Holders::Sender => format!("{figure} (sender)"),
        Holders::Receiver => format!("{figure} (receiver)"),
    }
}

/// Without the operation, which stands at the start of the row.
fn reason(why: &Impossible) -> String {
    let text = why.to_string();
    text.split_once(": ").map_or(text.clone(), |(_, reason)| reason.to_owned())
}

fn sentence(label: &Label, between: &Between) -> String {
    let Between { operations, first, second, factor } = between;
    let operations: Vec<&str> = operations.iter().map(|operation| operation.name()).collect();
    let times = match label.ranks() {
        Some(ranks) if factor.exponent() != 0 => format!("{factor} = {}", factor.over(ranks)),
        _ => factor.to_string(),
    };
    format!(
        "{times} times as much is meant if {} is {} than if it is {} ({})",
        label.number(),
        words(first).join("/"),
        words(second).join("/"),
        operations.join(", "),
    )
}

fn shows_formula(readings: &[Reading]) -> bool {
    readings.iter().any(|reading| {
        [reading.input_bytes(), reading.output_bytes(), reading.input_elements()]
            .iter()
            .any(|figure| matches!(figure, Ok(Figure::Formula(_))))
    })
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Data {
    label: String,
    number: NumberData,
    said: Said,
    readings: Vec<ReadingData>,
    missing: Vec<String>,
    factors: Vec<FactorData>,
    settled: Option<SettledData>,
    not_said: &'static str,
}

#[derive(Serialize, JsonSchema)]
struct NumberData {
    unit: &'static str,
    value: Wide,
}

#[derive(Serialize, JsonSchema)]
struct Said {
    operation: Option<&'static str>,
    meaning: Option<&'static str>,
    ranks: Option<u32>,
    dtype: Option<&'static str>,
}

#[derive(Serialize, JsonSchema)]
struct ReadingData {
    operation: &'static str,
    names: Vec<&'static str>,
    count: Option<FigureData>,
    input: SideData,
    output: SideData,
    possible: bool,
    why_not: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct SideData {
    on: &'static str,
    elements: Option<FigureData>,
    bytes: Option<FigureData>,
}

/// A number, or what is left to fill in; exactly one of the two is not null.
#[derive(Serialize, JsonSchema)]
struct FigureData {
    value: Option<Wide>,
    formula: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct FactorData {
    operations: Vec<&'static str>,
    between: [Vec<&'static str>; 2],
    factor: String,
    value: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct SettledData {
    operation: &'static str,
    ranks: u32,
    dtype: &'static str,
    count: Wide,
    input_bytes: Wide,
    output_bytes: Wide,
}

impl Data {
    fn of(label: &Label, readings: &[Reading], factors: &[Between]) -> Self {
        let settled = label.settle().ok();
        Self {
            label: label.to_string(),
            number: match label.number() {
                Number::Elements(elements) => {
                    NumberData { unit: "elements", value: Wide(elements.get()) }
                }
                Number::Bytes(bytes) => NumberData { unit: "bytes", value: Wide(bytes.get()) },
            },
            said: Said {
                operation: label.operation().map(OperationKind::name),
                meaning: label.meaning().map(Meaning::word),
                ranks: label.ranks().map(rankwise_model::GroupSize::get),
                dtype: label.dtype().map(rankwise_model::Dtype::name),
            },
            readings: readings.iter().map(ReadingData::of).collect(),
            missing: label.missing().parts().map(|part| part.to_string()).collect(),
            factors: factors
                .iter()
                .map(|between| FactorData {
                    operations: between.operations.iter().map(|kind| kind.name()).collect(),
                    between: [words(&between.first), words(&between.second)],
                    factor: between.factor.to_string(),
                    value: label.ranks().map(|ranks| between.factor.over(ranks).to_string()),
                })
                .collect(),
            settled: settled.map(|settled| SettledData {
                operation: settled.operation().name(),
                ranks: settled.ranks().get(),
                dtype: settled.dtype().name(),
                count: Wide(settled.count().get()),
                input_bytes: Wide(settled.figure(Meaning::Input).bytes().get()),
                output_bytes: Wide(settled.figure(Meaning::Output).bytes().get()),
            }),
            not_said: NOT_SAID,
        }
    }
}

fn words(reading: &Reading) -> Vec<&'static str> {
    reading.meanings().map(Meaning::word).collect()
}

impl ReadingData {
    fn of(reading: &Reading) -> Self {
        let why_not = reading.possible().err().map(|why| why.to_string());
        Self {
            operation: reading.operation().name(),
            names: words(reading),
            count: FigureData::of(reading.count()),
            input: SideData {
                on: on(reading.input_on()),
                elements: FigureData::of(reading.input_elements()),
                bytes: FigureData::of(reading.input_bytes()),
            },
            output: SideData {
                on: on(reading.output_on()),
                elements: FigureData::of(reading.output_elements()),
                bytes: FigureData::of(reading.output_bytes()),
            },
            possible: why_not.is_none(),
            why_not,
        }
    }
}

const fn on(holders: Holders) -> &'static str {
    match holders {
        Holders::Everyone => "every_rank",
        Holders::Root => "root",
        Holders::Sender => "sender",
        Holders::Receiver => "receiver",
    }
}

impl FigureData {
    fn of(figure: Result<Figure, Impossible>) -> Option<Self> {
        Some(match figure.ok()? {
            Figure::Elements(elements) => Self { value: Some(Wide(elements.get())), formula: None },
            Figure::Bytes(bytes) => Self { value: Some(Wide(bytes.get())), formula: None },
            Figure::Formula(formula) => Self { value: None, formula: Some(formula.to_string()) },
        })
    }
}
