//! Calls as data: what is asked for, and how a report words it.

use rankwise_comm::prelude::*;
use rankwise_comm::{Calls, Dyn, premul};
use rankwise_mock::Comm;
use rankwise_program::Tag;

/// A call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Does {
    AllReduce(Reduction),
    Reduce(Reduction, u32),
    Broadcast(u32),
    AllGather,
    ReduceScatter(Reduction),
    AllToAll,
    Gather(u32),
    Scatter(u32),
    Send(u32),
    Recv(u32),
}

/// What a rank asks for.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) does: Does,
    pub(super) dtype: Dtype,
    pub(super) count: usize,
    pub(super) tag: Option<&'static str>,
    /// The call as a report names it: `all_reduce(sum)`.
    pub(super) verb: String,
    /// What it moves, as a report says it: `4 × f32`.
    pub(super) moves: String,
}

/// Of 4 × f32.
pub(super) fn asked(does: Does, verb: impl Into<String>) -> Asked {
    let (verb, moves) = (verb.into(), "4 × f32".to_owned());
    Asked { does, dtype: Dtype::F32, count: 4, tag: None, verb, moves }
}

/// The `all_reduce(sum) of 4 × f32` that differs from most others in one respect.
pub(super) fn sum() -> Asked {
    asked(Does::AllReduce(Reduction::Sum), "all_reduce(sum)")
}

/// What all agree on before.
pub(super) fn first() -> Asked {
    asked(Does::AllReduce(Reduction::Min), "all_reduce(min)").of(Dtype::U8, 2, "2 × u8")
}

impl Asked {
    pub(super) fn of(self, dtype: Dtype, count: usize, moves: &str) -> Self {
        Self { dtype, count, moves: moves.to_owned(), ..self }
    }

    pub(super) fn tagged(self, tag: &'static str) -> Self {
        Self { tag: Some(tag), ..self }
    }

    pub(super) fn tag(&self) -> Option<Tag> {
        self.tag.map(Tag::new)
    }

    /// As a report says it in full.
    pub(super) fn words(&self) -> String {
        let tag = self.tag.map_or(String::new(), |tag| format!(" (tag {tag})"));
        format!("{} of {}{tag}", self.verb, self.moves)
    }

    /// Enough for either side.
    pub(super) fn buffers(&self, comm: &Comm) -> Result<(Memory, Memory), Error> {
        let len = self.count * usize::try_from(comm.ranks().get()).expect("small");
        Ok((comm.dyn_buffer(self.dtype, len)?, comm.dyn_buffer(self.dtype, len)?))
    }
}

type Memory = Buffer<Dyn, <Comm as Communicator>::Memory>;

/// Makes the call.
#[track_caller]
pub(super) fn post<'env>(
    on: &impl Calls<'env, Memory = <Comm as Communicator>::Memory>,
    asked: &Asked,
    x: &'env Memory,
    y: &'env mut Memory,
) -> Result<(), Error> {
    let (count, all) = (asked.count, y.len());
    let ranks = on.caller().ranks;
    let at = |rank| ranks.rank(rank).expect("in the group");
    let op = |reduction| match reduction {
        Reduction::PreMulSum => premul(1.0_f32),
        reduction => reduction.into(),
    };
    match asked.does {
        Does::AllReduce(by) => on.all_reduce(op(by), x.slice(0..count)?, y.slice_mut(0..count)?),
        Does::Reduce(by, root) => {
            on.reduce(op(by), at(root), x.slice(0..count)?, y.slice_mut(0..count)?)
        }
        Does::Broadcast(root) => on.broadcast(at(root), x.slice(0..count)?, y.slice_mut(0..count)?),
        Does::AllGather => on.all_gather(x.slice(0..count)?, y.slice_mut(0..all)?),
        Does::ReduceScatter(by) => on.reduce_scatter(op(by), x, y.slice_mut(0..count)?),
        Does::AllToAll => on.all_to_all(x, y),
        Does::Gather(root) => on.gather(at(root), x.slice(0..count)?, y),
        Does::Scatter(root) => on.scatter(at(root), x, y.slice_mut(0..count)?),
        Does::Send(to) => on.send(at(to), x.slice(0..count)?),
        Does::Recv(from) => on.recv(at(from), y.slice_mut(0..count)?),
    }
}
