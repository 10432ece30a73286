//! Host memory that stands for a device's.

use core::ops::Range;
use core::ptr::NonNull;
use core::slice;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rankwise_comm::{DeviceOrdinal, Error, Fault, Memory};

use crate::engine::Span;
use crate::express::Desks;
use crate::hub::{Hub, Rigor};
use crate::table::place;
use crate::uses::Uses;

/// Bytes of the mock. Zero when allocated, poisoned in a
/// [strict world](crate::World::strict); a real device promises nothing.
///
/// Work in flight holds the same bytes: dropping or leaking this frees nothing early.
pub struct HostMemory {
    block: Arc<Block>,
    device: DeviceOrdinal,
    /// Whose items its uses are numbered by.
    world: u64,
    /// Where calls that are over may still hold the bytes.
    desks: Arc<Desks>,
}

impl HostMemory {
    #[allow(unsafe_code)]
    pub(crate) fn new(hub: &Hub, bytes: usize, device: DeviceOrdinal) -> Result<Self, Error> {
        let block = Block::new(bytes).ok_or(Fault::OutOfMemory { bytes, device })?;
        if hub.rigor == Rigor::Strict {
            // SAFETY: nobody else knows the block yet.
            unsafe { block.change(&(0..bytes), Change::Poison) };
        }
        let (world, desks) = (hub.number, Arc::clone(&hub.desks));
        Ok(Self { block: Arc::new(block), device, world, desks })
    }

    /// The bytes, if they belong to that world.
    pub(crate) fn block_of(&self, hub: &Hub) -> Result<&Arc<Block>, Error> {
        if self.world == hub.number {
            return Ok(&self.block);
        }
        let found = "memory of another world".to_owned();
        Err(Fault::Foreign { found, needed: "memory of the communicator's own".to_owned() }.into())
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        // Whatever of its rank's calls is over holds nothing from here on.
        if let Some(mut desk) = self.desks.at(place(self.device.0)) {
            desk.let_go();
        }
    }
}

impl Memory for HostMemory {
    fn bytes(&self) -> usize {
        self.block.layout.size()
    }

    fn device(&self) -> DeviceOrdinal {
        self.device
    }
}

/// A change of bytes that no call makes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    /// These bits of every byte are others.
    Flip(u8),
    /// Every byte is [`POISON`].
    Poison,
}

/// What a strict world puts where nothing has been written: a NaN in every float, and in
/// an integer −1 or its greatest value.
const POISON: u8 = 0xff;

/// One allocation, and who uses which of its bytes.
///
/// The bytes are only touched by items of lanes, and [`Uses`] lets no two items in that
/// touch the same bytes, one of them writing, unless one is ordered before the other.
pub(crate) struct Block {
    start: NonNull<u8>,
    layout: Layout,
    uses: Mutex<Uses>,
}

// SAFETY: a block is plain bytes; the pointer is its own and is not handed out but as
// spans, whose users are ordered by `Uses`.
#[allow(unsafe_code)]
unsafe impl Send for Block {}
// SAFETY: as above; `uses` has a lock of its own.
#[allow(unsafe_code)]
unsafe impl Sync for Block {}

impl Block {
    /// Aligned for vector loads, and so for every element type.
    const ALIGN: usize = 64;

    #[allow(unsafe_code)]
    fn new(bytes: usize) -> Option<Self> {
        let layout = Layout::from_size_align(bytes, Self::ALIGN).ok()?;
        let start = if bytes == 0 {
            NonNull::<[u64; 8]>::dangling().cast()
        } else {
            // SAFETY: the layout has a size other than zero.
            NonNull::new(unsafe { alloc_zeroed(layout) })?
        };
        Some(Self { start, layout, uses: Mutex::default() })
    }

    /// Changes the bytes of `range`; `false` if the block does not reach that far.
    ///
    /// # Safety
    ///
    /// Nobody else reads or writes those bytes meanwhile.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn change(&self, range: &Range<usize>, change: Change) -> bool {
        let Some(span) = self.span(range) else { return false };
        // SAFETY: the span is inside the allocation and initialised (it was zero from the
        // start); the caller promises that nobody else touches it.
        let bytes = unsafe { slice::from_raw_parts_mut(span.start().as_ptr(), span.bytes()) };
        match change {
            Change::Flip(bits) => bytes.iter_mut().for_each(|byte| *byte ^= bits),
            Change::Poison => bytes.fill(POISON),
        }
        true
    }

    pub(crate) fn uses(&self) -> MutexGuard<'_, Uses> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes of `range`, if the block has them.
    #[allow(unsafe_code)]
    pub(crate) fn span(&self, range: &Range<usize>) -> Option<Span> {
        let bytes = range.end.checked_sub(range.start)?;
        if range.end > self.layout.size() {
            return None;
        }
        // SAFETY: `range.start` is at most the size of the one allocation.
        let start = unsafe { self.start.add(range.start) };
        Some(Span::new(start, bytes))
    }

    /// Copies `bytes` to the block, from `at` on; `false` if it does not reach that far.
    ///
    /// # Safety
    ///
    /// Nobody else reads or writes those bytes meanwhile.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn write(&self, at: usize, bytes: &[u8]) -> bool {
        let Some(span) = at.checked_add(bytes.len()).and_then(|end| self.span(&(at..end))) else {
            return false;
        };
        // SAFETY: the span is as long as `bytes` and inside the allocation; the caller
        // promises that nobody else touches it, so `bytes` is not part of it either.
        unsafe { span.start().as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        true
    }

    /// Copies from the block, from `at` on; `false` if it does not reach that far.
    ///
    /// # Safety
    ///
    /// Nobody writes those bytes meanwhile.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn read(&self, at: usize, bytes: &mut [u8]) -> bool {
        let Some(span) = at.checked_add(bytes.len()).and_then(|end| self.span(&(at..end))) else {
            return false;
        };
        // SAFETY: the span is as long as `bytes`, inside the allocation and initialised
        // (it was zero from the start); `bytes` is exclusive and so not part of it.
        unsafe { bytes.as_mut_ptr().copy_from_nonoverlapping(span.start().as_ptr(), bytes.len()) };
        true
    }
}

impl Drop for Block {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        if self.layout.size() > 0 {
            // SAFETY: allocated in `new` with this very layout, and only once.
            unsafe { dealloc(self.start.as_ptr(), self.layout) };
        }
    }
}
