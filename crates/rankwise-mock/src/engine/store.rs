//! Storing one block to every output that wants it.

use core::ops::Range;

use super::seat::Span;

/// Whether stores go through the caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stores {
    /// Ordinary stores.
    Cached,
    /// Past the caches: nothing is fetched only to be overwritten, which is worth it
    /// once a job outgrows the caches anyway. Needs a [`fence`](Self::fence).
    Streaming,
}

/// A cache line, and so the alignment at which streaming stores fill whole lines.
const LINE: usize = 64;

impl Stores {
    /// From this many bytes read and written on, an out-of-place job streams; below,
    /// streaming costs a multiple, because what was stored is still in a cache for
    /// whoever reads it next. About the size of a last-level cache.
    const STREAMING_FROM: u64 = 24 << 20;

    /// For a job of `weight` bytes read and written, no output of which is an input.
    pub(super) const fn out_of_place(weight: u64) -> Self {
        let can = cfg!(all(target_arch = "x86_64", not(miri)));
        if can && weight >= Self::STREAMING_FROM { Self::Streaming } else { Self::Cached }
    }

    /// Copies `block` to byte `at` of every target; where it already is, it stays.
    ///
    /// # Safety
    ///
    /// `at..at + block.len()` of every target is inside its span, valid for writes, not
    /// touched by any other thread, and either `block` itself or disjoint from it.
    #[inline]
    pub(super) unsafe fn store(self, block: &[u8], targets: &[Span], at: usize) {
        for target in targets {
            // SAFETY: inside the target's span, by the contract of this function.
            let target = unsafe { target.start().add(at) }.as_ptr();
            if core::ptr::eq(target, block.as_ptr()) {
                continue;
            }
            match self {
                // SAFETY: `block` is readable, the target writable for as many bytes, and
                // the two are disjoint, being not the same; all by the contract.
                Self::Cached => unsafe {
                    target.copy_from_nonoverlapping(block.as_ptr(), block.len());
                },
                // SAFETY: as above, which is all that `stream` asks for.
                Self::Streaming => unsafe { stream(block, target) },
            }
        }
    }

    /// Copies bytes `bytes` of `source` to the same bytes of every target.
    ///
    /// Block by block, so that a block is still in the first cache when it is stored
    /// to the second target.
    ///
    /// # Safety
    ///
    /// - `bytes` lies inside `source`, which is valid for reads and initialised, and
    ///   inside every target, which is valid for writes;
    /// - no other thread touches any of these bytes, but to read the source;
    /// - each target starts where the source does, or is disjoint from it; targets do not
    ///   overlap each other.
    pub(super) unsafe fn copy(self, source: Span, bytes: Range<usize>, targets: &[Span]) {
        const BLOCK: usize = 8 << 10;
        let mut from = bytes.start;
        while from < bytes.end {
            let length = bytes.end.saturating_sub(from).min(BLOCK);
            // SAFETY: inside the source, readable and initialised. A target that is the
            // source itself is not written, the others are disjoint: nothing changes
            // these bytes while they are borrowed.
            let block =
                unsafe { core::slice::from_raw_parts(source.start().add(from).as_ptr(), length) };
            // SAFETY: as promised to this function.
            unsafe { self.store(block, targets, from) };
            from = from.saturating_add(length);
        }
    }

    /// Makes what this thread has stored so far visible with its next release.
    pub(super) fn fence(self) {
        match self {
            Self::Cached => {}
            // Streaming stores are not ordered by a later release: it takes a fence.
            #[cfg(target_arch = "x86_64")]
            // SAFETY: needs SSE, which every x86-64 has.
            Self::Streaming => unsafe { core::arch::x86_64::_mm_sfence() },
            #[cfg(not(target_arch = "x86_64"))]
            Self::Streaming => {}
        }
    }
}

/// Copies `block` to `target`, whole cache lines past the caches.
///
/// # Safety
///
/// `target` is valid for writes of `block.len()` bytes, which are disjoint from `block`.
#[cfg(target_arch = "x86_64")]
unsafe fn stream(block: &[u8], target: *mut u8) {
    use core::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};

    const WIDE: usize = size_of::<__m128i>();
    let head = target.align_offset(LINE).min(block.len());
    let (head, rest) = block.split_at(head);
    let (lines, tail) = rest.as_chunks::<LINE>();
    // SAFETY: `head` is a prefix of the block, so as many bytes are writable.
    unsafe { target.copy_from_nonoverlapping(head.as_ptr(), head.len()) };
    // SAFETY: `head.len()` is at most the block's length.
    let mut target = unsafe { target.add(head.len()) };
    for line in lines {
        for wide in line.as_chunks::<WIDE>().0 {
            // SAFETY: `wide` is 16 readable bytes; the load needs no alignment.
            let bytes = unsafe { _mm_loadu_si128(wide.as_ptr().cast()) };
            // SAFETY: writable, since these are bytes of the block and the target keeps
            // step with them; aligned to 16, since `head` ended at a multiple of 64 (if
            // there is a line after it at all) and every step is 16. The store is made
            // visible by `Stores::fence` before the share is reported as done.
            unsafe { _mm_stream_si128(target.cast(), bytes) };
            // SAFETY: at most one past the bytes of the block.
            target = unsafe { target.add(WIDE) };
        }
    }
    // SAFETY: what is left of the block is writable after what has been written.
    unsafe { target.copy_from_nonoverlapping(tail.as_ptr(), tail.len()) };
}

/// Without streaming stores, a plain copy.
///
/// # Safety
///
/// As above.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn stream(block: &[u8], target: *mut u8) {
    // SAFETY: readable, writable and disjoint by the contract.
    unsafe { target.copy_from_nonoverlapping(block.as_ptr(), block.len()) };
}
