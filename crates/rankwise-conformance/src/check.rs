//! What one rank does in a case.

use rankwise_comm::{Calls, Communicator, Dyn, Pending, Placement, ReduceOp, View, ViewMut};
use rankwise_model::{Dtype, Operation, Rank, RankLayout, Scalar};

use crate::case::{Grouping, Pattern, Sides};
use crate::defect::{Defect, Difference};
use crate::plan::{Plan, RankRound, Round};
use crate::sense::{Expectation, POISON};
use crate::zone::Workspace;
use rankwise_comm::bytes::{element_at, width};

/// Does the part of `comm`'s rank in the case, and compares what comes of it.
///
/// Every rank of the group must do so, at the same time: on threads of their own, or as
/// tasks, since it never blocks. The communicator can be used again if all of them
/// returned `Ok`.
///
/// ```
/// use rankwise_comm::{Communicator, FoldOrder};
/// use rankwise_conformance::{Case, Defect, Plan, check};
///
/// async fn holds<C: Communicator>(comm: &C, case: Case) -> Result<(), Defect> {
///     let plan = Plan::new(case, comm.capabilities().fold_order())
///         .map_err(|error| Defect::new(error.to_string()))?;
///     check(comm, &plan).await
/// }
/// ```
pub async fn check<C: Communicator>(comm: &C, plan: &Plan) -> Result<(), Defect> {
    check_in(comm, plan, &mut Workspace::new()).await
}

/// What was fetched after a call.
struct Fetched {
    input: Option<Pending<Vec<u8>>>,
    output: Option<Pending<Vec<u8>>>,
}

/// The same, with buffers that are used again.
pub(crate) async fn check_in<C: Communicator>(
    comm: &C,
    plan: &Plan,
    work: &mut Workspace<C::Memory>,
) -> Result<(), Defect> {
    let rank = comm.rank();
    let Some(sides) = plan.sides(rank).filter(|_| plan.case().ranks == comm.ranks()) else {
        return Err(Defect::new(format!(
            "the case is for {} ranks, the communicator has {}",
            plan.case().ranks,
            comm.ranks()
        )));
    };
    if plan.case().pattern.takes_no_part(sides) {
        return Ok(());
    }
    match plan.case().placement {
        Placement::OutOfPlace => out_of_place(comm, plan, sides, work).await,
        Placement::InPlace => in_place(comm, plan, sides, work).await,
    }
}

async fn out_of_place<C: Communicator>(
    comm: &C,
    plan: &Plan,
    sides: &Sides,
    work: &mut Workspace<C::Memory>,
) -> Result<(), Defect> {
    let (rank, dtype) = (comm.rank(), plan.case().dtype);
    // A rank without a side still passes a buffer, of a length that fits nothing.
    let input_len = if sides.reads.has_input() { sides.reads.input_len() } else { 1 };
    let output_len = if sides.writes.has_output() { sides.writes.output_len() } else { 1 };
    let mut input = work.take(comm, dtype, length(input_len)?)?;
    let mut output = work.take(comm, dtype, length(output_len)?)?;
    let mut fetched = Vec::with_capacity(plan.rounds().len());
    for own in own_rounds(plan, rank) {
        if let Some(bytes) = &own.input {
            input.fill(comm.stream(), bytes)?;
        }
        match &own.output {
            Some(expected) => output.fill(comm.stream(), expected.poison())?,
            None => output.fill(comm.stream(), &vec![POISON; width(dtype)])?,
        }
        let buffers = (input.view()?, output.view_mut()?);
        call(comm, plan, sides, own, buffers)?;
        fetched.push(Fetched {
            input: own.input.as_ref().map(|_| input.fetch(comm.stream())).transpose()?,
            output: own.output.as_ref().map(|_| output.fetch(comm.stream())).transpose()?,
        });
    }
    for ((number, round), fetched) in (0..).zip(plan.rounds()).zip(fetched) {
        let Some(own) = own_round(round, rank) else { continue };
        if let (Some(expected), Some(pending)) = (&own.output, fetched.output) {
            let whole = pending.await?;
            compare((number, round), dtype, expected, output.open(&whole, "output")?)?;
        }
        if let (Some(given), Some(pending)) = (&own.input, fetched.input) {
            let whole = pending.await?;
            unchanged((number, round), dtype, given, input.open(&whole, "input")?)?;
        }
    }
    work.give_back(input);
    work.give_back(output);
    Ok(())
}

async fn in_place<C: Communicator>(
    comm: &C,
    plan: &Plan,
    sides: &Sides,
    work: &mut Workspace<C::Memory>,
) -> Result<(), Defect> {
    let (rank, dtype) = (comm.rank(), plan.case().dtype);
    let at = &sides.writes;
    let (len, read, written) = in_place_parts(at);
    let mut zone = work.take(comm, dtype, length(len)?)?;
    let mut fetched = Vec::with_capacity(plan.rounds().len());
    for own in own_rounds(plan, rank) {
        let mut content = vec![POISON; length(len)?.saturating_mul(width(dtype))];
        if let (Some(expected), Some(part)) = (&own.output, bytes_of(&mut content, dtype, &written))
        {
            part.copy_from_slice(expected.poison());
        }
        if let (Some(bytes), Some(part)) = (&own.input, bytes_of(&mut content, dtype, &read)) {
            part.copy_from_slice(bytes);
        }
        zone.fill(comm.stream(), &content)?;
        call_in_place(comm, plan, own, zone.view_mut()?)?;
        fetched.push(zone.fetch(comm.stream())?);
    }
    for ((number, round), pending) in (0..).zip(plan.rounds()).zip(fetched) {
        let whole = pending.await?;
        let mut part = zone.open(&whole, "in-place buffer")?.to_vec();
        let Some(expected) = own_round(round, rank).and_then(|own| own.output.as_ref()) else {
            continue;
        };
        if let Some(found) = bytes_of(&mut part, dtype, &written) {
            compare((number, round), dtype, expected, found)?;
        }
    }
    work.give_back(zone);
    Ok(())
}

/// The length of the one buffer, and where in it input and output are.
fn in_place_parts(at: &RankLayout) -> (u64, core::ops::Range<u64>, core::ops::Range<u64>) {
    match at.in_place() {
        Some(relation) => (relation.buffer_len, relation.input, relation.output),
        None => {
            let (read, written) = (at.input_len(), at.output_len());
            (read.max(written), 0..read, 0..written)
        }
    }
}

fn bytes_of<'b>(
    bytes: &'b mut [u8],
    dtype: Dtype,
    elements: &core::ops::Range<u64>,
) -> Option<&'b mut [u8]> {
    let at = |element: u64| usize::try_from(element).ok()?.checked_mul(width(dtype));
    bytes.get_mut(at(elements.start)?..at(elements.end)?)
}

fn own_round(round: &Round, rank: Rank) -> Option<&RankRound> {
    round.ranks.get(usize::try_from(rank.index()).ok()?)
}

fn own_rounds(plan: &Plan, rank: Rank) -> impl Iterator<Item = &RankRound> {
    plan.rounds().iter().filter_map(move |round| own_round(round, rank))
}

fn length(elements: u64) -> Result<usize, Defect> {
    usize::try_from(elements)
        .map_err(|_| Defect::new(format!("{elements} elements are more than this machine counts")))
}

/// Makes the call, by itself or in a group.
fn call<'env, C: Communicator>(
    comm: &'env C,
    plan: &Plan,
    sides: &Sides,
    own: &RankRound,
    (input, output): (View<'env, Dyn, C::Memory>, ViewMut<'env, Dyn, C::Memory>),
) -> Result<(), Defect> {
    let operation = match plan.case().pattern {
        Pattern::Exchange { .. } => {
            let (to, from) = (peer_of(&sides.reads), peer_of(&sides.writes));
            let (Some((_, to)), Some((from, _))) = (to, from) else { return Ok(()) };
            comm.group(|group| {
                group.send(to, input)?;
                group.recv(from, output)
            })?;
            return Ok(());
        }
        Pattern::Operation(operation) => operation,
    };
    let scalar = own.scalar;
    match plan.case().grouping {
        Grouping::Alone => post(comm, operation, scalar, (input, output))?,
        Grouping::Grouped => comm.group(|group| post(group, operation, scalar, (input, output)))?,
    }
    Ok(())
}

/// Sender and receiver, if the layout is a message's.
fn peer_of(at: &RankLayout) -> Option<(Rank, Rank)> {
    match at.layout().operation() {
        Operation::Message { from, to } => Some((from, to)),
        _ => None,
    }
}

fn post<'env, K: Calls<'env>>(
    calls: &K,
    operation: Operation,
    scalar: Option<Scalar>,
    (input, output): (View<'env, Dyn, K::Memory>, ViewMut<'env, Dyn, K::Memory>),
) -> Result<(), rankwise_comm::Error> {
    let with = |reduction| scalar.map_or(ReduceOp::from(reduction), ReduceOp::premul_dyn);
    match operation {
        Operation::AllReduce { reduction } => calls.all_reduce(with(reduction), input, output),
        Operation::Reduce { reduction, root } => calls.reduce(with(reduction), root, input, output),
        Operation::Broadcast { root } => calls.broadcast(root, input, output),
        Operation::AllGather => calls.all_gather(input, output),
        Operation::ReduceScatter { reduction } => {
            calls.reduce_scatter(with(reduction), input, output)
        }
        Operation::AllToAll => calls.all_to_all(input, output),
        Operation::Gather { root } => calls.gather(root, input, output),
        Operation::Scatter { root } => calls.scatter(root, input, output),
        Operation::Message { from, to } => {
            let own = calls.caller().rank;
            if own == from {
                calls.send(to, input)?;
            }
            if own == to {
                calls.recv(from, output)?;
            }
            Ok(())
        }
        other => Err(unknown(other)),
    }
}

fn call_in_place<'env, C: Communicator>(
    comm: &'env C,
    plan: &Plan,
    own: &RankRound,
    whole: ViewMut<'env, Dyn, C::Memory>,
) -> Result<(), Defect> {
    let Pattern::Operation(operation) = plan.case().pattern else { return Ok(()) };
    match plan.case().grouping {
        Grouping::Alone => post_in_place(comm, operation, own.scalar, whole)?,
        Grouping::Grouped => {
            comm.group(|group| post_in_place(group, operation, own.scalar, whole))?;
        }
    }
    Ok(())
}

fn post_in_place<'env, K: Calls<'env>>(
    calls: &K,
    operation: Operation,
    scalar: Option<Scalar>,
    whole: ViewMut<'env, Dyn, K::Memory>,
) -> Result<(), rankwise_comm::Error> {
    let with = |reduction| scalar.map_or(ReduceOp::from(reduction), ReduceOp::premul_dyn);
    match operation {
        Operation::AllReduce { reduction } => calls.all_reduce_in_place(with(reduction), whole),
        Operation::Reduce { reduction, root } => {
            calls.reduce_in_place(with(reduction), root, whole)
        }
        Operation::Broadcast { root } => calls.broadcast_in_place(root, whole),
        Operation::AllGather => calls.all_gather_in_place(whole),
        Operation::ReduceScatter { reduction } => {
            calls.reduce_scatter_in_place(with(reduction), whole)
        }
        Operation::Gather { root } => calls.gather_in_place(root, whole),
        Operation::Scatter { root } => calls.scatter_in_place(root, whole),
        other => Err(unknown(other)),
    }
}

fn unknown(operation: Operation) -> rankwise_comm::Error {
    let what = format!("the suite knows no call for {operation}");
    rankwise_comm::Fault::Internal { what }.into()
}

fn compare(
    (number, round): (u32, &Round),
    dtype: Dtype,
    expected: &Expectation,
    found: &[u8],
) -> Result<(), Defect> {
    let Some((at, held, wanted)) = expected.first_difference(found) else { return Ok(()) };
    let poisoned = element_at(dtype, expected.poison(), at) == Some(held);
    let hint = if poisoned { "; it was not written" } else { "" };
    Err(differs((number, round), at, (held, wanted), hint))
}

fn unchanged(
    (number, round): (u32, &Round),
    dtype: Dtype,
    given: &[u8],
    found: &[u8],
) -> Result<(), Defect> {
    if given == found {
        return Ok(());
    }
    let differing = (0..given.len() / width(dtype)).find_map(|at| {
        let (held, wanted) = (element_at(dtype, found, at)?, element_at(dtype, given, at)?);
        (held != wanted).then_some((at, held, wanted))
    });
    Err(match differing {
        Some((at, held, wanted)) => {
            differs((number, round), at, (held, wanted), " in the input, which was changed")
        }
        None => Defect::new("the input came back with another length"),
    })
}

fn differs(
    (number, round): (u32, &Round),
    at: usize,
    (found, expected): (Scalar, Scalar),
    hint: &str,
) -> Defect {
    let difference = Difference {
        round: number,
        contributors: round.contributors,
        position: u64::try_from(at).unwrap_or(u64::MAX),
        found,
        expected,
    };
    Defect::of_difference(difference, hint)
}

impl Pattern {
    /// Whether a rank does nothing at all: it is neither end of a message.
    fn takes_no_part(self, sides: &Sides) -> bool {
        let message = matches!(self, Self::Operation(Operation::Message { .. }));
        message && !sides.reads.has_input() && !sides.writes.has_output()
    }
}
