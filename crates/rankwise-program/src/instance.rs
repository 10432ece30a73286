//! Instances: the calls of several ranks that are one operation.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use rankwise_model::Rank;

use crate::call::{Signature, Tag};
use crate::communicator::CommId;
use crate::history::narrow;
use crate::report::Report;
use crate::seq::Seq;
use crate::stream::Point;

/// One operation of a communicator, to which each member brings its call. Opaque;
/// never used again for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(u64);

impl InstanceId {
    const fn new(slot: u32, generation: u32) -> Self {
        Self((generation as u64) << 32 | slot as u64)
    }

    fn slot(self) -> usize {
        narrow(self.0 & u64::from(u32::MAX)).unwrap_or(usize::MAX)
    }

    const fn generation(self) -> u64 {
        self.0 >> 32
    }
}

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "instance {:x}", self.0)
    }
}

/// The place of one call in an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// The instance.
    pub instance: InstanceId,
    /// Its number in the communicator.
    pub seq: Seq,
    /// How it stands now that this call is in it.
    pub standing: Standing,
}

/// How an instance stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Some members have not called yet; those that have agree.
    Open,
    /// Every member has called and all agree: data may move.
    Agreed,
    /// Two calls contradict each other: data will never move.
    Frozen,
    /// It will never complete, for the reason given.
    Failed(Arc<Report>),
}

/// A seat that is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    /// The call's number in the history of its rank.
    pub(crate) call: u64,
    /// Where it stands in a stream; `None` beside all streams.
    pub(crate) at: Option<Point>,
}

/// An instance that is not over.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) comm: CommId,
    pub(crate) seq: Seq,
    /// Counts instances in the order of their first calls.
    pub(crate) created: u64,
    /// A place in an order in which no stream of any rank has a later one first. Where
    /// a call breaks it, it is only known again after a search.
    pub(crate) order: u64,
    /// It is on the list of those that may be able to run.
    pub(crate) offered: bool,
    /// It is known to be hopeless.
    pub(crate) hopeless: bool,
    /// A call here, or its completion, may settle what is hopeless.
    pub(crate) watched: bool,
    /// By rank in the communicator; of a message, the send and the recv.
    pub(crate) seats: Vec<Option<Taken>>,
    pub(crate) missing: usize,
    pub(crate) standing: Standing,
    /// What the first call was: the others are compared with it.
    pub(crate) first: Signature,
    /// The first tag that any call carried.
    tag: Option<Tag>,
    /// The first list of a new group's members.
    creates: Option<Arc<[Rank]>>,
}

impl Instance {
    pub(crate) fn new(comm: CommId, seq: Seq, seats: usize, first: Signature) -> Self {
        Self {
            comm,
            seq,
            created: 0,
            order: 0,
            offered: false,
            hopeless: false,
            watched: false,
            seats: vec![None; seats],
            missing: seats,
            standing: Standing::Open,
            first,
            tag: None,
            creates: None,
        }
    }

    /// Takes a seat for a call, and compares the call with those before it.
    pub(crate) fn take(
        &mut self,
        seat: usize,
        taken: Taken,
        signature: &Signature,
        tag: Option<&Tag>,
        creates: Option<&Arc<[Rank]>>,
    ) {
        if let Some(free @ None) = self.seats.get_mut(seat) {
            *free = Some(taken);
            self.missing = self.missing.saturating_sub(1);
        }
        let same_names = agree_where_given(&mut self.tag, tag);
        let same_members = agree_where_given(&mut self.creates, creates);
        if matches!(self.standing, Standing::Open) {
            if !same_names || !same_members || !self.first.agrees_with(signature) {
                self.standing = Standing::Frozen;
            } else if self.first.payload().is_none() {
                // A size that is known is what the others are compared with.
                self.first = *signature;
            }
            if self.standing == Standing::Open && self.missing == 0 {
                self.standing = Standing::Agreed;
            }
        }
    }

    /// Frees a seat again. What has been found to contradict stays so.
    pub(crate) fn free(&mut self, seat: usize) -> Option<Taken> {
        let taken = self.seats.get_mut(seat)?.take()?;
        self.missing = self.missing.saturating_add(1);
        if self.standing == Standing::Agreed {
            self.standing = Standing::Open;
        }
        Some(taken)
    }
}

/// Whether what is given is what was given first. The first is kept.
fn agree_where_given<T: Clone + PartialEq>(first: &mut Option<T>, given: Option<&T>) -> bool {
    match (&first, given) {
        (Some(first), Some(given)) => first == given,
        (None, Some(given)) => {
            *first = Some(given.clone());
            true
        }
        (_, None) => true,
    }
}

/// The instances that are not over.
#[derive(Debug, Default)]
pub(crate) struct Instances {
    slots: Vec<Slot>,
    free: Vec<u32>,
    created: u64,
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    instance: Option<Instance>,
}

impl Instances {
    pub(crate) fn insert(&mut self, mut instance: Instance) -> InstanceId {
        instance.created = self.created;
        instance.order = self.created;
        self.created = self.created.saturating_add(1);
        if let Some(slot) = self.free.pop()
            && let Some(found) = self.slots.get_mut(narrow(slot.into()).unwrap_or(usize::MAX))
        {
            found.instance = Some(instance);
            return InstanceId::new(slot, found.generation);
        }
        // More slots than a `u32` counts would not fit into memory.
        let slot = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        self.slots.push(Slot { generation: 0, instance: Some(instance) });
        InstanceId::new(slot, 0)
    }

    pub(crate) fn get(&self, id: InstanceId) -> Option<&Instance> {
        let slot = self.slots.get(id.slot())?;
        if u64::from(slot.generation) == id.generation() { slot.instance.as_ref() } else { None }
    }

    pub(crate) fn get_mut(&mut self, id: InstanceId) -> Option<&mut Instance> {
        let slot = self.slots.get_mut(id.slot())?;
        if u64::from(slot.generation) == id.generation() { slot.instance.as_mut() } else { None }
    }

    /// Gives an instance the last place in the order.
    pub(crate) fn reorder(&mut self, slot: usize) {
        let place = self.created;
        if let Some(found) = self.slots.get_mut(slot).and_then(|slot| slot.instance.as_mut()) {
            found.order = place;
            self.created = place.saturating_add(1);
        }
    }

    /// Takes out an instance that is over; its id will not be issued again.
    pub(crate) fn remove(&mut self, id: InstanceId) -> Option<Instance> {
        let slot = self.slots.get_mut(id.slot())?;
        if u64::from(slot.generation) != id.generation() {
            return None;
        }
        let instance = slot.instance.take()?;
        // A slot whose generations are used up is given up with them.
        if let Some(next) = slot.generation.checked_add(1) {
            slot.generation = next;
            self.free.push(u32::try_from(id.slot()).unwrap_or(u32::MAX));
        }
        Some(instance)
    }

    /// Marks an instance as the last search found it.
    pub(crate) fn mark(&mut self, slot: usize, hopeless: bool, watched: bool) {
        if let Some(found) = self.slots.get_mut(slot).and_then(|slot| slot.instance.as_mut()) {
            found.hopeless = hopeless;
            found.watched = watched;
        }
    }

    /// Every instance that is not over.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (InstanceId, &Instance)> {
        (0..=u32::MAX).zip(&self.slots).filter_map(|(at, slot)| {
            let instance = slot.instance.as_ref()?;
            Some((InstanceId::new(at, slot.generation), instance))
        })
    }

    /// How many are not over.
    pub(crate) fn open(&self) -> usize {
        self.slots.len().saturating_sub(self.free.len())
    }

    /// How many slots there are: every id's slot is below.
    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The slot of an id, for tables beside this one.
    pub(crate) fn slot_of(id: InstanceId) -> usize {
        id.slot()
    }
}
