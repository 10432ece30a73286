//! Streams: work of a device in order.

use core::any::Any;
use core::fmt;
use core::ops::Range;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::result::{self, stream::StreamKind};
use cudarc::driver::sys::{self, CUevent_wait_flags, CUstream};
use rankwise_comm::{Dyn, Error, Fault, Fence, Pending, View, ViewMut};

use crate::block::Block;
use crate::device::Device;
use crate::driver::check;
use crate::ends::Ends;
use crate::handle::Handle;
use crate::memory::DeviceMemory;
use crate::point::{Passing, Point};
use crate::uses::Access;

/// Work of one device that runs in the order in which it was enqueued.
///
/// It does not wait for the device's null stream, nor is it waited for. Dropping it
/// gives up nothing: what was enqueued is still done.
pub struct Stream {
    pub(crate) queue: Arc<Queue>,
}

/// A stream of CUDA.
pub(crate) struct Queue {
    pub(crate) device: &'static Device,
    /// Tells it from every other of the process, also from those that are gone.
    pub(crate) number: u64,
    raw: CUstream,
    /// Whose work has been enqueued here, or is waited for.
    handles: Mutex<Vec<Arc<Handle>>>,
    /// Of the communicator that has made it, which waits for these copies before it ends.
    ends: Arc<Ends>,
}

// SAFETY: streams are not bound to a thread, and the driver locks what it does with one.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Queue {
    fn new(device: &'static Device, ends: &Arc<Ends>) -> Result<Arc<Self>, Error> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let _bound = device.bind()?;
        let raw = check("cuStreamCreate", result::stream::create(StreamKind::NonBlocking))?;
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let ends = Arc::clone(ends);
        Ok(Arc::new(Self { device, number, raw, handles: Mutex::default(), ends }))
    }

    /// CUDA's stream, alive for as long as `self`.
    pub(crate) const fn raw(&self) -> CUstream {
        self.raw
    }

    fn handles(&self) -> MutexGuard<'_, Vec<Arc<Handle>>> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on, what is enqueued here may come after work of that communicator.
    pub(crate) fn involve(&self, handle: &Arc<Handle>) {
        let mut handles = self.handles();
        handles.retain(|known| !known.is_over());
        if !handles.iter().any(|known| Arc::ptr_eq(known, handle)) {
            handles.push(Arc::clone(handle));
        }
    }

    /// A point that is yet to be recorded.
    pub(crate) fn point(&self) -> Result<Arc<Point>, Error> {
        let handles = self.handles().clone();
        Point::new(self, handles)
    }

    /// What comes next starts after `point`.
    pub(crate) fn follow(&self, point: &Point) -> Result<(), Error> {
        if point.stream == self.number {
            return Ok(());
        }
        let Some((event, handles)) = point.to_wait_for() else { return Ok(()) };
        for handle in handles {
            self.involve(handle);
        }
        let _bound = self.device.bind()?;
        let flags = CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: both are alive: `self` and `point` destroy them when they are dropped.
        let waits = unsafe { result::stream::wait_event(self.raw, event, flags) };
        check("cuStreamWaitEvent", waits)
    }

    /// What comes next starts after whatever a use of these bytes must come after.
    pub(crate) fn follow_uses(
        &self,
        block: &Block,
        bytes: &Range<usize>,
        access: Access,
    ) -> Result<(), Error> {
        let before = block.before(bytes, access, self.number);
        before.iter().try_for_each(|point| self.follow(point))
    }

    /// Enqueues a copy between a part of a device's memory and a whole pinned block, and
    /// returns the point after it.
    fn copy(
        &self,
        way: Way,
        on_device: (&Block, Range<usize>),
        pinned: &Block,
    ) -> Result<Arc<Point>, Error> {
        let (block, bytes) = on_device;
        let (access, theirs) = match way {
            Way::ToDevice => (Access::Write, Access::Read),
            Way::ToHost => (Access::Read, Access::Write),
        };
        self.follow_uses(block, &bytes, access)?;
        let point = self.point()?;
        let device_address = block.address_of(&bytes, pinned.bytes())?;
        let host_address = pinned.address_of(&(0..pinned.bytes()), bytes.len())?;
        block.note(bytes.clone(), access, &point);
        pinned.note(0..pinned.bytes(), theirs, &point);
        self.ends.note(&point);
        let _bound = self.device.bind()?;
        let host = core::ptr::with_exposed_provenance_mut::<c_void>(usize_of(host_address));
        // SAFETY: both ends are allocations of that length, as `address_of` has seen, and
        // stay so until `point` has been passed: the use is noted in both blocks. On the
        // device, whatever else touches the bytes has been enqueued before and is waited
        // for, or will wait for `point`; the host's bytes are used by this copy alone.
        let copied = unsafe {
            match way {
                Way::ToDevice => {
                    sys::cuMemcpyHtoDAsync_v2(device_address, host, bytes.len(), self.raw)
                }
                Way::ToHost => {
                    sys::cuMemcpyDtoHAsync_v2(host, device_address, bytes.len(), self.raw)
                }
            }
        };
        // Recorded in any case: the copy may have been enqueued.
        let recorded = point.record(self);
        check("cuMemcpyAsync", copied.result())?;
        recorded?;
        Ok(point)
    }
}

/// Which way a copy goes.
#[derive(Clone, Copy)]
enum Way {
    ToDevice,
    ToHost,
}

/// Lossless: CUDA is for machines of 64 bits.
#[allow(clippy::cast_possible_truncation)]
const fn usize_of(address: u64) -> usize {
    address as usize
}

impl Drop for Queue {
    fn drop(&mut self) {
        let Ok(_bound) = self.device.bind() else { return };
        // SAFETY: made in `new`, destroyed once; what is enqueued is still done.
        let _ = unsafe { result::stream::destroy(self.raw) };
    }
}

impl Stream {
    pub(crate) fn new(device: &'static Device, ends: &Arc<Ends>) -> Result<Self, Error> {
        Ok(Self { queue: Queue::new(device, ends)? })
    }

    /// CUDA's stream (`CUstream`), valid for as long as `self`: to enqueue kernels of
    /// one's own.
    ///
    /// # Safety
    ///
    /// What is enqueued through it is not known here. It touches memory of this crate only
    /// in the order of this stream, and only while the memory's buffer is borrowed as for
    /// a call: shared to read, exclusively to write; a [`fence`](rankwise_comm::Stream::fence)
    /// taken afterwards is waited for before the buffer is used on another stream or
    /// dropped. The stream is not destroyed.
    pub unsafe fn as_raw(&self) -> *mut c_void {
        self.queue.raw().cast()
    }

    /// The block behind a memory, if it is on this stream's device.
    fn block<'m>(&self, memory: &'m DeviceMemory) -> Result<&'m Block, Error> {
        let (found, needed) = (memory.block.device.ordinal, self.queue.device.ordinal);
        if found == needed {
            Ok(&memory.block)
        } else {
            Err(Fault::ForeignMemory { verb: None, found, needed }.into())
        }
    }

    /// The point after everything so far.
    pub(crate) fn mark(&self) -> Result<Arc<Point>, Error> {
        let point = self.queue.point()?;
        point.record(&self.queue)?;
        Ok(point)
    }
}

impl rankwise_comm::Stream for Stream {
    type Memory = DeviceMemory;

    fn fence(&self) -> Result<Fence, Error> {
        Ok(Fence::new(Arc::new(Passing { point: self.mark()? }), 0))
    }

    fn wait_for(&self, fence: &Fence) -> Result<(), Error> {
        let completion: &dyn Any = &**fence.completion();
        match completion.downcast_ref::<Passing>() {
            Some(passing) => self.queue.follow(&passing.point),
            // Of another backend: no event stands for it, so the host waits.
            None => fence.wait(),
        }
    }

    fn write_bytes(&self, to: ViewMut<'_, Dyn, DeviceMemory>, bytes: &[u8]) -> Result<(), Error> {
        let range = to.byte_range();
        if range.len() != bytes.len() {
            return Err(Fault::Transfer { host: bytes.len(), buffer: range.len() }.into());
        }
        let view = to.as_view();
        let block = self.block(view.memory())?;
        if range.is_empty() {
            return Ok(());
        }
        let mut staging = Block::pinned(self.queue.device, bytes.len())?;
        if !staging.fill(bytes) {
            return Err(internal("fresh memory for a copy is in use"));
        }
        self.queue.copy(Way::ToDevice, (block, range), &staging).map(drop)
    }

    fn read_bytes(&self, from: View<'_, Dyn, DeviceMemory>, bytes: &mut [u8]) -> Result<(), Error> {
        let buffer = from.byte_range().len();
        if buffer != bytes.len() {
            return Err(Fault::Transfer { host: bytes.len(), buffer }.into());
        }
        // A fetch waits for the last writers, as every use does.
        bytes.copy_from_slice(&self.fetch_bytes(from)?.wait()?);
        Ok(())
    }

    fn fetch_bytes(&self, from: View<'_, Dyn, DeviceMemory>) -> Result<Pending<Vec<u8>>, Error> {
        let (block, range) = (self.block(from.memory())?, from.byte_range());
        if range.is_empty() {
            return Ok(Pending::new(self.fence()?, || Ok(Vec::new())));
        }
        let mut staging = Block::pinned(self.queue.device, range.len())?;
        let point = self.queue.copy(Way::ToHost, (block, range), &staging)?;
        Ok(Pending::new(Fence::new(Arc::new(Passing { point }), 0), move || {
            staging.contents().ok_or_else(|| internal("a copy was taken before it was done"))
        }))
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({} on device {})", self.queue.number, self.queue.device.ordinal)
    }
}

fn internal(what: &str) -> Error {
    Fault::Internal { what: what.to_owned() }.into()
}
