//! Locks that outlive a panic of whoever held them.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Locks. What a panic left behind is as good as what an error would have left.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until `is_done` holds.
pub(crate) fn wait_until<'a, T>(
    changed: &Condvar,
    held: MutexGuard<'a, T>,
    mut is_done: impl FnMut(&mut T) -> bool,
) -> MutexGuard<'a, T> {
    changed.wait_while(held, |value| !is_done(value)).unwrap_or_else(PoisonError::into_inner)
}
