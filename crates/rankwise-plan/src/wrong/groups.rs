//! Which group of the plan a set of contributors is.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use rankwise_topology::{Partition, World, WorldRank};

use super::LISTED;
use crate::memory::ranks;
use crate::plan::{Act, Plan, Proposal};
use crate::term::Origin;

/// Ranks that contribute, and the group that they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contributors {
    /// The ranks, in order.
    pub ranks: Vec<WorldRank>,
    /// The partition one of whose groups they are exactly, by the plan's name for it.
    pub group: Option<String>,
}

impl fmt::Display for Contributors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = listed(self.ranks.iter().map(|rank| rank.index()));
        match &self.group {
            Some(group) => write!(f, "{group} (ranks {text})"),
            None => write!(f, "ranks {text}"),
        }
    }
}

/// `0, 1, 2`; of many the first ones, and how many there are.
pub(super) fn listed(ranks: impl ExactSizeIterator<Item = u32>) -> String {
    let count = ranks.len();
    let most = LISTED.saturating_mul(4);
    let shown: Vec<String> = ranks.take(most).map(|rank| rank.to_string()).collect();
    let text = shown.join(", ");
    if count > most { format!("{text}, … ({count} in all)") } else { text }
}

/// The groups that a plan and a proposal speak of, by name.
#[derive(Clone, Debug)]
pub(crate) struct Groups<'a> {
    world: Partition,
    named: Vec<(String, &'a Partition)>,
    /// By device: its rank, where it has only one.
    devices: BTreeMap<String, WorldRank>,
}

impl<'a> Groups<'a> {
    pub(crate) fn of(plan: &'a Plan, proposal: &'a Proposal) -> Self {
        let mut named: Vec<(String, &Partition)> = Vec::new();
        named.extend(plan.partitions.iter().map(|(name, groups)| (format!("`{name}`"), groups)));
        for (index, step) in proposal.steps.iter().enumerate() {
            if let Act::Collective(call) = &step.act
                && call.over_name.is_none()
            {
                named.push((format!("a group of step {index}"), &call.over));
            }
        }
        let on = |rank| plan.device_of(rank).map(|device| (device, rank));
        Self {
            world: Partition::whole(World::new(plan.world)),
            named,
            devices: ranks(plan.world).filter_map(on).collect(),
        }
    }

    /// The rank that makes the contribution of `origin`.
    pub(crate) fn rank(&self, origin: &Origin) -> Option<WorldRank> {
        match origin {
            Origin::Rank(rank) => Some(*rank),
            Origin::Device(device) => self.devices.get(&**device).copied(),
        }
    }

    /// The ranks, with the name of the group that they are exactly.
    pub(crate) fn contributors(&self, ranks: &BTreeSet<WorldRank>) -> Contributors {
        let is_group = |partition: &Partition| {
            let group = ranks.first().and_then(|first| partition.locate(*first));
            group.is_some_and(|(group, _)| {
                group.members().len() == ranks.len()
                    && group.members().iter().all(|member| ranks.contains(member))
            })
        };
        let mut named = self.all().filter(|(_, partition)| is_group(partition));
        let group = named.next().map(|(name, _)| name.to_string());
        Contributors { ranks: ranks.iter().copied().collect(), group }
    }

    /// The name of a partition that has groups of that size.
    pub(crate) fn of_size(&self, size: u64) -> Option<String> {
        let has = |partition: &Partition| {
            partition.groups().iter().any(|group| u64::from(group.size().get()) == size)
        };
        self.all().find(|(_, partition)| has(partition)).map(|(name, _)| name.to_string())
    }

    /// The sizes of all groups.
    pub(crate) fn sizes(&self) -> BTreeSet<u32> {
        let groups = self.all().flat_map(|(_, partition)| partition.groups());
        groups.map(|group| group.size().get()).collect()
    }

    /// Every group of the plan and of the proposal's steps that `member` is in.
    pub(crate) fn with(&self, member: WorldRank) -> Vec<Contributors> {
        let mut all: Vec<Contributors> = Vec::new();
        for (name, partition) in self.all() {
            let Some((group, _)) = partition.locate(member) else { continue };
            let mut ranks = group.members().to_vec();
            ranks.sort_unstable();
            if all.iter().all(|known| known.ranks != ranks) {
                all.push(Contributors { ranks, group: Some(name.to_string()) });
            }
        }
        all
    }

    fn all(&self) -> impl Iterator<Item = (&str, &Partition)> {
        let named = self.named.iter().map(|(name, partition)| (name.as_str(), *partition));
        core::iter::once((WORLD_NAME, &self.world)).chain(named)
    }
}

const WORLD_NAME: &str = "the world";
