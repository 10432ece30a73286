//! The calls that are one collective: one of each member of the group.

use alloc::string::String;
use alloc::vec::Vec;

use rankwise_model::Rank;

use super::At;
use crate::plan::CollectiveStep;

/// A member's call, with its place in the plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member<'a> {
    pub(crate) at: At<'a>,
    pub(crate) call: &'a CollectiveStep,
}

/// The calls of a group's members: all of one step, or each rank's own.
#[derive(Clone, Debug)]
pub(crate) struct Calls<'a> {
    first: Member<'a>,
    /// In rank order; empty where all are of one step.
    own: Vec<Member<'a>>,
}

impl<'a> Calls<'a> {
    /// Every member calls so.
    pub(crate) const fn of_step(at: At<'a>, call: &'a CollectiveStep) -> Self {
        Self { first: Member { at, call }, own: Vec::new() }
    }

    /// Each member's own call, in rank order; `None` where there is none. They agree in
    /// everything but their buffers, their scalars and what they state.
    pub(crate) fn of_members(own: Vec<Member<'a>>) -> Option<Self> {
        // What one of them leaves open is open, whatever the others name.
        let open = own.iter().find(|member| member.call.reduction.is_none());
        Some(Self { first: *open.or(own.first())?, own })
    }

    /// What they agree in, at the place of the first, or of one that names no reduction.
    pub(crate) const fn first(&self) -> Member<'a> {
        self.first
    }

    /// Every distinct call.
    pub(crate) fn each(&self) -> impl Iterator<Item = &Member<'a>> {
        let one = self.own.is_empty().then_some(&self.first);
        one.into_iter().chain(&self.own)
    }

    /// The call of a member.
    pub(crate) fn of(&self, rank: Rank) -> Member<'a> {
        let own = usize::try_from(rank.index()).ok().and_then(|index| self.own.get(index));
        own.copied().unwrap_or(self.first)
    }
}

/// The scalars of a pre-multiplied sum as written, in rank order: a rank's scalar is the
/// one that its own call has for it, whatever other ranks believe.
pub(crate) fn scalars_of(calls: &[&CollectiveStep]) -> Vec<String> {
    match calls {
        [all] => all.scalars.clone().unwrap_or_default(),
        own => {
            let own = own.iter().enumerate();
            own.filter_map(|(rank, call)| call.scalars.as_deref()?.get(rank).cloned()).collect()
        }
    }
}
