//! Communicators: each group of each partition, by a name that a reader knows.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_topology::{Group, Partition, WorldRank};

use crate::words;

/// The communicators of a proposal's calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Communicators {
    groups: BTreeMap<Arc<str>, Group>,
    /// The same by first member and size: every call of every rank asks.
    known: BTreeMap<(Option<WorldRank>, u32), Vec<Known>>,
}

#[derive(Clone, Debug)]
struct Known {
    over_name: Option<String>,
    group: Group,
    name: Arc<str>,
}

impl Communicators {
    /// The name of a group of a partition: `tp[1]` where that has several, `tp` where it
    /// has one, the list of ranks where it has no name.
    pub(crate) fn name(
        &mut self,
        over: &Partition,
        over_name: Option<&str>,
        group: &Group,
    ) -> Arc<str> {
        let key = (group.members().first().copied(), group.size().get());
        let alike = self.known.entry(key).or_default();
        let found = alike
            .iter()
            .find(|known| known.over_name.as_deref() == over_name && known.group == *group);
        if let Some(known) = found {
            return known.name.clone();
        }
        let mut name = named(over, over_name, group);
        // A partition may be called what a group of another would be.
        while self.groups.contains_key(name.as_str()) {
            name.push('\'');
        }
        let name: Arc<str> = name.into();
        self.groups.insert(name.clone(), group.clone());
        let over_name = over_name.map(String::from);
        alike.push(Known { over_name, group: group.clone(), name: name.clone() });
        name
    }

    /// All of them, by name.
    pub(crate) fn into_groups(self) -> impl Iterator<Item = (Arc<str>, Group)> {
        self.groups.into_iter()
    }
}

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
