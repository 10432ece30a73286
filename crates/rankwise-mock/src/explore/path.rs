//! The tree of all orders, walked depth first: each run follows one path of it.

use std::vec;

use super::Orders;
use super::outcome::Trouble;
use super::schedule::Schedule;
use super::step::Step;
use super::touched::{Caution, Touched};

/// A step that could be taken next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    pub(super) rank: u32,
    pub(super) step: Step,
    /// It would be told what it has been told already: others go first.
    pub(super) held: bool,
}

/// A place of the tree at which a step is chosen.
#[derive(Debug)]
struct Node {
    offers: Vec<Offer>,
    chosen: u32,
    /// Nothing need be tried in its stead.
    alone: bool,
    /// What the chosen step has touched.
    touched: Touched,
    /// What has been chosen here before.
    done: Vec<(u32, Touched)>,
    /// Steps that need not be taken here: each was taken earlier, and what has come since
    /// may be exchanged with it (the sleep sets of Godefroid, 1996).
    sleep: Vec<(u32, Touched)>,
}

/// The path that is being followed, and what is left to be tried beside it.
#[derive(Debug, Default)]
pub(super) struct Path {
    orders: Orders,
    caution: Caution,
    nodes: Vec<Node>,
    /// Whose steps this run has taken.
    steps: Vec<u32>,
    /// One of the runs asks for caution.
    trouble: bool,
    /// This run leads to nothing new: everything that could be taken is asleep.
    pub(super) repeats: bool,
    /// How often a poll was held back.
    pub(super) held: u64,
    /// The order to be followed, of a replay.
    given: Option<vec::IntoIter<u32>>,
}

impl Path {
    pub(super) fn new(orders: Orders) -> Self {
        Self { orders, ..Self::default() }
    }

    /// One run, in that order.
    pub(super) fn along(schedule: &Schedule, at_most: u64) -> Self {
        let at_most = usize::try_from(at_most).unwrap_or(usize::MAX);
        let steps: Vec<u32> = schedule.steps().take(at_most).collect();
        Self { given: Some(steps.into_iter()), ..Self::default() }
    }

    pub(super) fn schedule(&self) -> Schedule {
        self.steps.iter().copied().collect()
    }

    /// The steps that this run has taken.
    pub(super) fn depth(&self) -> usize {
        self.steps.len()
    }

    /// Which of `offers` is taken; `touched` is what the step before has touched.
    pub(super) fn choose(&mut self, offers: Vec<Offer>, touched: Touched) -> Result<u32, Trouble> {
        self.note(touched);
        let step = self.steps.len();
        let chosen = match self.nodes.get(step) {
            Some(node) if node.offers == offers => node.chosen,
            Some(node) => {
                let (expected, found) = (describe(&node.offers), describe(&offers));
                return Err(Trouble::Undetermined { step, expected, found });
            }
            None => self.extend(offers)?,
        };
        self.steps.push(chosen);
        Ok(chosen)
    }

    /// The last step of the run has touched this.
    pub(super) fn note(&mut self, touched: Touched) {
        self.trouble |= self.steps.last().is_some_and(|rank| touched.is_trouble(*rank));
        let last = self.steps.len().checked_sub(1);
        if let Some(node) = last.and_then(|last| self.nodes.get_mut(last)) {
            node.touched = touched;
        }
    }

    /// A place where nobody has been.
    fn extend(&mut self, offers: Vec<Offer>) -> Result<u32, Trouble> {
        let step = self.steps.len();
        if let Some(rank) = self.given.as_mut().and_then(Iterator::next) {
            let known = offers.iter().any(|offer| offer.rank == rank);
            let found = || describe(&offers);
            return if known {
                Ok(rank)
            } else {
                Err(Trouble::Unfit { step, rank, found: found() })
            };
        }
        let held = offers.iter().filter(|offer| offer.held).count();
        self.held = self.held.saturating_add(u64::try_from(held).unwrap_or(u64::MAX));
        let awake: Vec<Offer> = offers.iter().filter(|offer| !offer.held).copied().collect();
        let first = awake.first().ok_or(Trouble::Stuck)?.rank;
        if self.repeats || self.given.is_some() {
            return Ok(first);
        }
        let sleep = match (self.orders, self.nodes.last()) {
            (Orders::Reduced, Some(before)) => before.asleep_after(self.caution),
            _ => Vec::new(),
        };
        let mut fresh = awake.into_iter().filter(|offer| !has(&sleep, offer.rank)).peekable();
        let Some(first_fresh) = fresh.peek().copied() else {
            self.repeats = true;
            return Ok(first);
        };
        let reduced = self.orders == Orders::Reduced;
        let free = fresh.find(|offer| reduced && offer.step.is_free(self.caution));
        let chosen = free.unwrap_or(first_fresh).rank;
        let (touched, done) = Default::default();
        let alone = free.is_some();
        self.nodes.push(Node { offers, chosen, alone, touched, done, sleep });
        Ok(chosen)
    }

    /// Whether the order of a replay has more steps than the run had.
    pub(super) fn left_over(&mut self) -> Option<u32> {
        self.given.as_mut()?.next()
    }

    /// Begins again with more caution, if what has been seen asks for it. Whether it does.
    pub(super) fn is_begun_again(&mut self) -> bool {
        let again = self.orders == Orders::Reduced && self.trouble && self.caution == Caution::None;
        if again {
            let (orders, caution) = (self.orders, Caution::All);
            *self = Self { orders, caution, ..Self::default() };
        }
        again
    }

    /// Goes to the next path; `false` if there is none.
    pub(super) fn advance(&mut self) -> bool {
        self.steps.clear();
        self.repeats = false;
        while let Some(node) = self.nodes.last_mut() {
            node.done.push((node.chosen, core::mem::take(&mut node.touched)));
            let mut offers = node.offers.iter().filter(|offer| !offer.held && !node.alone);
            let next = offers.find(|one| !has(&node.done, one.rank) && !has(&node.sleep, one.rank));
            if let Some(next) = next {
                node.chosen = next.rank;
                return true;
            }
            self.nodes.pop();
        }
        false
    }
}

impl Node {
    /// What is still asleep after the chosen step.
    fn asleep_after(&self, caution: Caution) -> Vec<(u32, Touched)> {
        let earlier = self.sleep.iter().chain(&self.done);
        let still = earlier.filter(|(rank, step)| {
            *rank != self.chosen && step.commutes_with(&self.touched, caution)
        });
        still.map(|(rank, step)| (*rank, step.after(&self.touched))).collect()
    }
}

fn has(steps: &[(u32, Touched)], rank: u32) -> bool {
    steps.iter().any(|(other, _)| *other == rank)
}

fn describe(offers: &[Offer]) -> String {
    let each = offers.iter().map(|offer| format!("rank {}: {}", offer.rank, offer.step));
    each.collect::<Vec<_>>().join("; ")
}
