//! The parts of a sum, each with its multiplicity.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::{Multiplicity, PlacedForm};

/// Parts, each once, with how often each counts. Most sums count all parts alike: then
/// one multiplicity is kept for all.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Multiples {
    /// In order.
    parts: Vec<PlacedForm>,
    /// One where all are alike, else one for each part.
    times: Vec<Multiplicity>,
}

impl Multiples {
    /// Parts in order, each once, of which each counts `times`.
    pub(super) fn alike(parts: Vec<PlacedForm>, times: Multiplicity) -> Self {
        let times = if parts.is_empty() { Vec::new() } else { alloc::vec![times] };
        Self { parts, times }
    }

    /// The parts, in order, and how often each counts.
    pub fn iter(&self) -> impl Iterator<Item = (&PlacedForm, &Multiplicity)> + Clone {
        let alike = self.all_alike();
        let own = self.times.iter().filter(move |_| alike.is_none());
        let times = own.chain(core::iter::repeat_n(alike, self.parts.len()).flatten());
        self.parts.iter().zip(times)
    }

    /// The parts, in order.
    pub fn parts(&self) -> &[PlacedForm] {
        &self.parts
    }

    /// How often each part counts, if that is the same for all; `None` for no parts.
    pub fn all_alike(&self) -> Option<&Multiplicity> {
        match self.times.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }
}

impl FromIterator<(PlacedForm, Multiplicity)> for Multiples {
    /// Of parts in any order; of one that comes twice, the last counts.
    fn from_iter<I: IntoIterator<Item = (PlacedForm, Multiplicity)>>(pairs: I) -> Self {
        let by_part: BTreeMap<PlacedForm, Multiplicity> = pairs.into_iter().collect();
        let (parts, mut times): (Vec<_>, Vec<_>) = by_part.into_iter().unzip();
        if let Some((first, others)) = times.split_first()
            && others.iter().all(|other| other == first)
        {
            times.truncate(1);
        }
        Self { parts, times }
    }
}
