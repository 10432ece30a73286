//! How results are stored.

use super::width::Line;

/// Whether stores go through the caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stores {
    /// Ordinary stores.
    Cached,
    /// Past the caches: nothing is fetched only to be overwritten, which is worth it
    /// once a job outgrows the caches anyway. Needs a [`fence`](Self::fence).
    Streaming,
}

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

    /// Stores a group at `to`: line by line past the caches, if it streams and lines begin
    /// there.
    ///
    /// # Safety
    ///
    /// - `to` is valid for writes of as many bytes as `G` has, an array of numbers that is
    ///   a whole number of lines long; no other thread touches them;
    /// - the processor has what `L` needs.
    #[inline(always)]
    pub(super) unsafe fn store<L: Line, G: Copy>(self, group: G, to: *mut u8) {
        const LINE: usize = size_of::<[u64; 8]>();
        if self == Self::Cached || !to.addr().is_multiple_of(LINE) {
            // SAFETY: valid for writes by the contract; unaligned, so aligned enough.
            unsafe { to.cast::<G>().write_unaligned(group) };
            return;
        }
        let lines = const { size_of::<G>() / LINE };
        for line in 0..lines {
            // SAFETY: numbers have no padding, so the bytes of the group are initialised
            // and any bits are a line; there are so many lines in it.
            let bytes = unsafe { (&raw const group).cast::<[u64; 8]>().add(line).read_unaligned() };
            // SAFETY: a line from the beginning of a line, inside the bytes of the contract;
            // the processor is handed on.
            unsafe { L::stream(bytes, to.add(line.wrapping_mul(LINE))) };
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
