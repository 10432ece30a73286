//! What the steps say about a wrong value: where the right one was, and went.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use rankwise_topology::WorldRank;

use super::Wrong;
use super::placement::{Key, key};
use crate::evaluate::Evaluation;
use crate::plan::{Act, Proposal};
use crate::term::Terms;
use crate::vector::{Content, Gap, Vector};

/// How many steps back an empty position is followed.
const FOLLOWED: usize = 64;

/// The steps of a proposal, as one rank went through them.
#[derive(Clone, Copy)]
pub(crate) struct History<'a> {
    pub(crate) terms: &'a Terms,
    pub(crate) proposal: &'a Proposal,
    pub(crate) evaluation: &'a Evaluation,
}

/// What a buffer held after a step; before the first one if that is `None`.
pub(crate) struct Version<'a> {
    pub(crate) buffer: &'a str,
    pub(crate) since: Option<usize>,
    pub(crate) vector: &'a Arc<Vector>,
}

impl<'a> History<'a> {
    /// Where on `rank` the value is that is needed in the buffer `public`: it was there
    /// and is gone, or it is in another buffer.
    pub(crate) fn elsewhere(
        &self,
        rank: WorldRank,
        public: &str,
        positions: Option<&Range<u64>>,
        needed: &Vector,
    ) -> Option<Wrong> {
        let wanted = key(self.terms, needed)?;
        let versions = self.versions(rank);
        let is_here = |buffer: &str| self.proposal.public_name(buffer) == public;
        let last_here = versions.iter().rev().find(|version| is_here(version.buffer));
        let holds = |version: &Version<'_>| self.holds(version.vector, positions, needed, &wanted);
        let before = versions
            .iter()
            .enumerate()
            .rev()
            .find(|(_, version)| is_here(version.buffer) && holds(version));
        if let Some((index, version)) = before {
            let later = versions.iter().skip(index.saturating_add(1));
            let by = later.filter(|later| is_here(later.buffer)).find_map(|later| later.since)?;
            return Some(Wrong::Overwritten { held_since: version.since, by });
        }
        // The last of each other buffer only: what it holds now.
        let elsewhere = versions.iter().enumerate().rev().find(|(index, version)| {
            let mut later = versions.iter().skip(index.saturating_add(1));
            !is_here(version.buffer)
                && holds(version)
                && later.all(|later| later.buffer != version.buffer)
        });
        let (_, there) = elsewhere?;
        let buffer = self.proposal.public_name(there.buffer).to_string();
        match (last_here, there.since) {
            (Some(here), Some(made_by)) if here.since < there.since => {
                let (found_since, buffer) = (here.since, Some(buffer));
                Some(Wrong::Stale { found_since, buffer, made_by })
            }
            (_, written_by) => Some(Wrong::OtherBuffer { buffer, written_by }),
        }
    }

    /// Whether a buffer holds what is needed: all of it, or where it is needed.
    fn holds(
        &self,
        vector: &Vector,
        positions: Option<&Range<u64>>,
        needed: &Vector,
        wanted: &Key,
    ) -> bool {
        let is = |vector: &Vector| {
            (vector.dtype(), vector.count()) == (needed.dtype(), needed.count())
                && key(self.terms, vector).as_ref() == Some(wanted)
        };
        is(vector) || positions.is_some_and(|at| vector.slice(at.clone()).as_ref().is_some_and(is))
    }

    /// Every buffer of `rank`: the inputs, then whatever was written, in order.
    pub(crate) fn versions(&self, rank: WorldRank) -> Vec<Version<'a>> {
        let inputs = self.evaluation.before.buffers(rank);
        let mut versions: Vec<Version<'a>> =
            inputs.map(|(buffer, vector)| Version { buffer, since: None, vector }).collect();
        for (step, record) in self.evaluation.steps.iter().enumerate() {
            let own = record.writes.iter().filter(|write| write.rank == rank);
            versions.extend(own.map(|write| Version {
                buffer: &write.buffer,
                since: Some(step),
                vector: &write.vector,
            }));
        }
        versions
    }

    /// Why a step read nothing: the first positions that hold no value in what it read,
    /// followed back to the step that left them so.
    pub(crate) fn read_outside(&self, rank: WorldRank, gap: Gap) -> Option<Wrong> {
        let mut found = None;
        let (mut rank, mut gap) = (rank, gap);
        for _ in 0..FOLLOWED {
            let Gap::ReadsGap { step } = gap else { break };
            let Some((from, buffer, positions, why)) = self.gap_read(step, rank) else { break };
            found = Some(Wrong::ReadOutside { step, rank: from, buffer, positions, why });
            match why {
                Gap::ReadsGap { step: earlier } if earlier < step => (rank, gap) = (from, why),
                _ => break,
            }
        }
        found
    }

    /// The first positions without a value in what a step read for `rank`.
    fn gap_read(
        &self,
        step: usize,
        rank: WorldRank,
    ) -> Option<(WorldRank, String, Range<u64>, Gap)> {
        self.read_by(step, rank).into_iter().find_map(|(from, buffer)| {
            let versions = self.versions(from);
            let mut before = versions.iter().rev().filter(|version| version.since < Some(step));
            let held = before.find(|version| version.buffer == buffer)?;
            held.vector.runs().find_map(|run| match run.content {
                Content::Gap(why) => Some((from, buffer.to_string(), run.positions.clone(), why)),
                Content::Term(_) => None,
            })
        })
    }

    /// The buffers that a step reads so that `rank` has its part of the result.
    fn read_by(&self, step: usize, rank: WorldRank) -> Vec<(WorldRank, &'a str)> {
        let Some(step) = self.proposal.steps.get(step) else { return Vec::new() };
        let mut read = Vec::new();
        for act in step.act.each() {
            match act {
                Act::Collective(call) => {
                    let group = call.over.locate(rank).map(|(group, _)| group.members());
                    let members = group.into_iter().flatten();
                    read.extend(members.map(|member| (*member, call.send.buffer.as_str())));
                }
                Act::Local(local) => {
                    let from = local.act.reads().into_iter();
                    read.extend(from.map(|from| (rank, from.buffer.as_str())));
                }
                Act::Message(_) | Act::Group(_) => {}
            }
        }
        read
    }
}
