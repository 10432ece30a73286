//! Whether what the checker calls wrong is true, name by name and with its figures.
//!
//! The names of one place are read together: *unreduced* and *out of place by two* say
//! that one contribution of two positions before is where a fold should be.

use std::collections::BTreeSet;

use rankwise_oracle::decide::{Answer, Numbers};
use rankwise_oracle::kind::Kind;
use rankwise_oracle::parts::Parts;
use rankwise_oracle::ratio::Ratio;
use rankwise_oracle::step::{Collective, Fold, Step};
use rankwise_oracle::value::{Contribution, Value, Values};
use rankwise_oracle::world::World;
use rankwise_plan::need::{Evidence, NeedReport};
use rankwise_plan::vector::Gap;
use rankwise_plan::wrong::{Contributors, Owner, Wrong};

use crate::case::{Case, Need, Proposal};
use crate::judge::Tally;

/// A need that is not met on a rank, and what is said about it.
pub(crate) struct Naming<'a> {
    pub(crate) case: &'a Case,
    pub(crate) proposal: &'a Proposal,
    pub(crate) need: &'a Need,
    /// Which of the ranks of the need.
    pub(crate) at: usize,
    pub(crate) numbers: &'a mut Numbers,
}

/// What is found at a place, and what is needed there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pair {
    found: Value,
    needed: Value,
}

impl Naming<'_> {
    /// Fails with the first name that is not true.
    pub(crate) fn check(
        &mut self,
        report: &NeedReport,
        evidence: &Evidence,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let start = index(evidence.positions.start);
        let offset = self.need.positions.as_ref().map_or(0, |range| range.start);
        let length = index(evidence.positions.end - evidence.positions.start);
        let wanted = self.wanted().get(start.wrapping_sub(offset)).copied();
        if wanted.is_none() {
            return Err(format!("no position {start} is needed"));
        }
        let found = self.held().and_then(|held| held.get(start).copied().flatten());
        let mut values = self.case.values.clone();
        let pairs = match (found, wanted) {
            (Some(found), Some(needed)) => {
                read_together(&mut values, Pair { found, needed }, &evidence.wrongs)
            }
            _ => Vec::new(),
        };
        if evidence.wrongs.is_empty() {
            return Err("no name".to_owned());
        }
        for wrong in &evidence.wrongs {
            let is_true = self.is_true_of_need(wrong).or_else(|| {
                let all = &evidence.wrongs;
                let mut of = Told { case: self.case, values: &mut values, all, length };
                let told: Vec<Option<bool>> =
                    pairs.iter().map(|pair| of.is_true(wrong, *pair)).collect();
                if told.contains(&Some(true)) {
                    return Some(true);
                }
                (!told.contains(&None)).then_some(false)
            });
            match is_true {
                Some(true) => tally.count(format!("named {}", wrong.name())),
                Some(false) => {
                    return Err(format!("{wrong:?} is not true of need {}", report.need));
                }
                None => tally.count(format!("not judged: {}", wrong.name())),
            }
        }
        Ok(())
    }

    fn rank(&self) -> usize {
        self.need.on[self.at]
    }

    fn wanted(&self) -> &[Value] {
        &self.need.wanted[self.at]
    }

    fn held(&self) -> Option<&[Option<Value>]> {
        held_on(&self.proposal.left, self.rank(), &self.need.buffer)
    }

    /// What is said of the whole need, or of the rank's buffers; `None` for what is said
    /// of one value.
    fn is_true_of_need(&mut self, wrong: &Wrong) -> Option<bool> {
        let wanted = self.wanted().to_vec();
        Some(match wrong {
            Wrong::NeverWritten => self.held().is_none(),
            Wrong::NotPromised { gap } => self.gap(*gap),
            Wrong::ReadOutside { step, rank, buffer, positions, .. } => {
                let before = &self.proposal.before[self.step(*step)?];
                let held = held_on(before, index(u64::from(rank.index())), buffer)?;
                let range = index(positions.start)..index(positions.end);
                held.get(range).is_some_and(|held| held.iter().all(Option::is_none))
            }
            Wrong::ElementType { found, needed } => {
                let held = self.proposal.left.held(self.rank(), &self.need.buffer)?.kind;
                let kind = self.case.values.kind(wanted[0]);
                // A conversion on the way, with the same type in the end.
                if held == kind {
                    return None;
                }
                [found.name(), needed.name()] == [held, kind].map(Kind::word)
            }
            Wrong::Length { found, needed } => {
                let ends = self.need.positions.as_ref().map_or(wanted.len(), |range| range.end);
                let length = self.held().map(<[_]>::len);
                length == Some(index(*found)) && ends == index(*needed) && found != needed
            }
            Wrong::OtherBuffer { buffer, .. } | Wrong::Stale { buffer: Some(buffer), .. } => {
                *buffer != self.need.buffer
                    && self.holds(&self.proposal.left.clone(), buffer, &wanted)
            }
            Wrong::Overwritten { by, .. } => {
                let by = self.step(*by)?;
                let buffer = self.need.buffer.clone();
                self.proposal.steps[by].writes() == buffer
                    && self.holds(&self.proposal.before[by].clone(), &buffer, &wanted)
            }
            Wrong::Permuted { block, order } => {
                let block = index(*block);
                let places = order.as_slice().iter().map(|number| index(u64::from(*number)));
                let moved: Vec<Value> =
                    places.flat_map(|number| wanted[number * block..][..block].to_vec()).collect();
                self.is_here(self.rank(), &moved)
            }
            Wrong::Rotated { by, of } => {
                let mut turned = wanted;
                turned.rotate_left(index(*by));
                turned.len() == index(*of) && self.is_here(self.rank(), &turned)
            }
            Wrong::OwnersPermuted { ranks, owners } => {
                let pairs = ranks.as_slice().iter().zip(owners.as_slice());
                pairs.clone().any(|(rank, owner)| rank != owner)
                    && ranks.as_slice().len() == self.need.on.len()
                    && pairs.clone().all(|(rank, owner)| self.has(*rank, *owner) == Some(true))
            }
            Wrong::WrongOwner { holds, needed_at } => {
                let own = u32::try_from(self.rank()).unwrap();
                let owner = |owner: &Owner| owner.rank.index();
                (holds.is_some() || needed_at.is_some())
                    && holds.as_ref().is_none_or(|other| self.has(own, owner(other)) == Some(true))
                    && needed_at.as_ref().is_none_or(|at| self.has(owner(at), own) == Some(true))
            }
            _ => return None,
        })
    }

    /// Whether `rank` holds, where the need is, what `owner` needs there.
    fn has(&mut self, rank: u32, owner: u32) -> Option<bool> {
        let place = |rank: u32| self.need.on.iter().position(|on| u32::try_from(*on) == Ok(rank));
        let wanted = self.need.wanted[place(owner)?].clone();
        Some(self.is_here(index(u64::from(rank)), &wanted))
    }

    /// Whether a rank holds these values in the buffer of the need, where it looks.
    fn is_here(&mut self, rank: usize, wanted: &[Value]) -> bool {
        let Some(held) = held_on(&self.proposal.left, rank, &self.need.buffer) else {
            return false;
        };
        let held = match &self.need.positions {
            Some(range) => held.get(range.clone()),
            None => Some(held),
        };
        held.is_some_and(|held| self.case.all_same(held, wanted, self.numbers))
    }

    /// Whether the rank holds these values in a buffer: all of it, or where it looks.
    fn holds(&mut self, world: &World, buffer: &str, wanted: &[Value]) -> bool {
        let Some(held) = held_on(world, self.rank(), buffer) else { return false };
        let there = self.need.positions.clone().and_then(|range| held.get(range));
        self.case.all_same(held, wanted, self.numbers)
            || there.is_some_and(|there| self.case.all_same(there, wanted, self.numbers))
    }

    /// Whether a step leaves such gaps; later ones may have moved them here.
    fn gap(&self, gap: Gap) -> bool {
        let called = |step: usize| match self.proposal.steps.get(self.step(step)?)? {
            Step::Collective { collective, groups, send, recv, .. } => {
                let is_alone = groups.iter().all(|group| group.len() == 1);
                Some((*collective, send == recv)).filter(|_| !is_alone)
            }
            _ => None,
        };
        match gap {
            Gap::OnRootOnly { step } => called(step).is_some_and(|(collective, _)| {
                matches!(collective, Collective::Reduce | Collective::Gather)
            }),
            Gap::Clobbered { step } => called(step) == Some((Collective::ReduceScatter, true)),
            _ => true,
        }
    }

    /// Which of the oracle's steps a step of the plan is: a message is two of those.
    fn step(&self, number: usize) -> Option<usize> {
        let lengths = self.proposal.steps.iter().map(|step| match step {
            Step::Message { .. } => 2,
            _ => 1,
        });
        let mut end = 0;
        let mut ends = lengths.map(|length| {
            end += length;
            end
        });
        ends.position(|end| number < end)
    }
}

fn held_on<'w>(world: &'w World, rank: usize, buffer: &str) -> Option<&'w [Option<Value>]> {
    world.held(rank, buffer).map(|buffer| buffer.positions.as_slice())
}

impl Case {
    /// Whether all positions hold these values.
    fn all_same(&self, held: &[Option<Value>], wanted: &[Value], numbers: &mut Numbers) -> bool {
        held.len() == wanted.len()
            && held.iter().zip(wanted).all(|(held, wanted)| {
                held.is_some_and(|held| {
                    self.values.compare(held, *wanted, numbers) != Answer::Different
                })
            })
    }
}

/// The pair, and what remains of it when other names have been taken account of: moved
/// where it is out of place, undivided where both are divided or one should be.
fn read_together(values: &mut Values, pair: Pair, wrongs: &[Wrong]) -> Vec<Pair> {
    let mut pairs = vec![pair];
    let mut next = 0;
    while let Some(Pair { found, needed }) = pairs.get(next).copied() {
        next += 1;
        match (values.divided(found), values.divided(needed)) {
            (Some((found, _)), Some((needed, _))) => pairs.push(Pair { found, needed }),
            (None, Some((needed, _))) => pairs.push(Pair { found, needed }),
            _ => {}
        }
    }
    for wrong in wrongs {
        if let Wrong::OutOfPlace { found, needed } = wrong {
            let by = isize::try_from(i128::from(*needed) - i128::from(*found)).unwrap();
            for Pair { found, needed } in pairs.clone() {
                pairs.extend(values.moved(found, by).map(|found| Pair { found, needed }));
            }
        }
    }
    pairs
}

/// What is said of one value.
struct Told<'a> {
    case: &'a Case,
    values: &'a mut Values,
    all: &'a [Wrong],
    /// How many positions in a row it is said of.
    length: usize,
}

impl Told<'_> {
    /// `None` for a name that says nothing to check of such values.
    fn is_true(&mut self, wrong: &Wrong, pair: Pair) -> Option<bool> {
        let Pair { found, needed } = pair;
        let flat = self.values.is_flat(found) && self.values.is_flat(needed);
        let (have, want) = (self.values.parts(found), self.values.parts(needed));
        let same_parts = have.times.keys().eq(want.times.keys());
        Some(match wrong {
            Wrong::OtherInput { found: from, needed: to } => {
                let of = |value| {
                    let all = self.values.contributions(value);
                    all.into_iter().map(|one| one.input).collect::<BTreeSet<_>>()
                };
                let shown = |inputs: &BTreeSet<usize>| {
                    let names = inputs.iter().map(|input| self.case.inputs[*input].0);
                    names.map(|name| format!("{name} (of {name})")).collect::<Vec<_>>().join(", ")
                };
                let (have, want) = (of(found), of(needed));
                have.is_disjoint(&want)
                    && (shown(&have), shown(&want)) == (from.clone(), to.clone())
            }
            Wrong::OtherReduction { found: from, needed: to } => {
                let word = |fold: Option<Fold>| fold.map(Fold::word);
                same_parts
                    && word(have.fold) == Some(from)
                    && word(want.fold) == Some(to)
                    && from != to
            }
            Wrong::Unreduced { found: text } if flat => {
                let one = have.only()?;
                want.times.len() > 1 && self.is_shown(text, one)
            }
            Wrong::SubGroup { found: from, needed: to } if flat => {
                let (have, want) = (self.ranks(found), self.ranks(needed));
                have != want && self.are(from, &have) && self.are(to, &want)
            }
            Wrong::OutOfPlace { found: from, needed: to } => {
                let alone = self.all.iter().filter(|other| is_of_value(other)).count() == 1;
                if from == to {
                    return Some(false);
                }
                let by = isize::try_from(i128::from(*to) - i128::from(*from)).unwrap();
                if alone {
                    return Some(self.values.moved(found, by) == Some(needed));
                }
                let places = |value| -> BTreeSet<(usize, usize)> {
                    let all = self.values.contributions(value);
                    all.iter().map(|one| (one.input, one.position)).collect()
                };
                let moved = places(found)
                    .into_iter()
                    .map(|(input, position)| (input, position.wrapping_add_signed(by)));
                moved.collect::<BTreeSet<_>>() == places(needed)
            }
            Wrong::OtherOrigin { found: from, needed: to } => {
                let of = |parts: &Parts| match parts.times.iter().next() {
                    Some((part, times)) if parts.times.len() == 1 => {
                        Some((self.origin(self.values.as_contribution(*part)?), *times))
                    }
                    _ => None,
                };
                let (Some((have, times)), Some((want, often))) = (of(&have), of(&want)) else {
                    return Some(false);
                };
                (&have, &want) == (from, to) && from != to && times == often
            }
            _ => return self.is_factor(wrong, pair).or_else(|| self.is_count(wrong, pair)),
        })
    }

    /// What is said of the factor between the two.
    fn is_factor(&mut self, wrong: &Wrong, Pair { found, needed }: Pair) -> Option<bool> {
        Some(match wrong {
            Wrong::NotAveraged { over } => {
                let over = Ratio::whole(i128::from(*over));
                self.values.divided(needed).map(|(_, by)| Ratio::whole(by as i128)) == Some(over)
                    || self.is_times(found, needed, over, Ratio::ONE)
            }
            Wrong::Averaged { over } => {
                let over = Ratio::whole(i128::from(*over));
                self.is_times(found, needed, Ratio::ONE, over) || self.is_mean(found, needed, over)
            }
            Wrong::DividedTwice { by: [first, second], needed: once } => {
                let twice = Ratio::whole(i128::from(first * second));
                let once = Ratio::whole(i128::from(*once));
                self.is_times(found, needed, once, twice) || {
                    let inner = self.values.divided(found).and_then(|(inner, by)| {
                        let (sum, again) = self.values.divided(inner)?;
                        ([again, by] == [index(*first), index(*second)]).then_some(sum)
                    });
                    inner.is_some_and(|sum| sum == needed || self.is_mean(needed, sum, once))
                }
            }
            Wrong::Divisor { found: by, needed: once, .. } => {
                let [by, once] = [*by, *once].map(|by| Ratio::whole(i128::from(by)));
                self.is_times(found, needed, once, by) || {
                    let divisor =
                        |value| self.values.divided(value).map(|(_, by)| Ratio::whole(by as i128));
                    divisor(found) == Some(by) && divisor(needed) == Some(once)
                }
            }
            Wrong::Repeated { times } => {
                let times = ratio(times)?;
                times.under() == 1
                    && times.over() > 1
                    && self.is_times(found, needed, times, Ratio::ONE)
            }
            Wrong::Scaled { by } => {
                let by = ratio(by)?;
                let (over, under) = (Ratio::whole(by.over()), Ratio::whole(by.under()));
                self.is_times(found, needed, over, under)
            }
            _ => return None,
        })
    }

    /// What is said of how often a part counts.
    fn is_count(&self, wrong: &Wrong, Pair { found, needed }: Pair) -> Option<bool> {
        let (have, want) = (self.values.parts(found), self.values.parts(needed));
        if !self.values.is_flat(found) || !self.values.is_flat(needed) {
            return None;
        }
        Some(match wrong {
            Wrong::RepeatedPart { part, times, needed: once }
            | Wrong::ScaledPart { part, times, needed: once } => {
                let (times, once) = (ratio(times)?, ratio(once)?);
                have.times.iter().any(|(one, often)| {
                    let wanted = want.times.get(one);
                    self.is_shown(part, *one)
                        && self.is_often(*one, *often, times)
                        && wanted.is_some_and(|wanted| {
                            self.is_often(*one, *wanted, once) && wanted != often
                        })
                })
            }
            Wrong::Missing { part } => {
                let (times, part) = multiple(part)?;
                want.times.iter().any(|(one, often)| {
                    !have.times.contains_key(one)
                        && self.is_shown(part, *one)
                        && self.is_often(*one, *often, times)
                })
            }
            Wrong::Extra { part } => {
                let (times, part) = multiple(part)?;
                have.times.iter().any(|(one, often)| {
                    !want.times.contains_key(one)
                        && self.is_shown(part, *one)
                        && self.is_often(*one, *often, times)
                })
            }
            _ => return None,
        })
    }

    /// Whether `under · found` is `over · needed`, or, over other contributions, whether
    /// one is as often in the one as in the other.
    fn is_times(&mut self, found: Value, needed: Value, over: Ratio, under: Ratio) -> bool {
        if self.values.scaled(found, under) == self.values.scaled(needed, over) {
            return true;
        }
        if !self.all.iter().any(|wrong| matches!(wrong, Wrong::SubGroup { .. })) {
            return false;
        }
        let evenly = |value| {
            let mut all = self.values.parts(value).times.into_iter();
            let (part, first) = all.next()?;
            all.all(|(_, other)| other == first).then_some((part, first))
        };
        let (Some((part, found)), Some((_, needed))) = (evenly(found), evenly(needed)) else {
            return false;
        };
        let both = found.times(under).zip(needed.times(over));
        both.is_some_and(|(found, needed)| self.is_often(part, found, needed))
    }

    /// Whether a value is another one divided, truncating.
    fn is_mean(&self, value: Value, of: Value, over: Ratio) -> bool {
        self.values
            .divided(value)
            .is_some_and(|(inner, by)| inner == of && Ratio::whole(by as i128) == over)
    }

    /// Whether a multiplicity that is told is the true one: of integers modulo 2^w.
    fn is_often(&self, part: Value, often: Ratio, told: Ratio) -> bool {
        let kind = self.values.kind(part);
        often == told
            || (!kind.is_float()
                && told.under() == 1
                && kind.wrapped(often.over()) == kind.wrapped(told.over()))
    }

    fn ranks(&self, value: Value) -> BTreeSet<usize> {
        self.values.contributions(value).iter().map(|one| one.rank).collect()
    }

    /// Whether these are the ranks that are told, and the group that they are said to be.
    fn are(&self, told: &Contributors, ranks: &BTreeSet<usize>) -> bool {
        let listed = told.ranks.iter().map(|rank| index(u64::from(rank.index())));
        let is_group = |name: &String| match self.case.partitions.iter().find(|partition| {
            partition.name.as_ref().is_some_and(|own| format!("`{own}`") == *name)
        }) {
            Some(partition) => partition
                .lists
                .iter()
                .any(|list| list.iter().copied().collect::<BTreeSet<_>>() == *ranks),
            None => name != "the world" || ranks.len() == self.case.n,
        };
        listed.collect::<BTreeSet<_>>() == *ranks && told.group.as_ref().is_none_or(is_group)
    }

    fn origin(&self, one: Contribution) -> String {
        if self.case.devices { format!("D{}", one.rank) } else { format!("rank{}", one.rank) }
    }

    /// Whether a contribution is written so.
    fn is_shown(&self, text: &str, part: Value) -> bool {
        self.values.as_contribution(part).is_some_and(|one| {
            let (name, ..) = self.case.inputs[one.input];
            let (from, to) = (one.position, one.position + self.length);
            let positions =
                if self.length == 1 { from.to_string() } else { format!("{from}..{to}") };
            text == format!("{name}@{}[{positions}]", self.origin(one))
        })
    }
}

/// Whether a name is about one value, and not about the need or the steps.
fn is_of_value(wrong: &Wrong) -> bool {
    !matches!(
        wrong,
        Wrong::Length { .. }
            | Wrong::Permuted { .. }
            | Wrong::Rotated { .. }
            | Wrong::OwnersPermuted { .. }
            | Wrong::WrongOwner { .. }
            | Wrong::Stale { .. }
            | Wrong::Overwritten { .. }
            | Wrong::OtherBuffer { .. }
    )
}

/// `3`, `-1/2`.
fn ratio(text: &str) -> Option<Ratio> {
    let (over, under) = text.split_once('/').unwrap_or((text, "1"));
    Ratio::new(over.parse().ok()?, under.parse().ok()?)
}

/// `3·x`, `-x`, `x`.
fn multiple(text: &str) -> Option<(Ratio, &str)> {
    if let Some((times, part)) = text.split_once('·') {
        return Some((ratio(times)?, part));
    }
    Some(match text.strip_prefix('-') {
        Some(part) => (Ratio::whole(-1), part),
        None => (Ratio::ONE, text),
    })
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap()
}
