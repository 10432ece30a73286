//! Where one rank's sides of a collective lie in memory.

use core::ptr::NonNull;

use rankwise_model::{Element, Scalar};

/// A run of bytes at an address: one side of one rank.
///
/// Only a pointer and a length. It borrows nothing, and whether the bytes may be
/// touched is the promise of whoever hands it to [`Job::new`](super::Job::new).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a span by itself dereferences nothing. Only a `Job` does, and its constructor
// has its caller promise that the bytes may be touched from any thread.
unsafe impl Send for Span {}
// SAFETY: as above; a shared span gives away an address and a length.
unsafe impl Sync for Span {}

impl Span {
    /// `bytes` bytes from `start` on. `start` may dangle if there are none.
    pub const fn new(start: NonNull<u8>, bytes: usize) -> Self {
        Self { start, bytes }
    }

    /// The memory of a slice, which the span does *not* borrow.
    pub const fn of<T: Element>(memory: &mut [T]) -> Self {
        let bytes = size_of_val(memory);
        Self { start: NonNull::from_mut(memory).cast(), bytes }
    }

    /// The first byte.
    pub const fn start(self) -> NonNull<u8> {
        self.start
    }

    /// The length in bytes.
    pub const fn bytes(self) -> usize {
        self.bytes
    }

    /// The address of the first byte.
    pub(super) fn address(self) -> usize {
        self.start.addr().get()
    }

    /// `bytes` bytes from byte `from` on, if the span has them.
    pub(super) fn part(self, from: usize, bytes: usize) -> Option<Self> {
        let end = from.checked_add(bytes)?;
        if end > self.bytes {
            return None;
        }
        let address = self.start.addr().checked_add(from)?;
        Some(Self { start: self.start.with_addr(address), bytes })
    }
}

/// One rank's part in a collective.
///
/// A side that the operation does not use on this rank (the input of a rank that is not
/// the broadcast's root, say) may be given or not: it is neither read nor written. A
/// span may be longer than its side; what is beyond is not touched either.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seat {
    /// What the rank contributes.
    pub input: Option<Span>,
    /// Where its result goes.
    pub output: Option<Span>,
    /// Its factor in a pre-multiplied sum, of the element type; `None` otherwise.
    pub scalar: Option<Scalar>,
}
