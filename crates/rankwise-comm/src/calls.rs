//! What a user writes: one method per operation, written once for every place that
//! can post a call.

use core::panic::Location;

use rankwise_model::{Operation, Rank};
use rankwise_program::Verb;

use crate::buffer::Memory;
use crate::checked::{Asked, Caller, CheckedCall, collective};
use crate::error::{Error, Fault};
use crate::kind::Kind;
use crate::reduce_op::ReduceOp;
use crate::view::{Source, Target};

/// The operations, on a [communicator](crate::Communicator), on one
/// [with a stream](crate::On), in a [group](crate::Group).
///
/// The count is never passed: it follows from the buffers, and so do in-place offsets.
/// With `n` ranks and count `c`, lengths are in elements:
///
/// | method | input | output | count `c` is |
/// |---|---|---|---|
/// | [`all_reduce`](Self::all_reduce) | c | c | the whole vector |
/// | [`reduce`](Self::reduce) | c | c on the root | the whole vector |
/// | [`broadcast`](Self::broadcast) | c on the root | c | the whole vector |
/// | [`all_gather`](Self::all_gather) | c | n·c | one rank's contribution |
/// | [`reduce_scatter`](Self::reduce_scatter) | n·c | c | one rank's shard |
/// | [`all_to_all`](Self::all_to_all) | n·c | n·c | one block per peer |
/// | [`gather`](Self::gather) | c | n·c on the root | one rank's contribution |
/// | [`scatter`](Self::scatter) | n·c on the root | c | one rank's shard |
/// | [`send`](Self::send), [`recv`](Self::recv) | c | c | the message |
///
/// On a rank without a side, the buffer given for it is ignored, whatever its length.
/// The table is the model's (`rankwise_model::OperationKind::row`); NCCL's user guide
/// says the same.
pub trait Calls<'env> {
    /// The backend's memory.
    type Memory: Memory + 'env;

    /// Who calls.
    fn caller(&self) -> Caller<'_>;

    /// Hands over a checked call: it is enqueued, or collected by a group.
    fn post(&self, call: CheckedCall<'env, Self::Memory>) -> Result<(), Error>;

    /// Hears of a call that is not handed over, since it is wrong in itself; and says what
    /// its caller is told.
    fn refuse(&self, error: Error) -> Error {
        error
    }

    /// Every rank gets the fold of all inputs.
    #[track_caller]
    fn all_reduce<T: Kind>(
        &self,
        op: impl Into<ReduceOp>,
        input: impl Source<'env, Kind = T, Memory = Self::Memory>,
        output: impl Target<'env, Kind = T, Memory = Self::Memory>,
    ) -> Result<(), Error> {
        let op = op.into();
        let operation = Operation::AllReduce { reduction: op.reduction() };
        both(self, operation, Some(op), input, output, Location::caller())
    }

    /// Every rank's vector is replaced by the fold of all.
    #[track_caller]
    fn all_reduce_in_place<T: Kind>(
        &self,
        op: impl Into<ReduceOp>,
        whole: impl Target<'env, Kind = T, Memory = Self::Memory>,
    ) -> Result<(), Error> {
        let op = op.into();
        let operation = Operation::AllReduce { reduction: op.reduction() };
        one(self, operation, Some(op), whole, Location::caller())
    }

    /// The root gets the fold of all inputs; outputs elsewhere are not promised.
    #[track_caller]
    fn reduce<T: Kind>(
        &self,
        op: impl Into<ReduceOp>,
        root: Rank,
        input: impl Source<'env, Kind = T, Memory = Self::Memory>,
        output: impl Target<'env, Kind = T, Memory = Self::Memory>,
    ) -> Result<(), Error> {
        let op = op.into();
        let operation = Operation::Reduce { reduction: op.reduction(), root };
        both(self, operation, Some(op), input, output, Location::caller())
    }

    /// The root's vector is replaced by the fold of all.
    #[track_caller]
    fn reduce_in_place<T: Kind>(
        &self,
        op: impl Into<ReduceOp>,
        root: Rank,
        whole: impl Target<'env, Kind = T, Memory = Self::Memory>,
    ) -> Result<(), Error> {
        let op = op.into();
        let operation = Operation::Reduce { reduction: op.reduction(), root };
        one(self, operation, Some(op), whole, Location::caller())
    }

    /// Every rank gets the root's input.
    #[track_caller]
    fn broadcast<T: Kind>(
        &self,
        root: Rank,
        input: impl Source<'env, Kind = T, Memory = Self::Memory>,
        output: impl Target<'env, Kind = T, Memory = Self::Memory>,
    ) -> Result<(), Error> {
        both(self, Operation::Broadcast { root }, None, input, output, Location::caller())
    }

    /// Every rank's vector is replaced by the root's (`ncclBcast`).
    #[track_caller]
    fn broadcast_in_place<T: Kind>(
        &self,
        root: Rank,
        whole: impl Target<'env, Kind = T, Memory = Self::Memory>,
    ) -> Result<(), Error> {
        one(self, Operation::Broadcast { root }, None, whole, Location::caller())
    }

    /// Every rank gets all inputs, one block after the other in rank order.
    #[track_caller]
    fn all_gather<T: Kind>(
        &self,
        input: impl Source<'env, Kind = T, Memory = Self::Memory>,
        output: impl Target<'env, Kind = T, Memory = Self::Memory>,
    ) -> Result<(), Error> {
        both(self, Operation::AllGather, None, input, output, Location::caller())
    }

    /// The input is block `rank` of the one buffer; the others are filled in.
    #[track_caller]
    fn all_gather_in_place<T: Kind>(
        &self,
        whole: impl Target<'env, Kind = T, Memory = Self::Memory>,
    ) -> Result<(), Error> {
        one(self, Operation::AllGather, None, whole, Location::caller())
    }

    /// Rank `r` gets block `r` of the fold of all inputs.
    #[track_caller]
    fn reduce_scatter<T: Kind>(
        &self,
        op: impl Into<ReduceOp>,
        input: impl Source<'env, Kind = T, Memory = Self::Memory>,
        output: impl Target<'env, Kind = T, Memory = Self::Memory>,
    ) -> Result<(), Error> {
        let op = op.into();
        let operation = Operation::ReduceScatter { reduction: op.reduction() };
        both(self, operation, Some(op), input, output, Location::caller())
    }

    /// The output is block `rank` of the one buffer; the other blocks are then not promised.
    #[track_caller]
    fn reduce_scatter_in_place<T: Kind>(
        &self,
        op: impl Into<ReduceOp>,
        whole: impl Target<'env, Kind = T, Memory = Self::Memory>,
    ) -> Result<(), Error> {
        let op = op.into();
        let operation = Operation::ReduceScatter { reduction: op.reduction() };
        one(self, operation, Some(op), whole, Location::caller())
    }

    /// Rank `r` gets block `r` of every input, in rank order. There is no in-place form.
    #[track_caller]
    fn all_to_all<T: Kind>(
        &self,
        input: impl Source<'env, Kind = T, Memory = Self::Memory>,
        output: impl Target<'env, Kind = T, Memory = Self::Memory>,
    ) -> Result<(), Error> {
        both(self, Operation::AllToAll, None, input, output, Location::caller())
    }

    /// The root gets all inputs, one block after the other in rank order.
    #[track_caller]
    fn gather<T: Kind>(
        &self,
        root: Rank,
        input: impl Source<'env, Kind = T, Memory = Self::Memory>,
        output: impl Target<'env, Kind = T, Memory = Self::Memory>,
    ) -> Result<(), Error> {
        both(self, Operation::Gather { root }, None, input, output, Location::caller())
    }

    /// On the root the input is block `root` of the one buffer; elsewhere the buffer is
    /// the input.
    #[track_caller]
    fn gather_in_place<T: Kind>(
        &self,
        root: Rank,
        whole: impl Target<'env, Kind = T, Memory = Self::Memory>,
    ) -> Result<(), Error> {
        one(self, Operation::Gather { root }, None, whole, Location::caller())
    }

    /// Rank `r` gets block `r` of the root's input.
    #[track_caller]
    fn scatter<T: Kind>(
        &self,
        root: Rank,
        input: impl Source<'env, Kind = T, Memory = Self::Memory>,
        output: impl Target<'env, Kind = T, Memory = Self::Memory>,
    ) -> Result<(), Error> {
        both(self, Operation::Scatter { root }, None, input, output, Location::caller())
    }

    /// On the root the output is block `root` of the one buffer; elsewhere the buffer is
    /// the output.
    #[track_caller]
    fn scatter_in_place<T: Kind>(
        &self,
        root: Rank,
        whole: impl Target<'env, Kind = T, Memory = Self::Memory>,
    ) -> Result<(), Error> {
        one(self, Operation::Scatter { root }, None, whole, Location::caller())
    }

    /// Sends to rank `to`, which must post the matching [`recv`](Self::recv).
    ///
    /// A message to oneself needs its `recv` in the same group.
    #[track_caller]
    fn send<T: Kind>(
        &self,
        to: Rank,
        input: impl Source<'env, Kind = T, Memory = Self::Memory>,
    ) -> Result<(), Error> {
        let asked = Asked { verb: Verb::Send { to }, scalar: None, site: Location::caller() };
        let call = CheckedCall::out_of_place(self.caller(), asked, Some(input.source()), None);
        hand_over(self, call)
    }

    /// Receives from rank `from`, which must post the matching [`send`](Self::send).
    #[track_caller]
    fn recv<T: Kind>(
        &self,
        from: Rank,
        output: impl Target<'env, Kind = T, Memory = Self::Memory>,
    ) -> Result<(), Error> {
        let asked = Asked { verb: Verb::Recv { from }, scalar: None, site: Location::caller() };
        let call = CheckedCall::out_of_place(self.caller(), asked, None, Some(output.target()));
        hand_over(self, call)
    }
}

/// A collective with a buffer of its own for each side.
fn both<'env, T: Kind, C: Calls<'env> + ?Sized>(
    calls: &C,
    operation: Operation,
    op: Option<ReduceOp>,
    input: impl Source<'env, Kind = T, Memory = C::Memory>,
    output: impl Target<'env, Kind = T, Memory = C::Memory>,
    site: &'static Location<'static>,
) -> Result<(), Error> {
    let (input, output) = (Some(input.source()), Some(output.target()));
    let asked = asked(operation, op, site)?;
    hand_over(calls, CheckedCall::out_of_place(calls.caller(), asked, input, output))
}

/// A collective whose sides share one buffer.
fn one<'env, T: Kind, C: Calls<'env> + ?Sized>(
    calls: &C,
    operation: Operation,
    op: Option<ReduceOp>,
    whole: impl Target<'env, Kind = T, Memory = C::Memory>,
    site: &'static Location<'static>,
) -> Result<(), Error> {
    let asked = asked(operation, op, site)?;
    hand_over(calls, CheckedCall::in_place(calls.caller(), asked, whole.target().shared()))
}

/// Posts a call, if it is right.
#[inline]
fn hand_over<'env, C: Calls<'env> + ?Sized>(
    calls: &C,
    checked: Result<CheckedCall<'env, C::Memory>, Error>,
) -> Result<(), Error> {
    match checked {
        Ok(call) => calls.post(call),
        Err(error) => Err(calls.refuse(error)),
    }
}

#[inline]
fn asked(
    operation: Operation,
    op: Option<ReduceOp>,
    site: &'static Location<'static>,
) -> Result<Asked, Error> {
    let verb = collective(operation).ok_or_else(|| {
        Error::from(Fault::Internal { what: format!("{operation} is no collective ({site})") })
    })?;
    Ok(Asked { verb, scalar: op.and_then(ReduceOp::scalar), site })
}
