//! Jobs that are worth sharing: whoever waits takes part.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rankwise_program::InstanceId;

use crate::engine::Job;

/// The jobs that have shares to take.
#[derive(Default)]
pub(crate) struct Jobs {
    /// How many there are, so that looking costs nothing when there are none.
    open: AtomicUsize,
    list: Mutex<Vec<(InstanceId, Arc<Job>)>>,
}

impl Jobs {
    /// Below this many bytes, waking and sharing cost more than the work.
    const WORTH_SHARING: u64 = 256 << 10;

    /// Offers a job to the waiting ranks; `false` if it is not worth it.
    pub(crate) fn publish(&self, instance: InstanceId, job: &Arc<Job>) -> bool {
        if job.weight() < Self::WORTH_SHARING {
            return false;
        }
        let mut list = self.lock();
        list.push((instance, Arc::clone(job)));
        self.open.store(list.len(), Ordering::Release);
        true
    }

    /// There is nothing left to take of this job.
    pub(crate) fn withdraw(&self, instance: InstanceId) {
        let mut list = self.lock();
        list.retain(|(other, _)| *other != instance);
        self.open.store(list.len(), Ordering::Release);
    }

    /// A job to take part in.
    pub(crate) fn any(&self) -> Option<(InstanceId, Arc<Job>)> {
        if self.open.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.lock().first().cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(InstanceId, Arc<Job>)>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
