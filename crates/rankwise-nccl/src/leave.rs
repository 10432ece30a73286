//! How a rank leaves: never waiting for peers, never killing work silently.

use core::time::Duration;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Instant;

use rankwise_comm::Error;

use crate::handle::Handle;
use crate::point::Point;

/// How long work that was enqueued before the handle was dropped may still take.
const LINGER: Duration = Duration::from_secs(30);

/// How long `close` waits for NCCL to tidy up, for which it may need the peers.
const TIDYING: Duration = Duration::from_millis(100);

/// The handle has been dropped: leaves on a thread of its own.
pub(crate) fn leave(handle: &Arc<Handle>, ends: Vec<Arc<Point>>) {
    if handle.is_ended() {
        return;
    }
    let leaving = Arc::clone(handle);
    in_background(handle, move || {
        let deadline = Instant::now().checked_add(LINGER);
        match ends.iter().try_for_each(|end| end.wait_until(deadline)) {
            Ok(()) => end_well(&leaving),
            Err(error) => leaving.abort(&format!("dropped, and then {error}")),
        }
    });
}

/// Waits for what was enqueued, then leaves.
pub(crate) fn close(
    handle: &Arc<Handle>,
    ends: &[Arc<Point>],
    within: Duration,
) -> Result<(), Error> {
    if handle.is_ended() {
        return handle.failure().map_or(Ok(()), Err);
    }
    let deadline = Instant::now().checked_add(within);
    let waited = ends.iter().try_for_each(|end| end.wait_until(deadline));
    if let Err(error) = waited.and_then(|()| handle.failure().map_or(Ok(()), Err)) {
        handle.abort(&format!("closed, and then {error}"));
        return Err(error);
    }
    let (done, tidied) = mpsc::channel();
    let leaving = Arc::clone(handle);
    in_background(handle, move || {
        end_well(&leaving);
        let _ = done.send(());
    });
    // Everything is done; NCCL's own farewell may need peers who have not come yet.
    let _ = tidied.recv_timeout(within.min(TIDYING));
    Ok(())
}

/// Finalizes and destroys: on a thread that may wait for peers, and that ends afterwards,
/// since NCCL can leave a thread inside a group.
fn end_well(handle: &Handle) {
    if let Some(error) = handle.failure() {
        handle.abort(&error.to_string());
        return;
    }
    let Some(owned) = handle.take(LINGER) else {
        // Gone already, or somebody is stuck in a call that no peer answers.
        handle.abort("left, with a call that no peer answers");
        return;
    };
    match owned.finalize() {
        Ok(()) => drop(owned.destroy()),
        Err(_) => owned.abort(),
    }
}

fn in_background(handle: &Handle, work: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().name("rankwise-nccl leaves".to_owned());
    if thread.spawn(work).is_err() {
        handle.abort("no thread could be had to leave on");
    }
}
