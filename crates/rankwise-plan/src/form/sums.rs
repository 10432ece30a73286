//! Sums and multiples: what they come to.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use num_traits::{One, Zero};
use rankwise_model::Dtype;

use super::multiples::{Alike, FormSet, Kind};
use super::{Form, FormId, Forms, Multiples, Multiplicity, PlacedForm, within};
use crate::term::Placed;

impl Forms {
    /// The parts, each counted once, added up.
    pub(super) fn sum(&mut self, dtype: Dtype, parts: &[Placed]) -> PlacedForm {
        let once = Arc::new(Multiplicity::one());
        let mut addends = Vec::with_capacity(parts.len());
        for part in parts.iter().filter_map(|part| self.of(*part)) {
            self.dissolve(part, &once, &mut addends);
        }
        self.sum_of(dtype, addends)
    }

    /// `times · part`.
    pub(super) fn multiple(
        &mut self,
        dtype: Dtype,
        part: PlacedForm,
        times: &Arc<Multiplicity>,
    ) -> PlacedForm {
        let mut addends = Vec::new();
        self.dissolve(part, times, &mut addends);
        self.sum_of(dtype, addends)
    }

    /// What `times · part` adds to a sum: of a part that is a sum, its parts.
    fn dissolve(&self, part: PlacedForm, times: &Arc<Multiplicity>, addends: &mut Vec<Alike>) {
        let Some(Form::Sum { parts, .. }) = self.get(part.form) else {
            let (kind, forms) = (self.kind(part.form), FormSet::One(part.form));
            addends.push(Alike { kind, at: part.at, forms, times: Arc::clone(times) });
            return;
        };
        addends.extend(parts.alike().iter().map(|inner| {
            let product = match (inner.times.is_one(), times.is_one()) {
                (_, true) => Arc::clone(&inner.times),
                (true, _) => Arc::clone(times),
                _ => Arc::new(&*inner.times * &**times),
            };
            Alike { times: product, ..inner.shifted(part.at) }
        }));
    }

    fn kind(&self, form: FormId) -> Kind {
        match self.get(form) {
            _ if self.is_constant(form) => Kind::Constant,
            Some(Form::Atom { input, .. }) => Kind::Contribution(*input),
            _ => Kind::Other,
        }
    }

    /// What these add up to.
    fn sum_of(&mut self, dtype: Dtype, mut addends: Vec<Alike>) -> PlacedForm {
        let place = |alike: &Alike| (alike.kind, alike.at);
        addends.sort_by_key(place);
        let mut alike = Vec::new();
        for there in addends.chunk_by(|one, next| place(one) == place(next)) {
            match there {
                [alone] => {
                    let times = known_as(dtype, &alone.times);
                    alike.push(Alike { times, ..alone.clone() });
                }
                _ => self.add_up(dtype, there, &mut alike),
            }
        }
        alike.retain(|alike: &Alike| !alike.times.is_zero());
        let reading = alike.iter().filter(|alike| alike.kind != Kind::Constant);
        let base = reading.map(|alike| alike.at).min().unwrap_or(0);
        for alike in &mut alike {
            alike.at = alike.at.saturating_sub(base);
        }
        let parts = Multiples::of(alike);
        match parts.only() {
            Some((only, times)) if times.is_one() => self.shifted(only, base),
            _ => {
                let stored = self.store(Form::Sum { dtype, parts }, dtype);
                self.shifted(stored, base)
            }
        }
    }

    /// Adds up parts of one kind at one place, of which some may come several times.
    fn add_up(&mut self, dtype: Dtype, there: &[Alike], alike: &mut Vec<Alike>) {
        let Some(Alike { kind, at, times, .. }) = there.first() else { return };
        if there.iter().all(|other| other.times == *times) {
            let forms = there.iter().flat_map(|alike| alike.forms.as_slice());
            let mut forms: Vec<FormId> = forms.copied().collect();
            forms.sort_unstable();
            if forms.is_sorted_by(|one, next| one < next) {
                let (forms, times) = (self.set(forms), known_as(dtype, times));
                alike.push(Alike { kind: *kind, at: *at, forms, times });
                return;
            }
        }
        let mut totals: BTreeMap<FormId, Multiplicity> = BTreeMap::new();
        for Alike { forms, times, .. } in there {
            for form in forms.as_slice() {
                let total = totals.entry(*form).or_insert_with(Multiplicity::zero);
                *total = &*total + &**times;
            }
        }
        let mut by_times: BTreeMap<Multiplicity, Vec<FormId>> = BTreeMap::new();
        for (form, total) in totals {
            by_times.entry(within(dtype, total)).or_default().push(form);
        }
        for (times, forms) in by_times.into_iter().filter(|(times, _)| !times.is_zero()) {
            let (forms, times) = (self.set(forms), Arc::new(times));
            alike.push(Alike { kind: *kind, at: *at, forms, times });
        }
    }

    /// Forms in order, each once, of which there is at least one.
    fn set(&mut self, forms: Vec<FormId>) -> FormSet {
        if let [only] = forms.as_slice() {
            return FormSet::One(*only);
        }
        if let Some((list, set)) = self.lists.get_key_value(forms.as_slice()) {
            let (forms, (list, unknown)) = (Arc::clone(list), *set);
            return FormSet::Many { forms, list, unknown };
        }
        let unknown = forms.iter().any(|form| self.is_unknown(*form));
        self.listed = self.listed.saturating_add(forms.len());
        let list = u32::try_from(self.lists.len()).unwrap_or(u32::MAX);
        let forms: Arc<[FormId]> = forms.into();
        self.lists.insert(Arc::clone(&forms), (list, unknown));
        FormSet::Many { forms, list, unknown }
    }

    /// Whether an unnamed reduction is in any of the parts.
    pub(super) fn are_unknown(&self, parts: &Multiples) -> bool {
        parts.alike().iter().any(|alike| match &alike.forms {
            FormSet::One(form) => self.is_unknown(*form),
            FormSet::Many { unknown, .. } => *unknown,
        })
    }
}

/// A multiplicity as the element type knows it.
fn known_as(dtype: Dtype, times: &Arc<Multiplicity>) -> Arc<Multiplicity> {
    if dtype.is_float() {
        return Arc::clone(times);
    }
    Arc::new(within(dtype, Multiplicity::clone(times)))
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use num_rational::BigRational;
    use rankwise_model::{Combine, Dtype, GroupSize};
    use rankwise_topology::World;

    use super::Multiplicity;
    use crate::form::{Form, PlacedForm};
    use crate::plan::Counts;
    use crate::term::{Factor, InputIdentity, Origin, Placed, Terms};

    const RANKS: u32 = 8;

    /// Every rank's contribution to an input of that name.
    fn contributions(terms: &mut Terms, name: &str) -> Vec<Placed> {
        let (dtype, counts) = (Dtype::F32, Counts::Each(100));
        let identity = InputIdentity { name: name.into(), dtype, counts, meaning: None };
        let input = terms.input(&identity);
        let world = World::new(GroupSize::new(RANKS).unwrap());
        world.ranks().map(|rank| terms.atom(input, Origin::Rank(rank))).collect()
    }

    fn sum(terms: &mut Terms, parts: &[Placed]) -> Placed {
        terms.combined(Combine::Sum, parts).unwrap()
    }

    fn times(terms: &mut Terms, of: Placed, over: i32, under: i32) -> Placed {
        let by = BigRational::new(over.into(), under.into());
        terms.scaled(of, Factor::Constant(by))
    }

    fn form(terms: &Terms, of: Placed) -> PlacedForm {
        terms.forms().of(of).unwrap()
    }

    /// How often each part of a sum counts, in the order of the parts.
    fn counted(terms: &Terms, of: Placed) -> Vec<Multiplicity> {
        match terms.forms().get(form(terms, of).form) {
            Some(Form::Sum { parts, .. }) => {
                parts.in_order().into_iter().map(|(_, times)| times.clone()).collect()
            }
            other => panic!("a sum, not {other:?}"),
        }
    }

    #[test]
    fn a_step_of_sgd_keeps_the_gradients_of_all_ranks_once() {
        let mut terms = Terms::new();
        let (own, gradients) = (contributions(&mut terms, "p"), contributions(&mut terms, "g"));
        let all = sum(&mut terms, &gradients);
        let delta = times(&mut terms, all, -1, 800);
        for own in &own {
            let next = sum(&mut terms, &[*own, delta]);
            let expected: Vec<Multiplicity> = core::iter::once((1, 1))
                .chain(core::iter::repeat_n((-1, 800), 8))
                .map(|(over, under)| BigRational::new(over.into(), under.into()))
                .collect();
            assert_eq!(counted(&terms, next), expected);
        }
        // One list of eight; a list for each rank would be nine on each.
        assert_eq!(terms.forms().listed(), 8);
    }

    #[test]
    fn a_sum_is_the_same_in_whatever_order_and_groups_it_is_added_up() {
        let mut terms = Terms::new();
        let (own, gradients) = (contributions(&mut terms, "p"), contributions(&mut terms, "g"));
        let all = sum(&mut terms, &gradients);
        let (low, high) = gradients.split_at(3);
        let (low, high) = (sum(&mut terms, low), sum(&mut terms, high));
        let one = sum(&mut terms, &[own[5], all]);
        let other = sum(&mut terms, &[high, own[5], low]);
        assert_eq!(form(&terms, one), form(&terms, other));
        // Read further on, it is still the same, and so it is without what it starts with.
        let (one, other) = (one.shifted(7), other.shifted(7));
        assert_eq!(form(&terms, one), form(&terms, other));
        let minus = times(&mut terms, all, -1, 1);
        let left = sum(&mut terms, &[own[5], all, minus]);
        assert_eq!(form(&terms, left), form(&terms, own[5]));
    }

    #[test]
    fn a_contribution_added_again_counts_twice_and_the_others_once() {
        let mut terms = Terms::new();
        let gradients = contributions(&mut terms, "g");
        let all = sum(&mut terms, &gradients);
        let again = sum(&mut terms, &[all, gradients[2]]);
        let expected =
            [1, 1, 2, 1, 1, 1, 1, 1].map(|times| Multiplicity::from_integer(times.into()));
        assert_eq!(counted(&terms, again), expected);
        // At another position it is another contribution.
        let elsewhere = sum(&mut terms, &[all, gradients[2].shifted(1)]);
        assert_eq!(counted(&terms, elsewhere).len(), 9);
    }
}
