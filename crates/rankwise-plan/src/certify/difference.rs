//! Differences, each with what shows it: a witness, a length, a type, a lack.

use alloc::collections::BTreeSet;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::ops::Range;

use rankwise_model::Dtype;
use rankwise_topology::WorldRank;
use serde_json::{Value, json};

use super::job::Needed;
use super::values::{Values, origin};
use super::{Leaves, NoCertificate, put};
use crate::compare::{Difference, Places, places_of};
use crate::plan::Plan;
use crate::sense::Sense;
use crate::term::{Placed, Term, TermId, Terms};
use crate::vector::{Content, Vector, side_by_side};
use crate::witness::witness;

/// What is told of a difference, and in which sense the values differ.
type Told = Result<(Sense, Value), NoCertificate>;

/// A need that a rank does not find satisfied.
pub(super) fn needed_difference(
    needed: &Needed,
    rank: Option<WorldRank>,
    side: &Leaves<'_>,
    values: &mut Values<'_>,
) -> Told {
    let lost = || NoCertificate::not_expressed("a need that is not satisfied nowhere");
    let rank = rank.ok_or_else(lost)?;
    let wanted = needed.of(rank).ok_or_else(lost)?;
    let held = side.proposal.held(&side.evaluation.after, rank, &needed.buffer);
    let place = place(side.plan, &[rank], &needed.buffer);
    let from = needed.positions.as_ref().map_or(0, |positions| positions.start);
    let Some(held) = held else {
        let Some(Content::Term(term)) = at(wanted, 0) else { return Err(lost()) };
        return nothing(&place, from, 0, term, values);
    };
    if held.dtype() != wanted.dtype() {
        let types = [held.dtype().name(), wanted.dtype().name()];
        return Ok((Sense::Exact, json!({ "type": { "place": place, "types": types } })));
    }
    let (found, end) = match &needed.positions {
        None => (held.count(), wanted.count()),
        Some(positions) => (held.count(), positions.end),
    };
    if found < end || (needed.positions.is_none() && found != end) {
        let lengths = [found.to_string(), end.to_string()];
        return Ok((Sense::Exact, json!({ "length": { "place": place, "lengths": lengths } })));
    }
    let part = held.slice(from..from.saturating_add(wanted.count())).ok_or_else(lost)?;
    for (positions, contents) in side_by_side(&[&part, wanted]) {
        let position = positions.start.saturating_add(from);
        match contents.as_slice() {
            [Content::Gap(_), Content::Term(term)] => {
                return nothing(&place, position, 0, *term, values);
            }
            [Content::Term(one), Content::Term(other)] if !alike(values.terms, *one, *other) => {
                if let Some(told) = differ(&place, position, [*one, *other], values) {
                    return told;
                }
            }
            _ => {}
        }
    }
    Err(NoCertificate::not_expressed("no input was found for which the values differ"))
}

/// Two states that differ.
pub(super) fn state_difference(
    evidence: Option<&Difference>,
    sides: &[Leaves<'_>; 2],
    values: &mut Values<'_>,
) -> Told {
    let lost = || NoCertificate::not_expressed("a difference that is nowhere");
    let [left, right] = sides;
    let (ranks, buffer, positions) = match evidence.ok_or_else(lost)? {
        Difference::Places { .. } => return other_places(left.plan, right.plan),
        Difference::Values { ranks, buffer, positions, .. } => (ranks, buffer, positions),
    };
    let place = place(left.plan, ranks, buffer);
    let position = positions.start;
    let held = [(left, 0), (right, 1)].map(|(side, which): (&Leaves<'_>, usize)| {
        let rank = ranks.get(which)?;
        at(side.proposal.held(&side.evaluation.after, *rank, buffer)?, position)
    });
    match held {
        [Some(Content::Term(one)), Some(Content::Term(other))] => {
            differ(&place, position, [one, other], values).unwrap_or_else(|| {
                let why = "no input was found for which the values differ";
                Err(NoCertificate::not_expressed(why))
            })
        }
        [Some(Content::Term(term)), _] => nothing(&place, position, 1, term, values),
        [_, Some(Content::Term(term))] => nothing(&place, position, 0, term, values),
        _ => Err(lost()),
    }
}

/// Two terms that a witness tells apart; `None` where none is found.
fn differ(
    place: &Value,
    position: u64,
    terms: [Placed; 2],
    values: &mut Values<'_>,
) -> Option<Told> {
    let all = values.terms;
    let [one, other] = terms;
    let witness = witness(all, one, other)?;
    let mut written = || -> Told {
        let given = witness.given.iter().filter_map(|(element, value)| {
            Some(json!({
                "input": all.identity(element.input)?.name,
                "of": origin(&element.origin),
                "position": element.position.to_string(),
                "value": value.to_string(),
            }))
        });
        let difference = json!({ "values": {
            "place": place,
            "position": position.to_string(),
            "terms": [values.placed(one)?, values.placed(other)?],
            "witness": given.collect::<Vec<_>>(),
            "values": witness.values.each_ref().map(ToString::to_string),
        }});
        let float = has_float(all, one.term) || has_float(all, other.term);
        let sense = if float { Sense::OverTheReals } else { Sense::Exact };
        Ok((sense, difference))
    };
    Some(written())
}

fn nothing(
    place: &Value,
    position: u64,
    which: u32,
    term: Placed,
    values: &mut Values<'_>,
) -> Told {
    let term = values.placed(term)?;
    let position = position.to_string();
    let nothing = json!({ "place": place, "position": position, "which": which, "term": term });
    Ok((Sense::Exact, json!({ "nothing": nothing })))
}

/// A place that only one of two plans has.
fn other_places(left: &Plan, right: &Plan) -> Told {
    let sides = [places_of(left), places_of(right)];
    let [first, second] = &sides;
    let only = |some: &Places, others: &Places| {
        some.keys().find(|place| !others.contains_key(*place)).cloned()
    };
    let found = only(first, second).map(|place| (0, place));
    let found = found.or_else(|| only(second, first).map(|place| (1, place)));
    let Some((which, (device, nth))) = found else {
        return Err(NoCertificate::not_expressed("places that are the same"));
    };
    let plan = if which == 0 { left } else { right };
    let place = match &plan.map {
        Some(_) => json!({ "device": device }),
        // Without devices, ranks are the places: the higher ones are those of the larger.
        None => {
            let rank = left.world.get().min(right.world.get());
            json!({ "rank": rank })
        }
    };
    let (which, nth) = match plan.map {
        Some(_) => (which, nth),
        None => (usize::from(right.world > left.world), 0),
    };
    let places = json!({ "which": which, "place": place, "nth": nth });
    Ok((Sense::Exact, json!({ "places": places })))
}

fn place(plan: &Plan, ranks: &[WorldRank], buffer: &str) -> Value {
    let indices: Vec<u32> = ranks.iter().map(|rank| rank.index()).collect();
    let mut place = json!({ "ranks": indices, "buffer": buffer });
    let device = ranks.first().and_then(|rank| plan.device_of(*rank));
    put(&mut place, "device", device.map(Value::from));
    place
}

fn at(vector: &Vector, position: u64) -> Option<Content> {
    let only: Range<u64> = position..position.saturating_add(1);
    vector.within(only).next().map(|run| run.content)
}

/// Whether a float is anywhere in a term.
fn has_float(terms: &Terms, term: TermId) -> bool {
    let mut seen = BTreeSet::new();
    let mut next = alloc::vec![term];
    while let Some(term) = next.pop() {
        if terms.dtype(term).is_none_or(Dtype::is_float) {
            return true;
        }
        if seen.insert(term) {
            next.extend(terms.get(term).into_iter().flat_map(Term::parts));
        }
    }
    false
}

fn alike(terms: &Terms, one: Placed, other: Placed) -> bool {
    let forms = terms.forms();
    forms.of(one).is_some() && forms.of(one) == forms.of(other)
}
