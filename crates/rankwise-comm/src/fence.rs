//! Points in a stream that can be waited for.

use core::any::Any;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use crate::error::Error;

/// How a backend waits for its work; a ticket numbers a piece of it.
pub trait Completion: Any + Send + Sync {
    /// Whether the piece of work is over, successfully or not. Never blocks.
    fn is_done(&self, ticket: u64) -> bool;

    /// Blocks until it is over, or until the deadline.
    fn wait(&self, ticket: u64, deadline: Option<Instant>) -> Result<(), Error>;

    /// The same without blocking: `cx` is woken when it is over.
    fn poll(&self, ticket: u64, cx: &mut Context<'_>) -> Poll<Result<(), Error>>;

    /// A task that has polled gives up before it was over. For a backend that keeps
    /// count of who waits; nothing depends on its being called.
    fn stop_waiting(&self, _ticket: u64) {}
}

/// A point in a stream: everything enqueued before it was taken, and nothing after.
///
/// It can be waited for, awaited (dropping the future cancels the waiting only), or
/// handed to [`Stream::wait_for`](crate::Stream::wait_for). It owns no bytes: leaking
/// or dropping it changes nothing.
pub struct Fence {
    completion: Arc<dyn Completion>,
    ticket: u64,
    /// It has been polled, and was not over.
    polled: bool,
}

impl Fence {
    /// The point `ticket` of a backend's work.
    pub fn new(completion: Arc<dyn Completion>, ticket: u64) -> Self {
        Self { completion, ticket, polled: false }
    }

    /// Whether it has been passed. Never blocks.
    pub fn is_done(&self) -> bool {
        self.completion.is_done(self.ticket)
    }

    /// Blocks until it has been passed.
    pub fn wait(&self) -> Result<(), Error> {
        self.completion.wait(self.ticket, None)
    }

    /// Blocks until it has been passed, or until the deadline.
    pub fn wait_until(&self, deadline: Instant) -> Result<(), Error> {
        self.completion.wait(self.ticket, Some(deadline))
    }

    /// Blocks until it has been passed, at most for `within`.
    pub fn wait_within(&self, within: Duration) -> Result<(), Error> {
        self.completion.wait(self.ticket, Instant::now().checked_add(within))
    }

    /// What waits for it: how a backend recognises its own.
    pub fn completion(&self) -> &Arc<dyn Completion> {
        &self.completion
    }

    /// The piece of work.
    pub const fn ticket(&self) -> u64 {
        self.ticket
    }
}

impl Future for Fence {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = self.completion.poll(self.ticket, cx);
        self.polled = polled.is_pending();
        polled
    }
}

impl Clone for Fence {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.completion), self.ticket)
    }
}

impl Drop for Fence {
    fn drop(&mut self) {
        if self.polled {
            self.completion.stop_waiting(self.ticket);
        }
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fence({})", self.ticket)
    }
}
