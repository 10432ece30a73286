//! Communicators: each group of each partition, by a name that a reader knows.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::ToString;
use alloc::sync::Arc;

use rankwise_topology::{Group, Partition};

use crate::words;

/// The communicators of a proposal's calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Communicators(BTreeMap<Arc<str>, Group>);

impl Communicators {
    /// The name of a group of a partition: `tp[1]` where that has several, `tp` where it
    /// has one, the list of ranks where it has no name.
    pub(crate) fn name(
        &mut self,
        over: &Partition,
        over_name: Option<&str>,
        group: &Group,
    ) -> Arc<str> {
        let whole = Group::whole(group.world()) == *group;
        let name = match (over_name, over.groups()) {
            (Some(name), [_]) => name.to_string(),
            (Some(name), groups) => {
                let first = group.members().first();
                let at = groups.iter().position(|other| other.members().first() == first);
                format!("{name}[{}]", at.unwrap_or(0))
            }
            (None, _) if whole => words::WORLD.to_string(),
            (None, _) => group.to_string(),
        };
        let name: Arc<str> = name.into();
        match self.0.get_key_value(&name) {
            Some((known, _)) => known.clone(),
            None => {
                self.0.insert(name.clone(), group.clone());
                name
            }
        }
    }

    /// All of them, by name.
    pub(crate) fn into_groups(self) -> impl Iterator<Item = (Arc<str>, Group)> {
        self.0.into_iter()
    }
}
