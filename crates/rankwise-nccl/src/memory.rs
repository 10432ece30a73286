//! A device's memory.

use core::fmt;

use rankwise_comm::{DeviceOrdinal, Error, Memory};

use crate::block::Block;
use crate::device::Device;

/// Bytes of a device. What they hold before they are written is not promised.
///
/// Work in flight holds the same bytes: dropping or leaking this frees nothing early, and
/// dropping it waits for nothing.
pub struct DeviceMemory {
    pub(crate) block: Block,
}

impl DeviceMemory {
    pub(crate) fn new(device: &'static Device, bytes: usize) -> Result<Self, Error> {
        Ok(Self { block: Block::on_device(device, bytes)? })
    }

    /// The address of the first byte (`CUdeviceptr`). It is for kernels of one's own; see
    /// [`Stream::as_raw`](crate::Stream::as_raw) for what they may do.
    pub fn address(&self) -> u64 {
        self.block.address()
    }
}

impl Memory for DeviceMemory {
    fn bytes(&self) -> usize {
        self.block.bytes()
    }

    fn device(&self) -> DeviceOrdinal {
        self.block.device.ordinal
    }
}

impl fmt::Debug for DeviceMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceMemory({} bytes on device {})", self.bytes(), self.device())
    }
}
