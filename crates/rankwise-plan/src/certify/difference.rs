//! Differences: where to look, and the input for which two values differ.

use alloc::collections::BTreeSet;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::ops::Range;

use rankwise_model::Dtype;
use rankwise_topology::WorldRank;
use serde_json::{Value, json};

use super::job::Needed;
use super::values::origin;
use super::{Leaves, NoCertificate, put};
use crate::compare::Difference;
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
    terms: &Terms,
) -> Told {
    let lost = || NoCertificate::not_expressed("a need that is not satisfied nowhere");
    let rank = rank.ok_or_else(lost)?;
    let wanted = needed.of(rank).ok_or_else(lost)?;
    let held = side.proposal.held(&side.evaluation.after, rank, &needed.buffer);
    let place = json!({ "rank": rank.index(), "buffer": needed.buffer });
    let from = needed.positions.as_ref().map_or(0, |positions| positions.start);
    let Some(held) = held else { return Ok(at_position(place, from)) };
    let is_long = match &needed.positions {
        None => held.count() == wanted.count(),
        Some(positions) => held.count() >= positions.end,
    };
    if held.dtype() != wanted.dtype() || !is_long {
        return Ok((Sense::Exact, place));
    }
    let part = held.slice(from..from.saturating_add(wanted.count())).ok_or_else(lost)?;
    for (positions, contents) in side_by_side(&[&part, wanted]) {
        let position = positions.start.saturating_add(from);
        match contents.as_slice() {
            [Content::Gap(_), Content::Term(_)] => return Ok(at_position(place, position)),
            [Content::Term(one), Content::Term(other)] if !alike(terms, *one, *other) => {
                if let Some(told) = differ(&place, position, [*one, *other], terms) {
                    return Ok(told);
                }
            }
            _ => {}
        }
    }
    Err(NoCertificate::not_expressed("no input was found for which the values differ"))
}

/// Two states that differ: nothing is told if it is their places that do.
pub(super) fn state_difference(
    evidence: Option<&Difference>,
    sides: &[Leaves<'_>; 2],
    terms: &Terms,
) -> Result<(Sense, Option<Value>), NoCertificate> {
    let lost = || NoCertificate::not_expressed("a difference that is nowhere");
    let [left, right] = sides;
    let (ranks, buffer, positions) = match evidence.ok_or_else(lost)? {
        Difference::Places { .. } => return Ok((Sense::Exact, None)),
        Difference::Values { ranks, buffer, positions, .. } => (ranks, buffer, positions),
    };
    let rank = ranks.first().ok_or_else(lost)?;
    let place = json!({ "rank": rank.index(), "buffer": buffer });
    let position = positions.start;
    let held = [(left, 0), (right, 1)].map(|(side, which): (&Leaves<'_>, usize)| {
        let rank = ranks.get(which)?;
        at(side.proposal.held(&side.evaluation.after, *rank, buffer)?, position)
    });
    let (sense, told) = match held {
        [Some(Content::Term(one)), Some(Content::Term(other))] => {
            differ(&place, position, [one, other], terms).ok_or_else(|| {
                let why = "no input was found for which the values differ";
                NoCertificate::not_expressed(why)
            })?
        }
        [Some(Content::Term(_)), _] | [_, Some(Content::Term(_))] => at_position(place, position),
        _ => return Err(lost()),
    };
    Ok((sense, Some(told)))
}

/// Two terms that a witness tells apart; `None` where none is found.
fn differ(
    place: &Value,
    position: u64,
    [one, other]: [Placed; 2],
    terms: &Terms,
) -> Option<(Sense, Value)> {
    let witness = witness(terms, one, other)?;
    let given = witness.iter().filter_map(|(element, value)| {
        Some(json!({
            "input": terms.identity(element.input)?.name,
            "of": origin(&element.origin),
            "position": element.position.to_string(),
            "value": value.to_string(),
        }))
    });
    let given: Vec<Value> = given.collect();
    let (_, mut told) = at_position(place.clone(), position);
    put(&mut told, "witness", Some(given.into()));
    let float = has_float(terms, one.term) || has_float(terms, other.term);
    Some((if float { Sense::OverTheReals } else { Sense::Exact }, told))
}

/// A place where one side has nothing.
fn at_position(mut place: Value, position: u64) -> (Sense, Value) {
    put(&mut place, "position", Some(position.to_string().into()));
    (Sense::Exact, place)
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
