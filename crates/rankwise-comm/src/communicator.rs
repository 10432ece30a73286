//! One rank's handle on a group of ranks.

use core::time::Duration;

use rankwise_model::{Dtype, Element, GroupSize, Rank};

use crate::abort::AbortHandle;
use crate::buffer::{Buffer, DeviceOrdinal, Memory};
use crate::calls::Calls;
use crate::capabilities::Capabilities;
use crate::checked::{Caller, CheckedCall};
use crate::error::Error;
use crate::group::Group;
use crate::kind::Dyn;
use crate::on::On;
use crate::pending::Pending;
use crate::post::Post;
use crate::stream::Stream;

/// One rank's handle on a group of ranks (`ncclComm_t`).
///
/// A backend implements this; users call the methods of [`Calls`] on it. All methods
/// take `&self`, and a handle is `Send + Sync`: two threads may share it, and then it
/// is theirs to say which call comes first.
///
/// # What a backend promises
///
/// - [`submit`](Self::submit) returns when the calls are enqueued; local errors come
///   from it, and then nothing was enqueued.
/// - What peers did wrong comes from the wait or from the next call, as one report,
///   equal on every rank; it stays until the communicator is aborted or closed.
/// - Work on one stream runs in order. A fence is a point in it, taken when asked for.
/// - Dropping a handle never waits for peers, never panics and never kills work
///   silently: the peers learn that the rank has left.
pub trait Communicator: Sized + Send + Sync + 'static {
    /// The backend's memory.
    type Memory: Memory;
    /// The backend's streams.
    type Stream: Stream<Memory = Self::Memory>;

    /// The own rank.
    fn rank(&self) -> Rank;

    /// The number of ranks.
    fn ranks(&self) -> GroupSize;

    /// What it is called in reports.
    fn name(&self) -> &str;

    /// Where its buffers are.
    fn device(&self) -> DeviceOrdinal;

    /// What the backend declares that it does.
    fn capabilities(&self) -> &Capabilities;

    /// The stream that calls go to if no other is named.
    fn stream(&self) -> &Self::Stream;

    /// Another stream of the same device.
    fn new_stream(&self) -> Result<Self::Stream, Error>;

    /// Memory of `bytes` bytes; what it holds is not promised. Aligned for every
    /// element type.
    fn allocate(&self, bytes: usize) -> Result<Self::Memory, Error>;

    /// The one verb: enqueues one call, or several as a unit, perhaps of several
    /// communicators and streams. All are taken, or none.
    fn submit(posts: &[Post<'_, Self>]) -> Result<(), Error>;

    /// Hears of a call that was refused before it came here, since it was wrong in itself,
    /// and says what its caller is told. A backend whose library remembers wrong calls may
    /// answer with the first of them.
    fn refused(&self, error: Error) -> Error {
        error
    }

    /// A new communicator per colour, ordered by key and then by the ranks of this one
    /// (`ncclCommSplit`). Every rank of this communicator must call it; one without a
    /// colour gets `None`.
    #[track_caller]
    fn split(&self, color: Option<u32>, key: i32) -> Result<Pending<Option<Self>>, Error>;

    /// A handle that ends this rank's part from anywhere, also while it waits.
    fn abort_handle(&self) -> AbortHandle;

    /// The graceful end: waits until everything enqueued is done, at most for `within`,
    /// then leaves. What is not done by then is given up, and the error names it.
    ///
    /// Enqueued are the calls on this communicator, on whichever stream, and the copies
    /// on the streams that it has made. What a backend's own pointers were used for is not
    /// known; a [`fence`](crate::Stream::fence) is, to whoever waits for it.
    fn close(self, within: Duration) -> Result<(), Error>;

    /// The communicator together with a stream.
    fn on<'c>(&'c self, stream: &'c Self::Stream) -> On<'c, Self> {
        On::new(self, stream)
    }

    /// A buffer of `len` elements of type `T`.
    fn buffer<T: Element>(&self, len: usize) -> Result<Buffer<T, Self::Memory>, Error> {
        let bytes = crate::buffer::bytes_of(T::DTYPE, len)?;
        Buffer::make(self.allocate(bytes)?, (), len)
    }

    /// A buffer of `len` elements of a type known at run time.
    fn dyn_buffer(&self, dtype: Dtype, len: usize) -> Result<Buffer<Dyn, Self::Memory>, Error> {
        let bytes = crate::buffer::bytes_of(dtype, len)?;
        Buffer::make(self.allocate(bytes)?, dtype, len)
    }

    /// Collects calls and submits them as one unit; see [`Group`].
    fn group<'env, R>(
        &'env self,
        calls: impl FnOnce(&Group<'env, Self>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.on(self.stream()).group(calls)
    }
}

impl<'env, C: Communicator> Calls<'env> for C {
    type Memory = C::Memory;

    fn caller(&self) -> Caller<'_> {
        On::new(self, self.stream()).caller()
    }

    fn post(&self, call: CheckedCall<'env, C::Memory>) -> Result<(), Error> {
        C::submit(&[Post::new(self, self.stream(), call)?])
    }

    fn refuse(&self, error: Error) -> Error {
        self.refused(error)
    }
}
