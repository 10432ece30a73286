//! Calls on memory that is not the mock's: for stand-ins of a real library.
//!
//! The same matching, blame and arithmetic as for [`Comm`], but the caller brings raw
//! spans, and answers for them.

use rankwise_comm::{Communicator, Error, Fault, Memory};
use rankwise_model::{Rank, Scalar};
use rankwise_program::Entry;
use rankwise_program::{Signature, Site};

use crate::comm::Comm;
use crate::engine::Span;
use crate::instance::{Bytes, Seating, Taken};
use crate::memory::HostMemory;
use crate::stream::Stream;
use crate::submit::{Poison, Prepared, enqueue};
use crate::uses::{Access, What};

/// A call of one rank on raw memory.
///
/// A side that the rank does not have may be given or not: it is not touched.
#[derive(Clone, Debug)]
pub struct RawCall {
    /// What the ranks must agree on.
    pub signature: Signature,
    /// This rank's scalar, for a pre-multiplied sum.
    pub scalar: Option<Scalar>,
    /// What is read.
    pub input: Option<Span>,
    /// What is written.
    pub output: Option<Span>,
    /// Where the call was made.
    pub site: Site,
}

/// Enqueues calls as one unit per rank and stream: all of them, or none.
///
/// # Safety
///
/// Until a fence taken on the stream afterwards has been passed, every span stays valid
/// for reads (inputs) and writes (outputs), and nobody else touches it but calls that are
/// ordered by the mock's streams. It is checked that each span is long enough and that
/// none overlaps another of its instance otherwise than in place.
#[allow(unsafe_code)]
pub unsafe fn submit(calls: &[(&Comm, &Stream, RawCall)]) -> Result<(), Error> {
    let prepared = calls.iter().map(|(comm, stream, call)| prepare(comm, stream, call));
    enqueue(prepared.collect::<Result<_, _>>()?)
}

#[track_caller]
fn prepare<'p>(comm: &'p Comm, stream: &'p Stream, call: &RawCall) -> Result<Prepared<'p>, Error> {
    let here = core::panic::Location::caller();
    let (own, ranks): (Rank, _) = (comm.rank(), comm.ranks());
    let nothing = || Fault::Internal { what: format!("{} moves nothing", call.signature) };
    let payload = call.signature.payload().ok_or_else(nothing)?;
    let layout = call.signature.layout(own, ranks).ok_or_else(nothing)?;
    let layout = layout.map_err(|error| Fault::Layout { error, site: here })?;
    let layout = layout.at(own).map_err(|found| Fault::Internal { what: found.to_string() })?;
    let verb = call.signature.verb();
    Ok(Prepared {
        comm,
        stream,
        entry: Entry {
            comm: comm.id(),
            signature: call.signature,
            site: call.site.clone(),
            tag: None,
        },
        seating: Seating::of(verb, layout).map_err(|error| Fault::Layout { error, site: here })?,
        taken: Taken {
            comm: comm.id(),
            lane: 0,
            ticket: 0,
            dtype: payload.dtype,
            input: call.input.map(Bytes::Raw),
            of_input: Access::Read,
            output: call.output.map(Bytes::Raw),
            scalar: call.scalar,
        },
        what: What::Call(verb.name(), here),
        poison: Poison::default(),
    })
}

/// Where memory lies that `comm` has allocated: for whoever measures the engine on the
/// very bytes of a run.
///
/// A span dereferences nothing. To hand it to [`Job::new`](crate::engine::Job::new) is to
/// promise that the memory is kept, and that no call uses it meanwhile.
///
/// # Errors
///
/// If the memory is another world's.
pub fn span_of(comm: &Comm, memory: &HostMemory) -> Result<Option<Span>, Error> {
    Ok(memory.block_of(comm.hub())?.span(&(0..memory.bytes())))
}
