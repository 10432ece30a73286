//! What a consumer may ask for, as a value on its rank.

use std::ops::Range;

use crate::kind::Kind;
use crate::step::Fold;
use crate::value::{Value, Values};
use crate::world::World;

/// A value on every rank, over the inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// The reader's own input.
    Own(String),
    /// The input of one rank.
    Of(String, usize),
    /// The input of one device.
    OnDevice(String, usize),
    /// That of every rank of the reader's group, one after the other.
    Gather(Box<Self>, Groups),
    /// The reader's block of it, by its rank in its group.
    Shard(Box<Self>, Groups),
    /// That of every rank of the reader's group, combined.
    Fold(Fold, Box<Self>, Groups),
    /// Converted.
    Cast(Box<Self>, Kind),
    /// One after the other.
    Concat(Vec<Self>),
    /// Some positions.
    Slice(Box<Self>, Range<usize>),
}

/// Disjoint groups under a name; no name is the whole world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    /// The name.
    pub name: Option<String>,
    /// The groups, each in its rank order.
    pub lists: Vec<Vec<usize>>,
}

impl Groups {
    /// The one group of everybody.
    pub fn world(n: usize) -> Self {
        Self { name: None, lists: vec![(0..n).collect()] }
    }

    /// The group of a rank.
    pub fn of(&self, rank: usize) -> Option<&Vec<usize>> {
        self.lists.iter().find(|list| list.contains(&rank))
    }
}

impl Expression {
    /// What it is for a reader, over the inputs in `start`; `None` if it makes no
    /// sense there.
    pub fn value(&self, start: &World, reader: usize, values: &mut Values) -> Option<Vec<Value>> {
        let input = |rank, name| start.held(rank, name)?.positions.iter().copied().collect();
        match self {
            Self::Own(name) => input(reader, name),
            Self::Of(name, rank) => input(*rank, name),
            Self::OnDevice(name, device) => input(start.on(*device), name),
            Self::Gather(inner, groups) => {
                let mut all = Vec::new();
                for member in groups.of(reader)? {
                    all.extend(inner.value(start, *member, values)?);
                }
                Some(all)
            }
            Self::Shard(inner, groups) => {
                let group = groups.of(reader)?;
                let own = group.iter().position(|rank| *rank == reader)?;
                let whole = inner.value(start, reader, values)?;
                let block = whole.len() / group.len();
                (block * group.len() == whole.len())
                    .then(|| whole[own * block..(own + 1) * block].to_vec())
            }
            Self::Fold(fold, inner, groups) => {
                let mut parts: Vec<Vec<Value>> = Vec::new();
                for member in groups.of(reader)? {
                    parts.push(inner.value(start, *member, values)?);
                }
                let length = parts[0].len();
                if parts.iter().any(|part| part.len() != length) {
                    return None;
                }
                let at = |p: usize| parts.iter().map(|part| part[p]).collect::<Vec<_>>();
                Some((0..length).map(|p| values.folded(*fold, &at(p))).collect())
            }
            Self::Cast(inner, to) => {
                let inner = inner.value(start, reader, values)?;
                Some(inner.into_iter().map(|value| values.cast(value, *to)).collect())
            }
            Self::Concat(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    all.extend(part.value(start, reader, values)?);
                }
                let kinds: Vec<Kind> = all.iter().map(|value| values.kind(*value)).collect();
                kinds.windows(2).all(|pair| pair[0] == pair[1]).then_some(all)
            }
            Self::Slice(inner, range) => {
                Some(inner.value(start, reader, values)?.get(range.clone())?.to_vec())
            }
        }
    }
}
