//! Communicators: who belongs to one, and the numbers of its calls.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use rankwise_model::Rank;
use rankwise_topology::Group;

use crate::call::Verb;
use crate::ending::Ending;
use crate::history::narrow;
use crate::instance::InstanceId;
use crate::report::Report;
use crate::seq::Seq;

/// A communicator. Opaque: only the [`Matcher`](crate::Matcher) that issued it knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommId(pub(crate) u32);

impl fmt::Display for CommId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "communicator {}", self.0)
    }
}

/// A communicator and its open instances.
#[derive(Debug)]
pub(crate) struct Communicator {
    pub(crate) name: Arc<str>,
    pub(crate) group: Group,
    /// By rank.
    members: Vec<Membership>,
    collectives: Numbered,
    channels: BTreeMap<(Rank, Rank), Channel>,
    /// Why it takes no more calls.
    pub(crate) failed: Option<Arc<Report>>,
}

#[derive(Debug, Default)]
struct Membership {
    /// The number of its next collective.
    next: u64,
    left: Option<Departure>,
}

/// How a member left.
#[derive(Clone, Debug)]
pub(crate) struct Departure {
    pub(crate) how: Ending,
    /// What it had been told before: then it left for that reason.
    pub(crate) because: Option<Arc<Report>>,
}

/// The messages from one rank to another.
#[derive(Debug, Default)]
struct Channel {
    sends: u64,
    recvs: u64,
    open: Numbered,
}

/// Which side of a message a call is, and its seat in the instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Send,
    Recv,
}

/// Open instances by their number, those that are over taken off the front.
#[derive(Debug, Default)]
pub(crate) struct Numbered {
    open: VecDeque<Option<InstanceId>>,
    base: u64,
}

impl Numbered {
    /// The instance of that number, if it has begun and is not over.
    pub(crate) fn get(&self, number: u64) -> Option<InstanceId> {
        self.open.get(narrow(number.checked_sub(self.base)?)?).copied().flatten()
    }

    /// Adds the next instance; its number is one more than the last.
    fn push(&mut self, instance: InstanceId) {
        self.open.push_back(Some(instance));
    }

    /// The number before which all are over, if none is open.
    fn all_over(&self) -> Option<u64> {
        self.open.is_empty().then_some(self.base)
    }

    fn close(&mut self, number: u64) {
        let slot = number.checked_sub(self.base).and_then(narrow);
        if let Some(open) = slot.and_then(|slot| self.open.get_mut(slot)) {
            *open = None;
        }
        while let Some(None) = self.open.front() {
            self.open.pop_front();
            self.base = self.base.saturating_add(1);
        }
    }
}

impl Communicator {
    pub(crate) fn new(name: Arc<str>, group: &Group) -> Self {
        let members = group.members().iter().map(|_| Membership::default()).collect();
        Self {
            name,
            group: group.clone(),
            members,
            collectives: Numbered::default(),
            channels: BTreeMap::new(),
            failed: None,
        }
    }

    fn slot(rank: Rank) -> usize {
        narrow(rank.index().into()).unwrap_or(usize::MAX)
    }

    /// Numbers the next collective of a member. The instance, if somebody was there first.
    pub(crate) fn next_collective(&mut self, rank: Rank) -> (u64, Option<InstanceId>) {
        let Some(member) = self.members.get_mut(Self::slot(rank)) else { return (0, None) };
        let number = member.next;
        member.next = number.saturating_add(1);
        (number, self.collectives.get(number))
    }

    /// The number of every member's next collective, if none is open.
    pub(crate) fn collectives_over(&self) -> Option<u64> {
        self.collectives.all_over()
    }

    /// Gives every member's next collective that number. None may be open.
    pub(crate) fn skip_collectives(&mut self, next: u64) {
        if self.collectives.all_over().is_some_and(|base| base <= next) {
            self.collectives.base = next;
            self.members.iter_mut().for_each(|member| member.next = next);
        }
    }

    /// Numbers the next send or recv from one rank to another.
    pub(crate) fn next_message(
        &mut self,
        from: Rank,
        to: Rank,
        end: End,
    ) -> (u64, Option<InstanceId>) {
        let channel = self.channels.entry((from, to)).or_default();
        let counter = match end {
            End::Send => &mut channel.sends,
            End::Recv => &mut channel.recvs,
        };
        let number = *counter;
        *counter = number.saturating_add(1);
        (number, channel.open.get(number))
    }

    /// The number that a member's call would have.
    pub(crate) fn peek(&self, rank: Rank, verb: Verb) -> Seq {
        let counted = |from, to, count: fn(&Channel) -> u64| Seq::Message {
            from,
            to,
            number: self.channels.get(&(from, to)).map_or(0, count),
        };
        match verb {
            Verb::Send { to } => counted(rank, to, |channel| channel.sends),
            Verb::Recv { from } => counted(from, rank, |channel| channel.recvs),
            _ => Seq::Collective(self.members.get(Self::slot(rank)).map_or(0, |own| own.next)),
        }
    }

    /// Keeps an instance that has just begun.
    pub(crate) fn opened(&mut self, message: Option<(Rank, Rank)>, instance: InstanceId) {
        match message {
            None => self.collectives.push(instance),
            Some(pair) => self.channels.entry(pair).or_default().open.push(instance),
        }
    }

    /// Forgets an instance that is over.
    pub(crate) fn closed(&mut self, message: Option<(Rank, Rank)>, number: u64) {
        match message {
            None => self.collectives.close(number),
            Some(pair) => {
                if let Some(channel) = self.channels.get_mut(&pair) {
                    channel.open.close(number);
                }
            }
        }
    }

    /// How a member left, if it has.
    pub(crate) fn departure(&self, rank: Rank) -> Option<&Departure> {
        self.members.get(Self::slot(rank))?.left.as_ref()
    }

    /// Lets a member leave; the first way of leaving stays.
    pub(crate) fn leave(&mut self, rank: Rank, departure: Departure) {
        if let Some(member) = self.members.get_mut(Self::slot(rank)) {
            member.left.get_or_insert(departure);
        }
    }
}
