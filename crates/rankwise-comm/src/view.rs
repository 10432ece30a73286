//! Parts of buffers: what a call reads, and what it writes.

use core::fmt;
use core::marker::PhantomData;
use core::ops::Range;

use rankwise_model::Dtype;

use crate::buffer::{Buffer, Memory};
use crate::error::{Error, Fault};
use crate::kind::{Dyn, Kind};

/// Consecutive elements of a buffer, to be read.
pub struct View<'a, T: Kind, M> {
    memory: &'a M,
    tag: T::Tag,
    start: usize,
    len: usize,
}

/// Consecutive elements of a buffer, to be written by one call at a time.
///
/// Not `Copy`: pass [`reborrow`](Self::reborrow) to use it again, or
/// [`split_at`](Self::split_at) to write two parts at once.
///
/// # What does not compile
///
/// Two parts to be written that overlap, as positions or as a whole, so that an all-gather
/// into `[buffer, buffer]` cannot be written; parts that do not overlap can:
///
/// ```compile_fail,E0499
/// # use rankwise_comm::prelude::*;
/// # fn parts<C: Communicator>(
/// #     comm: &C, peer: Rank, x: &mut Buffer<f32, C::Memory>,
/// # ) -> Result<(), Error> {
/// let (one, other) = (x.slice_mut(0..8)?, x.slice_mut(4..12)?);
/// comm.recv(peer, one)?;
/// comm.recv(peer, other)
/// # }
/// ```
/// ```
/// # use rankwise_comm::prelude::*;
/// # fn parts<C: Communicator>(
/// #     comm: &C, peer: Rank, x: &mut Buffer<f32, C::Memory>,
/// # ) -> Result<(), Error> {
/// let (one, other) = x.view_mut().split_at(8)?;
/// comm.recv(peer, one)?;
/// comm.recv(peer, other)
/// # }
/// ```
///
/// An input that the same call overwrites; the in-place form says where it lies:
///
/// ```compile_fail,E0502
/// # use rankwise_comm::prelude::*;
/// # fn gather<C: Communicator>(
/// #     comm: &C, x: &mut Buffer<f32, C::Memory>,
/// # ) -> Result<(), Error> {
/// comm.all_gather(x.slice(0..4)?, &mut *x)
/// # }
/// ```
/// ```
/// # use rankwise_comm::prelude::*;
/// # fn gather<C: Communicator>(
/// #     comm: &C, x: &mut Buffer<f32, C::Memory>,
/// # ) -> Result<(), Error> {
/// comm.all_gather_in_place(&mut *x)
/// # }
/// ```
pub struct ViewMut<'a, T: Kind, M> {
    shared: View<'a, T, M>,
    exclusive: PhantomData<&'a mut M>,
}

impl<T: Kind, M> Clone for View<'_, T, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Kind, M> Copy for View<'_, T, M> {}

impl<'a, T: Kind, M: Memory> View<'a, T, M> {
    pub(crate) fn whole(memory: &'a M, tag: T::Tag, len: usize) -> Self {
        Self { memory, tag, start: 0, len }
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

    /// The memory that holds them.
    pub const fn memory(&self) -> &'a M {
        self.memory
    }

    /// Where they lie in the memory, in bytes.
    pub fn byte_range(&self) -> Range<usize> {
        // Both products are below the memory's length: the buffer's maker checked it.
        let width = usize::try_from(self.dtype().bytes()).unwrap_or(usize::MAX);
        let at = |element: usize| element.saturating_mul(width);
        at(self.start)..at(self.start.saturating_add(self.len))
    }

    /// The elements of `range`, counted from the start of this view.
    pub fn slice(self, range: Range<usize>) -> Result<Self, Error> {
        match self.start.checked_add(range.start) {
            Some(start) if range.start <= range.end && range.end <= self.len => {
                Ok(Self { start, len: range.end.saturating_sub(range.start), ..self })
            }
            _ => Err(Fault::Slice { range, len: self.len }.into()),
        }
    }

    /// The elements before and from `middle`.
    pub fn split_at(self, middle: usize) -> Result<(Self, Self), Error> {
        Ok((self.slice(0..middle)?, self.slice(middle..self.len)?))
    }

    /// The same view with its element type as a value.
    pub fn erase(self) -> View<'a, Dyn, M> {
        View { memory: self.memory, tag: self.dtype(), start: self.start, len: self.len }
    }
}

impl<'a, T: Kind, M: Memory> ViewMut<'a, T, M> {
    /// Only from an exclusive borrow of the buffer.
    pub(crate) const fn of(shared: View<'a, T, M>) -> Self {
        Self { shared, exclusive: PhantomData }
    }

    /// The number of elements.
    pub const fn len(&self) -> usize {
        self.shared.len
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.shared.len == 0
    }

    /// The element type.
    pub fn dtype(&self) -> Dtype {
        self.shared.dtype()
    }

    /// Where they lie in the memory, in bytes.
    pub fn byte_range(&self) -> Range<usize> {
        self.shared.byte_range()
    }

    /// The same elements, to be read.
    pub fn as_view(&self) -> View<'_, T, M> {
        self.shared
    }

    /// The same elements, for a shorter time.
    pub fn reborrow(&mut self) -> ViewMut<'_, T, M> {
        ViewMut::of(self.shared)
    }

    /// The elements of `range`, counted from the start of this view.
    pub fn slice(self, range: Range<usize>) -> Result<Self, Error> {
        Ok(Self::of(self.shared.slice(range)?))
    }

    /// The elements before and from `middle`, both to be written.
    pub fn split_at(self, middle: usize) -> Result<(Self, Self), Error> {
        let (before, after) = self.shared.split_at(middle)?;
        Ok((Self::of(before), Self::of(after)))
    }

    /// The same view with its element type as a value.
    pub fn erase(self) -> ViewMut<'a, Dyn, M> {
        ViewMut::of(self.shared.erase())
    }

    /// What the view spans, without the promise that nobody else does.
    pub(crate) const fn shared(&self) -> View<'a, T, M> {
        self.shared
    }
}

/// What a call can read: a buffer or a view, shared or exclusive.
pub trait Source<'a> {
    /// Its element type.
    type Kind: Kind;
    /// The backend's memory.
    type Memory: 'a;

    /// The elements.
    fn source(self) -> View<'a, Self::Kind, Self::Memory>;
}

/// What a call can write: a buffer or a view, exclusive.
///
/// A generic parameter does not reborrow: write `&mut *x` to pass `x: &mut Buffer` twice.
pub trait Target<'a> {
    /// Its element type.
    type Kind: Kind;
    /// The backend's memory.
    type Memory: 'a;

    /// The elements.
    fn target(self) -> ViewMut<'a, Self::Kind, Self::Memory>;
}

macro_rules! readable {
    ($($this:ty => $method:expr;)*) => {$(
        impl<'a, T: Kind, M: Memory> Source<'a> for $this {
            type Kind = T;
            type Memory = M;

            fn source(self) -> View<'a, T, M> {
                $method(self)
            }
        }
    )*};
}

readable! {
    &'a Buffer<T, M> => Buffer::view;
    &'a mut Buffer<T, M> => |buffer: &'a mut Buffer<T, M>| buffer.view_mut().shared();
    View<'a, T, M> => core::convert::identity;
    ViewMut<'a, T, M> => |view: ViewMut<'a, T, M>| view.shared;
}

impl<'a, T: Kind, M: Memory> Target<'a> for &'a mut Buffer<T, M> {
    type Kind = T;
    type Memory = M;

    fn target(self) -> ViewMut<'a, T, M> {
        self.view_mut()
    }
}

impl<'a, T: Kind, M: Memory> Target<'a> for ViewMut<'a, T, M> {
    type Kind = T;
    type Memory = M;

    fn target(self) -> Self {
        self
    }
}

impl<T: Kind, M: Memory> fmt::Debug for View<'_, T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, end) = (self.start, self.start.saturating_add(self.len));
        write!(f, "View({start}..{end} of {} on device {})", self.dtype(), self.memory.device())
    }
}

impl<T: Kind, M: Memory> fmt::Debug for ViewMut<'_, T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mut {:?}", self.shared)
    }
}
