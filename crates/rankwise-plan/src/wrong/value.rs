//! What is wrong with one value: what it is made of, against what it should be.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use num_traits::{One, Zero};
use rankwise_model::{Combine, Dtype};
use rankwise_topology::WorldRank;

use super::scale::{divided, divisors, reciprocal, scale};
use super::{Groups, LISTED, Wrong};
use crate::form::{Form, FormId, Forms, Multiplicity, PlacedForm, nearest};
use crate::show::{fold_name, multiple};
use crate::term::{InputId, Placed, Terms};
use crate::vector::Content;

/// What wrongness is named against: the terms, and the groups that a plan names.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) terms: &'a Terms,
    pub(crate) groups: &'a Groups<'a>,
}

impl Scene<'_> {
    /// What is wrong with `found` where `needed` is needed, for `count` positions.
    pub(crate) fn wrongs(&self, found: Content, needed: Content, count: u64) -> Vec<Wrong> {
        let (found, needed) = match (found, needed) {
            (Content::Gap(gap), _) => return alloc::vec![Wrong::NotPromised { gap }],
            (Content::Term(found), Content::Term(needed)) => (found, needed),
            _ => return alloc::vec![Wrong::Different],
        };
        if let Some(wrong) = self.constant(found, needed, count) {
            return alloc::vec![wrong];
        }
        let forms = self.terms.forms();
        match (forms.of(found), forms.of(needed)) {
            (Some(have), Some(want)) => Differ { scene: *self, found, count }.name(have, want),
            _ => alloc::vec![Wrong::Different],
        }
    }

    /// A constant of the plan on one side, or another on each.
    fn constant(&self, found: Placed, needed: Placed, count: u64) -> Option<Wrong> {
        let constant = |placed: Placed| self.terms.constant_of(placed.term);
        let purpose = constant(found).map(|(_, purpose)| purpose);
        if purpose.is_none() && constant(needed).is_none() {
            return None;
        }
        let (found, needed) = (self.terms.show(found, count), self.terms.show(needed, count));
        Some(Wrong::OtherConstant { found, needed, purpose })
    }
}

struct Differ<'a> {
    scene: Scene<'a>,
    /// The term found: how it was divided is not in its form.
    found: Placed,
    count: u64,
}

/// A form as a linear combination or a set: its parts with their multiplicities.
struct Parts {
    how: Combine,
    parts: BTreeMap<PlacedForm, Multiplicity>,
}

impl Parts {
    /// Whether something is combined at all: one part once is that part, however.
    fn is_fold(&self) -> bool {
        self.parts.len() > 1 || self.parts.values().any(|times| !times.is_one())
    }
}

/// The same position of one input of several ranks, each as often as the others.
struct Even {
    input: InputId,
    at: u64,
    ranks: BTreeSet<WorldRank>,
    times: Multiplicity,
}

impl Differ<'_> {
    fn name(&self, found: PlacedForm, needed: PlacedForm) -> Vec<Wrong> {
        let forms = self.terms().forms();
        if forms.is_unknown(found.form) || forms.is_unknown(needed.form) {
            return alloc::vec![Wrong::UnnamedReduction];
        }
        if let Some(wrong) = self.other_input(found, needed) {
            return alloc::vec![wrong];
        }
        if let Some(wrong) = self.element_type(found, needed) {
            return alloc::vec![wrong];
        }
        if found.form == needed.form {
            return alloc::vec![Wrong::OutOfPlace { found: found.at, needed: needed.at }];
        }
        if let Some(wrongs) = self.truncated(found, needed) {
            return wrongs;
        }
        if let Some(wrong) = self.converted_elsewhere(found, needed) {
            return alloc::vec![wrong];
        }
        let (have, want) = (self.parts(found), self.parts(needed));
        // Once each, or as often as the other: a multiple is another matter.
        if let (Some(only_have), Some(only_want)) = (only(&have), only(&want))
            && have.parts.values().eq(want.parts.values())
            && let (Some(found), Some(needed)) = (self.origin(only_have), self.origin(only_want))
            && found != needed
        {
            let mut wrongs = alloc::vec![Wrong::OtherOrigin { found, needed }];
            wrongs.extend(out_of_place(only_have.at, only_want.at));
            return wrongs;
        }
        if let (Some(even), Some(wanted)) = (self.even(&have), self.even(&want))
            && even.input == wanted.input
            && (even.ranks.len() > 1 || even.times.is_one())
            && wanted.ranks.len() > 1
            && let Some(wrongs) = self.even_wrongs((&have, &even), (&want, &wanted))
        {
            return wrongs;
        }
        let same_parts = have.parts.keys().eq(want.parts.keys());
        if have.how != want.how && have.is_fold() && want.is_fold() {
            if same_parts {
                let (found, needed) = (fold_name(have.how), fold_name(want.how));
                return alloc::vec![Wrong::OtherReduction { found, needed }];
            }
            return alloc::vec![Wrong::Different];
        }
        // A power is no multiple.
        let powers = [&have, &want].iter().any(|parts| parts.how == Combine::Prod);
        if same_parts
            && !powers
            && let Some((found, needed)) = proportional(&have.parts, &want.parts)
        {
            return alloc::vec![self.scale(found, needed)];
        }
        if self.is_within(&have, &want) || self.is_within(&want, &have) {
            return alloc::vec![Wrong::Different];
        }
        self.part_by_part(&have.parts, &want.parts)
    }

    /// Whether a contribution that only the second adds up is further inside a part that
    /// only the first has: then it is neither missing there nor too many here.
    fn is_within(&self, one: &Parts, other: &Parts) -> bool {
        let forms = self.terms().forms();
        let only_of = |some: &'_ Parts, others: &Parts| -> Vec<FormId> {
            let own = some.parts.keys().filter(|part| !others.parts.contains_key(part));
            own.map(|part| part.form).collect()
        };
        let (mine, others) = (only_of(one, other), only_of(other, one));
        let inside = mine.into_iter().flat_map(|part| {
            let within = forms.all_within(part).into_iter();
            within.filter(move |form| *form != part)
        });
        let inside: BTreeSet<FormId> = inside.collect();
        others.iter().any(|part| {
            matches!(forms.get(*part), Some(Form::Atom { .. })) && inside.contains(part)
        })
    }

    /// Several ranks' contributions, evenly combined, against several others'.
    fn even_wrongs(
        &self,
        (have, even): (&Parts, &Even),
        (want, wanted): (&Parts, &Even),
    ) -> Option<Vec<Wrong>> {
        let groups = self.scene.groups;
        let place = out_of_place(even.at, wanted.at);
        if even.ranks.len() == 1 {
            let found = self.show(only(have)?);
            return Some(core::iter::once(Wrong::Unreduced { found }).chain(place).collect());
        }
        if have.how != want.how || even.ranks == wanted.ranks {
            return None;
        }
        let found = groups.contributors(&even.ranks);
        // Ranks that are no group are better named one by one, while they are few.
        let differing = even.ranks.symmetric_difference(&wanted.ranks).count();
        if found.group.is_none() && differing <= LISTED {
            return None;
        }
        let needed = groups.contributors(&wanted.ranks);
        let mut wrongs = alloc::vec![Wrong::SubGroup { found, needed }];
        wrongs.extend(place);
        let mean = |even: &Even| even.times == reciprocal(even.ranks.len());
        if have.how == Combine::Sum && even.times != wanted.times && !(mean(even) && mean(wanted)) {
            let is_sum = even.times.is_one();
            let should_be_divided = if is_sum && mean(wanted) {
                Wrong::NotAveraged { over: u64::try_from(wanted.ranks.len()).unwrap_or(u64::MAX) }
            } else {
                self.scale(&even.times, &wanted.times)
            };
            wrongs.push(should_be_divided);
        }
        Some(wrongs)
    }

    fn scale(&self, found: &Multiplicity, needed: &Multiplicity) -> Wrong {
        let divisors = divisors(self.terms(), self.found.term);
        scale(self.scene.groups, &divisors, found, needed)
    }

    /// Integer means, which are opaque: what is divided, and by how much.
    fn truncated(&self, found: PlacedForm, needed: PlacedForm) -> Option<Vec<Wrong>> {
        let divided_by = |placed| self.divided_by(placed);
        let groups = self.scene.groups;
        match (divided_by(found), divided_by(needed)) {
            (None, None) => None,
            (None, Some((sum, over))) if self.in_parts(found, sum).is_some() => {
                let by = self.in_parts(found, sum).into_iter().collect();
                Some(alloc::vec![Wrong::DividedInParts { by, needed: over }])
            }
            (Some((sum, by)), Some((wanted, over))) if self.in_parts(sum, wanted).is_some() => {
                let by = self.in_parts(sum, wanted).into_iter().chain([by]).collect();
                Some(alloc::vec![Wrong::DividedInParts { by, needed: over }])
            }
            // A multiple of the mean itself.
            (None, Some(_)) if self.parts(found).parts.keys().eq([&needed]) => None,
            (None, Some((sum, over))) => {
                let mut wrongs = if found == sum { Vec::new() } else { self.name(found, sum) };
                let no_sum = wrongs.iter().any(|wrong| {
                    use Wrong::{Different, OtherReduction, Unreduced};
                    matches!(wrong, Different | OtherReduction { .. } | Unreduced { .. })
                });
                if !no_sum {
                    wrongs.push(Wrong::NotAveraged { over });
                }
                Some(wrongs)
            }
            (Some((sum, over)), None) => (sum == needed).then(|| {
                let divisors = divisors(self.terms(), self.found.term);
                alloc::vec![divided(groups, &divisors, over, 1)]
            }),
            (Some((sum, by)), Some((wanted, over))) => {
                if by == over {
                    let twice = match divided_by(sum) {
                        Some((inner, again)) if inner == wanted => Some([again, by]),
                        _ => None,
                    };
                    return Some(match twice {
                        Some(by) => alloc::vec![Wrong::DividedTwice { by, needed: over }],
                        None => self.name(sum, wanted),
                    });
                }
                if sum == wanted {
                    return Some(alloc::vec![divided(groups, &[], by, over)]);
                }
                let wrongs = self.name(sum, wanted);
                let (have, want) = (self.parts(sum), self.parts(wanted));
                let own = |parts: &Parts, by| u64::try_from(parts.parts.len()) == Ok(by);
                let both_means = own(&have, by) && own(&want, over);
                let divisor = (!both_means).then(|| divided(groups, &[], by, over));
                Some(wrongs.into_iter().chain(divisor).collect())
            }
        }
    }

    /// What is divided, and by how much, if that is what it is.
    fn divided_by(&self, placed: PlacedForm) -> Option<(PlacedForm, u64)> {
        match self.terms().forms().get(placed.form)? {
            Form::Divided { form, by } => {
                Some((PlacedForm { form: *form, at: placed.at }, u64::from(*by)))
            }
            _ => None,
        }
    }

    /// By how much each part of a sum was divided, where undivided they would be `wanted`.
    fn in_parts(&self, sum: PlacedForm, wanted: PlacedForm) -> Option<u64> {
        let mut divisor = None;
        let mut undivided: BTreeMap<PlacedForm, Multiplicity> = BTreeMap::new();
        let sum = self.parts(sum);
        for (part, times) in &sum.parts {
            let (inner, by) = self.divided_by(*part)?;
            if *divisor.get_or_insert(by) != by {
                return None;
            }
            for (part, each) in self.parts(inner).parts {
                *undivided.entry(part).or_insert_with(Multiplicity::zero) += each * times;
            }
        }
        let is_sum = sum.how == Combine::Sum && sum.is_fold();
        divisor.filter(|_| is_sum && undivided == self.parts(wanted).parts)
    }

    /// The same fold, converted before it where it is needed after it, or the other way
    /// round: it was computed in another type.
    fn converted_elsewhere(&self, found: PlacedForm, needed: PlacedForm) -> Option<Wrong> {
        let forms = self.terms().forms();
        let converted = |placed: PlacedForm| match forms.get(placed.form) {
            Some(Form::Cast { form, to }) => Some((PlacedForm { form: *form, ..placed }, *to)),
            _ => None,
        };
        // The type in which the fold within `whole` is, and that of its parts in `parts`.
        let types = |whole: PlacedForm, parts: PlacedForm| {
            let (fold, to) = converted(whole)?;
            let (fold, each) = (self.parts(fold), self.parts(parts));
            let bare = each.parts.into_iter().map(|(part, times)| match converted(part) {
                Some((bare, same)) if same == to => Some((bare, times)),
                _ => None,
            });
            let bare: Option<BTreeMap<PlacedForm, Multiplicity>> = bare.collect();
            let is_it = fold.how == each.how && fold.is_fold() && bare? == fold.parts;
            is_it.then_some((self.input_type(whole.form)?, to))
        };
        if let Some((needed, found)) = types(needed, found) {
            return Some(Wrong::ElementType { found, needed });
        }
        let (found, needed) = types(found, needed)?;
        Some(Wrong::ElementType { found, needed })
    }

    /// The ranks whose contributions are combined, if all count alike.
    fn even(&self, parts: &Parts) -> Option<Even> {
        let mut all = parts.parts.iter();
        let (first, times) = all.next()?;
        let (input, rank) = self.contribution(*first)?;
        let mut ranks = BTreeSet::from([rank]);
        for (part, other) in all {
            let (of, rank) = self.contribution(*part)?;
            if (of, part.at, other) != (input, first.at, times) {
                return None;
            }
            ranks.insert(rank);
        }
        Some(Even { input, at: first.at, ranks, times: times.clone() })
    }

    fn contribution(&self, part: PlacedForm) -> Option<(InputId, WorldRank)> {
        match self.terms().forms().get(part.form)? {
            Form::Atom { input, origin } => Some((*input, self.scene.groups.rank(origin)?)),
            _ => None,
        }
    }

    fn terms(&self) -> &Terms {
        self.scene.terms
    }

    fn part_by_part(
        &self,
        have: &BTreeMap<PlacedForm, Multiplicity>,
        want: &BTreeMap<PlacedForm, Multiplicity>,
    ) -> Vec<Wrong> {
        let zero = Multiplicity::zero();
        let all: BTreeSet<PlacedForm> = have.keys().chain(want.keys()).copied().collect();
        let mut wrongs = Vec::new();
        for part in all {
            let (times, needed) =
                (have.get(&part).unwrap_or(&zero), want.get(&part).unwrap_or(&zero));
            if times == needed {
                continue;
            }
            let text = self.show(part);
            let shown = |times: &Multiplicity| match self.terms().forms().get(part.form) {
                Some(Form::One(dtype)) => nearest(*dtype, times).map(|value| value.to_string()),
                _ => None,
            };
            let multiple = |times| shown(times).unwrap_or_else(|| multiple(times, &text));
            wrongs.push(if times.is_zero() {
                Wrong::Missing { part: multiple(needed) }
            } else if needed.is_zero() {
                Wrong::Extra { part: multiple(times) }
            } else {
                let is_repeated = times > needed && times.is_integer() && needed.is_integer();
                let (part, times, needed) = (text, times.to_string(), needed.to_string());
                if is_repeated {
                    Wrong::RepeatedPart { part, times, needed }
                } else {
                    Wrong::ScaledPart { part, times, needed }
                }
            });
        }
        let more = wrongs.len().saturating_sub(LISTED);
        if more > 1 {
            wrongs.truncate(LISTED);
            wrongs.push(Wrong::AndMore { contributions: more });
        }
        wrongs
    }

    fn parts(&self, placed: PlacedForm) -> Parts {
        let forms = self.terms().forms();
        let shift = |part: &PlacedForm| forms.shifted(*part, placed.at);
        match forms.get(placed.form) {
            Some(Form::Sum { parts, .. }) => Parts {
                how: Combine::Sum,
                parts: parts.iter().map(|(part, times)| (shift(&part), times.clone())).collect(),
            },
            Some(Form::Prod(parts)) => Parts {
                how: Combine::Prod,
                parts: parts
                    .iter()
                    .map(|(part, power)| {
                        (shift(part), Multiplicity::from_integer(power.clone().into()))
                    })
                    .collect(),
            },
            Some(Form::Extreme { how, parts }) => Parts {
                how: *how,
                parts: parts.iter().map(|part| (shift(part), Multiplicity::one())).collect(),
            },
            _ => Parts {
                how: Combine::Sum,
                parts: core::iter::once((placed, Multiplicity::one())).collect(),
            },
        }
    }

    /// Another input altogether: no input of one is an input of the other.
    fn other_input(&self, found: PlacedForm, needed: PlacedForm) -> Option<Wrong> {
        let (have, want) = (self.inputs(found.form), self.inputs(needed.form));
        if have.is_empty() || want.is_empty() || !have.is_disjoint(&want) {
            return None;
        }
        Some(Wrong::OtherInput { found: self.describe(&have), needed: self.describe(&want) })
    }

    fn describe(&self, inputs: &BTreeSet<InputId>) -> String {
        let texts = inputs.iter().filter_map(|input| {
            let identity = self.terms().identity(*input)?;
            Some(match &identity.meaning {
                Some(meaning) => format!("{} ({meaning})", identity.name),
                None => identity.name.clone(),
            })
        });
        texts.collect::<Vec<_>>().join(", ")
    }

    fn inputs(&self, form: FormId) -> BTreeSet<InputId> {
        self.terms().forms().inputs_of(form)
    }

    /// The same but for a conversion on the way.
    fn element_type(&self, found: PlacedForm, needed: PlacedForm) -> Option<Wrong> {
        let forms = self.terms().forms();
        let (have, want) = (forms.casts_of(found.form), forms.casts_of(needed.form));
        let differing = have.symmetric_difference(&want).next().copied()?;
        let other = self.input_type(found.form).filter(|other| *other != differing)?;
        Some(if have.contains(&differing) {
            Wrong::ElementType { found: differing, needed: other }
        } else {
            Wrong::ElementType { found: other, needed: differing }
        })
    }

    fn input_type(&self, form: FormId) -> Option<Dtype> {
        let input = self.inputs(form).into_iter().next()?;
        self.terms().identity(input).map(|identity| identity.dtype)
    }

    fn origin(&self, part: PlacedForm) -> Option<String> {
        match self.terms().forms().get(part.form)? {
            Form::Atom { origin, .. } => Some(origin.to_string()),
            _ => None,
        }
    }

    fn show(&self, part: PlacedForm) -> String {
        self.terms().show_form(part, self.count)
    }
}

/// The only part, if there is one.
fn only(parts: &Parts) -> Option<PlacedForm> {
    (parts.parts.len() == 1).then(|| parts.parts.keys().next().copied()).flatten()
}

fn out_of_place(found: u64, needed: u64) -> Option<Wrong> {
    (found != needed).then_some(Wrong::OutOfPlace { found, needed })
}

/// How often the first part counts in each, if all parts are in the same proportion.
fn proportional<'a>(
    have: &'a BTreeMap<PlacedForm, Multiplicity>,
    want: &'a BTreeMap<PlacedForm, Multiplicity>,
) -> Option<(&'a Multiplicity, &'a Multiplicity)> {
    let mut pairs = have.values().zip(want.values());
    let (found, needed) = pairs.next()?;
    pairs.all(|(have, want)| have * needed == want * found).then_some((found, needed))
}

impl Forms {
    /// Every form that a form is made of, itself included, each once.
    fn all_within(&self, form: FormId) -> BTreeSet<FormId> {
        let mut seen = BTreeSet::new();
        let mut next = alloc::vec![form];
        while let Some(form) = next.pop() {
            if seen.insert(form) {
                next.extend(self.get(form).into_iter().flat_map(Form::parts));
            }
        }
        seen
    }

    /// The inputs that a form is made of.
    pub(crate) fn inputs_of(&self, form: FormId) -> BTreeSet<InputId> {
        let input = |form| match self.get(form) {
            Some(Form::Atom { input, .. }) => Some(*input),
            _ => None,
        };
        self.all_within(form).into_iter().filter_map(input).collect()
    }

    /// The types to which something in a form is converted.
    fn casts_of(&self, form: FormId) -> BTreeSet<Dtype> {
        let cast = |form| match self.get(form) {
            Some(Form::Cast { to, .. }) => Some(*to),
            _ => None,
        };
        self.all_within(form).into_iter().filter_map(cast).collect()
    }
}
