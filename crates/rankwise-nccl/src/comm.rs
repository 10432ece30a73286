//! NCCL's communicator as a backend of the trait.

use core::ffi::c_void;
use core::fmt;
use core::time::Duration;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Weak};

use nccl_sys::ncclComm_t;
use rankwise_comm::{
    Abort, AbortHandle, Capabilities, Communicator, DeviceOrdinal, Error, Pending, Post,
};
use rankwise_model::{GroupSize, Rank};

use crate::capable::capabilities;
use crate::device::Device;
use crate::ends::Ends;
use crate::handle::Handle;
use crate::leave;
use crate::library::Nccl;
use crate::memory::DeviceMemory;
use crate::stream::Stream;
use crate::{split, submit};

/// One rank's handle on a group of ranks, carried out by NCCL.
///
/// Dropping it returns at once. What was enqueued is still done, and then the rank leaves,
/// on a thread of its own; if that takes longer than half a minute, or something went
/// wrong before, the rest is aborted.
///
/// It is a *blocking* communicator of NCCL: calls return when they are enqueued, but the
/// first ones may wait for peers, to connect to them. An abort from another thread gets a
/// call out of that with an NCCL of 2.28.7 or later, and takes effect after it otherwise.
/// A call that is made while a split is pending waits for the split: a thread that drives
/// several ranks splits all of them first.
pub struct Comm {
    pub(crate) handle: Arc<Handle>,
    capabilities: Capabilities,
    stream: Stream,
    /// How often it was split: for the names of what came out.
    pub(crate) splits: AtomicU32,
    /// What is waited for before it is left.
    pub(crate) ends: Arc<Ends>,
}

impl Comm {
    /// Takes over a communicator that NCCL has made.
    ///
    /// # Safety
    ///
    /// As [`Handle::adopt`].
    pub(crate) unsafe fn adopt(
        nccl: Nccl,
        device: &'static Device,
        raw: ncclComm_t,
        (rank, ranks): (Rank, GroupSize),
        name: &str,
    ) -> Result<Self, Error> {
        // SAFETY: by this function's contract.
        let handle = unsafe { Handle::adopt(nccl, device, raw, (rank, ranks), name) };
        let ends = Arc::new(Ends::default());
        let stream = Stream::new(device, &ends);
        let stream = stream.inspect_err(|error| handle.abort(&error.to_string()))?;
        Ok(Self {
            capabilities: capabilities(nccl, device, ranks),
            handle,
            stream,
            splits: AtomicU32::new(0),
            ends,
        })
    }

    /// The NCCL that carries it out.
    pub fn nccl(&self) -> Nccl {
        self.handle.nccl
    }

    /// NCCL's communicator (`ncclComm_t`), for calls that this crate does not have. Null
    /// once it has ended.
    ///
    /// # Safety
    ///
    /// Calls on it are made while no other thread makes any, through this handle or
    /// otherwise; it is neither finalized, destroyed nor aborted; and what such a call
    /// touches obeys what [`Stream::as_raw`] says.
    pub unsafe fn as_raw(&self) -> *mut c_void {
        self.handle.enter().map_or(core::ptr::null_mut(), |inside| inside.raw().cast())
    }
}

impl Communicator for Comm {
    type Memory = DeviceMemory;
    type Stream = Stream;

    fn rank(&self) -> Rank {
        self.handle.rank
    }

    fn ranks(&self) -> GroupSize {
        self.handle.ranks
    }

    fn name(&self) -> &str {
        &self.handle.name
    }

    fn device(&self) -> DeviceOrdinal {
        self.handle.device.ordinal
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn stream(&self) -> &Stream {
        &self.stream
    }

    fn new_stream(&self) -> Result<Stream, Error> {
        Stream::new(self.handle.device, &self.ends)
    }

    fn allocate(&self, bytes: usize) -> Result<DeviceMemory, Error> {
        DeviceMemory::new(self.handle.device, bytes)
    }

    fn submit(posts: &[Post<'_, Self>]) -> Result<(), Error> {
        submit::submit(posts)
    }

    #[track_caller]
    fn split(&self, color: Option<u32>, key: i32) -> Result<Pending<Option<Self>>, Error> {
        split::split(self, color, key)
    }

    fn abort_handle(&self) -> AbortHandle {
        AbortHandle::new(Arc::new(Aborter(Arc::downgrade(&self.handle))))
    }

    fn close(self, within: Duration) -> Result<(), Error> {
        leave::close(&self.handle, &self.ends.take(), within)
    }
}

impl Drop for Comm {
    fn drop(&mut self) {
        leave::leave(&self.handle, self.ends.take());
    }
}

impl fmt::Debug for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Handle { name, rank, ranks, .. } = &*self.handle;
        write!(f, "Comm({name}: rank {rank} of {ranks} on device {})", self.device())
    }
}

/// Ends one rank's part of a communicator.
struct Aborter(Weak<Handle>);

impl Abort for Aborter {
    fn abort(&self, reason: &str) {
        if let Some(handle) = self.0.upgrade() {
            handle.abort(reason);
        }
    }
}
