//! One rank's communicators: the world's, and one for each partition that the steps name.

use std::collections::HashMap;

use rankwise_comm::{Communicator, Error};
use rankwise_model::Rank;
use rankwise_topology::{Partition, WorldRank};

use crate::CLOSING;

/// One rank's communicators, with the numbers of their next calls.
pub(crate) struct Communicators<'c, C> {
    world: &'c C,
    /// By partition; `None` where the rank is in no group of it.
    split: Vec<Option<C>>,
    /// How many collectives were made: on the world's, then on each of the split ones.
    made: Vec<u64>,
    /// By sender and receiver: how many messages were posted.
    messages: HashMap<(Rank, Rank), u64>,
}

impl<'c, C: Communicator> Communicators<'c, C> {
    /// Splits the world's communicator once per partition, on every rank in the same
    /// order: the list of a group is its rank order, and a rank in none has no part.
    pub(crate) fn split(
        world: &'c C,
        rank: WorldRank,
        partitions: &[Partition],
    ) -> Result<Self, Error> {
        let mut split = Vec::new();
        for partition in partitions {
            let seat = partition.locate(rank).and_then(|(group, own)| {
                let mut groups = partition.groups().iter().zip(0_u32..);
                let (_, color) = groups.find(|(other, _)| *other == group)?;
                Some((color, i32::try_from(own.index()).unwrap_or(i32::MAX)))
            });
            let (color, key) = seat.unzip();
            split.push(world.split(color, key.unwrap_or(0))?.wait()?);
        }
        // A split is a collective of the communicator that is split.
        let splits = u64::try_from(split.len()).unwrap_or(u64::MAX);
        let made = std::iter::once(splits).chain(split.iter().map(|_| 0)).collect();
        Ok(Self { world, split, made, messages: HashMap::new() })
    }

    /// The communicator of this rank's group, with the number of the next collective.
    /// `None` if the partition gives this rank no group.
    pub(crate) fn next(&mut self, split: Option<usize>) -> Option<(&C, u64)> {
        let (comm, at) = match split {
            Some(split) => (self.split.get(split)?.as_ref()?, split.saturating_add(1)),
            None => (self.world, 0),
        };
        let next = self.made.get_mut(at)?;
        Some((comm, take(next)))
    }

    /// The number of the next message between the two.
    pub(crate) fn next_message(&mut self, from: Rank, to: Rank) -> u64 {
        take(self.messages.entry((from, to)).or_default())
    }

    /// Leaves every split communicator, once what was enqueued is done.
    pub(crate) fn close(self) -> Result<(), Error> {
        self.split.into_iter().flatten().try_for_each(|comm| comm.close(CLOSING))
    }
}

fn take(next: &mut u64) -> u64 {
    let seq = *next;
    *next = seq.saturating_add(1);
    seq
}
