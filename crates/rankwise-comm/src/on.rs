//! A communicator together with a stream.

use rankwise_program::Tag;

use crate::calls::Calls;
use crate::checked::{Caller, CheckedCall};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::group::Group;
use crate::post::Post;

/// A communicator and the stream that its calls go to, with an optional [`Tag`].
///
/// Made by [`Communicator::on`]. A stream may serve every communicator of its device.
pub struct On<'c, C: Communicator> {
    comm: &'c C,
    stream: &'c C::Stream,
    tag: Option<&'c Tag>,
}

impl<C: Communicator> Clone for On<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C: Communicator> Copy for On<'_, C> {}

impl<'c, C: Communicator> On<'c, C> {
    pub(crate) const fn new(comm: &'c C, stream: &'c C::Stream) -> Self {
        Self { comm, stream, tag: None }
    }

    /// The same, naming what its calls move: two calls of equal operation, count and
    /// type may still be about different things.
    #[must_use]
    pub const fn tagged(mut self, tag: &'c Tag) -> Self {
        self.tag = Some(tag);
        self
    }

    /// The communicator.
    pub const fn comm(&self) -> &'c C {
        self.comm
    }

    /// The stream.
    pub const fn stream(&self) -> &'c C::Stream {
        self.stream
    }

    /// Collects calls and submits them as one unit; see [`Group`].
    pub fn group<R>(
        self,
        calls: impl FnOnce(&Group<'c, C>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let group = Group::new(self);
        let value = calls(&group)?;
        group.submit()?;
        Ok(value)
    }

    pub(crate) fn caller(&self) -> Caller<'c> {
        Caller {
            rank: self.comm.rank(),
            ranks: self.comm.ranks(),
            device: self.comm.device(),
            capabilities: self.comm.capabilities(),
            tag: self.tag,
        }
    }
}

impl<'env, C: Communicator> Calls<'env> for On<'_, C> {
    type Memory = C::Memory;

    fn caller(&self) -> Caller<'_> {
        On::caller(self)
    }

    fn post(&self, call: CheckedCall<'env, C::Memory>) -> Result<(), Error> {
        C::submit(&[Post::new(self.comm, self.stream, call)?])
    }

    fn refuse(&self, error: Error) -> Error {
        self.comm.refused(error)
    }
}
