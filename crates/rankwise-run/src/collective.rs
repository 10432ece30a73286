//! Collectives of one rank.

use rankwise_comm::{Buffer, Calls as _, Communicator, Dyn, Error, On, ReduceOp, View, ViewMut};
use rankwise_model::{Operation, Rank, Reduction, Scalar};
use rankwise_plan::plan::CollectiveStep;

use crate::call::{ActRun, CallRun, Done};
use crate::error::RunError;
use crate::job::Shape;
use crate::rank::Part;
use crate::trace;

impl<C: Communicator> Part<'_, '_, C> {
    /// Makes this rank's call of a collective and waits for it; nothing, on a rank that
    /// is in no group of the step.
    pub(crate) fn collective(
        &mut self,
        step: usize,
        collective: &CollectiveStep,
    ) -> Result<(), RunError> {
        let Some((group, own)) = collective.over.locate(self.rank) else { return Ok(()) };
        self.flush()?;
        let made = self.job.call(step, group)?;
        let shape = self.job.shape(step, self.rank)?;
        let at = made
            .layout
            .at(own)
            .map_err(|error| RunError::Internal { what: format!("step {step}: {error:?}") })?;
        let split = self.job.split_of(&collective.over);
        let operation = made.layout.operation();
        let call =
            Collective { step, operation, op: reduce_op(step, collective, made.dtype, own)? };
        let backend = |error| RunError::Backend { step: Some(step), error };

        // What the buffer is afterwards where this rank's call does not say.
        let in_place = collective.send == collective.recv;
        if in_place && !at.has_input() {
            let count = at.output_len();
            let fresh = self.buffers.fresh(Shape { count, ..shape }).map_err(backend)?;
            self.buffers.put(&collective.recv.buffer, fresh);
        }
        let mut output =
            if in_place { None } else { Some(self.buffers.fresh(shape).map_err(backend)?) };

        let (comm, seq) = self.comms.next(split).ok_or_else(|| RunError::Internal {
            what: format!("step {step}: no communicator of {group} on rank {}", self.rank),
        })?;
        let run = CallRun {
            op: operation.to_string(),
            comm: comm.name().to_owned(),
            members: group.members().to_vec(),
            seq,
            count: made.layout.count(),
            convention: operation.kind().row().count,
            dtype: made.dtype,
        };
        trace::call(self.rank.index(), &run);
        let on = comm.on(self.comm.stream());
        let posted = match &mut output {
            None => call.in_place(on, self.buffers.get_mut(&collective.recv.buffer)?),
            Some(output) if at.has_input() => call.out_of_place(
                on,
                self.buffers.get(&collective.send.buffer)?.view(),
                output.view_mut(),
            ),
            // The input of a rank that has none is ignored.
            Some(output) => match self.comm.dyn_buffer(made.dtype, 0) {
                Ok(none) => call.out_of_place(on, none.view(), output.view_mut()),
                Err(error) => Err(backend(error)),
            },
        };
        let outcome = posted.and_then(|()| self.wait().map_err(backend));
        self.done.push(Done { step, act: ActRun::Call(run), outcome: outcome.clone() });
        outcome?;
        match output {
            Some(output) => self.buffers.put(&collective.recv.buffer, output),
            // In place on a rank that is promised no output: the plan says how long the
            // buffer is from now on.
            None if self.buffers.get(&collective.recv.buffer)?.len() as u64 != shape.count => {
                let fresh = self.buffers.fresh(shape).map_err(backend)?;
                self.buffers.put(&collective.recv.buffer, fresh);
            }
            None => {}
        }
        Ok(())
    }
}

/// This rank's reduction, with its scalar for a pre-multiplied sum.
fn reduce_op(
    step: usize,
    collective: &CollectiveStep,
    dtype: rankwise_model::Dtype,
    own: Rank,
) -> Result<Option<ReduceOp>, RunError> {
    match collective.reduction {
        Some(Reduction::PreMulSum) => {
            let scalars = collective.scalars.as_deref().unwrap_or_default();
            let written = usize::try_from(own.index()).ok().and_then(|own| scalars.get(own));
            let parsed = written.and_then(|text| Scalar::parse(dtype, text).ok());
            let scalar = parsed.ok_or_else(|| RunError::Internal {
                what: format!("step {step}: no scalar for rank {own} of the group"),
            })?;
            Ok(Some(ReduceOp::premul_dyn(scalar.scalar)))
        }
        reduction => Ok(reduction.map(ReduceOp::from)),
    }
}

/// One rank's call of a collective.
struct Collective {
    step: usize,
    operation: Operation,
    op: Option<ReduceOp>,
}

impl Collective {
    fn out_of_place<C: Communicator>(
        &self,
        on: On<'_, C>,
        input: View<'_, Dyn, C::Memory>,
        output: ViewMut<'_, Dyn, C::Memory>,
    ) -> Result<(), RunError> {
        match (self.operation, self.op) {
            (Operation::AllReduce { .. }, Some(op)) => on.all_reduce(op, input, output),
            (Operation::Reduce { root, .. }, Some(op)) => on.reduce(op, root, input, output),
            (Operation::Broadcast { root }, _) => on.broadcast(root, input, output),
            (Operation::AllGather, _) => on.all_gather(input, output),
            (Operation::ReduceScatter { .. }, Some(op)) => on.reduce_scatter(op, input, output),
            (Operation::AllToAll, _) => on.all_to_all(input, output),
            (Operation::Gather { root }, _) => on.gather(root, input, output),
            (Operation::Scatter { root }, _) => on.scatter(root, input, output),
            _ => return Err(self.unknown()),
        }
        .map_err(|error| self.failed(error))
    }

    fn in_place<C: Communicator>(
        &self,
        on: On<'_, C>,
        whole: &mut Buffer<Dyn, C::Memory>,
    ) -> Result<(), RunError> {
        match (self.operation, self.op) {
            (Operation::AllReduce { .. }, Some(op)) => on.all_reduce_in_place(op, whole),
            (Operation::Reduce { root, .. }, Some(op)) => on.reduce_in_place(op, root, whole),
            (Operation::Broadcast { root }, _) => on.broadcast_in_place(root, whole),
            (Operation::AllGather, _) => on.all_gather_in_place(whole),
            (Operation::ReduceScatter { .. }, Some(op)) => on.reduce_scatter_in_place(op, whole),
            (Operation::Gather { root }, _) => on.gather_in_place(root, whole),
            (Operation::Scatter { root }, _) => on.scatter_in_place(root, whole),
            _ => return Err(self.unknown()),
        }
        .map_err(|error| self.failed(error))
    }

    fn failed(&self, error: Error) -> RunError {
        RunError::Backend { step: Some(self.step), error }
    }

    fn unknown(&self) -> RunError {
        RunError::Operation { step: self.step, operation: self.operation.to_string() }
    }
}
