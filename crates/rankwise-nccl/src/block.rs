//! Memory of a device or for copies from and to it, freed when nothing in flight uses it.

use core::ops::Range;
use core::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::result;
use cudarc::driver::sys::CUdeviceptr;
use rankwise_comm::{Error, Fault};

use crate::background;
use crate::device::Device;
use crate::driver::{check, check_room};
use crate::point::Point;
use crate::uses::{Access, Uses};

/// Where an allocation is.
#[derive(Clone, Copy)]
enum Home {
    Device(CUdeviceptr),
    /// Of the host, pinned: a copy from or to it never holds up the calling thread.
    Pinned(NonNull<u8>),
}

// SAFETY: an address, which is dereferenced only through `Block`.
unsafe impl Send for Home {}
// SAFETY: as above.
unsafe impl Sync for Home {}

/// An allocation, and the work in flight that uses it.
///
/// Nothing but work on streams touches the bytes while it lives, and all of that is
/// noted *before* it is enqueued. When the block is dropped, the allocation goes to a
/// thread that frees it once all of it is over. Leaking anything keeps the allocation.
pub(crate) struct Block {
    pub(crate) device: &'static Device,
    home: Home,
    bytes: usize,
    uses: Mutex<Uses>,
}

impl Block {
    /// `bytes` bytes of the device.
    pub(crate) fn on_device(device: &'static Device, bytes: usize) -> Result<Self, Error> {
        let _bound = device.bind()?;
        // The driver refuses to allocate nothing, and NCCL wants a pointer.
        // SAFETY: what the bytes hold is not looked at before it is written, but by the
        // device, for which any bits are an element.
        let found = unsafe { result::malloc_sync(bytes.max(1)) };
        let address = check_room("cuMemAlloc", (bytes, device.ordinal), found)?;
        Ok(Self::new(device, Home::Device(address), bytes))
    }

    /// `bytes` bytes of the host for a copy. They hold zeros.
    pub(crate) fn pinned(device: &'static Device, bytes: usize) -> Result<Self, Error> {
        let _bound = device.bind()?;
        // SAFETY: the bytes are written below, before anybody reads them.
        let found = unsafe { result::malloc_host(bytes.max(1), 0) };
        let start = check_room("cuMemHostAlloc", (bytes, device.ordinal), found)?;
        let Some(start) = NonNull::new(start.cast::<u8>()) else {
            let what = "cuMemHostAlloc gave no address".to_owned();
            return Err(Fault::Internal { what }.into());
        };
        // SAFETY: the allocation has at least so many bytes and is not shared yet.
        unsafe { start.write_bytes(0, bytes) };
        Ok(Self::new(device, Home::Pinned(start), bytes))
    }

    fn new(device: &'static Device, home: Home, bytes: usize) -> Self {
        Self { device, home, bytes, uses: Mutex::default() }
    }

    /// Its length in bytes.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The address of its first byte: the device's or the host's.
    pub(crate) fn address(&self) -> u64 {
        match self.home {
            Home::Device(address) => address,
            // Lossless: CUDA is for machines of 64 bits.
            Home::Pinned(start) => start.as_ptr().expose_provenance() as u64,
        }
    }

    /// The address of a part of it that is `needed` bytes long, if it has that part.
    pub(crate) fn address_of(&self, part: &Range<usize>, needed: usize) -> Result<u64, Error> {
        let fits = part.end <= self.bytes && part.end.checked_sub(part.start) == Some(needed);
        let start = u64::try_from(part.start).ok();
        let address = start.and_then(|start| self.address().checked_add(start));
        address.filter(|_| fits).ok_or_else(|| {
            let bytes = self.bytes;
            let what = format!("{needed} bytes at {part:?} of an allocation of {bytes}");
            Fault::Internal { what }.into()
        })
    }

    fn lock(&self) -> MutexGuard<'_, Uses> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a use on that stream has to come after.
    pub(crate) fn before(
        &self,
        range: &Range<usize>,
        access: Access,
        stream: u64,
    ) -> Vec<Arc<Point>> {
        self.lock().before(range, access, stream)
    }

    /// Notes a use that ends with `point`. To be called before the work is enqueued.
    pub(crate) fn note(&self, range: Range<usize>, access: Access, point: &Arc<Point>) {
        self.lock().note(range, access, point);
    }

    /// Fills a pinned block that no work has used yet; `false` if it cannot be.
    pub(crate) fn fill(&mut self, bytes: &[u8]) -> bool {
        let is_unused = self.lock().is_empty();
        match self.home {
            Home::Pinned(start) if is_unused && bytes.len() == self.bytes => {
                // SAFETY: as many bytes, ours alone: no work uses the block, `&mut` keeps
                // others out, and a slice of the caller's is no part of it.
                unsafe { start.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
                true
            }
            _ => false,
        }
    }

    /// What a pinned block holds, if all the work that used it is over.
    pub(crate) fn contents(&mut self) -> Option<Vec<u8>> {
        let is_over = self.lock().is_over();
        match self.home {
            Home::Pinned(start) if is_over => {
                // SAFETY: so many bytes, which hold zeros since the start or what the
                // device has copied; it is through with them, and `&mut` keeps others out.
                let bytes = unsafe { core::slice::from_raw_parts(start.as_ptr(), self.bytes) };
                Some(bytes.to_vec())
            }
            _ => None,
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let uses = core::mem::take(&mut *self.lock());
        let (device, home) = (self.device, self.home);
        background::free(move || {
            let is_over = uses.is_over();
            if is_over {
                free(device, home);
            }
            is_over
        });
    }
}

/// Frees an allocation. May wait for the whole device.
fn free(device: &Device, home: Home) {
    // If the device cannot be made current its context is gone, and the memory with it.
    let Ok(_bound) = device.bind() else { return };
    let _ = match home {
        // SAFETY: from `cuMemAlloc`, freed once, and no work uses it any more.
        Home::Device(address) => check("cuMemFree", unsafe { result::free_sync(address) }),
        Home::Pinned(start) => {
            // SAFETY: from `cuMemHostAlloc`, not null, freed once, no work uses it.
            check("cuMemFreeHost", unsafe { result::free_host(start.as_ptr().cast()) })
        }
    };
}
