//! What is over for certain when the next unit of a stream begins.

use alloc::sync::Arc;
use alloc::vec::Vec;

/// By stream, how many of its units are over for certain.
type Clock = Vec<u64>;

/// The streams of one rank and its host.
#[derive(Default)]
pub(super) struct Clocks<'a> {
    streams: Vec<Queue<'a>>,
    host: Clock,
}

struct Queue<'a> {
    name: &'a Arc<str>,
    units: u64,
    /// Before whatever is enqueued next.
    before: Clock,
}

impl<'a> Clocks<'a> {
    /// The number of the stream of that name. A rank has few.
    pub(super) fn stream(&mut self, name: &'a Arc<str>) -> usize {
        let known = self.streams.iter().position(|queue| queue.name == name);
        known.unwrap_or_else(|| {
            self.streams.push(Queue { name, units: 0, before: Vec::new() });
            self.streams.len().saturating_sub(1)
        })
    }

    /// Enqueues a unit and gives its index in the stream.
    pub(super) fn enqueue(&mut self, stream: usize) -> u64 {
        let Some(queue) = self.streams.get_mut(stream) else { return 0 };
        join(&mut queue.before, &self.host);
        let index = queue.units;
        queue.units = index.saturating_add(1);
        raise(&mut queue.before, stream, queue.units);
        index
    }

    /// How many units of a stream are over when the unit enqueued last on another begins;
    /// of its own stream, that unit is counted too.
    pub(super) fn before(&self, stream: usize, of: usize) -> u64 {
        let queue = self.streams.get(stream);
        queue.and_then(|queue| queue.before.get(of)).copied().unwrap_or(0)
    }

    /// The host goes on when all that is enqueued on a stream is over.
    pub(super) fn host_waits(&mut self, stream: usize) {
        if let Some(queue) = self.streams.get(stream) {
            join(&mut self.host, &queue.before);
        }
    }

    /// What is enqueued on a stream from here on begins when all is over that is enqueued
    /// on another.
    pub(super) fn fence(&mut self, stream: usize, after: usize) {
        let Some(before) = self.streams.get(after).map(|queue| queue.before.clone()) else {
            return;
        };
        if let Some(queue) = self.streams.get_mut(stream) {
            join(&mut queue.before, &before);
        }
    }
}

fn join(clock: &mut Clock, other: &Clock) {
    for (stream, units) in other.iter().enumerate() {
        raise(clock, stream, *units);
    }
}

fn raise(clock: &mut Clock, stream: usize, units: u64) {
    if clock.len() <= stream {
        clock.resize(stream.saturating_add(1), 0);
    }
    if let Some(known) = clock.get_mut(stream) {
        *known = units.max(*known);
    }
}
