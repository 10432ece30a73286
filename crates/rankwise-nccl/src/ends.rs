//! Where the work of a communicator ends, stream by stream.

use core::mem;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::point::Point;

/// The end of what was last enqueued by way of one communicator, on each stream: its
/// calls, wherever they were enqueued, and the copies on the streams that it has made.
///
/// What is enqueued through a stream's raw pointer is not known here.
#[derive(Default)]
pub(crate) struct Ends(Mutex<BTreeMap<u64, Arc<Point>>>);

impl Ends {
    /// Beyond so many streams, those whose work is done are looked for and forgotten.
    const TIDY: usize = 16;

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Point>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of one that stands behind every earlier one of its stream.
    pub(crate) fn note(&self, point: &Arc<Point>) {
        let mut ends = self.lock();
        if ends.len() > Self::TIDY {
            ends.retain(|_, end| !end.is_passed_well());
        }
        ends.insert(point.stream, Arc::clone(point));
    }

    /// What is to be waited for before the communicator is left.
    pub(crate) fn take(&self) -> Vec<Arc<Point>> {
        mem::take(&mut *self.lock()).into_values().collect()
    }
}
