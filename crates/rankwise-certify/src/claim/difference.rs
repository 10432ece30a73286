//! A difference: the place where it is said to be, looked at.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;

use super::written::Table;
use crate::evaluate::Witness;
use crate::execute::{Inputs, Left};
use crate::format::{
    Difference, Given, InputsAgree, Job, Lengths, Need, Nothing, Origin, Place, Places, Side,
    Types, Values,
};
use crate::number::parse;
use crate::rejected::Rejected;
use crate::sense::Sense;
use crate::term::{Placed, Terms};
use crate::vector::{Content, Vector};

/// What a difference is looked up in.
pub(super) struct Found<'a> {
    pub(super) terms: &'a Terms,
    pub(super) table: &'a Table,
    pub(super) inputs: &'a Inputs<'a>,
}

/// What each rank needs, with the index of the value.
type NeededBy = BTreeMap<u32, (usize, Arc<Vector>)>;

impl Found<'_> {
    /// A need that is not satisfied: found is the first of two, needed the second.
    pub(super) fn need(
        &self,
        difference: &Difference,
        left: &Left<'_>,
        need: &Need,
        values: &NeededBy,
        place: &str,
    ) -> Result<Sense, Rejected> {
        let sense = match difference {
            Difference::Values(differ) => {
                needed(&differ.place, left, need, values).and_then(|(held, needed)| {
                    let at = differ.position.0;
                    let within = within(need, &needed, at)?;
                    self.values(differ, [content(held, at), needed.at(within)])
                })
            }
            Difference::Nothing(nothing) => {
                needed(&nothing.place, left, need, values).and_then(|(held, needed)| {
                    let at = nothing.position.0;
                    let within = within(need, &needed, at)?;
                    self.nothing(nothing, [content(held, at), needed.at(within)])
                })
            }
            Difference::Length(lengths) => needed(&lengths.place, left, need, values)
                .and_then(|(held, needed)| length(lengths, held, need, &needed)),
            Difference::Type(types) => needed(&types.place, left, need, values)
                .and_then(|(held, needed)| dtype(types, held, &needed)),
            Difference::Places(_) => Err("places, where a need is judged".into()),
        };
        sense.map_err(|why| Rejected::claim(format!("{place}.difference"), why))
    }

    /// Two states that differ.
    pub(super) fn states(
        &self,
        difference: &Difference,
        job: &Job,
        left: [&Left<'_>; 2],
    ) -> Result<Sense, Rejected> {
        let sense = match difference {
            Difference::Values(differ) => held(&differ.place, job, left).and_then(|held| {
                let at = differ.position.0;
                self.certain(job, &differ.witness)?;
                self.values(differ, held.map(|held| content(held, at)))
            }),
            Difference::Nothing(nothing) => held(&nothing.place, job, left).and_then(|held| {
                let at = nothing.position.0;
                self.nothing(nothing, held.map(|held| content(held, at)))
            }),
            Difference::Places(differ) => other_places(differ, job, left),
            Difference::Length(_) | Difference::Type(_) => {
                Err("a length or a type, where states are compared by their values".into())
            }
        };
        sense.map_err(|why| Rejected::claim("verdict.difference", why))
    }

    fn values(&self, differ: &Values, contents: [Content; 2]) -> Result<Sense, String> {
        let [Content::Term(one), Content::Term(other)] = contents else {
            return Err("a position of which nothing is known".into());
        };
        for (found, stated) in [(one, &differ.terms.0), (other, &differ.terms.1)] {
            self.is(found, self.table.placed(stated)?)?;
        }
        let mut witness = Witness {
            terms: self.terms,
            given: BTreeMap::new(),
            used: BTreeSet::new(),
            known: BTreeMap::new(),
            open: false,
            work: self.terms.left(),
        };
        for Given { input, of, position, value } in &differ.witness {
            let id = *self.inputs.get(input.as_str()).ok_or("a witness of no input")?;
            let number = parse(value).ok_or("a witness that is no exact number")?;
            let identity = self.terms.identity(id).ok_or("a witness of no input")?;
            if !identity.dtype.has(&number) {
                return Err(format!("a witness {value}, which its type does not hold"));
            }
            let held = self.terms.contribution(id, of.clone());
            if held.and_then(|held| self.terms.length(held)).is_none_or(|held| position.0 >= held) {
                return Err(format!("a witness of `{input}` of {of} where nobody has any"));
            }
            if witness.given.insert((id, of.clone(), position.0), number).is_some() {
                return Err("a witness that says something twice".into());
            }
        }
        let values = [witness.value(one)?, witness.value(other)?];
        if witness.used.len() != witness.given.len() {
            return Err("a witness of what neither value depends on".into());
        }
        let [left, right] = &values;
        if left == right {
            return Err(format!("the witness gives {left} for both"));
        }
        let stated = [&differ.values.0, &differ.values.1];
        if values.each_ref().map(ToString::to_string).each_ref() != stated {
            return Err(format!("the witness gives {left} and {right}"));
        }
        let float = [one, other].iter().any(|placed| self.terms.has_float(placed.term));
        Ok(if float { Sense::OverTheReals } else { Sense::Exact })
    }

    fn nothing(&self, nothing: &Nothing, contents: [Content; 2]) -> Result<Sense, String> {
        let ((0, [Content::Nothing, Content::Term(term)])
        | (1, [Content::Term(term), Content::Nothing])) = (nothing.which, contents)
        else {
            return Err("not nothing on one side and a value on the other".into());
        };
        self.is(term, self.table.placed(&nothing.term)?)?;
        Ok(Sense::Exact)
    }

    /// Whether a term is the one that is stated, by its normal form.
    fn is(&self, found: Placed, stated: Placed) -> Result<(), String> {
        if self.terms.normal(found) == self.terms.normal(stated) {
            return Ok(());
        }
        Err("another term than is stated".into())
    }

    /// Of two plans, only inputs that agree can show a difference: others may be equal.
    fn certain(&self, job: &Job, witness: &[Given]) -> Result<(), String> {
        let own = |given: &Given| {
            let id = self.inputs.get(given.input.as_str());
            id.and_then(|id| self.terms.identity(*id)).is_none_or(|input| input.only.is_some())
        };
        if job.inputs_agree == Some(InputsAgree::ByMeaning) && witness.iter().any(own) {
            return Err("a witness of inputs that are not known to be the same or not".into());
        }
        Ok(())
    }
}

/// What a rank holds, and what it needs.
fn needed<'h>(
    place: &Place,
    left: &'h Left<'_>,
    need: &Need,
    values: &NeededBy,
) -> Result<(Option<&'h Arc<Vector>>, Arc<Vector>), String> {
    let [rank] = place.ranks.as_slice() else { return Err("one rank".into()) };
    let needed = values.get(rank).ok_or("a rank that does not need it")?;
    if place.device.as_ref() != left.device(*rank) || place.buffer != need.buffer {
        return Err("another device than the rank's, or another buffer".into());
    }
    Ok((left.held(*rank, &need.buffer), Arc::clone(&needed.1)))
}

fn content(held: Option<&Arc<Vector>>, at: u64) -> Content {
    held.map_or(Content::Nothing, |held| held.at(at))
}

/// Where a position of a buffer is in what is needed of it.
fn within(need: &Need, needed: &Vector, at: u64) -> Result<u64, String> {
    let from = need.positions.map_or(0, |(from, _)| from.0);
    let within = at.checked_sub(from).filter(|within| *within < needed.count());
    within.ok_or_else(|| "a position that is not needed".into())
}

fn length(
    lengths: &Lengths,
    held: Option<&Arc<Vector>>,
    need: &Need,
    needed: &Vector,
) -> Result<Sense, String> {
    let held = held.ok_or("a buffer that is not there")?.count();
    let needed = need.positions.map_or(needed.count(), |(_, to)| to.0);
    let wrong = if need.positions.is_some() { held < needed } else { held != needed };
    if !wrong || (lengths.lengths.0.0, lengths.lengths.1.0) != (held, needed) {
        return Err(format!("{held} elements are there and {needed} are needed"));
    }
    Ok(Sense::Exact)
}

fn dtype(types: &Types, held: Option<&Arc<Vector>>, needed: &Vector) -> Result<Sense, String> {
    let held = held.ok_or("a buffer that is not there")?.dtype;
    if held == needed.dtype || types.types != (held, needed.dtype) {
        return Err("not those two element types".into());
    }
    Ok(Sense::Exact)
}

/// What both sides hold at one place.
fn held<'h>(
    place: &Place,
    job: &Job,
    left: [&'h Left<'_>; 2],
) -> Result<[Option<&'h Arc<Vector>>; 2], String> {
    let [one, other] = job.sides.as_slice() else { return Err("two sides".into()) };
    let [first, second] = left;
    let at = |side, left: &Left<'_>, rank: u32| {
        places(side, left).into_iter().find(|(_, of)| *of == rank).map(|(place, _)| place)
    };
    let [left, right] = *place.ranks.as_slice() else { return Err("two ranks".into()) };
    let (here, there) = (at(one, first, left), at(other, second, right));
    if here.is_none() || here != there || one.devices.is_some() != other.devices.is_some() {
        return Err("ranks that are not one place".into());
    }
    if place.device.as_ref() != first.device(left) {
        return Err("another device than the rank's".into());
    }
    if !job.surface.contains(&place.buffer) {
        return Err("a buffer that is not compared".into());
    }
    Ok([first.held(left, &place.buffer), second.held(right, &place.buffer)])
}

/// The places of a side: the `nth` rank of each device, or the ranks.
pub(super) fn places(side: &Side, left: &Left<'_>) -> BTreeMap<(Origin, u32), u32> {
    let mut ranks_on: BTreeMap<&str, u32> = BTreeMap::new();
    (0..side.ranks)
        .map(|rank| match left.device(rank) {
            None => ((Origin::Rank(rank), 0), rank),
            Some(device) => {
                let nth = ranks_on.entry(device).or_default();
                let place = (Origin::Device(device.clone()), *nth);
                *nth = nth.saturating_add(1);
                (place, rank)
            }
        })
        .collect()
}

fn other_places(differ: &Places, job: &Job, left: [&Left<'_>; 2]) -> Result<Sense, String> {
    let [one, other] = job.sides.as_slice() else { return Err("two sides".into()) };
    let [first, second] = left;
    if one.devices.is_some() != other.devices.is_some() {
        return Err("devices on one side only: the places may be the same".into());
    }
    let place = (differ.place.clone(), differ.nth);
    let has = [places(one, first), places(other, second)].map(|places| places.contains_key(&place));
    let expected = match differ.which {
        0 => [true, false],
        1 => [false, true],
        _ => return Err("the place is on one of two sides".into()),
    };
    if has != expected {
        return Err("a place that both have, or that the side does not have".into());
    }
    Ok(Sense::Exact)
}
