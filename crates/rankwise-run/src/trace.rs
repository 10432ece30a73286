//! The span and the events of a run. Their names and fields are in the crate's page.

use tracing::{Level, Span};

use crate::call::CallRun;

/// The target of all of them.
const TARGET: &str = "rankwise_run";

/// The span of one rank.
pub(crate) fn rank(parent: &Span, proposal: &str, rank: u32, ranks: u32) -> Span {
    tracing::span!(target: TARGET, parent: parent, Level::INFO, "rank", rank, ranks, proposal)
}

/// One call, before it is handed to the backend.
pub(crate) fn call(rank: u32, call: &CallRun) {
    let (op, comm, seq) = (call.op.as_str(), call.comm.as_str(), call.seq);
    tracing::event!(
        name: "call",
        target: TARGET,
        Level::DEBUG,
        op,
        comm,
        seq,
        rank,
        count = call.count,
        convention = tracing::field::display(call.convention)
    );
}

/// One local act, before it is carried out.
pub(crate) fn local(rank: u32, step: usize, op: &str) {
    tracing::event!(name: "local", target: TARGET, Level::TRACE, op, rank, step);
}
