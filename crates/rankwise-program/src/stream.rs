//! Streams: queues of items that run in order.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use rankwise_topology::WorldRank;

use crate::history::{narrow, widen};
use crate::instance::InstanceId;
use crate::report::Report;

/// A stream of one rank. Opaque: only the [`Matcher`](crate::Matcher) that issued it
/// knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub(crate) u32);

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream {}", self.0)
    }
}

/// Everything enqueued on a stream up to and including one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point {
    /// The stream.
    pub stream: StreamId,
    /// Which of its items, from 0.
    pub index: u64,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "item {} of {}", self.index, self.stream)
    }
}

/// One item of a stream.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) work: Work,
    /// The last call of the stream's rank up to here, by its number in the history.
    pub(crate) call: Option<u64>,
    /// Why it will never be over.
    pub(crate) failed: Option<Arc<Report>>,
}

/// What an item still waits for.
#[derive(Debug)]
pub(crate) enum Work {
    /// One call.
    Call(InstanceId),
    /// The calls of a unit that are not over.
    Calls(Vec<InstanceId>),
    /// A point of another stream.
    Wait(Point),
    /// Nothing, but the items before it.
    Over,
}

impl Work {
    /// The instances of a unit.
    pub(crate) fn instances(&self) -> &[InstanceId] {
        match self {
            Self::Call(one) => core::slice::from_ref(one),
            Self::Calls(calls) => calls,
            Self::Wait(_) | Self::Over => &[],
        }
    }

    /// Takes an instance that is over out of a unit.
    pub(crate) fn finish(&mut self, instance: InstanceId) {
        match self {
            Self::Call(one) if *one == instance => *self = Self::Over,
            Self::Calls(calls) => {
                calls.retain(|call| *call != instance);
                if calls.is_empty() {
                    *self = Self::Over;
                }
            }
            _ => {}
        }
    }
}

/// A queue of items, those that are over and at its head taken off.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) rank: WorldRank,
    pub(crate) name: Arc<str>,
    items: VecDeque<Item>,
    /// The index of the first item in the queue: all before it are over.
    base: u64,
    /// Streams whose head waits for a point of this one.
    pub(crate) waiters: Vec<StreamId>,
    /// Something in it is known to be hopeless, and so is whatever is enqueued behind.
    pub(crate) hopeless: bool,
}

impl Stream {
    pub(crate) fn new(rank: WorldRank, name: Arc<str>) -> Self {
        Self { rank, name, items: VecDeque::new(), base: 0, waiters: Vec::new(), hopeless: false }
    }

    /// Adds an item and gives its index.
    pub(crate) fn push(&mut self, item: Item) -> u64 {
        let index = self.end();
        self.items.push_back(item);
        index
    }

    /// The index of the next item.
    pub(crate) fn end(&self) -> u64 {
        self.base.saturating_add(widen(self.items.len()))
    }

    /// The index of the first item that is not over.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// The first item that is not over.
    pub(crate) fn head(&self) -> Option<&Item> {
        self.items.front()
    }

    /// The last item, if it is not over.
    pub(crate) fn last(&self) -> Option<&Item> {
        self.items.back()
    }

    pub(crate) fn pop(&mut self) {
        if self.items.pop_front().is_some() {
            self.base = self.base.saturating_add(1);
        }
    }

    /// The item of that index, if it is not over.
    pub(crate) fn get(&self, index: u64) -> Option<&Item> {
        self.items.get(narrow(index.checked_sub(self.base)?)?)
    }

    pub(crate) fn get_mut(&mut self, index: u64) -> Option<&mut Item> {
        self.items.get_mut(narrow(index.checked_sub(self.base)?)?)
    }

    /// The items that are not over, with their indices.
    pub(crate) fn items(&self) -> impl Iterator<Item = (u64, &Item)> {
        (self.base..).zip(&self.items)
    }

    /// The number of items that are not over.
    pub(crate) fn open_items(&self) -> usize {
        self.items.len()
    }
}
