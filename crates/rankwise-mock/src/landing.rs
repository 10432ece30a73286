//! Where bytes for the host arrive.

use std::sync::{Mutex, PoisonError};

/// Where bytes for the host arrive: filled by an item, emptied by the host.
#[derive(Debug)]
pub(crate) struct Landing(Mutex<Vec<u8>>);

impl Landing {
    pub(crate) fn new(bytes: usize) -> Self {
        Self(Mutex::new(vec![0; bytes]))
    }

    pub(crate) fn fill<R>(&self, fill: impl FnOnce(&mut [u8]) -> R) -> R {
        fill(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn take(&self) -> Vec<u8> {
        core::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
