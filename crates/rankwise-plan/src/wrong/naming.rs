//! All that can be said of one place where something else is held than should be.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use rankwise_model::Dtype;
use rankwise_topology::WorldRank;

use super::placement::{owners, reordered};
use super::{Claim, Groups, History, Scene, Wrong};
use crate::evaluate::Evaluation;
use crate::plan::{Plan, Proposal};
use crate::term::Terms;
use crate::vector::Content;

/// Where found and needed first differ.
#[derive(Clone)]
pub(crate) struct Difference {
    /// The positions, in the buffer.
    pub(crate) at: Range<u64>,
    /// What is held there; `None` if the buffer, or that part of it, is not there.
    pub(crate) held: Option<Content>,
    /// What should be; `None` if nothing should.
    pub(crate) needed: Option<Content>,
    /// The buffer's length and the one that is needed, where they do not fit.
    pub(crate) length: Option<(u64, u64)>,
    /// How they differ.
    pub(crate) why: Why,
}

/// How they differ.
#[derive(Clone, Copy)]
pub(crate) enum Why {
    /// The buffer is not there.
    NeverWritten,
    /// It has another length, and what both have is equal.
    Length,
    /// It has another element type: found, needed.
    ElementType(Dtype, Dtype),
    /// It holds another value.
    Value,
    /// It is not known whether the value is another one.
    NotProven,
}

/// What wrongness is named by: the plan, the steps, and what all ranks hold.
pub(crate) struct Naming<'a> {
    pub(crate) terms: &'a Terms,
    pub(crate) plan: &'a Plan,
    pub(crate) proposal: &'a Proposal,
    pub(crate) evaluation: &'a Evaluation,
    /// The buffer, by public name.
    pub(crate) buffer: &'a str,
    /// Which part of it is needed; all of it if not said.
    pub(crate) positions: Option<&'a Range<u64>>,
    /// What every rank needs and holds, or none where nothing is known.
    pub(crate) claims: &'a [Claim],
}

impl Naming<'_> {
    /// What is wrong on `rank`: with the value, with its place, and what the steps say.
    pub(crate) fn wrongs(&self, rank: WorldRank, difference: &Difference) -> Vec<Wrong> {
        let mut wrongs: Vec<Wrong> = Vec::new();
        if let Some((found, needed)) = difference.length {
            wrongs.push(Wrong::Length { found, needed });
        } else if matches!(difference.why, Why::Value | Why::NeverWritten) {
            wrongs.extend(self.misplaced(rank));
        }
        // Where the order explains it all, single values out of place say nothing more.
        let explained = wrongs
            .iter()
            .any(|wrong| matches!(wrong, Wrong::Permuted { .. } | Wrong::Rotated { .. }));
        let value = self.value(difference).into_iter().filter(|wrong| {
            !explained || !matches!(wrong, Wrong::OutOfPlace { .. } | Wrong::OtherOrigin { .. })
        });
        let mut wrongs: Vec<Wrong> = wrongs.into_iter().chain(value).collect();
        wrongs.extend(self.past(rank, difference.held));
        wrongs
    }

    /// What is wrong with length and value alone.
    pub(crate) fn of_value(&self, difference: &Difference) -> Vec<Wrong> {
        let length = difference.length.map(|(found, needed)| Wrong::Length { found, needed });
        length.into_iter().chain(self.value(difference)).collect()
    }

    fn value(&self, difference: &Difference) -> Vec<Wrong> {
        let Difference { at, held, needed, why, .. } = difference;
        match (*why, *held, *needed) {
            (Why::NeverWritten, ..) => alloc::vec![Wrong::NeverWritten],
            (Why::ElementType(found, needed), ..) => {
                alloc::vec![Wrong::ElementType { found, needed }]
            }
            (Why::Value, Some(held), Some(needed)) => {
                let groups = Groups::of(self.plan, self.proposal);
                let scene = Scene { terms: self.terms, groups: &groups };
                scene.wrongs(held, needed, at.end.saturating_sub(at.start))
            }
            (Why::NotProven, ..) => alloc::vec![Wrong::NotProven],
            (Why::Value | Why::Length, ..) => Vec::new(),
        }
    }

    /// The right pieces in another order, or on another rank.
    fn misplaced(&self, rank: WorldRank) -> Option<Wrong> {
        // What each rank holds where it needs it.
        let there = |claim: &Claim| {
            let held = match (&claim.held, self.positions) {
                (Some(held), Some(positions)) => held.slice(positions.clone()).map(Arc::new),
                (held, _) => held.clone(),
            };
            Claim { held, ..claim.clone() }
        };
        let mine = self.claims.iter().find(|claim| claim.rank == rank).map(there)?;
        let held = mine.held.as_deref();
        held.and_then(|held| reordered(self.terms, held, &mine.needed)).or_else(|| {
            let claims: Vec<Claim> = self.claims.iter().map(there).collect();
            owners(self.terms, self.plan, &claims, rank)
        })
    }

    /// What the steps say: where the value went, or why there is none.
    fn past(&self, rank: WorldRank, held: Option<Content>) -> Vec<Wrong> {
        let Self { terms, proposal, evaluation, .. } = *self;
        let history = History { terms, proposal, evaluation };
        let read = match held {
            Some(Content::Gap(gap)) => history.read_outside(rank, gap),
            _ => None,
        };
        let claim = self.claims.iter().find(|claim| claim.rank == rank);
        let elsewhere = claim
            .and_then(|claim| history.elsewhere(rank, self.buffer, self.positions, &claim.needed));
        read.into_iter().chain(elsewhere).collect()
    }
}
