//! In which sense a verdict holds, and what bits hinge on.

use rankwise_plan::sense::{Ground, Grounds, Sense};
use schemars::JsonSchema;
use serde::Serialize;

use crate::page::Page;

/// More than this is counted, not listed.
const SHOWN: usize = 6;

/// The sense in a sentence; then what could make bits differ, or why nothing can.
pub(crate) fn compose(page: &mut Page, sense: Sense, grounds: &Grounds) {
    page.item("  sense: ", &format!("{sense}: {}", sense.promise()));
    let hinges: Vec<&Ground> = grounds.hinges().collect();
    let listed: Vec<&Ground> = if hinges.is_empty() {
        grounds.reasons().collect()
    } else {
        page.say("    bits hinge on:");
        hinges
    };
    for ground in listed.iter().take(SHOWN) {
        page.item("    - ", &ground.to_string());
    }
    let more = listed.len().saturating_sub(SHOWN);
    if more > 0 {
        page.say(&format!("    … and {more} more (--json has them all)"));
    }
}

/// One ground for machines.
#[derive(Serialize, JsonSchema)]
pub(crate) struct GroundData {
    kind: &'static str,
    /// Whether bits may differ by it.
    hinge: bool,
    text: String,
}

pub(crate) fn data(grounds: &Grounds) -> Vec<GroundData> {
    let one = |ground: &Ground| GroundData {
        kind: ground.name(),
        hinge: ground.is_hinge(),
        text: ground.to_string(),
    };
    grounds.reasons().chain(grounds.hinges()).map(one).collect()
}
