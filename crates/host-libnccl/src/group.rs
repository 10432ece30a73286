//! Groups: calls that are collected and enqueued as a unit.

use std::cell::RefCell;

use nccl_sys::ncclResult_t;

use crate::abi::answer;
use crate::enqueue::{Call, enqueue};
use crate::error::{Answer, refuse};

/// What a thread has collected.
#[derive(Default)]
pub(crate) struct Group {
    depth: u32,
    /// The first call that failed: the group is poisoned.
    error: Option<ncclResult_t>,
    pub(crate) calls: Vec<Call>,
    /// What makes communicators: waits for peers, so only at the end.
    pub(crate) jobs: Vec<Job>,
}

/// Something that waits for peers and then hands out a communicator.
pub(crate) type Job = Box<dyn FnOnce() -> Answer>;

thread_local! {
    static GROUP: RefCell<Group> = RefCell::default();
}

fn start() {
    GROUP.with_borrow_mut(|group| group.depth += 1);
}

/// Leaves a level; at the outermost one does what was collected.
fn end() -> Answer {
    let done = GROUP.with_borrow_mut(|group| {
        if group.depth == 0 {
            return refuse(ncclResult_t::ncclInvalidUsage, "ncclGroupEnd: not in a group call.");
        }
        group.depth -= 1;
        Ok(if group.depth == 0 { Some(std::mem::take(group)) } else { None })
    })?;
    let Some(group) = done else { return Ok(()) };
    if let Some(code) = group.error {
        return Err(code);
    }
    // All of them before any error is looked at: peers wait for each.
    let made = group.jobs.into_iter().map(|job| job()).fold(Ok(()), Answer::and);
    made?;
    check_self(&group.calls)?;
    if group.calls.is_empty() {
        return Ok(());
    }
    // SAFETY: whoever makes a call promises this of its buffers, by NCCL's contract: they
    // stay valid, and are used by others only in the order of the streams.
    unsafe { enqueue(&group.calls) }
}

/// Adds to the thread's group, which a call that stands alone is for itself.
pub(crate) fn add(inside: impl FnOnce(&mut Group) -> Answer) -> Answer {
    start();
    let added = GROUP.with_borrow_mut(|group| {
        let added = inside(group);
        if let Err(code) = added {
            group.error.get_or_insert(code);
        }
        added
    });
    added.and(end_after(added))
}

/// The level is left in any case.
fn end_after(added: Answer) -> Answer {
    let ended = end();
    added.and(ended)
}

/// Leaves the thread inside a group, as NCCL does on some early returns.
pub(crate) fn leak_a_level() {
    start();
}

/// A message to oneself needs its other side in the same group.
fn check_self(calls: &[Call]) -> Answer {
    use rankwise_comm::Communicator;
    use rankwise_program::Verb;

    let mut open: Vec<(*const crate::comm::HostComm, i64)> = Vec::new();
    for call in calls {
        let own = call.comm.mock.rank();
        let step = match call.raw.signature.verb() {
            Verb::Send { to } if to == own => 1,
            Verb::Recv { from } if from == own => -1,
            _ => continue,
        };
        let comm = std::sync::Arc::as_ptr(&call.comm);
        match open.iter_mut().find(|(known, _)| *known == comm) {
            Some((_, balance)) => *balance += step,
            None => open.push((comm, step)),
        }
    }
    match open.into_iter().find(|(_, balance)| *balance != 0) {
        None => Ok(()),
        Some((_, balance)) => {
            let (this, other) = if balance > 0 { ("send", "recv") } else { ("recv", "send") };
            let why = format!("Trying to {this} to self without a matching {other}");
            refuse(ncclResult_t::ncclInvalidUsage, why)
        }
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclGroupStart() -> ncclResult_t {
    answer(|| {
        start();
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclGroupEnd() -> ncclResult_t {
    answer(end)
}
