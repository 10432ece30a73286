//! What the ring is made of. Its model check takes the same file with other pieces.

pub(super) use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
pub(super) use std::sync::{Mutex, MutexGuard, PoisonError};
