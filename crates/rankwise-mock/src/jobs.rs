//! Jobs that are worth sharing: whoever waits takes part.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rankwise_program::InstanceId;

use crate::engine::{Job, Worked};

/// The jobs that have shares to take.
#[derive(Default)]
pub(crate) struct Jobs {
    /// How many there are, so that looking costs nothing when there are none.
    open: AtomicUsize,
    list: Mutex<Vec<Offer>>,
}

/// A job, and whose it is.
#[derive(Clone)]
pub(crate) struct Offer {
    pub(crate) job: Arc<Job>,
    /// The instance to be finished with it; `None` if whoever has published it sees to that.
    pub(crate) instance: Option<InstanceId>,
}

impl Jobs {
    /// Below this many bytes, waking and sharing cost more than the work.
    const WORTH_SHARING: u64 = 256 << 10;

    /// Offers a job to the waiting ranks; `false` if it is not worth it.
    pub(crate) fn publish(&self, instance: Option<InstanceId>, job: &Arc<Job>) -> bool {
        if job.weight() < Self::WORTH_SHARING {
            return false;
        }
        let mut list = self.lock();
        list.push(Offer { job: Arc::clone(job), instance });
        self.open.store(list.len(), Ordering::Release);
        true
    }

    /// There is nothing left to take of this job.
    pub(crate) fn withdraw(&self, job: &Arc<Job>) {
        let mut list = self.lock();
        list.retain(|other| !Arc::ptr_eq(&other.job, job));
        self.open.store(list.len(), Ordering::Release);
    }

    /// Does a job to its end, with the help of whoever waits.
    pub(crate) fn work_off(&self, job: &Arc<Job>) {
        let shared = self.publish(None, job);
        work_through(job);
        if !shared {
            return;
        }
        self.withdraw(job);
        // Whoever has a share of it is at work, and will soon have done it.
        while !job.is_done() {
            thread::yield_now();
        }
    }

    /// A job to take part in.
    pub(crate) fn any(&self) -> Option<Offer> {
        if self.open.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.lock().first().cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Offer>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Works on a job until there is nothing left to take. Whether this was the end of it.
pub(crate) fn work_through(job: &Job) -> bool {
    loop {
        match job.work() {
            Worked::Nothing => return false,
            Worked::Some => {}
            Worked::Finished => return true,
        }
    }
}
