//! The surface of a comparison: which buffers are the result, and under which names.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_topology::WorldRank;

use crate::evaluate::Evaluation;
use crate::memory::{Column, Memory};
use crate::plan::{Plan, Proposal};
use crate::vector::Vector;

impl Proposal {
    /// What `rank` holds in the buffer that the rest of the plan calls `public`. A
    /// buffer that was renamed no longer answers to its old name.
    pub fn held<'m>(
        &self,
        memory: &'m Memory,
        rank: WorldRank,
        public: &str,
    ) -> Option<&'m Arc<Vector>> {
        self.held_by_all(memory, public)?.get(rank)
    }

    /// The same for every rank: looked up once.
    pub(crate) fn held_by_all<'m>(&self, memory: &'m Memory, public: &str) -> Option<&'m Column> {
        match self.renames.iter().find(|(_, name)| *name == public) {
            Some((actual, _)) => memory.column(actual),
            None if self.renames.contains_key(public) => None,
            None => memory.column(public),
        }
    }

    /// What the rest of the plan calls the buffer `actual`.
    pub fn public_name<'s>(&'s self, actual: &'s str) -> &'s str {
        self.renames.get(actual).map_or(actual, String::as_str)
    }
}

/// Buffers that are compared, and those that are listed only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surface {
    /// The buffers compared, by public name.
    pub compared: Vec<String>,
    /// Why these.
    pub because: Because,
}

/// What made the surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because {
    /// A proposal lists its outputs.
    Outputs,
    /// Needs name them.
    Needs,
    /// Both proposals write them.
    BothWrite,
}

/// One side of a comparison, evaluated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evaluated<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) proposal: &'a Proposal,
    pub(crate) evaluation: &'a Evaluation,
}

impl Evaluated<'_> {
    /// The buffers that the proposal's steps write, by public name.
    pub(crate) fn written(&self) -> BTreeSet<String> {
        let writes = self.evaluation.steps.iter().flat_map(|step| &step.writes);
        let mut names: Vec<&str> = writes.map(|write| &*write.buffer).collect();
        // The ranks of one step write the same buffers.
        names.dedup();
        names.into_iter().map(|name| self.proposal.public_name(name).to_string()).collect()
    }
}

impl Surface {
    pub(crate) fn of(left: &Evaluated<'_>, right: &Evaluated<'_>) -> Self {
        let outputs = [left.proposal, right.proposal].map(|proposal| proposal.outputs.as_ref());
        let outputs: BTreeSet<&String> = outputs.into_iter().flatten().flatten().collect();
        let needs = left.plan.needs.iter().chain(&right.plan.needs);
        let needs: BTreeSet<&String> = needs.map(|need| &need.buffer).collect();
        let (compared, because) = if !outputs.is_empty() {
            (outputs.into_iter().cloned().collect(), Because::Outputs)
        } else if !needs.is_empty() {
            (needs.into_iter().cloned().collect(), Because::Needs)
        } else {
            let both = left.written().intersection(&right.written()).cloned().collect();
            (both, Because::BothWrite)
        };
        Self { compared, because }
    }
}
