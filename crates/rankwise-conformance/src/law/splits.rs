//! Laws of splitting a communicator.

use rankwise_comm::{Calls, Communicator};
use rankwise_model::{GroupSize, Operation, Rank, Reduction};

use super::numbers::{blank, contribution, contributions, holds, model_at, times, upload};
use crate::defect::Defect;

const SUM: Operation = Operation::AllReduce { reduction: Reduction::Sum };

/// The members of a new group, as ranks of the old one, in the order that NCCL states:
/// by key, and of equal keys by the old rank.
fn members(ranks: GroupSize, of: impl Fn(Rank) -> Option<i32>) -> Vec<Rank> {
    let mut members: Vec<(i32, Rank)> =
        ranks.ranks().filter_map(|rank| Some((of(rank)?, rank))).collect();
    members.sort_unstable();
    members.into_iter().map(|(_, rank)| rank).collect()
}

fn signed(rank: Rank) -> i32 {
    i32::try_from(rank.index()).unwrap_or(i32::MAX)
}

/// Splits, and compares who one has become.
fn split_into<C: Communicator>(
    comm: &C,
    color: u32,
    key: i32,
    members: &[Rank],
) -> Result<C, Defect> {
    let Some(child) = comm.split(Some(color), key)?.wait()? else {
        return Err(Defect::new("a split with a colour gave no communicator"));
    };
    let size = u32::try_from(members.len()).ok().and_then(GroupSize::new);
    let place = members.iter().position(|rank| *rank == comm.rank());
    let expected = size
        .zip(place)
        .and_then(|(size, place)| Some((size.rank(u32::try_from(place).ok()?)?, size)));
    if Some((child.rank(), child.ranks())) == expected {
        return Ok(child);
    }
    let place = place.unwrap_or(members.len());
    Err(Defect::new(format!(
        "after the split: found rank {} of {}, expected rank {place} of {}",
        child.rank(),
        child.ranks(),
        members.len()
    )))
}

/// All-gathers in a new group and compares the order of its members.
fn in_order<C: Communicator>(child: &C, old: Rank, members: &[Rank]) -> Result<(), Defect> {
    let mine = upload(child, &contribution(old, 0, 2))?;
    let mut all = blank(child, 2 * times(child))?;
    child.all_gather(&mine, &mut all)?;
    let inputs: Vec<_> = members.iter().map(|rank| contribution(*rank, 0, 2)).collect();
    let expected = model_at(Operation::AllGather, &inputs, child.rank())?;
    holds(child, "all_gather after the split", &all, &expected)
}

pub(super) fn relabelling<C: Communicator>(comm: &C) -> Result<(), Defect> {
    let reversed = members(comm.ranks(), |rank| Some(-signed(rank)));
    let child = split_into(comm, 0, -signed(comm.rank()), &reversed)?;
    in_order(&child, comm.rank(), &reversed)?;

    let whole = 2 * times(comm);
    let mine = upload(&child, &contribution(comm.rank(), 0, whole))?;
    let inputs: Vec<_> = reversed.iter().map(|rank| contribution(*rank, 0, whole)).collect();
    let mut shard = blank(&child, 2)?;
    child.reduce_scatter(Reduction::Sum, &mine, &mut shard)?;
    let operation = Operation::ReduceScatter { reduction: Reduction::Sum };
    let expected = model_at(operation, &inputs, child.rank())?;
    holds(&child, "the shard after the split", &shard, &expected)?;

    let mut sum = blank(&child, whole)?;
    child.all_reduce(Reduction::Sum, &mine, &mut sum)?;
    let expected = model_at(SUM, &contributions(comm.ranks(), 0, whole), comm.rank())?;
    holds(&child, "the sum after the split", &sum, &expected)
}

pub(super) fn split_by_colour<C: Communicator>(comm: &C) -> Result<(), Defect> {
    let color = comm.rank().index() % 2;
    let own = members(comm.ranks(), |rank| (rank.index() % 2 == color).then_some(signed(rank)));
    let child = split_into(comm, color, signed(comm.rank()), &own)?;
    in_order(&child, comm.rank(), &own)?;
    let mine = upload(&child, &contribution(comm.rank(), 1, 3))?;
    let mut sum = blank(&child, 3)?;
    child.all_reduce(Reduction::Sum, &mine, &mut sum)?;
    let inputs: Vec<_> = own.iter().map(|rank| contribution(*rank, 1, 3)).collect();
    holds(&child, "the sum of the colour", &sum, &model_at(SUM, &inputs, child.rank())?)
}

pub(super) fn split_order<C: Communicator>(comm: &C) -> Result<(), Defect> {
    // Rank 0 stays out; of the others, each three have a key in common, the last first.
    let key = |rank: Rank| (rank.index() > 0).then_some(-(signed(rank) / 3));
    match key(comm.rank()) {
        Some(own) => {
            let others = members(comm.ranks(), key);
            let child = split_into(comm, 7, own, &others)?;
            in_order(&child, comm.rank(), &others)
        }
        None => match comm.split(None, 0)?.wait()? {
            None => Ok(()),
            Some(child) => Err(Defect::new(format!(
                "a split without a colour gave rank {} of {}, expected none",
                child.rank(),
                child.ranks()
            ))),
        },
    }
}

pub(super) fn parent_and_child<C: Communicator>(comm: &C) -> Result<(), Defect> {
    let all = members(comm.ranks(), |rank| Some(signed(rank)));
    let child = split_into(comm, 0, signed(comm.rank()), &all)?;
    let mut got = Vec::new();
    for call in 0..6 {
        let on = if call % 2 == 0 { comm } else { &child };
        let mine = upload(comm, &contribution(comm.rank(), call, 2))?;
        let mut sum = blank(comm, 2)?;
        on.on(comm.stream()).all_reduce(Reduction::Sum, &mine, &mut sum)?;
        got.push((call, mine, sum));
    }
    for (call, _, sum) in &got {
        let expected = model_at(SUM, &contributions(comm.ranks(), *call, 2), comm.rank())?;
        holds(comm, &format!("call {call}"), sum, &expected)?;
    }
    Ok(())
}
