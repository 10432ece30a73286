//! Groups: calls that are collected and enqueued as a unit.

use std::cell::RefCell;
use std::sync::Arc;

use nccl_sys::{ncclResult_t, ncclSimInfo_t};
use rankwise_comm::Communicator;

use crate::abi::answer;
use crate::comm::HostComm;
use crate::cuda;
use crate::enqueue::{Call, enqueue};
use crate::error::{Answer, refuse};
use crate::family::Patience;
use crate::signal::Act;

/// What a thread has collected.
#[derive(Default)]
pub(crate) struct Group {
    depth: u32,
    /// The first call that failed: the group is poisoned.
    error: Option<ncclResult_t>,
    pub(crate) calls: Vec<Call>,
    pub(crate) acts: Vec<Act>,
    /// What makes and ends communicators: waits for peers, so only at the end.
    pub(crate) jobs: Vec<Job>,
}

/// Something that waits for peers.
pub(crate) struct Job {
    /// Whose state says that it is not over yet, if that does not block.
    pub(crate) not_blocking: Option<Arc<HostComm>>,
    pub(crate) run: Run,
}

/// Does what is to be done once the peers have come. `None`: there is more to do, be it
/// that one only looks and they have not come, or that they have to come once more. It is
/// not called again after anything else.
pub(crate) type Run = Box<dyn FnMut(Patience) -> Option<Ran> + Send>;

/// What became of it: nothing wrong, or a code and its words.
pub(crate) type Ran = Result<(), (ncclResult_t, String)>;

thread_local! {
    static GROUP: RefCell<Group> = RefCell::default();
}

fn start() {
    GROUP.with_borrow_mut(|group| group.depth += 1);
}

/// Leaves a level; at the outermost one hands out what was collected.
fn leave() -> Answer<Option<Group>> {
    GROUP.with_borrow_mut(|group| {
        if group.depth == 0 {
            return refuse(ncclResult_t::ncclInvalidUsage, "ncclGroupEnd: not in a group call.");
        }
        group.depth -= 1;
        Ok(if group.depth == 0 { Some(std::mem::take(group)) } else { None })
    })
}

/// Leaves a level; at the outermost one does what was collected.
fn end() -> Answer {
    let Some(group) = leave()? else { return Ok(()) };
    if let Some(code) = group.error {
        return Err(code);
    }
    check_mixed(&group)?;
    check_events(&group.calls)?;
    check_self(&group.calls)?;
    let mut is_in_progress = false;
    let mut runs = Vec::new();
    for job in group.jobs {
        match job.not_blocking {
            Some(comm) => {
                comm.begin(Some(job.run));
                is_in_progress = true;
            }
            None => runs.push(job.run),
        }
    }
    finish(runs)?;
    if !group.calls.is_empty() {
        // SAFETY: whoever makes a call promises this of its buffers, by NCCL's contract:
        // they stay valid, and are used by others only in the order of the streams.
        unsafe { enqueue(&group.calls) }?;
    }
    for call in &group.calls {
        if !call.event.is_null() {
            cuda::record(call.event, call.stream)?;
        }
        is_in_progress |= begin_if_not_blocking(&call.comm);
    }
    for act in group.acts {
        is_in_progress |= begin_if_not_blocking(act.comm());
        act.launch()?;
    }
    if is_in_progress { Err(ncclResult_t::ncclInProgress) } else { Ok(()) }
}

/// Waits for all of them, and then for the first error: peers wait for each.
fn finish(mut runs: Vec<Run>) -> Answer {
    let mut outcome = Ok(());
    let mut hear = |ran: Ran| {
        if let (Ok(()), Err((code, text))) = (outcome, ran) {
            outcome = refuse(code, text);
        }
    };
    while !runs.is_empty() {
        let before = runs.len();
        // One thread may drive several ranks that wait for each other: each is brought as
        // far as it can go before any is waited for.
        runs.retain_mut(|run| match run(Patience::Look) {
            None => true,
            Some(ran) => {
                hear(ran);
                false
            }
        });
        if runs.len() < before {
            continue;
        }
        if let Some(ran) = runs.first_mut().and_then(|run| run(Patience::Wait)) {
            hear(ran);
            drop(runs.remove(0));
        }
    }
    outcome
}

/// A communicator that does not block is in progress after a call, as NCCL's is; of one
/// rank it is not, there being nobody to connect to.
fn begin_if_not_blocking(comm: &HostComm) -> bool {
    let begins = !comm.settings.is_blocking && comm.size() > 1;
    if begins {
        comm.begin(None);
    }
    begins
}

/// Communicators that block and such that do not cannot be made in one group.
fn check_mixed(group: &Group) -> Answer {
    let not_blocking = group.jobs.iter().filter(|job| job.not_blocking.is_some()).count();
    if not_blocking == 0 || not_blocking == group.jobs.len() {
        return Ok(());
    }
    let why = "Blocking and nonblocking communicators are not allowed in the same group";
    refuse(ncclResult_t::ncclInvalidArgument, why)
}

/// At most one event of a communicator can say that the group has been launched.
fn check_events(calls: &[Call]) -> Answer {
    for (at, call) in calls.iter().enumerate().filter(|(_, call)| !call.event.is_null()) {
        let before = &calls[..at];
        if before.iter().any(|one| Arc::ptr_eq(&one.comm, &call.comm) && !one.event.is_null()) {
            let why = "more than one launchCompletionEvent of a communicator in a group";
            return refuse(ncclResult_t::ncclInvalidUsage, why);
        }
    }
    Ok(())
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
    use rankwise_program::Verb;

    let mut open: Vec<(*const HostComm, i64)> = Vec::new();
    for call in calls {
        let own = call.comm.mock.rank();
        let step = match call.raw.signature.verb() {
            Verb::Send { to } if to == own => 1,
            Verb::Recv { from } if from == own => -1,
            _ => continue,
        };
        let comm = Arc::as_ptr(&call.comm);
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
    answer("ncclGroupStart", || {
        start();
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclGroupEnd() -> ncclResult_t {
    answer("ncclGroupEnd", end)
}

/// Ends a group of which nothing is done. No time is estimated: there is no device whose
/// time it could be, and zero is said.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclGroupSimulateEnd(info: *mut ncclSimInfo_t) -> ncclResult_t {
    /// What the header writes out.
    const MAGIC: u32 = 0x7468_5283;
    answer("ncclGroupSimulateEnd", || {
        let Some(group) = leave()? else { return Ok(()) };
        if let Some(code) = group.error {
            return Err(code);
        }
        if info.is_null() {
            return Ok(());
        }
        // SAFETY: not null, and then the caller's structure, by the contract of this call.
        let info = unsafe { &mut *info };
        if info.magic != MAGIC {
            let why = "ncclSimInfo_t argument not initialized via NCCL_SIM_INFO_INITIALIZER";
            return refuse(ncclResult_t::ncclInvalidArgument, why);
        }
        info.estimatedTime = 0.0;
        Ok(())
    })
}
