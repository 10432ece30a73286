//! Ending a rank's part from anywhere.

use core::fmt;
use std::sync::Arc;

/// What a backend does when a communicator is to end at once.
pub trait Abort: Send + Sync {
    /// Ends this rank's part: its own waits end with an error, nothing more of it is
    /// started, and its peers learn that it has left. Calling it again changes nothing.
    fn abort(&self, reason: &str);
}

/// Ends a rank's part of a communicator: from another thread, a signal handler's
/// thread, a watchdog.
///
/// It does not keep the communicator alive; once that is gone it does nothing.
#[derive(Clone)]
pub struct AbortHandle(Arc<dyn Abort>);

impl AbortHandle {
    /// A handle on what a backend does.
    pub fn new(abort: Arc<dyn Abort>) -> Self {
        Self(abort)
    }

    /// Ends this rank's part; the peers are told `reason`.
    pub fn abort(&self, reason: &str) {
        self.0.abort(reason);
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AbortHandle")
    }
}
