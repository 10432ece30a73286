//! What permutations of the devices do, on a page.

use rankwise_plan::explore::{Counted, Exchange, Extent, Harm, Permuted};
use rankwise_plan::need::{Answer, NeedReport, NeedsAnswer};

use super::{Explored, broken_needs};
use crate::exit::Exit;
use crate::held::range;
use crate::needs;
use crate::page::Page;
use crate::repairs;
use crate::steps;
use crate::table::Table;

impl Explored<'_> {
    pub(super) fn compose(&self, page: &mut Page) {
        page.heading(&format!("proposal {}", self.proposal.name));
        let found = &self.found;
        if let Some((permutation, permuted)) = &self.asked {
            let cycles = self.cycles(permutation);
            let said = match permuted.harm() {
                Harm::None if permuted.answer == NeedsAnswer::NotSatisfied => {
                    format!("{cycles} is harmless, but not every need is met after it")
                }
                Harm::None => format!("{cycles} is harmless"),
                Harm::Undecided => format!("{cycles} is not known to be harmless"),
                Harm::Breaks => format!("{cycles} breaks {}", broken(permuted)),
            };
            page.verdict(self.exit(), &said);
            evidence(page, permuted);
        }
        let all = found.all();
        let whole = found.harmless.number == all;
        let text = format!(
            "harmless: {} of {} permutations of the devices",
            count(&found.harmless),
            shown(&all.to_string()),
        );
        let exit = if self.asked.is_some() { Exit::Yes } else { self.exit() };
        page.verdict(exit, &text);
        if self.plan.needs.is_empty() {
            page.say("no need is stated: nothing says whether any of them matters");
            return;
        }
        let own: Vec<String> = found
            .needs
            .needs
            .iter()
            .filter(|need| need.answer != Answer::Yes)
            .map(|need| format!("need {} {}", need.need, needs::answer_word(need.answer)))
            .collect();
        if !own.is_empty() {
            page.item(
                "- ",
                &format!(
                    "under the plan's own map: {}; what is not satisfied before asks nothing \
                     of a permutation",
                    own.join(", ")
                ),
            );
        }
        if found.undecided.number.bits() > 0 {
            let undecided = count(&found.undecided);
            page.item("- ", &format!("{undecided} more are not known to be harmless or to break"));
        }
        self.group(page, whole);
        if self.asked.is_none() {
            self.table(page);
        }
        if let Some(repairs) = &self.repairs {
            repairs::compose(page, self.broken_plan(), repairs);
        }
    }

    /// The symmetry group, and how the harmless permutations lie to it.
    fn group(&self, page: &mut Page, whole: bool) {
        let found = &self.found;
        let order = count(&found.symmetry.order);
        let generators = &found.symmetry.generators;
        let made = if generators.is_empty() {
            "only the identity".to_owned()
        } else {
            let shown: Vec<String> = generators
                .iter()
                .take(8)
                .map(|one| self.cycles(one))
                .map(|text| cut(&text))
                .collect();
            let more = generators.len().saturating_sub(shown.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("made by {}{more}", shown.join(", "))
        };
        let text = match found.cosets().map(|cosets| cosets.to_string()) {
            Some(one) if one == "1" && whole => {
                format!("the symmetry group is all of them: {made}")
            }
            Some(one) if one == "1" => format!("they are the symmetry group, {made}"),
            Some(cosets) => format!(
                "they are no group, but {} cosets of the {order} that change nothing about what \
                 is harmless: {made}",
                shown(&cosets)
            ),
            None => format!("of which {order} change nothing about what is harmless: {made}"),
        };
        page.item("- ", &text);
        if !generators.is_empty() {
            page.item(
                "- ",
                "(A B C) puts the rank that is on A on B, that on B on C, that on C on A",
            );
        }
    }

    /// Which exchange breaks what.
    fn table(&self, page: &mut Page) {
        const SHOWN: usize = 16;
        let harms = |exchange: &Exchange| exchange.permuted.harm() != Harm::None;
        if self.kinds_left == 0 && !self.exchanges.iter().any(harms) {
            page.item("- ", "no exchange of two devices breaks anything");
            return;
        }
        page.gap();
        let mut table =
            Table::new(&["exchange", ">pairs alike", "effect", "first", "found", "needed"]);
        // What breaks comes first.
        let mut sorted: Vec<&Exchange> = self.exchanges.iter().collect();
        sorted.sort_by_key(|exchange| core::cmp::Reverse(exchange.permuted.harm()));
        for exchange in sorted.iter().take(SHOWN) {
            let [one, other] = exchange.pair.map(|place| self.name(place));
            let effect = match exchange.permuted.harm() {
                Harm::None => "harmless".to_owned(),
                Harm::Undecided => "not known".to_owned(),
                Harm::Breaks => format!("breaks {}", broken(&exchange.permuted)),
            };
            let first = first_place(&exchange.permuted).and_then(|need| need.evidence.as_ref());
            let place = first.map(|evidence| {
                let device = evidence.device.as_deref().unwrap_or("-");
                format!(
                    "{} on {device}, rank {}, {}",
                    evidence.buffer,
                    evidence.rank,
                    range(&evidence.positions)
                )
            });
            table.row([
                format!("({one} {other})"),
                exchange.alike.to_string(),
                effect,
                place.unwrap_or_default(),
                first.map(|evidence| cut(&evidence.found)).unwrap_or_default(),
                first.map(|evidence| cut(&evidence.needed)).unwrap_or_default(),
            ]);
        }
        page.table(&table);
        let more = sorted.len().saturating_sub(SHOWN).saturating_add(self.kinds_left);
        if more > 0 {
            page.say(&format!("  … and {more} more kinds of pairs"));
        }
        let mut broken: Vec<usize> =
            self.exchanges.iter().flat_map(|exchange| broken_needs(&exchange.permuted)).collect();
        broken.sort_unstable();
        broken.dedup();
        for need in broken.into_iter().take(SHOWN) {
            let Some(stated) = self.plan.needs.get(need) else { continue };
            let text = format!(
                "on {}, buffer {} holds {}",
                steps::on(&stated.on),
                stated.buffer,
                stated.holds_text
            );
            page.item(&format!("  need {need}: "), &text);
        }
    }
}

/// The first place of each need that is broken.
fn evidence(page: &mut Page, permuted: &Permuted) {
    match &permuted.after {
        Ok(after) => {
            for need in &after.needs {
                if broken_needs(permuted).contains(&need.need) {
                    needs::evidence(page, &permuted.plan, need);
                }
            }
        }
        Err(error) => page.item("- ", &format!("the plan contradicts itself then: {error}")),
    }
}

/// The same in words.
fn broken(permuted: &Permuted) -> String {
    let needs: Vec<String> = broken_needs(permuted).iter().map(ToString::to_string).collect();
    match needs.as_slice() {
        [] => "the plan itself".into(),
        [one] => format!("need {one}"),
        several => format!("needs {}", several.join(", ")),
    }
}

/// The first need that is broken.
fn first_place(permuted: &Permuted) -> Option<&NeedReport> {
    let first = *broken_needs(permuted).first()?;
    permuted.after.as_ref().ok()?.needs.iter().find(|need| need.need == first)
}

/// A count as people read it.
fn count(counted: &Counted) -> String {
    let number = shown(&counted.number.to_string());
    match counted.extent {
        Extent::Exact => number,
        Extent::AtLeast => format!("at least {number} (not known to be all)"),
    }
}

/// A number of many digits, shortened: `1.27e89`.
fn shown(digits: &str) -> String {
    const READABLE: usize = 21;
    if digits.len() <= READABLE {
        return digits.to_owned();
    }
    let (first, rest) = digits.split_at(1);
    let rest: String = rest.chars().take(2).collect();
    format!("about {first}.{rest}e{}", digits.len().saturating_sub(1))
}

/// A text that fits a line.
fn cut(text: &str) -> String {
    const FITS: usize = 60;
    if text.chars().count() <= FITS {
        return text.to_owned();
    }
    text.chars().take(FITS).chain(['…']).collect()
}
