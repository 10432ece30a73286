//! Things of which each is kept once, and known by its number.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Things, each once, with what else is known of it.
#[derive(Debug)]
pub(crate) struct Distinct<T, F> {
    numbers: BTreeMap<Arc<T>, usize>,
    all: Vec<(Arc<T>, F)>,
}

impl<T: Ord, F> Default for Distinct<T, F> {
    fn default() -> Self {
        Self { numbers: BTreeMap::new(), all: Vec::new() }
    }
}

impl<T: Ord, F> Distinct<T, F> {
    pub(crate) fn number(&self, thing: &T) -> Option<usize> {
        self.numbers.get(thing).copied()
    }

    /// What was kept under a number. Numbers come from nowhere else, so it is there.
    pub(crate) fn get(&self, number: usize) -> Result<(&T, &F), &'static str> {
        let kept = self.all.get(number).ok_or("something that was not kept")?;
        Ok((&kept.0, &kept.1))
    }

    /// The number of a thing, which is kept now if it is new.
    pub(crate) fn keep(&mut self, thing: T, facts: F) -> usize {
        if let Some(number) = self.number(&thing) {
            return number;
        }
        let (number, thing) = (self.all.len(), Arc::new(thing));
        self.numbers.insert(Arc::clone(&thing), number);
        self.all.push((thing, facts));
        number
    }
}
