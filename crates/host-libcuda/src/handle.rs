//! Handles: numbers that look like pointers, and what they stand for.
//!
//! A handle is never dereferenced and never issued twice, so that a stale one, or
//! one of another kind, is refused rather than followed.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Mutex};

use crate::abi::{Answer, CUresult};
use crate::lock::lock;

/// Handles are this far apart, as if something stood between them.
const STRIDE: usize = 0x10;

/// Everything of one kind that a handle can name.
pub(crate) struct Handles<T> {
    first: usize,
    issued: Mutex<Issued<T>>,
}

struct Issued<T> {
    so_far: usize,
    alive: HashMap<usize, Arc<T>>,
}

impl<T> Handles<T> {
    /// None yet. Handles of different kinds start at different places.
    pub(crate) fn starting_at(first: usize) -> Self {
        Self { first, issued: Mutex::new(Issued { so_far: 0, alive: HashMap::new() }) }
    }

    /// Issues a handle for a new thing.
    pub(crate) fn issue(&self, thing: Arc<T>) -> *mut c_void {
        let mut issued = lock(&self.issued);
        let handle = self.first + STRIDE * issued.so_far;
        issued.so_far += 1;
        issued.alive.insert(handle, thing);
        ptr::without_provenance_mut(handle)
    }

    /// What the handle names, if it still does.
    pub(crate) fn get(&self, handle: *mut c_void) -> Answer<Arc<T>> {
        lock(&self.issued).alive.get(&handle.addr()).cloned().ok_or(CUresult::INVALID_HANDLE)
    }

    /// Ends the handle.
    pub(crate) fn take(&self, handle: *mut c_void) -> Answer<Arc<T>> {
        lock(&self.issued).alive.remove(&handle.addr()).ok_or(CUresult::INVALID_HANDLE)
    }

    /// Ends the handles of all things that answer no.
    pub(crate) fn retain(&self, mut keep: impl FnMut(&T) -> bool) {
        lock(&self.issued).alive.retain(|_, thing| keep(thing));
    }
}
