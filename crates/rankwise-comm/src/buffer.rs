//! Memory of a backend, and buffers of elements in it.

use core::any::Any;
use core::fmt;
use core::ops::Range;

use rankwise_model::Dtype;

use crate::error::{Error, Fault};
use crate::kind::{Dyn, Kind};
use crate::view::{View, ViewMut};

/// Which device of a backend memory is on, as the backend counts them.
///
/// Equal numbers of one backend mean the same device. The number says nothing about
/// other processes, and it is neither an NVML index nor a minor number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceOrdinal(pub u32);

impl fmt::Display for DeviceOrdinal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Bytes on one device.
///
/// Not `Clone`: a second handle on the same bytes would defeat `&mut`.
pub trait Memory: Any + Send + Sync {
    /// Its length in bytes.
    fn bytes(&self) -> usize;

    /// Where it is.
    fn device(&self) -> DeviceOrdinal;
}

/// Elements in a backend's memory.
///
/// Made by [`Communicator::buffer`](crate::Communicator::buffer). What it holds before
/// it is first written is not promised.
///
/// Holding a `Buffer` tells you that its memory has room for all its elements. Dropping
/// or leaking it while work is in flight is harmless: the work holds the memory too.
pub struct Buffer<T: Kind, M> {
    memory: M,
    tag: T::Tag,
    len: usize,
}

impl<T: Kind, M: Memory> Buffer<T, M> {
    /// The one maker: `len` elements, if `memory` has room for them.
    pub(crate) fn make(memory: M, tag: T::Tag, len: usize) -> Result<Self, Error> {
        let dtype = T::dtype(tag);
        let needed = bytes_of(dtype, len)?;
        if memory.bytes() < needed {
            let (found, device) = (memory.bytes(), memory.device());
            return Err(Fault::ShortMemory { dtype, len, needed, found, device }.into());
        }
        Ok(Self { memory, tag, len })
    }

    /// The number of elements.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The element type.
    pub fn dtype(&self) -> Dtype {
        T::dtype(self.tag)
    }

    /// The memory that holds the elements.
    pub const fn memory(&self) -> &M {
        &self.memory
    }

    /// All of it, to be read.
    pub fn view(&self) -> View<'_, T, M> {
        View::whole(&self.memory, self.tag, self.len)
    }

    /// All of it, to be written.
    pub fn view_mut(&mut self) -> ViewMut<'_, T, M> {
        ViewMut::of(self.view())
    }

    /// The elements of `range`, to be read.
    pub fn slice(&self, range: Range<usize>) -> Result<View<'_, T, M>, Error> {
        self.view().slice(range)
    }

    /// The elements of `range`, to be written.
    pub fn slice_mut(&mut self, range: Range<usize>) -> Result<ViewMut<'_, T, M>, Error> {
        self.view_mut().slice(range)
    }

    /// The same buffer with its element type as a value.
    pub fn erase(self) -> Buffer<Dyn, M> {
        Buffer { tag: T::dtype(self.tag), memory: self.memory, len: self.len }
    }
}

impl<M: Memory> Buffer<Dyn, M> {
    /// The same buffer with its element type as a Rust type; itself if it is another.
    pub fn typed<T: Kind>(self) -> Result<Buffer<T, M>, Self> {
        match T::tag(self.tag) {
            Some(tag) => Ok(Buffer { memory: self.memory, tag, len: self.len }),
            None => Err(self),
        }
    }
}

impl<T: Kind, M: Memory> fmt::Debug for Buffer<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} × {} on device {})", self.len, self.dtype(), self.memory.device())
    }
}

/// The bytes of `len` elements, if a `usize` can count them.
pub(crate) fn bytes_of(dtype: Dtype, len: usize) -> Result<usize, Error> {
    usize::try_from(dtype.bytes())
        .ok()
        .and_then(|width| len.checked_mul(width))
        .ok_or_else(|| Fault::TooManyElements { dtype, len }.into())
}
