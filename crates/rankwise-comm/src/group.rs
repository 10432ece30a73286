//! Several calls as one unit.

use core::cell::RefCell;

use crate::calls::Calls;
use crate::checked::{Caller, CheckedCall};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::on::On;
use crate::post::Post;

/// Calls that are collected and submitted as one unit when the closure returns `Ok`
/// (`ncclGroupStart` … `ncclGroupEnd`).
///
/// They are logically concurrent: the order in which they stand means nothing, so two
/// ranks that each send before they receive do not wait in a circle. None may read or
/// write what another writes; the borrow checker sees to it, since every buffer stays
/// borrowed until the group is submitted.
///
/// An error or a panic in the closure submits nothing. If the closure goes on after a call
/// was refused, the others are submitted, unless the backend declares that
/// [its groups are poisoned](crate::Capabilities::poisons_groups) then. A group cannot leave its
/// closure, its thread or an `await`.
///
/// ```
/// use rankwise_comm::prelude::*;
///
/// fn ring<C: Communicator>(
///     comm: &C,
///     mine: &Buffer<f32, C::Memory>,
///     theirs: &mut Buffer<f32, C::Memory>,
/// ) -> Result<(), Error> {
///     let (own, ranks) = (comm.rank().index(), comm.ranks().get());
///     let at = |rank: u32| comm.ranks().rank(rank % ranks).unwrap();
///     comm.group(|group| {
///         group.send(at(own + 1), mine)?;
///         group.recv(at(own + ranks - 1), theirs)
///     })
/// }
/// ```
///
/// # What does not compile
///
/// Two calls of a group that write the same elements; the halves of a buffer are fine:
///
/// ```compile_fail,E0499
/// # use rankwise_comm::prelude::*;
/// # fn both<C: Communicator>(
/// #     comm: &C, peer: Rank, x: &mut Buffer<f32, C::Memory>,
/// # ) -> Result<(), Error> {
/// comm.group(|group| {
///     group.recv(peer, &mut *x)?;
///     group.recv(peer, &mut *x)
/// })
/// # }
/// ```
/// ```
/// # use rankwise_comm::prelude::*;
/// # fn both<C: Communicator>(
/// #     comm: &C, peer: Rank, x: &mut Buffer<f32, C::Memory>,
/// # ) -> Result<(), Error> {
/// let (one, other) = x.view_mut().split_at(4)?;
/// comm.group(|group| {
///     group.recv(peer, one)?;
///     group.recv(peer, other)
/// })
/// # }
/// ```
///
/// A call that reads what another of the group writes; two that read are fine:
///
/// ```compile_fail,E0502
/// # use rankwise_comm::prelude::*;
/// # fn both<C: Communicator>(
/// #     comm: &C, peer: Rank, x: &mut Buffer<f32, C::Memory>,
/// # ) -> Result<(), Error> {
/// comm.group(|group| {
///     group.send(peer, &*x)?;
///     group.recv(peer, &mut *x)
/// })
/// # }
/// ```
/// ```
/// # use rankwise_comm::prelude::*;
/// # fn both<C: Communicator>(
/// #     comm: &C, peer: Rank, x: &mut Buffer<f32, C::Memory>,
/// # ) -> Result<(), Error> {
/// comm.group(|group| {
///     group.send(peer, &*x)?;
///     group.send(peer, &*x)
/// })
/// # }
/// ```
///
/// A buffer that is gone before the group is submitted; it has to be made before:
///
/// ```compile_fail,E0597
/// # use rankwise_comm::prelude::*;
/// # fn short<C: Communicator>(comm: &C, peer: Rank) -> Result<(), Error> {
/// comm.group(|group| {
///     let mut x = comm.buffer::<f32>(4)?;
///     group.recv(peer, &mut x)
/// })
/// # }
/// ```
/// ```
/// # use rankwise_comm::prelude::*;
/// # fn long<C: Communicator>(comm: &C, peer: Rank) -> Result<(), Error> {
/// let mut x = comm.buffer::<f32>(4)?;
/// comm.group(|group| group.recv(peer, &mut x))
/// # }
/// ```
///
/// A group that outlives its closure, to be added to when it has been submitted; what the
/// closure makes of it may leave:
///
/// ```compile_fail,E0521
/// # use rankwise_comm::prelude::*;
/// # fn out<C: Communicator>(comm: &C) -> Result<(), Error> {
/// let mut kept = None;
/// comm.group(|group| {
///     kept = Some(group);
///     Ok(())
/// })
/// # }
/// ```
/// ```
/// # use rankwise_comm::prelude::*;
/// # fn out<C: Communicator>(
/// #     comm: &C, peer: Rank, x: &Buffer<f32, C::Memory>,
/// # ) -> Result<(), Error> {
/// let mut kept = None;
/// comm.group(|group| {
///     kept = Some(group.send(peer, x));
///     Ok(())
/// })
/// # }
/// ```
pub struct Group<'env, C: Communicator> {
    on: On<'env, C>,
    posts: RefCell<Vec<Post<'env, C>>>,
    /// What the first call was refused for that poisons the group.
    poison: RefCell<Option<Error>>,
}

/// A group, for calls on another communicator or stream than its own.
pub struct Joined<'g, 'env, C: Communicator> {
    group: &'g Group<'env, C>,
    on: On<'env, C>,
}

impl<'env, C: Communicator> Group<'env, C> {
    pub(crate) const fn new(on: On<'env, C>) -> Self {
        Self { on, posts: RefCell::new(Vec::new()), poison: RefCell::new(None) }
    }

    /// Calls of this group on another communicator or stream.
    pub fn on(&self, comm: &'env C, stream: &'env C::Stream) -> Joined<'_, 'env, C> {
        Joined { group: self, on: On::new(comm, stream) }
    }

    pub(crate) fn submit(self) -> Result<(), Error> {
        if let Some(error) = self.poison.into_inner() {
            return Err(error);
        }
        let posts = self.posts.into_inner();
        if posts.is_empty() { Ok(()) } else { C::submit(&posts) }
    }

    fn collect(&self, on: &On<'env, C>, call: CheckedCall<'env, C::Memory>) -> Result<(), Error> {
        let post = Post::new(on.comm(), on.stream(), call)?;
        self.posts.borrow_mut().push(post);
        Ok(())
    }

    fn refuse(&self, on: &On<'env, C>, error: Error) -> Error {
        let error = on.comm().refused(error);
        if on.comm().capabilities().poisons_groups() {
            self.poison.borrow_mut().get_or_insert_with(|| error.clone());
        }
        error
    }
}

impl<'env, C: Communicator> Calls<'env> for Group<'env, C> {
    type Memory = C::Memory;

    fn caller(&self) -> Caller<'_> {
        self.on.caller()
    }

    fn post(&self, call: CheckedCall<'env, C::Memory>) -> Result<(), Error> {
        self.collect(&self.on, call)
    }

    fn refuse(&self, error: Error) -> Error {
        Self::refuse(self, &self.on, error)
    }
}

impl<'env, C: Communicator> Calls<'env> for Joined<'_, 'env, C> {
    type Memory = C::Memory;

    fn caller(&self) -> Caller<'_> {
        self.on.caller()
    }

    fn post(&self, call: CheckedCall<'env, C::Memory>) -> Result<(), Error> {
        self.group.collect(&self.on, call)
    }

    fn refuse(&self, error: Error) -> Error {
        Group::refuse(self.group, &self.on, error)
    }
}
