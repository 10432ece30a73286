//! Nothing may hang: a test runs under a deadline, and says so when it passes.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Runs `test` in a thread of its own, at most for half a minute.
#[track_caller]
pub(crate) fn in_time<R: Send + 'static>(test: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, ended) = mpsc::channel();
    let thread = thread::spawn(move || {
        let result = test();
        let _ = done.send(());
        result
    });
    match ended.recv_timeout(Duration::from_secs(30)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("still waiting after half a minute"),
        // Done, or unwound: joining says which.
        Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        },
    }
}
