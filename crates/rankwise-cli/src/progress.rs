//! A sign of life on the terminal when something takes long.

use std::io::IsTerminal as _;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How long nothing is shown.
const PATIENCE: Duration = Duration::from_secs(1);

/// While it lives, says on standard error what is going on: from the first second
/// on, on a terminal only. Leaves nothing behind.
#[must_use]
pub(crate) struct Progress {
    shown: Option<(Sender<()>, JoinHandle<()>)>,
}

/// Whether progress may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Showing {
    /// On a terminal.
    Allowed,
    /// Nowhere.
    Forbidden,
}

impl Progress {
    /// Starts the clock of `what`, such as "reading arrays".
    pub(crate) fn start(showing: Showing, what: &'static str) -> Self {
        if showing == Showing::Forbidden || !std::io::stderr().is_terminal() {
            return Self { shown: None };
        }
        let (done, waiting) = channel::<()>();
        let spawned = std::thread::Builder::new().spawn(move || {
            // The sender says nothing; it is dropped when the work is done.
            if waiting.recv_timeout(PATIENCE) != Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            bar.set_style(ProgressStyle::default_spinner());
            bar.set_message(what);
            bar.enable_steady_tick(Duration::from_millis(120));
            let _ = waiting.recv();
            bar.finish_and_clear();
        });
        // Without a thread there is no sign of life, and the work goes on all the same.
        Self { shown: spawned.ok().map(|thread| (done, thread)) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((done, thread)) = self.shown.take() {
            drop(done);
            // A panic over there has printed itself; it must not become a second one here.
            let _ = thread.join();
        }
    }
}
