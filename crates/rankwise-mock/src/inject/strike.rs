//! How a fault strikes a call.

use core::task::{Context, Poll};
use core::time::Duration;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use rankwise_comm::{
    Communicator, Completion, Error, ErrorKind, Fault as Refusal, Fence, Post, Stream as _,
};
use rankwise_model::Rank;

use super::{Fault, Injection};
use crate::comm::Comm;
use crate::explore::Step;
use crate::hub::Changes;
use crate::memory::Change;
use crate::uses::What;

/// Makes the calls of one submission, and whatever goes wrong in them.
///
/// What befalls one call of a group befalls the group, where it is about time or life: the
/// whole group comes later, waits, or is not made. Calls are lost and made twice one by
/// one; the second of two comes after the group.
pub(crate) fn submit(injection: &Injection, posts: &[Post<'_, Comm>]) -> Result<(), Error> {
    let mut made: Vec<&Post<'_, Comm>> = Vec::with_capacity(posts.len());
    let (mut again, mut after) = (Vec::new(), Vec::new());
    for post in posts {
        let comm = post.comm();
        let (number, faults) = injection.next_call(comm.world_rank(), comm.id(), comm.name());
        let mut lost = false;
        for fault in faults {
            match fault {
                Fault::Kill => return Err(kill(comm, number)),
                Fault::Delay(_) | Fault::InProgress(_) if comm.hub().baton.is_some() => {}
                Fault::Delay(time) => thread::sleep(*time),
                Fault::Drop => lost = true,
                Fault::Duplicate => again.push(post),
                Fault::InProgress(time) => {
                    let busy = Busy { until: Instant::now().checked_add(*time) };
                    post.stream().wait_for(&Fence::new(Arc::new(busy), 0))?;
                }
                Fault::Corrupt { .. } | Fault::LateError(_) => after.push((post, fault)),
            }
        }
        if !lost {
            made.push(post);
        }
    }
    crate::submit::submit(&made)?;
    for post in again {
        crate::submit::submit(&[post])?;
    }
    for (post, fault) in after {
        match fault {
            Fault::Corrupt { element, bit } => corrupt(post, *element, *bit)?,
            Fault::LateError(text) => {
                let error = Refusal::Library {
                    function: post.call().signature().verb().name(),
                    code: 1,
                    text: text.clone(),
                    blames: ErrorKind::Device,
                };
                post.stream().wait_for(&Fence::new(Arc::new(Broken(error.into())), 0))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// The rank is gone: what it has enqueued is taken back where it is not being done.
fn kill(comm: &Comm, number: u64) -> Error {
    let how = format!("killed on request, before its call {number}");
    let (rank, communicator): (Rank, _) = (comm.rank(), comm.name().to_owned());
    let error = Error::from(Refusal::Closed { rank, communicator, how: how.clone() });
    let hub = comm.hub();
    // Given up or not, it is killed.
    let _ = hub.turn(Step::Abort);
    let (mut state, mut changes) = (hub.lock(), Changes::default());
    state.kill(comm.world_rank(), &how, &error, &mut changes);
    hub.settle(state, changes);
    error
}

/// Flips a bit of the call's output, behind the call.
fn corrupt(post: &Post<'_, Comm>, element: u64, bit: u32) -> Result<(), Error> {
    let call = post.call();
    let (Some(part), width) = (call.output(), call.dtype().bytes()) else { return Ok(()) };
    let offset = element.checked_mul(width).and_then(|at| at.checked_add(u64::from(bit) / 8));
    let at =
        offset.and_then(|offset| part.bytes().start.checked_add(usize::try_from(offset).ok()?));
    let Some(at) = at.filter(|at| *at < part.bytes().end && u64::from(bit) / 8 < width) else {
        return Ok(());
    };
    let end = at.saturating_add(1);
    post.stream().change(part.memory(), at..end, Change::Flip(1 << (bit % 8)), What::Injected)
}

/// A device that is busy until some time.
struct Busy {
    /// Never again, if there is no such time.
    until: Option<Instant>,
}

impl Busy {
    fn left(&self) -> Duration {
        self.until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()))
    }
}

impl Completion for Busy {
    fn is_done(&self, _ticket: u64) -> bool {
        self.left().is_zero()
    }

    fn wait(&self, _ticket: u64, _deadline: Option<Instant>) -> Result<(), Error> {
        thread::sleep(self.left());
        Ok(())
    }

    fn poll(&self, _ticket: u64, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let left = self.left();
        if left.is_zero() {
            return Poll::Ready(Ok(()));
        }
        // Nobody else keeps the time, and this happens on request only.
        let waker = cx.waker().clone();
        thread::spawn(move || {
            thread::sleep(left);
            waker.wake();
        });
        Poll::Pending
    }
}

/// A device that has failed.
struct Broken(Error);

impl Completion for Broken {
    fn is_done(&self, _ticket: u64) -> bool {
        true
    }

    fn wait(&self, _ticket: u64, _deadline: Option<Instant>) -> Result<(), Error> {
        Err(self.0.clone())
    }

    fn poll(&self, _ticket: u64, _cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Err(self.0.clone()))
    }
}
