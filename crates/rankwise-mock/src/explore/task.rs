//! A rank that is a task.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::thread;

use super::baton::Baton;
use crate::waits::Unpark;

/// Drives a future to its end on this thread, which runs a rank.
///
/// In an [`Exploration`](super::Exploration) other ranks have their turns while it is not
/// ready; elsewhere the thread is parked.
///
/// ```
/// use rankwise_comm::prelude::*;
/// use rankwise_mock::{Exploration, block_on};
///
/// let explored = Exploration::of(2).run(|comm| {
///     block_on(async {
///         let mut x = comm.buffer::<i32>(1)?;
///         comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
///         comm.stream().fence()?.await
///     })
/// });
/// assert!(explored.is_complete() && explored.failure().is_none());
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    if let Some(baton) = Baton::current() {
        while let Some(waker) = baton.waker() {
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return output;
            }
            if baton.sleep(false).is_err() {
                break; // given up: what it awaits of its communicators is ready from now on
            }
        }
    }
    let waker = Waker::from(Unpark::this());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        thread::park();
    }
}
