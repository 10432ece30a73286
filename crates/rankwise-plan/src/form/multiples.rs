//! The parts of a sum, each with its multiplicity.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Ordering;

use super::{FormId, Multiplicity, PlacedForm};
use crate::term::InputId;

/// Parts, each once, with how often each counts.
///
/// Parts that are alike are kept together, and the forms of several that are alike are a
/// list that sums share: every rank's own contribution next to the sum of all is two
/// entries on each rank, not one for each rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Multiples {
    /// In order; no two of the same kind, place and multiplicity.
    alike: Vec<Alike>,
}

/// Parts that differ in their forms alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Alike {
    pub(super) kind: Kind,
    pub(super) at: u64,
    pub(super) forms: FormSet,
    pub(super) times: Arc<Multiplicity>,
}

/// What the forms of parts that are alike have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// They read no input, and are the same at every position.
    Constant,
    /// They are contributions to one input.
    Contribution(InputId),
    /// Neither.
    Other,
}

/// Some forms, each once. Those of one [`Forms`](super::Forms) are equal when they are
/// the same one form, or the same list.
#[derive(Clone, Debug)]
pub(super) enum FormSet {
    One(FormId),
    /// At least two, in order.
    Many {
        forms: Arc<[FormId]>,
        /// The number of this list, of which there is no other of equal content.
        list: u32,
        /// Whether an unnamed reduction is in any of them.
        unknown: bool,
    },
}

impl Multiples {
    /// Of which no two have kind, place and multiplicity in common.
    pub(super) fn of(mut alike: Vec<Alike>) -> Self {
        alike.sort_unstable();
        Self { alike }
    }

    pub(super) fn alike(&self) -> &[Alike] {
        &self.alike
    }

    /// The parts, in no order that means anything, and how often each counts.
    pub fn iter(&self) -> impl Iterator<Item = (PlacedForm, &Multiplicity)> + Clone {
        self.alike.iter().flat_map(|Alike { at, forms, times, .. }| {
            let placed = |form: &FormId| PlacedForm { form: *form, at: *at };
            forms.as_slice().iter().map(move |form| (placed(form), &**times))
        })
    }

    /// The same in the order of their forms.
    pub fn in_order(&self) -> Vec<(PlacedForm, &Multiplicity)> {
        let mut parts: Vec<_> = self.iter().collect();
        parts.sort_unstable_by_key(|(part, _)| *part);
        parts
    }

    /// Whether there are none: the sum is zero.
    pub fn is_empty(&self) -> bool {
        self.alike.is_empty()
    }

    /// The part, if there is one alone, and how often it counts.
    pub fn only(&self) -> Option<(PlacedForm, &Arc<Multiplicity>)> {
        match self.alike.as_slice() {
            [Alike { at, forms: FormSet::One(form), times, .. }] => {
                Some((PlacedForm { form: *form, at: *at }, times))
            }
            _ => None,
        }
    }
}

impl Alike {
    /// The same parts `by` positions further on. A constant is the same everywhere.
    pub(super) fn shifted(&self, by: u64) -> Self {
        let at = if self.kind == Kind::Constant { self.at } else { self.at.saturating_add(by) };
        Self { at, ..self.clone() }
    }
}

impl FormSet {
    pub(super) fn as_slice(&self) -> &[FormId] {
        match self {
            Self::One(form) => core::slice::from_ref(form),
            Self::Many { forms, .. } => forms,
        }
    }

    const fn key(&self) -> (bool, u32) {
        match self {
            Self::One(form) => (false, form.0),
            Self::Many { list, .. } => (true, *list),
        }
    }
}

impl PartialEq for FormSet {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for FormSet {}

impl PartialOrd for FormSet {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for FormSet {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}
