//! A block of host memory between two guards.
//!
//! Fresh memory, freed memory and guards hold three different patterns, none of
//! them zero: who reads what was never written gets a large wrong number, and who
//! wrote outside is found out when the block is freed or forgotten.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::slice;

use crate::abi::{Answer, CUresult};

/// Blocks start at a multiple of this, and so much guard is on either side.
pub(crate) const ALIGNMENT: usize = 256;

/// What a new block holds: about -2.6e36 as `f32` and `bf16`, -65376 as `f16`.
const FRESH: u8 = 0xfb;
/// What a freed block holds.
const FREED: u8 = 0xdd;
const GUARD: u8 = 0xfd;

/// The block, owned.
pub(crate) struct Block {
    base: NonNull<u8>,
    layout: Layout,
    pub(crate) bytes: usize,
}

// SAFETY: a block is plain memory, and only its owner frees it. Who may touch which
// bytes when is settled by `Span::begin`.
unsafe impl Send for Block {}
// SAFETY: as above; `&Block` gives out addresses, not references.
unsafe impl Sync for Block {}

impl Block {
    /// A block of that many bytes, which hold nothing in particular.
    pub(crate) fn new(bytes: usize) -> Answer<Self> {
        let size = bytes.checked_add(2 * ALIGNMENT).ok_or(CUresult::OUT_OF_MEMORY)?;
        let layout = Layout::from_size_align(size, ALIGNMENT);
        let layout = layout.map_err(|_| CUresult::OUT_OF_MEMORY)?;
        // SAFETY: the layout has a size, that of the guards at least.
        let base = NonNull::new(unsafe { alloc(layout) }).ok_or(CUresult::OUT_OF_MEMORY)?;
        let block = Self { base, layout, bytes };
        // SAFETY: `base` is valid for `layout.size()` bytes, which are the two guards
        // and the bytes between them; nobody else knows of it yet.
        unsafe {
            base.write_bytes(GUARD, ALIGNMENT);
            block.start().write_bytes(FRESH, bytes);
            block.start().add(bytes).write_bytes(GUARD, ALIGNMENT);
        }
        Ok(block)
    }

    /// Where the block starts, behind its first guard.
    pub(crate) fn start(&self) -> *mut u8 {
        // SAFETY: the first guard is within the allocation.
        unsafe { self.base.add(ALIGNMENT) }.as_ptr()
    }

    /// Whether nobody has written outside.
    ///
    /// Who does so at this moment is too late to be caught, and is the only one who
    /// can disturb the reading: guards are written nowhere but in [`new`](Self::new).
    pub(crate) fn guards_are_intact(&self) -> bool {
        // SAFETY: both guards are within the allocation and were written by `new`.
        let guards = unsafe {
            [
                slice::from_raw_parts(self.base.as_ptr(), ALIGNMENT),
                slice::from_raw_parts(self.start().add(self.bytes), ALIGNMENT),
            ]
        };
        guards.iter().all(|guard| guard.iter().all(|byte| *byte == GUARD))
    }

    /// Makes every later reader notice.
    ///
    /// # Safety
    ///
    /// Nobody reads or writes the block at this time.
    pub(crate) unsafe fn poison(&self) {
        // SAFETY: the block is valid for its bytes, and it is ours alone by contract.
        unsafe { self.start().write_bytes(FREED, self.bytes) };
    }

    /// Whether nobody has written into it since it was poisoned.
    ///
    /// # Safety
    ///
    /// The block was poisoned, and nobody is known to write it at this time.
    pub(crate) unsafe fn is_still_poisoned(&self) -> bool {
        // SAFETY: the block is valid for its bytes, all of them initialised by `new`.
        let bytes = unsafe { slice::from_raw_parts(self.start(), self.bytes) };
        bytes.iter().all(|byte| *byte == FREED)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and freed only here.
        unsafe { dealloc(self.base.as_ptr(), self.layout) };
    }
}
