//! Calls that are wrong on paper.

use rankwise_comm::{Calls, Communicator, Error, ErrorKind, Fault, Side, Stream};
use rankwise_model::{
    Dtype, GroupSize, LayoutError, NotInGroup, Operation, OperationKind, Rank, Reduction,
};

use super::numbers::{blank, contribution, contributions, holds, model_at, times, upload};
use crate::defect::Defect;

const SUM: Operation = Operation::AllReduce { reduction: Reduction::Sum };

/// Compares a refusal with the fault that it must be.
fn refused<T>(
    what: &str,
    result: Result<T, Error>,
    is_it: impl FnOnce(&Fault) -> bool,
) -> Result<(), Defect> {
    match result {
        Ok(_) => Err(Defect::new(format!("{what} was not refused"))),
        Err(error) if is_it(error.fault()) && error.kind() == ErrorKind::Caller => Ok(()),
        Err(error) => Err(Defect::new(format!("{what} was refused for another reason: {error}"))),
    }
}

fn length(side: Side, found: usize, needed: usize) -> impl FnOnce(&Fault) -> bool {
    move |fault| {
        matches!(fault, Fault::Length { side: its, found: f, needed: n, .. }
            if *its == side && is(*f, found) && is(*n, needed))
    }
}

fn is(elements: u64, expected: usize) -> bool {
    u64::try_from(expected) == Ok(elements)
}

fn outside(rank: Rank, ranks: GroupSize) -> impl FnOnce(&Fault) -> bool {
    move |fault| {
        matches!(fault, Fault::Layout { error: LayoutError::NotInGroup { found, .. }, .. }
            if *found == NotInGroup { rank, ranks })
    }
}

pub(super) fn refusals<C: Communicator>(comm: &C) -> Result<(), Defect> {
    let (n, ranks) = (times(comm), comm.ranks());
    let (x, mut y) = (upload(comm, &contribution(comm.rank(), 0, 4))?, blank(comm, 4)?);

    let mut longer = blank(comm, 5)?;
    let result = comm.all_reduce(Reduction::Sum, &x, &mut longer);
    refused("all_reduce of 4 into 5", result, length(Side::Output, 5, 4))?;
    let mut short = blank(comm, 4 * n - 1)?;
    let result = comm.all_gather(&x, &mut short);
    refused("all_gather into one too few", result, length(Side::Output, 4 * n - 1, 4 * n))?;
    let long = blank(comm, 4 * n + 1)?;
    let result = comm.reduce_scatter(Reduction::Sum, &long, &mut y);
    refused("reduce_scatter of one too many", result, length(Side::Input, 4 * n + 1, 4 * n))?;
    if n > 1 {
        let mut odd = blank(comm, 4 * n + 1)?;
        let result = comm.all_gather_in_place(&mut odd);
        refused("all_gather in place of a part more", result, |fault| {
            matches!(fault, Fault::NotDivisible { found, ranks: by, .. }
                if is(*found, 4 * n + 1) && *by == ranks)
        })?;
    }
    let more = ranks.get().checked_add(1).and_then(GroupSize::new);
    if let Some(beyond) = more.and_then(|more| more.rank(ranks.get())) {
        let result = comm.broadcast(beyond, &x, &mut y);
        refused("broadcast from outside", result, outside(beyond, ranks))?;
        refused("send to outside", comm.send(beyond, &x), outside(beyond, ranks))?;
    }
    let (signed, mut unsigned) = (comm.dyn_buffer(Dtype::I32, 4)?, comm.dyn_buffer(Dtype::U32, 4)?);
    let result = comm.all_reduce(Reduction::Sum, &signed, &mut unsigned);
    refused("all_reduce of i32 into u32", result, |fault| {
        matches!(fault, Fault::ElementTypes { input: Dtype::I32, output: Dtype::U32, .. })
    })?;
    let premul = Some(Reduction::PreMulSum);
    if comm.capabilities().supports(OperationKind::AllReduce, premul, Dtype::I32) {
        let result = comm.all_reduce(Reduction::PreMulSum, &x, &mut y);
        refused("a pre-multiplied sum without its scalar", result, |fault| {
            matches!(fault, Fault::Scalar { found: None, dtype: Dtype::I32, .. })
        })?;
    }
    refused("a write of 3 to 4", comm.stream().write(&mut y, &[1, 2, 3]), |fault| {
        matches!(fault, Fault::Transfer { host: 3, buffer: 4 })
    })?;
    refused(
        "elements 2 to 5 of 4",
        x.slice(2..5),
        |fault| matches!(fault, Fault::Slice { range, len: 4 } if *range == (2..5)),
    )?;
    unharmed(comm)
}

/// A call that is right, after some that were not.
fn unharmed<C: Communicator>(comm: &C) -> Result<(), Defect> {
    let (x, mut y) = (upload(comm, &contribution(comm.rank(), 1, 4))?, blank(comm, 4)?);
    comm.all_reduce(Reduction::Sum, &x, &mut y)?;
    let sum = model_at(SUM, &contributions(comm.ranks(), 1, 4), comm.rank())?;
    holds(comm, "a right call after the refusals", &y, &sum)
}

pub(super) fn group_given_up<C: Communicator>(comm: &C) -> Result<(), Defect> {
    let (x, mut y) = (upload(comm, &contribution(comm.rank(), 0, 4))?, blank(comm, 4)?);
    let mut longer = blank(comm, 5)?;
    let result = comm.group(|group| {
        group.all_reduce(Reduction::Sum, &x, &mut y)?;
        group.all_reduce(Reduction::Sum, &x, &mut longer)
    });
    refused("a group with a wrong call", result, length(Side::Output, 5, 4))?;
    unharmed(comm)?;
    holds(comm, "the output of the right call in the group", &y, &[-77; 4])?;

    let result = comm.group(|group| {
        let wrong = group.all_reduce(Reduction::Sum, &x, &mut longer);
        group.all_reduce(Reduction::Sum, &x, &mut y)?;
        Ok(wrong)
    });
    let what = "the output of the right call beside a wrong one";
    if comm.capabilities().poisons_groups() {
        refused("a group that went on", result, length(Side::Output, 5, 4))?;
        return holds(comm, what, &y, &[-77; 4]);
    }
    refused("a wrong call in a group", result?, length(Side::Output, 5, 4))?;
    let sum = model_at(SUM, &contributions(comm.ranks(), 0, 4), comm.rank())?;
    holds(comm, what, &y, &sum)
}
