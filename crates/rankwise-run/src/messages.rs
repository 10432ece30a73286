//! Sends and recvs: consecutive ones are one group.

use rankwise_comm::{Buffer, Calls as _, Communicator, Dyn};
use rankwise_model::{OperationKind, Rank};
use rankwise_plan::plan::{Direction, MessageStep};
use rankwise_program::Verb;
use rankwise_topology::World;

use crate::buffers::Held;
use crate::call::{ActRun, CallRun, Done};
use crate::error::RunError;
use crate::rank::Part;
use crate::trace;

/// One side of a message that is to be posted.
pub(crate) struct Message<C: Communicator> {
    step: usize,
    /// The other side.
    peer: Rank,
    side: Side<C>,
}

enum Side<C: Communicator> {
    Send(Held<C>),
    Recv { name: String, into: Buffer<Dyn, C::Memory> },
}

impl<C: Communicator> Message<C> {
    /// The buffer that it receives.
    pub(crate) const fn receives(&self) -> Option<&String> {
        match &self.side {
            Side::Recv { name, .. } => Some(name),
            Side::Send(_) => None,
        }
    }
}

impl<C: Communicator> Part<'_, '_, C> {
    /// Adds one side of a message to the group that is being collected.
    ///
    /// Messages go through the world's communicator: the plan matches them first-in-
    /// first-out per ordered pair of ranks, whatever group `peer` is a rank of.
    pub(crate) fn message(&mut self, step: usize, message: &MessageStep) -> Result<(), RunError> {
        let backend = |error| RunError::Backend { step: Some(step), error };
        let peer = message.over.locate(self.rank).and_then(|(group, _)| {
            let peer = group.world_rank(message.peer)?;
            self.job.world().rank(peer.index())
        });
        let peer = peer.ok_or_else(|| RunError::Internal {
            what: format!("step {step} has no peer for rank {}", self.rank),
        })?;
        let side = match message.direction {
            Direction::Send => {
                // What is sent must have come: it cannot be in one group with its recv.
                if self.block.iter().any(|other| other.receives() == Some(&message.buffer.buffer)) {
                    self.flush()?;
                }
                Side::Send(self.buffers.get(&message.buffer.buffer)?.clone())
            }
            Direction::Recv => {
                let shape = self.job.shape(step, self.rank)?;
                let into = self.buffers.fresh(shape).map_err(backend)?;
                Side::Recv { name: message.buffer.buffer.clone(), into }
            }
        };
        self.block.push(Message { step, peer, side });
        Ok(())
    }

    /// Posts the messages collected so far as one group, and waits for them.
    pub(crate) fn flush(&mut self) -> Result<(), RunError> {
        let mut block = core::mem::take(&mut self.block);
        let Some(last) = block.last() else { return Ok(()) };
        let last = last.step;
        let calls: Vec<(usize, CallRun)> =
            block.iter().map(|message| (message.step, self.call_of(message))).collect();
        for (_, call) in &calls {
            trace::call(self.rank.index(), call);
        }
        let posted = self.comm.group(|group| {
            for message in &mut block {
                match &mut message.side {
                    Side::Send(from) => group.send(message.peer, from.view())?,
                    Side::Recv { into, .. } => group.recv(message.peer, into)?,
                }
            }
            Ok(())
        });
        let outcome = posted.and_then(|()| self.wait());
        for (step, call) in calls {
            let outcome =
                outcome.clone().map_err(|error| RunError::Backend { step: Some(step), error });
            self.done.push(Done { step, act: ActRun::Call(call), outcome });
        }
        outcome.map_err(|error| RunError::Backend { step: Some(last), error })?;
        for message in block {
            if let Side::Recv { name, into } = message.side {
                self.buffers.put(&name, into);
            }
        }
        Ok(())
    }

    fn call_of(&mut self, message: &Message<C>) -> CallRun {
        let own = self.comm.rank();
        let (verb, from, to, buffer) = match &message.side {
            Side::Send(buffer) => {
                (Verb::Send { to: message.peer }, own, message.peer, buffer.as_ref())
            }
            Side::Recv { into, .. } => (Verb::Recv { from: message.peer }, message.peer, own, into),
        };
        let world = World::new(self.job.world());
        CallRun {
            op: verb.to_string(),
            comm: self.comm.name().to_owned(),
            members: [from, to].iter().filter_map(|rank| world.rank(rank.index())).collect(),
            seq: self.comms.next_message(from, to),
            count: u64::try_from(buffer.len()).unwrap_or(u64::MAX),
            convention: OperationKind::Message.row().count,
            dtype: buffer.dtype(),
        }
    }
}
