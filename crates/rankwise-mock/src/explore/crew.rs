//! The threads that run the ranks: one for each, for all runs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::thread;

type Job = Box<dyn FnOnce() + Send>;

/// Threads that do what they are handed, each in its order. They end with this, or when they
/// come back from the last that they were handed.
pub(super) struct Crew(Vec<Sender<Job>>);

impl Crew {
    pub(super) fn new(ranks: u32) -> Self {
        let hand = |_| {
            let (sender, jobs) = channel::<Job>();
            thread::spawn(move || {
                for job in jobs {
                    drop(catch_unwind(AssertUnwindSafe(job)));
                }
            });
            sender
        };
        Self((0..ranks).map(hand).collect())
    }

    /// Hands a job to the thread of a rank.
    pub(super) fn hand(&self, rank: usize, job: impl FnOnce() + Send + 'static) {
        if let Some(sender) = self.0.get(rank) {
            // A thread that is gone cannot come to its step, which is noticed.
            let _ = sender.send(Box::new(job));
        }
    }
}
