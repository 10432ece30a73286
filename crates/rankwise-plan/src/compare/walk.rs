//! What two places hold, run by run.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use core::ops::{ControlFlow, Range};

use rankwise_topology::WorldRank;

use super::state::{Difference, Named};
use crate::equal::{Equality, equality};
use crate::sense::{Gathering, Sense};
use crate::term::{InputId, Placed, Terms};
use crate::vector::{Content, Run, Vector, side_by_side};
use crate::wrong::NOT_PROVEN;

/// A walk through two states that remembers what it has seen.
pub(super) struct Walk<'a> {
    pub(super) terms: &'a Terms,
    doubtful: &'a BTreeMap<InputId, String>,
    /// Pairs of vectors already found the same.
    seen: BTreeSet<(usize, usize)>,
    /// Lists of terms that were looked through, by where they are.
    lists: BTreeSet<(usize, usize)>,
    /// What is not stated and something depends on.
    pub(super) doubts: BTreeSet<String>,
    /// In which sense what was found equal is so.
    pub(super) weakest: Option<Sense>,
    pub(super) grounds: Gathering,
}

/// A difference between what two places hold.
pub(super) struct Found {
    pub(super) positions: Range<u64>,
    /// What each side holds there; `None` past its end.
    pub(super) contents: [Option<Content>; 2],
    /// Whether nothing in it depends on what is not stated.
    pub(super) certain: bool,
}

impl Found {
    /// The same as evidence, of a place, its ranks on both sides, and a buffer.
    pub(super) fn told(
        self,
        terms: &Terms,
        (place, ranks, buffer): (String, [WorldRank; 2], &str),
        named: Named,
    ) -> Difference {
        let count = self.positions.end.saturating_sub(self.positions.start);
        let [first, second] = self.contents.map(|content| match content {
            Some(content) => terms.show_run(&Run { positions: 0..count, content }),
            None => "nothing".to_string(),
        });
        let (buffer, positions) = (buffer.to_string(), self.positions);
        Difference::Values { place, ranks, buffer, positions, first, second, named }
    }
}

impl<'a> Walk<'a> {
    pub(super) fn new(terms: &'a Terms, doubtful: &'a BTreeMap<InputId, String>) -> Self {
        Self {
            terms,
            doubtful,
            seen: BTreeSet::new(),
            lists: BTreeSet::new(),
            doubts: BTreeSet::new(),
            weakest: None,
            grounds: Gathering::default(),
        }
    }

    /// The first difference between what two places hold in one buffer: the first that is
    /// certain, if one is.
    pub(super) fn first(&mut self, held: [Option<&Vector>; 2]) -> Option<Found> {
        let mut first: Option<Found> = None;
        _ = self.each(held, &mut |found| {
            let is_certain = found.certain;
            if is_certain || first.is_none() {
                first = Some(found);
            }
            if is_certain { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        first
    }

    /// Every difference between what two places hold in one buffer, until it is enough.
    pub(super) fn each(
        &mut self,
        held: [Option<&Vector>; 2],
        visit: &mut dyn FnMut(Found) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let [first, second] = held;
        let nothing = Vector::empty(rankwise_model::Dtype::U8);
        let (first, second) = (first.unwrap_or(&nothing), second.unwrap_or(&nothing));
        let key = (core::ptr::from_ref(first).addr(), core::ptr::from_ref(second).addr());
        let both_are_there = held.iter().all(Option::is_some);
        if both_are_there && self.seen.contains(&key) {
            return ControlFlow::Continue(());
        }
        let mut same = true;
        if first.is_kept_like(second) {
            // Equal, position for position: what is left is what that rests on.
            for list in first.term_lists() {
                if list.len() > 1 && !self.lists.insert((list.as_ptr().addr(), list.len())) {
                    continue;
                }
                for term in list {
                    let content = Content::Term(Placed { term: *term, at: 0 });
                    // It equals itself: no difference is found.
                    _ = self.differ(&(0..1), content, content);
                }
            }
        } else {
            let vectors = [first, second];
            for (positions, contents) in side_by_side(&vectors) {
                if let [one, other] = contents.as_slice()
                    && let Some(found) = self.differ(&positions, *one, *other)
                {
                    same = false;
                    visit(found)?;
                }
            }
            let short = first.count().min(second.count());
            let long = first.count().max(second.count());
            let rest = if first.count() > short { first } else { second };
            for run in rest.within(short..long) {
                if let Content::Term(_) = run.content {
                    let positions = run.positions.start.saturating_add(short)
                        ..run.positions.end.saturating_add(short);
                    let held = Some(run.content);
                    let contents = if first.count() > short { [held, None] } else { [None, held] };
                    same = false;
                    visit(Found { positions, contents, certain: true })?;
                }
            }
        }
        if both_are_there && same {
            self.seen.insert(key);
        }
        ControlFlow::Continue(())
    }

    fn differ(&mut self, positions: &Range<u64>, one: Content, other: Content) -> Option<Found> {
        let terms = self.terms;
        let contents = [Some(one), Some(other)];
        let found = |certain| Found { positions: positions.clone(), contents, certain };
        let (Content::Term(first), Content::Term(second)) = (one, other) else {
            // Two positions that are not in the domain do not differ.
            let both_gaps = matches!((one, other), (Content::Gap(_), Content::Gap(_)));
            return (!both_gaps).then(|| found(true));
        };
        let mut doubts = BTreeSet::new();
        for placed in [first, second] {
            let Some(form) = terms.forms().of(placed) else { continue };
            if terms.forms().is_unknown(form.form) {
                doubts.insert("a reduction is not named".to_string());
            }
            if !self.doubtful.is_empty() {
                let inputs = terms.forms().inputs_of(form.form);
                doubts.extend(inputs.iter().filter_map(|input| self.doubtful.get(input)).cloned());
            }
        }
        let certain = doubts.is_empty();
        self.doubts.extend(doubts);
        match equality(terms, one, other) {
            Equality::Equal(sense) => {
                self.weakest = self.weakest.max(Some(sense));
                self.grounds.add(terms, first, second);
                None
            }
            Equality::NotProven => {
                self.doubts.insert(NOT_PROVEN.to_string());
                Some(found(false))
            }
            Equality::Differ | Equality::BothGaps => Some(found(certain)),
        }
    }
}
