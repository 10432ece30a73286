//! Where a communicator's memory lies.

use rankwise_comm::{Error, Memory};

use super::seat::Span;
use crate::comm::Comm;
use crate::memory::HostMemory;

/// Where memory lies that `comm` has allocated: for whoever measures the engine on the
/// very bytes of a run.
///
/// A span dereferences nothing. To hand it to [`Job::new`](super::Job::new) is to promise
/// that the memory is kept, and that no call uses it meanwhile.
///
/// # Errors
///
/// If the memory is another world's.
pub fn span_of(comm: &Comm, memory: &HostMemory) -> Result<Option<Span>, Error> {
    Ok(memory.block_of(comm.hub())?.span(&(0..memory.bytes())))
}
