//! What the ring is made of. Its model check takes the same file with other pieces.

pub(super) use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A place that one thread at a time may use, as its users see to.
pub(super) struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub(super) const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }

    /// Where it is, to be read.
    pub(super) fn with<R>(&self, look: impl FnOnce(*const T) -> R) -> R {
        look(self.0.get())
    }

    /// Where it is, to be written.
    pub(super) fn with_mut<R>(&self, change: impl FnOnce(*mut T) -> R) -> R {
        change(self.0.get())
    }
}
