//! Work in order.

use rankwise_model::Element;

use crate::buffer::Memory;
use crate::bytes::{from_bytes, to_bytes};
use crate::error::{Error, Fault};
use crate::fence::Fence;
use crate::kind::Dyn;
use crate::pending::Pending;
use crate::view::{Source, Target, View, ViewMut};

/// Work of one device that runs in the order in which it was enqueued (`cudaStream_t`).
///
/// The methods that move bytes check lengths in `write`, `read` and `fetch`; a backend
/// implements the untyped ones and may rely on equal lengths.
pub trait Stream: Send + Sync + 'static {
    /// The backend's memory.
    type Memory: Memory;

    /// The point after everything enqueued so far.
    fn fence(&self) -> Result<Fence, Error>;

    /// What is enqueued from now on starts after the fence has been passed. The host
    /// does not wait.
    fn wait_for(&self, fence: &Fence) -> Result<(), Error>;

    /// Enqueues a write; `bytes` has been taken when it returns.
    fn write_bytes(&self, to: ViewMut<'_, Dyn, Self::Memory>, bytes: &[u8]) -> Result<(), Error>;

    /// Reads what the memory holds after its last writer on any stream; waits for it.
    fn read_bytes(&self, from: View<'_, Dyn, Self::Memory>, bytes: &mut [u8]) -> Result<(), Error>;

    /// Enqueues a copy to the host: what the memory holds at this point of the stream,
    /// whatever is enqueued later.
    fn fetch_bytes(&self, from: View<'_, Dyn, Self::Memory>) -> Result<Pending<Vec<u8>>, Error>;

    /// Enqueues a write of `elements`; they have been taken when it returns.
    fn write<'a, T: Element>(
        &self,
        to: impl Target<'a, Kind = T, Memory = Self::Memory>,
        elements: &[T],
    ) -> Result<(), Error>
    where
        Self::Memory: 'a,
    {
        let to = to.target();
        if to.len() != elements.len() {
            return Err(Fault::Transfer { host: elements.len(), buffer: to.len() }.into());
        }
        self.write_bytes(to.erase(), &to_bytes(elements))
    }

    /// Reads the elements after their last writer on any stream; waits for it.
    fn read<'a, T: Element>(
        &self,
        from: impl Source<'a, Kind = T, Memory = Self::Memory>,
    ) -> Result<Vec<T>, Error>
    where
        Self::Memory: 'a,
    {
        let from = from.source();
        let mut bytes = vec![0; from.byte_range().len()];
        self.read_bytes(from.erase(), &mut bytes)?;
        Ok(from_bytes(&bytes))
    }

    /// Enqueues a copy of the elements to the host, as they are at this point of the
    /// stream.
    fn fetch<'a, T: Element>(
        &self,
        from: impl Source<'a, Kind = T, Memory = Self::Memory>,
    ) -> Result<Pending<Vec<T>>, Error>
    where
        Self::Memory: 'a,
    {
        Ok(self.fetch_bytes(from.source().erase())?.map(|bytes| Ok(from_bytes(&bytes))))
    }
}
