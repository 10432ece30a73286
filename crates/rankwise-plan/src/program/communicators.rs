//! Communicators: each group of each partition, by a name that a reader knows.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_topology::{Group, Partition, WorldRank};

use crate::words;

/// The communicators of a proposal's calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Communicators {
    /// By number.
    groups: Vec<(Arc<str>, Group)>,
    names: BTreeSet<Arc<str>>,
    /// By first member and size.
    known: BTreeMap<(Option<WorldRank>, u32), Vec<Known>>,
}

#[derive(Clone, Debug)]
struct Known {
    over_name: Option<String>,
    number: usize,
}

impl Communicators {
    /// The number of a group of a partition.
    pub(crate) fn number(
        &mut self,
        over: &Partition,
        over_name: Option<&str>,
        group: &Group,
    ) -> usize {
        let key = (group.members().first().copied(), group.size().get());
        let alike = self.known.entry(key).or_default();
        let found = alike.iter().find(|known| {
            let of = self.groups.get(known.number).map(|(_, of)| of);
            known.over_name.as_deref() == over_name && of == Some(group)
        });
        if let Some(known) = found {
            return known.number;
        }
        let mut name = named(over, over_name, group);
        // A partition may be called what a group of another would be.
        while self.names.contains(name.as_str()) {
            name.push('\'');
        }
        let name: Arc<str> = name.into();
        let number = self.groups.len();
        alike.push(Known { over_name: over_name.map(String::from), number });
        self.names.insert(name.clone());
        self.groups.push((name, group.clone()));
        number
    }

    /// What the communicator of a number is called.
    pub(crate) fn name(&self, number: usize) -> Option<&Arc<str>> {
        self.groups.get(number).map(|(name, _)| name)
    }

    /// All of them, by name.
    pub(crate) fn by_name(&self) -> Vec<(Arc<str>, Group)> {
        let mut groups = self.groups.clone();
        groups.sort_by(|(one, _), (other, _)| one.cmp(other));
        groups
    }
}

/// `tp[1]` where a partition has several groups, `tp` where it has one, the list of ranks
/// where it has no name.
fn named(over: &Partition, over_name: Option<&str>, group: &Group) -> String {
    match (over_name, over.groups()) {
        (Some(name), [_]) => name.to_string(),
        (Some(name), groups) => {
            let first = group.members().first();
            let at = groups.iter().position(|other| other.members().first() == first);
            format!("{name}[{}]", at.unwrap_or(0))
        }
        (None, _) if Group::whole(group.world()) == *group => words::WORLD.to_string(),
        (None, _) => group.to_string(),
    }
}
