//! Laws between calls of several kinds.

use rankwise_comm::{Calls, Communicator, Stream};
use rankwise_model::{Operation, Rank, Reduction};

use super::numbers::{
    blank, contribution, contributions, equal, holds, last, model_at, times, upload,
};
use crate::defect::Defect;

const SUM: Operation = Operation::AllReduce { reduction: Reduction::Sum };

pub(super) fn reduce_scatter_then_all_gather<C: Communicator>(comm: &C) -> Result<(), Defect> {
    let whole = 3 * times(comm);
    let mine = upload(comm, &contribution(comm.rank(), 0, whole))?;
    let mut shard = blank(comm, 3)?;
    let mut gathered = blank(comm, whole)?;
    let mut reduced = blank(comm, whole)?;
    comm.reduce_scatter(Reduction::Sum, &mine, &mut shard)?;
    comm.all_gather(&shard, &mut gathered)?;
    comm.all_reduce(Reduction::Sum, &mine, &mut reduced)?;
    let expected = model_at(SUM, &contributions(comm.ranks(), 0, whole), comm.rank())?;
    holds(comm, "all_reduce", &reduced, &expected)?;
    holds(comm, "reduce_scatter, then all_gather of the shards", &gathered, &expected)
}

pub(super) fn reduce_then_broadcast<C: Communicator>(comm: &C) -> Result<(), Defect> {
    let root = last(comm.ranks());
    let mine = upload(comm, &contribution(comm.rank(), 0, 5))?;
    let (mut on_root, mut spread) = (blank(comm, 5)?, blank(comm, 5)?);
    let mut reduced = blank(comm, 5)?;
    comm.reduce(Reduction::Sum, root, &mine, &mut on_root)?;
    comm.broadcast(root, &on_root, &mut spread)?;
    comm.all_reduce(Reduction::Sum, &mine, &mut reduced)?;
    let expected = model_at(SUM, &contributions(comm.ranks(), 0, 5), comm.rank())?;
    holds(comm, "all_reduce", &reduced, &expected)?;
    holds(comm, "reduce, then broadcast", &spread, &expected)
}

pub(super) fn gather_then_broadcast<C: Communicator>(comm: &C) -> Result<(), Defect> {
    let (root, whole) = (last(comm.ranks()), 2 * times(comm));
    let mine = upload(comm, &contribution(comm.rank(), 0, 2))?;
    let (mut on_root, mut spread) = (blank(comm, whole)?, blank(comm, whole)?);
    let mut gathered = blank(comm, whole)?;
    comm.gather(root, &mine, &mut on_root)?;
    comm.broadcast(root, &on_root, &mut spread)?;
    comm.all_gather(&mine, &mut gathered)?;
    let all = contributions(comm.ranks(), 0, 2);
    let expected = model_at(Operation::AllGather, &all, comm.rank())?;
    holds(comm, "all_gather", &gathered, &expected)?;
    holds(comm, "gather, then broadcast", &spread, &expected)
}

pub(super) fn scatter_then_gather<C: Communicator>(comm: &C) -> Result<(), Defect> {
    let (root, whole) = (last(comm.ranks()), 2 * times(comm));
    let before = contribution(comm.rank(), 0, whole);
    let given = upload(comm, &before)?;
    let (mut block, mut back) = (blank(comm, 2)?, blank(comm, whole)?);
    comm.scatter(root, &given, &mut block)?;
    comm.gather(root, &block, &mut back)?;
    if comm.rank() == root {
        holds(comm, "scatter, then gather, on the root", &back, &before)?;
    }
    Ok(comm.stream().fence()?.wait()?)
}

pub(super) fn all_to_all_twice<C: Communicator>(comm: &C) -> Result<(), Defect> {
    let whole = 2 * times(comm);
    let before = contribution(comm.rank(), 0, whole);
    let mine = upload(comm, &before)?;
    let (mut there, mut back) = (blank(comm, whole)?, blank(comm, whole)?);
    comm.all_to_all(&mine, &mut there)?;
    comm.all_to_all(&there, &mut back)?;
    let all = contributions(comm.ranks(), 0, whole);
    holds(comm, "all_to_all", &there, &model_at(Operation::AllToAll, &all, comm.rank())?)?;
    holds(comm, "all_to_all twice", &back, &before)
}

pub(super) fn broadcast_from_each_root<C: Communicator>(comm: &C) -> Result<(), Defect> {
    let mine = upload(comm, &contribution(comm.rank(), 0, 3))?;
    let mut got = Vec::new();
    for root in comm.ranks().ranks() {
        let mut from_root = blank(comm, 3)?;
        comm.broadcast(root, &mine, &mut from_root)?;
        got.push((root, from_root));
    }
    for (root, from_root) in &got {
        let expected = contribution(*root, 0, 3);
        holds(comm, &format!("broadcast from {root}"), from_root, &expected)?;
    }
    Ok(())
}

pub(super) fn group_of_many_calls<C: Communicator>(comm: &C) -> Result<(), Defect> {
    let (ranks, rank) = (comm.ranks(), comm.rank());
    let (summed, gathered) = (contribution(rank, 0, 4), contribution(rank, 1, 2));
    let (x, y, z) = (
        upload(comm, &summed)?,
        upload(comm, &gathered)?,
        upload(comm, &contribution(rank, 2, 3))?,
    );
    let (mut sum, mut all) = (blank(comm, 4)?, blank(comm, 2 * times(comm))?);
    let (mut second, mut passed) = (blank(comm, 3)?, blank(comm, 3)?);
    let (next, previous) = (neighbour(comm, 1), neighbour(comm, ranks.get() - 1));
    comm.group(|group| {
        group.all_reduce(Reduction::Sum, &x, &mut sum)?;
        group.send(next, &z)?;
        group.all_gather(&y, &mut all)?;
        group.recv(previous, &mut passed)?;
        group.all_reduce(Reduction::Sum, &z, &mut second)
    })?;
    holds(comm, "all_reduce in a group", &sum, &model_at(SUM, &contributions(ranks, 0, 4), rank)?)?;
    let expected = model_at(Operation::AllGather, &contributions(ranks, 1, 2), rank)?;
    holds(comm, "all_gather in a group", &all, &expected)?;
    holds(comm, "the message in a group", &passed, &contribution(previous, 2, 3))?;
    let expected = model_at(SUM, &contributions(ranks, 2, 3), rank)?;
    holds(comm, "the second all_reduce in a group", &second, &expected)
}

/// The rank that many further on, around the end.
fn neighbour<C: Communicator>(comm: &C, further: u32) -> Rank {
    let ranks = comm.ranks();
    let index = (u64::from(comm.rank().index()) + u64::from(further)) % u64::from(ranks.get());
    let index = u32::try_from(index).unwrap_or(0);
    ranks.rank(index).unwrap_or(ranks.first())
}

pub(super) fn messages_in_order<C: Communicator>(comm: &C) -> Result<(), Defect> {
    let (sender, receiver) = (comm.ranks().first(), last(comm.ranks()));
    let sent: Vec<Vec<i32>> = (0..6).map(|call| contribution(sender, call, 3)).collect();
    let ends = comm.rank() == sender || comm.rank() == receiver;
    let mut buffers: Vec<_> = sent
        .iter()
        .filter(|_| ends)
        .map(|message| if comm.rank() == sender { upload(comm, message) } else { blank(comm, 3) })
        .collect::<Result<_, _>>()?;
    let half = buffers.len() / 2;
    let (alone, grouped) = buffers.split_at_mut(half);
    if comm.rank() == sender {
        alone.iter().try_for_each(|buffer| comm.send(receiver, buffer))?;
        comm.group(|group| grouped.iter().try_for_each(|buffer| group.send(receiver, buffer)))?;
    }
    if comm.rank() == receiver {
        alone.iter_mut().try_for_each(|buffer| comm.recv(sender, buffer))?;
        comm.group(|group| grouped.iter_mut().try_for_each(|buffer| group.recv(sender, buffer)))?;
        for (number, (buffer, expected)) in buffers.iter().zip(&sent).enumerate() {
            holds(comm, &format!("message {number}"), buffer, expected)?;
        }
    }
    Ok(comm.stream().fence()?.wait()?)
}

pub(super) fn many_calls_one_wait<C: Communicator>(comm: &C) -> Result<(), Defect> {
    let mut all = contributions(comm.ranks(), 0, 2);
    let mut buffer = upload(comm, &contribution(comm.rank(), 0, 2))?;
    for _ in 0..20 {
        comm.all_reduce_in_place(Reduction::Sum, &mut buffer)?;
        all = super::numbers::model(SUM, &all)?;
    }
    let expected = all.first().cloned().unwrap_or_default();
    holds(comm, "20 sums of sums", &buffer, &expected)
}

pub(super) fn nothing_in_between<C: Communicator>(comm: &C) -> Result<(), Defect> {
    let mine = upload(comm, &contribution(comm.rank(), 0, 2))?;
    let (mut first, mut second) = (blank(comm, 2)?, blank(comm, 2)?);
    comm.all_reduce(Reduction::Sum, &mine, &mut first)?;
    let (empty, mut none) = (comm.buffer::<i32>(0)?, comm.buffer::<i32>(0)?);
    comm.all_reduce(Reduction::Sum, &empty, &mut none)?;
    comm.all_reduce(Reduction::Sum, &mine, &mut second)?;
    let expected = model_at(SUM, &contributions(comm.ranks(), 0, 2), comm.rank())?;
    holds(comm, "the call before", &first, &expected)?;
    equal("the call of nothing", &comm.stream().read(&none)?, &[])?;
    holds(comm, "the call after", &second, &expected)
}
