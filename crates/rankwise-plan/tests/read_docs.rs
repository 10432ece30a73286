//! Every plan that `docs/plan-format.md` shows is one.

use rankwise_model::{Dtype, Reduction};
use rankwise_plan::error::Fault;
use rankwise_plan::file::Format;
use rankwise_plan::limits;
use rankwise_plan::plan::Plan;
use rankwise_plan::read::NoArrays;

const PAGE: &str = include_str!("../../../docs/plan-format.md");

/// The text of each fenced block in that language.
fn blocks<'p>(language: &str) -> Vec<&'p str> {
    let opening = format!("```{language}\n");
    PAGE.split(opening.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn every_plan_of_the_page_is_read() {
    let blocks = blocks("toml");
    let (mut plans, mut continued) = (0, 0);
    let mut before = "";
    for block in blocks {
        let whole;
        let text = if block.starts_with("format = 1\n") {
            (before, plans) = (block, plans + 1);
            block
        } else {
            continued += 1;
            whole = format!("{before}\n{block}");
            whole.as_str()
        };
        let read = Plan::read(text, Format::Toml, &mut NoArrays);
        assert!(read.is_ok(), "{}\n{text}", read.unwrap_err());
    }
    assert_eq!((plans, continued), (9, 1));
}

#[test]
fn the_error_of_the_page_is_what_is_said() {
    let [shown] = blocks("text")[..] else { panic!("one text block") };
    let plan = blocks("toml")[0].replace("\"sum\"", "\"add\"");
    let error = Plan::read(&plan, Format::Toml, &mut NoArrays).unwrap_err();
    assert_eq!(format!("{error}\n"), shown);
}

#[test]
fn the_page_names_every_type_reduction_and_kind_of_error() {
    let names = Dtype::ALL.map(Dtype::name).into_iter().chain(Reduction::ALL.map(Reduction::name));
    let kinds = [
        Fault::Syntax,
        Fault::UnknownKey,
        Fault::Missing,
        Fault::Value,
        Fault::UnknownName,
        Fault::Contradiction,
        Fault::Overflow,
        Fault::Limit,
        Fault::Array,
    ];
    for name in names.chain(kinds.map(Fault::name)) {
        assert!(PAGE.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn the_limits_of_the_page_are_the_limits() {
    let rows = [
        ("ranks of the group | 2^20", limits::RANKS, 1 << 20),
        ("all inputs together | 2^24", limits::LITERAL_ELEMENTS, 1 << 24),
        ("all proposals together | 10^6", limits::STEPS, 1_000_000),
        ("a proposal times ranks | 2^26", limits::RANK_STEPS, 1 << 26),
        ("in one evaluation | 2^24", limits::PIECES, 1 << 24),
        ("an input to one value | 512", u64::from(limits::TERM_DEPTH), 512),
        ("buffers of one step | 2^20", limits::ARGUMENTS, 1 << 20),
        ("`holds` inside one another | 64", limits::HOLDS_DEPTH as u64, 64),
        ("arrays inside one another | 32", limits::TREE_DEPTH as u64, 32),
        ("characters of a name | 256", limits::NAME_CHARACTERS as u64, 256),
        ("bytes of the text | 2^30", limits::TEXT_BYTES as u64, 1 << 30),
    ];
    for (row, limit, number) in rows {
        assert!(PAGE.contains(row), "{row}");
        assert_eq!(limit, number, "{row}");
    }
}
