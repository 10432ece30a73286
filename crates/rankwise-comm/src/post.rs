//! A checked call on its way to a backend.

use crate::checked::CheckedCall;
use crate::communicator::Communicator;
use crate::error::{Error, Fault};

/// A [`CheckedCall`], the communicator that makes it, and the stream that it goes to.
///
/// Holding a `Post` tells you that the call was checked for the very rank, group size
/// and device of its communicator. An unsafe backend may rely on that: a safe wrapper
/// that lies about its rank cannot make one for the backend's own communicator.
pub struct Post<'p, C: Communicator> {
    comm: &'p C,
    stream: &'p C::Stream,
    call: CheckedCall<'p, C::Memory>,
}

impl<'p, C: Communicator> Post<'p, C> {
    /// Compares the call with the communicator.
    pub fn new(
        comm: &'p C,
        stream: &'p C::Stream,
        call: CheckedCall<'p, C::Memory>,
    ) -> Result<Self, Error> {
        let found = (call.rank(), call.ranks(), call.device());
        let needed = (comm.rank(), comm.ranks(), comm.device());
        if found == needed {
            Ok(Self { comm, stream, call })
        } else {
            Err(Fault::ForeignCall { found, needed }.into())
        }
    }

    /// The communicator.
    pub const fn comm(&self) -> &'p C {
        self.comm
    }

    /// The stream.
    pub const fn stream(&self) -> &'p C::Stream {
        self.stream
    }

    /// The call.
    pub const fn call(&self) -> &CheckedCall<'p, C::Memory> {
        &self.call
    }

    /// The same call on another communicator over the same memory: how a layer hands
    /// on what it was given.
    pub fn pass_to<'q, D: Communicator<Memory = C::Memory>>(
        &'q self,
        inner: &'q D,
        stream: &'q D::Stream,
    ) -> Result<Post<'q, D>, Error> {
        Post::new(inner, stream, self.call.clone())
    }
}
