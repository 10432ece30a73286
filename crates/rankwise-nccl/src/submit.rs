//! Handing calls to NCCL.

use core::ffi::c_void;
use core::ptr;
use std::sync::Arc;

use nccl_sys::{cudaStream_t, ncclComm_t, ncclRedOp_t, ncclScalarResidence_t};
use rankwise_comm::bytes::scalar_to_bytes;
use rankwise_comm::{Communicator, Error, Fault, Post};
use rankwise_model::{Operation, Rank, Reduction};
use rankwise_program::Verb;

use crate::block::Block;
use crate::comm::Comm;
use crate::handle::{Calling, Handle};
use crate::init::number;
use crate::library::{Nccl, call};
use crate::names;
use crate::point::Point;
use crate::stream::Queue;
use crate::uses::Access;

/// A call that has been looked at, with all that NCCL wants to know.
struct Prepared<'p> {
    post: &'p Post<'p, Comm>,
    raw: ncclComm_t,
    op: Option<ncclRedOp_t>,
}

/// Enqueues calls as one unit.
///
/// Whatever can be refused here is refused before NCCL hears of any of them. What each
/// touches is noted before it is handed over, and every stream is told afterwards where
/// the unit ends, also if NCCL refused: then it may still have taken a part.
pub(crate) fn submit(posts: &[Post<'_, Comm>]) -> Result<(), Error> {
    let Some(first) = posts.first() else { return Ok(()) };
    let nccl = first.comm().handle.nccl;
    for post in posts {
        check(post, nccl)?;
    }
    let handles = handles(posts);
    if let Some(error) = handles.iter().find_map(|handle| handle.failure()) {
        return Err(error);
    }
    let calling: Vec<_> = handles.iter().map(|h| h.call()).collect::<Result<_, _>>()?;
    let _bound = first.comm().handle.device.bind()?;
    let mut operators = Operators { nccl, made: Vec::new() };
    let prepared = posts
        .iter()
        .map(|post| prepare(post, &handles, &calling, &mut operators))
        .collect::<Result<Vec<_>, Error>>()?;

    for post in posts {
        let queue = &post.stream().queue;
        for (block, bytes, access) in sides(post) {
            queue.follow_uses(block, &bytes, access)?;
        }
        queue.involve(&post.comm().handle);
    }
    let points = points(posts)?;
    for post in posts {
        let point = point_of(&points, post)?;
        for (block, bytes, access) in sides(post) {
            block.note(bytes, access, point);
        }
        post.comm().ends.note(point);
    }

    let enqueued = enqueue_all(nccl, &prepared);
    let recorded = points.iter().try_for_each(|(queue, point)| point.record(queue));
    enqueued.map_err(|error| {
        // The communicator's own words, the same on every rank, if it has any.
        handles.iter().find_map(|handle| handle.failure()).unwrap_or(error)
    })?;
    recorded
}

/// Whether the pieces of a call belong together.
fn check(post: &Post<'_, Comm>, nccl: Nccl) -> Result<(), Error> {
    let foreign = |found: String, needed: String| Err(Fault::Foreign { found, needed }.into());
    let comm = post.comm();
    if !comm.handle.nccl.is(nccl) {
        return foreign(
            format!("a communicator of the NCCL at {}", comm.nccl().path().display()),
            format!("one of that at {}, as the others of the group", nccl.path().display()),
        );
    }
    let (stream, device) = (post.stream().queue.device.ordinal, comm.device());
    if stream != device {
        return foreign(format!("a stream of device {stream}"), format!("one of device {device}"));
    }
    Ok(())
}

/// Every communicator of the calls once, in an order that is the same for all threads, so
/// that two that lock the same ones do not wait for each other.
fn handles<'p>(posts: &'p [Post<'_, Comm>]) -> Vec<&'p Arc<Handle>> {
    let mut handles: Vec<_> = posts.iter().map(|post| &post.comm().handle).collect();
    handles.sort_by_key(|handle| Arc::as_ptr(handle));
    handles.dedup_by_key(|handle| Arc::as_ptr(handle));
    handles
}

/// What a call reads and what it writes.
fn sides<'p>(
    post: &'p Post<'_, Comm>,
) -> impl Iterator<Item = (&'p Block, core::ops::Range<usize>, Access)> {
    let reads = post.call().input().map(|part| (part, Access::Read));
    let writes = post.call().output().map(|part| (part, Access::Write));
    reads
        .into_iter()
        .chain(writes)
        .map(|(part, access)| (&part.memory().block, part.bytes(), access))
}

/// For each stream of the calls the point at which they end.
fn points<'p>(posts: &'p [Post<'_, Comm>]) -> Result<Vec<(&'p Queue, Arc<Point>)>, Error> {
    let mut points: Vec<(&Queue, Arc<Point>)> = Vec::new();
    for post in posts {
        let queue = &post.stream().queue;
        if !points.iter().any(|(known, _)| known.number == queue.number) {
            points.push((queue, queue.point()?));
        }
    }
    Ok(points)
}

fn point_of<'p>(
    points: &'p [(&Queue, Arc<Point>)],
    post: &Post<'_, Comm>,
) -> Result<&'p Arc<Point>, Error> {
    let own = post.stream().queue.number;
    let found = points.iter().find(|(queue, _)| queue.number == own);
    found.map(|(_, point)| point).ok_or_else(|| internal("a stream of the unit has no end"))
}

fn prepare<'p>(
    post: &'p Post<'p, Comm>,
    handles: &[&Arc<Handle>],
    calling: &[Calling<'_>],
    operators: &mut Operators,
) -> Result<Prepared<'p>, Error> {
    let own = &post.comm().handle;
    let mut entered = handles.iter().zip(calling).filter(|(handle, _)| Arc::ptr_eq(handle, own));
    let Some((_, calling)) = entered.next() else {
        return Err(internal("a communicator of the unit was not entered"));
    };
    let raw = calling.inside.raw();
    let op = match post.call().signature().verb().reduction() {
        None => None,
        // SAFETY: the communicator is alive as long as `calling`, which outlives
        // `operators`: it is declared before.
        Some(Reduction::PreMulSum) => Some(unsafe { operators.make(post, raw) }?),
        Some(reduction) => Some(
            names::reduction(reduction)
                .ok_or_else(|| unsupported(post, &format!("the reduction {reduction}")))?,
        ),
    };
    Ok(Prepared { post, raw, op })
}

/// Reductions that carry a scalar. NCCL copies what it needs of them at the call.
struct Operators {
    nccl: Nccl,
    made: Vec<(ncclRedOp_t, ncclComm_t)>,
}

impl Operators {
    /// # Safety
    ///
    /// `raw` is alive until `self` is dropped.
    unsafe fn make(
        &mut self,
        post: &Post<'_, Comm>,
        raw: ncclComm_t,
    ) -> Result<ncclRedOp_t, Error> {
        let Some(scalar) = post.call().scalar() else {
            return Err(internal("a pre-multiplied sum without its scalar"));
        };
        let dtype = dtype(post)?;
        let mut bytes = scalar_to_bytes(scalar);
        let mut op = ncclRedOp_t::ncclSum;
        let residence = ncclScalarResidence_t::ncclScalarHostImmediate;
        // SAFETY: `op` may be written; the scalar is on the host, read during the call, and
        // as long as `dtype` says: the checked call compared its type. `raw` is alive.
        unsafe {
            let scalar = bytes.as_mut_ptr().cast::<c_void>();
            call!(self.nccl, ncclRedOpCreatePreMulSum(&raw mut op, scalar, dtype, residence, raw))
        }?;
        self.made.push((op, raw));
        Ok(op)
    }
}

impl Drop for Operators {
    fn drop(&mut self) {
        for (op, raw) in self.made.drain(..) {
            // SAFETY: made for this communicator, which is alive by the contract of
            // `make`; the calls that use it have been handed over.
            let _ = unsafe { call!(self.nccl, ncclRedOpDestroy(op, raw)) };
        }
    }
}

fn enqueue_all(nccl: Nccl, calls: &[Prepared<'_>]) -> Result<(), Error> {
    if let [only] = calls {
        // SAFETY: `submit` has noted what it touches, and holds the communicator.
        return unsafe { enqueue(nccl, only) };
    }
    // SAFETY: it takes nothing.
    unsafe { call!(nccl, ncclGroupStart()) }?;
    // The first refusal: NCCL then runs none of the group.
    // SAFETY: as above.
    let enqueued = calls.iter().try_for_each(|call| unsafe { enqueue(nccl, call) });
    // SAFETY: it ends the group that was started above on this thread, in any case.
    let ended = unsafe { call!(nccl, ncclGroupEnd()) };
    enqueued.and(ended)
}

/// Hands one call to NCCL.
///
/// # Safety
///
/// The communicator is alive, nobody else makes calls on it, and what the call touches has
/// been noted with a point that will be recorded on its stream.
unsafe fn enqueue(nccl: Nccl, call: &Prepared<'_>) -> Result<(), Error> {
    let Prepared { post, raw: comm, op: operator } = *call;
    let checked = post.call();
    let address = |part: Option<&rankwise_comm::Part<'_, crate::memory::DeviceMemory>>| {
        part.map_or(Ok(0), |part| {
            let bytes = part.bytes();
            part.memory().block.address_of(&bytes, bytes.len())
        })
    };
    let send = pointer(address(checked.input())?).cast_const();
    let recv = pointer(address(checked.output())?);
    let dtype = dtype(post)?;
    let count = usize::try_from(checked.count())
        .map_err(|_| internal("a count that this machine does not address"))?;
    let stream: cudaStream_t = post.stream().queue.raw().cast();
    let at = |rank: Rank| number(rank.index());
    let op = || operator.ok_or_else(|| internal("a call that combines has no reduction"));

    // SAFETY: for each of these calls, against NCCL's contract (`docs/unsafe.md`):
    // - buffers: each is a part of an allocation of the communicator's device, just as
    //   long as the operation reads or writes on this rank (`CheckedCall` has one maker,
    //   which computes both from the model's table; `Post` compares rank, ranks and
    //   device), or null where this rank has no such side, which NCCL then ignores. They
    //   are disjoint, or in place by the operation's own relation.
    // - flight: NCCL returns before it is done. The allocations stay until the points
    //   noted in them have been passed, whoever drops or leaks what.
    // - races: what else touches the bytes has been enqueued before and is waited for, or
    //   will wait for those points.
    // - communicator: alive, and ours alone, by this function's contract.
    // - stream: alive as long as the post borrows it; of the communicator's device
    //   (`check`).
    // - numbers: element type and operator are NCCL's own; root and peer are ranks of
    //   the group, by the checked call.
    unsafe {
        match checked.signature().verb() {
            Verb::Send { to } => {
                call!(nccl, ncclSend(send, count, dtype, at(to)?, comm, stream))
            }
            Verb::Recv { from } => {
                call!(nccl, ncclRecv(recv, count, dtype, at(from)?, comm, stream))
            }
            Verb::Collective(collective) => match collective.operation() {
                Operation::AllReduce { .. } => {
                    call!(nccl, ncclAllReduce(send, recv, count, dtype, op()?, comm, stream))
                }
                Operation::Reduce { root, .. } => {
                    call!(
                        nccl,
                        ncclReduce(send, recv, count, dtype, op()?, at(root)?, comm, stream)
                    )
                }
                Operation::Broadcast { root } => {
                    call!(nccl, ncclBroadcast(send, recv, count, dtype, at(root)?, comm, stream))
                }
                Operation::AllGather => {
                    call!(nccl, ncclAllGather(send, recv, count, dtype, comm, stream))
                }
                Operation::ReduceScatter { .. } => {
                    call!(nccl, ncclReduceScatter(send, recv, count, dtype, op()?, comm, stream))
                }
                Operation::AllToAll => {
                    call!(nccl, ncclAlltoAll(send, recv, count, dtype, comm, stream))
                }
                Operation::Gather { root } => {
                    call!(nccl, ncclGather(send, recv, count, dtype, at(root)?, comm, stream))
                }
                Operation::Scatter { root } => {
                    call!(nccl, ncclScatter(send, recv, count, dtype, at(root)?, comm, stream))
                }
                other => Err(unsupported(post, &other.to_string())),
            },
            other => Err(unsupported(post, &other.to_string())),
        }
    }
}

/// An address as C has it. Nothing here dereferences it: it is the device's.
fn pointer(address: u64) -> *mut c_void {
    usize::try_from(address).map_or(ptr::null_mut(), ptr::with_exposed_provenance_mut)
}

fn dtype(post: &Post<'_, Comm>) -> Result<nccl_sys::ncclDataType_t, Error> {
    let dtype = post.call().dtype();
    names::dtype(dtype).ok_or_else(|| unsupported(post, &format!("the element type {dtype}")))
}

fn unsupported(post: &Post<'_, Comm>, what: &str) -> Error {
    let backend = post.comm().capabilities().backend().to_owned();
    let what = format!("{what} ({})", post.call().site());
    Fault::Unsupported { backend, what, since: None }.into()
}

fn internal(what: &str) -> Error {
    Fault::Internal { what: what.to_owned() }.into()
}
